"""What each tag contributes to the series of a measurement: the main contributor, which is named in rules, messages,
and the report; tags that add no series because another tag determines them; and the number of series that removing some
tags would save.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final

from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.model.change import Change, Diagnose, MakeField, StopSource
from tsaudit.model.columns import Contribution, Tag, TagSets
from tsaudit.model.figures import Subject
from tsaudit.model.profile import Measurement


def main_contribution(sets: TagSets) -> Contribution | None:
    """The tag whose removal leaves the fewest series; None if no removal reduces them."""
    # A tag that other tags determine can only be dropped together with them: those tags are the cause.
    alone = [c for c in sets.contributions if not c.together_with]
    candidates = (*sets.drop_curve[:1], *alone, *sets.contributions)
    return next((c for c in candidates if c.series_left < sets.series), None)


def left_ratio(contribution: Contribution, sets: TagSets) -> float:
    """The share of series left without the tag, from 0 to 1; an upper bound if only a sample was examined."""
    return contribution.series_left / sets.series if sets.series else 1.0


def share_of(contribution: Contribution, sets: TagSets) -> float:
    """The share of series removed with the tag, from 0 to 1; a lower bound if only a sample was examined."""
    return 1 - left_ratio(contribution, sets)


def share_of_tags(tags: Sequence[str], sets: TagSets | None) -> float | None:
    """The share of series removed with the tags and those that determine the first one, from 0 to 1; a lower bound if
    only a sample was examined.

    None if the tag sets are not known, or if removing them saves nothing because other tags together distinguish the
    same series: then their share shows nothing about them.
    """
    if sets is None or not sets.series:
        return None
    own = (one.series_left for one in sets.contributions if one.tag == tags[0])
    return 1 - min((series_left(sets, frozenset(tags))[0], *own)) / sets.series or None


_NEARLY_ALL: Final = 0.9
"""Share of the rows that a tag keeps from overwriting others if it is what identifies their sources."""


def rows_kept_apart(measurement: Measurement, *tags: str) -> int:
    """How many of the rows compared would overwrite another one without these tags, if that is nearly all of them and
    one of the tags names sources, as far as is known: then nothing else identifies them. 0 otherwise.
    """
    apart, together = measurement.rows_apart, with_twins(measurement, tags)
    if apart is None or all(
        fleets.is_known_to_end(measurement, tag) for tag in measurement.tags if tag.key in together
    ):
        return 0
    lost, _ = apart.lost(together)
    return lost if lost >= _NEARLY_ALL * apart.rows else 0


_SOME: Final = 0.01
"""Least share of the rows that a tag keeps from overwriting others if it identifies what is measured, as of those that
are overwritten (`harm.max_overwritten_share`): below that, a value changed while it was written, or a row came late.
"""


def identifies(measurement: Measurement, *tags: str) -> bool:
    """Whether rows would be lost without these tags because one of them identifies what is measured, whether that lasts
    or not: it has several values at a time, and they come again. Rows of events, such as calls or log messages, may
    share a time by chance, so their tags identify nothing.
    """
    apart, together = measurement.rows_apart, with_twins(measurement, tags)
    if apart is None or apart.lost(together)[0] < max(_SOME * apart.rows, 1):
        return False
    return any(_comes_again(measurement, tag) for tag in measurement.tags if tag.key in together)


def are_compared(measurement: Measurement, *tags: str) -> bool:
    """Whether the rows read show which rows would be overwritten without the tags, or no rows were read at all: False
    for rows of some series, which do not show what others have the same time.
    """
    apart = measurement.rows_apart
    return apart is None or not apart.rows or apart.covers(with_twins(measurement, tags))


def _comes_again(measurement: Measurement, tag: Tag) -> bool:
    is_event = fleets.names_call(tag) or shapes.classify(tag.sample).kind in shapes.TEXT_KINDS
    return tag.reports is not None and not is_event and not fleets.is_written_once(measurement, tag)


def remedies(
    measurement: Measurement, *tags: str, to: str = "", keeps_rows: bool, stays: bool = False
) -> tuple[Change, ...]:
    """What ends the growth of the first tag: if one source among others causes it, that source changes; otherwise the
    tags become fields, see `made_fields`; if they have to stay, as `stays` says or the rows of the measurement, only
    the search for what writes new values is left.
    """
    from tsaudit.analysis.cardinality.attribution import single_source

    tag, at = tags[0], Subject(measurement.database, measurement.name)
    if (source := single_source(measurement, tag)) is None:
        made = () if stays else made_fields(measurement, *tags, to=to, keeps_rows=keeps_rows)
        return made or (Diagnose(at, "new values", tag),)
    shown = redact_unless_name(source.value)
    return (StopSource(at, tag, source.by, shown, is_apart=source.is_apart and shown == source.value),)


def made_fields(measurement: Measurement, *tags: str, to: str = "", keeps_rows: bool) -> tuple[MakeField, ...]:
    """The changes that turn the tags into fields, together with the tags without which that would leave all series in
    place; none if these tags are what identifies the sources, or what is measured, or if too few rows were read to rule
    out that rows would be overwritten. `to`: see `MakeField`, for the first tag. `keeps_rows`: whether rows with the
    same tags and time do not overwrite each other.
    """

    def have_to_stay(*names: str) -> bool:
        return bool(rows_kept_apart(measurement, *names)) or (
            not keeps_rows and (identifies(measurement, *names) or not are_compared(measurement, *names))
        )

    at = Subject(measurement.database, measurement.name)
    return tuple(MakeField(at, tag, to if tag == tags[0] else "") for tag in _that_go(measurement, tags, have_to_stay))


def _that_go(measurement: Measurement, tags: Iterable[str], have_to_stay: Callable[..., object]) -> tuple[str, ...]:
    """The tags with all others that only together save series; if those have to stay, only with interchangeable tags;
    none if these have to stay, or save nothing alone.
    """
    together, alone = only_together(measurement, tags), with_twins(measurement, tags)
    if not have_to_stay(*together):
        return together
    sets = measurement.tag_sets
    saves_nothing = sets is not None and series_left(sets, frozenset(alone))[0] >= sets.series
    return () if saves_nothing or have_to_stay(*alone) else alone


def only_together(measurement: Measurement, tags: Iterable[str]) -> tuple[str, ...]:
    """The tags, those that are interchangeable with any of them, and those that cause most series only together with
    one of them, unless their values name things that stay.
    """
    names, sets = with_twins(measurement, tags), measurement.tag_sets
    found = (one.tags for one in (sets.drop_curve[:1] if sets else ()))
    wider = next((causes for causes in found if not {*names}.isdisjoint(causes)), ())
    others = [tag for key in wider if key not in names and (tag := measurement.tag(key))]
    return names if any(map(fleets.is_fleet, others)) else tuple(dict.fromkeys((*names, *wider)))


def with_twins(measurement: Measurement, tags: Iterable[str]) -> tuple[str, ...]:
    """The tags, and those that are interchangeable with any of them."""
    said = {(d.determinant, d.dependent) for d in measurement.tag_sets.dependencies} if measurement.tag_sets else set()
    twins = (d for tag in tags for d, dependent in sorted(said) if dependent == tag and (tag, d) in said)
    return tuple(dict.fromkeys((*tags, *twins)))


def determined_tags(measurement: Measurement) -> dict[str, tuple[str, ...]]:
    """Each tag to the tags that it determines, without tags that have a single value; empty if the tag sets are not
    known.

    A tag that several tags determine is listed under the closest one, which is the one with the fewest values. Of tags
    that determine each other, the first by name represents the others.
    """
    sets = measurement.tag_sets
    values = {tag.key: tag.values.value if tag.values else 0 for tag in measurement.tags}
    by: dict[str, list[str]] = {}
    for dependency in sets.dependencies if sets else ():
        if values.get(dependency.dependent, 0) > 1:
            by.setdefault(dependency.dependent, []).append(dependency.determinant)

    pairs = {(tag, other) for tag, others in by.items() for other in others}
    leaders = {tag: min([tag, *(other for other in others if (other, tag) in pairs)]) for tag, others in by.items()}
    found: dict[str, list[str]] = {}
    for tag, others in by.items():
        one = leaders[tag]
        if one == tag:
            # The first of interchangeable tags is listed under a tag outside of their group, if one determines it.
            outside = [other for other in others if leaders.get(other, other) != tag]
            if not outside:
                continue
            closest = min(outside, key=lambda other: (values.get(other, 0), other))
            one = leaders.get(closest, closest)
        found.setdefault(one, []).append(tag)
    return {tag: tuple(sorted(found[tag])) for tag in sorted(found)}


def avoidable_series(measurement: Measurement, tags: Iterable[str]) -> int:
    """The number of series saved if the tags, and the tags that only together with them save series, became fields.

    A lower bound if not all combinations were examined. If the tag sets are not known, the bound is computed from the
    tag with the most values, of which each value has at least one series.
    """
    names = tuple(tags)
    if measurement.tag_sets is not None:
        gone = frozenset(_that_go(measurement, names, partial(rows_kept_apart, measurement)))
        return max(measurement.tag_sets.series - series_left(measurement.tag_sets, gone)[0], 0)
    values = max((tag.values.value for tag in measurement.tags if tag.key in names and tag.values), default=0)
    return max(values - 1, 0)


def series_left(sets: TagSets, gone: frozenset[str]) -> tuple[int, bool]:
    """The number of series left without the tags, at most; and whether it was counted for exactly these tags."""
    known = {frozenset(one.tags): one.series_left for one in sets.contributions}
    dropped: frozenset[str] = frozenset()
    # Each step of the curve is without the tags of the steps before it.
    for step in sets.drop_curve:
        dropped |= {*step.tags}
        known[dropped] = step.series_left
    # Dropping further tags can only reduce the number.
    left = min((left for tags, left in known.items() if tags <= gone), default=sets.series)
    return min(left, sets.series), gone in known
