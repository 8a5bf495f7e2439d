"""The plans as shown on the page: those of open findings, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.model.plan import Plan, Step
from tsaudit.planning import describe
from tsaudit.report.findings import Item

ROOM_BYTES: Final = 80_000
"""Approximate size of all plans on the page, in bytes."""


@dataclass(frozen=True, slots=True)
class StepView:
    """One step, with its number and its notes."""

    number: int
    step: Step
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlanView:
    """One complete plan."""

    plan: Plan
    anchor: str
    summary: str
    others: str
    effect: str
    steps: tuple[StepView, ...]
    left_out: tuple[str, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlansView:
    """The section's contents."""

    full: tuple[PlanView, ...]
    more: int
    """Plans that do not fit on the page."""

    def of(self, plan: Plan | None) -> PlanView | None:
        """The plan as it is shown; None if it is not on the page."""
        return next((view for view in self.full if view.plan is plan), None)


def arrange(plans: Sequence[Plan], items: Iterable[Item]) -> PlansView:
    """The plans of open findings, in their order."""
    chosen = describe.asked_for((item.finding for item in items if not item.muted), plans)
    full: list[PlanView] = []
    room = ROOM_BYTES
    for plan in chosen:
        room -= sum(len(step.words) + len(step.text) + 300 for step in plan.steps)
        if room < 0 and full:
            break
        full.append(_view(plan))
    return PlansView(tuple(full), len(chosen) - len(full))


def _view(plan: Plan) -> PlanView:
    steps = tuple(StepView(number, step, describe.labels(step)) for number, step in enumerate(plan.steps, start=1))
    return PlanView(
        plan,
        describe.anchor(plan),
        describe.summary(plan),
        describe.others(plan),
        describe.effect(plan.effect),
        steps,
        tuple(describe.left_out(plan)),
        plan.rules,
    )
