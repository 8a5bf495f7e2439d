"""Databases that plans are carried out on: how a statement is run there, and the audit of the day after."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import duckdb
import yaml

from tests.builders import NOW
from tests.collecting import collected
from tests.engines.greptimedb.ddl import execute as execute_greptimedb
from tests.engines.greptimedb.double import GreptimeDB
from tsaudit.audit import audit
from tsaudit.config.settings import Target
from tsaudit.model.finding import AuditResult
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.rule import LimitPolicy, Rule


@dataclass(frozen=True, slots=True)
class Place:
    """A database, and how it is audited."""

    target: Target
    limits: Mapping[str, float] = field(default_factory=dict)
    now: datetime = NOW
    """Of all audits: between two of them the plans are carried out, and nothing else happens."""
    rules: tuple[Rule, ...] | None = None
    """None for all."""

    def audited(self, previous: Profile | None = None, since: tuple[Plan, ...] = ()) -> tuple[Profile, AuditResult]:
        """`previous`, `since`: the snapshot of the day before, and the plans carried out since."""
        day = previous.day + timedelta(days=1) if previous else self.now.date()
        profile = collected(self.target, day=day, now=self.now, previous=previous)
        timeline = Timeline(previous=previous, plans=since)
        return profile, audit(profile, timeline, LimitPolicy(target=self.limits), self.rules)

    def told(self, plans: tuple[Plan, ...]) -> Place:
        """With what the plans want tsaudit.yaml to say of the columns."""
        columns: dict[str, Any] = dict(self.target.columns)
        for step in (step for plan in plans for step in plan.steps if step.language == "yaml"):
            for table, roles in yaml.safe_load(step.text)["columns"].items():
                known = columns[table].model_dump() if table in columns else {}
                columns[table] = {role: [*known.get(role, ()), *names] for role, names in roles.items()}
        settings = self.target.model_dump() | {"columns": columns, "url": self.target.url}
        return replace(self, target=Target(**settings)) if columns else self


class Statements:
    """Runs statements on a SQL database, one after the other on one connection, until it is closed."""

    def __init__(self, engine: str, where: Any, target: Target) -> None:
        """`where`: the place that the database was written to."""
        self._server = where if engine == "greptimedb" else None
        self._connect = where.connect if engine == "postgresql" else _opener(engine, target)
        self._open: Any = None

    def __call__(self, statement: str) -> Any:
        """Its rows; none for what returns none."""
        if self._server is not None:
            return _on_greptimedb(self._server, statement)
        self._open = self._open or self._connect()
        answer = self._open.execute(statement)
        return answer.fetchall() if answer.description else []

    def close(self) -> None:
        """Lets go of the database: the next statement opens it again."""
        if self._open is not None:
            self._open.close()
            self._open = None


def _opener(engine: str, target: Target) -> Callable[[], Any]:
    file = target.url.get_secret_value().partition("///")[2]
    if engine == "duckdb":
        return lambda: duckdb.connect(file)
    # Each statement is a transaction of its own, as in the shell.
    return lambda: sqlite3.connect(file, isolation_level=None)


def _on_greptimedb(server: GreptimeDB, statement: str) -> Any:
    """What only reads is a query of the stand-in's."""
    if statement.startswith("SELECT"):
        return [tuple(row.values()) for row in server.read(statement.rstrip(";")).to_pylist()]
    return execute_greptimedb(server, statement)
