"""Incidents in the history: what is wrong, since when, who was notified, and what people decided.

The state after each audited day is kept, so auditing the newest day again starts from the day before and only changes
what has changed. Days older than the newest are closed: auditing one changes no incident. Future days, caused by a
wrong clock, do not close earlier days; see `clock`.

Every decision is a row that stays, but only the newest one of an incident applies. No row is ever overwritten: a new
decision, or reopening, adds a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, and_, delete, func, insert, select

from tsaudit.config.settings import Incidents
from tsaudit.history import clock
from tsaudit.history.lifecycle import (
    ChangeKind,
    DaySeen,
    Decision,
    DecisionKind,
    Incident,
    IncidentChange,
    IncidentState,
    Track,
    change_between,
    urgency,
)
from tsaudit.history.schema import decision, incident_day, snapshot
from tsaudit.history.store import Packers, Store, naive, stored_subject, subject_from, unpacked
from tsaudit.model.figures import utc_now
from tsaudit.model.finding import AuditResult, Currency, Finding, RuleResult, Severity, worst_first
from tsaudit.model.jsonfile import to_json

REOPEN: Final = "reopen"
"""The kind of the row that ends the decision before it."""

_LOOKED_UP: Final = 500
"""Most incidents whose decisions are looked up one by one; for more, the decisions of all targets are read."""

_KNOWN_DAYS: Final = 90
"""For how many days growth at the present rate is no news."""
GROWTH: Final = 1.5
"""A mute covers the finding's figure up to this many times what it will be at its end, by the rate of that day.

Counts in live databases vary by some percent from day to day, and a finding that doubles is another problem than the
one that was muted.
"""

_A_YEAR: Final = 365.0
_AMOUNTS: Final = {
    Currency.REJECTED: "points rejected or dropped",
    Currency.OVERWRITTEN: "rows overwritten",
    Currency.SERIES: "avoidable series",
    Currency.BYTES: "bytes of avoidable storage in a year",
    Currency.MONEY: "dollars a month that could be saved",
    Currency.READS: "rows read unnecessarily a day",
}
"""Costs whose amounts can be compared, with their units. Other costs have no amount, or the same amount as the observed
figure.
"""


@dataclass(frozen=True, slots=True)
class DecisionEntry:
    """One stored row: who decided what, and when."""

    fingerprint: str
    kind: str
    """A DecisionKind, or `REOPEN`."""
    owner: str
    reason: str
    made_at: datetime
    until: date | None


def write_decisions(
    connection: Connection,
    incidents: Sequence[Incident],
    kind: str,
    owner: str,
    reason: str,
    until: date | None,
    reaction_id: int | None = None,
) -> None:
    """Add a row with the incident's current severity and figure to each incident's decisions. `reaction_id`: the
    reaction that made the decision; None for a command.
    """
    made_at = naive(utc_now())
    rows = [
        {
            "fingerprint": incident.fingerprint,
            "kind": kind,
            "owner": owner.strip(),
            "reason": reason.strip(),
            "made_at": made_at,
            "until": until,
            "severity": str(incident.severity),
            "opened": incident.opened,
            "observed": (figure := figure_of(incident.finding)).value,
            "bound": bound_of(figure_of(incident.finding, _known_days(until, made_at))),
            "unit": figure.unit,
            "reaction_id": reaction_id,
        }
        for incident in incidents
    ]
    if rows:
        connection.execute(insert(decision), rows)


def with_decisions(connection: Connection, incidents: Sequence[Incident], day: date | None) -> list[Incident]:
    """The incidents, each with the decision that applies on the day; None: on the day of the incident's last audit."""
    made = _newest_decisions(connection, {incident.fingerprint for incident in incidents})

    def decided(incident: Incident) -> Incident:
        row = made.get(incident.fingerprint)
        if row is None or row.kind == REOPEN or not _is_due(row, incident, day or incident.day):
            return replace(incident, decision=None, exceeded=None)
        found = _decision(row)
        is_covered = row.kind == DecisionKind.ACK or not (
            _is_worse(row, incident) or _has_become_urgent(connection, row, incident)
        )
        if not is_covered:
            return replace(incident, decision=None, exceeded=found)
        return replace(incident, decision=found, exceeded=None)

    return [decided(incident) for incident in incidents]


