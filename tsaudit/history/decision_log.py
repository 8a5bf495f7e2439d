"""What people decided, as stored. Every decision is a row that stays, but only the newest one of an incident applies.

No row is ever overwritten: a new decision, or reopening, adds a row.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Final

from sqlalchemy import Connection, Row, insert, select

from tsaudit.history import clock
from tsaudit.history.lifecycle import Decision, DecisionKind, Incident, IncidentState
from tsaudit.history.schema import decision
from tsaudit.history.store import Store, naive
from tsaudit.model.figures import utc_now
from tsaudit.model.finding import Currency, Finding, Severity

REOPEN: Final = "reopen"
"""The kind of the row that ends the decision before it."""

_LOOKED_UP: Final = 500
"""Most incidents whose decisions are looked up one by one; for more, the decisions of all targets are read."""

GROWTH: Final = 1.5
"""A mute covers the finding's figure up to this many times its value on the day of the decision.

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
class Entry:
    """One stored row: who decided what, and when."""

    fingerprint: str
    kind: str
    """A DecisionKind, or `REOPEN`."""
    owner: str
    reason: str
    made_at: datetime
    until: date | None


def write(
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
            "bound": bound_of(figure),
            "unit": figure.unit,
            "reaction_id": reaction_id,
        }
        for incident in incidents
    ]
    if rows:
        connection.execute(insert(decision), rows)


def with_decisions(connection: Connection, incidents: Sequence[Incident], day: date | None) -> list[Incident]:
    """The incidents, each with the decision that applies on the day; None: on the day of the incident's last audit."""
    made = _newest(connection, {incident.fingerprint for incident in incidents})

    def decided(incident: Incident) -> Incident:
        row = made.get(incident.fingerprint)
        if row is None or row.kind == REOPEN or not _is_due(row, incident, day or incident.day):
            return replace(incident, decision=None, exceeded=None)
        found = _decision(row)
        if row.kind != DecisionKind.ACK and _is_worse(row, incident):
            return replace(incident, decision=None, exceeded=found)
        return replace(incident, decision=found, exceeded=None)

    return [decided(incident) for incident in incidents]


def reactions_behind(connection: Connection) -> dict[str, int]:
    """Fingerprint to ID of the reaction that made the newest decision; only incidents decided by a reaction."""
    return {
        fingerprint: row.reaction_id for fingerprint, row in _newest(connection).items() if row.reaction_id is not None
    }


def entries(store: Store, fingerprints: Collection[str]) -> list[Entry]:
    """All decisions about the incidents, oldest first."""
    with store.reading() as connection:
        rows = connection.execute(select(decision).order_by(decision.c.id)).all()
    return [
        Entry(r.fingerprint, r.kind, r.owner, r.reason, r.made_at.replace(tzinfo=UTC), r.until)
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


def figure_of(finding: Finding) -> ComparedFigure:
    """The figure that a mute of the finding covers. For a cost in bytes, it is the amount after a year, so that known
    growth does not end a mute, but faster growth does.
    """
    impact = finding.impact
    if impact is not None and impact.currency in _AMOUNTS:
        value = impact.after(_A_YEAR) if impact.currency is Currency.BYTES else impact.now
        if value > 0 and math.isfinite(value):
            return ComparedFigure(value, _AMOUNTS[impact.currency])
    observed, limit = finding.observed, finding.limit
    return ComparedFigure(observed, finding.unit, observed is not None and limit is not None and observed < limit.value)


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


def _newest(connection: Connection, of: Collection[str] | None = None) -> dict[str, Row[Any]]:
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
