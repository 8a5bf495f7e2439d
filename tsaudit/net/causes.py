"""Describes in one line what is wrong with a peer: why it cannot be reached, or what it is if not the server."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from http.client import BadStatusLine, HTTPException, LineTooLong, RemoteDisconnected
from typing import Final

import urllib3
from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, NewConnectionError, ReadTimeoutError

from tsaudit.net.pool import UnfitAnswerError
from tsaudit.net.watchdog import OutOfTimeError

_BUSY: Final = frozenset({429, 502, 503, 504})
_NOT_TLS: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"}
)
_WANTS_TLS: Final = re.compile(rb"HTTP request (was sent )?to (an )?HTTPS (server|port)", re.IGNORECASE)
_TLS_ALERT: Final = "\x15\x03"
_MARKUP: Final = re.compile(rb"\s*<(!doctype|html|head|body|\?xml|title)", re.IGNORECASE)


def words(error: BaseException) -> str:
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
