"""Takes queued messages to Slack: each one once, in order, and none lost whatever breaks off when."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tsaudit.alerts.blocks import Message
from tsaudit.alerts.routing import channel_of
from tsaudit.alerts.slack import (
    BotToken,
    BrokenOffError,
    BusyError,
    GoneError,
    LookUpError,
    Place,
    RefusedError,
    SetupError,
    SlackError,
    Way,
    Webhook,
)
from tsaudit.alerts.terminal import readable
from tsaudit.config import Settings
from tsaudit.history import deliveries
from tsaudit.history.deliveries import Delivery, Kind, State

if TYPE_CHECKING:
    from tsaudit.history.store import Store


@dataclass(frozen=True, slots=True)
class SendReport:
    """What became of the messages that waited."""

    sent: int = 0
    edited: int = 0
    failed: int = 0
    """RefusedError by Slack for good."""
    not_sent: int = 0
    """Shown in the terminal, because no Slack is configured."""
    waiting: int = 0
    """Still queued; the next run tries again."""
    errors: tuple[str, ...] = ()
    """One line each, with what to do. Not empty: somebody was not told, and the run must not be green."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast, and how patient. Times in seconds."""

    message_s: float = 1.0
    """Between two calls for one channel; Slack allows one message a second."""
    tries: int = 4
    backoff_s: float = 2.0
    """Before the second try; doubled for each further one."""
    longest_wait_s: float = 120.0
    """Slack asking for more leaves the rest to the next run."""
    settle_s: float = 5.0
    """How long after a call broke off its message may still turn up."""
    lock_wait_s: float = 300.0
    """How long another sender, which sends our messages too, may stand still."""
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def send(store: Store, settings: Settings, out: Callable[[str], None], pace: Pace | None = None) -> SendReport:
    """Send all that is queued, oldest first, and look up what an earlier sender left in doubt.

    Without a token or webhook the messages go to `out`, readable, and are kept as `not_sent`. Raises nothing for what
    Slack or the network does; the report tells.
    """
    chosen, before = pace or Pace(), None
    while True:
        with deliveries.sole_sender(store.engine, chosen.lock_wait_s) as alone:
            if alone:
                sender = _Sender(store, settings, out, chosen)
                sender.drain()
                return sender.report()
        left = deliveries.waiting_ids(store.engine)
        if not left:
            return SendReport()
        if left == before:
            line = f"another tsaudit is sending and has not got on for {chosen.lock_wait_s:.0f} s"
            return SendReport(waiting=len(left), errors=(f"{line}; {len(left)} messages wait",))
        before = left


def _way(store: Store, settings: Settings) -> Way | None:
    slack = settings.slack
    if slack.token is not None:
        ids = deliveries.known_channel_id
        return BotToken(slack.token.get_secret_value(), slack.base_url, lambda name: ids(store.engine, name))
    if slack.webhook is not None:
        return Webhook(slack.webhook.get_secret_value())
    return None


@dataclass
class _Sender:
    store: Store
    settings: Settings
    out: Callable[[str], None]
    pace: Pace
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("sent", "edited", "failed", "not_sent"), 0))
    errors: dict[str, None] = field(default_factory=dict)
    """In order, each once."""
    blocked: set[str] = field(default_factory=set)
    """Owners to whom nothing more is sent in this run, so that their messages stay in order."""
    stopped: bool = False
    called: dict[str, float] = field(default_factory=dict)
    """Channel to the time of its last call."""

    def __post_init__(self) -> None:
        self.way = _way(self.store, self.settings)

    def drain(self) -> None:
        """One way through the queue. What is queued meanwhile comes last, so it is met too."""
        position = 0
        while batch := deliveries.waiting(self.store.engine, after=position):
            position = batch[-1].position
            for delivery in batch:
                owner, _ = deliveries.split_thread(delivery.thread)
                if not self.stopped and self._line(owner) not in self.blocked:
                    self._handle(delivery, owner)

    def report(self) -> SendReport:
        return SendReport(
            **self.counts, waiting=len(deliveries.waiting_ids(self.store.engine)), errors=tuple(self.errors)
        )

    def _line(self, owner: str) -> str:
        """Whose messages wait for each other: those of one channel."""
        return channel_of(self.settings, owner) or owner

    def _handle(self, delivery: Delivery, owner: str) -> None:
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

    def _show(self, delivery: Delivery) -> None:
        """What is printed cannot be edited: of an edit, which is to ring nobody, only a line is shown."""
        message = Message.from_payload(delivery.payload)
        self.out(f"edited: {message.text}" if delivery.kind is Kind.EDIT else readable(message))
        self._settle(delivery, State.NOT_SENT)
        self.counts["not_sent"] += 1

    def _place(self, delivery: Delivery, owner: str) -> Place | None:
        """None for an edit of what cannot be edited: sent by a webhook, or never sent."""
        parent = deliveries.find(self.store.engine, delivery.parent_id) if delivery.parent_id else None
        if self.way is not None and self.way.edits and parent and parent.slack_channel and parent.slack_ts:
            return Place(parent.slack_channel, parent.slack_ts)
        if delivery.kind is Kind.EDIT:
            return None
        return Place(channel_of(self.settings, owner))

    def _settle(self, delivery: Delivery, state: State, error: str | None = None) -> None:
        deliveries.settle(self.store.engine, delivery, state, error=error)

    def postpone(self, delivery: Delivery, owner: str, error: SlackError, *, doubt: bool) -> None:
        """Leave it, and what comes after it in its channel, to the next run."""
        self._settle(delivery, State.SENDING if doubt else State.QUEUED, str(error))
        self.errors[str(error)] = None
        self.blocked.add(self._line(owner))
        if getattr(error, "everywhere", False) or getattr(error, "unreachable", False):
            self.stopped = True

    def wait_turn(self, channel: str) -> None:
        """Sleep until the channel may be called again."""
        last = self.called.get(channel)
        if last is not None and (rest := last + self.pace.message_s - self.pace.now()) > 0:
            self.pace.sleep(rest)
        self.called[channel] = self.pace.now()


