"""Recognizes times that were written in a wrong unit: milliseconds that were taken for nanoseconds are in January 1970.

Only times that are recent in the right unit count. Those of a history that begins in 1970 are spread over the month,
birth dates are days, and 1970-01-01 00:00:00 stands for no time.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST: Final = _EPOCH + timedelta(seconds=1)
"""Seconds that are taken for nanoseconds are later, and what stands for no time is earlier."""
LATEST: Final = datetime(1971, 1, 1, tzinfo=UTC)
"""Where misdated rows are looked for. They are in January: a history goes on after it."""
_FACTORS: Final = (1_000, 1_000_000, 1_000_000_000)
_RECENT: Final = timedelta(days=3653)
"""How old the newest such row may really be: our default."""
_AHEAD: Final = timedelta(days=1)
"""How far clocks may be ahead."""
_MINUTE: Final = timedelta(minutes=1)


def factor_of(first: datetime, last: datetime, now: datetime) -> int | None:
    """By how much the unit of the times is too small; None if not all of them are recent in one other unit.

    `first`, `last`: the ends of the times from EARLIEST to LATEST.
    """
    is_by_minute = not ((first - _EPOCH) % _MINUTE or (last - _EPOCH) % _MINUTE)
    found = {_factor(first, now), _factor(last, now)}
    return None if is_by_minute or len(found) > 1 else found.pop()


def _factor(time: datetime, now: datetime) -> int | None:
    stored, latest = (time - _EPOCH).total_seconds(), (now + _AHEAD - _EPOCH).total_seconds()
    earliest = latest - _RECENT.total_seconds()
    return next((factor for factor in _FACTORS if earliest <= stored * factor <= latest), None)
