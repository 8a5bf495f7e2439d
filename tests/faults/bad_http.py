"""What an HTTP server can answer wrongly, and a proxy that passes some requests on and answers the others so."""

from __future__ import annotations

import contextlib
import itertools
import re
import socket
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tests.faults import proxy
from tests.faults.proxy import FaultyProxy, Pieces, deliver

_MEGABYTE: Final = b" " * 1_000_000
_REASONS: Final = {
    200: "OK", 302: "Found", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable",
}  # fmt: skip
PAGE: Final = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><form>Password</form></body></html>\n"


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked."""

    head: bytes
    body: bytes

    @property
    def path(self) -> str:
        return self.head.split(b" ", 2)[1].decode("latin-1")

    @property
    def text(self) -> str:
        """All of it, to look for words in."""
        return (self.head + self.body).decode("latin-1")


True_ = Callable[[], Pieces]
"""The way to the true answer, headers and all."""
Answer = Callable[[Request, True_], Pieces]


class FaultyHttp(FaultyProxy):
    """Answers the requests that `is_bad` picks by `answer`, and passes the others on."""

    def __init__(
        self,
        upstream: tuple[str, int],
        answer: Answer,
        is_bad: Callable[[Request], bool],
        *,
        action: Callable[[], None] | None = None,
    ) -> None:
        self._answer, self._is_bad = answer, is_bad
        self.asked: list[str] = []
        super().__init__(upstream, moment=proxy.Moment(lambda _: False), action=action)

    def _talk(self, client: socket.socket) -> None:
        request = _read(client)
        if request is None:
            return
        self.asked.append(request.path)
        if self._is_bad(request):
            self._begin()
            deliver(client, self._answer(request, lambda: self._forwarded(request)))
        else:
            deliver(client, self._forwarded(request))

    def _part(self, client: socket.socket) -> None:
        """Close in good order: what the client has not read yet must still reach it."""
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_WR)
            client.settimeout(1)
            while client.recv(65_536):
                pass
        client.close()

    def _forwarded(self, request: Request) -> Pieces:
        head = re.sub(rb"\r\nConnection:[^\r]*", b"", request.head, flags=re.IGNORECASE)
        with socket.create_connection(self.upstream, timeout=30) as server:
            server.sendall(_closing(head) + request.body)
            beginning = b""
            while b"\r\n" not in beginning and (piece := server.recv(65_536)):
                beginning += piece
            yield _closing(beginning)
            while piece := server.recv(65_536):
                yield piece


def _closing(message: bytes) -> bytes:
    """With the header that says so: a client that is not told may send its next request here, and lose it."""
    return message.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)


def _read(client: socket.socket) -> Request | None:
    received = b""
    while b"\r\n\r\n" not in received:
        piece = client.recv(65_536)
        if not piece:
            return None
        received += piece
    head, _, body = received.partition(b"\r\n\r\n")
    found = re.search(rb"\r\ncontent-length:\s*(\d+)", head, re.IGNORECASE)
    while found and len(body) < int(found[1]):
        body += client.recv(65_536) or b"?"
    return Request(head + b"\r\n\r\n", body)


def response(
    status: int = 200,
    body: bytes = b"",
    kind: str = "application/json",
    *,
    length: int | None = None,
    headers: Mapping[str, str] | None = None,
) -> bytes:
    """A whole response. `length`: what it says it has; less than 0 for "until the connection ends"."""
    length = len(body) if length is None else length
    said = {"Content-Type": kind, "Connection": "close"} | dict(headers or {})
    if length >= 0:
        said["Content-Length"] = str(length)
    lines = [f"HTTP/1.1 {status} {_REASONS[status]}", *(f"{name}: {value}" for name, value in said.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


def always(content: bytes) -> Answer:
    return lambda request, true: iter((content,))


def status(code: int, body: bytes, headers: Mapping[str, str] | None = None) -> Answer:
    return always(response(code, body, headers=headers))


def html(request: Request, true: True_) -> Pieces:
    return iter((response(200, PAGE, "text/html; charset=utf-8"),))


def cut(request: Request, true: True_) -> Pieces:
    whole = b"".join(true())
    yield whole[: _middle(whole)]


def stalled(request: Request, true: True_) -> Pieces:
    yield from cut(request, true)
    yield from itertools.repeat(b"")


def silent(request: Request, true: True_) -> Pieces:
    return itertools.repeat(b"")


def closed(request: Request, true: True_) -> Pieces:
    return iter(())


def redirect(port: int) -> Answer:
    """To another place on this machine."""
    return always(response(302, b"", headers={"Location": f"http://127.0.0.1:{port}/elsewhere"}))


def dripping_head(request: Request, true: True_) -> Pieces:
    return proxy.dripping(true(), pauses=4)


def dripping_body(request: Request, true: True_) -> Pieces:
    """The head at once. A long body, so that it would take minutes: blanks before JSON and lines do no harm."""
    whole = b"".join(true())
    head, _, body = whole.partition(b"\r\n\r\n")
    kept = [line for line in head.split(b"\r\n") if not line.lower().startswith((b"content-len", b"transfer-enc"))]
    yield b"\r\n".join([*kept, b"", b""]).replace(b" 204 No Content", b" 200 OK", 1)
    yield from proxy.dripping(itertools.chain((b"\n" * 200,), (body,)))


def dripping_error(request: Request, true: True_) -> Pieces:
    yield response(500, b"", length=5000)
    yield from proxy.dripping(itertools.repeat(b"x"))


def endless(beginning: bytes, repeated: bytes, code: int = 200) -> Answer:
    block = repeated * max(1, 65_536 // len(repeated))
    head = response(code, beginning, length=-1)
    return lambda request, true: itertools.chain((head,), itertools.repeat(block))


def bomb(request: Request, true: True_) -> Pieces:
    """Blanks, a thousand times smaller on the wire than they will be."""
    yield response(200, b"", length=-1, headers={"Content-Encoding": "gzip"})
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    yield packer.compress(_MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    # After a full flush nothing refers to what came before: the same bytes unpack to the same again.
    again = packer.compress(_MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    yield from itertools.repeat(again, 1500)


def wrong_server(request: Request, true: True_) -> Pieces:
    return iter((b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n",))


def _middle(whole: bytes) -> int:
    """Half of the body; where there is none, half of the head."""
    head = whole.find(b"\r\n\r\n") + 4
    return head + (len(whole) - head) // 2 if len(whole) > head else head // 2
