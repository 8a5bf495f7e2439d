"""What rules return as impact: amounts from a profile, at the prices of its engine.

Only avoidable cost counts: what would not be there if the writer did right. A source that reports again is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.cardinality.avoidable import avoidable_series
from tsaudit.analysis.tables.collection_families import CollectionFamily, total
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import FOREVER, Measurement, Tag
from tsaudit.model.subject import Subject

if TYPE_CHECKING:
    from tsaudit.model.finding import Limit
    from tsaudit.rule import Case

_LEAST_SPAN: Final = timedelta(hours=1)
"""Rates from less are chance."""
_SLOPE_DAYS: Final = 7
"""From so many days of history on, the measured slope counts instead of the times of the rows."""


def of_series(case: Case, measurement: Measurement, tags: Iterable[str]) -> Impact | None:
    """What the tags cost together in series; None where series cost nothing by themselves."""
    if not case.engine.has_costly_series:
        return None
    names = tuple(tags)
    avoidable = avoidable_series(measurement, names)
    return Impact(
        Currency.SERIES,
        now=avoidable,
        whole=database_series(case, measurement),
        per_day=avoidable * _growth(case, measurement, names),
        kept_days=kept_days(case, measurement),
        unit_bytes=case.engine.series_bytes(measurement),
        how="; ".join(filter(None, (f"series with and without {', '.join(names)}", case.engine.series_price))),
    )


def _growth(case: Case, measurement: Measurement, tags: tuple[str, ...]) -> float:
    """The share of what there is that is added each day, from the listings of earlier days; else as if all had come
    in the time that the rows span.
    """
    known = [tag for tag in measurement.tags if tag.key in tags]
    listed = [rate for tag in known if (rate := _listed_rate(tag)) is not None]
    if listed:
        return max(listed)
    return 1 / days if (days := age_days(case, measurement)) else 0.0


def _listed_rate(tag: Tag) -> float | None:
    over_time = tag.over_time
    if over_time is None or over_time.days < _SLOPE_DAYS or over_time.new_per_day is None or not tag.values:
        return None
    return over_time.new_per_day / max(tag.values.value, 1)


def of_bytes(case: Case, measurement: Measurement, avoidable: float, *, how: str, is_row_data: bool = True) -> Impact:
    """What could be saved of a table's bytes. `is_row_data`: it grows with the rows."""
    storage = measurement.storage
    whole = None if storage is None or storage.data_bytes is None else storage.data_bytes + (storage.index_bytes or 0)
    return Impact(
        Currency.BYTES,
        now=avoidable,
        whole=max(float(whole), avoidable) if whole else None,
        per_day=avoidable * _bytes_growth(case, measurement) if is_row_data else 0.0,
        kept_days=kept_days(case, measurement),
        how=how,
    )


def _bytes_growth(case: Case, measurement: Measurement) -> float:
    """The share of a table's bytes that is added each day: the slope of its history, else that of its rows."""
    at = Subject(measurement.database, measurement.name)
    points = case.timeline.of("data_bytes", at)
    if points and (case.profile.day - points[0].day).days >= _SLOPE_DAYS and measurement.storage:
        now = measurement.storage.data_bytes or 0
        grown = (now - points[0].value) / (case.profile.day - points[0].day).days
        return max(grown / now, 0.0) if now else 0.0
    return rows_growth(case, measurement)


def age_days(case: Case, measurement: Measurement) -> float | None:
    """Over how many days its rows lie, up to now at most; None if that is not known or too short for a rate."""
    first, last = measurement.first_time, measurement.last_time
    if first is None or last is None:
        return None
    span = min(last, case.profile.window.end) - first
    return span / timedelta(days=1) if span >= _LEAST_SPAN else None


def kept_days(case: Case, measurement: Measurement) -> float | None:
    """After how many days its rows are removed; None for never, or not known."""
    own = measurement.retention
    if own is None:
        of_database = next((d.retention for d in case.profile.databases if d.name == measurement.database), None)
        own = next((policy for policy in of_database or () if policy.default), None)
    if own is None or own.duration_s == FOREVER:
        return None
    return own.duration_s / 86_400


def database_series(case: Case, measurement: Measurement) -> int | None:
    """Series of the measurement's database, with its other retention policies; None if they are not known."""
    for database in case.profile.wholes:
        if case.profile.is_within(measurement.database, database.name):
            if database.series is not None:
                return database.series.value
            counts = [m.series.value if m.series else None for m in case.profile.inside(database)]
            return None if None in counts else sum(one for one in counts if one is not None)
    return None


def toward_limit(
    used: float,
    limit: float,
    unit: str,
    *,
    per_day: float = 0.0,
    days_left: float | None = None,
    is_enforced: bool | None = True,
    is_reached: bool = False,
    how: str = "",
) -> Impact:
    """How near a limit is. `is_enforced`: None if it is not proven that this server rejects what goes beyond."""
    return Impact(
        Currency.LIMIT,
        now=used,
        whole=limit,
        per_day=per_day,
        days_left=days_left,
        is_enforced=is_enforced,
        is_reached=is_reached,
        unit=unit,
        how=how,
    )


_SET_BY_OWNER: Final = ("plan ", "target", "all targets", "measurement ")


def is_enforced(limit: Limit) -> bool | None:
    """Whether what goes beyond is rejected, as far as it is known where the limit comes from: a plan of a service and a
    limit of the owner hold; of a setting that a server may not have, it is not proven; a default of ours holds nowhere.
    """
    if limit.origin.startswith(_SET_BY_OWNER):
        return True
    return None if limit.origin.startswith("engine ") else False


_QUIET_DAYS: Final = 7
"""After so long without a row, a table is not written anymore."""


def rows_growth(case: Case, measurement: Measurement) -> float:
    """The share of all rows of a table that is added each day, by the times of its rows; 0 if none is, or it is not
    known.
    """
    first, last, end = measurement.first_time, measurement.last_time, case.profile.window.end
    days = age_days(case, measurement)
    if first is None or last is None or not days or measurement.own_window is not None:
        return 0.0
    if (end - last) / timedelta(days=1) > _QUIET_DAYS:
        return 0.0
    # The times are those of the window; what is older has its share of the table.
    rows, total = measurement.rows, measurement.rows_total
    part = rows.value / total.value if rows and total and total.value > rows.value else 1.0
    return part / days


def of_periods(case: Case, family: CollectionFamily, avoidable: float, *, how: str) -> Impact:
    """What could be saved of the bytes of all collections of a family. It grows as long as periods are added."""
    held = total(member.bytes for member in family.members)
    return Impact(
        Currency.BYTES,
        now=avoidable,
        whole=max(held, avoidable) if held else None,
        per_day=avoidable * periods_a_day(case, family) / len(family.members),
        how=how,
    )


def periods_a_day(case: Case, family: CollectionFamily) -> float:
    """How many collections are added to a family each day; 0 if no more are."""
    first, last = family.members[0], family.members[-1]
    days = (last.end - first.start) / timedelta(days=1)
    ended = case.profile.window.end - last.end > last.end - last.start
    return 0.0 if ended or days <= 0 else len(family.members) / days
