"""How a measurement grew, beside new values of a tag: by a key that was added, renamed, or dropped, by a parent that
brought its children, by new combinations of old values, or because less is deleted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from tsaudit.analysis.cardinality.attribution import Attribution, Contributor, Past, added, added_values
from tsaudit.model.profile import Measurement, SeriesSince, Tag

_NEARLY_ALL: Final = 0.9
_CHILDREN: Final = 10
"""New values of a child for each new value of its parent; with fewer, the child is what grows."""
_LIKE_OTHERS: Final = 3
"""How many times the usual number of children a new parent may bring; with more, the children are what grows."""
_ALIKE: Final = (0.8, 1.25)
"""Ratio of the numbers of values of a key and the one that replaces it."""
_DIFFERS: Final = 0.5
"""Share of the new combinations that equal an older series except for the tag."""
_USUAL: Final = timedelta(days=28)
_AS_MANY: Final = 1.25
"""How many times the usual series may arrive a day and still count as the usual number."""
_EXPLAINED: Final = 0.5


@dataclass(frozen=True, slots=True)
class Parent:
    """A tag whose new values brought those of another one, which determines it."""

    tag: str
    new_values: int


@dataclass(frozen=True, slots=True)
class KeyChange:
    """Keys with which series have been written since a day, unlike before; at least one is given."""

    added: str | None
    dropped: str | None


@dataclass(frozen=True, slots=True)
class Kept:
    """Fewer series leave than before, while no more arrive."""

    left_before: float
    """Series a day that left the listing before."""
    left_now: float
    arriving: float
    """Series a day."""


def parent_of(measurement: Measurement, contributor: Contributor, found: Attribution, past: Past) -> Parent | None:
    """The tag whose new values, about as large as the old ones, brought the new values of the blamed one."""
    if contributor.additional < 1 or measurement.tag_sets is None:
        return None
    parents = []
    for key in {d.dependent for d in measurement.tag_sets.dependencies if d.determinant == contributor.tag}:
        tag, before = measurement.tag(key), past.values.get(key)
        if tag is None or tag.over_time is None or tag.values is None or not before or key in contributor.together_with:
            continue
        new, more = added_values(tag.over_time, found.since), tag.values.value - before
        if not new or more < 1:
            continue
        usual, brought = past.values.get(contributor.tag, 0.0) / before, contributor.additional / more
        share = added(tag.over_time.series, found.since) * min(1.0, more / new) / found.growth
        if share >= _NEARLY_ALL * contributor.share and _CHILDREN <= brought <= _LIKE_OTHERS * usual:
            parents.append(Parent(key, round(more)))
    # A parent may have a parent itself: the one with the fewest new values is the most telling.
    return min(parents, key=lambda parent: (parent.new_values, parent.tag), default=None)


def key_change(measurement: Measurement, since: date) -> KeyChange | None:
    """The key that nearly all new series have or lack, unlike nearly all older ones.

    None if several keys were added or dropped: then another writer began, with tags of its own.
    """
    if measurement.arrivals is None:
        return None
    series = measurement.arrivals.series
    new = added(series, since)
    old = sum(s.series for s in series) - new
    if not new or not old:
        return None
    appeared, dropped = [], []
    for tag in measurement.tags:
        lacking = tag.over_time.lacking if tag.over_time else ()
        lack_new = added(lacking, since) / new
        lack_old = (sum(s.series for s in lacking) - added(lacking, since)) / old
        if lack_new <= 1 - _NEARLY_ALL and lack_old >= _NEARLY_ALL:
            appeared.append(tag)
        elif lack_new >= _NEARLY_ALL and lack_old <= 1 - _NEARLY_ALL:
            dropped.append(tag)
    if len(appeared) > 1 or len(dropped) > 1 or not (appeared or dropped):
        return None
    if appeared and dropped:
        renamed = _is_renamed(appeared[0], dropped[0], since)
        return KeyChange(appeared[0].key, dropped[0].key) if renamed else None
    if dropped:
        return KeyChange(None, dropped[0].key)
    over_time = appeared[0].over_time
    values = added_values(over_time, since) if over_time else None
    # A key that has a value of its own in nearly each series is no label: its values are what grows.
    few = values is not None and values * _CHILDREN <= new
    return KeyChange(appeared[0].key, None) if few else None


def combined_tags(measurement: Measurement, found: Attribution) -> tuple[str, ...]:
    """The tags whose old values occur in new combinations, if most new series are such; otherwise none."""
    arrivals = measurement.arrivals
    if arrivals is None or arrivals.newest_value is None:
        return ()
    combined = found.new_series - added(arrivals.newest_value, found.since)
    if combined < _EXPLAINED * found.new_series:
        return ()
    differing = {
        tag.key: 1 - added(tag.over_time.without, found.since) / found.new_series
        for tag in measurement.tags
        if tag.over_time is not None and tag.over_time.without is not None
    }
    dependencies = measurement.tag_sets.dependencies if measurement.tag_sets else ()
    determined = {d.dependent for d in dependencies}
    distinguishing = [key for key, share in differing.items() if share >= _DIFFERS and key not in determined]
    return tuple(sorted(distinguishing, key=lambda key: (-differing[key], key)))


def kept_longer(measurement: Measurement, found: Attribution) -> Kept | None:
    """Whether the growth is what no longer leaves: as many series arrive as before, and fewer leave."""
    arrivals = measurement.arrivals
    if arrivals is None or arrivals.before is None:
        return None
    start = max(found.since - _USUAL, arrivals.began + timedelta(days=1))
    before, now = (found.since - start).days, (arrivals.observed - found.since).days + 1
    if before < 1:
        return None
    arrived, arriving = _rates(arrivals.arrived, start, found.since, before, now)
    left, leaving = _rates(arrivals.left, start, found.since, before, now)
    if arriving > _AS_MANY * arrived or (left - leaving) * now < _EXPLAINED * found.growth:
        return None
    return Kept(left, leaving, arriving)


def _rates(series: Iterable[SeriesSince], start: date, since: date, before: int, now: int) -> tuple[float, float]:
    earlier = [s for s in series if s.day >= start]
    new = added(earlier, since)
    return (added(earlier, start) - new) / before, new / now


def _is_renamed(new: Tag, old: Tag, since: date) -> bool:
    if new.over_time is None or new.values is None or old.values is None:
        return False
    days = [s.values or 0 for s in new.over_time.series if s.day >= since]
    lowest, highest = _ALIKE
    at_once = max(days, default=0) >= _EXPLAINED * sum(days)
    return at_once and lowest <= new.values.value / max(old.values.value, 1) <= highest
