"""Whom to blame for the series of a measurement, and by how much: what rules, messages and the report all go by."""

from __future__ import annotations

from tsaudit.model.change import MakeField
from tsaudit.model.profile import Contribution, Measurement, TagSets
from tsaudit.model.subject import Subject


def guilty_tag(sets: TagSets) -> Contribution | None:
    """The tag without which fewest series are left; None when none would go."""
    # A tag that others determine goes only together with them: to blame are those.
    alone = [c for c in sets.contributions if not c.together_with]
    candidates = (*sets.drop_curve[:1], *alone, *sets.contributions)
    return next((c for c in candidates if c.series_left < sets.series), None)


def left_ratio(contribution: Contribution, sets: TagSets) -> float:
    """The share of the series that is left without the tag, 0 to 1; at most, where only a sample was looked at."""
    return contribution.series_left / sets.series if sets.series else 1.0


def share_of(contribution: Contribution, sets: TagSets) -> float:
    """The share of the series that goes with the tag, 0 to 1; at least, where only a sample was looked at."""
    return 1 - left_ratio(contribution, sets)


def share_of_tag(tag: str, sets: TagSets | None) -> float | None:
    """The same of one tag, and of those that determine it; None where the tag sets are not known."""
    if sets is None:
        return None
    return next((share_of(c, sets) for c in sets.contributions if c.tag == tag), None)


def made_fields(measurement: Measurement, *tags: str, to: str = "") -> tuple[MakeField, ...]:
    """The change that the tags become fields, and with them those that always go with one of them.

    Of two tags that say the same, one alone would leave all series. `to`: see `MakeField`, for the first tag.
    """
    at = Subject(measurement.database, measurement.name)
    said = {(d.determinant, d.dependent) for d in measurement.tag_sets.dependencies} if measurement.tag_sets else set()
    twins = (d for tag in tags for d, dependent in sorted(said) if dependent == tag and (tag, d) in said)
    together = dict.fromkeys((*tags, *twins))
    return tuple(MakeField(at, tag, to if tag == tags[0] else "") for tag in together)
