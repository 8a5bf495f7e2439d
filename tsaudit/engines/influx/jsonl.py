"""Reads InfluxDB 3's responses over HTTP: a JSON object per row, without its nulls."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

LISTED_ROWS: Final = 10_000
WHOLE_ROWS: Final = 1_000_000
"""Rows per batch if the batch contains the whole response, so that the inferred types hold for all of it."""


def batches(lines: Iterable[bytes], columns: Sequence[str], *, as_text: bool) -> Iterator[pa.RecordBatch]:
    """The rows as record batches with the given columns, because JSON shows neither missing columns nor types.

    `as_text`: every column is a string, and batches are small. Otherwise, types are inferred from the values; times
    remain strings. ValueError for anything other than JSON objects.
    """
    rows = (_row(line, columns) for line in lines if line.strip())
    while some := list(itertools.islice(rows, LISTED_ROWS if as_text else WHOLE_ROWS)):
        arrays = [_array([row.get(column) for row in some], as_text) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _row(line: bytes, columns: Sequence[str]) -> dict[str, Any]:
    row = None
    with contextlib.suppress(ValueError):  # the library's messages are for programmers
        row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("a line is not a JSON object; is there a proxy in between?")
    # Nulls are left out: a row may be empty, but it must not have other columns.
    if row and row.keys().isdisjoint(columns):
        raise ValueError("a row has none of the requested columns")
    return row


def _array(values: list[Any], as_text: bool) -> pa.Array:
    if as_text:
        return pa.array([None if v is None else str(v) for v in values], pa.string())
    kinds = {type(v) for v in values if v is not None}
    if kinds == {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array(values) if kinds else pa.array(values, pa.string())
