"""What is new in a listing compared with earlier listings: the new values of each tag; and the new series, and what
they have in common: tags they lack, tags in which they differ from older series, and values that most of them carry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.values import value_growth
from tsaudit.analysis.values.value_hashes import HashedTag
from tsaudit.analysis.values.value_sample import sample
from tsaudit.analysis.values.value_sets import Days, ValueSet
from tsaudit.model.profile import SAMPLE_SIZE, Arrivals, SeriesSince, ValuesOverTime

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

    `began`: the first day of listings. `listing_days`: see `value_growth.index`.
    """
    index, observed = value_growth.index(after, listing_days), date_of(after.days[-1])
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
        new_per_day=value_growth.arrivals_per_day(after),
        series=by_day(first, began, observed, after.held_ratio, tag.series_per_value(), with_values=True),
        newest=newest,
        examples=sample(fresh, _EXAMPLES),
        shape=shapes.classify(sample(fresh, SAMPLE_SIZE)).kind if newest else shapes.UNKNOWN,
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
        found[key] = replace(values, lacking=lacking, without=without, gathered=_gathered(seen, first, arrivals.began))
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


def _gathered(seen: SeenTag, first: Days, began: date) -> str | None:
    """The value that most of the recent series carry but most of the older ones do not; None if there is none."""
    since = max(began.toordinal() + 1, int(first.max(initial=0)) - _RECENT_DAYS + 1)
    recent, older = seen.tag.codes[first >= since], seen.tag.codes[(first > 0) & (first < since)]
    if len(recent) < _FEWEST_RECENT or not len(older):
        return None
    counts = np.bincount(recent, minlength=len(seen.first) + 1)
    counts[0] = 0
    at = int(counts.argmax())
    if counts[at] < _GATHERED * len(recent) or (older == at).mean() > _SPREAD:
        return None
    return str(seen.tag.values[at - 1].as_py())
