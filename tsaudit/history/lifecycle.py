"""The life cycle of an incident: watched, opened, resolved. Pure; `incidents` stores it in the history.

On a day, an incident is bad (the rule found it), good (the rule ran and did not find it), or unknown (the rule could
not run). Unknown changes nothing.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final

from tsaudit.config.settings import Harm, Incidents
from tsaudit.model.figures import Gap, Subject
from tsaudit.model.finding import (
    DEGRADED_CODE,
    PLUGIN_CODE,
    RULELESS_CODES,
    UNREACHABLE_CODE,
    AuditResult,
    Finding,
    Outcome,
    RuleResult,
    Severity,
    fingerprint,
)

URGENT_DAYS: Final = (Harm().warning_days, Harm().critical_days, 7, 1, 0)
"""The days left at which an incident becomes more urgent, whatever its severity: the defaults of `harm.warning_days`
and `harm.critical_days`, the last week, the last day, and the end.
"""


class IncidentState(enum.StrEnum):
    """The state of an incident after a day."""

    WATCHING = "watching"
    """The rule found it, but not yet in enough consecutive audits to open an incident."""
    OPEN = "open"
    RESOLVED = "resolved"


class ChangeKind(enum.StrEnum):
    """What a day changed in an incident."""

    OPENED = "opened"
    RAISED = "raised"
    """Its severity or its urgency rose while it was open."""
    LOWERED = "lowered"
    CONTINUED = "continued"
    RESOLVED = "resolved"


class DecisionKind(enum.StrEnum):
    """What a person can decide about an incident."""

    ACK = "ack"
    """Somebody is working on it. Applies until the incident is resolved."""
    MUTE = "mute"
    """The incident fails no check and notifies nobody until a day, unless it gets worse."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about an incident."""

    kind: DecisionKind
    owner: str
    reason: str
    made_at: datetime
    until: date | None
    """The last day on which it applies; None only for an ack."""
    severity: Severity
    """Severity of the incident when the decision was made. A mute covers nothing more severe."""
    bound: float | None = None
    """The value, in `unit`, up to which a mute covers the finding's figure. None: there is no figure, so only the
    severity counts.
    """
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Incident:
    """A problem found by one rule at one place, as of one audited day."""

    target: str
    fingerprint: str
    code: str
    rule: str
    """The rule's name."""
    subject: Subject
    state: IncidentState
    severity: Severity
    owner: str
    first_seen: date
    """The first day on which the problem was ever found, including earlier openings."""
    opened: date | None
    """The day it opened; None while it is watched."""
    resolved: date | None
    day: date
    finding: Finding
    """The newest finding."""
    decision: Decision | None = None
    """The newest decision, if it applies on the day."""
    exceeded: Decision | None = None
    """The newest decision, if it would apply on the day, but the incident is now worse than what the decision covers.
    """
    good_runs: int = 0
    """The number of consecutive audits, up to the day, whose rule ran and did not find it: enough of them resolve it.
    """

    @property
    def is_absent(self) -> bool:
        """Whether it is open although the newest audit that could have found it did not."""
        return self.state is IncidentState.OPEN and self.good_runs > 0

    @property
    def is_muted(self) -> bool:
        """Whether a mute applies, so that nobody is notified."""
        return self.decision is not None and self.decision.kind is DecisionKind.MUTE

    @property
    def is_active(self) -> bool:
        """Whether it is open and not muted."""
        return self.state is IncidentState.OPEN and not self.is_muted

    @property
    def state_description(self) -> str:
        """The state in words: `open since 2026-03-20, first seen 2026-03-19`; the second day only if it is different.

        The problem itself may have begun even earlier: that is the finding's `since`.
        """
        if self.state is IncidentState.RESOLVED:
            return f"resolved on {self.resolved}"
        if self.state is IncidentState.WATCHING or self.opened is None:
            return f"watched since {self.first_seen}, not yet an incident"
        earlier = f", first seen {self.first_seen}" if self.first_seen != self.opened else ""
        absent = f", not found on {self.day}" if self.is_absent else ""
        return f"open since {self.opened}{earlier}{absent}"


@dataclass(frozen=True, slots=True)
class IncidentChange:
    """What one audited day changed in one incident."""

    kind: ChangeKind
    incident: Incident


