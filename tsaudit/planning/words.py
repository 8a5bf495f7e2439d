"""A plan in words: what it would do, and what to know about each step. Report, CLI, Slack and Dagster use the same."""

from __future__ import annotations

from tsaudit.model.plan import Effect, Phase, Plan, Step
from tsaudit.text import many, number


def effect(found: Effect) -> str:
    """What the changes do together, in one or two sentences; empty if they do not touch the series."""
    said = []
    if found.series_now is not None and found.series_after is not None:
        at_most = "" if found.is_exact else "at most "
        said.append(f"Series: {number(found.series_now)} now, {at_most}{number(found.series_after)} afterward.")
    elif found.collisions_how:
        said.append("How many series would remain was not measured.")
    if found.collisions == 0:
        said.append(f"No two rows would share their tags and time ({found.collisions_how}).")
    elif found.collisions:
        said.append(f"At least {many(found.collisions, 'row')} would overwrite another ({found.collisions_how}).")
    elif found.collisions_how:
        said.append(f"Whether rows would overwrite each other is not known: {found.collisions_how}.")
    return " ".join(said)


def marks(step: Step) -> tuple[str, ...]:
    """What to know before doing the step, a few words each."""
    said = []
    if step.needs_decision:
        said.append("needs a decision")
    if step.phase is Phase.LOOK or step.phase is Phase.CHECK:
        said.append("only reads")
    elif not step.can_undo:
        said.append("cannot be undone")
    if step.locks:
        said.append(f"locks: {step.locks}")
    if step.cost:
        said.append(step.cost)
    if step.repeat_every is not None:
        days = step.repeat_every.days
        said.append("repeat for each day" if days == 1 else f"repeat for each {many(days, 'day')}")
    return tuple(said)


def summary(plan: Plan) -> str:
    """How long the plan is, and how much of it is for people to decide: `5 steps, 2 of them need a decision`."""
    open_ = sum(step.needs_decision for step in plan.steps)
    if not open_:
        return many(len(plan.steps), "step")
    if len(plan.steps) == 1:
        return "1 step, which needs a decision"
    return f"{many(len(plan.steps), 'step')}, {number(open_)} of which need{'s' if open_ == 1 else ''} a decision"
