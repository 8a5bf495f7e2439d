"""Compaction, so that the history does not grow without bound.

Every day is kept for 90 days, then one a week up to a year, then one a month.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable
from datetime import date, datetime, time, timedelta
from typing import Final

from sqlalchemy import Connection, delete, func, or_, select, true

from tsaudit.history import base_texts, database, incidents, lifecycle, reaction_log, rule_outcomes, value_sets
from tsaudit.history.deliveries import DeliveryKind, DeliveryState, threads_about
from tsaudit.history.schema import decision, delivery, incident_day, reaction, snapshot
from tsaudit.history.store import Store

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
    `WEEKLY`. Messages are deleted 90 days after their thread was closed, and with them the reactions that were read on
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
        rule_outcomes.prune(connection, target, kept)
        _prune_incidents(connection, target, newest, kept)
        value_sets.prune(connection, target, newest - DAILY, newest - WEEKLY)
        _prune_messages(connection, target, newest)
        base_texts.prune(connection, target, incidents.days(connection, target))
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
    """Delete closed alerts and digests that finished long ago, with all their edits and replies."""
    database.lock(connection, "deliveries")
    done = delivery.c.state.not_in([str(DeliveryState.QUEUED), str(DeliveryState.SENDING)])
    old = delivery.c.day < newest - DAILY
    digests = select(delivery.c.id).where(delivery.c.kind == str(DeliveryKind.DIGEST), old, done)
    connection.execute(delete(delivery).where(delivery.c.parent_id.in_(digests), done))
    connection.execute(delete(delivery).where(delivery.c.id.in_(digests)))
    about = delivery.c.thread.in_(threads_about(connection, target))
    reaction_log.prune(connection, reaction.c.gone_at < datetime.combine(newest - DAILY, time.min), about)
    closings = select(delivery.c.parent_id).where(delivery.c.kind == str(DeliveryKind.RESOLVE), old, about)
    for alert in connection.execute(closings).scalars().all():
        family = or_(delivery.c.id == alert, delivery.c.parent_id == alert)
        waits = connection.execute(select(delivery.c.id).where(family, or_(~done, ~old)).limit(1)).first()
        if waits is None:
            reaction_log.prune(connection, true(), family)
            connection.execute(delete(delivery).where(family))
