"""One HTTP POST: follows no redirect, is limited by the wall clock, and reads a limited number of bytes.

slack_sdk sends with `urllib.request.urlopen`, which follows a redirect to any host with the token in its headers, and
whose timeout restarts with every byte.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import urllib.request
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final
from urllib.error import URLError

from tsaudit.errors import TsauditError
from tsaudit.net.watchdog import OutOfTimeError, within

MOST_BYTES: Final = 8 << 20
"""Maximum size of a response. A page of 200 messages with all their blocks is smaller, and its parsed JSON fits in
memory.
"""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The HTTP response, whatever its status."""

    status: int
    headers: Mapping[str, str]
    """Header values by lower-case name."""
    body: bytes


class NoAnswerError(TsauditError):
    """No complete response arrived. The error's text is one line."""

    def __init__(self, line: str, *, sent: bool, late: bool = False) -> None:
        super().__init__(line)
        self.sent = sent
        """Whether the request may have arrived; False if no connection was made."""
        self.late = late
        """Whether the call was abandoned because its time was up."""


def post(url: str, body: bytes, headers: Mapping[str, str], timeout_s: float, proxy: str | None = None) -> HttpAnswer:
    """The response to the request. Raises NoAnswerError, at most `timeout_s` seconds after the call.

    `proxy` is used unless NO_PROXY names the host.
    """
    exchange = _Exchange(urllib.request.Request(url, body, dict(headers), method="POST"), timeout_s, proxy)  # noqa: S310 -- the scheme is checked with the configuration
    try:
        # Not every step accepts a timeout: DNS lookups, for example, or a server that sends one byte at a time.
        return within(timeout_s, exchange.run, give_up=exchange.give_up)
    except OutOfTimeError:
        line = f"no complete response within {timeout_s:.3g} s"
        raise NoAnswerError(line, sent=exchange.is_connected, late=True) from None
    except Exception as error:
        # Any exception of the HTTP client, whatever the server sent, is a failed call.
        cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
        words = " ".join(str(cause).split())[:200] or type(cause).__name__
        raise NoAnswerError(words, sent=exchange.is_connected, late=isinstance(cause, TimeoutError)) from None


class _Exchange:
    """The request in progress, run by its own thread."""

    def __init__(self, request: urllib.request.Request, timeout_s: float, proxy: str | None) -> None:
        self.is_connected = False
        """Whether the request may have arrived."""
        self._lock = threading.Lock()
        self._given_up = False
        self._request = request
        self._timeout_s = timeout_s
        self._proxy = proxy
        self._connection: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None

    def run(self) -> HttpAnswer:
        """The response. Raises any exception of the HTTP client."""
        try:
            return self._run()
        finally:
            self.hang_up()

    def give_up(self) -> None:
        """Disconnect, and keep the request from being sent from now on."""
        with self._lock:
            self._given_up = True
        self.hang_up()

    def hang_up(self) -> None:
        """Close the connection while another thread may still read from it."""
        connection, held = self._connection, self._socket
        for open_socket in (held, connection.sock if connection else None):
            if isinstance(open_socket, socket.socket):
                with suppress(OSError):
                    # Also for TLS sockets: their own shutdown would wait for the other side.
                    socket.socket.shutdown(open_socket, socket.SHUT_RDWR)

    def _run(self) -> HttpAnswer:
        # Only the handlers that a POST over HTTP needs: an opener without error handlers returns every status as it is.
        opener = urllib.request.OpenerDirector()
        opener.addheaders = []
        proxies = {"http": self._proxy, "https": self._proxy} if self._proxy else {}
        for handler in (urllib.request.ProxyHandler(proxies), _Http(self), _Https(self)):
            opener.add_handler(handler)
        response = opener.open(self._request, timeout=self._timeout_s)
        body = response.read(MOST_BYTES + 1)
        if len(body) > MOST_BYTES:
            raise OSError(f"the response is longer than {MOST_BYTES >> 20} MB")
        return HttpAnswer(response.status, {name.lower(): value for name, value in response.headers.items()}, body)

    def made(self, connection: http.client.HTTPConnection) -> None:
        """Store the connection, so that it can be closed: urllib hands over its connection before
        the response is read.
        """
        self._connection = connection

    def open(self, connected: socket.socket) -> None:
        """Mark the request as possibly delivered from now on. Raises TimeoutError if it was given up before."""
        with self._lock:
            if self._given_up:
                connected.close()
                raise TimeoutError("given up while connecting")
            self._socket, self.is_connected = connected, True


class _Http(urllib.request.HTTPHandler):
    def __init__(self, exchange: _Exchange) -> None:
        super().__init__()
        self._exchange = exchange

    def http_open(self, request: urllib.request.Request) -> Any:
        exchange = self._exchange

        class _Connection(http.client.HTTPConnection):
            def connect(self) -> None:
                exchange.made(self)
                super().connect()
                exchange.open(self.sock)

        return self.do_open(_Connection, request)


class _Https(urllib.request.HTTPSHandler):
    def __init__(self, exchange: _Exchange) -> None:
        super().__init__()
        self._exchange = exchange

    def https_open(self, request: urllib.request.Request) -> Any:
        exchange = self._exchange

        class _Connection(http.client.HTTPSConnection):
            def connect(self) -> None:
                exchange.made(self)
                super().connect()
                exchange.open(self.sock)

        return self.do_open(_Connection, request, context=ssl.create_default_context())
