"""Attributes the growth of a measurement to the tags that gained values.

The series that are listed now and were in no listing before a given day are counted exactly, and so are those of them
that carry a new value of a tag, one that was in no listing before that day either. That count is gross: a tag whose
values are replaced every day has many new values and adds no series. So it is multiplied by the share of the new values
that did not just replace others, and compared with the growth. Tags are ordered by how much faster they grow than
before, so that a tag that has always grown at the same pace does not hide what changed.

A tag that is determined by another one gets new values only together with it, so only the other tag is named.

Growth may have other causes than new values of a tag: a key was added, renamed, or dropped; a parent brought its
children; old values occur in new combinations; or fewer series are deleted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from statistics import median
from typing import Final

from tsaudit.analysis.shapes.shape_rules import description_of
from tsaudit.model.columns import Arrivals, Dependency, SeriesSince, Tag, ValuesOverTime
from tsaudit.model.profile import Measurement

_WEEK: Final = timedelta(days=7)
_LEAST_SHARE: Final = 0.02
"""Share of the growth below which what a tag explains is considered fluctuation."""
_LEAST_LOGARITHM: Final = 0.1
"""If only numbers of values are known: the share of the logarithm of the growth that they have to explain."""
_LASTING: Final = 1.1
"""Most new values per additional value; if there are more, many of them have disappeared again."""
_AS_MUCH: Final = 0.9
"""Another tag may also be the cause if its excess is at least this share of the largest excess."""
_CHANGED: Final = 0.25
"""Tags are also compared by pace if at least this share of the growth exceeds the pace before it."""


@dataclass(frozen=True, slots=True)
class Past:
    """What a measurement was like before its growth."""

    day: date
    series: float
    """Number of series on that day."""
    values: Mapping[str, float]
    """Tag to its number of values on that day; 0 for a tag that did not exist. Tags whose number is not known are
    missing.
    """
    series_per_day: float = 0.0
    """Number of series gained per day in the weeks before that day; 0 also if it is not known."""
    values_per_day: Mapping[str, float] | None = None
    """Tag to its number of values gained per day in those weeks; None, or a missing tag, counts as 0."""


@dataclass(frozen=True, slots=True)
class Contributor:
    """The part of the growth that one tag's new values explain."""

    tag: str
    together_with: tuple[str, ...]
    """Tags that determine this tag and are determined by it; they explain the same share."""
    share: float
    """Share of the growth, from 0 to 1; without a `Past`, share of the new series that carry a new value."""
    standard_error: float
    """Standard error of `share`; 0 if all series and values are known."""
    began: date
    """The first day, starting a week before `since`, that added at least half the usual number of these series."""
    carrying: float = 1.0
    """Share of the new series that carry a new value of the tag, whether it is an additional one or not."""
    new_values: int = 0
    """Number of its listed values that are new."""
    more_values: float | None = None
    """By how much its number of values has grown; None without a `Past`."""
    excess: float = 0.0
    """As `share`, but only for the growth that exceeds the pace before."""

    @property
    def lasts(self) -> bool:
        """Whether new values stay, so that the growth can be dated by the days on which the listed values were first
        seen.
        """
        return self.more_values is None or not self.new_values or self.new_values <= _LASTING * self.more_values

    @property
    def additional(self) -> float:
        """By how much the number of values has grown; without a `Past`, the number of new values."""
        return float(self.new_values) if self.more_values is None else self.more_values


@dataclass(frozen=True, slots=True)
class Attribution:
    """The growth of a measurement, and the tags that cause it."""

    since: date
    """Series first seen on this day or later count as new."""
    new_series: int
    growth: float
    """By how much the number of series has grown; equals `new_series` without a `Past`."""
    contributors: tuple[Contributor, ...]
    """The tags that cause the growth, the main contributor first. In a sample, tags with too few new values to be
    significant are left out.
    """


def attribute(measurement: Measurement, since: date, past: Past | None = None) -> Attribution | None:
    """Attributes the growth since that day, or since the second listing if that is later.

    None if there are no earlier listings, or if no series is new. `past`: the measurement before its growth; None to
    count only arrivals.
    """
    arrivals = measurement.arrivals
    if arrivals is None or arrivals.before is None:
        return None
    since = max(since, arrivals.began + timedelta(days=1))
    new = added(arrivals.series, since)
    if not new:
        return None
    growth = measurement.series.value - past.series if past and measurement.series else float(new)
    if growth <= 0:
        past, growth = None, float(new)
    found = Attribution(since, new, growth, ())
    alone = {
        tag.key: contributor
        for tag in measurement.tags
        if tag.over_time is not None
        and _is_seen(tag.over_time, since)
        and (contributor := _contributor(tag, tag.over_time, arrivals, found, past)).share
        >= (_LEAST_SHARE if past else 0)
    }
    dependencies = measurement.tag_sets.dependencies if measurement.tag_sets else ()
    contributors = [replace(alone[key], together_with=others) for key, others in _causes(alone, dependencies).items()]
    most = max((contributor.excess for contributor in contributors), default=0.0)

    def order(contributor: Contributor) -> tuple[bool, float, float, str]:
        # If one tag has one new value and another has a thousand, both may explain the same series, but the thousand
        # values are what multiplies them.
        is_first = contributor.excess >= _AS_MUCH * most
        return (
            not is_first,
            -contributor.additional if is_first else 0.0,
            -round(contributor.excess, 6),
            contributor.tag,
        )

    return replace(found, contributors=tuple(sorted(contributors, key=order)))


