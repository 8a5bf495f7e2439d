"""Databases that the statements of plans run on: how a step runs there, what is stored, and the next audit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from tests.builders import NOW
from tests.collecting import collected
from tests.databases import writing_of
from tsaudit.config.settings import Target
from tsaudit.engines.quoting import Qualified
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import AuditResult
from tsaudit.model.plan import Step
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rule import Rule

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
        timeline = Timeline(previous=previous, wanted=tuple(asked.wanted()) if asked else ())
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
    found: Server | None = writing_of(engine).server(where, target)
    return found


class Statements:
    """Runs statements on a SQL database."""

    def __init__(self, engine: str, rows: Callable[[str], list[Any]]) -> None:
        """`rows`: runs one statement and returns its rows; none for what returns none."""
        self._engine = engine
        self.rows = rows

    def run(self, step: Step) -> int:
        """The statements of SQL."""
        statements = split(step.text) if step.language == "sql" else []
        for statement in statements:
            self.rows(statement)
        return len(statements)

    def held(self, profile: Profile) -> Held:
        """Counts of rows and of values."""
        found = {}
        for m in profile.measurements:
            counts = [f"count({ENGINES[self._engine].quoted(column)})" for column in m.columns]
            name = ENGINES[self._engine].quoted(Qualified(m.database, m.name))
            ((rows, *values),) = self.rows(f"SELECT count(*), {', '.join(counts)} FROM {name}")
            found[m.name] = Counter({ROWS: rows} | dict(zip(m.columns, values, strict=True)))
        return found


def each_on_its_own(connect: Callable[[], Any]) -> Callable[[str], list[Any]]:
    """Runs each statement on a connection of its own."""

    def rows(statement: str) -> list[Any]:
        connection = connect()
        try:
            answer = connection.execute(statement)
            return answer.fetchall() if answer.description else []
        finally:
            connection.close()

    return rows


def file_of(target: Target) -> str:
    """The path of a database in a file."""
    return target.url.get_secret_value().partition("///")[2]


def split(text: str) -> list[str]:
    """The statements of a text, each of which ends a line; those of a transaction as one."""
    parts = re.split(r"^(BEGIN;.*?^COMMIT;)$", text, flags=re.DOTALL | re.MULTILINE)
    each = ([part] if part.startswith("BEGIN;") else re.split(r"(?<=;)\n", part) for part in parts)
    return [one.strip() for some in each for one in some if one.strip()]


def counted(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    """How many rows, and in how many of them each column has a value."""
    found: Counter[str] = Counter()
    for row in rows:
        found.update([ROWS, *(key for key, value in row.items() if value is not None and value != "")])
    return found
