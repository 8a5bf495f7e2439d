"""The pace at which messages are sent, and the time that a run may spend on it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from tsaudit.alerts.errors import DeadlineError


@dataclass(frozen=True, slots=True)
class SendingPace:
    """Rates and timeouts, in seconds."""

    message_s: float = 1.0
    """Time between two calls for one channel; Slack allows one message a second."""
    tries: int = 4
    backoff_s: float = 2.0
    """Wait before the second attempt; doubled for each further attempt."""
    longest_wait_s: float = 120.0
    """Longest wait that Slack may ask for; if it asks for more, the next run sends the rest."""
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
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


_LONGEST_S: Final[ContextVar[float]] = ContextVar("tsaudit_longest_s", default=math.inf)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Limits the time for sending inside the `with` block, whatever the configuration allows: the caller has no more
    time.
    """
    before = _LONGEST_S.set(seconds)
    try:
        yield
    finally:
        _LONGEST_S.reset(before)


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """The time that a run may spend on sending, however slowly Slack answers and however many channels there are."""

    seconds: float
    pace: SendingPace
    ends: float
    """When the budget ends, as a reading of `pace.now`."""

    @classmethod
    def of(cls, seconds: float, pace: SendingPace) -> TimeBudget:
        """A budget of this many seconds from now; shorter inside `at_most`."""
        chosen = min(seconds, _LONGEST_S.get())
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
