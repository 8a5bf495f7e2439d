"""Sends queued messages to Slack and other sinks: each one once and in order; none is lost, whenever sending is
interrupted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tsaudit.alerts import sink_way
from tsaudit.alerts.blocks import Message
from tsaudit.alerts.pace import Budget, Pace
from tsaudit.alerts.routing import channel_of
from tsaudit.alerts.send_report import SendReport
from tsaudit.alerts.shared_history import Share
from tsaudit.alerts.sink import Sink
from tsaudit.alerts.sink_way import SinkWay
from tsaudit.alerts.slack import Place, Way
from tsaudit.alerts.slack_errors import (
    BrokenOffError,
    BusyError,
    GoneError,
    LookUpError,
    OutOfTimeError,
    RefusedError,
    SetupError,
    SlackError,
)
from tsaudit.alerts.terminal import readable
from tsaudit.alerts.ways import way_into_slack
from tsaudit.config.settings import Settings
from tsaudit.history import deliveries
from tsaudit.history.deliveries import SLACK, Delivery, Kind, State
from tsaudit.text import many

if TYPE_CHECKING:
    from tsaudit.history.store import Store


def send(store: Store, settings: Settings, out: Callable[[str], None], pace: Pace | None = None) -> SendReport:
    """Send everything that is queued, oldest first, and check messages that an earlier sender left in doubt.

    What another configuration has queued in the same history is left to that one (`Share`). It takes at most
    `slack.deadline_s`, plus the end of a call in progress. Without a token or webhook, the messages go to `out` as text
    and are stored as `not_sent`. Problems with Slack or the network raise nothing; they are in the report.
    """
    chosen, before = pace or Pace(), None
    budget = Budget.of(settings.slack.deadline_s, chosen)
    while True:
        wait_s = max(0.0, min(chosen.lock_wait_s, budget.left_s))
        with deliveries.sole_sender(store.engine, wait_s) as alone:
            if alone:
                sender = _Sender(store, settings, out, budget)
                sender.drain()
                return sender.report()
        left = deliveries.waiting_ids(store.engine)
        if not left:
            return SendReport()
        if left == before or wait_s < chosen.lock_wait_s:
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
    budget: Budget
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("sent", "edited", "failed", "not_sent"), 0))
    errors: dict[str, None] = field(default_factory=dict)
    """In order, each once."""
    out_of_time: dict[str, None] = field(default_factory=dict)
    """Those of them that only say that."""
    blocked: set[tuple[str, str]] = field(default_factory=set)
    """(sink, owner or channel) to whom nothing more is sent in this run, so that their messages stay in order."""
    down: set[str] = field(default_factory=set)
    """Sinks to which nothing more is sent in this run."""
    stopped: bool = False
    """Whether nothing more is sent at all: the time is used up."""
    sinks: dict[str, Sink | SetupError] = field(default_factory=dict)
    """The configured sinks of other packages, or why one cannot be used."""
    called: dict[str, float] = field(default_factory=dict)
    """Channel to the time of its last call."""

    def __post_init__(self) -> None:
        self.way = way_into_slack(self.store, self.settings, self.budget)
        self.share = Share(self.store, self.settings)

    def drain(self) -> None:
        """Goes through the queue once, Slack first; messages queued meanwhile come last, so they are sent, too."""
        for sink in deliveries.waiting_sinks(self.store.engine):
            position = 0
            while batch := deliveries.waiting(self.store.engine, after=position, sink=sink):
                position = batch[-1].position
                for delivery in filter(self.share.has, batch):
                    owner, _ = deliveries.split_thread(delivery.thread)
                    if not self.stopped and sink not in self.down and self._line(sink, owner) not in self.blocked:
                        self._handle(delivery, owner)

    def report(self) -> SendReport:
        waiting = len(deliveries.waiting_ids(self.store.engine))
        return SendReport(
            **self.counts, waiting=waiting, errors=tuple(self.errors), out_of_time=tuple(self.out_of_time)
        )

    def _line(self, sink: str, owner: str) -> tuple[str, str]:
        """Whose messages wait for each other: those of one channel."""
        return sink, (channel_of(self.settings, owner) if sink == SLACK else "") or owner

    def _handle(self, delivery: Delivery, owner: str) -> None:
        if delivery.sink != SLACK:
            self._to_sink(delivery, owner)
            return
        if self.way is None:
            self._show(delivery)
            return
        place = self._place(delivery, owner)
        if place is None:
            self._settle(delivery, State.SUPERSEDED)
        elif self.way.edits and not place.channel:
            line = f"owner `{owner}` has no channel; set `owners.{owner}.channel` (or that of `default`)"
            self.postpone(delivery, owner, SlackError(line), doubt=delivery.state is State.SENDING)
        else:
            _Attempt(self, self.way, delivery, owner, place).run()

    def _to_sink(self, delivery: Delivery, owner: str) -> None:
        name = delivery.sink
        if delivery.kind is Kind.EDIT:
            self._settle(delivery, State.SUPERSEDED)
            return
        if name not in self.settings.sinks:
            self.out(f"{delivery.sink} is no longer among `sinks` in tsaudit.yaml; not sent:")
            self._show(delivery)
            return
        if name not in self.sinks:
            try:
                self.sinks[name] = sink_way.make(name, self.settings.sinks[name])
            except SetupError as error:
                self.sinks[name] = error
        sink = self.sinks[name]
        if isinstance(sink, SetupError):
            self.postpone(delivery, owner, sink, doubt=delivery.state is State.SENDING)
        else:
            _Attempt(self, SinkWay(sink, delivery, self.budget.call_s), delivery, owner, Place("")).run()

    def _show(self, delivery: Delivery) -> None:
        """Printed text cannot be edited: for an edit, which should notify nobody, only a line is printed."""
        message = Message.from_payload(delivery.payload)
        self.out(f"edited: {message.text}" if delivery.kind is Kind.EDIT else readable(message))
        self._settle(delivery, State.NOT_SENT)
        self.counts["not_sent"] += 1

    def _place(self, delivery: Delivery, owner: str) -> Place | None:
        """None for an edit of a message that cannot be edited: sent by a webhook, or never sent."""
        parent = deliveries.find(self.store.engine, delivery.parent_id) if delivery.parent_id else None
        if self.way is not None and self.way.edits and parent and parent.slack_channel and parent.slack_ts:
            return Place(parent.slack_channel, parent.slack_ts)
        if delivery.kind is Kind.EDIT:
            return None
        return Place(channel_of(self.settings, owner))

    def _settle(self, delivery: Delivery, state: State, error: str | None = None) -> None:
        deliveries.settle(self.store.engine, delivery, state, error=error)

    def postpone(self, delivery: Delivery, owner: str, error: SlackError, *, doubt: bool) -> None:
        """Leave it, and the following messages in its channel, to the next run."""
        self._settle(delivery, State.SENDING if doubt else State.QUEUED, str(error))
        self.errors[str(error)] = None
        self.blocked.add(self._line(delivery.sink, owner))
        everywhere = getattr(error, "everywhere", False) or getattr(error, "unreachable", False)
        # A sink of another package is one destination for all owners.
        if everywhere or delivery.sink != SLACK:
            self.down.add(delivery.sink)
        if isinstance(error, OutOfTimeError):
            self.stopped = True
            self.out_of_time[str(error)] = None

    def wait_turn(self, channel: str) -> None:
        """Sleep until the channel may be called again. OutOfTimeError if no call can be made by then."""
        pace, last = self.budget.pace, self.called.get(channel)
        if last is not None and (rest := last + pace.message_s - pace.now()) > 0:
            self.budget.sleep(rest)
        self.budget.call_s()
        self.called[channel] = pace.now()


@dataclass
class _Attempt:
    """One message being sent: retried if that can help, and never without checking first."""

    sender: _Sender
    way: Way
    delivery: Delivery
    owner: str
    place: Place

    def __post_init__(self) -> None:
        self.doubt = self.delivery.state is State.SENDING and self.delivery.kind is not Kind.EDIT
        """A call was made and its outcome is not known. An edit can be repeated as it is."""
        self.warned = False
        # Slack fails on some blocks without rejecting them; one message must not block its channel forever.
        pace, queued_at = self.sender.budget.pace, self.delivery.queued_at.replace(tzinfo=UTC)
        many_tries = self.delivery.attempts >= 2 * pace.tries
        is_old = (datetime.now(UTC) - queued_at).total_seconds() >= pace.blocks_s
        self.as_text = (many_tries and is_old) or self.delivery.sink != SLACK
        self.failure: SlackError | None = None
        """Of the last attempt."""

    def run(self) -> None:
        try:
            failure = self._tried()
        except OutOfTimeError as error:
            if self.failure is not None:
                self.sender.errors[str(self.failure)] = None
            failure = error
        if failure is not None:
            self.sender.postpone(self.delivery, self.owner, failure, doubt=self.doubt)

    def _tried(self) -> SlackError | None:
        """Why the message has to wait for the next run; None if it is finished. OutOfTimeError."""
        budget = self.sender.budget
        pause, left = budget.pace.backoff_s, budget.pace.tries
        while left:
            try:
                self._once()
                return None
            except RefusedError as error:
                if self.as_text:
                    self._give_up(error)
                    return None
                self.as_text = True
            except GoneError as error:
                if not self._starts_anew(error):
                    return None
            except SetupError as error:
                if not self._has_moved(error):
                    return error
                if not self._starts_anew(error):
                    return None
            except BusyError as error:
                self.failure = error
                if error.wait_s > budget.pace.longest_wait_s or error.wait_s >= budget.left_s:
                    return error
                left -= 1
                if left:
                    budget.sleep(error.wait_s)
            except BrokenOffError as error:
                self.failure = error
                # After a call that used up its full time, retry only once: the other channels need their time.
                left = min(left - 1, 1) if error.late else left - 1
                if left:
                    budget.sleep(pause)
                    pause *= 2
        return self.failure

    def _has_moved(self, error: SetupError) -> bool:
        """Whether it belongs to a thread in a channel that the owner has left, and that no longer accepts messages."""
        now = channel_of(self.sender.settings, self.owner)
        return not error.everywhere and self.place.ts is not None and self.delivery.channel != now

    def _starts_anew(self, error: SlackError) -> bool:
        """Without its parent message, a reply becomes a separate message, and an edit is dropped."""
        if self.delivery.kind is Kind.EDIT:
            self._settle(State.SUPERSEDED, error=str(error))
            return False
        if self.place.ts is None:
            self._give_up(error)
            return False
        self.place = Place(channel_of(self.sender.settings, self.owner))
        return True

    def _once(self) -> None:
        """Raises SlackError. Returns when the message has arrived, or was replaced by another."""
        if self.doubt and self._has_arrived():
            return
        engine = self.sender.store.engine
        channel = self.place.channel if self.place.ts is None else self.delivery.channel
        # Before the claim: a message that was claimed and not sent would have to be looked up.
        if self.delivery.sink == SLACK:
            self.sender.wait_turn(channel)
        claimed = deliveries.claim(engine, self.delivery, channel)
        if claimed is None:
            return
        self.delivery = claimed
        message = Message.from_payload(claimed.payload)
        try:
            if claimed.kind is Kind.EDIT:
                self.way.edit(claimed.parent_id or "", self.place, message, self.as_text)
                found = self.place
            else:
                found = self.way.post(claimed.id, self.place, message, self.as_text)
        except BrokenOffError as error:
            self.doubt = self.doubt or (error.stored and claimed.kind is not Kind.EDIT)
            raise
        self._arrived(found)

    def _has_arrived(self) -> bool:
        """Check for a message in doubt in the channel it was sent to, whatever channel is configured now.

        Without permission to read, it is sent again, because twice is better than never; it stays in doubt until that
        works.
        """
        if self.delivery.claimed_at is not None:
            age = (datetime.now(UTC).replace(tzinfo=None) - self.delivery.claimed_at).total_seconds()
            # The time of the call may come from another machine whose clock is ahead of ours.
            if (rest := self.sender.budget.pace.settle_s - max(0.0, age)) > 0:
                self.sender.budget.sleep(rest)
        sent_to = Place(self.delivery.channel) if self.place.ts is None and self.delivery.channel else self.place
        try:
            found = self.way.look_up(self.delivery.id, sent_to, self.delivery.queued_at)
        except LookUpError as error:
            if not self.warned:
                where = "Slack" if self.delivery.sink == SLACK else self.delivery.sink
                self.sender.out(f"a message may arrive in {where} twice: {error}")
            self.warned = True
            return False
        self.doubt = False
        if found is not None:
            self._arrived(found)
        return found is not None

    def _arrived(self, place: Place) -> None:
        self._settle(State.SENT, place=place)
        self.sender.counts["edited" if self.delivery.kind is Kind.EDIT else "sent"] += 1

    def _give_up(self, error: SlackError) -> None:
        self._settle(State.FAILED, error=str(error))
        self.sender.counts["failed"] += 1
        target = deliveries.split_thread(self.delivery.thread)[1] or "the digest"
        self.sender.errors[f"the message about {target} to `{self.owner}` was not taken: {error}"] = None

    def _settle(self, state: State, *, error: str | None = None, place: Place | None = None) -> None:
        engine, ts = self.sender.store.engine, place.ts if place else None
        channel = place.channel if place else None
        deliveries.settle(engine, self.delivery, state, error=error, slack_channel=channel, slack_ts=ts)
