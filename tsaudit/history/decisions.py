"""People's decisions about incidents: acknowledge, mute, and reopen.

Decisions are stored one at a time across all processes, so that two people cannot overwrite each other's decisions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from sqlalchemy import Connection

from tsaudit.errors import TsauditError
from tsaudit.history import clock, incidents
from tsaudit.history.lifecycle import URGENT_DAYS, Decision, DecisionKind, Incident, IncidentState
from tsaudit.history.store import Store
from tsaudit.model.finding import RULELESS_CODES, Severity
from tsaudit.text import many, quantity

BASELINE_DAYS: Final = 90
"""Default number of days for which findings are muted: a quarter to fix existing problems."""

DONE: Final = {"ack": "acknowledged", "mute": "muted"}
"""Kind of a decision to the word for the incident's state after it."""

LOCK: Final = "decisions"
"""Name of the lock that is held while a decision is stored."""


class DecidedError(TsauditError, ValueError):
    """Another decision already applies to the incident; `decision` is that one."""

    def __init__(self, incident: Incident, decision: Decision) -> None:
        self.decision = decision
        where = f"{incident.target} {incident.code} {incident.subject}"
        super().__init__(f"{where} is {describe(decision)}")


class UnknownIncidentError(TsauditError, LookupError):
    """The history has no incident with the fingerprint, or it was deleted."""


