"""A TCP proxy that behaves until a given moment and misbehaves from then on.

What it does wrong is a `Strike`: given the pieces the real server sends, it yields the pieces the client gets. An empty
piece stands for a pause of `PAUSE_S`, in which the proxy notices a client that hung up. Whatever a strike does, it ends
after `MOST_S` seconds and `MOST_BYTES` bytes.
"""

from __future__ import annotations

import contextlib
import itertools
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

PAUSE_S: Final = 0.05
MOST_S: Final = 40.0
MOST_BYTES: Final = 600_000_000

Pieces = Iterator[bytes]
Strike = Callable[[Pieces], Pieces]
Trigger = Callable[[bytes], bool]
"""Whether this piece of what the client sends is the one at which the fault begins."""


class HangUpError(Exception):
    """Raised by a strike: reset the connection instead of closing it in good order."""


# --- What can go wrong with any protocol --------------------------------------------------------------------------


def healthy(server: Pieces) -> Pieces:
    return server


def silent(server: Pieces) -> Pieces:
    """Take everything, say nothing."""
    return itertools.repeat(b"")


def closed(server: Pieces) -> Pieces:
    """Hang up without a word."""
    return iter(())


def reset(server: Pieces) -> Pieces:
    raise HangUpError
    yield b""


def dripping(server: Pieces, *, pauses: int = 4, start: int = 0) -> Pieces:
    """The true answer, a byte every `pauses` * PAUSE_S seconds after the first `start` bytes."""
    for place, byte in enumerate(itertools.chain.from_iterable(server)):
        yield bytes([byte])
        if place >= start:
            yield from itertools.repeat(b"", pauses)


def cut(server: Pieces, *, after: int = 40) -> Pieces:
    """The first bytes of the true answer, then the end."""
    yield from _first(server, after)


def stalled(server: Pieces, *, after: int = 40) -> Pieces:
    """The first bytes of the true answer, then silence."""
    yield from _first(server, after)
    yield from itertools.repeat(b"")


def saying(*pieces: bytes) -> Strike:
    """These bytes, whatever was asked, and the end."""
    return lambda server: iter(pieces)


