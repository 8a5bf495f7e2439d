"""Reads the body of an HTTP answer as it arrives, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import urllib3

from tsaudit.engines.connection import FactError, Rows
from tsaudit.model.profile import Reason
from tsaudit.net.pool import UnfitAnswerError

MOST_BYTES: Final = 20 << 20
"""Of an answer that is gathered before it is used: lists of names, not of series. Each takes ten times
its bytes once it is on a list."""
LONGEST_LINE: Final = 24 << 20
"""A chunk of 10,000 rows comes in one line."""
_READ_BYTES: Final = 1 << 16


def lines(response: urllib3.BaseHTTPResponse, rows: Rows, most: int | None = None) -> Iterator[bytes]:
    """The lines of the body without their ends, the last one too if nothing ends it; received bytes are billed.

    `most`: bytes of the whole body; None for an answer that is used as it comes. To be read inside of the pool's
    `until`, which ends it on time. Raises UnfitAnswerError for too much, urllib3's errors and OSError when the body
    breaks off.
    """
    parts: list[bytes] = []
    received = waiting = 0
    data = b"..."
    while data:
        # What is there, and no waiting until the buffer is full.
        data = response.read1(_READ_BYTES)
        received += len(data)
        rows.bytes = (rows.bytes or 0) + len(data)
        if most is not None and received > most:
            raise UnfitAnswerError(f"the answer has more than {most >> 20} MiB")
        *ends, rest = data.split(b"\n")
        for end in ends:
            yield b"".join([*parts, end])
            parts.clear()
            waiting = 0
        parts.append(rest)
        waiting += len(rest)
        if waiting > LONGEST_LINE:
            raise UnfitAnswerError(f"a line of the answer has more than {LONGEST_LINE >> 20} MiB")
    if last := b"".join(parts):
        yield last


def timed_out(timeout_s: float) -> FactError:
    """What to raise for a statement that was given up."""
    return FactError(Reason.TIMED_OUT, f"cancelled after {timeout_s:.3g} s")


def unfit(error: UnfitAnswerError) -> FactError:
    """What to raise for an answer that is not used."""
    return FactError(Reason.FAILED, str(error))
