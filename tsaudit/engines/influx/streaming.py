"""Reads the body of an HTTP response as it arrives, line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import urllib3

from tsaudit.engines.connection import FactError, Rows
from tsaudit.model.profile import Reason
from tsaudit.net.http import TooBigAnswerError, UnfitAnswerError

MOST_BYTES: Final = 20 << 20
"""Maximum size in bytes of a response that is collected before it is used: lists of names, not of series. In memory,
each name takes ten times its size.
"""
LONGEST_LINE: Final = 24 << 20
"""Maximum length of a line in bytes: a chunk of 10,000 rows is one line."""
_READ_BYTES: Final = 1 << 16


def is_major(version: str, major: int) -> bool:
    """Whether a server may be of the major version. A server that was built from source reports no version."""
    numbered = re.match(r"v?(\d+)\.", version)
    return numbered is None or int(numbered[1]) == major


def lines(response: urllib3.BaseHTTPResponse, rows: Rows, most: int | None = None) -> Iterator[bytes]:
    """The lines of the body without line endings, including an unterminated last line; the bytes received are recorded.

    `most`: maximum size of the whole body; None for a response that is used as it arrives. Use it inside the pool's
    `until`, which limits the time. Raises UnfitAnswerError if there is too much, urllib3's errors, and OSError if the
    body ends early.
    """
    parts: list[bytes] = []
    received = waiting = 0
    data = b"..."
    while data:
        # Returns the available data instead of waiting until the buffer is full.
        data = response.read1(_READ_BYTES)
        received += len(data)
        rows.bytes = (rows.bytes or 0) + len(data)
        if most is not None and received > most:
            raise TooBigAnswerError(f"the response has more than {most >> 20} MiB")
        *ends, rest = data.split(b"\n")
        for end in ends:
            yield b"".join([*parts, end])
            parts.clear()
            waiting = 0
        parts.append(rest)
        waiting += len(rest)
        if waiting > LONGEST_LINE:
            raise TooBigAnswerError(f"a line of the response has more than {LONGEST_LINE >> 20} MiB")
    if last := b"".join(parts):
        yield last


def timed_out(timeout_s: float) -> FactError:
    """The error for a statement that was stopped because its time was up."""
    return FactError(Reason.TIMED_OUT, f"canceled after {timeout_s:.3g} s")


def unfit(error: UnfitAnswerError) -> FactError:
    """The error for a response that cannot be used."""
    return FactError(Reason.OVER_BUDGET if isinstance(error, TooBigAnswerError) else Reason.FAILED, str(error))
