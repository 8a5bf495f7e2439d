"""When partitions by ranges of time end, from their bounds as PostgreSQL writes them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_RANGE: Final = re.compile(r"FOR VALUES FROM \((?P<first>'[^']*'|[^,)]+)[^)]*\) TO \((?P<end>'[^']*'|[^,)]+)[^)]*\)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = ((10**17, 10**9), (10**14, 10**6), (10**11, 10**3), (10**8, 1))
"""From which number on times are in so many parts of a second: all from 1973 to 5138."""


def range_of(bounds: str) -> tuple[datetime | None, datetime] | None:
    """From when to when its rows are; None for what is no range of times, or has no end. Without a beginning, the first
    is None. Times without a zone are taken for UTC.
    """
    found = _RANGE.fullmatch(bounds)
    end = _instant(found["end"]) if found else None
    return (_instant(found["first"]), end) if found and end else None


def _instant(value: str) -> datetime | None:
    text = value.strip("' ")
    if re.fullmatch(r"\d+", text):
        number = int(text)
        parts = next((parts for least, parts in _UNITS if number >= least), None)
        return _EPOCH + timedelta(microseconds=number * 10**6 // parts) if parts else None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
