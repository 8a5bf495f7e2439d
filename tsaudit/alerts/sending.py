"""Sends queued messages through their notifiers: each once and in order, and without losing any if sending is
interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from tsaudit.alerts import routing
from tsaudit.alerts.blocks import Message
from tsaudit.alerts.calls import SendingPace, SendReport
from tsaudit.alerts.notifier import (
    BusyError,
    CallFailedError,
    DeadlineError,
    LookUpError,
    MessageGoneError,
    MessagePlace,
    Notice,
    NoticeRefusedError,
    Notifier,
    NotifyError,
    ReportedIncident,
    SetupError,
)
from tsaudit.alerts.owners import Share, channel_of, no_channel
from tsaudit.config.settings import Settings
from tsaudit.history import deliveries
from tsaudit.history.deliveries import SLACK, Delivery, DeliveryKind, DeliveryState
from tsaudit.text import many

if TYPE_CHECKING:
    from tsaudit.history.store import Store


_LONGEST_WAIT_S: Final = 120.0
"""Longest wait that Slack may ask for; if it asks for more, the next run sends the rest."""


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """The time that a run may spend on sending, however slowly Slack answers and however many channels there are."""

    seconds: float
    pace: SendingPace
    ends: float
    """When the budget ends, as a reading of `pace.now`."""

    @classmethod
    def of(cls, seconds: float, pace: SendingPace) -> TimeBudget:
        """A budget of this many seconds from now, or of `pace.longest_s` if that is less."""
        chosen = min(seconds, pace.longest_s)
        return cls(chosen, pace, pace.now() + chosen)

    @property
    def left_s(self) -> float:
        """Seconds left; negative once the budget is used up."""
        return self.ends - self.pace.now()

    def call_s(self) -> float:
        """Seconds that the next call may take. Raises DeadlineError if no further call may be made."""
        if self.left_s <= 0:
            raise self.used_up()
        return min(self.pace.call_s, max(self.left_s, self.pace.least_call_s))

    def sleep(self, seconds: float) -> None:
        """Wait. Raises DeadlineError immediately if the wait would leave no time for a call."""
        if seconds >= self.left_s:
            raise self.used_up()
        self.pace.sleep(seconds)

    def used_up(self) -> DeadlineError:
        return DeadlineError(
            f"sending stopped after {self.seconds:g} s (`slack.deadline_s`); the rest stays queued for the next run"
        )


def send(store: Store, settings: Settings, out: Callable[[str], None], pace: SendingPace) -> SendReport:
    """The same as `alerts.send`, with anything in the queue."""
    before = None
    budget = TimeBudget.of(settings.slack.deadline_s, pace)
    while True:
        wait_s = max(0.0, min(pace.lock_wait_s, budget.left_s))
        with deliveries.sole_sender(store.engine, wait_s) as alone:
            if alone:
                sender = _Sender(store, settings, out, budget)
                sender.drain()
                return sender.report()
        left = deliveries.waiting_ids(store.engine)
        if not left:
            return SendReport()
        if left == before or wait_s < pace.lock_wait_s:
            stuck = f"has made no progress for {wait_s:.0f} s" if left == before else "has not finished in time"
            waiting = f"{many(len(left), 'message')} {'waits' if len(left) == 1 else 'wait'}"
            line = f"another tsaudit is sending and {stuck}; {waiting}"
            return SendReport(waiting=len(left), errors=(line,), out_of_time=(line,))
        before = left


@dataclass
class _Sender:
    store: Store
    settings: Settings
    out: Callable[[str], None]
    budget: TimeBudget
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("sent", "edited", "failed", "not_sent"), 0))
    errors: dict[str, None] = field(default_factory=dict)
    """Error lines in order, without duplicates."""
    out_of_time: dict[str, None] = field(default_factory=dict)
    """The error lines that only report that the time was up."""
    blocked: set[tuple[str, str]] = field(default_factory=set)
    """(notifier, owner or channel) to whom nothing more is sent in this run, so that their messages stay in order."""
    down: set[str] = field(default_factory=set)
    """Notifiers to which nothing more is sent in this run."""
    stopped: bool = False
    """Whether nothing more is sent at all: the time is used up."""
    notifiers: dict[str, Notifier | SetupError | None] = field(default_factory=dict)
    """Notifiers used so far, by name: None for Slack without a token or webhook, SetupError for one that cannot be
    used.
    """
    called: dict[str, float] = field(default_factory=dict)
    """Slack channel to the time of the last call for it."""

    def __post_init__(self) -> None:
        self.share = Share(self.store, self.settings)

    def drain(self) -> None:
        """Go through the queue once, Slack first. Messages queued meanwhile come last, and are sent, too."""
        for notifier in deliveries.waiting_notifiers(self.store.engine):
            position = 0
            while batch := deliveries.waiting(self.store.engine, after=position, notifier=notifier):
                position = batch[-1].position
                for delivery in filter(self.share.has, batch):
                    owner, _ = deliveries.split_thread(delivery.thread)
                    if (
                        not self.stopped
                        and notifier not in self.down
                        and self._queue_key(notifier, owner) not in self.blocked
                    ):
                        self._handle(delivery, owner)

    def report(self) -> SendReport:
        waiting = len(deliveries.waiting_ids(self.store.engine))
        return SendReport(
            **self.counts, waiting=waiting, errors=tuple(self.errors), out_of_time=tuple(self.out_of_time)
        )

    def _queue_key(self, notifier: str, owner: str) -> tuple[str, str]:
        """The key of the queue that the owner's messages wait in: those of one Slack channel, or of one owner, are sent
        in order.
        """
        return notifier, (channel_of(self.settings, owner) if notifier == SLACK else "") or owner

    def _handle(self, delivery: Delivery, owner: str) -> None:
        name = delivery.notifier
        if name != SLACK and name not in self.settings.notifiers:
            self._show_removed(delivery)
            return
        if delivery.kind is DeliveryKind.DIGEST and delivery.queued_at.date() < datetime.now(UTC).date():
            self.out(f"the digest of {delivery.day} for `{owner}` could not be sent on its day, and is dropped")
            self._record_result(delivery, DeliveryState.SUPERSEDED)
            return
        notifier = self._notifier(name)
        if notifier is None:
            self._show(delivery)
            return
        if isinstance(notifier, SetupError):
            self.postpone(delivery, owner, notifier, doubt=delivery.state is DeliveryState.SENDING)
            return
        place = self._place(notifier, delivery, owner)
        if place is None:
            # A later audit of the day withdraws what was superseded, but the news beside this edit has been sent.
            self._record_result(delivery, DeliveryState.NOT_SENT)
        elif name == SLACK and self.settings.slack.token and not place.channel:
            problem = NotifyError(no_channel(owner))
            self.postpone(delivery, owner, problem, doubt=delivery.state is DeliveryState.SENDING)
        else:
            _Attempt(self, notifier, delivery, owner, place).run()

    def _notifier(self, name: str) -> Notifier | SetupError | None:
        if name not in self.notifiers:
            try:
                self.notifiers[name] = routing.notifier(name, self.store, self.settings)
            except SetupError as error:
                self.notifiers[name] = error
        return self.notifiers[name]

    def _show_removed(self, delivery: Delivery) -> None:
        if delivery.kind is DeliveryKind.EDIT:
            self._record_result(delivery, DeliveryState.SUPERSEDED)
            return
        self.out(f"{delivery.notifier} is no longer among `notifiers` in tsaudit.yaml; not sent:")
        self._show(delivery)

    def _show(self, delivery: Delivery) -> None:
        """Print the message. Printed text cannot be edited, so for an edit, which should notify nobody, only a line is
        printed.
        """
        message = Message.from_payload(delivery.payload)
        self.out(f"edited: {message.text}" if delivery.kind is DeliveryKind.EDIT else message.readable())
        self._record_result(delivery, DeliveryState.NOT_SENT)
        self.counts["not_sent"] += 1

    def _place(self, notifier: Notifier, delivery: Delivery, owner: str) -> MessagePlace | None:
        """Where to send the message; None for an edit that cannot be made: its message was sent by a webhook, for
        example, or never sent.
        """
        parent = deliveries.find(self.store.engine, delivery.parent_id) if delivery.parent_id else None
        if notifier.edits and parent and parent.sent_id:
            return MessagePlace(parent.sent_channel or "", parent.sent_id)
        return None if delivery.kind is DeliveryKind.EDIT else self.begins_at(delivery, owner)

    def begins_at(self, delivery: Delivery, owner: str) -> MessagePlace:
        """Where a message goes that is not a reply."""
        return MessagePlace(channel_of(self.settings, owner) if delivery.notifier == SLACK else "")

    def _record_result(self, delivery: Delivery, state: DeliveryState, error: str | None = None) -> None:
        deliveries.record_result(self.store.engine, delivery, state, error=error)

    def postpone(self, delivery: Delivery, owner: str, error: NotifyError, *, doubt: bool) -> None:
        """Leave the message, and the following ones in its channel, to the next run."""
        self._record_result(delivery, DeliveryState.SENDING if doubt else DeliveryState.QUEUED, str(error))
        self.errors[str(error)] = None
        self.blocked.add(self._queue_key(delivery.notifier, owner))
        if error.everywhere:
            self.down.add(delivery.notifier)
        if isinstance(error, DeadlineError):
            self.stopped = True
            self.out_of_time[str(error)] = None

    def wait_turn(self, notifier: str, channel: str) -> float:
        """Sleep until Slack's channel may be called again; other notifiers have no such limit. Returns seconds that the
        call may take.

        Raises DeadlineError if no call can be made in time.
        """
        if notifier != SLACK:
            return self.budget.call_s()
        pace, last = self.budget.pace, self.called.get(channel)
        if last is not None and (rest := last + pace.message_s - pace.now()) > 0:
            self.budget.sleep(rest)
        timeout_s = self.budget.call_s()
        self.called[channel] = pace.now()
        return timeout_s


@dataclass
class _Attempt:
    """One message being sent: retried if that can help, and never without checking first."""

    sender: _Sender
    notifier: Notifier
    delivery: Delivery
    owner: str
    place: MessagePlace

    def __post_init__(self) -> None:
        self.doubt = self.delivery.state is DeliveryState.SENDING and self.delivery.kind is not DeliveryKind.EDIT
        """Whether an earlier call was made and its outcome is unknown. An edit is never in doubt, because it can be
        repeated.
        """
        self.warned = False
        # Slack fails on some blocks without rejecting them; one message must not block its channel forever.
        pace, queued_at = self.sender.budget.pace, self.delivery.queued_at.replace(tzinfo=UTC)
        many_tries = self.delivery.attempts >= 2 * pace.tries
        is_old = (datetime.now(UTC) - queued_at).total_seconds() >= pace.blocks_s
        self.as_text = (many_tries and is_old) or not self.notifier.shows_blocks
        self.failure: NotifyError | None = None
        """The error of the last attempt."""

    def run(self) -> None:
        try:
            failure = self._tried()
        except DeadlineError as error:
            if self.failure is not None:
                self.sender.errors[str(self.failure)] = None
            failure = error
        if failure is not None:
            self.sender.postpone(self.delivery, self.owner, failure, doubt=self.doubt)

    def _tried(self) -> NotifyError | None:
        """Why the message has to wait for the next run; None if it needs no further attempt. Raises DeadlineError."""
        budget = self.sender.budget
        pause, left = budget.pace.backoff_s, budget.pace.tries
        while left:
            try:
                self._once()
                return None
            except NoticeRefusedError as error:
                if self.as_text:
                    self._give_up(error)
                    return None
                self.as_text = True
            except MessageGoneError as error:
                if not self._retries_without_parent(error):
                    return None
            except SetupError as error:
                if not self._has_moved(error):
                    return error
                if not self._retries_without_parent(error):
                    return None
            except BusyError as error:
                self.failure = error
                if error.wait_s > _LONGEST_WAIT_S or error.wait_s >= budget.left_s:
                    return error
                left -= 1
                if left:
                    budget.sleep(error.wait_s)
            except CallFailedError as error:
                self.failure = error
                # After a call that used up its full time, retry only once: the other channels need their time.
                left = min(left - 1, 1) if error.late else left - 1
                if left:
                    budget.sleep(pause)
                    pause *= 2
        return self.failure

    def _has_moved(self, error: SetupError) -> bool:
        """Whether the message belongs to a thread in the owner's previous channel, which no longer accepts messages."""
        now = channel_of(self.sender.settings, self.owner)
        return not error.everywhere and self.place.message_id is not None and self.delivery.channel != now

    def _retries_without_parent(self, error: NotifyError) -> bool:
        """Go on without the parent message, which is gone. Returns whether to try again: a reply becomes a separate
        message, and an edit is dropped.
        """
        if self.delivery.kind is DeliveryKind.EDIT:
            self._record_result(DeliveryState.SUPERSEDED, error=str(error))
            return False
        if self.place.message_id is None:
            self._give_up(error)
            return False
        self.place = self.sender.begins_at(self.delivery, self.owner)
        return True

    def _once(self) -> None:
        """Try once. Returns when the message has arrived, or was replaced by another. Raises NotifyError."""
        if self.doubt and self._has_arrived():
            return
        engine = self.sender.store.engine
        channel = self.place.channel if self.place.message_id is None else self.delivery.channel
        # Checked before the message is claimed: one that was claimed and not sent would have to be looked up.
        timeout_s = self.sender.wait_turn(self.delivery.notifier, channel)
        claimed = deliveries.claim(engine, self.delivery, channel)
        if claimed is None:
            return
        self.delivery = claimed
        notice = _notice(claimed, self.place, as_text=self.as_text)
        try:
            if claimed.kind is DeliveryKind.EDIT:
                self.notifier.edit(notice, timeout_s)
                found = self.place
            else:
                found = self.notifier.notify(notice, timeout_s) or MessagePlace()
        except CallFailedError as error:
            self.doubt = self.doubt or (error.stored and claimed.kind is not DeliveryKind.EDIT)
            raise
        self._arrived(found)

    def _has_arrived(self) -> bool:
        """Whether a message in doubt has arrived in the channel it was sent to, whatever channel is configured now.

        Without permission to read the channel, the message is sent again, because twice is better than never; it stays
        in doubt until that succeeds.
        """
        if self.delivery.claimed_at is not None:
            age = (datetime.now(UTC).replace(tzinfo=None) - self.delivery.claimed_at).total_seconds()
            # The time of the call may have been stored by another machine whose clock is ahead of ours.
            if (rest := self.sender.budget.pace.doubt_s - max(0.0, age)) > 0:
                self.sender.budget.sleep(rest)
        is_reply = self.place.message_id is not None
        sent_to = self.place if is_reply or not self.delivery.channel else MessagePlace(self.delivery.channel)
        try:
            notice = _notice(self.delivery, sent_to, as_text=self.as_text)
            found = self.notifier.find(notice, self.sender.budget.call_s())
        except LookUpError as error:
            if not self.warned:
                where = "Slack" if self.delivery.notifier == SLACK else self.delivery.notifier
                self.sender.out(f"a message may arrive in {where} twice: {error}")
            self.warned = True
            return False
        self.doubt = False
        if found is not None:
            self._arrived(found)
        return found is not None

    def _arrived(self, place: MessagePlace) -> None:
        self._record_result(DeliveryState.SENT, place=place)
        self.sender.counts["edited" if self.delivery.kind is DeliveryKind.EDIT else "sent"] += 1

    def _give_up(self, error: NotifyError) -> None:
        self._record_result(DeliveryState.FAILED, error=str(error))
        self.sender.counts["failed"] += 1
        target = deliveries.split_thread(self.delivery.thread)[1] or "the digest"
        self.sender.errors[f"the message about {target} to `{self.owner}` was not accepted: {error}"] = None

    def _record_result(
        self, state: DeliveryState, *, error: str | None = None, place: MessagePlace | None = None
    ) -> None:
        where = (place.channel, place.message_id) if place and place.message_id else None
        deliveries.record_result(self.sender.store.engine, self.delivery, state, error=error, sent_to=where)


def _notice(delivery: Delivery, place: MessagePlace, *, as_text: bool) -> Notice:
    owner, target = deliveries.split_thread(delivery.thread)
    message = Message.from_payload(delivery.payload)
    text = message.readable()
    is_edit = delivery.kind is DeliveryKind.EDIT
    return Notice(
        id=(delivery.parent_id if is_edit else None) or delivery.id,
        kind=str(delivery.kind),
        owner=owner,
        target=target,
        day=delivery.day,
        title=text.partition("\n")[0],
        text=text,
        severities=dict(message.about),
        incidents=tuple(map(ReportedIncident.from_payload, message.incidents)),
        queued_at=delivery.queued_at.replace(tzinfo=UTC),
        place=place,
        message=replace(message, blocks=()) if as_text else message,
    )
