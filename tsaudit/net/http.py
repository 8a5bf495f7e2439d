"""HTTP connections whose requests end on time, whatever the peer sends, and never take much memory; and what is wrong
with a peer, in one line: why it cannot be reached, or what it is if not the server.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import socket
import ssl
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import BadStatusLine, HTTPException, LineTooLong, RemoteDisconnected
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NameResolutionError, NewConnectionError, ReadTimeoutError

from tsaudit.errors import TsauditError
from tsaudit.net.watchdog import OutOfTimeError, bounded, shut_down, within

BEGINNING_BYTES: Final = 1 << 16
"""Maximum bytes read of a body that is not a result: of an error, or of a greeting. The rest is not read."""
_READ_BYTES: Final = 1 << 16
_BEGINNING_S: Final = 2.0
_CONNECT_S: Final = 10.0


class UnfitAnswerError(TsauditError, HTTPError):
    """A response that cannot be used: a redirect, an encoded body, or too much data. The error's text is one line."""


class TooBigAnswerError(UnfitAnswerError):
    """The response has more bytes than are read."""


class RedirectedError(UnfitAnswerError):
    """The response is a redirect to `place`."""

    def __init__(self, line: str, status: int, place: str) -> None:
        super().__init__(line)
        self.status, self.place = status, place


class BoundedPool(urllib3.PoolManager):
    """A pool for one thread at a time, except for `abort`. Make requests and read their responses inside `until`.

    Redirects are never followed, so that credentials are sent only to the host they are for. Encodings are neither
    requested nor accepted, because a small body could become a big one. Bodies of errors, and of requests with
    `preload_content`, are read up to `BEGINNING_BYTES`; the caller reads all others piece by piece.
    """

    def __init__(self, *place: Any, **settings: Any) -> None:
        super().__init__(*place, **settings | {"num_pools": 2, "retries": False})
        self._sockets = _Sockets()
        self.pool_classes_by_scheme = _classes(self._sockets)

    @contextmanager
    def until(self, seconds: float) -> Iterator[None]:
        """Stop the work inside the `with` block after `seconds`. Raises OutOfTimeError."""
        limit = bounded(seconds, self.abort)
        with self._sockets.limited_by(limit), limit:
            yield

    @property
    def has_connected(self) -> bool:
        """Whether a connection was ready for a request, which may then have arrived."""
        return self._sockets.has_connected

    def abort(self) -> None:
        """Shut all sockets down, from any thread; a thread that waits for one gets an error."""
        self._sockets.abort()

    def clear(self) -> None:
        """Close the connections."""
        super().clear()
        self._sockets.prune_closed()

    def urlopen(  # type: ignore[override]  # urllib3 has overloads of its own
        self, method: str, url: str, redirect: bool = False, **settings: Any
    ) -> urllib3.BaseHTTPResponse:
        """The response. Raises UnfitAnswerError if it cannot be used."""
        del redirect
        only_beginning = settings.pop("preload_content", True)
        settings["headers"] = {**(settings.get("headers") or self.headers), "Accept-Encoding": "identity"}
        unread = {"preload_content": False, "decode_content": False, "retries": False}
        response = super().urlopen(method, url, redirect=False, **settings | unread)
        if place := response.get_redirect_location():
            response.close()
            raise RedirectedError(_redirected(url, str(place)), response.status, str(place))
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower() or "identity"
        if only_beginning or not 200 <= response.status < 300:
            return self.beginning(response, keep=encoding == "identity")
        if encoding != "identity":
            response.close()
            raise UnfitAnswerError(f"the response is encoded ({encoding[:30]}), which was not requested")
        return response

    def beginning(self, response: urllib3.BaseHTTPResponse, *, keep: bool = True) -> urllib3.HTTPResponse:
        """The same response, with the part of its body that arrives soon, at most `BEGINNING_BYTES`."""
        parts: list[bytes] = []
        # The part received so far is enough; the status says the rest.
        with contextlib.suppress(HTTPError, OSError), bounded(_BEGINNING_S, self.abort):
            size = 0
            while size < BEGINNING_BYTES and (data := response.read1(_READ_BYTES)):
                parts.append(data)
                size += len(data)
            if size < BEGINNING_BYTES:
                response.release_conn()
        response.close()
        body = b"".join(parts)[:BEGINNING_BYTES] if keep else b""
        headers = {k: v for k, v in response.headers.items() if k.lower() not in _OF_THE_BODY}
        return urllib3.HTTPResponse(
            io.BytesIO(body), headers, response.status, reason=response.reason, preload_content=True
        )


