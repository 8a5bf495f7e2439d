"""Plans carried out on the stand-in for InfluxDB 3: a program copies by line protocol, and `influxdb3` deletes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests import plans as steps
from tests.engines.influxdb3 import cli
from tests.engines.influxdb3.double import InfluxDB3, RefusedError
from tests.planning import points
from tests.planning.losses import Run
from tests.planning.points import Point
from tests.planning.program import Read, written
from tsaudit.engines.quoting import quote_identifier
from tsaudit.model.plan import Plan, Step
from tsaudit.model.profile import Profile


@dataclass(frozen=True, slots=True)
class Influx3Hand:
    """Runs the queries, stands in for the programs, and does what the commands ask for."""

    server: InfluxDB3
    database: str

    def contents(self, profile: Profile) -> list[Point]:
        return [point for m in profile.measurements for point in self._held(profile.engine, m.name, m.tags)]

    def _held(self, engine: str, name: str, tags: Sequence[Any]) -> Iterator[Point]:
        keys = {tag.key for tag in tags}
        for row in self.server.rows(self.database, f"SELECT * FROM {quote_identifier(engine, name)}"):
            held = {key: value for key, value in row.items() if value is not None and key != "time"}
            own = {key: value for key, value in held.items() if key in keys}
            yield Point(name, _time(row), own, {key: value for key, value in held.items() if key not in keys})

    def carry_out(self, plans: Sequence[Plan], first: datetime, last: datetime) -> list[Run]:
        found = []
        for plan in plans:
            found.append(done := Run())
            try:
                for step in plan.steps:
                    self._carry_out(step, done, first, last)
            except (RefusedError, cli.RefusedCommandError, AssertionError) as error:
                done.refused.append(f"{plan.subject}: {error}")
        return found

    def _carry_out(self, step: Step, done: Run, first: datetime, last: datetime) -> None:
        for command in step.text.splitlines() if step.language == "sh" else ():
            cli.run(command, self.server)
            done.executed += 1
        for statement in steps.statements_of(step, first, last, steps.MOST_SPANS):
            rows = self.server.rows(self.database, statement)
            done.executed += 1
            if step.copy is not None:
                assert step.copy.place == (self.database,)
                self.server.append(self.database, written(step.copy, (Read(_time(row), row, row) for row in rows)))

    def lost(
        self, before: list[Point], after: list[Point], plans: Sequence[Plan], done: Sequence[Run], now: datetime
    ) -> list[str]:
        return points.lost(before, after, plans, now)


def _time(row: dict[str, Any]) -> datetime:
    time: datetime = row["time"]
    return time if time.tzinfo else time.replace(tzinfo=UTC)
