"""The interface of everything that notifies owners. Slack is one implementation; other packages can add more."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from tsaudit.alerts.blocks import Message
from tsaudit.alerts.errors import LookUpError, MessageGoneError
from tsaudit.alerts.reported_incident import ReportedIncident


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """The channel that a message goes to, and its ID once it is known."""

    channel: str = ""
    """Empty for a notifier without channels."""
    message_id: str | None = None
    """ID of the message, or of the message whose thread it goes to; for example Slack's `ts`."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A notification for an owner."""

    id: str
    """Stays the same if the notice is sent again, so that a receiver can drop duplicates."""
    kind: str
    """`alert`: the first notice about open incidents; `edit`: its current text; `reply`: an incident is new or worse;
    `resolve`: nothing is open anymore; `confirm`: the effect of a reaction; `digest`: the day's summary of all the
    owner's targets; `test`: a test message of `tsaudit check --notify`.
    """
    owner: str
    """A name under `owners:` in tsaudit.yaml."""
    target: str
    """Empty for a digest and a test message."""
    day: date
    """The audited day, in UTC."""
    title: str
    """One line of plain text."""
    text: str
    """The complete notice as plain text, including the title."""
    severities: Mapping[str, str]
    """Fingerprint of each incident in the notice to its severity, `warning` or `critical`."""
    incidents: tuple[ReportedIncident, ...] = ()
    """The owner's incidents on the target: those open now, and those that were open when a notice was last sent. Empty
    for a digest, and for a notice that an earlier version queued.
    """
    queued_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    place: MessagePlace = MessagePlace()
    """The owner's channel, and the ID of the message to reply to, if any. For `edit`, the message to replace."""
    message: Message = field(default_factory=lambda: Message("", ()))
    """The notice in Slack's Block Kit; it has no blocks if Slack rejected them."""


class Notifier(ABC):
    """Delivers notices. tsaudit queues them, delivers each one once and in order for each owner, and retries.

    A method returns once the receiver has accepted the notice; otherwise it raises NotifyError. It should take at most
    `timeout_s` seconds: after that, the notice counts as not delivered.
    """

    edits: bool = False
    """Whether this notifier can replace messages and reply to them. Then `notify` returns where a message is, and
    `edit` works.
    """
    shows_blocks: bool = False
    """Whether this notifier sends `Notice.message`, which has blocks, instead of plain text."""

    @abstractmethod
    def notify(self, notice: Notice, timeout_s: float) -> MessagePlace | None:
        """Deliver the notice. Returns where the message is; None if the service does not report that."""

    def edit(self, notice: Notice, timeout_s: float) -> None:  # noqa: ARG002 -- for those that edit
        """Replace the message at `notice.place` with the notice."""
        raise MessageGoneError("messages of this notifier cannot be edited")

    def find(self, notice: Notice, timeout_s: float) -> MessagePlace | None:  # noqa: ARG002 -- for those that can
        """Where the notice is if it has arrived at `notice.place`; None if it has not. Called only after a crash.

        Raises LookUpError if that cannot be determined: the notice is then sent again, because twice is better than
        never.
        """
        raise LookUpError("messages of this notifier cannot be read back")
