"""Reads the body of an HTTP answer as it arrives, within a deadline."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Final

import urllib3
from urllib3.exceptions import IncompleteRead, ProtocolError

from tsaudit.connector import FactError, Rows
from tsaudit.profile import Reason

_READ_BYTES: Final = 1 << 16


def lines(response: urllib3.BaseHTTPResponse, deadline: float, rows: Rows) -> Iterator[bytes]:
    """The lines of the body without their ends, the last one too if nothing ends it; received bytes are billed.

    `deadline` is an instant of `time.monotonic()`. Raises TimeoutError at the deadline, urllib3's errors and OSError
    when the body breaks off.
    """
    parts: list[bytes] = []
    data = b"..."
    while data:
        _wait_at_most(response, deadline)
        # What is there, and no waiting until the buffer is full: the deadline holds for a server that drips, too.
        data = response.read1(_READ_BYTES)
        rows.bytes = (rows.bytes or 0) + len(data)
        *ends, rest = data.split(b"\n")
        for end in ends:
            yield b"".join([*parts, end])
            parts.clear()
        parts.append(rest)
    if last := b"".join(parts):
        yield last


def timed_out(timeout_s: float) -> FactError:
    """What to raise for a statement that was given up."""
    return FactError(Reason.TIMED_OUT, f"cancelled after {timeout_s:g} s")


def words(error: BaseException) -> str:
    """What went wrong with a connection, in few words and without addresses of objects."""
    if isinstance(error, IncompleteRead | ProtocolError):
        return "connection lost"
    reason = error.args[-1] if error.args else error
    return re.sub(r"<[^>]*>[:,]?\s*", "", str(reason)).strip()[:200] or type(error).__name__


def _wait_at_most(response: urllib3.BaseHTTPResponse, deadline: float) -> None:
    """Let the next read end at the deadline, however little the server sends at a time."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    socket = getattr(getattr(response, "connection", None), "sock", None)
    if socket is not None:
        socket.settimeout(left)
