"""The rows of a fact about the target or a database."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from tsaudit.collect.query_runner import QueryRunner
from tsaudit.model.profile import Reason
from tsaudit.model.query_parameters import Given, OfMeasurements

Row = dict[str, Any]

_NAMED_BY: Final = {
    "databases": ("database",),
    "policies": ("database",),
    "measurements": ("measurement",),
    "columns": ("measurement", "column"),
    "tag_keys": ("measurement", "tag"),
    "row_estimate": ("measurement",),
    "storage": ("measurement",),
    "activity": ("measurement",),
}
"""Facts that are lists in which each item has one row, with the columns that identify the item."""


def each_of(runner: QueryRunner, fact: str, database: str, chosen: list[str]) -> dict[str, list[Row] | None] | None:
    """Measurement to its rows of the fact; None in place of rows that left a gap.

    An engine that describes each measurement in a separate statement may refuse some and not others.
    """
    if runner.engine.describes_singly:
        return {name: rows_of(runner, fact, _about(runner, database, [name]), name) for name in chosen}
    rows = rows_of(runner, fact, _about(runner, database, chosen))
    if rows is None:
        return None
    found: dict[str, list[Row] | None] = {}
    for row in rows:
        found.setdefault(row["measurement"], []).append(row)  # type: ignore[union-attr]
    return found


def rows_about(runner: QueryRunner, fact: str, database: str, names: list[str]) -> list[Row] | None:
    """The rows of a fact about the named measurements; None if a gap was left.

    If each measurement needs its own statement, thousands of them would exceed the time limit of one statement.
    """
    at_once = runner.engine.measurements_per_statement.get(fact)
    if at_once is None:
        return rows_of(runner, fact, _about(runner, database, names))
    found: list[Row] = []
    for first in range(0, len(names), at_once):
        rows = rows_of(runner, fact, _about(runner, database, names[first : first + at_once]))
        if rows is None:
            return None
        found += rows
    return found


def rows_of(runner: QueryRunner, fact: str, given: Given, measurement: str | None = None) -> list[Row] | None:
    """The rows of a fact about the target or a database; None if a gap was left. `measurement`: the queried
    measurement, if each is queried separately.

    If a list contains an item twice, the first row is used, and a gap says so, because there is no way to know which
    one is right.
    """
    rows: list[Row] = []

    def consume(batch: pa.RecordBatch) -> None:
        rows.extend(batch.to_pylist())

    if runner.query(fact, consume, given, measurement=measurement) is None:
        return None
    return rows if fact not in _NAMED_BY else _each_once(runner, fact, rows, given)


def _each_once(runner: QueryRunner, fact: str, rows: list[Row], given: Given) -> list[Row]:
    names = _NAMED_BY[fact]
    found: dict[tuple[Any, ...], Row] = {}
    repeated: dict[tuple[Any, ...], None] = {}
    for row in rows:
        key = tuple(row[name] for name in names)
        if key in found:
            repeated[key] = None
        else:
            found[key] = row
    for key in repeated:
        about = dict(zip(names, key, strict=True))
        detail = f"the server lists the {names[-1]} {key[-1]} twice; only the first entry counts"
        runner.gap(fact, Reason.FAILED, detail, about.get("database") or given.subject[0], about.get("measurement"))
    return list(found.values())


def _about(runner: QueryRunner, database: str, names: list[str]) -> OfMeasurements:
    return OfMeasurements(database=database, measurements=names, start=runner.window.start, end=runner.window.end)


def single_value(column: pa.Array) -> Any:
    """The only value of a column. Times are cut to microseconds, the precision of Python's datetime."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column[0].as_py()
