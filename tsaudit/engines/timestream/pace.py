"""Keeps calls that list and describe below the quota of the account, once the service has refused one for it."""

from __future__ import annotations

import threading
import time
from typing import Final

_APART_S: Final = 0.25
"""An account may list and describe five times a second, and is not ours alone."""


class Pace:
    """Of all connections to one account. Safe for use by several threads."""

    def __init__(self) -> None:
        self._next = 0.0
        self._slow = False
        self._lock = threading.Lock()

    def throttled(self) -> None:
        """From now on calls keep their distance."""
        with self._lock:
            self._slow = True

    def wait(self, operation: str, deadline: float) -> bool:
        """Wait for the operation's turn; False at once when that is not before the deadline. Queries have no quota."""
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
