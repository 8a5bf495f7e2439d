"""Plans carried out on the stand-in for Timestream, and what is gone of its values afterward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from tests.engines.timestream.double import Timestream
from tests.engines.timestream.proposals import arguments, copied
from tests.engines.timestream.sql import RefusedError
from tests.planning import points
from tests.planning.losses import Run
from tests.planning.points import Point
from tests.plans import MOST_SPANS
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Profile

_OWN: Final = frozenset({"time", "measure_name"})


@dataclass(frozen=True, slots=True)
class TimestreamHand:
    """Runs the queries, and does what the commands of the AWS CLI ask for."""

    server: Timestream
    database: str

    def contents(self, profile: Profile) -> list[Point]:
        tags = {m.name: {tag.key for tag in m.tags} for m in profile.measurements}
        return [
            _point(name, row, tags.get(name, set()))
            for name, rows in self.server.stored(self.database).items()
            for row in rows.to_pylist()
        ]

    def carry_out(self, plans: Sequence[Plan], first: datetime, last: datetime) -> list[Run]:
        found = []
        for plan in plans:
            found.append(done := Run())
            try:
                self._carry_out(plan, done, first.date(), last.date())
            except (RefusedError, AssertionError) as error:
                done.refused.append(str(error))
        return found

    def _carry_out(self, plan: Plan, done: Run, first: date, last: date) -> None:
        scheduled: dict[str, Any] = {}
        days = -(-((last - first).days + 1) // MOST_SPANS)
        ends = [last + timedelta(days=1 - number * days) for number in range(MOST_SPANS)]
        for step in plan.steps:
            if step.language == "sql":
                for line in step.text.splitlines():
                    done.executed += 1
                    self.server.answer(line)
            for command in step.text.splitlines() if step.language == "sh" else ():
                asked = arguments(command)
                done.executed += 1
                if "create-table" in command:
                    self.server.create_table(asked.pop("DatabaseName"), asked.pop("TableName"), asked)
                elif "create-scheduled-query" in command:
                    scheduled = asked
                elif "execute-scheduled-query" in command:
                    for end in ends:
                        copied(scheduled, end, self.server, days)
                elif "delete-table" in command:
                    self.server.delete_table(asked["DatabaseName"], asked["TableName"])
                else:
                    assert "delete-scheduled-query" in command, command

    def lost(
        self, before: list[Point], after: list[Point], plans: Sequence[Plan], done: Sequence[Run], now: datetime
    ) -> list[str]:
        return points.lost(before, after, plans, now)


def _point(name: str, row: dict[str, Any], tags: set[str]) -> Point:
    time: datetime = row["time"]
    held = {key: value for key, value in row.items() if value is not None and key not in _OWN}
    own = {key: value for key, value in held.items() if key in tags}
    fields = {key: value for key, value in held.items() if key not in tags}
    return Point(name, time if time.tzinfo else time.replace(tzinfo=UTC), own, fields)
