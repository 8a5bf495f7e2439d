"""Writes data sets to DuckDB."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pytest

from tests.databases import Dataset, Value, Written, columns_of, create_indexes, create_table
from tsaudit.engines.quoting import quote_identifier

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
    if dataset.beside:
        raise ValueError("a file has no databases beside each other")
    arrow = {"float": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "time": pa.timestamp("us")}
    with duckdb.connect(str(where)) as connection:
        for table in dataset.tables:
            connection.execute(create_table(table, _TYPES, "TIMESTAMP"))
            types = {table.time: pa.timestamp("us")} | {k: arrow.get(v, pa.string()) for k, v in table.fields.items()}
            arrays = {
                f"c{i}": pa.array([_naive(v) for v in values], types.get(name, pa.string()))
                for i, (name, values) in enumerate(columns_of(table, table.rows).items())
            }
            connection.register("written", pa.table(arrays))
            connection.execute(f"INSERT INTO {quote_identifier('duckdb', table.name)} SELECT * FROM written")
            connection.unregister("written")
            for statement in create_indexes(table, "duckdb"):
                connection.execute(statement)
    return Written(f"duckdb:///{where}")


def _naive(value: Value) -> Value:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) else value
