"""The connections of one audit: one for each querying thread, and a new one in place of an aborted one."""

from __future__ import annotations

import contextlib
import threading
from typing import Final

from tsaudit.engines.connection import Connection, ConnectorError
from tsaudit.net.watchdog import Deadline, OutOfTimeError, within

_RECONNECT_S: Final = 15.0
_CLOSE_S: Final = 2.0


class Connections:
    """Thread-safe. The first connection of an audit is closed by the code that opened it."""

    def __init__(self, first: Connection, deadline: Deadline) -> None:
        self._first = first
        self._deadline = deadline
        self._own = threading.local()
        self._own.connection = first
        self._opened: list[Connection] = []
        self._lock = threading.Lock()

    def here(self) -> Connection:
        """The connection of the current thread. ConnectorError if it needs a new one and none can be opened."""
        found: Connection | None = getattr(self._own, "connection", None)
        if found is None:
            found = self._own.connection = self._reconnected()
            with self._lock:
                self._opened.append(found)
        return found

    def broke_off(self) -> None:
        """Stop using the connection of this thread: it was aborted."""
        self._own.connection = None

    def close_others(self) -> None:
        """Close the connections of other threads when they are done."""
        self._close(keep=getattr(self._own, "connection", None))

    def close(self) -> None:
        """Close all connections opened here. No queries are allowed afterward."""
        self._close(keep=None)

    def _close(self, keep: Connection | None) -> None:
        with self._lock:
            closing = [connection for connection in self._opened if connection is not keep]
            self._opened = [connection for connection in self._opened if connection is keep]
        for connection in closing:
            # Some drivers send a goodbye and wait for the response.
            with contextlib.suppress(OutOfTimeError):
                within(_CLOSE_S, connection.close, give_up=connection.abort)

    def _reconnected(self) -> Connection:
        limit = min(_RECONNECT_S, max(self._deadline.left(), 0.0))
        try:
            return within(limit, self._first.reconnect, too_late=lambda late: late.close())
        except OutOfTimeError as error:
            raise ConnectorError(f"no new connection within {limit:.3g} s") from error
