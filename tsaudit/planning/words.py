"""A plan in words: what it would do, and what to know about each step. Report, CLI, Slack and Dagster use the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tsaudit.model.finding import AuditResult, Finding, RuleResult
from tsaudit.model.plan import Effect, Phase, Plan, Step
from tsaudit.model.subject import Subject
from tsaudit.text import many, number

_LONGEST_STATEMENT: Final = 500
"""Characters of a statement that is shown beside a finding; longer ones stand in the plan only."""
_MOST_WORDS: Final = 30
"""Of the first step beside a finding: as long as a headline, and a few more for names."""
_END: Final = re.compile(r"(?<=[.])[ \n]+(?=[A-Z])")


def effect(found: Effect) -> str:
    """What the changes do together, in one or two sentences; empty if they do not touch the series."""
    said = []
    if found.series_now is not None and found.series_after is not None:
        at_most = "" if found.is_exact or found.series_how else "at most "
        part = f" ({found.series_how})" if found.series_how else ""
        said.append(f"Series: {number(found.series_now)} now, {at_most}{number(found.series_after)} afterward{part}.")
    elif found.collisions_how:
        said.append("How many series would remain was not measured.")
    if found.collisions == 0 and not found.collisions_exact:
        said.append(f"Tags and time would still identify each of the rows read ({found.collisions_how}).")
    elif found.collisions == 0:
        said.append(f"Tags and time would still identify each row ({found.collisions_how}).")
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


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a plan begins, for outputs that have no room for all of it."""

    heading: str
    """`First step of 5`."""
    words: str
    """What to do: of long words, the sentences that fit, and at least the first."""
    statement: str
    """To be used as it is; empty where the step has none, where it has several lines, and where it is a decision."""
    rest: str
    """The command that prints the whole plan."""

    @property
    def sentence(self) -> str:
        return f"{self.heading}: {self.words}"


def beginning(plan: Plan, target: str) -> Beginning | None:
    """The first step, and how to see the others; None for a plan without steps."""
    if not plan.steps:
        return None
    first, count = plan.steps[0], len(plan.steps)
    heading = "Only step" if count == 1 else f"First step of {number(count)}"
    if first.needs_decision:
        heading += ", which needs a decision"
    is_short = len(first.text) <= _LONGEST_STATEMENT and "\n" not in first.text
    statement = first.text if is_short and not first.needs_decision else ""
    return Beginning(heading, _brief(first.words), statement, command(plan.subject, target))


def beyond(fix: str, begins: Beginning) -> str | None:
    """What a finding's fix says beyond the first step with which it begins; None if it begins otherwise."""
    rest = fix.strip().removeprefix(begins.words)
    return None if rest == fix.strip() else rest.strip()


def _brief(said: str) -> str:
    """The words without the sentences that are only needed by whoever carries out the whole plan."""
    sentences = _END.split(said)
    kept = sentences[:1]
    for sentence in sentences[1:]:
        if len(" ".join([*kept, sentence]).split()) > _MOST_WORDS:
            break
        kept.append(sentence)
    return " ".join(kept)


def command(about: Subject, target: str) -> str:
    """What prints the plan in a terminal."""
    named = [target, *([about.measurement] if about.measurement else [])]
    return " ".join(["tsaudit", "plan", *map(shlex.quote, named)])


def anchor(about: Subject) -> str:
    """The id of the plan on the report's page."""
    import hashlib  # loads OpenSSL, which whoever only prints a plan can do without

    return f"p-{hashlib.sha256(about.key.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def behind(plan: Plan, result: AuditResult) -> list[tuple[RuleResult, Finding]]:
    """The findings that ask for the plan, worst first."""
    return [pair for pair in result.findings() if any(change.at == plan.subject for change in pair[1].changes)]


def worst_first(result: AuditResult) -> list[Plan]:
    """The plans of an audit, in the order of its findings."""
    wanted = dict.fromkeys(change.at for _, finding in result.findings() for change in finding.changes)
    place = {subject: number for number, subject in enumerate(wanted)}
    return sorted(result.plans, key=lambda plan: place.get(plan.subject, len(place)))


def of_finding(finding: Finding, plans: Iterable[Plan]) -> Plan | None:
    """The plan that makes the finding's changes, the first one if there are several; None if no plan does."""
    by_subject = {plan.subject: plan for plan in plans if plan.steps}
    return next((by_subject[change.at] for change in finding.changes if change.at in by_subject), None)
