"""What is new in a listing compared with earlier listings: the new values of each tag, and whether there is a bound to
them; and the new series, and what they have in common: tags they lack, tags in which they differ from older series,
and values that most of them carry.

If a listing covers several days, each value remains visible for that many days. The functions take that number as an
argument and correct for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.shapes.shape_rules import UNKNOWN
from tsaudit.analysis.values.hashes import HashedTag, sample
from tsaudit.analysis.values.value_sets import Days, ValueSet
from tsaudit.model.columns import Arrivals, SeriesSince, ValuesKind, ValuesOverTime
from tsaudit.model.figures import SAMPLE_SIZE

_WINDOW_DAYS: Final = 28
_WEEK: Final = 7
_WEEKEND: Final = 2
_QUIET: Final = 0.25
"""A day is quiet if its rate is at most this share of the other days' rate."""
_FEWEST_ALIKE: Final = 3
_ALIKE: Final = 0.9
"""Minimum share of the largest rate that the smallest of at least so many days has if they are alike."""
_FEWEST_DAYS: Final = 7
_FEWEST_LISTINGS: Final = 3
"""Minimum number of listings for the days between them to count: a listing whose result would be unchanged is not
repeated for up to a week.
"""
_BOUNDED: Final = 0.1
_UNBOUNDED: Final = 0.8
_UNBOUNDED_TURNOVER: Final = 0.5
"""Minimum turnover. If new values stop appearing, the growth was only a step, however steep: a first day with few
values is not growth without bound.
"""
_FLOOR: Final = 1000
"""A tag with at most this many values is not unbounded: a tag that contains a date also has new values each day, and is
harmless at one value a day.
"""


@dataclass(frozen=True, slots=True)
class ValueIndex:
    """Whether the values of a tag are bounded, judging from the last 28 days."""

    kind: ValuesKind
    """`unknown` with fewer than 7 days; never `unbounded` with at most 1000 values."""
    beta: float | None
    """How the number of distinct values grows with the number of days: 0 if the values are the same every day, 1 if all
    are new every day; None if unknown.
    """
    turnover: float | None
    """Share of the last week's values that were not seen before that week; None if unknown."""
    days: int
    """Number of days from the first one that had values: the observed days, and days in between if the listings contain
    them.
    """


def value_index(values: ValueSet, listing_days: int | None = 1) -> ValueIndex:
    """Whether the values are bounded, churning, or unbounded.

    `listing_days`: how many days of data an observation covers: 1 for its own day only, None for everything ever
    written. If it is more than 1, the values of a single day are derived; see `_of_one_day`.
    """
    window = _window(values)
    days = _days(window, listing_days)
    if days < _FEWEST_DAYS:
        return ValueIndex("unknown", None, None, days)
    if listing_days == 1:
        total = values.counted(values.last >= window[0]).value
        first = float(values.distinct[np.searchsorted(values.days, window[0])])
        length, turnover, could_be_bounded = len(window), _turnover(values), True
    else:
        first, is_known = _of_one_day(values, window, listing_days)
        length, new = int(window[-1] - window[0]) + 1, values.counted(values.first > window[0]).value
        total, turnover = first + new, _listed_turnover(values, first)
        could_be_bounded = is_known or new <= _FLOOR
    beta = max(0.0, math.log(max(total, 1.0) / first) / math.log(length))
    kind = _kind(beta, turnover, total)
    if kind == "bounded" and not could_be_bounded:
        kind = "churning"
    return ValueIndex(kind, beta, turnover, days)


def _days(window: Days, listing_days: int | None) -> int:
    """How many days the observations cover."""
    if len(window) < _FEWEST_LISTINGS or (listing_days is not None and np.diff(window).max() > listing_days):
        return len(window)
    return int(window[-1] - window[0]) + 1


