"""Facts from the catalog: their rows about the target or a database, and what they say of how the engine stores each
measurement: bytes, options, indexes, partitions, files.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from tsaudit.collect.draft import Draft
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.model.facts import Given, OfMeasurements
from tsaudit.model.figures import FOREVER, Reason, with_zone
from tsaudit.model.profile import Measurement
from tsaudit.model.server import Activity, IdSequence, TableStatus
from tsaudit.model.storage import (
    DEFAULT_PARTITION,
    MAX_PARTITIONS,
    Index,
    Partition,
    Partitioning,
    Retention,
    Storage,
    StoredRows,
)

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


def each_of(runner: QueryRunner, fact: str, database: str, chosen: list[str]) -> Mapping[str, list[Row] | None] | None:
    """Measurement to its rows of the fact; None in place of rows that left a gap.

    An engine that describes each measurement in a separate statement may refuse some and not others.
    """
    if runner.engine.describes_singly:
        return {name: rows_of(runner, fact, _about(runner, database, [name]), name) for name in chosen}
    rows = rows_of(runner, fact, _about(runner, database, chosen))
    return None if rows is None else _by_measurement(rows)


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


def describe_storage(drafts: Sequence[Draft], fact: str, rows: Sequence[Row], now: datetime) -> list[Draft]:
    """The drafts of one database with what the rows of one of `STORAGE_FACTS` say. `now`: the day of the query."""
    of_measurement = _by_measurement(rows)
    described = []
    for draft in drafts:
        known = _DESCRIBED_BY[fact](draft.measurement, of_measurement.get(draft.name, []))
        if fact in ("indexes", "index_use"):
            known = _uses_observed(known, draft.previous, now)
        described.append(draft if known is draft.measurement else replace(draft, measurement=known))
    return described


def _uses_observed(measurement: Measurement, previous: Measurement | None, now: datetime) -> Measurement:
    """The measurement with `scans_since` set for each index: since when audits have seen the same number of uses."""
    before = {(i.name, i.columns): i for i in previous.indexes or ()} if previous else {}

    def observed(index: Index) -> Index:
        if index.scans is None:
            return index
        same = before.get((index.name, index.columns))
        since = same.scans_since if same and same.scans == index.scans else None
        return replace(index, scans_since=since or now)

    indexes = measurement.indexes
    return replace(measurement, indexes=tuple(map(observed, indexes))) if indexes else measurement


def _by_measurement(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["measurement"], []).append(row)
    return found


def _storage(m: Measurement, rows: list[Row]) -> Measurement:
    if not (row := _last(rows)):
        return m
    return replace(m, storage=Storage(row["data_bytes"], row["index_bytes"], mean_row_bytes=row.get("mean_row_bytes")))


def _options(m: Measurement, rows: list[Row]) -> Measurement:
    ordered = sorted(rows, key=lambda row: str(row["option"]))
    return replace(m, options={row["option"]: row["value"] for row in ordered})


def _effective_options(m: Measurement, rows: list[Row]) -> Measurement:
    if m.options is None:
        return m
    return _options(m, [*({"option": k, "value": v} for k, v in m.options.items()), *rows])


def _indexes(m: Measurement, rows: list[Row]) -> Measurement:
    ordered = sorted(rows, key=lambda row: (row["index"], row["position"]))
    groups = itertools.groupby(ordered, lambda row: row["index"])
    return replace(m, indexes=tuple(_index(list(parts)) for _, parts in groups))


def _index(parts: list[Row]) -> Index:
    row, sorting = parts[0], tuple(part.get("sorting") or "" for part in parts)
    return Index(
        name=row["index"],
        kind=row["kind"],
        columns=tuple(part["column"] for part in parts),
        unique=bool(row["is_unique"]),
        constraint=bool(row["is_constraint"]),
        partial=bool(row["is_partial"]),
        size_bytes=row["size_bytes"],
        scans=row["scans"],
        counted_since=row["counted_since"] and with_zone(row["counted_since"]),
        valid=row.get("is_valid", True),
        sorting=sorting if any(sorting) else (),
        rows_read=row.get("rows_read"),
        is_as_old=bool(row.get("is_as_old")),
        expires_s=row.get("expires_s"),
    )


def _partitions(m: Measurement, rows: list[Row]) -> Measurement:
    if not rows:
        return m
    from tsaudit.analysis.partition_ranges import range_of

    parts = [
        Partition(row["partition"], row["bounds"], row["rows"], row["bytes"], row.get("schema") or "") for row in rows
    ]
    parts.sort(key=lambda part: (-(part.bytes or 0), -(part.rows or 0), part.name))
    # Besides the biggest partitions, keep those for rows that match no other partition, however few rows they have, and
    # the one with the last range, which shows when the ranges end.
    ranges = [(found, part) for part in parts if (found := range_of(part.bounds))]
    (_, last_end), last = max(ranges, key=lambda pair: pair[0][1], default=((None, None), None))
    begins = [begin for (begin, _), _ in ranges]
    first_begin = min(known) if (known := [begin for begin in begins if begin]) and None not in begins else None
    rest = [
        part
        for part in parts[MAX_PARTITIONS:]
        if part.bounds == DEFAULT_PARTITION or part is last or "TO (MAXVALUE" in part.bounds
    ]
    key = tuple(rows[0]["key"].split(", ")) if rows[0]["key"] else ()
    if any("TO (MAXVALUE" in part.bounds for part in parts):
        last_end = None
    partitioning = Partitioning(key, len(parts), (*parts[: MAX_PARTITIONS - len(rest)], *rest), last_end, first_begin)
    return replace(m, partitioning=partitioning)


def _index_use(m: Measurement, rows: list[Row]) -> Measurement:
    found = {row["index"]: (row["scans"], row["counted_since"] and with_zone(row["counted_since"])) for row in rows}
    indexes = m.indexes and tuple(
        replace(index, scans=found[index.name][0], counted_since=found[index.name][1]) if index.name in found else index
        for index in m.indexes
    )
    return replace(m, indexes=indexes)


def _activity(m: Measurement, rows: list[Row]) -> Measurement:
    if not (row := _last(rows)):
        return m
    return replace(
        m, activity=Activity(row["reads"], row["writes"], row["counted_since"] and with_zone(row["counted_since"]))
    )


def _status(m: Measurement, rows: list[Row]) -> Measurement:
    def named(kind: str) -> dict[str, float]:
        return {row["name"]: row["value"] for row in rows if row["kind"] == kind}

    if not rows:
        return m
    since, defaults = named("since").get(""), named("defaults")
    began = None if since is None else datetime.fromtimestamp(since, UTC)
    return replace(
        m,
        status=TableStatus(
            counters=named("counter"),
            figures=named("figure"),
            order=named("order"),
            counted_since=began,
            widths=named("width"),
            common=named("common"),
            ids=named("id"),
            id_limits=named("id_limit"),
            written_ids=frozenset(row["name"] for row in rows if row["kind"] == "written"),
            refers={row["name"]: row["text"] for row in rows if row["kind"] == "refers"},
            sequences={
                row["name"]: IdSequence(
                    row["text"], row["kind"] == "identity", round(row["value"]), defaults.get(row["name"], 1) > 1
                )
                for row in rows
                if row["kind"] in ("identity", "sequence")
            },
        ),
    )


def _retention(m: Measurement, rows: list[Row]) -> Measurement:
    known = _last([row for row in rows if row["duration_s"] is not None])
    if not known:
        return m
    retention = Retention(known["policy"], known["duration_s"] or FOREVER, known["partition_s"], default=True)
    return replace(m, retention=retention)


def _stored(m: Measurement, rows: list[Row]) -> Measurement:
    if not (row := _last(rows)):
        return m
    first = row["first_time"] and with_zone(row["first_time"])
    if first is None:
        raise ValueError(f"rows in files of {m.name} have no first time")
    return replace(m, stored=StoredRows(row["rows"], first))


def _last(rows: list[Row]) -> Row | None:
    return rows[-1] if rows else None


_DESCRIBED_BY: Final[Mapping[str, Callable[[Measurement, list[Row]], Measurement]]] = {
    "storage": _storage,
    "options": _options,
    "effective_options": _effective_options,
    "indexes": _indexes,
    "index_use": _index_use,
    "partitions": _partitions,
    "activity": _activity,
    "table_status": _status,
    "table_retention": _retention,
    "stored_rows": _stored,
}
STORAGE_FACTS: Final = tuple(_DESCRIBED_BY)
"""In query order: some need the results of others."""
