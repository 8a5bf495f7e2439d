"""The interface of everything that notifies owners, and why a notice was not delivered.

Slack is one implementation; other packages can add more. Every method of a notifier raises one of the errors here, and
nothing else.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

from tsaudit.alerts.blocks import Message
from tsaudit.errors import TsauditError
from tsaudit.model.finding import Severity
from tsaudit.summary import of_finding
from tsaudit.text import printable
from tsaudit.text.findings import headline

if TYPE_CHECKING:
    from tsaudit.alerts.calls import RunContext
    from tsaudit.history.lifecycle import Incident


@dataclass(frozen=True, slots=True)
class ReportedIncident:
    """An incident in a notice. All texts are one line without control characters."""

    fingerprint: str
    code: str
    """Code of the rule."""
    rule: str
    """The rule's name."""
    subject: str
    """Database, table, and column of the finding, as text."""
    severity: str
    """`warning` or `critical`."""
    is_open: bool
    """Whether the incident is open. False: it ended, has another severity now, or has another owner."""
    opened: date
    headline: str
    figures: str
    """The cost, the measured value, and the time left, as far as known."""
    link: str
    """Address of the finding in the report; empty if the report has none that people can open."""

    @classmethod
    def of(cls, incident: Incident, severity: Severity, context: RunContext, *, is_open: bool) -> ReportedIncident:
        """The incident at a severity that it has now or had before."""
        summary = of_finding(incident.finding, incident.code, context.plans, context.target, context.day)
        page = context.report_url or ""
        return cls(
            fingerprint=incident.fingerprint,
            code=incident.code,
            rule=printable(incident.rule),
            subject=printable(str(incident.subject), 400),
            severity=str(severity),
            is_open=is_open,
            opened=incident.opened or incident.first_seen,
            headline=printable(headline(incident.finding), 400),
            figures=printable("; ".join(f"{f.label}: {f.text.rstrip('.')}" for f in summary.figures), 1000),
            link=f"{page}#f-{incident.fingerprint}" if page.lower().startswith("http") else "",
        )

    def to_payload(self) -> dict[str, Any]:
        """The incident as JSON values."""
        return dataclasses.asdict(self) | {"opened": self.opened.isoformat()}

    @classmethod
    def from_payload(cls, payload: Mapping[str, Any]) -> ReportedIncident:
        """The incident from the output of `to_payload`."""
        values = dict(payload)
        return cls(**values | {"opened": date.fromisoformat(values["opened"])})


class NotifyError(TsauditError):
    """The notice was not delivered, and the next run tries again. The error's text is one line that says what to do."""

    def __init__(self, line: str, *, everywhere: bool = False) -> None:
        super().__init__(line)
        self.everywhere = everywhere
        """Whether this notifier cannot deliver any other notice at the moment, either."""


class NoticeRefusedError(NotifyError):
    """This notice will never be accepted. If it was sent with blocks, it is sent again as text; then it is dropped."""


class MessageGoneError(NotifyError):
    """The message to edit or reply to no longer exists, or cannot be changed."""


class BusyError(NotifyError):
    """The service received too many calls; it did not store the notice."""

    def __init__(self, line: str, wait_s: float) -> None:
        super().__init__(line)
        self.wait_s = wait_s


class CallFailedError(NotifyError):
    """The service did not answer, or sent an answer that it never sends itself: the call has to be repeated."""

    def __init__(self, line: str, *, stored: bool, everywhere: bool = False, late: bool = False) -> None:
        super().__init__(line, everywhere=everywhere)
        self.stored = stored
        """Whether the message may have arrived anyway."""
        self.late = late
        """Whether the call used up its full time: repeating it would take time from other channels."""


class DeadlineError(NotifyError):
    """The time budget of the run is used up; the call was not made."""


class SetupError(NotifyError):
    """Nothing will arrive until somebody changes a setting, here or at the service."""

    def __init__(self, line: str, *, code: str = "", everywhere: bool = True) -> None:
        super().__init__(f"{line} ({code})" if code else line, everywhere=everywhere)
        self.code = code
        """The service's error code, followed by the permission that it asks for; empty if it names none."""


class LookUpError(NotifyError):
    """This notifier cannot check whether a message has arrived."""


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
