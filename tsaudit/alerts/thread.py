"""The messages to one owner about one target, as a thread: an alert, its edits and replies, and its end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from tsaudit.alerts import message
from tsaudit.alerts.blocks import Message
from tsaudit.alerts.calls import RunContext
from tsaudit.alerts.message import RESOLVED, Closed
from tsaudit.alerts.notifier import ReportedIncident
from tsaudit.alerts.owners import channel_of, is_sent, settings_of
from tsaudit.config.settings import Settings
from tsaudit.history import deliveries
from tsaudit.history.deliveries import (
    SLACK,
    Delivery,
    DeliveryKind,
    DeliveryState,
    MessageDraft,
)
from tsaudit.history.lifecycle import Incident, IncidentState
from tsaudit.model.finding import Severity


@dataclass
class Thread:
    """The messages to one owner about one target through one notifier."""

    connection: Connection
    settings: Settings
    context: RunContext
    thread: str
    known: dict[str, Incident]
    notifier: str
    raised: Collection[str] = ()
    """Fingerprints of incidents that became more severe or more urgent on the day."""
    sent_to_others: Collection[str] | None = None
    """Fingerprints of incidents that other owners were notified about; None: not looked up yet."""

    def __post_init__(self) -> None:
        self.owner, _ = deliveries.split_thread(self.thread)
        own = [i for i in self.known.values() if i.owner == self.owner and i.state is IncidentState.OPEN]
        own = [i for i in own if is_sent(self.settings, self.notifier, i.severity)]
        self.open = [i for i in own if i.is_active]
        self.muted = [i for i in own if i.is_muted]
        self.channel = channel_of(self.settings, self.owner) if self.notifier == SLACK else ""
        self.full_values = self.settings.report.values == "full"
        slack = self.settings.slack
        if self.notifier == SLACK and slack.token and slack.reactions.read:
            self.context = replace(self.context, reactions=slack.reactions)

    def queue(self) -> list[str]:
        found = {i.fingerprint for i in (*self.open, *self.muted)}
        deliveries.withdraw(self.connection, self.thread, self.context.day, found, self.notifier)
        rows = self._live_message()
        if not rows:
            return self._start(self._news({}))
        if self._is_elsewhere(rows[0]) or not _shown(rows)[-1].payload["about"]:
            return self._move(rows)
        return self._go_on(rows)

    def _is_elsewhere(self, alert: Delivery) -> bool:
        """Whether the owner's channel was changed in the configuration since the alert was sent."""
        return bool(self.channel) and alert.state is DeliveryState.SENT and alert.channel != self.channel

    def _move(self, rows: Sequence[Delivery]) -> list[str]:
        """The owner has another channel now, or the message shows only muted incidents and may be weeks old: start a
        new message, and report that in the old one.

        If there is nothing to notify about, the thread continues where it is, so that its end is reported there.
        """
        fresh = self._news({}) or self._news(self._notified(rows))
        if not fresh:
            return self._go_on(rows)
        where = self.channel if self._is_elsewhere(rows[0]) else "a new message"
        text = self._with_incidents(message.moved(self.context, where), _shown(rows))
        return [self._add(DeliveryKind.EDIT, text, rows[0]), *self._start(fresh)]

    def _live_message(self) -> list[Delivery]:
        """The thread's newest alert with its edits and replies, if its owner can have seen it and its newest text shows
        an incident that is open, muted or not; empty if there is none.
        """
        alert = deliveries.newest(self.connection, self.thread, DeliveryKind.ALERT, self.notifier)
        if alert is None or not self._was_notified(alert):
            return []
        rows = deliveries.family(self.connection, alert.id)
        return rows if _covered(_shown(rows)[-1]) else []

    def _was_notified(self, delivery: Delivery) -> bool:
        """Whether its owner was or will be notified. A message printed in a terminal counts only while Slack is not
        configured.
        """
        slack = self.settings.slack.token or self.settings.slack.webhook
        is_set_up = self.notifier != SLACK or slack
        return delivery.state is not DeliveryState.FAILED and not (
            delivery.state is DeliveryState.NOT_SENT and is_set_up
        )

    def _notified(self, rows: Iterable[Delivery]) -> dict[str, Severity]:
        """Fingerprint to severity of what the thread's messages notified about, if its owner can have seen them."""
        return notified_by(
            row for row in rows if row.kind in (DeliveryKind.ALERT, DeliveryKind.EDIT) or self._was_notified(row)
        )

    def _back(self, rows: Sequence[Delivery]) -> frozenset[str]:
        """Fingerprints of incidents that got worse than what was muted or acknowledged, or more urgent on this day:
        they are news, whatever was sent before the decision, or the day.
        """
        exceeded = (
            i.fingerprint
            for i in self.open
            if i.exceeded is not None and not _notified_since(rows, i.fingerprint, i.exceeded.made_at)
        )
        today = [row for row in rows if row.day == self.context.day and row.kind is not DeliveryKind.EDIT]
        reported_today = {fingerprint for row in today for fingerprint in row.payload["about"]}
        return (
            frozenset(exceeded)
            | frozenset(i.fingerprint for i in self.open if i.fingerprint in self.raised) - reported_today
        )

    def _start(self, fresh: Sequence[Incident]) -> list[str]:
        if not fresh:
            return []
        mention = self._mention(fresh)
        text = message.alert(self.context, self.open, self._muted(), full_values=self.full_values, mention=mention)
        return [self._add(DeliveryKind.ALERT, self._with_incidents(text, ()))]

    def _go_on(self, rows: Sequence[Delivery]) -> list[str]:
        alert, shown = rows[0], _shown(rows)
        notified = self._notified(rows)
        closed = self._closed(shown)
        queued = []
        edit = message.alert(self.context, self.open, closed, full_values=self.full_values)
        edit = self._with_incidents(edit, shown)
        if edit.to_payload() != shown[-1].payload:
            queued.append(self._add(DeliveryKind.EDIT, edit, alert))
            self._prune(shown)
        back = self._back(rows)
        fresh = self._news(notified, back)
        # What the message has not notified about, such as what was muted before it was resolved, needs no reply.
        resolved = [one for one in self._gone(notified) if one.how == RESOLVED]
        if not self.open and not self.muted:
            edits = self.notifier == SLACK and self.settings.slack.token is not None
            # What was muted after it had been sent ends, too. Where a message is edited, its text says so.
            if shown[-1].payload["about"] or (not edits and _announced(rows) & set(_covered(shown[-1]))):
                end = self._with_incidents(message.over(self.context, self._gone(_covered(shown[-1]))), shown)
                queued.append(self._add(DeliveryKind.RESOLVE, end, alert))
        elif fresh or resolved:
            raised = frozenset(i.fingerprint for i in fresh if i.fingerprint in {*notified, *back})
            mention = self._mention(fresh)
            over = [*resolved, *self._muted()]
            reply = message.news(self.context, fresh, raised, over, full_values=self.full_values, mention=mention)
            queued.append(self._add(DeliveryKind.REPLY, self._with_incidents(reply, shown), alert))
        return queued

    def _prune(self, shown: Sequence[Delivery]) -> None:
        """Delete the texts of older edits: a message that is edited every day for years must not fill the history."""
        for row in shown:
            if row.payload["blocks"]:
                deliveries.drop_content(self.connection, row)

    def _news(self, notified: dict[str, Severity], back: frozenset[str] = frozenset()) -> list[Incident]:
        """The incidents that need a notification: new, or worse than reported. An acknowledged incident needs one only
        if it is worse, or if another owner was notified about it before; an incident that the audit did not find needs
        none.
        """
        fresh = []
        for incident in (one for one in self.open if not one.is_absent):
            before = notified.get(incident.fingerprint)
            if before is None:
                if incident.decision is None or incident.fingerprint in self._sent_to_others():
                    fresh.append(incident)
            elif incident.severity.rank > before.rank or incident.fingerprint in back:
                fresh.append(incident)
        return fresh

    def _sent_to_others(self) -> Collection[str]:
        """Fingerprints of this target's incidents that other owners have been notified about."""
        if self.sent_to_others is None:
            others = set(deliveries.threads_about(self.connection, self.context.target, self.notifier)) - {self.thread}
            alerts = [deliveries.newest(self.connection, one, DeliveryKind.ALERT, self.notifier) for one in others]
            rows = [row for one in alerts if one for row in deliveries.family(self.connection, one.id)]
            self.sent_to_others = {f for row in rows if self._was_notified(row) for f in row.payload["about"]}
        return self.sent_to_others

    def _with_incidents(self, text: Message, shown: Sequence[Delivery]) -> Message:
        """The message with its list of incidents: those that are open, and those that earlier messages since the last
        one sent before this day showed, at a severity that no longer applies. For notifiers that track each incident;
        Slack needs only the text.
        """
        if self.notifier == SLACK:
            return text
        now = [(i, i.severity) for i in self.open]
        sent = [n for n, row in enumerate(shown) if row.day < self.context.day and row.state is DeliveryState.SENT]
        rows = shown[sent[-1] if sent else 0 :]
        reported = dict.fromkeys((f, Severity(s)) for row in rows for f, s in row.payload["about"].items())
        is_now = {(i.fingerprint, severity) for i, severity in now}
        gone = [
            (self.known[f], severity) for f, severity in reported if (f, severity) not in is_now and f in self.known
        ]
        one_by_one = [ReportedIncident.of(i, severity, self.context, is_open=True) for i, severity in now]
        one_by_one += [ReportedIncident.of(i, severity, self.context, is_open=False) for i, severity in gone]
        return replace(text, incidents=tuple(one.to_payload() for one in one_by_one))

    def _closed(self, shown: Sequence[Delivery]) -> list[Closed]:
        """Incidents that the message covered before this day and that are no longer open, and those that are muted. The
        same for every audit of a day.
        """
        base = [row for row in shown if row.day < self.context.day] or shown[:1]
        return [*self._gone(_covered(base[-1])), *self._muted()]

    def _muted(self) -> list[Closed]:
        return [Closed(i, f"muted until {i.decision.until}") for i in self.muted if i.decision]

    def _gone(self, fingerprints: Iterable[str]) -> list[Closed]:
        """Those of the incidents that are no longer open, muted or not."""
        still = {i.fingerprint for i in (*self.open, *self.muted)}
        gone = [self.known[f] for f in fingerprints if f not in still and f in self.known]
        return [Closed(i, self._how(i)) for i in sorted(gone, key=lambda i: (i.code, i.subject))]

    def _how(self, incident: Incident) -> str:
        """Why the owner's message no longer covers the incident."""
        if incident.state is not IncidentState.OPEN:
            return RESOLVED
        return f"now with {incident.owner}" if incident.owner != self.owner else "no longer critical"

    def _mention(self, fresh: Iterable[Incident]) -> str | None:
        slack = self.settings.slack
        critical = any(i.severity is Severity.CRITICAL for i in fresh)
        if self.notifier != SLACK or not critical or not (slack.token or slack.webhook):
            return None
        return settings_of(self.settings, self.owner).mention

    def _add(self, kind: DeliveryKind, text: Message, parent: Delivery | None = None) -> str:
        where = parent.channel if parent and parent.state is DeliveryState.SENT else self.channel
        identity = parent.id if parent else None
        draft = MessageDraft(kind, self.thread, self.context.day, where, text.to_payload(), identity, self.notifier)
        return deliveries.add(self.connection, draft)


