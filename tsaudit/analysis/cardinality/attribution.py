"""Attributes the growth of a measurement to the tags whose values became more.

The series that are listed now and were in no listing before a given day are counted exactly, and of these, the ones
that carry a value of a tag that was in no listing before that day either. That count is gross: a tag whose values are
replaced every day has many new values and adds no series. So it is multiplied by the share of the new values that did
not just take the place of others, and compared with the growth. Tags are ordered by how much more they grow than they
did before, so that one whose values always grew at the same pace does not hide what changed.

A tag determined by another one gets new values only together with it, so only the other tag is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from statistics import median
from typing import Final

from tsaudit.analysis.shapes.kind_descriptions import of_kind
from tsaudit.model.profile import Arrivals, Dependency, Measurement, SeriesSince, Tag, ValuesOverTime

_WEEK: Final = timedelta(days=7)
_LEAST_SHARE: Final = 0.02
"""Of the growth; what explains less is fluctuation."""
_LEAST_LOGARITHM: Final = 0.1
"""Part of the logarithm of the growth that the numbers of values have to explain, if nothing else is known."""
_LASTING: Final = 1.1
"""New values for each additional one; with more, many have left again."""
_AS_MUCH: Final = 0.9
"""Share of the largest excess from which on another tag may be the cause as well."""
_CHANGED: Final = 0.25
"""Share of the growth that must exceed the pace before for the pace of the tags to be compared, too."""


@dataclass(frozen=True, slots=True)
class Past:
    """Numbers of a measurement from before its growth."""

    day: date
    series: float
    """On that day."""
    values: Mapping[str, float]
    """Tag to its number of values on that day; 0 for one that did not exist. Tags whose number is not known are
    missing."""
    series_per_day: float = 0.0
    """By which the series grew in the weeks before that day; 0 also if it is not known."""
    values_per_day: Mapping[str, float] | None = None
    """The same for the values of each tag; None, or a missing tag, counts as 0."""


@dataclass(frozen=True, slots=True)
class Contributor:
    """The part of the growth that one tag's new values explain."""

    tag: str
    together_with: tuple[str, ...]
    """Tags that determine it and are determined by it; they explain the same share."""
    share: float
    """Share of the growth, from 0 to 1; without a `Past`, share of the new series that carry a new value."""
    standard_error: float
    """Standard error of `share`; 0 if all series and values are known."""
    began: date
    """The first day, starting a week before `since`, that added at least half the usual number of these series."""
    carrying: float = 1.0
    """Share of the new series that carry a new value of the tag, whether it is an additional one or not."""
    new_values: int | None = None
    """The listed values that are new; None in profiles of version 0.1."""
    more_values: float | None = None
    """By how many their number has grown; None without a `Past`."""
    excess: float = 0.0
    """As `share`, for what exceeds the pace before the growth."""

    @property
    def lasts(self) -> bool:
        """Whether new values stay, so that the days on which the listed ones were first seen date the growth."""
        return self.more_values is None or not self.new_values or self.new_values <= _LASTING * self.more_values

    @property
    def additional(self) -> float:
        """By how many the values became more; the new ones without a `Past`."""
        return float(self.new_values or 0) if self.more_values is None else self.more_values


@dataclass(frozen=True, slots=True)
class Attribution:
    """The growth of a measurement, and the tags that cause it."""

    since: date
    """Series first seen on this day or later count as new."""
    new_series: int
    growth: float
    """By how many the series became more; equals `new_series` without a `Past`."""
    contributors: tuple[Contributor, ...]
    """The main contributor first. In a sample, tags with too few new values to be significant are left out."""


def attribute(measurement: Measurement, since: date, past: Past | None = None) -> Attribution | None:
    """The series that are new since that day, or since the second listing if that is later.

    None if there are no earlier listings, or if no series is new. `past`: None to count arrivals only.
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
        # One new value and a thousand others may explain the same series: it is the thousand that multiply them.
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
    return "" if values is None or values.shape in ("unknown", "empty") else of_kind(values.shape)


def shares_of_logarithms(
    before: Mapping[str, float], now: Mapping[str, float], dependencies: Iterable[Dependency], series: float = 1.0
) -> dict[str, float]:
    """The fallback if only numbers of values are known: tag to its share of the growth, from 0 to 1.

    Series counts multiply, so the shares are computed from logarithms. Only tags that grew and are not determined by
    another growing tag are included. `series`: how many times as many series there are as before; if the tags explain
    next to nothing of it, none is.
    """
    grown = {tag for tag in before if now[tag] > before[tag]}
    logs = {tag: math.log(now[tag] / before[tag]) for tag in _free(grown, dependencies)}
    total = sum(logs.values())
    if series > 1 and total < _LEAST_LOGARITHM * math.log(series):
        return {}
    return {tag: log / total for tag, log in logs.items()}


def added(series: Iterable[SeriesSince], since: date) -> int:
    """The series of that day and later ones."""
    return sum(s.series for s in series if s.day >= since)


def added_values(values: ValuesOverTime, since: date) -> int | None:
    """The listed values first seen on that day or later; None in profiles of version 0.1."""
    counts = [s.values for s in values.series if s.day >= since]
    return None if None in counts else sum(count or 0 for count in counts)


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
    """The share of the new values that did not take the place of others."""
    return min(1.0, max(0.0, more / new))


def _causes(grown: Iterable[str], dependencies: Sequence[Dependency]) -> dict[str, tuple[str, ...]]:
    """The tags that no other one of them determines, each with its interchangeable tags."""
    free, known = _free(grown, dependencies), {(d.determinant, d.dependent) for d in dependencies}
    same = {key: tuple(o for o in free if (key, o) in known and (o, key) in known) for key in free}
    return {key: others for key, others in same.items() if not others or key < others[0]}


def _free(tags: Iterable[str], dependencies: Iterable[Dependency]) -> list[str]:
    """The tags that no other one of them determines, except mutually."""
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
