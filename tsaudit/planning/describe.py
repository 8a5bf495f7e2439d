"""A plan in words: what it achieves, and what to know about each step. Report, CLI, Slack, and Dagster all use it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tsaudit.model.change import kind_of
from tsaudit.model.finding import AuditResult, Finding, RuleResult, Severity
from tsaudit.model.plan import Effect, Loss, Plan, Step, StepKind
from tsaudit.text import listed, many, number

_LONGEST_STATEMENT: Final = 1_000
"""Maximum number of characters of a statement that is shown beside a finding; longer ones are shown only in
the plan. Slack takes 3,000 in a block, and 10,000 in a message with all of its findings.
"""
_MOST_WORDS: Final = 30
"""Maximum number of words of the first step shown beside a finding: a headline's length, and a few more for names."""
_MOST_NAMED: Final = 5
_MOST_LEFT_OUT: Final = 3
_END: Final = re.compile(r"(?<=[.])[ \n]+(?=[A-Z`])")


def effect(found: Effect) -> str:
    """What the changes achieve together, in a few sentences; empty if they do not affect the series."""
    said = []
    if found.series_now is not None and found.series_after is not None:
        at_most = "" if found.is_exact or found.scope else "at most "
        part = f" ({found.scope})" if found.scope else ""
        said.append(f"Series: {number(found.series_now)} now, {at_most}{number(found.series_after)} afterward{part}.")
        said += [_next(found)] if found.next_tag else []
    elif found.loss is not None or found.loss_unknown:
        said.append("How many series would remain was not measured.")
    if found.loss is not None:
        said.append(_loss(found.loss))
    elif found.loss_unknown:
        said.append(f"Rows that would overwrite each other were not counted: {found.loss_unknown}.")
    return " ".join(said)


def _next(found: Effect) -> str:
    """What else to change, because too many series would be left."""
    over = found.limit is not None and found.series_after is not None and found.series_after > found.limit
    limit = f" (the limit is {number(found.limit)})" if over and found.limit is not None else ""
    if not found.enough:
        return f"That is still too many{limit}: {found.next_tag} contributes most of the rest."
    return f"That is still too many{limit}: change {found.next_tag} next; {_both(found.enough)} together suffice."


def _both(tags: Iterable[str]) -> str:
    *most, last = tags
    return f"{', '.join(most)} and {last}" if most else last


def _loss(loss: Loss) -> str:
    which = f"{many(loss.compared, 'row')} compared" + (f" ({loss.scope})" if loss.scope else "")
    if loss.is_none:
        return "No rows would overwrite each other."
    if not loss.rows:
        return f"None of the {which} {'would' if loss.is_exact else 'is known to'} overwrite another."
    at_least = "" if loss.is_exact else "At least "
    return f"{at_least}{number(loss.rows)} of the {which} would overwrite another."


def labels(step: Step) -> tuple[str, ...]:
    """What to know before taking the step, each in a few words."""
    reads = ("only reads",) if step.kind is StepKind.FIND and step.text else ()
    return (*reads, *_burden(step))


def _burden(step: Step) -> tuple[str, ...]:
    """What the step locks and costs, each in a few words that follow "it"."""
    return tuple(filter(None, (f"locks {step.locks}" if step.locks else "", step.cost)))


def summary(plan: Plan) -> str:
    """How long the plan is, and how many more measurements it is for: `5 steps, also for 79 others`."""
    steps = many(len(plan.steps), "step")
    return f"{steps}, also for {many(len(plan.also), 'other')}" if plan.also else steps


def others(plan: Plan) -> str:
    """The other measurements that the plan is for, the first few by name; empty if there are none."""
    return listed([str(one) for one in plan.also], _MOST_NAMED) if plan.also else ""