class BoundedProxy(BoundedPool, urllib3.ProxyManager):
    """The same pool through a proxy, whose address is the first argument."""


def through(proxy: str, **settings: Any) -> BoundedPool:
    """The pool through a proxy, whose address may contain a login, and may lack `http://`."""
    address = proxy if "://" in proxy else f"http://{proxy}"
    parts = urlsplit(address)
    login = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
    headers = urllib3.make_headers(proxy_basic_auth=login) if login else None
    return BoundedProxy(address, proxy_headers=headers, **settings)


_OF_THE_BODY: Final = frozenset({"content-length", "transfer-encoding", "content-encoding"})


def whole(response: urllib3.BaseHTTPResponse, most: int) -> bytes:
    """The whole body. Raises UnfitAnswerError if it has more than `most` bytes."""
    parts: list[bytes] = []
    size = 0
    while data := response.read1(_READ_BYTES):
        size += len(data)
        if size > most:
            response.close()
            raise TooBigAnswerError(f"the response has more than {most / 2**20:,.0f} MiB")
        parts.append(data)
    return b"".join(parts)


def _redirected(url: str, place: str) -> str:
    """What to do about a redirect. Changing `url` to another host is not suggested: that host would get the
    credentials, and the peer may name an address inside this network.
    """
    try:
        is_same = urlsplit(place).hostname == urlsplit(url).hostname
    except ValueError:
        is_same = False
    advice = "set that as `url`" if is_same else "check `url`, and any proxy in between"
    return f"it redirects to {_shown(place)}, which tsaudit does not follow: {advice}"


def _shown(place: str) -> str:
    """An address without its query, which could contain a token, and without credentials."""
    address = place.partition("?")[0]
    scheme, separator, rest = address.partition("://")
    if separator:
        host, slash, path = rest.partition("/")
        address = f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"
    return "".join(c if c.isprintable() else "?" for c in address)[:200]


class _Sockets:
    """A second handle for each open socket, to shut it down whatever its connection is doing.

    TLS takes over the first handle before its handshake, and a connection forgets it while it reads the last body.
    """

    def __init__(self) -> None:
        self._open: list[tuple[weakref.ref[HTTPConnection], socket.socket]] = []
        self._limits: list[bounded] = []
        self._lock = threading.Lock()
        self.has_connected = False

    def connected(self, connection: HTTPConnection, connect: Callable[[], socket.socket]) -> socket.socket:
        """A new socket, for which a second handle is kept."""
        limit = connection.timeout if isinstance(connection.timeout, int | float) else _CONNECT_S
        try:
            # A DNS lookup cannot be interrupted, and each of the addresses it returns would get the full time.
            made = within(limit, connect, too_late=lambda late: late.close())
        except OutOfTimeError as error:
            raise ConnectTimeoutError(connection, f"no connection within {limit:.3g} s") from error
        with self._lock:
            self._open.append((weakref.ref(connection), socket.socket(fileno=os.dup(made.fileno()))))
        if any(limit.fired for limit in self._limits):
            self.abort()
        return made

    @contextmanager
    def limited_by(self, limit: bounded) -> Iterator[None]:
        self._limits.append(limit)
        try:
            yield
        finally:
            self._limits.remove(limit)
            if not self._limits:
                self.prune_closed()

    def abort(self) -> None:
        with self._lock:
            for _, handle in self._open:
                shut_down(handle.fileno())

    def prune_closed(self) -> None:
        """Close the handles of closed connections: otherwise the peer would not notice."""
        with self._lock:
            still = [(of, handle) for of, handle in self._open if getattr(of(), "sock", None) is not None]
            kept = {id(handle) for _, handle in still}
            for _, handle in self._open:
                if id(handle) not in kept:
                    handle.close()
            self._open = still


