"""Converts the rows of GreptimeDB's metadata views about the tables of one database, and what only SHOW CREATE TABLE
contains, to the columns of tsaudit's facts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tsaudit.engines.greptimedb.tables import METRIC_OF_ROW
from tsaudit.model.figures import Role

_NAME: Final = r"(?:\"(?:\"\"|[^\"])*\"|`(?:``|[^`])*`)"
_NAMES: Final = rf"{_NAME}(?:, {_NAME})*"
_TAIL: Final = re.compile(
    rf"\n  TIME INDEX \((?P<time>{_NAME})\)"
    rf"(?:,\n  PRIMARY KEY \((?P<key>{_NAMES})\))?"
    r"\n\)\n"
    rf"(?:PARTITION ON COLUMNS \((?P<partition_key>{_NAMES})\) \((?P<bounds>.*)\n\))?"
    r"\s*ENGINE=(?P<engine>\S+)"
    r"(?:\s+WITH\(\n(?P<options>(?:  .*\n)*)\))?\s*\Z",
    re.DOTALL,
)
"""The end of the statement, from the constraints on. Columns are before it, with comments of any text."""
_OPTION: Final = re.compile(r"  '?(?P<name>[^'=]+?)'? = '(?P<value>(?:\\.|[^\\])*)',?")
_ESCAPED: Final = re.compile(r"\\(?:u\{([0-9a-f]+)\}|(.))")
_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A table's definition, without its columns."""

    engine: str
    """`mito`, `metric`, or `file`."""
    key: tuple[str, ...]
    """The columns of the primary key, in order; without the time and the metric engine's own two columns."""
    partition_key: tuple[str, ...]
    options: Mapping[str, str]


def parse_definition(statement: str) -> CreateTable:
    """The definition. Raises ValueError for other text. Names are in double quotes or, over MySQL, in backticks."""
    # Parsed from the last constraints on: the comment of a column could contain a line that looks like them.
    start = statement.rfind("\n  TIME INDEX (")
    found = _TAIL.match(statement, start) if start >= 0 else None
    if found is None:
        raise ValueError("the response to SHOW CREATE TABLE is not the definition of a table")
    options = (_OPTION.fullmatch(line) for line in (found["options"] or "").split("\n"))
    return CreateTable(
        engine=found["engine"],
        key=_names(found["key"]),
        partition_key=_names(found["partition_key"]),
        options={o["name"]: _unescaped(o["value"]) for o in options if o is not None},
    )


def _names(text: str | None) -> tuple[str, ...]:
    found = re.findall(_NAME, text or "")
    return tuple(name[1:-1].replace(name[0] * 2, name[0]) for name in found)


def _unescaped(text: str) -> str:
    """The value before the server escaped it with Rust's `escape_debug`."""

    def plain(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2])

    return _ESCAPED.sub(plain, text)


Row = Mapping[str, Any]

