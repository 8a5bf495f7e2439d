"""Incidents in the history: what is wrong, since when, who was told, and what a person decided about it.

The state after each audited day is kept, so auditing the newest day again starts from the day before and changes
nothing that has not changed. Days older than the newest are closed: auditing one changes no incident. Days that are
still to come, as a wrong clock leaves them, close none; see `clock`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, select

from tsaudit.config.settings import Incidents
from tsaudit.history import clock
from tsaudit.history.lifecycle import (
    Change,
    ChangeKind,
    DaySeen,
    Decision,
    DecisionKind,
    Incident,
    State,
    Track,
    change_between,
)
from tsaudit.history.schema import decision, incident_day, snapshot
from tsaudit.history.store import Store, naive, stored_subject, subject_from
from tsaudit.model.finding import AuditResult, Finding, RuleResult, Severity, worst_first
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.profile import utc_now

__all__ = [
    "Change",
    "ChangeKind",
    "Decision",
    "DecisionKind",
    "Incident",
    "State",
    "current",
    "decide",
    "replay",
    "standing",
    "update",
]


def update(
    store: Store, result: AuditResult, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]
) -> list[Change]:
    """Carry the day's result into the incidents of its target and say what it did to each that is or was open.

    In one transaction. The same result again gives the same changes. For a day older than the newest audited one that
    is not still to come, nothing is changed and the list is empty. Worst first. Decisions are attached, not acted upon.
    """
    seen = DaySeen(result, policy, owner_of)
    with store.writing(seen.target) as connection:
        if clock.is_closed(_days(connection, seen.target), seen.day):
            return []
        before, earlier = _states(connection, seen)
        marks = sorted({*before, *earlier, *seen.bad})
        after = [t for m in marks if (t := seen.after(m, before.get(m), earlier.get(m))) is not None]
        _replace_day(connection, seen, after)
        incidents = _with_decisions(connection, [t.incident for t in after], seen.day)
    kinds = [change_between(before.get(t.incident.fingerprint), t) for t in after]
    changes = [Change(kind, incident) for kind, incident in zip(kinds, incidents, strict=True) if kind is not None]
    return sorted(changes, key=lambda change: _order(change.incident))


def replay(
    connection: Connection, result: AuditResult, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]
) -> None:
    """Work the states after the result's day out anew from those of the day before, whatever was kept of the day."""
    seen = DaySeen(result, policy, owner_of)
    before, _ = _states(connection, seen)
    marks = sorted({*before, *seen.bad})
    _replace_day(connection, seen, [t for m in marks if (t := seen.after(m, before.get(m), None)) is not None])


def current(store: Store, target: str | None = None, day: date | None = None) -> list[Incident]:
    """Every incident as it stands, or stood after `day`, resolved ones included; worst first.

    `target` None: of all targets. Without a day, days still to come are left out.
    """
    with store.reading() as connection:
        return standing(connection, target, day)


def standing(connection: Connection, target: str | None, day: date | None) -> list[Incident]:
    """`current`, as a transaction sees it."""
    tracks = [_track(r) for r in _newest(connection, target, incident_day.c.day <= (day or clock.today()))]
    incidents = [t.incident for t in tracks if not t.never_opened]
    decided = _with_decisions(connection, incidents, day)
    return sorted(decided, key=_order)


def _order(incident: Incident) -> tuple[object, ...]:
    return (*worst_first(incident.code, incident.finding, incident.severity), incident.target)


def decide(store: Store, fingerprint: str, kind: str, owner: str, reason: str, until: date | None = None) -> Incident:
    """Note what a person says of an incident (`ack`, `snooze` or `accept`) and return it with that decision.

    A snooze or an acceptance needs the last day it holds, and covers the severity of now: it does not hold while
    the incident is worse. An ack takes no day. Raises LookupError for an unknown fingerprint, ValueError for a
    decision that says too little or could never hold.
    """
    chosen = _checked(kind, owner, reason, until)
    with store.writing(f"decide {fingerprint}") as connection:
        own = and_(incident_day.c.fingerprint == fingerprint, incident_day.c.day <= clock.today())
        known = [_track(r) for r in _newest(connection, None, own)]
        if not known or known[0].never_opened:
            raise LookupError(f"no incident has the fingerprint {fingerprint}")
        incident = known[0].incident
        if chosen is DecisionKind.ACK and incident.state is not State.OPEN:
            raise ValueError(f"incident {fingerprint} is {incident.state}; only an open one can be acknowledged")
        if until is not None and until < incident.day:
            raise ValueError(f"{until} is over: incident {fingerprint} was judged on {incident.day}")
        row = {
            "fingerprint": fingerprint,
            "kind": str(chosen),
            "owner": owner.strip(),
            "reason": reason.strip(),
            "made_at": naive(utc_now()),
            "until": until,
            "severity": str(incident.severity),
            "opened": incident.opened,
        }
        connection.execute(insert(decision).values(row))
        return _with_decisions(connection, [incident], None)[0]


