"""How an incident lives: watched, opened, resolved. Pure; `incidents` keeps it in the history.

A day shows an incident as bad (the rule found it), good (the rule looked and did not) or unknown (the rule could
not look). Unknown changes nothing.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from datetime import date, datetime

from tsaudit.config import Incidents
from tsaudit.finding import UNREACHABLE_CODE, AuditResult, Finding, Outcome, RuleResult, Severity, Subject, fingerprint
from tsaudit.profile import Gap


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
    """An incident and its runs in a row, as they were after a day.

    RESOLVED without `opened` is one that was watched and went away before it opened.
    """

    incident: Incident
    bad_runs: int
    good_runs: int

    @property
    def gone(self) -> bool:
        return self.incident.state is State.RESOLVED


@dataclass(frozen=True, slots=True)
class Bad:
    """A finding that can open an incident, and whom to tell."""

    rule: RuleResult
    finding: Finding
    owner: str


def bad_findings(result: AuditResult) -> dict[str, tuple[RuleResult, Finding]]:
    """Fingerprint to finding, for all that can open an incident; of two alike the more severe one."""
    found: dict[str, tuple[RuleResult, Finding]] = {}
    for rule, finding in result.findings():
        if finding.severity is not Severity.INFO:
            found.setdefault(fingerprint(result.target, rule.code, finding.subject), (rule, finding))
    return found


def is_good(code: str, subject: Subject, rules: dict[str, RuleResult]) -> bool:
    """Whether the day shows that the rule finds nothing there; `rules` are the day's results by code.

    That the target could be audited is shown by the absence of `UNREACHABLE_CODE`. Any other rule has to have
    judged: one that is missing, does not apply or broke says nothing, nor does one that lacked facts there.
    """
    if code == UNREACHABLE_CODE:
        return code not in rules
    rule = rules.get(code)
    if rule is None or rule.outcome in (Outcome.NOT_APPLICABLE, Outcome.ERROR):
        return False
    if rule.outcome is Outcome.OPEN and not rule.gaps:
        return False
    return not any(_touches(gap, subject) for gap in rule.gaps)


def after_bad(before: Track | None, target: str, mark: str, bad: Bad, day: date, policy: Incidents) -> Track:
    """The state after a day with a finding; `before` is the state after the audited day before, None if new."""
    old = None if before is None or before.gone else before
    bad_runs = 1 + (old.bad_runs if old else 0)
    opened = old.incident.opened if old else None
    if opened is None and bad_runs >= policy.open_after:
        opened = day
    incident = Incident(
        target=target,
        fingerprint=mark,
        code=bad.rule.code,
        rule=bad.rule.name,
        subject=bad.finding.subject,
        state=State.OPEN if opened else State.WATCHING,
        severity=bad.finding.severity,
        owner=bad.owner,
        first_seen=before.incident.first_seen if before else day,
        opened=opened,
        resolved=None,
        day=day,
        finding=bad.finding,
    )
    return Track(incident, bad_runs, 0)


def after_good(before: Track | None, earlier: Track | None, day: date, policy: Incidents) -> Track | None:
    """The state after a day that shows the incident gone; None when there is nothing to note.

    `earlier` is what an earlier audit of the same day had made of it. What that one opened, and perhaps told, is
    resolved on the spot: otherwise nobody would hear that it was a mistake.
    """
    if earlier is not None and earlier.incident.opened == day:
        return Track(replace(earlier.incident, state=State.RESOLVED, resolved=day), 0, earlier.good_runs + 1)
    if before is None or before.gone:
        return None
    incident = replace(before.incident, day=day)
    if incident.state is State.WATCHING:
        return Track(replace(incident, state=State.RESOLVED), 0, 1)
    good_runs = before.good_runs + 1
    if good_runs >= policy.resolve_after:
        incident = replace(incident, state=State.RESOLVED, resolved=day)
    return Track(incident, 0, good_runs)


def after_unknown(before: Track | None, earlier: Track | None, day: date) -> Track | None:
    """The state after a day that tells nothing: what an earlier audit of that day said stands, else the day before."""
    if earlier is not None:
        return earlier
    if before is None or before.gone:
        return None
    return replace(before, incident=replace(before.incident, day=day))


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