def arrivals_per_day(values: ValueSet) -> float | None:
    """Number of new values per day at present: the mean of the last week, or of the days since a clear change within
    it; None with a single day.

    Whole weeks are compared, because many tags have fewer values on weekends.
    """
    window = _window(values)
    if len(window) < 2:
        return None
    lasted = np.diff(window)
    bounds = np.append(window[:-1] + 1, window[-1] + 1)
    arrived = np.histogram(values.first, bounds, weights=values.weights)[0]
    of_week = window[1:] > window[-1] - _WEEK
    before, last = (arrived[~of_week], lasted[~of_week]), (arrived[of_week], lasted[of_week])
    rates = last[0] / last[1]
    # If the arrivals have just begun, the days before are left out: they were quiet, and so was the week before.
    usual = before[0][-_WEEK:].sum() / max(1, before[1][-_WEEK:].sum())
    begin = 0
    while begin < len(rates) - 1 and max(rates[begin], usual) < _QUIET * rates[begin + 1 :].mean():
        begin += 1
    # If the arrivals have just ended, only the quiet days since then count, unless they may be a weekend.
    end = len(rates)
    while end > begin + 1 and rates[end - 1] < _QUIET * rates[begin:].max():
        end -= 1
    if end < len(rates) and last[1][end:].sum() > _WEEKEND:
        begin = end
    # If a day has less than all others of the week, which are alike, it is not over.
    others = rates[begin:-1]
    is_partial = (
        len(others) >= _FEWEST_ALIKE and others.min() >= _ALIKE * others.max() and rates[-1] < _ALIKE * others.min()
    )
    end = len(rates) - 1 if is_partial else len(rates)
    return float(last[0][begin:end].sum() / last[1][begin:end].sum())


def _mean_arrivals(values: ValueSet, window: Days) -> float:
    """Number of values per day that were first seen after the first day of the window; 0 with a single day."""
    days = int(window[-1] - window[0])
    return values.counted(values.first > window[0]).value / days if days else 0.0


def _of_one_day(values: ValueSet, window: Days, listing_days: int | None) -> tuple[float, bool]:
    """The number of distinct values of a single day if each listing covers several days, and whether it is known; if it
    is not, the true number may be lower.

    The last listing contains the values of its first day plus those that each later day added, so the additions are
    subtracted. How far it reaches back is known if the tag began while it was observed, or if about as many values
    leave the listing as arrive. Otherwise, it only certainly covers the observed days, and the values of the first
    listing are assumed to be those of one day. That never makes a tag look unbounded, but may make it look bounded,
    however many values are new.
    """
    rate, last = _mean_arrivals(values, window), float(values.distinct[-1])
    began = values.days[np.argmax(values.distinct > 0)]
    reaches, is_known = int(values.days[-1] - began) + 1, bool(began > values.days[0])
    if listing_days is not None:
        arrived = rate * int(window[-1] - window[0])
        left = values.distinct[np.searchsorted(values.days, window[0])] + arrived - last
        full = not is_known and 2 * left >= arrived
        reaches, is_known = listing_days if full else min(listing_days, reaches), is_known or full
    return max(last - (reaches - 1) * rate, rate, 1.0), is_known


def _listed_turnover(values: ValueSet, of_one_day: float) -> float:
    """The share of a week's values that were added during the week, 0 to 1. `of_one_day`: number of values on a single
    day.
    """
    began = values.days[np.argmax(values.distinct > 0)]
    since = max(values.days[-1] - _WEEK + 1, began + 1)
    new = values.counted(values.first >= since).value
    return min(1.0, new / (of_one_day + new * (_WEEK - 1) / _WEEK))


def _window(values: ValueSet) -> Days:
    """The observed days among the last 28, from the first day that had values."""
    if not len(values.days):
        return values.days
    recent = values.days > values.days[-1] - _WINDOW_DAYS
    filled = recent & (values.distinct > 0)
    return values.days[np.argmax(filled) :] if filled.any() else values.days[:0]


def _turnover(values: ValueSet) -> float:
    """The share of the last week's values that are new, 0 to 1. Values of the first day are new to tsaudit, but not to
    the tag.
    """
    since = values.days[-1] - _WEEK + 1
    began = values.days[np.argmax(values.distinct > 0)]
    week = int((values.last >= since).sum())
    new = int((values.first >= max(since, began + 1)).sum())
    return new / week if week else 0.0


def _kind(beta: float, turnover: float, values: float) -> ValuesKind:
    if beta < _BOUNDED:
        return "bounded"
    endless = beta > _UNBOUNDED and turnover > _UNBOUNDED_TURNOVER and values > _FLOOR
    return "unbounded" if endless else "churning"


