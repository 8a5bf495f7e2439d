"""Plans carried out on an InfluxDB 1.x, and what is gone of its values afterward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlencode

import urllib3

from tests import plans as steps
from tests.databases import influxql
from tests.planning.following import copied_by_people
from tests.planning.losses import Run
from tsaudit.model.plan import Phase, Plan
from tsaudit.model.profile import Profile

_CHANGE: Final = (Phase.COPY, Phase.SWITCH, Phase.REMOVE)


def values(url: str, database: str) -> Counter[str]:
    """How often each value is stored, in fields of whatever name and measurement."""
    found: Counter[str] = Counter()
    answer = influxql(url, "SELECT * FROM /.*/", db=database)["results"][0]
    for series in answer.get("series", ()):
        for row in series["values"]:
            found.update(
                str(value) for name, value in zip(series["columns"][1:], row[1:], strict=True) if value is not None
            )
    return found


def answers(url: str, statement: str, database: str) -> list[dict[str, Any]]:
    """The answers to each statement of a text, those that are refused first."""
    body = urlencode({"q": statement})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = urllib3.request("POST", f"{url}/query?db={database}", body=body, headers=headers, timeout=60).json()
    found: list[dict[str, Any]] = answer.get("results", [answer])
    return sorted(found, key=lambda one: "error" not in one)


@dataclass(frozen=True, slots=True)
class InfluxHand:
    """Runs the statements, and of a plan whose copy a program has to make only those that read."""

    url: str
    database: str

    @property
    def writes(self) -> bool:
        return True

    def contents(self, profile: Profile) -> Counter[str]:
        return values(self.url, self.database)

    def carry_out(self, plans: Sequence[Plan], first: datetime, last: datetime) -> list[Run]:
        return [self._carry_out(plan, first, last) for plan in plans]

    def _carry_out(self, plan: Plan, first: datetime, last: datetime) -> Run:
        done = Run()

        def execute(statement: str) -> None:
            (answer, *_) = answers(self.url, statement, self.database)
            done.executed += 1
            if "error" in answer:
                done.refused.append(f"{statement}: {answer['error']}")

        steps.run(plan, execute, first, last, _CHANGE if copied_by_people(plan) else (), steps.MOST_SPANS)
        return done

    def lost(self, before: Counter[str], after: Counter[str], plans: Sequence[Plan], done: Sequence[Run]) -> list[str]:
        """Values; none where a plan says that points overwrite each other, or expire."""
        if any(step.loses and not step.loses.startswith("all points of") for p in plans for step in p.steps):
            return []
        return [f"{value}: {count} times" for value, count in (before - after).items()]
