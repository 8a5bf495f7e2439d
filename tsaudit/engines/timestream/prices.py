"""What Timestream for LiveAnalytics charges, in dollars, and what bytes of a table cost a month.

The prices are those of US East (N. Virginia), by https://aws.amazon.com/timestream/pricing/ as archived in 2020; they
differ by region. The service does not report the bytes of a table: rules estimate them from the rows read.
"""

from __future__ import annotations

from typing import Final

from tsaudit import costs
from tsaudit.engines.timestream.tables import memory_hours
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import Measurement, StoredQuery
from tsaudit.rule import Case

WRITTEN_GB: Final = 0.50
"""For each GB written: a million writes of 1 kB."""
MEMORY_GB_HOUR: Final = 0.036
MAGNETIC_GB_MONTH: Final = 0.03
SCANNED_GB: Final = 0.01
LEAST_SCANNED_BYTES: Final = 10_000_000
"""What each query is charged for at least."""
SOURCE: Final = (
    f"${WRITTEN_GB:.2f} a GB written, ${MEMORY_GB_HOUR} a GB and hour in memory, ${MAGNETIC_GB_MONTH} a GB and month "
    f"in the magnetic store, ${SCANNED_GB} a GB scanned: US East, https://aws.amazon.com/timestream/pricing/"
)
_GB: Final = 1e9
_MONTH_DAYS: Final = 365 / 12
_DAY_S: Final = 86_400


def of_stored(case: Case, measurement: Measurement, avoidable: float, held: float, *, how: str) -> Impact | None:
    """What bytes cost a month: written, in memory, and in the magnetic store, where they add up.

    `avoidable`, `held`: bytes within the window that could be saved, and all of its rows. None if nothing tells in how
    many days they were written.
    """
    days = costs.age_days(case, measurement)
    if not days:
        return None
    months, hours = days / _MONTH_DAYS, min(memory_hours(measurement), 24 * days)
    a_gb = (WRITTEN_GB + hours * MEMORY_GB_HOUR) / months + MAGNETIC_GB_MONTH
    return Impact(
        Currency.MONEY,
        now=avoidable / _GB * a_gb,
        whole=held / _GB * a_gb,
        per_day=avoidable / _GB / days * MAGNETIC_GB_MONTH,
        kept_days=costs.kept_days(case, measurement),
        how=f"{how}; the bill is that of the table; {SOURCE}",
    )


def of_scans(query: StoredQuery, share: float = 1.0) -> float | None:
    """What the runs of a scheduled query cost a month if they read that share of what the last one read; None if it is
    not reported how much that was, or how often it runs.
    """
    if query.bytes_scanned is None or not query.period_s:
        return None
    read = max(query.bytes_scanned * share, LEAST_SCANNED_BYTES)
    return read / _GB * SCANNED_GB * _MONTH_DAYS * _DAY_S / query.period_s
