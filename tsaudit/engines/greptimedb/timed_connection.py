"""PyMySQL with limits on wall-clock time and bytes, instead of timeouts per read."""

from __future__ import annotations

import math
import time
from typing import Any, Final

from pymysql.connections import Connection
from pymysql.constants import CR
from pymysql.err import OperationalError

from tsaudit.errors import TsauditError
from tsaudit.net.addresses import IN_CLEAR, is_loopback

HEADER_BYTES: Final = 2_000_000
"""Maximum bytes of everything before the rows. PyMySQL turns a column description of 25 bytes into an object of a
kilobyte.
"""
_CLOCK_S: Final = 0.05
"""Seconds between two updates of the socket's timeout by a busy reader: each update is a system call."""

_IN_CLEAR: Final = frozenset({b"mysql_clear_password", b"dialog"})
"""Authentication methods in which the server receives the password itself."""

_UNKNOWN: Final = -1.0
"""A timeout value that never occurs, so that PyMySQL sets the timeout of the socket again."""


class ResultTooBigError(TsauditError, OperationalError):  # type: ignore[misc]  # PyMySQL has no types
    """More data arrived than allowed. The connection is closed."""


class TimedMysqlConnection(Connection):  # type: ignore[misc]
    """A connection that closes itself when it exceeds its limits."""

    deadline: float = math.inf
    """Time by `time.monotonic()` at which everything on this connection must end."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self.received = 0
        """Total number of bytes received."""
        self._most = math.inf
        self._reported_at = -math.inf
        super().__init__(*arguments, **settings)

    def connect(self, sock: Any = None) -> None:
        """Connect and log in, within the connect timeout for both together."""
        self.deadline = time.monotonic() + self.connect_timeout
        self.allow(HEADER_BYTES)
        super().connect(sock)

    def _process_auth(self, plugin_name: bytes, *arguments: Any) -> Any:
        if plugin_name in _IN_CLEAR and not self._secure and not is_loopback(self.host or ""):
            self._force_close()
            raise OperationalError(CR.CR_AUTH_PLUGIN_ERR, IN_CLEAR)
        return super()._process_auth(plugin_name, *arguments)

    def allow(self, more_bytes: int) -> None:
        """Allow this many bytes from now on, and raise ResultTooBigError after that."""
        self._most = self.received + more_bytes

    def _write_bytes(self, data: bytes) -> None:
        # The remaining time limits everything that is sent.
        self._write_timeout, self._current_timeout = self._left(), _UNKNOWN
        super()._write_bytes(data)
        self._reported_at = -math.inf

    def _read_bytes(self, num_bytes: int) -> bytes:
        self.received += num_bytes
        if self.received > self._most:
            self._force_close()
            raise ResultTooBigError(CR.CR_NET_PACKET_TOO_LARGE, "more data arrived at once than can be read")
        try:
            data = self._read(num_bytes)
        except OSError as error:
            self._force_close()
            raise OperationalError(
                CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({error})"
            ) from error
        if len(data) < num_bytes:
            self._force_close()
            raise OperationalError(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query")
        return data

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            now = time.monotonic()
            if now - self._reported_at > _CLOCK_S or data:
                self._sock.settimeout(self._left())
                # PyMySQL must not set the timeout again before the next packet.
                self._reported_at, self._current_timeout = now, self._read_timeout
            piece = self._rfile.read1(size - len(data))
            if not piece:
                break
            data = data + piece if data else piece
        return data

    def _left(self) -> float | None:
        """Seconds left, always positive, because sockets treat 0 differently. None: no limit."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return None if math.isinf(left) else left