def endless(beginning: bytes, repeated: bytes) -> Strike:
    """The beginning, and then the same piece over and over."""
    block = repeated * max(1, 65_536 // len(repeated))
    return lambda server: itertools.chain((beginning,), itertools.repeat(block))


def slowly(strike: Strike, *, start: int = 0) -> Strike:
    """What the strike says, byte by byte."""
    return lambda server: dripping(strike(server), start=start)


def _first(server: Pieces, size: int) -> Pieces:
    for piece in server:
        yield piece[:size]
        size -= len(piece)
        if size <= 0:
            return


# --- The proxy ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Moment:
    """When the fault begins: with the first connection, or with the client's `after`-th piece that `matches`."""

    matches: Trigger | None = None
    after: int = 1
    once: bool = False
    """Only this one answer is bad; everything after it is fine again."""
    each: bool = False
    """Every connection behaves until it sends such a piece itself."""


FROM_THE_START: Final = Moment()


class FaultyProxy:
    """Listens on a free loopback port until it is closed."""

    def __init__(
        self,
        upstream: tuple[str, int],
        strike: Strike = healthy,
        moment: Moment = FROM_THE_START,
        *,
        action: Callable[[], None] | None = None,
        answers_alone: bool = False,
    ) -> None:
        """`action` is called when the fault begins, before the piece that began it goes on to the server.

        `answers_alone`: the strike does not need the server's answer, so the server is not asked any more.
        """
        self.upstream, self.strike, self.moment, self.action = upstream, strike, moment, action
        self.answers_alone = answers_alone
        self.struck = threading.Event()
        self.done = threading.Event()
        """Whether the fault has begun and `action` has returned."""
        self.connections = 0
        self._seen = 0
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._listener.getsockname()[1]
        self._closing = False
        if moment.matches is None:
            self._begin()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Listen no more, and hang up on everybody."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.hang_up()

    def hang_up(self) -> None:
        """Reset all connections, as a server that is killed does."""
        with self._lock:
            gone, self._open = self._open, set()
        for one in gone:
            _reset(one)

    def _begin(self) -> None:
        if not self.struck.is_set():
            self.struck.set()
            if self.action:
                self.action()
            self.done.set()

    def _accept(self) -> None:
        while not self._closing:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open.add(client)
        try:
            self._talk(client)
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(client)
            self._part(client)

    def _talk(self, client: socket.socket) -> None:
        if self.struck.is_set() and self.answers_alone and not self.moment.once and not self.moment.each:
            threading.Thread(target=_swallow, args=(client,), daemon=True).start()
            deliver(client, self.strike(iter(())))
            return
        with socket.create_connection(self.upstream, timeout=10) as server:
            server.settimeout(None)
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _Link(self, client, server).run()

    def _part(self, client: socket.socket) -> None:
        _close(client)

    def _notices(self, piece: bytes) -> bool:
        """Whether the fault begins with this piece."""
        if self.moment.matches is None or not self.moment.matches(piece):
            return False
        with self._lock:
            self._seen += 1
            return self._seen >= self.moment.after if self.moment.each else self._seen == self.moment.after


class _Link:
    """One client with its connection to the server."""

    def __init__(self, proxy: FaultyProxy, client: socket.socket, server: socket.socket) -> None:
        self.proxy, self.client, self.server = proxy, client, server
        self.bad = threading.Event()
        """Set when this connection's answers are bad from now on."""
        if proxy.struck.is_set() and not proxy.moment.once and not proxy.moment.each:
            self.bad.set()

    def run(self) -> None:
        threading.Thread(target=self._upwards, daemon=True).start()
        with contextlib.suppress(OSError):
            self._downwards()
        _close(self.server)

    def _upwards(self) -> None:
        proxy = self.proxy
        with contextlib.suppress(OSError):
            while piece := self.client.recv(65_536):
                if not self.bad.is_set() and proxy._notices(piece):
                    self.bad.set()
                    proxy._begin()
                if not (self.bad.is_set() and proxy.answers_alone):
                    self.server.sendall(piece)
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_WR)

    def _downwards(self) -> None:
        while not self.bad.is_set():
            if not _readable(self.server):
                continue
            if self.bad.is_set():
                break
            piece = self.server.recv(65_536)
            if not piece:
                return
            self.client.sendall(piece)
        deliver(self.client, self.proxy.strike(_said(self.server)))


def deliver(client: socket.socket, pieces: Pieces) -> None:
    """Send the pieces, within `MOST_S` and `MOST_BYTES`, for as long as the client listens."""
    until, left = time.monotonic() + MOST_S, MOST_BYTES
    try:
        for piece in pieces:
            if time.monotonic() > until or left <= 0:
                return
            if piece:
                client.sendall(piece)
                left -= len(piece)
            elif _is_gone(client):
                return
            else:
                time.sleep(PAUSE_S)
    except HangUpError:
        _reset(client)
    except (OSError, ValueError):  # ValueError: closed by `hang_up` meanwhile
        return


def _said(server: socket.socket) -> Pieces:
    """What the server says from now on; pauses while it says nothing."""
    while True:
        if not _readable(server):
            yield b""
            continue
        piece = server.recv(65_536)
        if not piece:
            return
        yield piece


def _readable(connection: socket.socket) -> bool:
    try:
        return bool(select.select([connection], [], [], PAUSE_S)[0])
    except ValueError as error:  # closed meanwhile
        raise OSError from error


def _is_gone(client: socket.socket) -> bool:
    """Whether the client closed its side; what it still sends is somebody else's to read."""
    if client.fileno() < 0:
        return True
    poller = select.poll()
    poller.register(client, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
    return bool(poller.poll(0))


def _swallow(client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while client.recv(65_536):
            pass


def _reset(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    # Wakes a thread that waits in recv, which would keep the connection open; sends nothing.
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RD)
    connection.close()


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
