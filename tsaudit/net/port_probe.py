"""Finds out what kind of server listens on a port, for the error message if it is not the expected engine.

It makes at most three connections, each with a timeout: one that waits for a greeting, one that sends a browser's
request, and one that sends the request of a PostgreSQL client. Nothing secret is sent, and at most a few hundred bytes
are read.
"""

from __future__ import annotations

import contextlib
import re
import socket
import time
from typing import Final

_READ: Final = 600
_GREETING_S: Final = 0.5
"""Seconds to wait for a greeting: servers that speak first do so immediately."""
_STARTTLS: Final = bytes.fromhex("0000000804d2162f")
"""PostgreSQL's SSLRequest: https://www.postgresql.org/docs/current/protocol-message-formats.html"""
_GET: Final = b"GET / HTTP/1.0\r\n\r\n"
_MYSQL: Final = re.compile(rb"\A...\x00\x0a([\x20-\x7e]{1,60})\x00", re.DOTALL)
"""The first packet of https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_connection_phase.html"""
_GREETINGS: Final = (
    (re.compile(rb"\ASSH-"), "an SSH server"),
    (re.compile(rb"\A220[ -]"), "a mail or FTP server"),
    (re.compile(rb"\A(\+OK|\* OK)"), "a mail server"),
)
_ANSWERS: Final = (
    (re.compile(rb"trying to access MongoDB over HTTP"), "MongoDB"),
    (re.compile(rb"\AHTTP/1\.[01] 400 .*HTTPS|Client sent an HTTP request to an HTTPS", re.DOTALL), "an HTTPS server"),
    # A complete header, or a long text: the beginning of a slow response may still come from MongoDB.
    (re.compile(rb"\AHTTP/(.*\r\n\r\n|.{500})", re.DOTALL), "an HTTP server"),
    (re.compile(rb"\A[\x15\x16]\x03"), "a server that speaks TLS"),
    (re.compile(rb"\A-(ERR|NOAUTH|DENIED)"), "Redis"),
)


def what_listens(host: str, port: int, seconds: float = 2.0) -> str:
    """What listens on the port, such as `an HTTP server` or `MySQL 8.0.36`; empty if it is not recognized, or nothing
    listens.
    """
    until = time.monotonic() + seconds
    greeting = _said(host, port, b"", min(time.monotonic() + _GREETING_S, until))
    if found := _MYSQL.match(greeting):
        return f"a server with MySQL's protocol ({found[1].decode('ascii')})"
    if found_kind := _kind(greeting, (*_GREETINGS, *_ANSWERS)):
        return found_kind
    if found_kind := _kind(_said(host, port, _GET, min(time.monotonic() + seconds / 2, until)), _ANSWERS):
        return found_kind
    return "PostgreSQL" if _said(host, port, _STARTTLS, until, most=1) in (b"S", b"N") else ""


def _kind(said: bytes, kinds: tuple[tuple[re.Pattern[bytes], str], ...]) -> str:
    return next((kind for pattern, kind in kinds if pattern.search(said)), "")


def _said(host: str, port: int, question: bytes, until: float, most: int = _READ) -> bytes:
    """The first bytes of the response that arrive in time. If a question is sent, one chunk is enough."""
    said = b""
    try:
        connection = socket.create_connection((host, port), timeout=max(until - time.monotonic(), 0.01))
    except (OSError, UnicodeError):
        # A host name may be no name at all.
        return said
    with connection, contextlib.suppress(OSError):
        if question:
            connection.sendall(question)
        while len(said) < most and (left := until - time.monotonic()) > 0:
            connection.settimeout(left)
            piece = connection.recv(_READ)
            said += piece
            if not piece or said.endswith(b"\n"):
                break
    return said
