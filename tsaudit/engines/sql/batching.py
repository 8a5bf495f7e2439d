"""Combines the statements about several tables into one, and divides its response by table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from tsaudit.engines.connection import RowsOfSeveral
from tsaudit.model.facts import OfMeasurement, OfRowSample, OfSeriesListing

PLACE: Final = "place_of_statement"
"""A column name that no table should have, because not every engine can return two columns with the same name."""


def united(statements: Iterable[str]) -> str:
    """A statement that returns the rows of all statements, each row preceded by the position of its statement.

    The responses must have the same number of columns, of the same types. The parts are nested evenly: in a chain of a
    hundred, the first would be a hundred levels deep, and some servers process plans recursively.
    """
    parts = [
        f"SELECT {place} AS {PLACE}, of_{place}.* FROM (\n{statement}\n) AS of_{place}"  # noqa: S608  of query files
        for place, statement in enumerate(statements)
    ]
    return _nested(parts)


def _nested(parts: Sequence[str]) -> str:
    if len(parts) <= 2:
        return "\nUNION ALL\n".join(parts)
    half = (len(parts) + 1) // 2
    return f"{_nested(parts[:half])}\nUNION ALL\n(\n{_nested(parts[half:])}\n)"


def divided(
    batches: Iterator[pa.RecordBatch], given: Sequence[OfMeasurement], rows: RowsOfSeveral
) -> Iterator[pa.RecordBatch]:
    """The response to such a statement, in batches about one table each; a table without rows gets an empty batch.

    `batches`: at least one batch, which may be empty.
    """
    silent = set(range(len(given)))
    for batch in batches:
        places = batch.column(0).to_numpy(zero_copy_only=False)
        ends = [*(int(end) for end in np.flatnonzero(np.diff(places)) + 1), len(places)] if len(places) else []
        for start, end in zip([0, *ends], ends, strict=False):
            place = int(places[start])
            silent.discard(place)
            rows.measurement = given[place].measurement
            yield _about(given[place], batch.slice(start, end - start))
        none = batch.slice(0, 0)
    for place in sorted(silent):
        rows.measurement = given[place].measurement
        yield _about(given[place], none)


def _about(one: OfMeasurement, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without the position, with the names of its own columns: the response has those of the first."""
    own = batch.select(range(1, batch.num_columns))
    match one:
        case OfRowSample():
            return own.rename_columns(list(one.columns))
        case OfSeriesListing():
            return own.rename_columns(list(one.tags))
        case _:
            return own
