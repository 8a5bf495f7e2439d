"""Servers that a test needs, each in a thread of this process, on a free port of the loopback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer
from threading import Thread
from typing import Any, TypeVar

AnyServer = TypeVar("AnyServer", bound=BaseServer)


class Handler(BaseHTTPRequestHandler):
    """Answers requests over HTTP, and prints nothing about them."""

    def content(self) -> bytes:
        """That of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """A whole response. `headers`: with `_` for each `-`."""
        self.send_response(status)
        for name, value in ({"Content_Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""


class _HttpServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is no error."""


def serving_http(handler: type[BaseHTTPRequestHandler]) -> AbstractContextManager[ThreadingHTTPServer]:
    """A server that answers with the handler, until the end of the block."""
    return serving(_HttpServer(("127.0.0.1", 0), handler))


@contextmanager
def serving(server: AnyServer) -> Iterator[AnyServer]:
    """The server, until the end of the block."""
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
