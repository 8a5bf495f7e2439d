"""Follows an audit's plans to their end: all of a database together, decisions included, and audits again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from tests import plans as steps
from tests.planning.losses import Run
from tests.planning.places import Place
from tsaudit.model.change import Inspect, MergeMeasurements, Rename, SplitColumn
from tsaudit.model.finding import AuditResult, Finding, RuleResult, Severity
from tsaudit.model.plan import Phase, Plan, Step
from tsaudit.model.profile import Profile
from tsaudit.model.subject import Subject
from tsaudit.planning.plans import plans_of

ROUNDS: Final = 2
"""An index that took another one's searches is known to be unused only when that one is gone."""
_READ: Final = (Phase.LOOK, Phase.CHECK)
_EVERYWHERE: Final = re.compile(r" in [\d,]+ (measurements|tables|collections)\b")
"""What is said once of a habit holds wherever it is found afterward."""
_AS_PLANNED: Final = re.compile(r", as planned for [A-Z]{3}\d{3}")
_DONE: Final = (*steps.STATEMENTS, "sh", "yaml")
"""Languages of what is done; writers' settings are theirs."""
_UNCOVERED: Final = frozenset({"CAR003", "CAR006", "FLD001"})
"""Rules whose notes a worse cause hides: which tag adds most series and which one depends on another is said of those
that are left, and few rows are read of each series while there are too many. A note that asks for nothing is no work.
"""
Found = tuple[str, Subject]
"""A finding: the code of its rule, and what it is about."""


class Hand(Protocol):
    """Who carries plans out on one database, and looks what it holds."""

    def contents(self, profile: Profile) -> Any:
        """What the database holds, for `lost`."""
        ...

    def carry_out(self, plans: Sequence[Plan], first: datetime, last: datetime) -> list[Run]:
        """What became of each plan."""
        ...

    def lost(self, before: Any, after: Any, plans: Sequence[Plan], done: Sequence[Run], now: datetime) -> list[str]:
        """What is gone that no plan named, a line each. `now`: of the audits."""
        ...


@dataclass(slots=True)
class Followed:
    """What became of all plans of a database."""

    plans: int = 0
    in_words: int = 0
    """Plans of which no step changes the database by a statement: a writer's setting, a program to write."""
    by_program: int = 0
    """Plans whose copy is left to a program of the reader's, which the test stands in for."""
    executed: int = 0
    """Statements, those that only read included."""
    refused: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    """Findings that were not there before."""
    left: list[str] = field(default_factory=list)
    """Findings whose plans were carried out by statements, and that are still there."""


def follow(place: Place, hand: Hand, profile: Profile, result: AuditResult) -> Followed:
    """Carries out what the audit of the place said, and what the next one says, until nothing is left to do."""
    followed, before = Followed(), None
    for _ in range(ROUNDS):
        asked = result.plans
        followed.plans += len(asked)
        followed.in_words += sum(not changes_by_statements(plan) for plan in asked)
        followed.by_program += sum(any(step.copy for step in plan.steps) for plan in asked)
        if not any(map(changes_something, asked)):
            break
        before = hand.contents(profile) if before is None else before
        stands = dict(_found(result))
        habits = {code for (code, _), one in stands.items() if _EVERYWHERE.search(one.message)}
        first = min((m.first_time for m in profile.measurements if m.first_time), default=place.now - timedelta(days=2))
        done = hand.carry_out(asked, first, place.now)
        followed.executed += sum(run.executed for run in done)
        followed.refused += [line for run in done for line in run.refused]
        place = place.told(asked)
        latest, again = place.audited(profile, asked)
        followed.lost += hand.lost(before, after := hand.contents(latest), asked, done, place.now)
        now, made = dict(_found(again)), _Made.by(asked, profile)
        followed.new += [
            _line(key, one)
            for key, one in now.items()
            if key[0] not in habits
            and not (made.explains(*key, stands) or _is_uncovered(key, one) or _is_left_to_people(one, asked))
        ]
        followed.left = list(_left(profile, result, now))
        if _statements(again.plans) <= _statements(asked):
            break
        profile, result, before = latest, again, after
    return followed


def changes_something(plan: Plan) -> bool:
    """Whether a step changes the database, or tsaudit.yaml."""
    return any(map(_changes, plan.steps))


def changes_by_statements(plan: Plan) -> bool:
    """Whether a statement or a command of the plan changes the database."""
    return any(_changes(step) and step.language != "yaml" for step in plan.steps)


def copied_by_people(plan: Plan) -> bool:
    """Whether a copy is left to a program of theirs: then nothing that was not copied is removed here."""
    return any(step.phase is Phase.COPY and not step.text for step in plan.steps)


