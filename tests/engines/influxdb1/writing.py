"""Writes data sets to InfluxDB 1.x."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.databases import Dataset, Written, influxql, line, new_name, write_lines
from tsaudit.engines.quoting import quote_identifier


def place(request: pytest.FixtureRequest, folder: Path) -> str:
    """The address of a server of the tests' own."""
    del folder
    found: str = request.getfixturevalue("influxd").url
    return found


def written(dataset: Dataset, where: str) -> Written:
    """Databases of the server."""
    return Written(where, tuple(_database(one, where) for one in (dataset, *dataset.beside)))


def _database(dataset: Dataset, url: str) -> str:
    database = dataset.database or new_name()
    policy = ""
    if dataset.retention:
        policy += f" DURATION {_seconds(dataset.retention)}"
    if dataset.partition:
        policy += f" SHARD DURATION {_seconds(dataset.partition)}"
    name = quote_identifier("influxdb1", database)
    influxql(url, f"CREATE DATABASE {name}" + (f" WITH{policy} NAME kept" if policy else ""))
    for table in dataset.tables:
        write_lines(url, database, (text for row in table.rows if (text := line(table, row)) is not None))
    for table in dataset.rejected:
        lines = (text for row in table.rows if (text := line(table, row)) is not None)
        write_lines(url, database, lines, status=400)
    return database


def _seconds(duration: timedelta) -> str:
    return f"{round(duration.total_seconds())}s"
