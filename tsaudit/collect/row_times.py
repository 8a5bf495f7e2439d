"""What a sample of rows shows about their times: duplicate rows, and fields that contain another time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from tsaudit.analysis.rows.distinguishing_tags import distinguishing_tags, overwritten
from tsaudit.collect.figures import as_codes, series_of_rows
from tsaudit.model.profile import Repeats, RowsApart, SetApart, Source, TagSets, TimeLag

_PER_SECOND: Final = 1e6
_PERCENTILES: Final = (10, 50, 90)
_SHORTEST_H: Final = 6
"""Sessions and containers often live for hours, and would seem to last within less time."""
_ROWS_PER_VALUE: Final = 1.5
_MOST_COUNTED: Final = 8


def repeats(
    tags: Mapping[str, pa.ChunkedArray], fields: Mapping[str, pa.ChunkedArray], times: pa.ChunkedArray, source: Source
) -> Repeats:
    """The number of rows that duplicate another one. Rows without a time are left out."""
    timed = times.is_valid()
    key = [column.filter(timed) for column in (times, *tags.values())]
    rest = [column.filter(timed) for column in fields.values()]
    rows = len(key[0])
    keys = len(np.unique(series_of_rows(key, rows)))
    whole = len(np.unique(series_of_rows([*key, *rest], rows)))
    return Repeats(rows, rows - keys, rows - whole, source)


def rows_apart(
    tags: Mapping[str, pa.ChunkedArray],
    times: pa.ChunkedArray,
    source: Source,
    wanted: Iterable[frozenset[str]] = (),
    *,
    also: pa.ChunkedArray | None = None,
    whole: bool = True,
    within: str = "",
) -> RowsApart:
    """Which tags distinguish rows with the same time. Rows without a time are left out.

    `wanted`: sets of tags that are counted even if they are not among the smallest. `also`: another column that
    identifies a row, and cannot be dropped. `whole`, `within`: see `RowsApart`.
    """
    timed = times.is_valid()
    moments = as_codes(times.filter(timed)).to_numpy()
    if also is not None:
        codes = as_codes(also.filter(timed)).fill_null(-1).to_numpy()
        _, moments = np.unique(moments.astype(np.int64) * (codes.max(initial=0) + 2) + codes, return_inverse=True)
    columns = {key: as_codes(column.filter(timed)).fill_null(-1).to_numpy() for key, column in tags.items()}
    found, complete = distinguishing_tags(columns, moments)
    each = () if complete else (frozenset({tag}) for tag in tags)
    sets = sorted({*found, *wanted, *each}, key=lambda names: (len(names), sorted(names)))
    counts = overwritten(columns, moments, sets)
    by = tuple(SetApart(tuple(sorted(names)), counts[names]) for names in sets)
    return RowsApart(len(moments), by, complete, source, whole, within)


def likely_drops(tag_sets: TagSets | None) -> list[frozenset[str]]:
    """Sets of tags that a plan is likely to drop: each of those that contribute most, and the first ones together."""
    if tag_sets is None:
        return []
    found = [frozenset((one.tag, *one.together_with)) for one in tag_sets.contributions[:_MOST_COUNTED]]
    so_far: frozenset[str] = frozenset()
    for one in tag_sets.drop_curve[:_MOST_COUNTED]:
        so_far |= {one.tag, *one.together_with}
        found.append(so_far)
    return list(dict.fromkeys(found))


def recurring(column: pa.ChunkedArray, times: pa.ChunkedArray) -> float | None:
    """The share of the values that occur in both halves of the time that the rows span.

    `times`: in microseconds, null for rows to leave out. None if the rows span less than `_SHORTEST_H`, or if there are
    fewer than `_ROWS_PER_VALUE` rows for each value: what is read once cannot be seen again.
    """
    both = np.array(column.is_valid()) & np.array(times.is_valid())
    at = times.filter(pa.array(both)).to_numpy()
    if not len(at) or at.max() - at.min() < _SHORTEST_H * 3600 * _PER_SECOND:
        return None
    _, codes = np.unique(as_codes(column.filter(pa.array(both))).to_numpy(), return_inverse=True)
    values = int(codes.max()) + 1
    if len(codes) < _ROWS_PER_VALUE * values:
        return None
    late = at >= (at.min() + at.max()) / 2
    halves = [np.bincount(codes[half], minlength=values) > 0 for half in (~late, late)]
    return float((halves[0] & halves[1]).mean())


def time_lag(column: pa.ChunkedArray, times: pa.ChunkedArray) -> TimeLag | None:
    """How far the column's times are before the rows' own times; None if either is not a time, or no row has both."""
    if not (pa.types.is_timestamp(column.type) and pa.types.is_timestamp(times.type)):
        return None
    both = np.array(column.is_valid()) & np.array(times.is_valid())
    if not both.any():
        return None
    lag = (_microseconds(times)[both] - _microseconds(column)[both]) / _PER_SECOND
    least, median, most = np.percentile(lag, _PERCENTILES)
    return TimeLag(int(both.sum()), float((lag > 0).mean()), float(median), float(most - least))


def _microseconds(times: pa.ChunkedArray) -> np.ndarray:
    whole = times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64()).fill_null(0)
    numbers: np.ndarray = whole.to_numpy()
    return numbers