def _changes(step: Step) -> bool:
    return step.phase not in _READ and step.language in _DONE


def _found(result: AuditResult) -> Iterator[tuple[Found, Finding]]:
    """All findings, except those that say that the plan was carried out."""
    yield from (((r.code, f.subject), f) for r, f in result.findings() if not _AS_PLANNED.search(f.message))


def _line(key: Found, finding: Finding) -> str:
    return f"{key[0]} {finding.severity} {finding.subject}: {finding.message}"


def _is_uncovered(key: Found, finding: Finding) -> bool:
    return finding.severity is Severity.INFO and not finding.changes and key[0] in _UNCOVERED


def _is_left_to_people(finding: Finding, plans: Sequence[Plan]) -> bool:
    """Whether a plan that no statement carries to its end asked for all that the finding wants."""
    asked = (one.change for plan in plans if not _ends(plan) for one in plan.changes)
    claims = {(change.at, claim, to) for change in asked for claim, to in change.claims().items()}
    wanted = {(change.at, claim, to) for change in finding.changes for claim, to in change.claims().items()}
    return bool(wanted) and wanted <= claims


def _statements(plans: Sequence[Plan]) -> set[str]:
    return {step.text for plan in plans for step in plan.steps if _changes(step)}


def _left(profile: Profile, result: AuditResult, now: Mapping[Found, Finding]) -> Iterator[str]:
    for rule, finding in result.findings():
        key = (rule.code, finding.subject)
        if key in now and _stays(profile, result.plans, rule, finding, now[key]):
            yield _line(key, now[key])


def _stays(profile: Profile, plans: Sequence[Plan], rule: RuleResult, then: Finding, now: Finding) -> bool:
    """Whether statements made all that the finding wanted, and it still wants some of it, or is still there."""
    own = plans_of(profile, [replace(rule, findings=(then,))])
    asked = [plan for plan in plans if plan.subject in {one.subject for one in own}]
    if not own or not all(map(_ends, own)) or any(map(copied_by_people, asked)):
        return False
    # Looking at something ends nothing.
    wanted = {change for change in then.changes if not isinstance(change, Inspect)}
    return not now.changes or bool(wanted & set(now.changes))


def _ends(plan: Plan) -> bool:
    """Whether statements carry the plan to its end: no key is left to be made by hand, no copy to a program, and what
    was copied replaces what is there.
    """
    phases = {step.phase for step in plan.steps if _changes(step)}
    if any(not step.text and step.phase in (Phase.PREPARE, Phase.COPY, Phase.REMOVE) for step in plan.steps):
        return False
    if any(not step.text and step.phase is Phase.WRITE for step in plan.steps) and not phases & {
        Phase.COPY,
        Phase.SWITCH,
    }:
        return False  # Only writers can.
    return bool(phases) and (Phase.COPY not in phases or bool(phases & {Phase.SWITCH, Phase.REMOVE}))


@dataclass(frozen=True, slots=True)
class _Made:
    """What plans made of names."""

    tables: frozenset[str]
    """Those that the plans took something from; there were others before, which are what they were."""
    known: frozenset[str]
    merged: frozenset[str]
    """Fields that merging named after the end of a measurement's name: a word that needs quotes there, too."""
    parts: frozenset[str]
    """Columns that are parts of texts, and text: that they hold numbers is only said of them where they are columns."""
    columns: Mapping[str, str]
    """New names of columns to the old ones; parts of values to the columns that they were in."""

    @classmethod
    def by(cls, plans: Sequence[Plan], before: Profile) -> _Made:
        changes = [asked.change for plan in plans for asked in plan.changes]
        tables = {change.at.measurement for change in changes}
        tables |= {one.measurement for c in changes if isinstance(c, MergeMeasurements) for one in c.members}
        return cls(
            frozenset(tables),
            frozenset(m.name for m in before.measurements),
            frozenset(c.into for c in changes if isinstance(c, MergeMeasurements) if any(m.field for m in c.members)),
            frozenset(part.name for c in changes if isinstance(c, SplitColumn) for part in c.parts),
            {c.new: c.old for c in changes if isinstance(c, Rename) and c.old}
            | {part.name: c.column for c in changes if isinstance(c, SplitColumn) for part in c.parts},
        )

    def explains(self, code: str, subject: Subject, stood: Collection[Found]) -> bool:
        """Whether the same was found where the plans took it from."""
        if (code, subject) in stood or (code == "NAM003" and subject.measurement in self.merged):
            return True
        if code == "FLD002" and subject.column in self.parts:
            return True
        tables = {subject.measurement} if subject.measurement in self.known else self.tables
        columns = {subject.column, self.columns.get(subject.column, subject.column)}
        return any((code, Subject(subject.database, t, c)) in stood for t in tables for c in columns)