REACH: Final = timedelta(days=90)
"""Series first seen longer ago than this are not broken down by day."""
_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class SeenTag:
    """One tag of a listing, with the days on which its values were first seen."""

    tag: HashedTag
    first: Days
    """The day on which each value was first seen, as `date.toordinal`; 0 if it is not stored."""
    exact: bool

    @property
    def of_series(self) -> Days:
        """The day on which each series' value was first seen; 0 if that is not stored, or if the series
        lacks the tag.
        """
        return np.concatenate((np.zeros(1, np.int32), self.first)).take(self.tag.codes)


def new_series(
    before: ValueSet, after: ValueSet, hashes: npt.NDArray[np.uint64], tags: Iterable[SeenTag] = ()
) -> Arrivals:
    """The series of a listing, by the day on which they were first seen.

    `hashes`: one per listed series. `after`: the set `before` plus these hashes. `tags`: all tags of the listing.
    """
    began, observed = date_of(after.days[0]), date_of(after.days[-1])
    first = after.first_days(hashes)
    newest, is_known = np.zeros(len(first), np.int32), after.exact
    for tag in tags:
        is_known = is_known and tag.exact
        newest = np.maximum(newest, tag.of_series)
    ever, left, weights = after.first > after.days[0], after.last < after.days[-1], after.weights
    gone = after.days[np.searchsorted(after.days, after.last[left]) + 1]
    return Arrivals(
        observed=observed,
        before=date_of(before.days[-1]) if len(before.days) else None,
        began=began,
        new_series=_new(before, after),
        series=by_day(first, began, observed, after.held_ratio),
        sampled_series=None if after.exact else int((first > 0).sum()),
        standard_error=_error(after),
        newest_value=by_day(np.minimum(newest, first), began, observed) if is_known else None,
        arrived=by_day(after.first[ever], began, observed, series=weights[ever]),
        left=by_day(gone, began, observed, series=weights[left]),
    )


def new_values(
    before: ValueSet, after: ValueSet, seen: SeenTag, began: date, listing_days: int | None
) -> ValuesOverTime:
    """The values of one tag of a listing, by the day on which they were first seen.

    `began`: the first day of listings. `listing_days`: see `value_index`.
    """
    index, observed = value_index(after, listing_days), date_of(after.days[-1])
    first, tag = seen.first, seen.tag
    newest = date_of(first.max(initial=0)) if first.max(initial=0) > began.toordinal() else None
    is_fresh = first == newest.toordinal() if newest else np.zeros(len(first), np.bool_)
    fresh = tag.values.take(pa.array(np.flatnonzero(is_fresh)))
    return ValuesOverTime(
        kind=index.kind,
        beta=index.beta,
        turnover=index.turnover,
        days=index.days,
        new_values=_new(before, after),
        new_per_day=arrivals_per_day(after),
        series=by_day(first, began, observed, after.held_ratio, tag.series_per_value(), with_values=True),
        newest=newest,
        examples=sample(fresh, _EXAMPLES),
        shape=shapes.classify(sample(fresh, SAMPLE_SIZE)).kind if newest else UNKNOWN,
        sampled_values=None if after.exact else int((first > 0).sum()),
        standard_error=_error(after),
    )


def _new(before: ValueSet, after: ValueSet) -> int | None:
    return round(after.new_on(date_of(after.days[-1])).value) if len(before.days) else None


def _error(after: ValueSet) -> float | None:
    return None if after.exact else after.new_on(date_of(after.days[-1])).standard_error


def by_day(
    first: Days,
    began: date,
    observed: date,
    held_ratio: float = 1.0,
    series: npt.NDArray[Any] | None = None,
    *,
    with_values: bool = False,
) -> tuple[SeriesSince, ...]:
    """The number of series first seen on each day.

    `first`: days as `date.toordinal`; entries of 0 are left out, and days before `REACH` are counted on the oldest day.
    `series`: the number of series of each entry; None if each entry is one series. `with_values`: whether the entries
    are values, so that their number is given, too.
    """
    oldest = max(began, observed - REACH).toordinal()
    held = first > 0
    days = np.maximum(first[held], oldest) - oldest
    counts = np.bincount(days)
    totals = counts if series is None else np.bincount(days, weights=series[held])
    return tuple(
        SeriesSince(
            date_of(oldest + number),
            round(totals[number] / held_ratio),
            round(counts[number] / held_ratio) if with_values else None,
        )
        for number in np.flatnonzero(totals)
    )