_SERIES_OF_ROW: Final = "__tsid"
"""A column of the physical table with a hash of the metric and its labels, which adds no information."""
LEGACY_FORMAT: Final = "primary_key"
"""The legacy file format, the only one up to 0.17."""
_ENGINES: Final = frozenset({"mito", "metric"})
"""The engines whose tables are audited; tables of the engine `file` are external files."""
_ROLES: Final = {"TIMESTAMP": Role.TIME, "TAG": Role.TAG, "FIELD": Role.FIELD}
_CONSTRAINTS: Final = frozenset({"primary", "time"})
_FIRST_WORD: Final = {"PRIMARY": "primary", "TIME": "time"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column as listed in `information_schema.columns`."""

    name: str
    data_type: str
    role: Role


@dataclass(frozen=True, slots=True)
class Table:
    """A table to audit."""

    id: int
    name: str
    engine: str
    columns: tuple[Column, ...]
    """The columns in the order of the table, without the redundant one."""
    metrics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For a physical table of the metric engine: label to the logical tables with it, unless all of them have it."""

    @property
    def tags(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns if c.role is Role.TAG)

    @property
    def time(self) -> Column | None:
        return next((c for c in self.columns if c.role is Role.TIME), None)


def view_names(columns: Iterable[Row]) -> frozenset[str]:
    """The names of the server's metadata views."""
    return frozenset(row["table_name"] for row in columns if row["table_schema"] == "information_schema")


def tables(listed: Iterable[Row], columns: Iterable[Row]) -> dict[str, dict[str, Table]]:
    """Database to table name to table, for tables with rows of their own.

    A logical table of the metric engine is a view of a physical table, which represents all of them here; only the
    physical table shows the ID of the metric in each row.
    """
    described: dict[tuple[str, str], list[Column]] = {}
    for row in columns:
        column = Column(row["column_name"], row["data_type"], _ROLES.get(row["semantic_type"], Role.FIELD))
        described.setdefault((row["table_schema"], row["table_name"]), []).append(column)
    found: dict[str, dict[str, Table]] = {}
    logical: dict[str, dict[str, list[Column]]] = {}
    for row in listed:
        members = described.get((row["table_schema"], row["table_name"]), [])
        if row["engine"] == "metric" and METRIC_OF_ROW not in {c.name for c in members}:
            logical.setdefault(row["table_schema"], {})[row["table_name"]] = members
        elif row["engine"] in _ENGINES:
            kept = tuple(c for c in members if row["engine"] != "metric" or c.name != _SERIES_OF_ROW)
            table = Table(row["table_id"], row["table_name"], row["engine"], kept)
            found.setdefault(row["table_schema"], {})[table.name] = table
    return {database: _with_metrics(inside, logical.get(database, {})) for database, inside in found.items()}


def _with_metrics(tables: dict[str, Table], logical: Mapping[str, Sequence[Column]]) -> dict[str, Table]:
    """The physical table with the metrics that have each of its labels.

    If there are several physical tables, only the definition of each metric would show which of them it is in, so they
    are returned unchanged.
    """
    physical = [table for table in tables.values() if table.engine == "metric"]
    if len(physical) != 1:
        return tables
    having: dict[str, list[str]] = {}
    for name in sorted(logical):
        for column in logical[name]:
            having.setdefault(column.name, []).append(name)
    some = {label: tuple(names) for label, names in having.items() if len(names) < len(logical)}
    return {**tables, physical[0].name: replace(physical[0], metrics=some)}


def metric_names(listed: Iterable[Row]) -> dict[str, str]:
    """The ID of each table of the metric engine, as a string, to its name."""
    return {str(row["table_id"]): row["table_name"] for row in listed if row["engine"] == "metric"}


def column_rows(table: Table, key: Sequence[str]) -> Iterator[Row]:
    """The rows of the fact `columns`. `key`: the columns of the primary key, in order."""
    places = {name: place for place, name in enumerate((k for k in key if k != _SERIES_OF_ROW), 1)}
    for column in table.columns:
        yield {
            "measurement": table.name,
            "column": column.name,
            "data_type": column.data_type,
            "key_position": places.get(column.name),
            "role": str(column.role),
            "metrics": table.metrics.get(column.name, ()),
        }


def index_rows(rows: Iterable[Row], key_of: Callable[[str], Sequence[str]]) -> Iterator[Row]:
    """The rows of the fact `indexes`, from `statistics` or, if it does not exist, from `key_column_usage`.

    The latter lists all indexes of a column in one row, such as `PRIMARY, INVERTED INDEX`, without the order of the
    key, which `key_of` returns for a table. Names are those used by `statistics` in both cases.
    """
    for row in rows:
        table, column = row["table_name"], row["column_name"]
        if "index_type" in row:
            yield _index_row(table, row["index_name"], row["index_type"].lower(), row["seq_in_index"], column)
            continue
        for constraint in row["constraint_name"].split(", "):
            word = constraint.split(" ")[0]
            kind = _FIRST_WORD.get(word, word.lower())
            index = constraint if kind in _CONSTRAINTS else f"{word}_INDEX_{column}"
            position = _place(column, key_of(table)) if kind == "primary" else 1
            yield _index_row(table, index, kind, position, column)


def _place(column: str, key: Sequence[str]) -> int:
    return key.index(column) + 1 if column in key else len(key) + 1


def _index_row(table: str, index: str, kind: str, position: int, column: str) -> Row:
    """One column of an index. `kind`: primary, time, inverted, skipping, or fulltext."""
    return {
        "measurement": table,
        "index": index,
        "kind": kind,
        "position": position,
        "column": column,
        "is_unique": False,
        "is_constraint": kind in _CONSTRAINTS,
        "is_partial": False,
        "size_bytes": None,
        "scans": None,
        "counted_since": None,
    }


def option_rows(table: Table, defined: CreateTable) -> Iterator[Row]:
    """The rows of the fact `options`."""
    for option, value in {**defined.options, "engine": defined.engine}.items():
        yield {"measurement": table.name, "option": option, "value": value}


_UNITS: Final = {
    **dict.fromkeys(("year", "years", "y"), 31_557_600.0),
    **dict.fromkeys(("month", "months", "M"), 2_630_016.0),
    **dict.fromkeys(("week", "weeks", "w"), 604_800.0),
    **dict.fromkeys(("day", "days", "d"), 86_400.0),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h"), 3_600.0),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m"), 60.0),
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s"), 1.0),
    **dict.fromkeys(("millis", "msec", "ms"), 1e-3),
    **dict.fromkeys(("usec", "us"), 1e-6),
    **dict.fromkeys(("nanos", "nsec", "ns"), 1e-9),
}
"""Units of durations in options, in seconds: https://docs.rs/humantime/latest/humantime/fn.parse_duration.html"""


