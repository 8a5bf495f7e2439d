"""Writes data sets to DuckDB."""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pytest

from tests.databases import Dataset, Table, Value, Written, columns_of
from tests.engines.sql.files import written_file
from tests.planning.places import Statements, each_on_its_own, file_of
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES

_TYPES: Final = {
    "float": "DOUBLE",
    "integer": "BIGINT",
    "string": "VARCHAR",
    "boolean": "BOOLEAN",
    "time": "TIMESTAMP",
    "uuid": "UUID",
}


def place(request: pytest.FixtureRequest, folder: Path) -> Path:
    """The file is named like the schema in it, which makes `main.x` ambiguous for DuckDB."""
    return folder / "main.duckdb"


def written(dataset: Dataset, where: str | Path) -> Written:
    """A new file."""
    return written_file(dataset, where, "duckdb", duckdb.connect, _TYPES, _insert, lambda table: _TYPES["time"])


def server(where: str | Path, target: Target) -> Statements:
    """Each statement is a transaction of its own, as in the shell."""
    del where
    return Statements(target.engine, each_on_its_own(functools.partial(duckdb.connect, file_of(target))))


def _insert(connection: Any, table: Table) -> None:
    arrow = {"float": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "time": pa.timestamp("us")}
    types = {table.time: pa.timestamp("us")} | {k: arrow.get(v, pa.string()) for k, v in table.fields.items()}
    arrays = {
        f"c{i}": pa.array([_naive(v) for v in values], types.get(name, pa.string()))
        for i, (name, values) in enumerate(columns_of(table, table.rows).items())
    }
    connection.register("written", pa.table(arrays))
    connection.execute(f"INSERT INTO {ENGINES['duckdb'].language.identifier(table.name)} SELECT * FROM written")
    connection.unregister("written")


def _naive(value: Value) -> Value:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value
