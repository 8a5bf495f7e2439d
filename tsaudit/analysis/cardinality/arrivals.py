"""What is new in a listing compared with earlier listings: its new series, and the new values of each tag."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.cardinality.hashed_tag_sets import HashedTag
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.values import value_growth
from tsaudit.analysis.values.value_sample import sample
from tsaudit.analysis.values.value_sets import ValueSet
from tsaudit.model.profile import SAMPLE_SIZE, Arrivals, SeriesSince, ValuesOverTime

REACH: Final = timedelta(days=90)
"""Series first seen longer ago than this are not broken down by day."""
_EXAMPLES: Final = 3

_Days = npt.NDArray[np.int32]


def new_series(before: ValueSet, after: ValueSet, hashes: npt.NDArray[np.uint64]) -> Arrivals:
    """The series of a listing by age.

    `hashes`: one per listed series. `after`: the set `before` plus these hashes.
    """
    began, observed = _date(after.days[0]), _date(after.days[-1])
    first = after.first_days(hashes)
    return Arrivals(
        observed=observed,
        before=_date(before.days[-1]) if len(before.days) else None,
        began=began,
        new_series=_new(before, after),
        series=_by_day(first, np.ones(len(first)), began, observed, after.held_ratio),
        sampled_series=None if after.exact else int((first > 0).sum()),
        standard_error=_error(after),
    )


def new_values(
    before: ValueSet, after: ValueSet, tag: HashedTag, began: date, listing_days: int | None
) -> ValuesOverTime:
    """The values of one tag of a listing by age.

    `began`: the first day of listings. `listing_days`: see `index`.
    """
    index, observed = value_growth.index(after, listing_days), _date(after.days[-1])
    first = after.first_days(tag.hashes)
    newest = _date(first.max(initial=0)) if first.max(initial=0) > began.toordinal() else None
    fresh = tag.values.take(pa.array(np.flatnonzero(first == newest.toordinal()))) if newest else tag.values[:0]
    return ValuesOverTime(
        kind=index.kind,
        beta=index.beta,
        turnover=index.turnover,
        days=index.days,
        new_values=_new(before, after),
        new_per_day=value_growth.arrivals_per_day(after),
        series=_by_day(first, tag.series_per_value(), began, observed, after.held_ratio),
        newest=newest,
        examples=sample(fresh, _EXAMPLES),
        shape=shapes.classify(sample(fresh, SAMPLE_SIZE)).kind if newest else shapes.UNKNOWN,
        sampled_values=None if after.exact else int((first > 0).sum()),
        standard_error=_error(after),
    )


def _new(before: ValueSet, after: ValueSet) -> int | None:
    return round(after.new_on(_date(after.days[-1])).value) if len(before.days) else None


def _error(after: ValueSet) -> float | None:
    return None if after.exact else after.new_on(_date(after.days[-1])).standard_error


def _by_day(
    first: _Days, series: npt.NDArray[Any], began: date, observed: date, held_ratio: float
) -> tuple[SeriesSince, ...]:
    oldest = max(began, observed - REACH).toordinal()
    held = first > 0
    totals = np.bincount(np.maximum(first[held], oldest) - oldest, weights=series[held])
    return tuple(
        SeriesSince(_date(oldest + number), round(totals[number] / held_ratio)) for number in np.flatnonzero(totals)
    )


def _date(ordinal: int | np.int32 | np.int64) -> date:
    return date.fromordinal(int(ordinal))
