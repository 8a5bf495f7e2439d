"""A day that lasts until the tests are done, whatever the clock says."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, time

from tsaudit.model import profile

BEGUN = datetime.now(UTC)
"""Its day is today for all tests, even for those that run after midnight in UTC."""
_real = profile.utc_now


def long_day() -> None:
    """In this process, tsaudit's own clock stops before the midnight that follows the start of the tests."""

    def utc_now() -> datetime:
        return min(_real(), datetime.combine(BEGUN, time.max, UTC))

    for module in list(sys.modules.values()):
        if getattr(module, "utc_now", None) is _real:
            module.__dict__["utc_now"] = utc_now
