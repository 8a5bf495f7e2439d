"""The prices of Timestream for LiveAnalytics in dollars, and what bytes of a table cost a month.

The prices are for US East (N. Virginia), from https://aws.amazon.com/timestream/pricing/ as archived in 2020; other
regions differ. The service does not report the bytes of a table: rules estimate them from the rows read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from statistics import fmean
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.columns import is_text
from tsaudit.engines.timestream.tables import magnetic_days, memory_hours
from tsaudit.model.columns import Field, Tag
from tsaudit.model.figures import Ratio
from tsaudit.model.finding import Currency, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import MeasureName
from tsaudit.model.server import StoredQuery
from tsaudit.rule import Case

WRITTEN_GB: Final = 0.50
"""Dollars for each GB written: a million writes of 1 kB."""
MEMORY_GB_HOUR: Final = 0.036
MAGNETIC_GB_MONTH: Final = 0.03
SCANNED_GB: Final = 0.01
LEAST_SCANNED_BYTES: Final = 10_000_000
"""Minimum bytes that each query is charged for."""
SOURCE: Final = (
    f"${WRITTEN_GB:.2f} a GB written, ${MEMORY_GB_HOUR} a GB and hour in memory, ${MAGNETIC_GB_MONTH} a GB and month "
    f"in the magnetic store, ${SCANNED_GB} a GB scanned: US East, https://aws.amazon.com/timestream/pricing/"
)
_GB: Final = 1e9
_MONTH_DAYS: Final = 365 / 12
MEMORY_GB_MONTH: Final = MEMORY_GB_HOUR * 24 * _MONTH_DAYS
_DAY_S: Final = 86_400


@dataclass(frozen=True, slots=True)
class Charges:
    """What a table costs a month at its present rate, once its stores are as full as their retention allows."""

    written: float
    memory: float
    magnetic: float
    """Dollars for the time that records are kept, up to the horizon of the policy."""

    @property
    def total(self) -> float:
        return self.written + self.memory + self.magnetic


def charges(measurement: Measurement, days: float | None, horizon: timedelta) -> Charges | None:
    """The monthly cost of the table, with its rows written within `days` days; None if it is not known."""
    rows = measurement.rows
    if rows is None or not rows.value or not days:
        return None
    gb_a_day = rows.value * record_bytes(measurement) / _GB / days
    return Charges(
        written=gb_a_day * WRITTEN_GB * _MONTH_DAYS,
        memory=gb_a_day * memory_hours(measurement) / 24 * MEMORY_GB_MONTH,
        magnetic=gb_a_day * min(magnetic_days(measurement) or math.inf, horizon.days) * MAGNETIC_GB_MONTH,
    )


def _charges(case: Case, measurement: Measurement) -> Charges | None:
    return charges(measurement, costs.written_days(case, measurement), case.harm.horizon)


_HOW: Final = "records a day times their bytes, by the names and values read; the bill is that of the table"


def of_share(case: Case, measurement: Measurement, share: float, *, how: str = "") -> Impact | None:
    """What a share of the bytes of a table costs a month; None if the cost of the table is not known."""
    found = _charges(case, measurement)
    return None if found is None else _saved(found, found.total * share, how)


def of_dimension(measurement: Measurement, tag: Tag, days: float, horizon: timedelta) -> Impact | None:
    """What a dimension costs a month; None if the cost of the table is not known."""
    found, share = charges(measurement, days, horizon), dimension_bytes(tag) / record_bytes(measurement)
    return None if found is None else _saved(found, found.total * share, f"bytes of {tag.key}, if it is left out")


def of_memory(case: Case, measurement: Measurement, enough_hours: float) -> Impact | None:
    """What records cost a month as they are in memory for longer than `enough_hours`; None if the cost is not known."""
    found, hours = _charges(case, measurement), memory_hours(measurement)
    if found is None or not hours:
        return None
    # They would be in the magnetic store instead, which costs less.
    dearer = found.memory * (1 - MAGNETIC_GB_MONTH / MEMORY_GB_MONTH)
    return _saved(found, dearer * (hours - enough_hours) / hours, "")


def _saved(found: Charges, saved: float, how: str) -> Impact:
    # The bill is that of the present rate, which is not expected to change.
    said = "; ".join(part for part in (how, _HOW, SOURCE) if part)
    return Impact(Currency.MONEY, now=saved, whole=found.total, per_day=0.0, how=said)


def record_bytes(measurement: Measurement) -> float:
    """Mean bytes of a record that are charged: the time, the names and values of dimensions, the measure name, and
    values, according to https://docs.aws.amazon.com/timestream/latest/developerguide/metering-and-pricing.writes.html.
    """
    dimensions = sum(_present(tag.absent) * dimension_bytes(tag) for tag in measurement.tags)
    names = measurement.measure_names.names if measurement.measure_names else ()
    name = fmean([_length(one.name) for one in names], [one.rows or 0 for one in names]) if _counted(names) else 0.0
    values = sum(_present(field.null_ratio) * _value_bytes(field) for field in measurement.fields)
    return _TIME_BYTES + dimensions + name + values


_TIME_BYTES: Final = 8


def dimension_bytes(tag: Tag) -> float:
    """Mean bytes of the dimension's name and value."""
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
    """What a share of the data read by a scheduled query costs a month; None if the bytes of its last run, or its
    period, are not reported.
    """
    if query.bytes_scanned is None or not query.period_s:
        return None
    read = max(query.bytes_scanned * share, LEAST_SCANNED_BYTES)
    return read / _GB * SCANNED_GB * _MONTH_DAYS * _DAY_S / query.period_s