@dataclass
class _Attempt:
    """One message on its way: tried again where that can help, and never without looking first."""

    sender: _Sender
    way: Way
    delivery: Delivery
    owner: str
    place: Place

    def __post_init__(self) -> None:
        self.doubt = self.delivery.state is State.SENDING and self.delivery.kind is not Kind.EDIT
        """A call was made for it whose outcome is not known. An edit can be repeated as it is."""
        self.warned = False
        # Slack fails on some blocks instead of refusing them; one message must not hold up its channel for ever.
        self.as_text = self.delivery.attempts >= 2 * self.sender.pace.tries

    def run(self) -> None:
        pace = self.sender.pace
        pause, failure = pace.backoff_s, SlackError("not tried")
        left = pace.tries
        while left:
            try:
                self._once()
                return
            except RefusedError as error:
                if self.as_text:
                    self._give_up(error)
                    return
                self.as_text = True
            except GoneError as error:
                if not self._starts_anew(error):
                    return
            except SetupError as error:
                failure = error
                if not self._has_moved(error):
                    break
                if not self._starts_anew(error):
                    return
            except BusyError as error:
                failure = error
                if error.wait_s > pace.longest_wait_s:
                    break
                left -= 1
                if left:
                    pace.sleep(error.wait_s)
            except BrokenOffError as error:
                failure = error
                left -= 1
                if left:
                    pace.sleep(pause)
                    pause *= 2
        self.sender.postpone(self.delivery, self.owner, failure, doubt=self.doubt)

    def _has_moved(self, error: SetupError) -> bool:
        """Whether it belongs to a thread in a channel that the owner has left, and which no longer takes messages."""
        now = channel_of(self.sender.settings, self.owner)
        return not error.everywhere and self.place.ts is not None and self.delivery.channel != now

    def _starts_anew(self, error: SlackError) -> bool:
        """Without the message it belongs to a reply becomes a message of its own, an edit has no use any more."""
        if self.delivery.kind is Kind.EDIT:
            self._settle(State.SUPERSEDED, error=str(error))
            return False
        if self.place.ts is None:
            self._give_up(error)
            return False
        self.place = Place(channel_of(self.sender.settings, self.owner))
        return True

    def _once(self) -> None:
        """Raises SlackError. Returns when the message has arrived, or was overtaken by another."""
        if self.doubt and self._has_arrived():
            return
        engine = self.sender.store.engine
        channel = self.place.channel if self.place.ts is None else self.delivery.channel
        claimed = deliveries.claim(engine, self.delivery, channel)
        if claimed is None:
            return
        self.delivery = claimed
        self.sender.wait_turn(channel)
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
        """Look a message in doubt up, where it was sent to, whatever channel is configured by now.

        Without the right to look it is sent again, for twice is better than never; the doubt stays until that worked.
        """
        if self.delivery.claimed_at is not None:
            age = (datetime.now(UTC).replace(tzinfo=None) - self.delivery.claimed_at).total_seconds()
            # The clock that noted the call may be another machine's, and ahead of ours.
            self.sender.pace.sleep(max(0.0, self.sender.pace.settle_s - max(0.0, age)))
        sent_to = Place(self.delivery.channel) if self.place.ts is None and self.delivery.channel else self.place
        try:
            found = self.way.look_up(self.delivery.id, sent_to, self.delivery.queued_at)
        except LookUpError as error:
            if not self.warned:
                self.sender.out(f"a message may arrive in Slack twice: {error}")
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