def notified_by(rows: Iterable[Delivery]) -> dict[str, Severity]:
    """Fingerprint to severity of what a message and its replies have notified about.

    Rows are read in the order they were queued. An edit notifies nobody, but an incident that it shows as milder or
    closed may notify again.
    """
    notified: dict[str, Severity] = {}
    for row in rows:
        about = {f: Severity(s) for f, s in row.payload["about"].items()}
        if row.kind is DeliveryKind.EDIT:
            notified = {f: min(s, about[f], key=lambda x: x.rank) for f, s in notified.items() if f in about}
        else:
            notified |= about
    return notified


def _announced(rows: Iterable[Delivery]) -> set[str]:
    """Fingerprints of all that the message or a reply has notified about: also of what was muted afterward."""
    return {f for row in rows if row.kind is not DeliveryKind.EDIT for f in row.payload["about"]}


def _notified_since(rows: Iterable[Delivery], fingerprint: str, instant: datetime) -> bool:
    notifications = (row for row in rows if row.kind is not DeliveryKind.EDIT)
    return any(
        fingerprint in row.payload["about"] and row.queued_at.replace(tzinfo=UTC) >= instant for row in notifications
    )


def _shown(rows: Iterable[Delivery]) -> list[Delivery]:
    """The alert among the rows and its edits: the texts that the message has had."""
    return [row for row in rows if row.kind in (DeliveryKind.ALERT, DeliveryKind.EDIT)]


def _covered(row: Delivery) -> list[str]:
    """Fingerprints of the incidents that the text shows as open, muted or not."""
    return [*row.payload["about"], *row.payload.get("muted", ())]
