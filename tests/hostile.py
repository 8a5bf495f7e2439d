"""An HTTP peer that does what no server should: it drips, never ends, lies about itself, or says nothing."""

from __future__ import annotations

import contextlib
import functools
import gzip
import socket
import socketserver
import time
from collections.abc import Callable, Iterator
from typing import Final

from tests.serving import serving

Send = Callable[[bytes], None]
Fault = Callable[[Send], None]
"""Writes an answer; the connection is closed when it returns."""

_LONGEST_S: Final = 30.0
"""After that a peer gives up, so that a test that fails ends too."""


def _again_and_again(send: Send, data: bytes, pause_s: float = 0.0) -> None:
    end = time.monotonic() + _LONGEST_S
    while time.monotonic() < end:
        send(data)
        if pause_s:
            time.sleep(pause_s)


def answer(status: str, body: bytes = b"", **headers: str) -> Fault:
    """A whole answer with the status line and the headers."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in ({"Content_Length": len(body)} | headers).items()]
    head = "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode()
    return lambda send: send(head + body)


def _silent(send: Send) -> None:
    time.sleep(_LONGEST_S)


def then(head: bytes, data: bytes, pause_s: float = 0.0) -> Fault:
    """The beginning, and then the same bytes without end."""

    def write(send: Send) -> None:
        send(head)
        _again_and_again(send, data, pause_s)

    return write


_OK: Final = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
_ERROR: Final = b"HTTP/1.1 500 Internal Server Error\r\n\r\n"
_BLOCK: Final = b"x" * (1 << 20)
_SLOWLY_S: Final = 0.05


@functools.cache
def _bomb() -> bytes:
    return gzip.compress(b" " * (50 << 20), 1)


FAULTS: Final[dict[str, Fault]] = {
    "401": answer("401 Unauthorized", b'{"error":"authorization failed"}'),
    "403": answer("403 Forbidden", b'{"error":"forbidden"}'),
    "404": answer("404 Not Found", b"404 page not found"),
    "407": answer("407 Proxy Authentication Required"),
    "429": answer("429 Too Many Requests"),
    "500": answer("500 Internal Server Error", b'{"error":"timeout"}'),
    "503": answer("503 Service Unavailable", b"<html>busy</html>"),
    "web page": answer("200 OK", b"<!DOCTYPE html><html><body>Sign in</body></html>", Content_Type="text/html"),
    "redirect": answer("302 Found", Location="http://user:pw@127.0.0.1:1/elsewhere?token=abc"),
    "permanent redirect": answer("308 Permanent Redirect", Location="/elsewhere"),
    "cut before the status": lambda send: None,
    "cut in a header": lambda send: send(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "cut in the body": lambda send: send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"),
    "silence": _silent,
    "silence mid-answer": lambda send: (send(_OK + b'{"results":['), time.sleep(_LONGEST_S))[0],
    "drip in the status": then(b"", b"H", _SLOWLY_S),
    "drip in a header": then(b"HTTP/1.1 200 OK\r\nX-A: ", b"a", _SLOWLY_S),
    "drip in the body": then(_OK, b" ", _SLOWLY_S),
    "drip in the body of an error": then(_ERROR, b" ", _SLOWLY_S),
    "drip in chunks": then(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", _SLOWLY_S),
    "endless headers": then(b"HTTP/1.1 200 OK\r\n", b"X-A: a\r\n" * 1000),
    "endless header": then(b"HTTP/1.1 200 OK\r\nX-A: ", _BLOCK),
    "endless interim answers": then(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, 0.001),
    "endless line": then(_OK, _BLOCK),
    "endless error": then(_ERROR, _BLOCK),
    "endless lines": then(_OK, b"{}\n" * 100_000),
    "endless array": then(_OK + b"[", b"[]," * 100_000),
    "endless trailer": then(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"X-A: a\r\n" * 1000),
    "bomb": lambda send: answer("200 OK", _bomb(), Content_Encoding="gzip")(send),
    "bomb in an error": lambda send: answer("500 Internal Server Error", _bomb(), Content_Encoding="gzip")(send),
    "another protocol": lambda send: send(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "TLS": lambda send: send(b"\x15\x03\x01\x00\x02\x02\x46"),
    "TLS, as Go says it": answer("400 Bad Request", b"Client sent an HTTP request to an HTTPS server.\n"),
    "garbage": lambda send: send(bytes(range(256)) * 100),
}


class Hostile(socketserver.ThreadingTCPServer):
    """Answers everything with the fault."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 50

    def __init__(self, fault: Fault) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fault = fault
        self.asked: list[str] = []
        """The first line of each request."""

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class _Handler(socketserver.StreamRequestHandler):
    server: Hostile

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            line = self.rfile.readline(65_537)
            if line[:1] == b"\x16":  # TLS: an HTTP server does not understand it
                self._send(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return
            if not line:
                return
            headers = dict(self._headers())
            self.rfile.read(int(headers.get("content-length", 0)))
            self.server.asked.append(line.decode("latin-1").strip())
            self.server.fault(self._send)

    def _headers(self) -> Iterator[tuple[str, str]]:
        while (line := self.rfile.readline(65_537).decode("latin-1").strip()) != "":
            name, _, value = line.partition(":")
            yield name.lower(), value.strip()

    def _send(self, data: bytes) -> None:
        self.connection.sendall(data)

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
            self.connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def hostile(fault: str | Fault) -> Iterator[Hostile]:
    """Such a peer on the loopback address, while it is needed."""
    _bomb()  # making it takes longer than those who ask wait
    with serving(Hostile(FAULTS[fault] if isinstance(fault, str) else fault)) as server:
        yield server
