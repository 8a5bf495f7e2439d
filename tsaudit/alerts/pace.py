"""How fast messages are sent, and how long a run may spend on it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from tsaudit.alerts.slack_errors import OutOfTimeError


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
    call_s: float = 30.0
    """The longest that one call may take, from looking up the host's name to the last byte of the answer."""
    least_call_s: float = 5.0
    """What the last call of a run may take, however little is left: one cut short leaves its message in doubt."""
    settle_s: float = 5.0
    """How long after a call broke off its message may still turn up."""
    lock_wait_s: float = 300.0
    """How long another sender, which sends our messages too, may stand still."""
    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


_LONGEST_S: Final[ContextVar[float]] = ContextVar("tsaudit_longest_s", default=math.inf)


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Sending inside takes at most that long, whatever the configuration allows: its caller is given no more."""
    before = _LONGEST_S.set(seconds)
    try:
        yield
    finally:
        _LONGEST_S.reset(before)


@dataclass(frozen=True, slots=True)
class Budget:
    """The time that a run spends on sending, whatever Slack does and however many channels there are."""

    seconds: float
    pace: Pace
    ends: float
    """An instant of `pace.now`."""

    @classmethod
    def of(cls, seconds: float, pace: Pace) -> Budget:
        """From now on. Shorter inside `at_most`."""
        chosen = min(seconds, _LONGEST_S.get())
        return cls(chosen, pace, pace.now() + chosen)

    @property
    def left_s(self) -> float:
        """Negative once it is used up."""
        return self.ends - self.pace.now()

    def call_s(self) -> float:
        """How long the next call may take. OutOfTimeError when none may be made any more."""
        if self.left_s <= 0:
            raise self.used_up()
        return min(self.pace.call_s, max(self.left_s, self.pace.least_call_s))

    def sleep(self, seconds: float) -> None:
        """Wait. OutOfTimeError, at once, when the wait would not leave time for a call."""
        if seconds >= self.left_s:
            raise self.used_up()
        self.pace.sleep(seconds)

    def used_up(self) -> OutOfTimeError:
        return OutOfTimeError(
            f"sending stopped after {self.seconds:g} s (`slack.deadline_s`); the rest stays queued for the next run"
        )
