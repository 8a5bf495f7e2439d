"""Data sets as tables of a GreptimeDB: what the stand-in is given, and the statements that write them to a real one."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pymysql
import sqlalchemy as sa

from tests.databases import Dataset, Row, Table, Value
from tests.engines.greptimedb.definition import definition
from tests.engines.greptimedb.stored import Column, Region, Stored
from tsaudit.engines.registry import ENGINES

REAL: Final = os.environ.get("TSAUDIT_GREPTIMEDB_URL", "")
"""With it, such as mysql+pymysql://user:password@host:4002, tests write their data sets to that server."""
PER_SECOND: Final = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_UNITS: Final = {0: "s", 3: "ms", 6: "us", 9: "ns"}
_TYPES: Final = {
    "float": pa.float64(),
    "integer": pa.int64(),
    "boolean": pa.bool_(),
    "time": pa.timestamp("ms"),
    "json": pa.large_binary(),
}
DOCUMENT: Final = b"\x80"
"""Before the text of a document, as a reminder that it is none."""
_BATCH: Final = 1_000
_numbers = itertools.count()


def declared(database: str, table: Table, id_: int = 0) -> tuple[Stored, pa.Table]:
    """The table without its regions, and all rows in the order in which they are written."""
    settings = table.greptime
    columns, written = _written(table)
    key = sorted(table.tags, key=lambda tag: table.key.index(tag) if table.key and tag in table.key else 99)
    options = dict(settings.options)
    if settings.physical:
        options["on_physical_table"] = settings.physical
    engine = "metric" if settings.physical else "mito"
    indexes = {column: kinds.split() for column, kinds in settings.indexes.items()}
    stored = Stored(database, table.name, id_, engine, columns, tuple(key), options, indexes, settings.partition_by)
    return stored, written


def _written(table: Table) -> tuple[list[Column], pa.Table]:
    """The columns, and all rows in the order in which they were written."""
    columns = [Column(table.time, pa.timestamp(_UNITS[table.greptime.time_digits]), "TIMESTAMP")]
    tag_types = table.greptime.tag_types
    columns += [Column(tag, _TYPES.get(tag_types.get(tag, ""), pa.string()), "TAG") for tag in table.tags]
    columns += [Column(key, _field_type(table, key), "FIELD") for key in table.fields]
    arrays = [pa.array([_kept(_value(table, row, c), c.type) for row in table.rows], c.type) for c in columns]
    return columns, pa.table(arrays, names=[c.name for c in columns])


def _field_type(table: Table, key: str) -> pa.DataType:
    kind = table.fields[key]
    if kind == "any":
        # A column made by a write has the type of the first value.
        first = next((v for row in table.rows if (v := row.fields.get(key)) is not None), None)
        kind = {bool: "boolean", int: "integer", float: "float", datetime: "time"}.get(type(first), "string")
    return _TYPES.get(kind, pa.string())


def _value(table: Table, row: Row, column: Column) -> Value:
    if column.semantic == "TIMESTAMP":
        return row.time
    return row.tags.get(column.name) if column.semantic == "TAG" else row.fields.get(column.name)


def _kept(value: Any, kind: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        return _epoch(value, kind.unit) if isinstance(value, datetime) else int(value)
    if pa.types.is_string(kind):
        return value.isoformat() if isinstance(value, datetime) else str(value)
    if kind == pa.large_binary():
        return DOCUMENT + str(value).encode()
    if pa.types.is_floating(kind):
        return float(value)
    # A value of another type than the column's is refused.
    return value if isinstance(value, int) else None


def _epoch(at: datetime, unit: str) -> int:
    microseconds = (at - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1)
    return microseconds * PER_SECOND[unit] // 1_000_000


# --- A real server -----------------------------------------------------------------------------------------------


class RealGreptimeDB:
    """A GreptimeDB that somebody runs for tests."""

    def __init__(self, url: str) -> None:
        address = sa.make_url(url)
        self.url = url
        self.login: dict[str, str] = {}
        self._made: list[str] = []
        self._connection = pymysql.connect(
            host=address.host or "127.0.0.1",
            port=address.port or 4002,
            user=address.username or "",
            password=address.password or "",
            autocommit=True,
        )

    def write(self, dataset: Dataset) -> str:
        """The name of the database that holds it now; one of that name is replaced."""
        name = dataset.database or f"tsaudit_test_{next(_numbers)}"
        self._made.append(name)
        database = ENGINES["greptimedb"].language.identifier(name)
        for statement in (f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}"):
            self._execute(statement)
        self._connection.select_db(name)
        for statement in statements(dataset):
            self._execute(statement)
        return name

    def stop(self) -> None:
        for name in self._made:
            self._execute(f"DROP DATABASE IF EXISTS {ENGINES['greptimedb'].language.identifier(name)}")
        self._connection.close()

    def _execute(self, statement: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(statement)


def statements(dataset: Dataset) -> Iterator[str]:
    """What makes and fills the tables of a data set within a database."""
    for name in dict.fromkeys(table.greptime.physical for table in dataset.tables if table.greptime.physical):
        quoted = ENGINES["greptimedb"].language.identifier(name)
        columns = "greptime_timestamp TIMESTAMP(3) NOT NULL TIME INDEX, greptime_value DOUBLE NULL"
        yield f"CREATE TABLE {quoted} ({columns}) ENGINE=metric WITH (physical_metric_table = '')"
    for table in dataset.tables:
        stored, written = declared("", table)
        regions = tuple(Region(0, bound, 0, 0, 0, 0, 0) for bound in table.greptime.partitions)
        yield definition(dataclasses.replace(stored, regions=regions))
        names = ", ".join(ENGINES["greptimedb"].language.identifier(name) for name in written.column_names)
        for start in range(0, len(written), _BATCH):
            rows = ",\n".join(literals(written.slice(start, _BATCH)))
            yield f"INSERT INTO {ENGINES['greptimedb'].language.identifier(table.name)} ({names}) VALUES {rows}"


def literals(rows: pa.Table) -> Iterator[str]:
    """Each row as SQL; times are numbers in the unit of their column."""
    plain = [c.cast(pa.int64()) if pa.types.is_timestamp(c.type) else c for c in rows.columns]
    for values in zip(*(c.to_pylist() for c in plain), strict=True):
        yield f"({', '.join(map(_literal, values))})"


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return ENGINES["greptimedb"].language.string(value.removeprefix(DOCUMENT).decode())
    return ENGINES["greptimedb"].language.string(value) if isinstance(value, str) else str(value)
