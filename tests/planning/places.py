"""Databases that the statements of plans run on: how a step runs there, what is stored, and the next audit."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

import duckdb
import pymongo

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import influxql
from tests.engines.greptimedb.ddl import execute as execute_greptimedb
from tests.engines.influxdb3 import cli
from tests.engines.mongodb import mongosh
from tests.engines.timestream import proposals
from tsaudit.config.settings import Target
from tsaudit.engines.quoting import Qualified, quote_identifier, quote_name
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import AuditResult
from tsaudit.model.plan import Step
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.rule import LimitPolicy, Rule

Held = Mapping[str, Counter[str]]
"""Measurement to how many of its rows have a value in each column; `ROWS` stands for the rows themselves."""
ROWS: Final = ""


@dataclass(frozen=True, slots=True)
class Place:
    """A database, and how it is audited."""

    target: Target
    limits: Mapping[str, float] = field(default_factory=dict)
    now: datetime = NOW
    """Of all audits: between two of them the statements run, and nothing else happens."""
    rules: tuple[Rule, ...] | None = None
    """None for all."""

    def audited(self, previous: Profile | None = None, asked: AuditResult | None = None) -> tuple[Profile, AuditResult]:
        """`previous`, `asked`: the snapshot of the day before, and the audit whose statements ran since."""
        day = previous.day + timedelta(days=1) if previous else self.now.date()
        profile = collected(self.target, day=day, now=self.now, previous=previous)
        plans, wanted = (asked.plans, tuple(asked.wanted())) if asked else ((), ())
        timeline = Timeline(previous=previous, plans=plans, wanted=wanted)
        return profile, evaluate(profile, timeline, LimitPolicy(target=self.limits), self.rules)


class Server(Protocol):
    """What runs the statements of plans."""

    def run(self, step: Step) -> int:
        """Run what the step's text says; the number of statements, 0 for text that is not for the server.

        Raises whatever the server answers with if it refuses one.
        """
        ...

    def held(self, profile: Profile) -> Held:
        """What is stored in the measurements of the profile."""
        ...


def server_of(engine: str, where: Any, target: Target) -> Server | None:
    """`where`: the place that the database was written to. None: its answers are recorded, so nothing can run."""
    database = target.databases[0] if target.databases else ""
    if engine == "influxdb1":
        return _InfluxDB1(where, database)
    if engine == "influxdb3":
        return _InfluxDB3(where, database)
    if engine == "mongodb":
        return _MongoDB(where, database)
    if engine == "timestream":
        return _Timestream(where)
    return None if engine == "influxdb2" else Statements(engine, where, target)


class Statements:
    """Runs statements on a SQL database, each on a connection of its own."""

    def __init__(self, engine: str, where: Any, target: Target) -> None:
        """`where`: the place that the database was written to."""
        self._engine, self._where = engine, where
        self._file = target.url.get_secret_value().partition("///")[2]

    def run(self, step: Step) -> int:
        """The statements of SQL."""
        statements = split(step.text) if step.language == "sql" else []
        for statement in statements:
            self.rows(statement)
        return len(statements)

    def rows(self, statement: str) -> list[Any]:
        """Its rows; none for what returns none."""
        if self._engine == "greptimedb":
            if not statement.startswith("SELECT"):
                execute_greptimedb(self._where, statement)
                return []
            return [tuple(row.values()) for row in self._where.read(statement.rstrip(";")).to_pylist()]
        connection = self._connected()
        try:
            answer = connection.execute(statement)
            return answer.fetchall() if answer.description else []
        finally:
            connection.close()

    def _connected(self) -> Any:
        if self._engine == "postgresql":
            return self._where.connect()
        # Each statement is a transaction of its own, as in the shell.
        return (
            duckdb.connect(self._file)
            if self._engine == "duckdb"
            else sqlite3.connect(self._file, isolation_level=None)
        )

    def held(self, profile: Profile) -> Held:
        """Counts of rows and of values."""
        found = {}
        for m in profile.measurements:
            counts = [f"count({quote_name(self._engine, column)})" for column in m.columns]
            name = quote_name(self._engine, Qualified(m.database, m.name))
            ((rows, *values),) = self.rows(f"SELECT count(*), {', '.join(counts)} FROM {name}")
            found[m.name] = Counter({ROWS: rows} | dict(zip(m.columns, values, strict=True)))
        return found


def split(text: str) -> list[str]:
    """The statements of a text, each of which ends a line."""
    return [one.strip() for one in re.split(r"(?<=;)\n", text) if one.strip()]


def _counted(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found.update([ROWS, *(key for key, value in row.items() if value is not None and value != "")])
    return found


@dataclass(frozen=True, slots=True)
class _InfluxDB1:
    url: str
    database: str

    def run(self, step: Step) -> int:
        if step.language != "influxql":
            return 0
        influxql(self.url, step.text, db=self.database)
        return len(split(step.text))

    def held(self, profile: Profile) -> Held:
        names = {m.name for m in profile.measurements}
        return {name: _counted(self._points(profile.engine, name)) for name in names}

    def _points(self, engine: str, name: str) -> Iterator[dict[str, Any]]:
        statement = f"SELECT * FROM {quote_identifier(engine, name)} GROUP BY *"
        for result in influxql(self.url, statement, db=self.database)["results"]:
            for series in result.get("series", ()):
                for row in series["values"]:
                    yield series.get("tags", {}) | dict(zip(series["columns"], row, strict=True))


@dataclass(frozen=True, slots=True)
class _InfluxDB3:
    server: Any
    database: str

    def run(self, step: Step) -> int:
        if step.language == "sql":
            for statement in (found := split(step.text)):
                self.server.rows(self.database, statement.rstrip(";"))
            return len(found)
        commands = step.text.splitlines() if step.language == "sh" else []
        for command in commands:
            cli.run(command, self.server)
        return len(commands)

    def held(self, profile: Profile) -> Held:
        return {
            m.name: _counted(
                self.server.rows(self.database, f"SELECT * FROM {quote_identifier(profile.engine, m.name)}")
            )
            for m in profile.measurements
        }


@dataclass(frozen=True, slots=True)
class _MongoDB:
    url: str
    database: str

    def run(self, step: Step) -> int:
        if step.language != "mongosh":
            return 0
        mongosh.run([step.text], self.url)
        return 1

    def held(self, profile: Profile) -> Held:
        with pymongo.MongoClient[dict[str, Any]](self.url) as client:
            names = [n for n in client[self.database].list_collection_names() if not n.startswith("system.")]
            return {name: _counted(client[self.database][name].find()) for name in names}


@dataclass(frozen=True, slots=True)
class _Timestream:
    server: Any

    def run(self, step: Step) -> int:
        if step.language not in ("sql", "sh"):
            return 0
        return proposals.works(step.text, self.server)

    def held(self, profile: Profile) -> Held:
        databases = {m.database for m in profile.measurements}
        stored = ((name, rows) for one in databases for name, rows in self.server.stored(one).items())
        return {name: _counted(rows.to_pylist()) for name, rows in stored}
