"""The plans as shown on the page: those of open findings, worst measurement first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.model.change import Change
from tsaudit.model.plan import Plan, SetAside, Step
from tsaudit.model.subject import Subject
from tsaudit.planning import words
from tsaudit.report.findings import Item

ROOM_BYTES: Final = 80_000
"""Approximate size of all plans on the page, in bytes."""
LONGEST_TEXT: Final = 4_000
"""Maximum length of a displayed statement, in characters; a truncated statement would be worse than none, so longer
ones are only in the JSON file.
"""


@dataclass(frozen=True, slots=True)
class StepView:
    """One step, with its number and its notes."""

    number: int
    step: Step
    marks: tuple[str, ...]
    is_too_long: bool


@dataclass(frozen=True, slots=True)
class PlanView:
    """One complete plan."""

    anchor: str
    subject: Subject
    summary: str
    effect: str
    steps: tuple[StepView, ...]
    set_aside: tuple[tuple[str, SetAside], ...]
    """The subject of each change that was left out, in words, with the reason."""


@dataclass(frozen=True, slots=True)
class PlansView:
    """The section's contents."""

    full: tuple[PlanView, ...]
    more: int
    """Plans that do not fit on the page."""

    @property
    def anchors(self) -> Mapping[Subject, PlanView]:
        """The plans shown on the page, by subject."""
        return {plan.subject: plan for plan in self.full}


def arrange(plans: Sequence[Plan], items: Iterable[Item]) -> PlansView:
    """The plans of open findings, in the order of these findings."""
    by_subject = {plan.subject: plan for plan in plans}
    wanted = dict.fromkeys(change.at for item in items if not item.settled for change in item.finding.changes)
    chosen = [
        by_subject[at] for at in wanted if at in by_subject and (by_subject[at].steps or by_subject[at].set_aside)
    ]
    full: list[PlanView] = []
    room = ROOM_BYTES
    for plan in chosen:
        room -= sum(len(step.words) + min(len(step.text), LONGEST_TEXT) + 300 for step in plan.steps)
        if room < 0 and full:
            break
        full.append(_view(plan))
    return PlansView(tuple(full), len(chosen) - len(full))


def _view(plan: Plan) -> PlanView:
    steps = tuple(
        StepView(number, step, words.marks(step), len(step.text) > LONGEST_TEXT)
        for number, step in enumerate(plan.steps, start=1)
    )
    aside = tuple((_about(one.change), one) for one in plan.set_aside)
    return PlanView(
        words.anchor(plan.subject), plan.subject, words.summary(plan), words.effect(plan.effect), steps, aside
    )


def _about(change: Change) -> str:
    """The columns or indexes that the change is about."""
    names = dict.fromkeys(name.replace("\x1f", " ").strip() for _, name in change.claims())
    return ", ".join(filter(None, names)) or change.at.measurement
