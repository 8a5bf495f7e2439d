"""Takes a day out of the history, as if the target had not been audited on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Connection, delete, func, select

from tsaudit.config.settings import Incidents
from tsaudit.history import clock, database, incidents, value_sets
from tsaudit.history.deliveries import State, threads_about
from tsaudit.history.schema import delivery, incident_day, snapshot
from tsaudit.history.store import Store, unpacked_result
from tsaudit.model.finding import Finding, RuleResult


@dataclass(frozen=True, slots=True)
class Removed:
    """What went with a day, and what could not be undone."""

    states: int
    """Of incidents."""
    values: int
    """Tags and measurements whose remembered values are those of the other days now."""
    values_left: int
    """The same where the day stays in them: of what came before it nothing else is left."""
    unsent: int
    """Messages that waited to be sent, and never are."""
    sent: int
    """Messages about the day that stay where they were sent."""
    unreadable: int
    """Later days whose incidents stay as they are: this version cannot read what was found."""
    before: date | None
    """The day from which incidents go on; None when the target has no earlier one."""


def remove_day(
    store: Store, target: str, day: date, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]
) -> Removed:
    """Drop the target's snapshot of the day and all that hangs on it, in one transaction.

    Incidents, and the values that tags had, are worked out anew for the days after it, from the day before. What
    people decided stays. Raises LookupError for a day that was not audited, HistoryError.
    """
    with store.writing(target) as connection:
        own = (snapshot.c.target == target, snapshot.c.day == day)
        if connection.execute(delete(snapshot).where(*own)).rowcount == 0:
            raise LookupError(f"{target} was not audited on {day}")
        of_day = (incident_day.c.target == target, incident_day.c.day == day)
        states = connection.execute(delete(incident_day).where(*of_day)).rowcount
        values, values_left = value_sets.remove_day(connection, target, day)
        unreadable = _replay(connection, target, day, policy, owner_of)
        unsent, sent = _drop_messages(connection, target, day)
        past = select(func.max(snapshot.c.day)).where(snapshot.c.target == target, snapshot.c.day < day)
        before = connection.execute(past).scalar()
    return Removed(states, values, values_left, unsent, sent, unreadable, before)


def _replay(
    connection: Connection, target: str, day: date, policy: Incidents, owner_of: Callable[[Finding, RuleResult], str]
) -> int:
    """Carry the results of the later days into the incidents again; how many of them cannot be read."""
    query = select(snapshot.c.id, snapshot.c.day, snapshot.c.result).where(snapshot.c.target == target)
    days = connection.execute(query.order_by(snapshot.c.day)).all()
    unreadable = 0
    for row in days:
        if row.day < day or _was_closed(row, days):
            continue
        result = unpacked_result(row.result)
        if result is None:
            unreadable += 1
        else:
            incidents.replay(connection, result, policy, owner_of)
    return unreadable


def _was_closed(row: Any, days: Sequence[Any]) -> bool:
    """Whether a later day had been audited before it, so that its audit changed no incident."""
    return any(row.day < other.day <= clock.today() and other.id < row.id for other in days)


def _drop_messages(connection: Connection, target: str, day: date) -> tuple[int, int]:
    """Drop the messages about the day that still wait; how many these are, and how many are out already."""
    database.lock(connection, "deliveries")
    about = (delivery.c.day == day, delivery.c.thread.in_(threads_about(connection, target)))
    waiting = list(connection.execute(select(delivery.c.id).where(*about, delivery.c.state == State.QUEUED)).scalars())
    children = delivery.c.parent_id.in_(waiting) & (delivery.c.state == State.QUEUED)
    unsent = connection.execute(delete(delivery).where(delivery.c.id.in_(waiting) | children)).rowcount
    out = select(func.count()).select_from(delivery).where(*about, delivery.c.state.in_([State.SENDING, State.SENT]))
    return unsent, connection.execute(out).scalar_one()
