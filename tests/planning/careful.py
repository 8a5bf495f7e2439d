"""Carries a plan out as a careful person does: looks up what depends on the table, and takes it aside meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from tests import plans
from tests.planning.losses import Run, one_form
from tsaudit.model.plan import Phase, Plan


def carry_out(
    plan: Plan, execute: Callable[[str], Any], first: datetime, last: datetime, most: int | None = None
) -> Run:
    """Runs all statements in order, decisions included, and keeps what the checks and the looks have shown.

    What a look names with a statement `before` goes ahead of the first step that renames or drops, in the order of the
    rows; what stands in `afterward` comes back at the end, in reverse order. `most`: see `plans.statements_of`.
    """
    done, before, afterward = Run(), list[str](), list[str]()
    for step in plan.steps:
        if step.phase in (Phase.SWITCH, Phase.REMOVE):
            for statement in before:
                execute(statement)
            before.clear()
        for statement in plans.statements_of(step, first, last, most):
            rows = execute(statement) or []
            done.executed += 1
            if step.phase is Phase.CHECK:
                done.shown |= {one_form(row[0]) for row in rows}
            if step.phase is Phase.LOOK and "afterward" in statement:
                done.named += [row[0] for row in rows]
                before += [row[1] for row in rows if row[1]]
                afterward += [row[2] for row in rows if row[2]]
    for statement in reversed(afterward):
        execute(statement)
    return done
