"""Plans carried out on SQL databases, and what is gone of their tables afterward."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tests.planning.careful import carry_out
from tests.planning.losses import Held, Run, held, lost
from tests.planning.places import Statements
from tests.plans import MOST_SPANS
from tsaudit.model.change import ChangeType
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Profile

Contents = Mapping[tuple[str, str], Held]


@dataclass(frozen=True, slots=True)
class SqlHand:
    """Runs the statements."""

    execute: Statements

    def contents(self, profile: Profile) -> Contents:
        found = held(profile, self.execute)
        self.execute.close()
        return found

    def carry_out(self, plans: Sequence[Plan], first: datetime, last: datetime) -> list[Run]:
        found = []
        for plan in plans:
            try:
                found.append(carry_out(plan, self.execute, first, last, MOST_SPANS))
            except Exception as error:  # Each driver has its own.
                found.append(Run(refused=[str(error)]))
        self.execute.close()
        return found

    def lost(
        self, before: Contents, after: Contents, plans: Sequence[Plan], done: Sequence[Run], now: datetime
    ) -> list[str]:
        found = [line for plan, run in zip(plans, done, strict=True) for line in lost(before, after, plan, run.shown)]
        return found + [line for plan, run in zip(plans, done, strict=True) for line in _left_over(plan, run.shown)]


def _left_over(plan: Plan, shown: Collection[str]) -> Iterator[str]:
    """Values that the check shows to be not converted, where the plan expects none."""
    typed = [asked.change for asked in plan.changes if isinstance(asked.change, ChangeType)]
    if len(typed) == len(plan.changes) and not any(change.exceptions for change in typed):
        yield from (f"{plan.subject}: {value} is not converted" for value in shown if value.strip())
