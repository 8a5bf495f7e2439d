"""Incidents in the history: what is wrong, since when, who was notified, and what people decided.

The state after each audited day is kept, so auditing the newest day again starts from the day before and only changes
what has changed. Days older than the newest are closed: auditing one changes no incident. Future days, caused by a
wrong clock, do not close earlier days; see `clock`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date
from typing import Any

from sqlalchemy import Connection, Row, and_, delete, func, insert, select

from tsaudit.config.settings import Incidents
from tsaudit.history import clock
from tsaudit.history.base_texts import Packers
from tsaudit.history.decision_log import with_decisions
from tsaudit.history.lifecycle import (
    DaySeen,
    Incident,
    IncidentChange,
    IncidentState,
    Track,
    change_between,
)
from tsaudit.history.schema import incident_day, snapshot
from tsaudit.history.store import Store, stored_subject, subject_from, unpacked
from tsaudit.model.finding import AuditResult, Finding, RuleResult, Severity, worst_first
from tsaudit.model.jsonfile import to_json


def update(
    store: Store, result: AuditResult, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]
) -> list[IncidentChange]:
    """Apply the day's result to the incidents of its target, and return the change to each that is or was open.

    In one transaction. Applying the same result again gives the same changes. For a day older than the newest audited
    day that is not in the future, nothing changes and the list is empty. Worst first. Decisions are attached, but have
    no effect on the changes.
    """
    seen = DaySeen(result, policy, owner_of)
    with store.writing(seen.target) as connection:
        if clock.is_closed(days(connection, seen.target), seen.day):
            return []
        before, earlier = _states(connection, seen)
        keys = sorted({*before, *earlier, *seen.bad})
        after = [t for m in keys if (t := seen.after(m, before.get(m), earlier.get(m))) is not None]
        _replace_day(connection, seen, after)
        incidents = with_decisions(connection, [t.incident for t in after], seen.day)
    kinds = [change_between(before.get(t.incident.fingerprint), t) for t in after]
    changes = [
        IncidentChange(kind, incident) for kind, incident in zip(kinds, incidents, strict=True) if kind is not None
    ]
    return sorted(changes, key=lambda change: _order(change.incident))


def replay(
    connection: Connection, result: AuditResult, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]
) -> None:
    """Recompute the incidents' states after the result's day from the states of the day before, whatever was stored for
    the day.
    """
    seen = DaySeen(result, policy, owner_of)
    before, _ = _states(connection, seen)
    keys = sorted({*before, *seen.bad})
    _replace_day(connection, seen, [t for m in keys if (t := seen.after(m, before.get(m), None)) is not None])


def current(store: Store, target: str | None = None, day: date | None = None) -> list[Incident]:
    """The state of every incident after `day`, or its newest state, including resolved incidents; worst first.

    `target`: None for all targets. `day`: None for the newest state, without future days.
    """
    with store.reading() as connection:
        return standing(connection, target, day)


def muted(store: Store, target: str, day: date) -> dict[str, date]:
    """Fingerprint to the last muted day of the target's incidents that are muted on that day."""
    standing = ((i.fingerprint, i.decision) for i in current(store, target, day) if i.is_muted)
    return {mark: decision.until for mark, decision in standing if decision and decision.until}


def standing(connection: Connection, target: str | None, day: date | None) -> list[Incident]:
    """The same as `current`, within a transaction."""
    tracks = _tracks(connection, _newest(connection, target, incident_day.c.day <= (day or clock.today())))
    incidents = [t.incident for t in tracks if not t.never_opened]
    decided = with_decisions(connection, incidents, day)
    return sorted(decided, key=_order)


def days(connection: Connection, target: str) -> set[date]:
    """All days of the target with a snapshot or an incident's state."""
    queries = (select(table.c.day).where(table.c.target == target).distinct() for table in (snapshot, incident_day))
    return {day for query in queries for day in connection.execute(query).scalars()}


def _order(incident: Incident) -> tuple[object, ...]:
    return (*worst_first(incident.code, incident.finding, incident.severity), incident.target)


def known(connection: Connection, fingerprint: str) -> Incident | None:
    """The newest state of one incident, without decisions; None if there is none or it never opened."""
    own = and_(incident_day.c.fingerprint == fingerprint, incident_day.c.day <= clock.today())
    tracks = _tracks(connection, _newest(connection, None, own))
    return tracks[0].incident if tracks and not tracks[0].never_opened else None


def _newest(connection: Connection, target: str | None, where: Any) -> Sequence[Row[Any]]:
    """The newest row of each incident that matches `where`."""
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


def _tracks(connection: Connection, rows: Iterable[Row[Any]]) -> list[Track]:
    """The states in the rows. Rows of the same target and month must be adjacent, so that each base is
    read only once.
    """
    packers = Packers(connection)
    return [_track(row, packers) for row in sorted(rows, key=lambda row: (row.target, row.day, row.fingerprint))]


def _track(row: Row[Any], packers: Packers) -> Track:
    incident = Incident(
        target=row.target,
        fingerprint=row.fingerprint,
        code=row.code,
        rule=row.rule,
        subject=subject_from(row.subject),
        state=IncidentState(row.state),
        severity=Severity(row.severity),
        owner=row.owner,
        first_seen=row.first_seen,
        opened=row.opened,
        resolved=row.resolved,
        day=row.day,
        finding=_finding(row, packers),
        good_runs=row.good_runs,
    )
    return Track(incident, row.bad_runs)


def _finding(row: Row[Any], packers: Packers) -> Finding:
    found = unpacked(Finding, packers.of(row.target, row.day), row.finding)
    if found is None:
        message = "Found by another version of tsaudit; this one cannot read its details."
        severity = Severity(row.severity)
        return Finding(subject_from(row.subject), message, severity=severity, fix="Audit the target again.")
    return found


def _states(connection: Connection, seen: DaySeen) -> tuple[dict[str, Track], dict[str, Track]]:
    """Two dictionaries by fingerprint: the states before the day, and the states after an earlier audit of the day.

    A resolved incident matters only if it is found again; so this avoids reading a year of resolved incidents.
    """
    before = _newest(connection, seen.target, incident_day.c.day < seen.day)
    earlier = _newest(connection, seen.target, incident_day.c.day == seen.day)
    matters = [r for r in before if r.state != IncidentState.RESOLVED or r.fingerprint in seen.bad]
    tracks = (_tracks(connection, rows) for rows in (matters, earlier))
    by_fingerprint = [{track.incident.fingerprint: track for track in each} for each in tracks]
    return by_fingerprint[0], by_fingerprint[1]


def _replace_day(connection: Connection, seen: DaySeen, after: Sequence[Track]) -> None:
    of_day = (incident_day.c.target == seen.target, incident_day.c.day == seen.day)
    connection.execute(delete(incident_day).where(*of_day))
    if after:
        packer = Packers(connection).of(seen.target, seen.day)
        rows = [_row(track) | {"finding": packer.packed(to_json(track.incident.finding))} for track in after]
        connection.execute(insert(incident_day), rows)


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
        "good_runs": track.incident.good_runs,
        "first_seen": incident.first_seen,
        "opened": incident.opened,
        "resolved": incident.resolved,
    }
