"""Plans carried out on SQL databases, and what is gone of their tables afterward."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tests.planning.careful import carry_out
from tests.planning.losses import Held, Run, held, lost
from tests.planning.places import Statements
from tests.plans import MOST_SPANS
from tsaudit.model.plan import Plan
from tsaudit.model.profile import Profile

Contents = Mapping[tuple[str, str], Held]


@dataclass(frozen=True, slots=True)
class SqlHand:
    """Runs the statements."""

    execute: Statements

    @property
    def writes(self) -> bool:
        return True

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

    def lost(self, before: Contents, after: Contents, plans: Sequence[Plan], done: Sequence[Run]) -> list[str]:
        return [line for plan, run in zip(plans, done, strict=True) for line in lost(before, after, plan, run.shown)]
