"""What became of the queued messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SendReport:
    """The outcome for the messages that were waiting."""

    sent: int = 0
    edited: int = 0
    failed: int = 0
    """Slack rejected them, and the plain text versions too."""
    not_sent: int = 0
    """Printed in the terminal, because Slack is not configured."""
    waiting: int = 0
    """Still queued; the next run tries again."""
    errors: tuple[str, ...] = ()
    """One line each, with what to do. If not empty, somebody was not notified, and the run must fail."""
    out_of_time: tuple[str, ...] = ()
    """Those of `errors` that say only that time was up, or that another process is sending."""
