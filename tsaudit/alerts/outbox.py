"""Decides which messages to send, and stores them before anything is sent.

It compares the incidents open now with what an owner was sent before, not only with the changes of this run. So a
second audit of the same day repeats nothing, and an incident that was muted or had another owner is reported once that
changes. The digest of an owner's open and recently resolved incidents on all targets leaves out what the day's other
messages report; if nothing is left, no digest is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy import Connection

from tsaudit.alerts.calls import RunContext
from tsaudit.alerts.owners import channel_of, is_sent, notifiers_of
from tsaudit.config import cron
from tsaudit.config.settings import Settings
from tsaudit.history import clock, deliveries, incidents
from tsaudit.history.deliveries import (
    SLACK,
    DeliveryKind,
    DeliveryState,
    MessageDraft,
    split_thread,
    thread_of,
)
from tsaudit.history.lifecycle import ChangeKind, Incident, IncidentChange
from tsaudit.history.schema import snapshot

if TYPE_CHECKING:
    from tsaudit.history.store import Store

_WAIT_S: Final = 5.0
"""How long to wait for another process that is sending, in seconds."""


def queue(store: Store, settings: Settings, changes: Sequence[IncidentChange], context: RunContext) -> list[str]:
    """Queue the messages to the owners of a target after an audit; returns their IDs.

    One message per owner, edited while any of its incidents is open. New and worse incidents notify with a reply in its
    thread, and the end of the last one closes it. For a day before the newest audited one, nothing is queued, because
    it is no longer news. Audited days in the future, caused by a wrong clock, do not prevent messages.
    """
    if clock.is_closed(store.days(context.target), context.day):
        return []
    queued: list[str] = []
    with deliveries.writing(store.engine) as connection:
        # Read only now, because another audit of the day may have found more while this one waited for the lock.
        standing = incidents.standing(connection, context.target, context.day)
        known = {i.fingerprint: i for i in standing}
        raised = {change.incident.fingerprint for change in changes if change.kind is ChangeKind.RAISED}
        for change in changes:
            if change.kind is ChangeKind.RESOLVED:
                known.setdefault(change.incident.fingerprint, change.incident)
        fresh = {thread_of(i.owner, context.target) for i in known.values() if i.is_active}
        for notifier in notifiers_of(settings):
            for thread in sorted(fresh | set(deliveries.threads_about(connection, context.target, notifier))):
                from tsaudit.alerts.thread import Thread

                queued += Thread(connection, settings, context, thread, known, notifier, raised).queue()
    return queued


def record_printed(store: Store, settings: Settings, shown: Mapping[str, date]) -> int:
    """Without Slack: close the queued messages about these targets and days, because they were just printed.

    `shown`: target to its audited day. Does nothing if Slack is configured, or while another process is sending.
    Returns how many messages were closed.
    """
    if settings.slack.token or settings.slack.webhook:
        return 0
    count = 0
    with deliveries.sole_sender(store.engine, _WAIT_S) as alone:
        position = 0
        while alone and (batch := deliveries.waiting(store.engine, after=position, notifier=SLACK)):
            position = batch[-1].position
            for delivery in batch:
                target = deliveries.split_thread(delivery.thread)[1]
                if shown.get(target) == delivery.day:
                    deliveries.record_result(store.engine, delivery, DeliveryState.NOT_SENT)
                    count += 1
    return count


_WEEK: Final = timedelta(days=7)
_LATE: Final = timedelta(days=1)
"""How long after a day its digest may still be queued; daily audits run shortly after midnight."""
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


def queue_due_digest(store: Store, settings: Settings) -> None:
    """Queue the digest of the newest audited day once all targets that are due on it are audited. Does nothing if the
    day has no digest, or is more than a day past.
    """
    if settings.slack.digest_weekday == "never" or not settings.notifies:
        return
    newest = store.newest_days()
    day = max((newest[target.name] for target in settings.targets if target.name in newest), default=None)
    if (
        day is None
        or clock.today() - day > _LATE
        or settings.slack.digest_weekday not in ("daily", _WEEKDAYS[day.weekday()])
    ):
        return
    due = [target.name for target in settings.targets if cron.fires_on(target.schedule, day)]
    if all(newest.get(target) == day for target in due):
        queue_digest(store, settings, day)


def queue_digest(store: Store, settings: Settings, day: date) -> list[str]:
    """Queue the day's digest for every owner with something to report; returns the IDs.

    Calling it again for the same day updates the digests and sends none twice. Targets that are no longer configured
    are left out; for a day before the newest audited one, nothing is queued.
    """
    configured = {target.name for target in settings.targets}
    since = day if settings.slack.digest_weekday == "daily" else day - _WEEK
    by_owner: dict[str, list[Incident]] = {}
    for incident in incidents.current(store, day=day):
        ended = incident.resolved is not None and since < incident.resolved <= day
        if incident.target in configured and (incident.is_active or ended):
            by_owner.setdefault(incident.owner, []).append(incident)
    if not by_owner:
        return []
    from tsaudit.alerts import message

    queued: list[str] = []
    with deliveries.writing(store.engine) as connection:
        past = sa.select(sa.func.max(snapshot.c.day)).where(snapshot.c.day <= clock.today())
        if (newest := connection.scalar(past)) and newest > day:
            return []
        reports = _report_urls(connection, day)
        for owner, found in sorted(by_owner.items()):
            for notifier in notifiers_of(settings):
                edits = notifier == SLACK and settings.slack.token is not None
                own = [i for i in found if is_sent(settings, notifier, i.severity)]
                reported = _reported_on(connection, owner, {i.target for i in own}, day, notifier)
                said = [i for i in own if _is_reported(i, reported, day, edits=edits)]
                known = {i.fingerprint for i in said}
                rest = [i for i in own if i.fingerprint not in known]
                if not rest:
                    continue
                text = message.digest(day, rest, reports, said)
                channel = channel_of(settings, owner) if notifier == SLACK else ""
                draft = MessageDraft(
                    DeliveryKind.DIGEST, thread_of(owner), day, channel, text.to_payload(), notifier=notifier
                )
                queued += _queue_one(connection, draft)
    return queued


@dataclass(frozen=True, slots=True)
class _Reported:
    """What the day's other messages to an owner report."""

    incidents: frozenset[str]
    """Fingerprints of new or worse incidents."""
    ended: frozenset[str]
    """Targets that have no open incident anymore."""


