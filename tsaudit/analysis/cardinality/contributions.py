"""Which tag contributes most to the series of a measurement, and how much: used by rules, messages, and the report."""

from __future__ import annotations

from tsaudit.model.change import MakeField
from tsaudit.model.profile import Contribution, Measurement, TagSets
from tsaudit.model.subject import Subject


def main_contribution(sets: TagSets) -> Contribution | None:
    """The tag whose removal leaves the fewest series; None if no removal reduces them."""
    # A tag that others determine can only be dropped together with them: those are the cause.
    alone = [c for c in sets.contributions if not c.together_with]
    candidates = (*sets.drop_curve[:1], *alone, *sets.contributions)
    return next((c for c in candidates if c.series_left < sets.series), None)


def left_ratio(contribution: Contribution, sets: TagSets) -> float:
    """The share of series left without the tag, from 0 to 1; an upper bound if only a sample was examined."""
    return contribution.series_left / sets.series if sets.series else 1.0


def share_of(contribution: Contribution, sets: TagSets) -> float:
    """The share of series removed with the tag, from 0 to 1; a lower bound if only a sample was examined."""
    return 1 - left_ratio(contribution, sets)


def share_of_tag(tag: str, sets: TagSets | None) -> float | None:
    """The same for one tag and the tags that determine it.

    None if the tag sets are not known, or if others together stand for the same series: then its own share says
    nothing about it.
    """
    if sets is None:
        return None
    return next((share_of(c, sets) for c in sets.contributions if c.tag == tag), None) or None


def made_fields(measurement: Measurement, *tags: str, to: str = "") -> tuple[MakeField, ...]:
    """The change that turns the tags into fields, along with the tags that are interchangeable with one of them.

    Dropping only one of two interchangeable tags would leave all series in place. `to`: see `MakeField`, for the first
    tag.
    """
    at = Subject(measurement.database, measurement.name)
    said = {(d.determinant, d.dependent) for d in measurement.tag_sets.dependencies} if measurement.tag_sets else set()
    twins = (d for tag in tags for d, dependent in sorted(said) if dependent == tag and (tag, d) in said)
    together = dict.fromkeys((*tags, *twins))
    return tuple(MakeField(at, tag, to if tag == tags[0] else "") for tag in together)
