"""Reads InfluxDB 3's answers over HTTP: a JSON object per row, in which nulls are left out."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import pyarrow as pa

LISTED_ROWS: Final = 10_000
WHOLE_ROWS: Final = 1_000_000
"""Rows of a batch that holds all of an answer, so that the types found in it hold for the answer."""


def batches(lines: Iterable[bytes], columns: Sequence[str], *, as_text: bool) -> Iterator[pa.RecordBatch]:
    """The rows as record batches with the given columns, of which JSON says neither that they exist nor their types.

    `as_text`: every column is text, and batches are small. Otherwise types are those of the values; times stay texts.
    Raises ValueError for what is no JSON, or no objects.
    """
    rows = (_row(line, columns) for line in lines if line.strip())
    while some := list(itertools.islice(rows, LISTED_ROWS if as_text else WHOLE_ROWS)):
        arrays = [_array([row.get(column) for row in some], as_text) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _row(line: bytes, columns: Sequence[str]) -> dict[str, Any]:
    row = None
    with contextlib.suppress(ValueError):  # its words are for programmers
        row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("a line is no JSON object; is a proxy in between?")
    # Nulls are left out: a row may be empty, but not be about something else.
    if row and row.keys().isdisjoint(columns):
        raise ValueError("a row has none of the columns that were asked for")
    return row


def _array(values: list[Any], as_text: bool) -> pa.Array:
    if as_text:
        return pa.array([None if v is None else str(v) for v in values], pa.string())
    kinds = {type(v) for v in values if v is not None}
    if kinds == {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array(values) if kinds else pa.array(values, pa.string())