def date_of(ordinal: int | np.int32 | np.int64) -> date:
    """The date of an ordinal as from `date.toordinal`."""
    return date.fromordinal(int(ordinal))


_COMBINED: Final = 0.1
"""New combinations of old values are only examined if they make up more than this share of the new series."""
_RECENT_DAYS: Final = 7
_FEWEST_RECENT: Final = 20
_FEWEST_OLD: Final = 5
"""Of days with fewer series than this that are still listed, too little is left to tell what series were like."""
_GATHERED: Final = 0.8
"""Minimum share of the recent series that must carry the same value for it to be reported."""
_SPREAD: Final = 0.5
"""A value carried by more than this share of the older series is not reported."""


def with_ages(
    arrivals: Arrivals,
    after: ValueSet,
    digests: npt.NDArray[np.uint64],
    hashes: npt.NDArray[np.uint64],
    tags: Mapping[str, tuple[SeenTag, ValuesOverTime]],
) -> dict[str, ValuesOverTime]:
    """Each tag's values over time, plus what the ages of the listed series show about the tag.

    `digests`, `hashes`: one per listed series; the digests have 64 bits. `after`: the set with these hashes.
    """
    first = after.first_days(hashes)
    combined = after.exact and _are_combined(arrivals)
    found = {}
    for key, (seen, values) in tags.items():
        lacking = by_day(first[seen.tag.codes == 0], arrivals.began, arrivals.observed, after.held_ratio)
        without = _without(key, seen, digests, first, arrivals) if combined else None
        code = _gathered(seen, first, arrivals.began)
        values = replace(values, lacking=lacking, without=without)
        if code is not None:
            began, inside = arrivals.began.toordinal(), seen.tag.codes == code
            are_new = (k for k, (s, _) in tags.items() if k != key and s.exact and (s.of_series[inside] > began).all())
            value = str(seen.tag.values[code - 1].as_py())
            values = replace(values, gathered=value, gathered_new=tuple(are_new))
        found[key] = values
    return found


def _are_combined(arrivals: Arrivals) -> bool:
    if arrivals.newest_value is None or arrivals.before is None:
        return False
    new, carrying = (
        sum(s.series for s in series if s.day > max(arrivals.began, series[0].day))
        for series in (arrivals.series, arrivals.newest_value)
    )
    return new - carrying > _COMBINED * new


def _without(
    key: str, seen: SeenTag, digests: npt.NDArray[np.uint64], first: Days, arrivals: Arrivals
) -> tuple[SeriesSince, ...]:
    """The series, by the day on which the oldest series that equals them except for the tag was first seen."""
    own = np.zeros(len(digests), np.uint64)
    seen.tag.add_to(own, key)
    rest = digests - own
    order = np.argsort(rest)
    rest = rest[order]
    starts = np.flatnonzero(np.append(True, rest[1:] != rest[:-1])) if len(rest) else np.zeros(0, np.int64)
    oldest = np.minimum.reduceat(first[order], starts) if len(rest) else first
    sizes = np.diff(np.append(starts, len(rest)))
    return by_day(np.repeat(oldest, sizes), arrivals.began, arrivals.observed)


def _gathered(seen: SeenTag, first: Days, began: date) -> int | None:
    """The code of the value that most of the recent series carry but most of the oldest do not; None if there is none.

    The oldest are those of one day, so that it is the same value after weeks of such series.
    """
    since = max(began.toordinal() + 1, int(first.max(initial=0)) - _RECENT_DAYS + 1)
    is_old = (first > 0) & (first < since)
    days, on_day = np.unique(first[is_old], return_counts=True)
    enough = days[on_day >= _FEWEST_OLD]
    recent, older = seen.tag.codes[first >= since], seen.tag.codes[first == enough[0] if len(enough) else is_old]
    if len(recent) < _FEWEST_RECENT or not len(older):
        return None
    counts = np.bincount(recent, minlength=len(seen.first) + 1)
    counts[0] = 0
    at = int(counts.argmax())
    if counts[at] < _GATHERED * len(recent) or (older == at).mean() > _SPREAD:
        return None
    return at
