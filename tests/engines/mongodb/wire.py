"""The wire of the stand-in for MongoDB: OP_MSG on a loopback port, a thread for each connection."""

from __future__ import annotations

import contextlib
import socketserver
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import bson

from tests.engines.mongodb.kept import OPTIONS
from tests.engines.mongodb.pipeline import Document

_OP_MSG: Final = 2013
_HEAD: Final = struct.Struct("<iiii")
_OVER_HTTP: Final = (
    b"HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 85\r\n\r\n"
    b"It looks like you are trying to access MongoDB over HTTP on the native driver port.\r\n"
)
"""What a server says to a browser."""


@dataclass(slots=True)
class Session:
    """Who is at the other end of a connection."""

    user: Any = None
    exchange: tuple[str, bytes, bytes] | None = None


Run = Callable[[dict[str, Any], Session], Document]
"""Answers a command."""


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, run: Run) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.run = run


class _Handler(socketserver.StreamRequestHandler):
    server: Server

    def handle(self) -> None:
        session = Session()
        with contextlib.suppress(ConnectionError):
            while len(head := self.rfile.read(_HEAD.size)) == _HEAD.size:
                length, request, _, code = _HEAD.unpack(head)
                if head.startswith(b"GET "):
                    self.wfile.write(_OVER_HTTP)
                if code != _OP_MSG:
                    return
                command = _command(self.rfile.read(length - _HEAD.size))
                body = b"\0\0\0\0\0" + bson.encode(self.server.run(command, session))
                self.wfile.write(_HEAD.pack(_HEAD.size + len(body), 0, request, _OP_MSG) + body)


def _command(message: bytes) -> dict[str, Any]:
    """The command's document, with the documents that travel beside it."""
    flags = struct.unpack("<I", message[:4])[0]
    end = len(message) - (4 if flags & 1 else 0)
    place = 4
    command: Document = {}
    beside: dict[str, Any] = {}
    while place < end:
        kind, size = message[place], struct.unpack("<i", message[place + 1 : place + 5])[0]
        section = message[place + 1 : place + 1 + size]
        place += 1 + size
        if kind == 0:
            command = bson.decode(section, OPTIONS)
        else:
            name, _, documents = section[4:].partition(b"\0")
            beside[name.decode()] = bson.decode_all(documents, OPTIONS)
    return {**command, **beside}
