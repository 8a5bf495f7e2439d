"""psycopg with limits by the wall clock: nothing on a connection is waited for longer than is given to it.

libpq's own settings do not do that: `statement_timeout` is the server's, and one that is frozen keeps to none;
`tcp_user_timeout` sees a network that is gone, but not a process that is stopped, whose machine goes on confirming what
it is sent. psycopg waits in short steps, and between any two of them the clock is looked at here.
"""

from __future__ import annotations

import math
import random
import socket
import struct
import sys
import time
from collections.abc import Generator
from typing import Any, Final

import psycopg
import sqlalchemy as sa

from tsaudit.net import watchdog
from tsaudit.net.watchdog import within

_RECEIVED: Final = slice(128, 136)
"""Where Linux' `struct tcp_info` has `tcpi_bytes_received`: https://man7.org/linux/man-pages/man7/tcp.7.html"""


_FULL: Final = ("too many clients already", "remaining connection slots", "too many connections for")
"""What a server that speaks English says when it takes no further connection; libpq brings no code along with it."""


class OutOfTimeError(psycopg.OperationalError):
    """Nothing came within the time given, and the connection was closed."""


class TooBigError(psycopg.OperationalError):
    """More came at once than there may be, and the connection was closed."""


class TimedConnection(psycopg.Connection[Any]):
    """A connection that gives up, and closes itself, when the wall clock passes its limits."""

    answer_s: float = math.inf
    """For each exchange with the server: a statement, the next rows of a cursor, a COMMIT."""
    deadline: float = math.inf
    """By `time.monotonic()`, for everything on this connection."""
    most_bytes: int | None = None
    """What one exchange may bring; None for no limit. libpq keeps all of it. Watched on Linux only, for TCP."""

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **kwargs: Any) -> Any:
        """As psycopg's, which all that needs the network goes through. OutOfTimeError, TooBigError."""
        return super().wait(self._watched(gen), *args, **kwargs)

    def abort(self) -> None:
        """Let whoever waits for this connection, in another thread, wait no longer; it closes then."""
        self.deadline = -math.inf

    def _watched(self, gen: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        began, received = time.monotonic(), self._received()
        try:
            state = next(gen)
            while True:
                if time.monotonic() >= min(self.deadline, began + self.answer_s):
                    self._give_up(gen)
                    raise OutOfTimeError(f"no answer within {time.monotonic() - began:.3g} s")
                if self.most_bytes is not None and self._received() - received > self.most_bytes:
                    self._give_up(gen)
                    raise TooBigError(f"more than {self.most_bytes / 1e6:,.0f} MB came at once")
                state = gen.send((yield state))
        except StopIteration as end:
            return end.value

    def _give_up(self, gen: Generator[Any, Any, Any]) -> None:
        gen.close()
        self.close()

    def _received(self) -> int:
        """Bytes that ever came in; 0 where the system does not count them."""
        if self.most_bytes is None or not sys.platform.startswith("linux"):
            return 0
        try:
            with socket.socket(fileno=self.pgconn.socket) as connection:
                try:
                    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED.stop)
                finally:
                    connection.detach()  # the socket is libpq's
        except (OSError, psycopg.Error):
            return 0
        return struct.unpack("=Q", info[_RECEIVED])[0] if len(info) >= _RECEIVED.stop else 0


def keep_time(engine: sa.Engine, connect_s: float, most_bytes: int | None = None, crowded_s: float = 0.0) -> None:
    """Let the engine's connections be timed ones, each made and greeted within `connect_s`.

    `most_bytes`: what one exchange may bring, SQLAlchemy's own questions to a new connection included. What a
    connection may wait for later is for whoever checks it out to say. `crowded_s`: for how long it is tried again while
    the server has no place for a further client. OutOfTimeError, TooBigError, or psycopg's errors.
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
        deadline = time.monotonic() + connect_s
        try:
            # In a thread of its own: the system's look-up of a name cannot be interrupted, and addresses add up.
            made = within(connect_s, lambda: TimedConnection.connect(**parameters), too_late=TimedConnection.close)
        except watchdog.OutOfTimeError:
            raise OutOfTimeError(f"no answer within {connect_s:.3g} s") from None
        made.deadline, made.most_bytes = deadline, most_bytes  # SQLAlchemy asks a new connection about its server
        return made

    sa.event.listen(engine, "do_connect", connect)
