"""Plans for InfluxDB 3, of which the queries are run: what a program would write back is what they return."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests import plans as steps
from tests.engines.influxdb3.double import InfluxDB3, RefusedError
from tests.planning.losses import Run, one_form
from tsaudit.engines.quoting import quote_identifier
from tsaudit.model.change import MergeMeasurements
from tsaudit.model.plan import Phase, Plan
from tsaudit.model.profile import Profile

Contents = Mapping[str, Counter[str]]
"""Table to how often it holds each value, whatever the column."""


@dataclass(slots=True)
class ReaderHand:
    """Reads what is to be copied, and deletes nothing: the copy would be written by a program."""

    server: InfluxDB3
    database: str
    _read: Counter[str] = field(default_factory=Counter)

    @property
    def writes(self) -> bool:
        return False

    def contents(self, profile: Profile) -> Contents:
        names = {m.name: quote_identifier(profile.engine, m.name) for m in profile.measurements}
        return {name: _values(self.server.rows(self.database, f"SELECT * FROM {q}")) for name, q in names.items()}

    def carry_out(self, plans: Sequence[Plan], first: datetime, last: datetime) -> list[Run]:
        found = []
        self._read = Counter()
        for plan in plans:
            found.append(done := Run())
            for step in plan.steps:
                for statement in steps.statements_of(step, first, last, steps.MOST_SPANS):
                    try:
                        rows = self.server.rows(self.database, statement)
                    except RefusedError as error:
                        done.refused.append(f"{statement}: {error}")
                        continue
                    done.executed += 1
                    if step.phase is Phase.COPY:
                        self._read.update(_values(rows))
        return found

    def lost(self, before: Contents, after: Contents, plans: Sequence[Plan], done: Sequence[Run]) -> list[str]:
        """What the queries for the copies do not return."""
        copied = [plan for plan in plans if any(step.phase is Phase.COPY for step in plan.steps)]
        tables = {plan.subject.measurement for plan in copied} | {
            one.measurement
            for plan in copied
            for asked in plan.changes
            if isinstance(asked.change, MergeMeasurements)
            for one in asked.change.members
        }
        held = sum((values for name, values in before.items() if name in tables), Counter[str]())
        return [f"{value}: {count} times" for value, count in (held - self._read).items()]


def _values(rows: Iterable[Mapping[str, Any]]) -> Counter[str]:
    return Counter(one_form(v) for row in rows for name, v in row.items() if name != "time" and v is not None)
