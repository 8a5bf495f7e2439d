"""What is new in a listing compared with earlier listings: its new series, and the new values of each tag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.cardinality.hashed_tag_sets import HashedTag
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.values import value_growth
from tsaudit.analysis.values.spelling import respelled
from tsaudit.analysis.values.value_sample import sample
from tsaudit.analysis.values.value_sets import Days, ValueSet
from tsaudit.model.profile import SAMPLE_SIZE, Arrivals, SeriesSince, ValuesOverTime

REACH: Final = timedelta(days=90)
"""Series first seen longer ago than this are not broken down by day."""
_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class SeenTag:
    """One tag of a listing, and when its values were first seen."""

    tag: HashedTag
    first: Days
    """Per value, as `date.toordinal`; 0 if that is not stored."""
    exact: bool

    @property
    def of_series(self) -> Days:
        """The same per series; 0 also if it lacks the tag."""
        return np.concatenate((np.zeros(1, np.int32), self.first)).take(self.tag.codes)


def new_series(
    before: ValueSet, after: ValueSet, hashes: npt.NDArray[np.uint64], tags: Iterable[SeenTag] = ()
) -> Arrivals:
    """The series of a listing by age.

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
    """The values of one tag of a listing by age.

    `began`: the first day of listings. `listing_days`: see `index`.
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
        respelled=respelled(fresh, tag.values.filter(pa.array(~is_fresh))),
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
    """The numbers of series by day.

    `first`: days as `date.toordinal`; 0 is left out, and what is older than `REACH` counts on the oldest day.
    `series`: how many series are behind each; None for one. `with_values`: whether each is a value, to be counted, too.
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
    """The day of a `date.toordinal`."""
    return date.fromordinal(int(ordinal))