def _reported_on(connection: Connection, owner: str, targets: Iterable[str], day: date, notifier: str) -> _Reported:
    rows = deliveries.notifications_on(connection, [thread_of(owner, target) for target in targets], day, notifier)
    ended = frozenset(split_thread(row.thread)[1] for row in rows if row.kind is DeliveryKind.RESOLVE)
    return _Reported(frozenset(fingerprint for row in rows for fingerprint in row.payload["about"]), ended)


def _is_reported(incident: Incident, reported: _Reported, day: date, *, edits: bool) -> bool:
    """Whether the day's messages already report the incident. `edits`: whether the notifier edits messages; an edited
    alert also shows incidents that ended while others stay open.
    """
    if incident.resolved is not None:
        return incident.resolved == day and (edits or incident.target in reported.ended)
    return incident.fingerprint in reported.incidents


def _queue_one(connection: Connection, draft: MessageDraft) -> list[str]:
    before = deliveries.newest(connection, draft.thread, DeliveryKind.DIGEST, draft.notifier)
    if before is None or before.day != draft.day or before.state is DeliveryState.FAILED:
        return [deliveries.add(connection, draft)]
    if deliveries.family(connection, before.id)[-1].payload == draft.payload:
        return []
    if deliveries.rewrite(connection, before, draft.payload):
        return [before.id]
    return [deliveries.add(connection, replace(draft, kind=DeliveryKind.EDIT, parent_id=before.id))]


def _report_urls(connection: Connection, day: date) -> dict[str, str]:
    """Target to the address of its newest report up to the day."""
    query = sa.select(snapshot.c.target, snapshot.c.report_url).where(snapshot.c.day <= day)
    rows = connection.execute(query.order_by(snapshot.c.day))
    return {target: url for target, url in rows if url}
