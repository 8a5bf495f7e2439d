"""What Timestream for LiveAnalytics charges, in dollars, and what bytes of a table cost a month.

The prices are those of US East (N. Virginia), by https://aws.amazon.com/timestream/pricing/ as archived in 2020; they
differ by region. The service does not report the bytes of a table: rules estimate them from the rows read.
"""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.types import is_text
from tsaudit.engines.timestream.tables import memory_hours
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import Field, Measurement, MeasureName, Ratio, StoredQuery, Tag
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
MEMORY_GB_MONTH: Final = MEMORY_GB_HOUR * 24 * _MONTH_DAYS
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


def of_memory(case: Case, measurement: Measurement, enough_hours: float) -> Impact | None:
    """What records cost a month that are in the memory store for longer than this; None if nothing tells how many are
    written.
    """
    rows, days = measurement.rows, costs.age_days(case, measurement)
    if rows is None or not rows.value or not days:
        return None
    a_day, hours = rows.value * record_bytes(measurement) / _GB / days, memory_hours(measurement)
    a_gb = WRITTEN_GB * _MONTH_DAYS + hours / 24 * MEMORY_GB_MONTH + days * MAGNETIC_GB_MONTH
    return Impact(
        Currency.MONEY,
        # They would be in the magnetic store instead.
        now=a_day * (hours - enough_hours) / 24 * (MEMORY_GB_MONTH - MAGNETIC_GB_MONTH),
        whole=a_day * a_gb,
        how=f"{_ESTIMATED}, once the memory store has all of its hours; the bill is that of the table; {SOURCE}",
    )


_ESTIMATED: Final = "records within the window, times their bytes by the names and values read"


def of_dimensions(case: Case, measurement: Measurement, avoidable: float) -> Impact | None:
    """What bytes of each record cost a month; None as above."""
    rows = measurement.rows
    if rows is None:
        return None
    held = rows.value * record_bytes(measurement)
    return of_stored(case, measurement, rows.value * avoidable, held, how=_ESTIMATED)


def record_bytes(measurement: Measurement) -> float:
    """Mean bytes of a record as they are charged: the time, the names and values of dimensions, the measure name, and
    values, by https://docs.aws.amazon.com/timestream/latest/developerguide/metering-and-pricing.writes.html.
    """
    dimensions = sum(_present(tag.absent) * dimension_bytes(tag) for tag in measurement.tags)
    names = measurement.measure_names.names if measurement.measure_names else ()
    name = fmean([_length(one.name) for one in names], [one.rows or 0 for one in names]) if _counted(names) else 0.0
    values = sum(_present(field.null_ratio) * _value_bytes(field) for field in measurement.fields)
    return _TIME_BYTES + dimensions + name + values


_TIME_BYTES: Final = 8


def dimension_bytes(tag: Tag) -> float:
    """Mean bytes of its name and value."""
    return _length(tag.key) + (fmean(map(_length, tag.sample)) if tag.sample else 0.0)


def _counted(names: Iterable[MeasureName]) -> bool:
    return any(one.rows for one in names)


def _present(absent: Ratio | None) -> float:
    return 1 - (absent.value if absent else 0.0)


def _value_bytes(field: Field) -> float:
    if any(map(is_text, field.types)):
        return fmean(map(_length, field.sample)) if field.sample else 0.0
    return 1.0 if "boolean" in field.types else 8.0


def _length(text: str) -> int:
    return len(text.encode())


def of_scans(query: StoredQuery, share: float = 1.0) -> float | None:
    """What the runs of a scheduled query cost a month if they read that share of what the last one read; None if it is
    not reported how much that was, or how often it runs.
    """
    if query.bytes_scanned is None or not query.period_s:
        return None
    read = max(query.bytes_scanned * share, LEAST_SCANNED_BYTES)
    return read / _GB * SCANNED_GB * _MONTH_DAYS * _DAY_S / query.period_s