def retention_row(name: str, defined: CreateTable) -> Row:
    """The row of the fact `table_retention`."""
    duration = lifetime_s(defined.options.get("ttl", "forever"))
    return {"measurement": name, "policy": "ttl", "duration_s": duration, "partition_s": None}


def lifetime_s(ttl: str) -> int | None:
    """The duration of a `ttl` in seconds, such as 604,800 for `7days`; 0 for no retention; None if the text is not a
    duration.

    `instant`, which means that rows are never kept, becomes the shortest possible duration, because 0 has another
    meaning.
    """
    if ttl in ("", "forever"):
        return 0
    if ttl == "instant":
        return 1
    parts = re.findall(r"(\d+)\s*([A-Za-z]+)", ttl)
    if not parts or re.sub(r"\d+\s*[A-Za-z]+|\s", "", ttl) or any(unit not in _UNITS for _, unit in parts):
        return None
    return max(1, round(sum(int(number) * _UNITS[unit] for number, unit in parts)))


def by_table(regions: Iterable[Row]) -> dict[int, list[Row]]:
    """Table ID to the table's regions."""
    found: dict[int, list[Row]] = {}
    for row in regions:
        found.setdefault(row["table_id"], []).append(row)
    return found


def region_totals(regions: Sequence[Row]) -> tuple[int | None, int | None, int | None]:
    """Rows, bytes of data, and bytes of indexes. Each is None if it is not known; rows also if reported as 0."""
    rows, data, index = (
        sum(row[name] or 0 for row in regions) if regions else None
        for name in ("region_rows", "sst_size", "index_size")
    )
    return rows or None, data, index


def partition_rows(
    table: Table, defined: CreateTable, partitions: Sequence[Row], regions: Sequence[Row]
) -> Iterator[Row]:
    """The rows of the fact `partitions`; none for a table with partition columns but no bounds, which is undivided."""
    within = {row["region_id"]: row for row in regions}
    counted = any(row["region_rows"] for row in within.values())
    for row in partitions:
        bounds = row["partition_description"]
        if bounds is None and row["partition_expression"] != ", ".join(defined.partition_key):
            bounds = row["partition_expression"]  # up to 0.17
        if bounds is None:
            continue
        region = within.get(row["greptime_partition_id"])
        yield {
            "measurement": table.name,
            "key": ", ".join(defined.partition_key),
            "partition": row["partition_name"],
            "bounds": bounds,
            "rows": region["region_rows"] if region and counted else None,
            "bytes": region["sst_size"] if region else None,
        }