def reactions_behind(connection: Connection) -> dict[str, int]:
    """Fingerprint to ID of the reaction that made the newest decision; only incidents decided by a reaction."""
    return {
        fingerprint: row.reaction_id
        for fingerprint, row in _newest_decisions(connection).items()
        if row.reaction_id is not None
    }


def decisions_made(store: Store, fingerprints: Collection[str]) -> list[DecisionEntry]:
    """All decisions about the incidents, oldest first."""
    with store.reading() as connection:
        rows = connection.execute(select(decision).order_by(decision.c.id)).all()
    return [
        DecisionEntry(r.fingerprint, r.kind, r.owner, r.reason, r.made_at.replace(tzinfo=UTC), r.until)
        for r in rows
        if r.fingerprint in fingerprints
    ]


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """The figure that shows whether a finding got worse: the amount it costs or, if that is no number, what was
    observed.
    """

    value: float | None
    """None if the finding has no figure."""
    unit: str
    is_low: bool = False
    """Whether lower values are worse."""


def _known_days(until: date | None, made_at: datetime) -> int:
    """For how many days growth at the present rate is no news: known growth ends no mute, but faster growth does."""
    return min((until - made_at.date()).days + 1, _KNOWN_DAYS) if until else 0


def figure_of(finding: Finding, days: int = 0) -> ComparedFigure:
    """The figure that a mute of the finding covers, as it is or, at the rate that is known, will be after so many days.
    For a cost in bytes, it is the amount after a year. The cost of one place is not compared with that of several,
    which become one finding as soon as there are enough of them.
    """
    impact = finding.impact
    if impact is not None and impact.currency in _AMOUNTS:
        value = impact.after(_A_YEAR if impact.currency is Currency.BYTES else days)
        if value > 0 and math.isfinite(value):
            where = " in all places" if impact.places > 1 else ""
            return ComparedFigure(value, f"{_AMOUNTS[impact.currency]}{where}")
    observed, limit = finding.observed, finding.limit
    per_day = finding.per_day
    if impact is not None and impact.currency is Currency.LIMIT and impact.now == observed:
        per_day = per_day or impact.per_day
    # What grows toward a limit is below it, too.
    grows = per_day or (impact is not None and (impact.currency is Currency.LIMIT or impact.per_day))
    is_below = observed is not None and limit is not None and observed < limit.value
    grown = observed if observed is None else observed + max(per_day or 0.0, 0.0) * days
    return ComparedFigure(grown, finding.unit, is_below and not grows)


def of_decision(decision: Decision, finding: Finding) -> ComparedFigure:
    """The figure to compare with the bound of the decision, in the same unit. If the cost was not known on the day of
    the decision, that is the observed value.
    """
    figure = figure_of(finding)
    return figure if figure.unit == decision.unit else ComparedFigure(finding.observed, finding.unit)


def bound_of(figure: ComparedFigure) -> float | None:
    """The highest figure that a decision covers, or the lowest if lower values are worse. None if no figure could get
    worse.
    """
    value = figure.value
    if value is None or not math.isfinite(value) or value <= 0:
        return None
    return value / GROWTH if figure.is_low else value * GROWTH


def _newest_decisions(connection: Connection, of: Collection[str] | None = None) -> dict[str, Row[Any]]:
    """The newest row of each fingerprint. `of`: the fingerprints that are needed, and the result may have more; None:
    all.

    A decision made while the clock was ahead is ignored: nobody wants a mute of two weeks to last for years.
    """
    # Ordered by number, because timestamps depend on the clock at that time.
    query = select(decision).order_by(decision.c.id.desc())
    if of is not None and len(of) <= _LOOKED_UP:
        query = query.where(decision.c.fingerprint.in_(sorted(of)))
    made: dict[str, Row[Any]] = {}
    for row in connection.execute(query):
        if row.fingerprint not in made and not clock.days_ahead([row.made_at.date()]):
            made[row.fingerprint] = row
    return made