@dataclass(frozen=True, slots=True)
class IncidentSelection:
    """Selects incidents. An empty set stands for all."""

    targets: frozenset[str] = frozenset()
    codes: frozenset[str] = frozenset()
    fingerprints: frozenset[str] = frozenset()

    def has(self, incident: Incident) -> bool:
        """Whether the selection includes the incident."""
        asked = (
            (self.targets, incident.target),
            (self.codes, incident.code),
            (self.fingerprints, incident.fingerprint),
        )
        return all(not chosen or own in chosen for chosen, own in asked)


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a baseline mutes, and what it leaves unchanged, each list worst first."""

    muted: tuple[Incident, ...] = ()
    """The incidents as they are before the decision: `decision` is the one that is replaced."""
    decided: tuple[Incident, ...] = ()
    """Incidents to which another decision applies."""
    too_severe: tuple[Incident, ...] = ()
    about_audit: tuple[Incident, ...] = ()
    """Incidents about what could not be audited. Muting them together with findings would hide that nothing is being
    monitored.
    """


@dataclass(frozen=True, slots=True)
class Mute:
    """A decision to mute several incidents."""

    owner: str
    reason: str
    until: date
    up_to: Severity = Severity.WARNING
    replace: bool = False
    """Whether the mute also replaces other decisions."""
    selection: IncidentSelection = field(default_factory=IncidentSelection)


def decide(
    store: Store,
    fingerprints: Iterable[str],
    kind: str,
    owner: str,
    reason: str,
    until: date | None = None,
    *,
    replace: bool = False,
) -> list[Incident]:
    """Store a person's decision on incidents (`ack` or `mute`), and return the incidents with it. All or nothing.

    A mute needs its last day, and covers the current severity and figure (`incidents.GROWTH`): it does not apply
    while the incident is worse. An ack has no last day. Repeating a decision changes nothing. Raises
    UnknownIncidentError, DecidedError if another decision applies and `replace` is not set, ValueError for a decision
    that is incomplete or could never apply.
    """
    chosen = _checked(kind, owner, reason, until)
    with store.writing(LOCK) as connection:
        found = [_applicable(connection, one, chosen, until) for one in dict.fromkeys(fingerprints)]
        new = []
        for incident in decided_today(connection, found):
            made = incident.decision
            if made is not None and _is_same(made, chosen, owner, reason, until):
                continue
            if made is not None and not replace:
                raise DecidedError(incident, made)
            new.append(incident)
        incidents.write_decisions(connection, new, str(chosen), owner, reason, until)
        return incidents.with_decisions(connection, found, None)


def _applicable(connection: Connection, fingerprint: str, kind: DecisionKind, until: date | None) -> Incident:
    """The incident, if the decision can apply to it. Raises UnknownIncidentError or ValueError otherwise."""
    incident = incidents.known(connection, fingerprint)
    if incident is None:
        raise UnknownIncidentError(f"no incident has the fingerprint {fingerprint}")
    if kind is DecisionKind.ACK and incident.state is not IncidentState.OPEN:
        raise ValueError(f"incident {fingerprint} is {incident.state}; only an open one can be acknowledged")
    if incident.state is IncidentState.RESOLVED:
        raise ValueError(f"incident {fingerprint} is resolved; only an open or a watched one can be muted")
    if until is not None and until < incident.day:
        raise ValueError(f"{until} is over: incident {fingerprint} was evaluated on {incident.day}")
    return incident


def mute_all(store: Store, wanted: Mute, *, dry_run: bool = False) -> Baseline:
    """Mute all selected incidents that are open or watched, in one transaction. Repeating it mutes nothing more.

    `dry_run`: only return what would be muted. Raises ValueError for a decision that is incomplete or could never
    apply.
    """
    _checked(DecisionKind.MUTE, wanted.owner, wanted.reason, wanted.until)
    with store.reading() if dry_run else store.writing(LOCK) as connection:
        found = baseline(decided_today(connection, incidents.standing(connection, None, None)), wanted)
        late = next((i for i in found.muted if wanted.until < i.day), None)
        if late is not None:
            raise ValueError(f"{wanted.until} is over: {late.target} was audited on {late.day}")
        if not dry_run:
            kind = str(DecisionKind.MUTE)
            incidents.write_decisions(connection, found.muted, kind, wanted.owner, wanted.reason, wanted.until)
    return found


def baseline(found: Iterable[Incident], wanted: Mute) -> Baseline:
    """What muting the incidents would do."""
    muted, decided, too_severe, about_audit = [], [], [], []
    for incident in found:
        if incident.state is IncidentState.RESOLVED or not wanted.selection.has(incident):
            continue
        if incident.code in RULELESS_CODES:
            about_audit.append(incident)
        elif incident.decision is not None and not _may_replace(incident.decision, wanted):
            decided.append(incident)
        elif incident.severity.rank > wanted.up_to.rank:
            too_severe.append(incident)
        else:
            muted.append(incident)
    return Baseline(tuple(muted), tuple(decided), tuple(too_severe), tuple(about_audit))


def reopen(
    store: Store, selection: IncidentSelection, owner: str, reason: str = "", *, dry_run: bool = False
) -> list[Incident]:
    """End the decisions about the selected incidents, and return each incident with the one that was ended.

    This includes decisions that do not apply at the moment because the incident got worse. `dry_run`: only return which
    would be ended.
    """
    if not owner.strip():
        raise ValueError("name the person who decides")
    with store.reading() if dry_run else store.writing(LOCK) as connection:
        standing = incidents.standing(connection, None, None)
        found = [i for i in standing if selection.has(i) and (i.decision or i.exceeded)]
        if not dry_run:
            incidents.write_decisions(connection, found, incidents.REOPEN, owner, reason, None)
    return found


def describe(decision: Decision) -> str:
    """The decision in words: `muted by ada until 2026-12-01 (moving)`."""
    until = f" until {decision.until}" if decision.until else ""
    return f"{DONE[decision.kind]} by {decision.owner}{until} ({decision.reason})"


def outgrown(incident: Incident) -> str:
    """Why the incident's last decision no longer covers it: `covers up to 150 series, now 180 series`; empty if it
    still does.
    """
    decision, finding = incident.exceeded, incident.finding
    if decision is None:
        return ""
    if incident.severity.rank > decision.severity.rank:
        return f"covers {decision.severity}, now {incident.severity}"
    figure = incidents.of_decision(decision, finding)
    left = finding.impact.days_left if finding.impact else None
    if decision.bound is not None and figure.value is not None and figure.unit == decision.unit:
        how, is_beyond = "up to", figure.value > decision.bound
        if figure.is_low:
            how, is_beyond = "down to", figure.value < decision.bound
        if is_beyond:
            return f"covers {how} {quantity(decision.bound, decision.unit)}, now {quantity(figure.value, figure.unit)}"
    if left is None:
        return ""
    return f"does not cover {f'the last {_days(left)}' if left > 0 else 'that no time is left'}"


def back(incident: Incident) -> str:
    """`Back, although muted by ada until 2026-12-01 (moving): that covers up to 150 series, now 180 series`; empty if
    no decision was outgrown.
    """
    made = incident.exceeded
    return f"Back, although {describe(made)}: that {outgrown(incident)}" if made else ""


def all_back(found: Iterable[Incident]) -> dict[str, str]:
    """Fingerprint to `back` of those of the incidents to which no other decision applies."""
    return {one.fingerprint: words for one in found if not one.decision and (words := back(one))}


def ends_early(incident: Incident) -> str:
    """From what on the mute that applies no longer covers the incident, as in `above 150 series, or if critical`, and
    in how many days if it lasts longer; empty if nothing could be worse, or no mute applies.
    """
    made = incident.decision
    if made is None or made.kind is not DecisionKind.MUTE:
        return ""
    ends = []
    figure = incidents.of_decision(made, incident.finding)
    if made.bound is not None and figure.value is not None and figure.unit == made.unit:
        ends.append(f"{'above' if figure.value <= made.bound else 'below'} {quantity(made.bound, made.unit)}")
    if made.severity is not Severity.CRITICAL:
        ends.append("if critical")
    left = incident.finding.impact.days_left if incident.finding.impact else None
    if left is not None and (step := next((days for days in URGENT_DAYS if days < left), None)) is not None:
        when = f"with {many(step, 'day')} left" if step else "when no time is left"
        is_before = made.until is not None and left - step < (made.until - clock.today()).days
        ends.append(f"{when}, in about {_days(left - step)}" if is_before else when)
    return ", or ".join(ends)


def _days(left: float) -> str:
    return many(max(math.ceil(left), 0), "day")


def decided_today(connection: Connection, found: Sequence[Incident]) -> list[Incident]:
    """The incidents with the decisions that apply today; a decision that has ended since the last audit is left out."""
    return incidents.with_decisions(connection, found, clock.today())


def _may_replace(decision: Decision, wanted: Mute) -> bool:
    same = _is_same(decision, DecisionKind.MUTE, wanted.owner, wanted.reason, wanted.until)
    return wanted.replace and not same


def _is_same(decision: Decision, kind: DecisionKind, owner: str, reason: str, until: date | None) -> bool:
    asked = (kind, owner.strip(), reason.strip(), until)
    return (decision.kind, decision.owner, decision.reason, decision.until) == asked


def _checked(kind: str, owner: str, reason: str, until: date | None) -> DecisionKind:
    if kind not in list(DecisionKind):
        raise ValueError(f"`{kind}` is not a decision; expected {', '.join(DecisionKind)}")
    if not owner.strip():
        raise ValueError("name the person who decides")
    if not reason.strip():
        raise ValueError("give a reason; it is shown wherever the incident is")
    chosen = DecisionKind(kind)
    if chosen is DecisionKind.ACK and until is not None:
        raise ValueError("an ack applies until the incident is resolved; it takes no day")
    if chosen is DecisionKind.MUTE and until is None:
        raise ValueError("give an end date: a mute expires")
    return chosen
