"""Writes data sets to PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.databases import Dataset, Sql, Written, columns_of, create_indexes, create_table, new_name
from tests.planning.places import Statements, each_on_its_own
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES

_TYPES: Final = {
    "float": "DOUBLE PRECISION",
    "integer": "BIGINT",
    "string": "TEXT",
    "boolean": "BOOLEAN",
    "time": "TIMESTAMPTZ",
    "uuid": "UUID",
}


def place(request: pytest.FixtureRequest, folder: Path) -> Sql:
    """A server of the tests' own."""
    del folder
    found: Sql = request.getfixturevalue("postgresql")
    return found


def written(dataset: Dataset, where: Sql) -> Written:
    """Schemas, which the audit role is granted what `grants.md` says."""
    return Written(where.audit_url, tuple(_schema(one, where) for one in (dataset, *dataset.beside)))


def server(where: Sql, target: Target) -> Statements:
    """Each statement is a transaction of its own, as in psql."""
    return Statements(target.engine, each_on_its_own(where.connect))


def _schema(dataset: Dataset, where: Sql) -> str:
    schema = dataset.database or new_name()
    quoted = ENGINES["postgresql"].language.identifier(schema)
    with where.connect() as connection:
        connection.execute(f"DROP SCHEMA IF EXISTS {quoted} CASCADE")
        connection.execute(f"CREATE SCHEMA {quoted}")
        connection.execute(f"SET search_path = {quoted}")
        for table in dataset.tables:
            by = f" PARTITION BY {table.partition_by}" if table.partition_by else ""
            connection.execute(create_table(table, _TYPES, _TYPES["time"]) + by)
            name = ENGINES["postgresql"].language.identifier(table.name)
            for i, bounds in enumerate(table.partitions):
                part = ENGINES["postgresql"].language.identifier(f"{table.name}_{i}")
                connection.execute(f"CREATE TABLE {part} PARTITION OF {name} {bounds}")
            with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
                for row in zip(*columns_of(table, table.rows).values(), strict=True):
                    copy.write_row(row)
            for statement in create_indexes(table, "postgresql"):
                connection.execute(statement)
        connection.execute(f"GRANT USAGE ON SCHEMA {quoted} TO tsaudit")
        connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {quoted} TO tsaudit")
    return schema