def left_out(plan: Plan) -> list[str]:
    """The changes that are not part of the plan, one sentence each; if there are many, only the first ones."""
    said = dict.fromkeys(f"Left out: {', '.join(one.rules)}, because {one.reason}." for one in plan.left_out)
    few, more = list(said)[:_MOST_LEFT_OUT], len(said) - _MOST_LEFT_OUT
    return [*few, f"{many(more, 'more change')} left out."] if more > 0 else few


@dataclass(frozen=True, slots=True)
class Beginning:
    """How a plan begins, for outputs that have no room for all of it."""

    heading: str
    """`Step 1 of 5`."""
    words: str
    """What to do: if the text is long, as many sentences as fit, at least the first. Only the first if the others are
    about the result of a query that is not shown.
    """
    statement: str
    """The statement to run; empty if the step has none, if it is long, if it loses data, or if it has several lines and
    is no query.
    """
    rest: str
    """The command that prints the whole plan."""
    burden: tuple[str, ...] = ()
    """What the step locks and costs."""

    @property
    def sentence(self) -> str:
        """The heading and what to do, with what that locks and costs."""
        said = f"{self.heading}: {self.words}"
        return f"{said} It {', and '.join(self.burden)}." if self.burden else said


def beginning(plan: Plan, target: str) -> Beginning:
    """The first step of the plan, and the command that prints the others."""
    first, count = plan.steps[0], len(plan.steps)
    heading = "Only step" if count == 1 else f"Step 1 of {number(count)}"
    is_query = first.kind is StepKind.FIND
    is_shown = len(first.text) <= _LONGEST_STATEMENT and (is_query or "\n" not in first.text) and not first.loses
    words = brief(first.words, most=_MOST_WORDS if is_shown or not is_query else 0)
    return Beginning(heading, words, first.text if is_shown else "", command(plan, target), _burden(first))


def brief(said: str, *, most: int = _MOST_WORDS) -> str:
    """The first sentence, and further ones while the text has at most `most` words; without a sentence that only
    introduces the step's statement.
    """
    sentences = [one for one in _END.split(said) if not one.endswith(":")] or [f"{said.rstrip(':')}."]
    kept = sentences[:1]
    for sentence in sentences[1:]:
        if len(" ".join([*kept, sentence]).split()) > most:
            break
        kept.append(sentence)
    return " ".join(kept)


def introduced(step: Step) -> tuple[str, str]:
    """What the step says, and the sentence that introduces its text if something stands between them: what the step
    loses, locks, or costs. The sentence is empty otherwise.
    """
    *before, last = _END.split(step.words)
    is_apart = before and last.endswith(":") and step.text and (step.loses or labels(step))
    return (" ".join(before), last) if is_apart else (step.words, "")


def beyond(fix: str, begins: Beginning) -> str | None:
    """The part of a finding's fix after the plan's first step, if the fix begins with that step; None otherwise."""
    rest = fix.strip().removeprefix(begins.words)
    return None if rest == fix.strip() else rest.strip()


def command(plan: Plan, target: str) -> str:
    """The command that prints the plan in a terminal."""
    about = plan.subject.measurement
    return " ".join(["tsaudit", "plan", *map(shlex.quote, [target, *([about] if about else [])])])


def anchor(plan: Plan) -> str:
    """The id of the plan on the report's page."""
    import hashlib  # It loads OpenSSL, which commands that only print a plan do not need.

    each = [f"{kind_of(one.change)} {one.change.likeness()!r}" for one in plan.changes]
    text = "\x1f".join((plan.subject.key, *each))
    return f"p-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def behind(plan: Plan, result: AuditResult) -> list[tuple[RuleResult, Finding]]:
    """The findings that ask for the plan's changes, worst first."""
    return [pair for pair in result.findings() if of_finding(pair[1], (plan,)) is not None]


def of_finding(finding: Finding, plans: Iterable[Plan]) -> Plan | None:
    """The plan that makes the finding's changes, the first one if there are several; None if no plan does."""
    if finding.severity is Severity.NOTE:
        return None
    return next((plan for plan in plans if any(plan.makes(change) for change in finding.changes)), None)
