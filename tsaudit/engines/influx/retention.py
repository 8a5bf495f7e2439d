"""How long an InfluxDB keeps data, in the units of its statements."""

from __future__ import annotations

from datetime import timedelta


def weeks(keep: timedelta) -> int:
    """Whole weeks, at least one."""
    return max(round(keep / timedelta(weeks=1)), 1)
