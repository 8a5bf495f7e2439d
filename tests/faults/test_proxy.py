"""The proxy does to a client what its strike says, and to nobody before its moment."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import time
from collections.abc import Iterator

import pytest

from tests.faults import proxy
from tests.faults.proxy import FaultyProxy, Moment
from tests.serving import serving


class _Shout(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        while piece := self.request.recv(1000):
            self.request.sendall(piece.upper())


@pytest.fixture
def upstream() -> Iterator[tuple[str, int]]:
    with serving(socketserver.ThreadingTCPServer(("127.0.0.1", 0), _Shout)) as server:
        server.daemon_threads = True
        yield "127.0.0.1", server.server_address[1]


@contextlib.contextmanager
def _through(faulty: FaultyProxy) -> Iterator[socket.socket]:
    try:
        with socket.create_connection(("127.0.0.1", faulty.port), timeout=2) as client:
            yield client
    finally:
        faulty.close()


def _asked(client: socket.socket, text: bytes, size: int = 1000) -> bytes:
    client.sendall(text)
    return client.recv(size)


def _is_b(piece: bytes) -> bool:
    return piece.startswith(b"b")


def test_behaves_until_its_moment_then_hangs_up(upstream: tuple[str, int]) -> None:
    called: list[int] = []
    faulty = FaultyProxy(upstream, proxy.closed, Moment(_is_b, after=2), action=lambda: called.append(1))
    with _through(faulty) as client:
        assert [_asked(client, text) for text in (b"a", b"b1", b"c")] == [b"A", b"B1", b"C"]
        assert not called
        assert _asked(client, b"b2") == b""
        assert called == [1]


def test_later_connections_are_struck_too_unless_it_happens_once(upstream: tuple[str, int]) -> None:
    for once, said in ((False, b"no"), (True, b"A")):
        faulty = FaultyProxy(upstream, proxy.saying(b"no"), Moment(_is_b, once=once), answers_alone=True)
        with _through(faulty) as client:
            assert _asked(client, b"b") == b"no"
            with socket.create_connection(("127.0.0.1", faulty.port), timeout=2) as second:
                assert _asked(second, b"a") == said


def test_hangs_up_hard(upstream: tuple[str, int]) -> None:
    with pytest.raises(ConnectionResetError), _through(FaultyProxy(upstream, proxy.reset)) as client:
        client.recv(10)


@pytest.mark.wall_clock
def test_cuts_and_drips_the_true_answer(upstream: tuple[str, int]) -> None:
    with _through(FaultyProxy(upstream, lambda server: proxy.cut(server, after=3))) as client:
        assert (_asked(client, b"hello"), client.recv(10)) == (b"HEL", b"")
    with _through(FaultyProxy(upstream, proxy.dripping)) as client:
        began = time.monotonic()
        assert [_asked(client, b"abc"), client.recv(10)] == [b"A", b"B"]
        assert time.monotonic() - began > 3 * proxy.PAUSE_S


def test_says_nothing_and_notices_who_went_away(upstream: tuple[str, int]) -> None:
    faulty = FaultyProxy(upstream, proxy.silent, answers_alone=True)
    with _through(faulty) as client:
        client.settimeout(0.2)
        with pytest.raises(TimeoutError):
            _asked(client, b"hello")
        client.close()
        deadline = time.monotonic() + 2
        while faulty._open and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not faulty._open


def test_ends_what_is_endless(upstream: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST_BYTES", 1_000_000)
    with _through(FaultyProxy(upstream, proxy.endless(b"[", b"1,"), answers_alone=True)) as client:
        received = 0
        while piece := client.recv(1 << 16):
            received += len(piece)
        assert 1_000_000 <= received < 1_200_000
