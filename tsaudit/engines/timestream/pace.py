"""Keeps list and describe calls below the quota of the account, once the service has throttled one."""

from __future__ import annotations

import threading
import time
from typing import Final

_APART_S: Final = 0.25
"""An account may list and describe five times a second, and others may use it, too."""


class Pace:
    """The pace of all connections to one account. Thread-safe."""

    def __init__(self) -> None:
        self._next = 0.0
        self._slow = False
        self._lock = threading.Lock()

    def throttled(self) -> None:
        """From now on, space out the calls."""
        with self._lock:
            self._slow = True

    def wait(self, operation: str, deadline: float) -> bool:
        """Wait for the operation's turn; immediately False if that is after the deadline. Queries have no quota."""
        if not operation.startswith(("List", "Describe")):
            return True
        with self._lock:
            if not self._slow:
                return True
            at = max(self._next, time.monotonic())
            if at >= deadline:
                return False
            self._next = at + _APART_S
        time.sleep(max(0.0, at - time.monotonic()))
        return True