def looks(tag: Tag) -> str:
    """The shape of a tag's newest values, in words; empty if it is not known."""
    values = tag.over_time
    return "" if values is None or values.shape in ("unknown", "empty") else description_of(values.shape)


def shares_of_logarithms(
    before: Mapping[str, float], now: Mapping[str, float], dependencies: Iterable[Dependency], series: float
) -> dict[str, float]:
    """The fallback if only numbers of values are known: tag to its share of the growth, from 0 to 1.

    Series counts multiply, so the shares are computed from logarithms. Only tags that grew and are not determined by
    another growing tag are included. `series`: the factor by which the series have grown; if the tags explain next to
    nothing of it, the result is empty.
    """
    grown = {tag for tag in before if now[tag] > before[tag]}
    logs = {tag: math.log(now[tag] / before[tag]) for tag in _free(grown, dependencies)}
    total = sum(logs.values())
    if series > 1 and total < _LEAST_LOGARITHM * math.log(series):
        return {}
    return {tag: log / total for tag, log in logs.items()}


def added(series: Iterable[SeriesSince], since: date) -> int:
    """The number of series first seen on that day or later."""
    return sum(s.series for s in series if s.day >= since)


def added_values(values: ValuesOverTime, since: date) -> int:
    """The number of listed values first seen on that day or later."""
    return sum(s.values or 0 for s in values.series if s.day >= since)


def _contributor(
    tag: Tag, values: ValuesOverTime, arrivals: Arrivals, found: Attribution, past: Past | None
) -> Contributor:
    since = found.since
    carrying = added(values.series, since)
    new, more = added_values(values, since), None
    extra, excess, growth = 1.0, 1.0, float(found.new_series)
    if past is not None and new and tag.values is not None and tag.key in past.values:
        more, growth = tag.values.value - past.values[tag.key], found.growth
        usual = (past.values_per_day or {}).get(tag.key, 0.0) * (arrivals.observed - past.day).days
        extra = _part(more, new)
        excess = _part(more - max(0.0, usual), new) if _has_changed(arrivals, found, past) else extra
    share = min(1.0, carrying * extra / growth)
    error = share * math.hypot(
        _relative_error(arrivals.series, since, arrivals.sampled_series),
        _relative_error(values.series, since, values.sampled_values),
    )
    return Contributor(
        tag=tag.key,
        together_with=(),
        share=share,
        standard_error=error,
        began=_began(values.series, since, arrivals.began),
        carrying=min(1.0, carrying / found.new_series),
        new_values=new,
        more_values=more,
        excess=min(1.0, carrying * excess / growth),
    )


def _has_changed(arrivals: Arrivals, found: Attribution, past: Past) -> bool:
    """Whether enough of the growth exceeds the pace before it."""
    usual = max(0.0, past.series_per_day) * (arrivals.observed - past.day).days
    return found.growth - usual > _CHANGED * found.growth


def _part(more: float, new: int) -> float:
    """The share of the new values that did not replace others, 0 to 1."""
    return min(1.0, max(0.0, more / new))


def _causes(grown: Iterable[str], dependencies: Sequence[Dependency]) -> dict[str, tuple[str, ...]]:
    """The tags that are determined by no other of these tags, each with the tags that are interchangeable with it."""
    free, known = _free(grown, dependencies), {(d.determinant, d.dependent) for d in dependencies}
    same = {key: tuple(o for o in free if (key, o) in known and (o, key) in known) for key in free}
    return {key: others for key, others in same.items() if not others or key < others[0]}


def _free(tags: Iterable[str], dependencies: Iterable[Dependency]) -> list[str]:
    """The tags that are determined by no other of these tags, or only mutually."""
    keys, known = sorted(tags), {(d.determinant, d.dependent) for d in dependencies}
    return [key for key in keys if not any((by, key) in known and (key, by) not in known for by in keys)]


def _is_seen(values: ValuesOverTime, since: date) -> bool:
    """Whether some values are certainly new: in a sample, if their number exceeds twice its standard error."""
    return bool(added(values.series, since)) and _relative_error(values.series, since, values.sampled_values) < 0.5


