"""What callers of this package pass, and what they get back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from tsaudit.config.settings import Reactions
from tsaudit.model.finding import Verdict
from tsaudit.model.plan import Plan


@dataclass(frozen=True, slots=True)
class RunContext:
    """The audit that the messages are about."""

    target: str
    engine: str
    day: date
    verdict: Verdict
    report_url: str | None
    run_url: str | None
    plans: tuple[Plan, ...] = ()
    reactions: Reactions | None = None
    """What reactions on the messages do; None if reactions are not read there."""


@dataclass(frozen=True, slots=True)
class SendingPace:
    """Rates and timeouts, in seconds."""

    message_s: float = 1.0
    """Time between two calls for one channel; Slack allows one message a second."""
    tries: int = 4
    backoff_s: float = 2.0
    """Wait before the second attempt; doubled for each further attempt."""
    call_s: float = 30.0
    """The longest that one call may take, from the DNS lookup to the last byte of the response."""
    least_call_s: float = 5.0
    """Minimum for the last call of a run, however little time is left: cutting it short leaves its message in doubt."""
    blocks_s: float = 3600.0
    """How long sending a message with its blocks is retried, at least: during an outage, many attempts fail within a
    minute.
    """
    doubt_s: float = 5.0
    """How long after a failed call its message may still appear."""
    lock_wait_s: float = 300.0
    """How long to wait for another process that sends our messages and makes no progress."""
    longest_s: float = math.inf
    """Time for everything, whatever the configuration allows: a caller may have no more."""
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True)
class SendReport:
    """The outcome of sending the messages that were waiting."""

    sent: int = 0
    edited: int = 0
    failed: int = 0
    """Messages that the notifier rejected, also as plain text."""
    not_sent: int = 0
    """Messages printed in the terminal, because Slack is not configured."""
    waiting: int = 0
    """Messages still queued; the next run tries again."""
    errors: tuple[str, ...] = ()
    """One line each, with what to do. If there is any, somebody was not notified, and the run must fail."""
    out_of_time: tuple[str, ...] = ()
    """The `errors` that only report that the time was up, or that another process is sending."""


@dataclass(frozen=True, slots=True)
class ReactionReport:
    """The outcome of reading reactions."""

    asked: int = 0
    """Messages whose reactions were read."""
    decided: int = 0
    """Incidents that were acknowledged or muted."""
    undone: int = 0
    """Incidents whose decision was undone."""
    problems: tuple[str, ...] = ()
    """One line each, with what to do. No reaction is lost: it stays in Slack until it can be read."""
