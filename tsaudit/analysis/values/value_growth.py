"""Whether the values of a tag ever end, and how long they live, by the days each was seen.

Where a listing shows the values of several days, each value stays in sight for as long as it covers. The functions are
given that length, and allow for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from tsaudit.analysis.values.value_sets import Days, Estimate, ValueSet
from tsaudit.model.profile import ValuesKind

_WINDOW_DAYS: Final = 28
_WEEK: Final = 7
_FEWEST_DAYS: Final = 7
_BOUNDED: Final = 0.1
_UNBOUNDED: Final = 0.8
_UNBOUNDED_TURNOVER: Final = 0.5
"""Values that stopped coming anew are a step, however steep: a first day that saw little starts no endless growth."""
_FLOOR: Final = 1000
"""A date as a tag is new each day too, and harmless at a value a day."""


@dataclass(frozen=True, slots=True)
class Index:
    """Whether the values of a tag end, judged over the last 28 days."""

    kind: ValuesKind
    """`unknown` with fewer than 7 observed days; never `unbounded` with at most 1000 values."""
    beta: float | None
    """How the distinct values grow with the days: 0 the same every day, 1 all new every day; None when unknown."""
    turnover: float | None
    """Share of the last week's values that were not seen before that week; None when unknown."""
    values: Estimate
    """Distinct values over these days."""
    days: int
    """Observed days, from the first that had values."""


def index(values: ValueSet, listing_days: int | None = 1) -> Index:
    """Bounded, churning or unbounded.

    `listing_days`: how many days of data an observation covers, 1 for those of its day alone, None for all that was
    ever written. With more than 1 the values of a single day are worked out; see `_of_one_day`.
    """
    window = _window(values)
    if len(window) < _FEWEST_DAYS:
        start = int(window[0]) if len(window) else 0
        return Index("unknown", None, None, values.counted(values.last >= start), len(window))
    if listing_days == 1:
        total = values.counted(values.last >= window[0])
        first = float(values.distinct[np.searchsorted(values.days, window[0])])
        length, turnover, could_be_bounded = len(window), _turnover(values), True
    else:
        first, is_known = _of_one_day(values, window, listing_days)
        length, new = int(window[-1] - window[0]) + 1, values.counted(values.first > window[0])
        total, turnover = Estimate(first + new.value, new.standard_error), _listed_turnover(values, first)
        could_be_bounded = is_known or new.value <= _FLOOR
    beta = max(0.0, math.log(max(total.value, 1.0) / first) / math.log(length))
    kind = _kind(beta, turnover, total.value)
    if kind == "bounded" and not could_be_bounded:
        kind = "churning"
    return Index(kind, beta, turnover, total, len(window))


def arrivals_per_day(values: ValueSet) -> float | None:
    """Values first seen in the last 28 days, per day after the first of these; None with a single day."""
    window = _window(values)
    if len(window) < 2:
        return None
    return values.counted(values.first > window[0]).value / int(window[-1] - window[0])


def _of_one_day(values: ValueSet, window: Days, listing_days: int | None) -> tuple[float, bool]:
    """Distinct values of a single day, when each listing shows those of several; False where they may be fewer.

    What the last listing shows is the values of its first day and what each later one added, so the additions
    are taken off. It reaches back as far as the tag does, when that began while it was watched; as far as it
    covers, when about as many values leave it as arrive; else it is known only that it covers the days observed,
    and the values of the first listing are taken for those of one day. That never makes a tag look endless, but
    may make it look bounded, however many values are new.
    """
    rate, last = arrivals_per_day(values) or 0.0, float(values.distinct[-1])
    began = values.days[np.argmax(values.distinct > 0)]
    reaches, is_known = int(values.days[-1] - began) + 1, bool(began > values.days[0])
    if listing_days is not None:
        arrived = rate * int(window[-1] - window[0])
        left = values.distinct[np.searchsorted(values.days, window[0])] + arrived - last
        full = not is_known and 2 * left >= arrived
        reaches, is_known = listing_days if full else min(listing_days, reaches), is_known or full
    return max(last - (reaches - 1) * rate, rate, 1.0), is_known


def _listed_turnover(values: ValueSet, of_one_day: float) -> float:
    """Share of a week's values that came in it, when that many are there on a single day."""
    began = values.days[np.argmax(values.distinct > 0)]
    since = max(values.days[-1] - _WEEK + 1, began + 1)
    new = values.counted(values.first >= since).value
    return min(1.0, new / (of_one_day + new * (_WEEK - 1) / _WEEK))


def _window(values: ValueSet) -> Days:
    """The observed days among the last 28, from the first that had values."""
    if not len(values.days):
        return values.days
    recent = values.days > values.days[-1] - _WINDOW_DAYS
    filled = recent & (values.distinct > 0)
    return values.days[np.argmax(filled) :] if filled.any() else values.days[:0]


def _turnover(values: ValueSet) -> float:
    """What the first day with values saw is not new to the tag, only to us."""
    since = values.days[-1] - _WEEK + 1
    began = values.days[np.argmax(values.distinct > 0)]
    week = int((values.last >= since).sum())
    new = int((values.first >= max(since, began + 1)).sum())
    return new / week if week else 0.0


def lifetimes(values: ValueSet, listing_days: int | None = 1) -> Days:
    """Days from first to last sight, both included, of the values that were not seen on the last day.

    Those there on the first day of the set lived at least that long. Where an observation covers several days,
    a value stays in sight for that much longer: this is taken off, and those there on the first day are left out;
    none where nothing ever leaves (None). In a sketch, only those of the sample.
    """
    ended = values.last < (values.days[-1] if len(values.days) else 0)
    if listing_days is None:
        return values.first[:0]
    if listing_days > 1:
        ended &= values.first > values.days[0]
    lived: Days = values.last[ended] - values.first[ended] + np.int32(2 - listing_days)
    return lived.clip(min=1)


def _kind(beta: float, turnover: float, values: float) -> ValuesKind:
    if beta < _BOUNDED:
        return "bounded"
    endless = beta > _UNBOUNDED and turnover > _UNBOUNDED_TURNOVER and values > _FLOOR
    return "unbounded" if endless else "churning"
