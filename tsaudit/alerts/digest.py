"""The digest: an owner's open and recently resolved incidents on all targets.

It leaves out what the day's other messages report. If nothing is left, no digest is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa
from sqlalchemy import Connection

from tsaudit.alerts.blocks import (
    MAX_BLOCKS,
    MAX_HEADER,
    MAX_TEXT,
    MAX_TOTAL,
    Block,
    Message,
    code,
    fitting,
    header,
    link,
    markup,
    plain,
    prose,
    small,
)
from tsaudit.alerts.message import SIGNS, by_badness, is_active, notification
from tsaudit.alerts.routing import channel_of, notifiers_of
from tsaudit.config import cron
from tsaudit.config.settings import Settings
from tsaudit.history import clock, deliveries, incidents
from tsaudit.history.deliveries import SLACK, DeliveryKind, DeliveryState, MessageDraft, split_thread, thread_of
from tsaudit.history.lifecycle import Incident
from tsaudit.history.schema import snapshot
from tsaudit.text import many, number
from tsaudit.text.findings import headline, tally

if TYPE_CHECKING:
    from tsaudit.history.store import Store

_SHOWN: Final = 5
"""Open incidents named per target."""
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
        if incident.target in configured and (is_active(incident) or ended):
            by_owner.setdefault(incident.owner, []).append(incident)
    queued: list[str] = []
    with deliveries.writing(store.engine) as connection:
        past = sa.select(sa.func.max(snapshot.c.day)).where(snapshot.c.day <= clock.today())
        if (newest := connection.scalar(past)) and newest > day:
            return []
        reports = _report_urls(connection, day)
        for owner, found in sorted(by_owner.items()):
            for notifier in notifiers_of(settings):
                edits = notifier == SLACK and settings.slack.token is not None
                reported = _reported_on(connection, owner, {i.target for i in found}, day, notifier)
                rest = [i for i in found if not _is_reported(i, reported, day, edits=edits)]
                if not rest:
                    continue
                message = digest(day, rest, reports, reported=len(found) - len(rest))
                channel = channel_of(settings, owner) if notifier == SLACK else ""
                draft = MessageDraft(
                    DeliveryKind.DIGEST, thread_of(owner), day, channel, message.to_payload(), notifier=notifier
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


def digest(day: date, found: Sequence[Incident], reports: dict[str, str], reported: int = 0) -> Message:
    """The digest for one owner. `reports`: target to the address of its newest report. `reported`: number of incidents
    that are left out because other messages of the day report them.
    """
    still = [i for i in found if is_active(i)]
    targets = sorted({i.target for i in found}, key=lambda t: _target_badness(t, still))
    title = f"tsaudit {day}: {many(len(still), 'open incident')} on {many(len(targets), 'target')}"
    groups = (_target_blocks(t, [i for i in found if i.target == t], reports.get(t)) for t in targets)
    shown = fitting(groups, MAX_BLOCKS - 3, MAX_TOTAL - MAX_TEXT - MAX_HEADER - 200)
    blocks = [header(plain(title, MAX_HEADER)), *(block for group in shown for block in group)]
    if len(shown) < len(targets):
        blocks.append(small(f"and {many(len(targets) - len(shown), 'more target')}"))
    if reported:
        blocks.append(small(f"Not counted: {many(reported, 'incident')} in today's other messages."))
    lines = (f"{i.severity} {i.target} {headline(i.finding)}" for i in sorted(still, key=by_badness))
    return Message(notification(title, lines, len(still)), tuple(blocks))


def _target_badness(target: str, still: Sequence[Incident]) -> tuple[int, int, str]:
    own = [i for i in still if i.target == target]
    return (-max((i.severity.rank for i in own), default=-1), -len(own), target)


def _target_blocks(target: str, found: Sequence[Incident], report: str | None) -> list[Block]:
    still = sorted((i for i in found if is_active(i)), key=by_badness)
    parts = list(filter(None, [tally(i.severity for i in still)]))
    parts += [f"{number(n)} resolved" for n in [sum(i.resolved is not None for i in found)] if n]
    if report:
        parts.append(link(report, "report"))
    sign = SIGNS[still[0].severity] if still else SIGNS["ok"]
    blocks = [markup(f"{sign} {code(target, 120)} {' · '.join(parts)}")]
    lines = [plain(f"{SIGNS[i.severity]} {headline(i.finding)}", 320) for i in still[:_SHOWN]]
    if len(still) > _SHOWN:
        lines.append(f"and {number(len(still) - _SHOWN)} more")
    return [*blocks, prose(lines)] if lines else blocks


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
