"""psycopg with wall-clock limits: no operation on a connection waits longer than its limit.

libpq's own settings cannot do that: `statement_timeout` is enforced by the server, and a frozen server does not enforce
it; `tcp_user_timeout` detects a broken network, but not a stopped process whose machine still acknowledges packets.
psycopg waits in short steps, and the clock is checked between them.
"""

from __future__ import annotations

import math
import os
import random
import socket
import struct
import sys
import time
from collections.abc import Generator, Mapping
from typing import Any, Final

import psycopg
import sqlalchemy as sa

from tsaudit.errors import TsauditError
from tsaudit.net import watchdog
from tsaudit.net.addresses import is_loopback
from tsaudit.net.watchdog import within

_RECEIVED: Final = slice(128, 136)
"""Offset of `tcpi_bytes_received` in Linux' `struct tcp_info`: https://man7.org/linux/man-pages/man7/tcp.7.html"""


_FULL: Final = ("too many clients already", "remaining connection slots", "too many connections for")
"""English messages of a server that accepts no more connections; libpq does not pass on an error code."""


class NoResponseError(TsauditError, psycopg.OperationalError):
    """Nothing arrived within the time limit, and the connection was closed."""


class TooBigError(TsauditError, psycopg.OperationalError):
    """More data arrived at once than allowed, and the connection was closed."""


class TimedConnection(psycopg.Connection[Any]):
    """A connection that closes itself when it exceeds its wall-clock limits."""

    answer_s: float = math.inf
    """Time limit of each exchange with the server, in seconds: a statement, the next rows of a cursor, a COMMIT."""
    deadline: float = math.inf
    """Time by `time.monotonic()` at which everything on this connection must end."""
    most_bytes: int | None = None
    """Maximum bytes per exchange; None for no limit. libpq keeps all of them in memory. Checked on Linux
    only, for TCP.
    """

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        """psycopg's wait function, which every network operation uses. Raises NoResponseError, TooBigError."""
        return super().wait(self._watched(gen), *args, **kwargs)

    def abort(self) -> None:
        """Stop another thread that is waiting on this connection, which is then closed."""
        self.deadline = -math.inf

    def _watched(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        began, counted = time.monotonic(), self._counted()
        received = _received(counted)
        try:
            state = next(gen)
            while True:
                if time.monotonic() >= min(self.deadline, began + self.answer_s):
                    self._give_up(gen)
                    raise NoResponseError(f"no response within {time.monotonic() - began:.3g} s")
                if self.most_bytes is not None and _received(counted) - received > self.most_bytes:
                    self._give_up(gen)
                    raise TooBigError(f"more than {self.most_bytes / 1e6:,.0f} MB arrived at once")
                state = gen.send((yield state))
        except StopIteration as end:
            return end.value
        finally:
            if counted is not None:
                counted.detach()  # the socket belongs to libpq

    def _give_up(self, gen: Generator[Any, Any, Any]) -> None:
        gen.close()
        self.close()

    def _counted(self) -> socket.socket | None:
        """The connection's socket, of which the system counts the bytes; None if they have no maximum."""
        if self.most_bytes is None or not sys.platform.startswith("linux"):
            return None
        try:
            return socket.socket(fileno=self.pgconn.socket)
        except (OSError, psycopg.Error):
            return None


def _received(counted: socket.socket | None) -> int:
    """Total bytes received; 0 if the system does not count them."""
    if counted is None:
        return 0
    try:
        info = counted.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.stop)
    except OSError:
        return 0
    return int(struct.unpack("=Q", info[_RECEIVED])[0]) if len(info) >= _RECEIVED.stop else 0


_WITH_TLS: Final = frozenset({"require", "verify-ca", "verify-full"})
_REQUIRE_AUTH: Final = 160_000
"""From this version on, libpq can refuse authentication methods."""
_NOT_IN_CLEAR: Final = "!password"


def authentication(parameters: Mapping[str, Any]) -> dict[str, str]:
    """A parameter for libpq that prevents sending the password in clear text without TLS, unless the URL itself allows
    it.
    """
    mode = parameters.get("sslmode") or os.environ.get("PGSSLMODE", "")
    hosts = [parameters.get("host") or os.environ.get("PGHOST", ""), parameters.get("hostaddr") or ""]
    is_safe = mode in _WITH_TLS or all(is_loopback(host) for host in hosts)
    if is_safe or "require_auth" in parameters or psycopg.pq.version() < _REQUIRE_AUTH:
        return {}
    return {"require_auth": _NOT_IN_CLEAR}


def asks_in_clear(error: str) -> bool:
    """Whether the error says that libpq refused to send the password."""
    return f'"{_NOT_IN_CLEAR}" failed' in error


def keep_time(engine: sa.Engine, connect_s: float, most_bytes: int | None = None, crowded_s: float = 0.0) -> None:
    """Replace the engine's connections with timed ones that connect within `connect_s`. None of them sends a password
    in clear text to another machine.

    `most_bytes`: the maximum for one exchange, including SQLAlchemy's own queries on a new connection. The code that
    checks a connection out sets its later timeouts. `crowded_s`: how long to retry while the server has no free
    connection slot. Connecting raises NoResponseError, TooBigError, or psycopg's errors.
    """

    def connect(_dialect: object, _record: object, _arguments: object, parameters: dict[str, Any]) -> TimedConnection:
        until = time.monotonic() + crowded_s
        while True:
            try:
                return greeted(parameters)
            except psycopg.OperationalError as error:
                if time.monotonic() >= until or not any(words in str(error) for words in _FULL):
                    raise
                time.sleep(random.uniform(0.1, 0.5))  # noqa: S311 -- so that a crowd does not come back at once

    def greeted(parameters: dict[str, Any]) -> TimedConnection:
        deadline, parameters = time.monotonic() + connect_s, parameters | authentication(parameters)
        try:
            # In a separate thread: DNS lookups cannot be interrupted, and the times of several addresses add up.
            made = within(connect_s, lambda: TimedConnection.connect(**parameters), too_late=TimedConnection.close)
        except watchdog.OutOfTimeError:
            raise NoResponseError(f"no response within {connect_s:.3g} s") from None
        made.deadline, made.most_bytes = (
            deadline,
            most_bytes,
        )  # SQLAlchemy queries a new connection for its server's version
        return made

    sa.event.listen(engine, "do_connect", connect)