@dataclass(frozen=True, slots=True)
class Track:
    """The state of an incident after a day, with its number of consecutive bad audits."""

    incident: Incident
    bad_runs: int

    @property
    def gone(self) -> bool:
        return self.incident.state is IncidentState.RESOLVED

    @property
    def never_opened(self) -> bool:
        """Whether it was watched and disappeared before it opened. It is kept for its first day, in
        case it comes back.
        """
        return self.gone and self.incident.opened is None


@dataclass(frozen=True, slots=True)
class Bad:
    """A finding that can open an incident, and its owner."""

    rule: RuleResult
    finding: Finding
    owner: str


def is_good(code: str, subject: Subject, rules: Mapping[str, RuleResult]) -> bool:
    """Whether the rule ran on the subject, so that the absence of a finding means that there is no problem. `rules`:
    the day's results by code.

    No result of `UNREACHABLE_CODE` means that the target could be audited; no such finding on a database means that the
    database could. Any other rule must have run completely: a rule that is missing, does not apply, failed, or lacked
    facts about the subject does not count.
    """
    gone = rules.get(UNREACHABLE_CODE)
    missed = {f.subject for f in gone.findings} if gone else set()
    if code == UNREACHABLE_CODE:
        return not missed & {Subject(), subject}
    if code in (DEGRADED_CODE, PLUGIN_CODE):
        # This result exists only while there are degraded rules, and not if the target as a whole could not be audited.
        return code not in rules and Subject() not in missed
    rule = rules.get(code)
    if rule is None or rule.outcome in (Outcome.NOT_APPLICABLE, Outcome.ERROR):
        return False
    if rule.outcome is Outcome.OPEN and not rule.gaps:
        return False
    return not any(_touches(gap, subject) for gap in rule.gaps)


def is_over(code: str, subject: Subject, rules: Mapping[str, RuleResult]) -> bool:
    """Whether the absence of a finding ends its incident: there is no problem, see `is_good`, or the rule no longer
    exists or is switched off. Otherwise, its state is not known. `rules`: the day's results by code.
    """
    return is_good(code, subject, rules) or _is_retired(code, rules)


def confirms_end(result: AuditResult, incident: Incident) -> bool:
    """Whether the audit could have found the incident again. Where an earlier one of the day saw it end, this one may
    have failed, or not have read its table.
    """
    rules = {rule.code: rule for rule in result.results}
    return not result.failed_at and is_over(incident.code, incident.subject, rules)


def _is_retired(code: str, rules: Mapping[str, RuleResult]) -> bool:
    """Whether the rule no longer exists or is switched off: an audit has a result for every existing rule.

    Without this, its incidents would stay open forever.
    """
    if code in rules and rules[code].switched_off:
        return True
    if PLUGIN_CODE in rules:
        # The rule may be one of those that could not be used today.
        return False
    evaluated = rules.keys() - RULELESS_CODES.keys()
    return bool(evaluated) and code not in evaluated | RULELESS_CODES.keys()


