"""Deletes from the history: old days, so that it does not grow without bound, and a day as if it was never audited.

Compaction keeps every day for 90 days, then one a week up to a year, then one a month.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from sqlalchemy import Connection, delete, func, or_, select, true

from tsaudit.config.settings import Incidents
from tsaudit.history import clock, database, deliveries, incidents, lifecycle, value_sets
from tsaudit.history.deliveries import DeliveryKind, DeliveryState, threads_about
from tsaudit.history.schema import decision, delivery, incident_day, reaction, snapshot
from tsaudit.history.store import Packers, Store, prune_base_texts, prune_outcomes, remove_outcomes, unpacked
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
        remove_outcomes(connection, target, day)
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


DAILY: Final = timedelta(days=90)
"""Every day is kept up to this age: rules do not look back further."""
WEEKLY: Final = timedelta(days=365)
"""One day a week is kept up to this age, and one a month beyond it. Older resolved incidents are deleted."""

EVERY: Final = 4
"""Days between compactions. Nearly everything that compaction has to check changes slowly, and it does no harm if some
days stay a little longer than `DAILY`.
"""


def is_due(target: str, days: Collection[date], day: date) -> bool:
    """Whether an audit of the day should compact the target: the first one of each `EVERY` days should.

    These periods begin on different days for different targets, so that not all audits of a day are slower. `days`: the
    audited days.
    """
    earlier = [d for d in days if d < day]
    offset = zlib.crc32(target.encode()) % EVERY
    return not earlier or (max(earlier).toordinal() + offset) // EVERY != (day.toordinal() + offset) // EVERY


def compact(store: Store, target: str, today: date) -> int:
    """Compact the target's days and return the number of removed snapshots. Raises HistoryError.

    Ages are computed from the newest audited day, or from `today` if that is earlier: a target that is no longer
    audited keeps its days. The last day with a profile represents its week or month. For each incident, the state on
    the day it opened and the newest state are kept; the next audit continues from the latter. Value sets are deleted if
    every day younger than `DAILY` can be computed without them, or if their tags have not been listed for longer than
    `WEEKLY`. Messages are deleted 90 days after their last edit or reply, and with them the reactions that were read on
    them; reactions that were taken back are deleted after 90 days.
    """
    with store.writing(target) as connection:
        days = {
            row.day: bool(row.measured)
            for row in connection.execute(
                select(snapshot.c.day, snapshot.c.profile.is_not(None).label("measured")).where(
                    snapshot.c.target == target
                )
            )
        }
        if not days:
            return 0
        newest = min(max(days), today)
        kept = kept_days(days.items(), newest)
        removed = sorted(day for day in days if day not in kept)
        for day in removed:
            connection.execute(delete(snapshot).where(snapshot.c.target == target, snapshot.c.day == day))
        prune_outcomes(connection, target, kept)
        _prune_incidents(connection, target, newest, kept)
        value_sets.prune(connection, target, newest - DAILY, newest - WEEKLY)
        _prune_messages(connection, target, newest)
        prune_base_texts(connection, target, incidents.days(connection, target))
    return len(removed)


def kept_days(days: Iterable[tuple[date, bool]], newest: date) -> frozenset[date]:
    """The days to keep. The flag of each day says whether it has a profile."""
    best: dict[tuple[str, int, int], tuple[bool, date]] = {}
    for day, measured in days:
        period = _period(day, newest - day)
        best[period] = max(best.get(period, (False, date.min)), (measured, day))
    return frozenset(day for _, day in best.values())


def _period(day: date, age: timedelta) -> tuple[str, int, int]:
    """The group of days of which one is kept: the day itself, its week, or its month."""
    if age <= DAILY:
        return "day", day.toordinal(), 0
    if age <= WEEKLY:
        year, week, _ = day.isocalendar()
        return "week", year, week
    return "month", day.year, day.month


def _prune_incidents(connection: Connection, target: str, newest: date, kept: frozenset[date]) -> None:
    rows = incident_day.alias()
    last = select(func.max(rows.c.day)).where(rows.c.target == target, rows.c.fingerprint == incident_day.c.fingerprint)
    old = (incident_day.c.target == target, incident_day.c.day < newest - DAILY)
    connection.execute(
        delete(incident_day).where(
            *old,
            incident_day.c.day.not_in(sorted(kept)),
            or_(incident_day.c.opened.is_(None), incident_day.c.day != incident_day.c.opened),
            incident_day.c.day < last.scalar_subquery(),
        )
    )
    _prune_resolved(connection, target, newest)


def _prune_resolved(connection: Connection, target: str, newest: date) -> None:
    """Delete all incidents, with their decisions, that have been resolved for longer than WEEKLY."""
    rows = incident_day.alias()
    last = (
        select(rows.c.fingerprint, func.max(rows.c.day).label("day"))
        .where(rows.c.target == target)
        .group_by(rows.c.fingerprint)
        .subquery()
    )
    finished = (
        select(incident_day.c.fingerprint)
        .join(last, (incident_day.c.fingerprint == last.c.fingerprint) & (incident_day.c.day == last.c.day))
        .where(incident_day.c.target == target, incident_day.c.state == str(lifecycle.IncidentState.RESOLVED))
        .where(incident_day.c.day < newest - WEEKLY)
    )
    for fingerprint in connection.execute(finished).scalars().all():
        connection.execute(delete(incident_day).where(incident_day.c.fingerprint == fingerprint))
        connection.execute(delete(decision).where(decision.c.fingerprint == fingerprint))


def _prune_messages(connection: Connection, target: str, newest: date) -> None:
    """Delete old alerts and digests, with all their edits and replies. Every audit edits the alerts that go on, so one
    without a recent edit or reply is over.
    """
    database.lock(connection, "deliveries")
    done = delivery.c.state.not_in([str(DeliveryState.QUEUED), str(DeliveryState.SENDING)])
    old = delivery.c.day < newest - DAILY
    digests = select(delivery.c.id).where(delivery.c.kind == str(DeliveryKind.DIGEST), old, done)
    connection.execute(delete(delivery).where(delivery.c.parent_id.in_(digests), done))
    connection.execute(delete(delivery).where(delivery.c.id.in_(digests)))
    about = delivery.c.thread.in_(threads_about(connection, target))
    deliveries.prune_reactions(connection, reaction.c.gone_at < datetime.combine(newest - DAILY, time.min), about)
    alerts = select(delivery.c.id).where(delivery.c.kind == str(DeliveryKind.ALERT), old, about)
    for alert in connection.execute(alerts).scalars().all():
        family = or_(delivery.c.id == alert, delivery.c.parent_id == alert)
        goes_on = connection.execute(select(delivery.c.id).where(family, or_(~done, ~old)).limit(1)).first()
        if goes_on is None:
            deliveries.prune_reactions(connection, true(), family)
            connection.execute(delete(delivery).where(family))