def _checked(kind: str, owner: str, reason: str, until: date | None) -> DecisionKind:
    if kind not in list(DecisionKind):
        raise ValueError(f"`{kind}` is no decision; expected {', '.join(DecisionKind)}")
    if not owner.strip():
        raise ValueError("say who decides")
    if not reason.strip():
        raise ValueError("say why; it is shown wherever the incident is")
    chosen = DecisionKind(kind)
    if chosen is DecisionKind.ACK and until is not None:
        raise ValueError("an ack holds until the incident is resolved; it takes no day")
    if chosen is not DecisionKind.ACK and until is None:
        raise ValueError(f"say until when: {'an acceptance' if chosen is DecisionKind.ACCEPT else 'a snooze'} expires")
    return chosen


def _days(connection: Connection, target: str) -> set[date]:
    """All days the history knows of the target."""
    queries = (select(table.c.day).where(table.c.target == target).distinct() for table in (snapshot, incident_day))
    return {day for query in queries for day in connection.execute(query).scalars()}


def _newest(connection: Connection, target: str | None, where: Any) -> Sequence[Row[Any]]:
    """The newest row of each incident among those that `where` lets through."""
    conditions = [where]
    if target is not None:
        conditions.append(incident_day.c.target == target)
    newest = (
        select(incident_day.c.target, incident_day.c.fingerprint, func.max(incident_day.c.day).label("day"))
        .where(*conditions)
        .group_by(incident_day.c.target, incident_day.c.fingerprint)
        .subquery()
    )
    same = and_(
        incident_day.c.target == newest.c.target,
        incident_day.c.fingerprint == newest.c.fingerprint,
        incident_day.c.day == newest.c.day,
    )
    return connection.execute(select(incident_day).join(newest, same)).all()


def _track(row: Row[Any]) -> Track:
    incident = Incident(
        target=row.target,
        fingerprint=row.fingerprint,
        code=row.code,
        rule=row.rule,
        subject=subject_from(row.subject),
        state=State(row.state),
        severity=Severity(row.severity),
        owner=row.owner,
        first_seen=row.first_seen,
        opened=row.opened,
        resolved=row.resolved,
        day=row.day,
        finding=_finding(row),
    )
    return Track(incident, row.bad_runs, row.good_runs)


def _finding(row: Row[Any]) -> Finding:
    try:
        return from_json(Finding, row.finding)
    except ValueError:
        message = "Found by another version of tsaudit, whose details this one cannot read."
        return Finding(subject_from(row.subject), Severity(row.severity), message, fix="Audit the target again.")


def _states(connection: Connection, seen: DaySeen) -> tuple[dict[str, Track], dict[str, Track]]:
    """By fingerprint the states before the day, and those an earlier audit of the day left.

    What is resolved matters only if it is found again; that spares reading a year of resolved incidents.
    """
    before = _newest(connection, seen.target, incident_day.c.day < seen.day)
    earlier = _newest(connection, seen.target, incident_day.c.day == seen.day)
    matters = [r for r in before if r.state != State.RESOLVED or r.fingerprint in seen.bad]
    return {r.fingerprint: _track(r) for r in matters}, {r.fingerprint: _track(r) for r in earlier}


def _replace_day(connection: Connection, seen: DaySeen, after: Sequence[Track]) -> None:
    of_day = (incident_day.c.target == seen.target, incident_day.c.day == seen.day)
    connection.execute(delete(incident_day).where(*of_day))
    if after:
        connection.execute(insert(incident_day), [_row(track) for track in after])


def _row(track: Track) -> dict[str, Any]:
    incident = track.incident
    return {
        "target": incident.target,
        "fingerprint": incident.fingerprint,
        "day": incident.day,
        "code": incident.code,
        "rule": incident.rule,
        "subject": stored_subject(incident.subject),
        "state": str(incident.state),
        "severity": str(incident.severity),
        "owner": incident.owner,
        "bad_runs": track.bad_runs,
        "good_runs": track.good_runs,
        "first_seen": incident.first_seen,
        "opened": incident.opened,
        "resolved": incident.resolved,
        "finding": to_json(incident.finding).decode(),
    }


def _with_decisions(connection: Connection, incidents: Sequence[Incident], day: date | None) -> list[Incident]:
    """The incidents, each with the decision that holds on the day; None: on the day each was last audited.

    One made by a clock that was ahead does not count: nobody meant a snooze of two weeks to last for years.
    """
    made: dict[str, list[Row[Any]]] = {}
    # By their numbers, because the instants are by whatever clock there was.
    for row in connection.execute(select(decision).order_by(decision.c.id.desc())):
        if not clock.days_ahead([row.made_at.date()]):
            made.setdefault(row.fingerprint, []).append(row)

    def holding(incident: Incident) -> Decision | None:
        rows = made.get(incident.fingerprint, ())
        found = next((row for row in rows if _holds(row, incident, day or incident.day)), None)
        if found is None:
            return None
        made_at = found.made_at.replace(tzinfo=UTC)
        return Decision(DecisionKind(found.kind), found.owner, found.reason, made_at, found.until)

    return [replace(incident, decision=holding(incident)) for incident in incidents]


def _holds(row: Row[Any], incident: Incident, day: date) -> bool:
    if row.kind == DecisionKind.ACK:
        return incident.state is State.OPEN and row.opened == incident.opened
    return row.until >= day and incident.severity.rank <= Severity(row.severity).rank