class DaySeen:
    """What one audited day shows about each incident of its target."""

    def __init__(self, result: AuditResult, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]) -> None:
        self.target = result.target
        self.day = result.day
        self._policy = policy
        self._rules = {rule.code: rule for rule in result.results}
        self.bad: dict[str, Bad] = {}
        """Fingerprint to finding, for all findings that can open an incident. Of two with the same fingerprint, the
        more severe one counts.
        """
        self._growing: set[str] = set()
        """Fingerprints of findings that will reach their limit, but too late to open an incident. They do not resolve
        an open incident.
        """
        self._folded = {
            fingerprint(result.target, rule.code, finding.subject): finding
            for rule in result.results
            for finding in rule.folded
        }
        for rule, finding in result.findings():
            key = fingerprint(result.target, rule.code, finding.subject)
            if finding.severity is Severity.NOTE and finding.forecast and finding.forecast.days is not None:
                self._growing.add(key)
            if finding.severity is not Severity.NOTE:
                self.bad.setdefault(key, Bad(rule, finding, owner_of(finding, rule)))

    def after(self, key: str, before: Track | None, earlier: Track | None) -> Track | None:
        """The state of an incident after the day; None if there is nothing to store.

        `before` is its state after the previous audited day, `earlier` its state after an earlier audit of this day;
        each None if there is none.
        """
        if key in self.bad:
            return self._after_bad(key, before, self.bad[key])
        known = earlier or before
        if key in self._growing and known is not None and not known.never_opened:
            return self._after_unknown(before, earlier)
        if (folded := self._folded.get(key)) is not None and known is not None:
            return self._after_folded(before, earlier, folded)
        if known is not None and is_over(known.incident.code, known.incident.subject, self._rules):
            return self._after_good(before, earlier)
        return self._after_unknown(before, earlier)

    def _after_bad(self, key: str, before: Track | None, bad: Bad) -> Track:
        old = None if before is None or before.gone else before
        bad_runs = 1 + (old.bad_runs if old else 0)
        opened = old.incident.opened if old else None
        # For degraded rules, the waiting period has already passed.
        enough = 1 if bad.rule.code == DEGRADED_CODE else self._policy.open_after
        if opened is None and bad_runs >= enough:
            opened = self.day
        incident = Incident(
            target=self.target,
            fingerprint=key,
            code=bad.rule.code,
            rule=bad.rule.name,
            subject=bad.finding.subject,
            state=IncidentState.OPEN if opened else IncidentState.WATCHING,
            severity=bad.finding.severity,
            owner=bad.owner,
            first_seen=before.incident.first_seen if before else self.day,
            opened=opened,
            resolved=None,
            day=self.day,
            finding=bad.finding,
        )
        return Track(incident, bad_runs)

    def _after_good(self, before: Track | None, earlier: Track | None) -> Track | None:
        """The state after a day on which the rule ran and found nothing.

        An incident that an earlier audit of the same day opened, and perhaps reported, is resolved immediately.
        Otherwise nobody would learn that it was a mistake.
        """
        if earlier is not None and earlier.incident.opened == self.day:
            ended = replace(earlier.incident, state=IncidentState.RESOLVED, resolved=self.day, good_runs=1)
            return Track(ended, bad_runs=0)
        if before is None or before.gone:
            return None
        incident = replace(before.incident, day=self.day, good_runs=before.incident.good_runs + 1)
        if incident.state is IncidentState.WATCHING:
            incident = replace(incident, state=IncidentState.RESOLVED)
        elif incident.good_runs >= self._policy.resolve_after:
            incident = replace(incident, state=IncidentState.RESOLVED, resolved=self.day)
        return Track(incident, bad_runs=0)

    def _after_folded(self, before: Track | None, earlier: Track | None, finding: Finding) -> Track | None:
        """The state after a day on which the finding followed from another one, whose incident is the one to act on:
        neither resolved, nor more severe.
        """
        track = self._after_unknown(before, earlier)
        if track is None or track.incident.state is not IncidentState.OPEN:
            return track
        return replace(track, incident=replace(track.incident, finding=finding, good_runs=0))

    def _after_unknown(self, before: Track | None, earlier: Track | None) -> Track | None:
        """The state after a day on which the rule could not run: the state after an earlier audit of the day if there
        is one, otherwise the state after the day before.
        """
        if earlier is not None:
            return earlier
        if before is None or before.gone:
            return None
        return replace(before, incident=replace(before.incident, day=self.day))


def change_between(before: Track | None, after: Track) -> ChangeKind | None:
    """What the day changed; None while the incident is only watched."""
    incident = after.incident
    if incident.opened is None:
        return None
    if incident.state is IncidentState.RESOLVED:
        return ChangeKind.RESOLVED
    if before is None or before.incident.state is not IncidentState.OPEN:
        return ChangeKind.OPENED
    rise = incident.severity.rank - before.incident.severity.rank
    return ChangeKind.RAISED if rise > 0 else ChangeKind.LOWERED if rise < 0 else ChangeKind.CONTINUED


def urgency(finding: Finding) -> int:
    """How many of `URGENT_DAYS` have been reached until a limit is, or a mechanism ends."""
    left = finding.impact.days_left if finding.impact else None
    return 0 if left is None else sum(left <= days for days in URGENT_DAYS)


def _touches(gap: Gap, subject: Subject) -> bool:
    """Whether the gap is about the subject, a part of it, or something that contains it."""
    same_database = not gap.database or not subject.database or gap.database == subject.database
    same_measurement = not gap.measurement or not subject.measurement or gap.measurement == subject.measurement
    return same_database and same_measurement
