"""Writes data sets to SQLite."""

from __future__ import annotations

import functools
import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest

from tests.databases import Dataset, Table, TimeAs, Value, Written, columns_of
from tests.engines.sql.files import written_file
from tests.planning.places import Statements, each_on_its_own, file_of
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES

_TYPES: Final = {
    "float": "REAL",
    "integer": "INTEGER",
    "string": "TEXT",
    "boolean": "BOOLEAN",
    "time": "TIMESTAMP",
    "uuid": "TEXT",
}


def place(request: pytest.FixtureRequest, folder: Path) -> Path:
    """The file is named like the schema in it, which makes `main.x` ambiguous for DuckDB."""
    return folder / "main.sqlite"


def written(dataset: Dataset, where: str | Path) -> Written:
    """A new file."""
    return written_file(dataset, where, "sqlite", sqlite3.connect, _TYPES, _insert, _time_type)


def server(where: str | Path, target: Target) -> Statements:
    """Each statement is a transaction of its own, as in the shell."""
    del where
    connect = functools.partial(sqlite3.connect, file_of(target), isolation_level=None)
    return Statements(target.engine, each_on_its_own(connect))


def _time_type(table: Table) -> str:
    return _TYPES["time"] if table.time_as == "text" else "INTEGER"


def _insert(connection: Any, table: Table) -> None:
    columns = columns_of(table, table.rows)
    columns[table.time] = [_sqlite_time(row.time, table.time_as) for row in table.rows]
    places = ", ".join("?" * len(columns))
    rows = zip(*([_sqlite_value(v) for v in values] for values in columns.values()), strict=True)
    connection.executemany(f"INSERT INTO {ENGINES['sqlite'].language.identifier(table.name)} VALUES ({places})", rows)


def _sqlite_value(value: Value) -> Any:
    return _sqlite_time(value, "text") if isinstance(value, datetime) else value


def _sqlite_time(time: datetime, time_as: TimeAs) -> str | int:
    if time_as == "text":
        return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    return round(time.timestamp() * (1 if time_as == "seconds" else 1000))