def _decision(row: Row[Any]) -> Decision:
    return Decision(
        kind=DecisionKind(row.kind),
        owner=row.owner,
        reason=row.reason,
        made_at=row.made_at.replace(tzinfo=UTC),
        until=row.until,
        severity=Severity(row.severity),
        bound=row.bound,
        unit=row.unit or "",
    )


def _is_due(row: Row[Any], incident: Incident, day: date) -> bool:
    if row.kind == DecisionKind.ACK:
        return incident.state is IncidentState.OPEN and row.opened == incident.opened
    return bool(row.until >= day)


def _is_worse(row: Row[Any], incident: Incident) -> bool:
    """Whether the incident is more severe, or its figure is beyond the bound. Figures in different units are not
    compared.
    """
    if incident.severity.rank > Severity(row.severity).rank:
        return True
    figure = of_decision(_decision(row), incident.finding)
    if row.bound is None or figure.value is None or figure.unit != row.unit:
        return False
    return bool(figure.value > row.bound if row.bound >= row.observed else figure.value < row.bound)


def _has_become_urgent(connection: Connection, row: Row[Any], incident: Incident) -> bool:
    """Whether one of `URGENT_DAYS` has been reached since the decision, on any day: an estimate of the days left rises
    and falls, and must not mute the incident again.
    """
    now, made_on = urgency(incident.finding), row.made_at.date()
    if not now:
        return False
    own = (incident_day.c.target == incident.target, incident_day.c.fingerprint == incident.fingerprint)
    made = select(func.max(incident_day.c.day)).where(*own, incident_day.c.day <= made_on).scalar_subquery()
    days = (incident_day.c.day >= made, incident_day.c.day <= incident.day)
    tracks = _tracks(connection, connection.execute(select(incident_day).where(*own, *days)).all())
    then, *since = (urgency(track.incident.finding) for track in tracks) if tracks else (now,)
    return max((now, *since)) > then


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
        for number, (kind, incident) in enumerate(zip(kinds, incidents, strict=True)):
            if kind is ChangeKind.CONTINUED and _is_more_urgent(connection, incident, before):
                kinds[number] = ChangeKind.RAISED
    changes = [
        IncidentChange(kind, incident) for kind, incident in zip(kinds, incidents, strict=True) if kind is not None
    ]
    return sorted(changes, key=lambda change: _order(change.incident))


def _is_more_urgent(connection: Connection, incident: Incident, before: Mapping[str, Track]) -> bool:
    """Whether it is more urgent than on every day since it opened: an estimate of the days left rises and falls, and
    each step counts once.
    """
    now = urgency(incident.finding)
    if now <= urgency(before[incident.fingerprint].incident.finding):
        return False
    own = (incident_day.c.target == incident.target, incident_day.c.fingerprint == incident.fingerprint)
    days = (incident_day.c.day >= incident.opened, incident_day.c.day < incident.day)
    earlier = _tracks(connection, connection.execute(select(incident_day).where(*own, *days)).all())
    return all(urgency(track.incident.finding) < now for track in earlier)


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


def of_day(store: Store, target: str, day: date) -> list[Incident]:
    """The state of every incident of the target after `day`; then, of incidents that were first seen later, the newest
    state. The audit of a past day changes no incident, but may find what has become one since.
    """
    with store.reading() as connection:
        found = standing(connection, target, day)
        known = {incident.fingerprint for incident in found}
        rows = _newest(connection, target, and_(incident_day.c.day > day, incident_day.c.day <= clock.today()))
        later = _tracks(connection, [row for row in rows if row.fingerprint not in known])
        return [*found, *with_decisions(connection, [t.incident for t in later if not t.never_opened], day)]


def muted(found: Iterable[Incident]) -> dict[str, date]:
    """Fingerprint to the last muted day of those that are muted. `found`: the incidents of a day, see `of_day`."""
    decided = ((i.fingerprint, i.decision) for i in found if i.is_muted)
    return {mark: decision.until for mark, decision in decided if decision and decision.until}


def acknowledged(found: Iterable[Incident]) -> dict[str, str]:
    """Fingerprint to who acknowledged it, of those that are acknowledged. `found`: the incidents of a day."""
    return {i.fingerprint: i.decision.owner for i in found if i.is_active and i.decision}


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
