"""How an incident lives: watched, opened, resolved. Pure; `incidents` keeps it in the history.

A day shows an incident as bad (the rule found it), good (the rule looked and did not) or unknown (the rule could
not look). Unknown changes nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime

from tsaudit.config.settings import Incidents
from tsaudit.model.finding import (
    PLUGIN_CODE,
    RULELESS_CODES,
    SILENCED_CODE,
    UNREACHABLE_CODE,
    AuditResult,
    Finding,
    Outcome,
    RuleResult,
    Severity,
    fingerprint,
)
from tsaudit.model.profile import Gap
from tsaudit.model.subject import Subject


class State(enum.StrEnum):
    """Where an incident stands after a day."""

    WATCHING = "watching"
    """Bad, but not for enough audits in a row to be told."""
    OPEN = "open"
    RESOLVED = "resolved"


class ChangeKind(enum.StrEnum):
    """What a day did to an incident."""

    OPENED = "opened"
    RAISED = "raised"
    """Its severity rose while it was open."""
    LOWERED = "lowered"
    CONTINUED = "continued"
    RESOLVED = "resolved"


class DecisionKind(enum.StrEnum):
    """What a person can say of an incident."""

    ACK = "ack"
    """Somebody is working on it; holds until it is resolved."""
    SNOOZE = "snooze"
    """Be quiet until a day, unless it becomes more severe."""
    ACCEPT = "accept"
    """Known and lived with until a day, unless it becomes more severe."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person said of an incident."""

    kind: DecisionKind
    owner: str
    reason: str
    made_at: datetime
    until: date | None
    """The last day it holds; None only for an ack."""


@dataclass(frozen=True, slots=True)
class Incident:
    """What is wrong at one place by one rule, as it stood after one audited day."""

    target: str
    fingerprint: str
    code: str
    rule: str
    """The rule's name."""
    subject: Subject
    state: State
    severity: Severity
    owner: str
    first_seen: date
    """The first day it was ever bad, earlier openings included."""
    opened: date | None
    """None while it is watched."""
    resolved: date | None
    day: date
    finding: Finding
    """The newest one."""
    decision: Decision | None = None
    """The newest that holds on the day."""


@dataclass(frozen=True, slots=True)
class Change:
    """What one audited day did to one incident."""

    kind: ChangeKind
    incident: Incident


@dataclass(frozen=True, slots=True)
class Track:
    """An incident and its runs in a row, as they were after a day."""

    incident: Incident
    bad_runs: int
    good_runs: int

    @property
    def gone(self) -> bool:
        return self.incident.state is State.RESOLVED

    @property
    def never_opened(self) -> bool:
        """Whether it was watched and went away before it opened; kept for its first day, should it come back."""
        return self.gone and self.incident.opened is None


@dataclass(frozen=True, slots=True)
class Bad:
    """A finding that can open an incident, and whom to tell."""

    rule: RuleResult
    finding: Finding
    owner: str


def is_good(code: str, subject: Subject, rules: Mapping[str, RuleResult]) -> bool:
    """Whether the rule looked there and, if it found nothing, nothing is there; `rules` are a day's results by code.

    That the target could be audited is shown by the absence of `UNREACHABLE_CODE`, and of one of its databases by the
    absence of a finding on it. Any other rule has to have judged: one that is missing, does not apply or broke says
    nothing, nor does one that lacked facts there.
    """
    gone = rules.get(UNREACHABLE_CODE)
    missed = {f.subject for f in gone.findings} if gone else set()
    if code == UNREACHABLE_CODE:
        return not missed & {Subject(), subject}
    if code in (SILENCED_CODE, PLUGIN_CODE):
        # Reported only while there are such rules, and not where the target as a whole could not be audited.
        return code not in rules and Subject() not in missed
    rule = rules.get(code)
    if rule is None or rule.outcome in (Outcome.NOT_APPLICABLE, Outcome.ERROR):
        return False
    if rule.outcome is Outcome.OPEN and not rule.gaps:
        return False
    return not any(_touches(gap, subject) for gap in rule.gaps)


