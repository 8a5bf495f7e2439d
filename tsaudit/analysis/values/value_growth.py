"""Whether the values of a tag are bounded, and how long each one is in use, from the days it was seen.

If a listing covers several days, each value remains visible for that many days. The functions take that number as an
argument and correct for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from tsaudit.analysis.values.value_sets import Days, ValueSet
from tsaudit.model.profile import ValuesKind

_WINDOW_DAYS: Final = 28
_WEEK: Final = 7
_WEEKEND: Final = 2
_QUIET: Final = 0.25
"""A day is quiet if its rate is at most this share of the other days' rate."""
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


def index(values: ValueSet, listing_days: int | None = 1) -> ValueIndex:
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
    return float(last[0][begin:].sum() / last[1][begin:].sum())


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
