"""Removes a day from the history, as if the target had not been audited on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Connection, delete, func, select

from tsaudit.config.settings import Incidents
from tsaudit.history import clock, database, incidents, rule_outcomes, value_sets
from tsaudit.history.base_texts import Packers
from tsaudit.history.deliveries import DeliveryState, threads_about
from tsaudit.history.schema import delivery, incident_day, snapshot
from tsaudit.history.store import Store, unpacked
from tsaudit.model.finding import AuditResult, Finding, RuleResult


@dataclass(frozen=True, slots=True)
class Removed:
    """What was removed with a day, and what could not be undone."""

    states: int
    """Number of incident states removed."""
    values: int
    """Number of tags and measurements whose stored values no longer include the day."""
    values_left: int
    """Number of those that still include the day, because no earlier days are stored for them."""
    unsent: int
    """Number of messages that were waiting and will never be sent."""
    sent: int
    """Number of messages about the day that were already sent."""
    unreadable: int
    """Number of later days whose incidents could not be recomputed, because this version cannot read their findings."""
    before: date | None
    """The day from which incidents continue; None if the target has no earlier day."""


def remove_day(
    store: Store, target: str, day: date, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]
) -> Removed:
    """Remove the target's snapshot of the day and everything that belongs to it, in one transaction.

    Incidents and tag values are recomputed for the following days, starting from the day before. People's decisions are
    kept. Raises LookupError for a day that was not audited, and HistoryError.
    """
    with store.writing(target) as connection:
        own = (snapshot.c.target == target, snapshot.c.day == day)
        if connection.execute(delete(snapshot).where(*own)).rowcount == 0:
            raise LookupError(f"{target} was not audited on {day}")
        rule_outcomes.remove(connection, target, day)
        of_day = (incident_day.c.target == target, incident_day.c.day == day)
        states = connection.execute(delete(incident_day).where(*of_day)).rowcount
        values, values_left = value_sets.remove_day(connection, target, day)
        unreadable = _replay(connection, target, day, policy, owner_of)
        unsent, sent = _remove_unsent(connection, target, day)
        past = select(func.max(snapshot.c.day)).where(snapshot.c.target == target, snapshot.c.day < day)
        before = connection.execute(past).scalar()
    return Removed(states, values, values_left, unsent, sent, unreadable, before)


def _replay(
    connection: Connection, target: str, day: date, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]
) -> int:
    """Apply the results of the later days to the incidents again; returns how many of these days cannot be read."""
    query = select(snapshot.c.id, snapshot.c.day).where(snapshot.c.target == target)
    days = connection.execute(query.order_by(snapshot.c.day)).all()
    packers, unreadable = Packers(connection), 0
    for row in days:
        if row.day < day or _was_closed(row, days):
            continue
        # One at a time, because all results of a long history do not fit into memory.
        data = connection.execute(select(snapshot.c.result).where(snapshot.c.id == row.id)).scalar_one()
        result = unpacked(AuditResult, packers.of(target, row.day), data)
        if result is None:
            unreadable += 1
        else:
            incidents.replay(connection, result, policy, owner_of)
    return unreadable


def _was_closed(row: Any, days: Sequence[Any]) -> bool:
    """Whether a later day had already been audited at the time, so that the audit of this day changed no incident."""
    return any(row.day < other.day <= clock.today() and other.id < row.id for other in days)


def _remove_unsent(connection: Connection, target: str, day: date) -> tuple[int, int]:
    """Delete the waiting messages about the day. Returns how many were deleted, and how many messages had already been
    sent.
    """
    database.lock(connection, "deliveries")
    about = (delivery.c.day == day, delivery.c.thread.in_(threads_about(connection, target)))
    waiting = list(
        connection.execute(select(delivery.c.id).where(*about, delivery.c.state == DeliveryState.QUEUED)).scalars()
    )
    children = delivery.c.parent_id.in_(waiting) & (delivery.c.state == DeliveryState.QUEUED)
    unsent = connection.execute(delete(delivery).where(delivery.c.id.in_(waiting) | children)).rowcount
    out = (
        select(func.count())
        .select_from(delivery)
        .where(*about, delivery.c.state.in_([DeliveryState.SENDING, DeliveryState.SENT]))
    )
    return unsent, connection.execute(out).scalar_one()
