"""Formats dates, times, and durations, the same way in every output."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from typing import Final

from tsaudit.text.numbers import many, number

_UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def day(moment: date) -> str:
    """The date as `2026-03-31`; for a time, its date in UTC."""
    return (moment.astimezone(UTC).date() if isinstance(moment, datetime) else moment).isoformat()


def instant(moment: datetime) -> str:
    """`2026-03-31 06:00 UTC`."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def span(start: datetime, end: datetime) -> str:
    """`2026-03-01 00:00 to 2026-03-31 00:00 UTC`."""
    return f"{start.astimezone(UTC):%Y-%m-%d %H:%M} to {instant(end)}"


def duration(seconds: float) -> str:
    """A duration in words: `0.25 seconds`, `1 minute 30 seconds`, `30 days`; from one minute on, rounded to
    the second.
    """
    if not math.isfinite(seconds):
        return f"{number(seconds)} seconds"
    if (short := float(f"{round(seconds, 6):.3g}")) < 60:
        return many(short, "second")
    left, parts = round(seconds), []
    for unit, length in _UNITS:
        count, left = divmod(left, length)
        if count:
            parts.append(many(count, unit))
    return " ".join(parts)


def retention(seconds: float | str | None) -> str:
    """How long rows are kept: `30 days`, `no retention` if nothing deletes them, empty if not known."""
    if seconds is None:
        return ""
    return "no retention" if isinstance(seconds, str) else duration(seconds)