def _relative_error(series: tuple[SeriesSince, ...], since: date, sampled: int | None) -> float:
    """Relative error of the new part of a sample: the smaller the part, the larger the error. 0 if nothing
    was sampled.
    """
    total, new = sum(s.series for s in series), added(series, since)
    return 0.0 if sampled is None or not total else 1 / math.sqrt(max(sampled * new / total, 1e-9))


def _began(series: tuple[SeriesSince, ...], since: date, first_listing: date) -> date:
    """The first day of the growth. The day derived from the series counts may be late, so the week before it is
    checked, too.
    """
    usual = median(s.series for s in series if s.day >= since)
    earliest = max(since - _WEEK, first_listing + timedelta(days=1))
    return next(s.day for s in series if s.day >= earliest and 2 * s.series >= usual)


_NEARLY_ALL: Final = 0.9
_CHILDREN: Final = 10
"""Minimum number of a child's new values for each new value of its parent; with fewer, the child itself is
what grows.
"""
_LIKE_OTHERS: Final = 3
"""How many times the usual number of children a new parent may bring; with more, the children themselves are what
grows.
"""
_ALIKE: Final = (0.8, 1.25)
"""Lowest and highest ratio of the number of values of a new key to that of the key that it replaces."""
_DIFFERS: Final = 0.5
"""Minimum share of the new series that equal an older series except for a tag, for the tag to be named."""
_QUIET_DAYS: Final = 3
"""Minimum number of days of listings before a source begins to add values."""
_QUIET: Final = 0.1
"""Most values that were new on each of these days, as a share of the most on a day since."""
_USUAL: Final = timedelta(days=28)
_AS_MANY: Final = 1.25
"""Arrivals count as unchanged if at most this many times the usual number of series arrive per day."""
_EXPLAINED: Final = 0.5


@dataclass(frozen=True, slots=True)
class Parent:
    """A tag that determines another tag, and whose new values brought the new values of that tag."""

    tag: str
    new_values: int


@dataclass(frozen=True, slots=True)
class KeyChange:
    """The keys that new series have or lack, unlike older series; at least one of them is given."""

    added: str | None
    dropped: str | None


@dataclass(frozen=True, slots=True)
class KeptLonger:
    """Fewer series leave than before, while arrivals have not increased."""

    left_before: float
    """Number of series per day that left the listing before the growth."""
    left_now: float
    arriving: float
    """Number of series per day that arrive now."""


@dataclass(frozen=True, slots=True)
class SingleSource:
    """The one source, among others with the same tag, that adds values to the tag."""

    by: str
    """The tag that has one value in nearly all new series."""
    value: str
    is_apart: bool
    """Whether no series with that value has a value of the tag that is as old as the first listing."""


def single_source(measurement: Measurement, tag: str) -> SingleSource | None:
    """The source that made the tag's number of values grow; None if the tag grew from the first listing on, if no other
    series have it, or if several sources add to it.
    """
    known, arrivals = measurement.tag(tag), measurement.arrivals
    if known is None or known.over_time is None or arrivals is None:
        return None
    values, began = known.over_time, arrivals.began
    new = [(s.day, s.values or 0) for s in values.series if s.day > began]
    most = max((count for _, count in new), default=0)
    onset = next((day for day, count in new if 2 * count >= most > 0), began)
    quiet = (onset - began).days
    if quiet < _QUIET_DAYS or sum(count for day, count in new if day < onset) > _QUIET * most * quiet:
        return None
    older, lacking = (sum(s.series for s in part if s.day < onset) for part in (arrivals.series, values.lacking))
    if older <= lacking:
        return None
    others = [
        (t.values.value if t.values else 0, t.key, t.over_time)
        for t in measurement.tags
        if t.key != tag and t.over_time is not None and t.over_time.gathered is not None
    ]
    # The tag with the most values says best which one it is.
    found = [(tag not in seen.gathered_new, -count, key, seen.gathered or "") for count, key, seen in others]
    if not found:
        return None
    is_mixed, _, by, value = min(found)
    return SingleSource(by, value, not is_mixed)


def parent_of(measurement: Measurement, contributor: Contributor, found: Attribution, past: Past) -> Parent | None:
    """The tag whose new values brought those of the contributor's tag, with about as many each as the old ones have;
    None if there is none.
    """
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
    # A parent may have a parent itself: the one with the fewest new values explains the most.
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
    # A key with a different value in nearly every series is no label: its new values are what grows.
    few = over_time is not None and added_values(over_time, since) * _CHILDREN <= new
    return KeyChange(appeared[0].key, None) if few else None


def combined_tags(measurement: Measurement, found: Attribution) -> tuple[str, ...]:
    """The tags whose old values occur in new combinations, if most new series are new combinations; otherwise empty."""
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


def kept_longer(measurement: Measurement, found: Attribution) -> KeptLonger | None:
    """Whether the growth comes from series that no longer leave: no more series arrive than before, and fewer leave.
    None if it does not.
    """
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
    return KeptLonger(left, leaving, arriving)


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
