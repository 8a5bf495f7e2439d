"""Writes data sets to InfluxDB 1.x."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.databases import Dataset, Written, influxql, line, new_name, without_use, write_lines
from tests.planning.places import Held, counted, split
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES
from tsaudit.model.plan import Step
from tsaudit.model.profile import Profile


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
    name = ENGINES["influxdb1"].language.identifier(database)
    if dataset.database:
        influxql(url, f"DROP DATABASE {name}")
    influxql(url, f"CREATE DATABASE {name}" + (f" WITH{policy} NAME kept" if policy else ""))
    for table in dataset.tables:
        write_lines(url, database, (text for row in table.rows if (text := line(table, row)) is not None))
    for table in dataset.rejected:
        lines = (text for row in table.rows if (text := line(table, row)) is not None)
        write_lines(url, database, lines, status=400)
    return database


def _seconds(duration: timedelta) -> str:
    return f"{round(duration.total_seconds())}s"


def server(where: str, target: Target) -> InfluxDB1:
    """Runs InfluxQL."""
    return InfluxDB1(where, target.databases[0] if target.databases else "")


@dataclass(frozen=True, slots=True)
class InfluxDB1:
    """A database of the server."""

    url: str
    database: str

    def run(self, step: Step) -> int:
        """The statements of a step; how many these are."""
        if step.language != "influxql":
            return 0
        influxql(self.url, without_use(step.text, self.database), db=self.database)
        return len(split(step.text))

    def held(self, profile: Profile) -> Held:
        """Counts of points and of values."""
        names = {m.name for m in profile.measurements}
        return {name: counted(self._points(profile.engine, name)) for name in names}

    def _points(self, engine: str, name: str) -> Iterator[dict[str, Any]]:
        statement = f"SELECT * FROM {ENGINES[engine].language.identifier(name)} GROUP BY *"
        for result in influxql(self.url, statement, db=self.database)["results"]:
            for series in result.get("series", ()):
                for row in series["values"]:
                    yield series.get("tags", {}) | dict(zip(series["columns"], row, strict=True))