class DaySeen:
    """What one audited day shows of every incident of its target."""

    def __init__(self, result: AuditResult, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]) -> None:
        self.target = result.target
        self.day = result.day
        self._policy = policy
        self._rules = {rule.code: rule for rule in result.results}
        self.bad: dict[str, Bad] = {}
        """Fingerprint to finding, for all that can open an incident; of two alike the more severe one."""
        for rule, finding in result.findings():
            if finding.severity is not Severity.INFO:
                mark = fingerprint(result.target, rule.code, finding.subject)
                self.bad.setdefault(mark, Bad(rule, finding, owner_of(finding, rule)))

    def after(self, mark: str, before: Track | None, earlier: Track | None) -> Track | None:
        """The state of an incident after the day; None when there is nothing to note.

        `before` is its state after the audited day before, `earlier` what an earlier audit of this day had made of
        it; each None when there was none.
        """
        if mark in self.bad:
            return self._after_bad(mark, before, self.bad[mark])
        known = earlier or before
        if known is not None and (
            is_good(known.incident.code, known.incident.subject, self._rules) or self._is_retired(known.incident.code)
        ):
            return self._after_good(before, earlier)
        return self._after_unknown(before, earlier)

    def _is_retired(self, code: str) -> bool:
        """Whether there is no such rule any more, or it is switched off: an audit has a result of every rule there is.

        Nobody would ever find its incidents again, nor see them gone.
        """
        if code in self._rules and self._rules[code].switched_off:
            return True
        if PLUGIN_CODE in self._rules:
            # It may be one of those that could not be used today.
            return False
        judged = self._rules.keys() - RULELESS_CODES.keys()
        return bool(judged) and code not in judged | RULELESS_CODES.keys()

    def _after_bad(self, mark: str, before: Track | None, bad: Bad) -> Track:
        old = None if before is None or before.gone else before
        bad_runs = 1 + (old.bad_runs if old else 0)
        opened = old.incident.opened if old else None
        # Rules that no longer judge have been waited for already.
        enough = 1 if bad.rule.code == SILENCED_CODE else self._policy.open_after
        if opened is None and bad_runs >= enough:
            opened = self.day
        incident = Incident(
            target=self.target,
            fingerprint=mark,
            code=bad.rule.code,
            rule=bad.rule.name,
            subject=bad.finding.subject,
            state=State.OPEN if opened else State.WATCHING,
            severity=bad.finding.severity,
            owner=bad.owner,
            first_seen=before.incident.first_seen if before else self.day,
            opened=opened,
            resolved=None,
            day=self.day,
            finding=bad.finding,
        )
        return Track(incident, bad_runs, 0)

    def _after_good(self, before: Track | None, earlier: Track | None) -> Track | None:
        """What an earlier audit of the day opened, and perhaps told, is resolved on the spot.

        Otherwise nobody would hear that it was a mistake.
        """
        if earlier is not None and earlier.incident.opened == self.day:
            return Track(replace(earlier.incident, state=State.RESOLVED, resolved=self.day), 0, 1)
        if before is None or before.gone:
            return None
        incident = replace(before.incident, day=self.day)
        if incident.state is State.WATCHING:
            return Track(replace(incident, state=State.RESOLVED), 0, 1)
        good_runs = before.good_runs + 1
        if good_runs >= self._policy.resolve_after:
            incident = replace(incident, state=State.RESOLVED, resolved=self.day)
        return Track(incident, 0, good_runs)

    def _after_unknown(self, before: Track | None, earlier: Track | None) -> Track | None:
        """What an earlier audit of the day said stands, else the day before."""
        if earlier is not None:
            return earlier
        if before is None or before.gone:
            return None
        return replace(before, incident=replace(before.incident, day=self.day))


def change_between(before: Track | None, after: Track) -> ChangeKind | None:
    """What the day did; None while it is only watched."""
    incident = after.incident
    if incident.opened is None:
        return None
    if incident.state is State.RESOLVED:
        return ChangeKind.RESOLVED
    if before is None or before.incident.state is not State.OPEN:
        return ChangeKind.OPENED
    rise = incident.severity.rank - before.incident.severity.rank
    return ChangeKind.RAISED if rise > 0 else ChangeKind.LOWERED if rise < 0 else ChangeKind.CONTINUED


def _touches(gap: Gap, subject: Subject) -> bool:
    """Whether what is missing is part of the subject, or the subject part of what is missing."""
    same_database = not gap.database or not subject.database or gap.database == subject.database
    same_measurement = not gap.measurement or not subject.measurement or gap.measurement == subject.measurement
    return same_database and same_measurement