def _classes(sockets: _Sockets) -> dict[str, type[HTTPConnectionPool]]:
    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return sockets.connected(self, super()._new_conn)

        def connect(self) -> None:
            super().connect()
            sockets.has_connected = True

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return sockets.connected(self, super()._new_conn)

        def connect(self) -> None:
            super().connect()
            sockets.has_connected = True

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


_BUSY: Final = frozenset({429, 502, 503, 504})
_NOT_TLS: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"}
)
_WANTS_TLS: Final = re.compile(rb"HTTP request (was sent )?to (an )?HTTPS (server|port)", re.IGNORECASE)
_TLS_ALERT: Final = "\x15\x03"
_MARKUP: Final = re.compile(rb"\s*<(!doctype|html|head|body|\?xml|title)", re.IGNORECASE)


def cause_of(error: BaseException) -> str:
    """What went wrong with a connection, in a few words and without memory addresses of objects."""
    for cause in _causes(error):
        if found := _cause(cause):
            return found
    if _is_loss(error):
        return "connection lost"
    # urllib3 wraps the system's error.
    last = list(_causes(error))[-1]
    text = re.sub(r"<[^>]*>[:,]?\s*", "", str(last.args[-1] if last.args else last))
    return " ".join(text.split())[:200] or type(last).__name__


def is_late(error: BaseException) -> bool:
    """Whether the time for connecting, or for the response, was up."""
    return isinstance(error, ReadTimeoutError | OutOfTimeError) or (
        isinstance(error, ConnectTimeoutError) and not isinstance(error, NewConnectionError)
    )


def is_page(headers: object, body: bytes) -> bool:
    """Whether the body of a response is a web page."""
    kind = str(getattr(headers, "get", lambda *_: "")("Content-Type", "")).lower()
    return kind.startswith("text/html") or _MARKUP.match(body[:200]) is not None


def what_it_is(response: urllib3.BaseHTTPResponse, credentials: str) -> str:
    """What the peer's response shows if it is not a greeting: `rejects ...`, `is busy ...`; empty if the peer may be
    the expected server.

    `credentials`: the rejected credentials, in words.
    """
    status, body = response.status, response.data
    if status == 401:
        return f"rejects {credentials} (HTTP 401)"
    if status == 403:
        return f"denies access: {credentials} has no permission, or there is a proxy in between (HTTP 403)"
    if status == 407:
        return "is a proxy that requires a login (HTTP 407)"
    if status in _BUSY:
        return f"is busy or down (HTTP {status})"
    if _WANTS_TLS.search(body):
        return "speaks TLS on this port; write https:// in `url`"
    if is_page(response.headers, body):
        return f"responds with a web page (HTTP {status}): is there a proxy or a login page in between?"
    return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and its causes, outermost first."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        inner = getattr(found, "reason", None)
        if not isinstance(inner, BaseException):
            inner = next((a for a in reversed(found.args) if isinstance(a, BaseException)), None)
        found = inner or found.__cause__ or found.__context__


def _cause(error: BaseException) -> str:
    if isinstance(error, UnfitAnswerError):
        return str(error)
    if isinstance(error, NameResolutionError | socket.gaierror):
        return "its host name is not known to DNS"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused: nothing listens on that port"
    if isinstance(error, ConnectTimeoutError) and not isinstance(error, NewConnectionError):
        return "no connection in time"
    if isinstance(error, ReadTimeoutError | OutOfTimeError):
        return "no response in time"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        if error.reason in _NOT_TLS:
            return "it does not use TLS on this port; write http:// in `url`"
        return f"TLS failed: {error.reason or error}"
    if isinstance(error, BadStatusLine) and not isinstance(error, RemoteDisconnected):
        if _TLS_ALERT in str(error.args[0]):
            return "it uses TLS on this port; write https:// in `url`"
        return "the server does not speak HTTP"
    if isinstance(error, LineTooLong) or (isinstance(error, HTTPException) and "headers" in str(error)):
        return "its headers are endless"
    return ""


def _is_loss(error: BaseException) -> bool:
    lost = (urllib3.exceptions.ProtocolError, urllib3.exceptions.IncompleteRead, ConnectionError, RemoteDisconnected)
    return any(isinstance(cause, lost) for cause in _causes(error))
