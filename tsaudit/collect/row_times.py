"""What a sample of rows says of their times: rows that repeat others, and fields that hold another time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from tsaudit.analysis.rows.apart import told_apart_by
from tsaudit.collect.figures import as_codes, series_of_rows
from tsaudit.model.profile import Repeats, RowsApart, SetApart, Source, TimeLag

_PER_SECOND: Final = 1e6
_PERCENTILES: Final = (10, 50, 90)


def repeats(
    tags: Mapping[str, pa.ChunkedArray], fields: Mapping[str, pa.ChunkedArray], times: pa.ChunkedArray, source: Source
) -> Repeats:
    """How many rows repeat another one. Rows without a time are left out."""
    timed = times.is_valid()
    key = [column.filter(timed) for column in (times, *tags.values())]
    rest = [column.filter(timed) for column in fields.values()]
    rows = len(key[0])
    keys = len(np.unique(series_of_rows(key, rows)))
    whole = len(np.unique(series_of_rows([*key, *rest], rows)))
    return Repeats(rows, rows - keys, rows - whole, source)


def rows_apart(tags: Mapping[str, pa.ChunkedArray], times: pa.ChunkedArray, source: Source) -> RowsApart:
    """Which tags tell rows of one instant apart. Rows without a time are left out."""
    timed = times.is_valid()
    moments = as_codes(times.filter(timed)).to_numpy()
    codes = {key: as_codes(column.filter(timed)).fill_null(-1).to_numpy() for key, column in tags.items()}
    found, complete = told_apart_by(codes, moments)
    by = tuple(SetApart(tuple(sorted(names)), rows) for names, rows in found.items())
    return RowsApart(len(moments), by, complete, source)


def time_lag(column: pa.ChunkedArray, times: pa.ChunkedArray) -> TimeLag | None:
    """How far the column's times lie before the rows' own; None where one of both is of no time type, or no row has
    both."""
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
