"""Determines when partitions by ranges of time end, and which ones come next, from their bounds as PostgreSQL writes
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.model.figures import with_zone
from tsaudit.model.storage import Partition

_RANGE: Final = re.compile(r"FOR VALUES FROM \((?P<first>'[^']*'|[^,)]+)[^)]*\) TO \((?P<end>'[^']*'|[^,)]+)[^)]*\)")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = ((10**17, 10**9), (10**14, 10**6), (10**11, 10**3), (10**8, 1))
"""(lowest number, units per second): numbers at least that large are times since 1970 in that unit. Covers 1973 to
5138.
"""
_ONE_VALUE: Final = re.compile(r"FOR VALUES FROM \([^,()]+\) TO \([^,()]+\)")
_DAY: Final = timedelta(days=1)
_MONTH: Final = (timedelta(days=28, hours=-1), timedelta(days=31, hours=1))
"""Shortest and longest month in a time zone that changes its offset."""
_NAMED: Final = (("%Y_%m_%d", 0), ("%Y-%m-%d", 0), ("%Y%m%d", 0), ("%Gw%V", 0))
_NAMED_BY_MONTH: Final = (("%Y_%m", 1), ("%Y-%m", 1), ("%Ym%m", 1), ("%Y%m", 1), ("%Y", 12))
"""Date formats in names, with the number of months that a partition must span for its name to identify it."""


def range_of(bounds: str) -> tuple[datetime | None, datetime] | None:
    """Start and end of the range; None if the bounds are no range of times, or have no end. The start is None if the
    range has none. Times without a zone are assumed to be UTC.
    """
    found = _RANGE.fullmatch(bounds)
    end = _instant(found["end"]) if found else None
    return (_instant(found["first"]), end) if found and end else None


def written_bounds(bounds: str) -> tuple[str, str] | None:
    """Start and end of the range as the bounds have them; None if they are no range."""
    found = _RANGE.fullmatch(bounds)
    return (found["first"], found["end"]) if found else None


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
    return with_zone(instant)


def added_a_day(partitions: Iterable[Partition], now: datetime) -> float | None:
    """How many partitions by time are added a day, by the length of the last range; None if no range has a start and
    an end, or if the last one ended longer ago than it is long.
    """
    ranges = [found for part in partitions if (found := range_of(part.bounds)) is not None]
    first, end = max(ranges, key=lambda one: one[1], default=(None, _EPOCH))
    if first is None or end <= first or now - end > end - first:
        return None
    return _DAY / (end - first)


def next_ranges(
    table: str, partitions: Iterable[Partition], count: int, until: datetime | None = None
) -> list[Partition]:
    """The partitions that follow the last time range, with the same length: with names formed like its name, in its
    schema, and with bounds. As many as are needed to cover `until`, and `count` more that begin after it; if the last
    two ranges differ in length, only those needed, and at least one. Empty if the bounds have several columns, or if
    the ranges may be months of another time zone.
    """
    ranged = [(found, part) for part in partitions if (found := range_of(part.bounds)) is not None]
    if not ranged:
        return []
    (first, end), last = max(ranged, key=lambda one: one[0][1])
    before = next((begin for (begin, to), _ in ranged if to == first and begin is not None), None)
    if first is None or not _ONE_VALUE.fullmatch(last.bounds):
        return []
    months = _months(first, end)
    # The length is known if it is whole days or if two ranges agree; months in another time zone vary in length.
    is_known = first - before == end - first if before is not None else not (end - first) % _DAY
    if not months and not is_known:
        if before is None or _MONTH[0] <= end - first <= _MONTH[1]:
            return []
        count = 0
    length, made, begin, ahead = end - first, list[Partition](), end, 0
    while not made or ahead < count or (until is not None and begin <= until):
        ahead += until is None or begin > until
        to = _later(begin, months) if months else begin + length
        bounds = f"FOR VALUES FROM ({_like(last.bounds, begin)}) TO ({_like(last.bounds, to)})"
        name = _name(table, last.name, first, begin, length, months)
        made.append(Partition(name, bounds, None, None, last.schema))
        begin = to
    return made


def _later(begin: datetime, months: int) -> datetime:
    month = begin.month - 1 + months
    return begin.replace(year=begin.year + month // 12, month=month % 12 + 1)


def _name(table: str, last: str, first: datetime, begin: datetime, length: timedelta, months: int) -> str:
    """A name like that of the last partition, which begins at `first`; if that contains no date, the table's name with
    a date. `months`: the length in months; 0 if it is not a whole number of months.
    """
    is_days = not length % _DAY
    for form, least in (*_NAMED, *_NAMED_BY_MONTH) if is_days else ():
        is_known = not least or (months and not months % least)
        if is_known and last.count(f"{first:{form}}") == 1:
            return last.replace(f"{first:{form}}", f"{begin:{form}}")
    return f"{table}_{begin:{'%Y%m%d' if is_days else '%Y%m%d_%H%M'}}"


def _months(first: datetime, end: datetime) -> int:
    """The number of whole months (UTC) from start to end; 0 if it is not a whole number."""
    if any((at.day, at.hour, at.minute, at.second, at.microsecond) != (1, 0, 0, 0, 0) for at in (first, end)):
        return 0
    return (end.year - first.year) * 12 + end.month - first.month


def _like(bounds: str, at: datetime) -> str:
    """The time in the same notation as the bounds."""
    value = bounds.rpartition("(")[2].rstrip(")")
    text, mark = value.strip("' "), "'" if value.startswith("'") else ""
    if re.fullmatch(r"\d+", text):
        parts = next(parts for least, parts in _UNITS if int(text) >= least)
        return f"{mark}{(at - _EPOCH) // timedelta(microseconds=1) * parts // 10**6}{mark}"
    written = at.astimezone(UTC).isoformat(" ").removesuffix("+00:00")
    if len(text) == len("2026-04-01"):
        return f"'{written[:10]}'"
    return f"'{written}{'+00' if datetime.fromisoformat(text).tzinfo else ''}'"
