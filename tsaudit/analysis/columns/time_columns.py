"""Determines which column of a SQL table is the time. Runs no queries.

A table may have several columns with times: when something happened, when its row was written or changed, when it is
due. One column may be obsolete and no longer filled, while the time in use is a plain number. So candidates are judged
by their values, not only by their names.

Also recognizes times that were written in a wrong unit: milliseconds that were taken for nanoseconds are in January
1970. Only times that are recent in the right unit count. Those of a history that begins in 1970 are spread over the
month, birth dates are days, and 1970-01-01 00:00:00 stands for no time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.columns import columns as column_types
from tsaudit.analysis.columns.columns import (
    CHANGED,
    EVENT,
    HINT,
    OTHER,
    UNITS,
    WRITTEN,
    Column,
    TimeColumn,
    TimeKind,
    is_integer,
    is_list,
    is_load_stamp,
    native,
    words_of,
)
from tsaudit.model.figures import Role, Window
from tsaudit.text import instant as instant_description
from tsaudit.text import percent

if TYPE_CHECKING:
    from tsaudit.config.settings import Columns


TIME_NAMES: Final = (
    *("time", "timestamp", "ts", "datetime", "date", "_time", "event_time", "created_at", "recorded_at"),
    *("measured_at", "observed_at", "logged_at", "received_at", "inserted_at", "at"),
)
"""Common names of columns that contain the time, most likely first; in lower case."""
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?([zZ]|[+-]\d\d(:?\d\d)?)?)?")
_AHEAD: Final = timedelta(days=1)
"""How far clocks may be ahead."""

MOST_CANDIDATES: Final = 16
"""Most columns whose lowest and highest values are queried."""
MIN_SCORE: Final = 4
"""The lowest score of a time column, unless it is configured, declared by the engine, or in the key."""
MOSTLY_NULL: Final = 0.5
_RARELY_NULL: Final = 0.01


@dataclass(frozen=True, slots=True)
class Extent:
    """What one column contains in the rows examined."""

    rows: int
    values: int
    """Number of values that are not null; where a column may contain values of any type, only those in the form that
    most of them have.
    """
    first: object
    """Lowest of these values, as returned by the engine; None without values. `last` is the highest."""
    last: object
    others: int = 0
    """Number of values in another form: of another type, or text that is no date."""
    other: object = None
    """The lowest of these; None if there are none."""


_SO_FAR: Final = 3
"""Additional points for the time column of the previous profile: more than a better type gives."""


@dataclass(frozen=True, slots=True)
class _Weighed:
    """One candidate, with what counts for it and against it."""

    column: Column
    kind: TimeKind
    score: int
    reasons: tuple[str, ...]
    against: tuple[str, ...]


def time_candidates(columns: Sequence[Column], chosen: Columns | None = None, *, typed: bool = True) -> list[Column]:
    """Columns that may be the time and whose values are needed to decide, most likely first; empty if the catalog is
    enough. Numbers that are not named like a time are included if no column is.

    `typed`: False for an engine such as SQLite, where any column can contain anything: a type alone proves nothing.
    """
    if chosen is not None and chosen.time is not None:
        return [c for c in columns if c.name == chosen.time and not (typed and native(c))]
    if said := [c for c in columns if c.role is Role.TIME]:
        return [c for c in said if not (typed and native(c))]
    own = [c for c in columns if native(c)]
    hinted = [c for c in columns if not native(c) and _may_be(c) and words_of(c.name) & HINT]
    if typed and len(own) == 1 and (_in_key(own[0], columns) or not (hinted or words_of(own[0].name) & OTHER)):
        # If nothing fills it, the window turns out empty, and that is noticed.
        return []
    likely = [*sorted(own, key=_preference), *sorted(hinted, key=_preference)]
    return likely[:MOST_CANDIDATES] or number_candidates(columns)


def number_candidates(columns: Sequence[Column]) -> list[Column]:
    """Columns of numbers, which may be times whatever their names."""
    return [c for c in columns if not native(c) and _is_number(c.data_type)][:MOST_CANDIDATES]


def time_column(
    columns: Sequence[Column],
    extents: Mapping[str, Extent],
    window: Window,
    chosen: Columns | None = None,
    *,
    typed: bool = True,
    indexed: frozenset[str] = frozenset(),
    before: str | None = None,
) -> TimeColumn | None:
    """The time column; None if there is none.

    `extents`: what the columns that `time_candidates` names contain. `indexed`: columns of indexes. The configuration
    comes first; then the engine's declaration; then the candidate with the most evidence: values that reach the
    present, few nulls, its type, its name, and whether the key or an index uses it. `before`: the time column of the
    previous profile, which is kept if another column is only better by its type.
    """
    said = next((c for c in columns if c.role is Role.TIME and native(c)), None)
    if said is not None and (chosen is None or chosen.time in (None, said.name)):
        return TimeColumn(said.name, native(said) or TimeKind.TIMESTAMP, said.reason or "declared by the engine")
    known = [c for c in columns if c.name in extents]
    if chosen is not None and chosen.time is not None:
        return _configured(columns, extents, chosen.time, typed=typed)
    if not any(extents[c.name].rows for c in known):
        return _by_catalog(columns)
    stored = {c.name: (native(c) if typed else None) or kind_of(extents[c.name]) for c in known}
    newest = _newest(known, extents, stored, window)
    weighed = []
    for column in known:
        if kind := stored[column.name]:
            by_place = [*_by_place(column, columns, indexed), (_SO_FAR if column.name == before else 0, "")]
            found = _weigh(column, kind, extents[column.name], window, newest, by_place)
            weighed += [found] if found else []
    weighed.sort(key=lambda w: (-w.score, _preference(w.column)))
    if not weighed or (weighed[0].score < MIN_SCORE and not _in_key(weighed[0].column, columns)):
        return None
    best, others = weighed[0], weighed[1:3]
    reason = ", ".join(best.reasons)
    if others:
        reason += "; rather than " + " or ".join(_aside(other) for other in others)
    return TimeColumn(best.column.name, best.kind, reason)


def instant_of(value: object, kind: TimeKind | None) -> datetime | None:
    """A time as returned by an engine, aware and in UTC; None if it is missing or cannot be read."""
    if value is None or kind is None:
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime.combine(value, time(), UTC)
    try:
        if kind not in UNITS:
            return instant_of(datetime.fromisoformat(str(value)), kind)
        if isinstance(value, int):
            microseconds = value * 1_000_000 // UNITS[kind]
        else:
            microseconds = round(float(str(value)) * (1_000_000 / UNITS[kind]))
        return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)
    except (ValueError, OverflowError):
        return None


def _configured(
    columns: Sequence[Column], extents: Mapping[str, Extent], name: str, *, typed: bool
) -> TimeColumn | None:
    column = next((c for c in columns if c.name == name), None)
    if column is None:
        return None
    kind = native(column) if typed else None
    if kind is None and name in extents:
        found = extents[name]
        kind = kind_of(found) if found.values or found.others else native(column)
    return TimeColumn(name, kind, "set in tsaudit.yaml") if kind else None


def _by_catalog(columns: Sequence[Column]) -> TimeColumn | None:
    """The choice without rows: the table is empty, or nothing was read."""
    own = [c for c in columns if native(c)]
    best = min(own, key=lambda c: (not _in_key(c, columns), *_preference(c)), default=None)
    kind = native(best) if best else None
    return TimeColumn(best.name, kind, f"a {best.data_type.lower()} column") if best and kind else None


def _newest(
    known: Sequence[Column], extents: Mapping[str, Extent], stored: Mapping[str, TimeKind | None], window: Window
) -> datetime | None:
    """The newest value of any candidate, except values in the future."""
    found = []
    for column in known:
        kind = stored[column.name]
        last = instant_of(extents[column.name].last, kind) if kind else None
        if last and last <= window.end + _AHEAD and (native(column) or words_of(column.name) & HINT):
            found.append(last)
    return max(found, default=None)


def _weigh(
    column: Column,
    kind: TimeKind,
    extent: Extent,
    window: Window,
    newest: datetime | None,
    by_place: Sequence[tuple[int, str]],
) -> _Weighed | None:
    """The evidence for a candidate; None if its values are not times."""
    first, last = instant_of(extent.first, kind), instant_of(extent.last, kind)
    if first is None or last is None:
        return None
    by_values = _by_values(extent, first, last, window, newest)
    evidence = [*by_values, *_by_kind(column, kind), *_by_name(column), *by_place]
    if not native(column) and not words_of(column.name) & HINT:
        # A column not named like a time only counts as one if its numbers reach the present, as a clock does.
        runs = first < last and window.start <= last <= window.end + _AHEAD and extent.values == extent.rows
        if not runs or kind is TimeKind.TEXT:
            return None
    return _Weighed(
        column,
        kind,
        sum(points for points, _ in evidence),
        tuple(words for points, words in evidence if points > 0 and words),
        tuple(words for points, words in evidence if points < 0 and words),
    )


def _by_values(
    extent: Extent, first: datetime, last: datetime, window: Window, newest: datetime | None
) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    null = 1 - (extent.values + extent.others) / extent.rows if extent.rows else 0.0
    if extent.others:
        share = extent.others / (extent.values + extent.others)
        found.append((-3 if share > _RARELY_NULL else 0, f"{percent(share)} in another form"))
    if null == 0:
        found.append((2, "never null"))
    elif null <= _RARELY_NULL:
        found.append((1, "rarely null"))
    else:
        found.append((-6 if null > MOSTLY_NULL else -3, f"{percent(null)} null"))
    if last > window.end + _AHEAD:
        # If no other column is a time, the clock may simply be ahead.
        found.append((-4 if newest else 0, f"in the future, up to {instant_description(last)}"))
    elif last >= window.start:
        found.append((4, "up to the present"))
    elif newest is not None and newest - last > window.end - window.start:
        found.append((-4, f"ends at {instant_description(last)}"))
    if first == last and extent.values > 1:
        found.append((-4, "the same in all rows"))
    return found


def _by_kind(column: Column, kind: TimeKind) -> list[tuple[int, str]]:
    if native(column):
        is_day = column.data_type.upper().startswith("DATE") and not column.data_type.upper().startswith("DATETIME")
        return [(1, "a date")] if is_day else [(3, "a time type")]
    if kind is TimeKind.TEXT:
        return [(1, "times as text")]
    return [(1 if words_of(column.name) & HINT else -2, f"{kind} since 1970")]


def _by_name(column: Column) -> list[tuple[int, str]]:
    words = words_of(column.name)
    if is_load_stamp(column.name):
        # More than being the time column of the previous profile counts.
        return [(-_SO_FAR - 1, "when rows were loaded")]
    if words & OTHER:
        return [(-3, "named like a different time")]
    if column.name.lower() in TIME_NAMES or words & EVENT - {"event"}:
        return [(1 if words & CHANGED else 3, "named like a time")]
    return [(1, "")] if words & (WRITTEN | EVENT) else []


def _by_place(column: Column, columns: Sequence[Column], indexed: frozenset[str]) -> list[tuple[int, str]]:
    found = [(4, "in the key")] if _in_key(column, columns) else []
    return [*found, (2, "indexed")] if column.name in indexed else found


def _aside(weighed: _Weighed) -> str:
    against = f" ({', '.join(weighed.against)})" if weighed.against else ""
    return f"{weighed.column.name}{against}"


def _in_key(column: Column, columns: Sequence[Column]) -> bool:
    """Whether the column is in a key of several columns, or is the only column of the key and has a time type."""
    members = [c for c in columns if c.key_position is not None]
    return column in members and (len(members) > 1 or native(column) is not None)


def _may_be(column: Column) -> bool:
    is_text = column_types.may_be_text(column.data_type)
    # No value of these is a time, and a database refuses to compare them with a text that is none of their values.
    is_text = is_text and not column.data_type.upper().startswith(("UUID", "ENUM"))
    return is_text or _is_number(column.data_type)


def _is_number(data_type: str) -> bool:
    """Whether the type can store seconds since 1970; two bytes cannot."""
    kind = data_type.upper()
    is_small = re.match(r"U?(SMALLINT|TINYINT|INT2|INT1)\b", kind)
    is_float = re.match(r"DOUBLE|FLOAT|REAL|NUMERIC|DECIMAL|NUMBER", kind) is not None
    return not is_list(data_type) and not is_small and (is_integer(data_type) or is_float)


def _preference(column: Column) -> tuple[int, bool, str]:
    name = column.name.lower()
    place = TIME_NAMES.index(name) if name in TIME_NAMES else len(TIME_NAMES)
    return place, column.key_position is None, name


def kind_of(extent: Extent) -> TimeKind | None:
    """How the values of a column store the time; None if they are not plausible times."""
    ends = (extent.first, extent.last)
    if not extent.values or any(end is None or isinstance(end, bool) for end in ends):
        return None
    if all(isinstance(end, datetime | date) for end in ends):
        zoned = isinstance(extent.last, datetime) and extent.last.tzinfo is not None
        return TimeKind.ZONED if zoned else TimeKind.TIMESTAMP
    if all(isinstance(end, str) for end in ends):
        return TimeKind.TEXT if all(_ISO.fullmatch(str(end)) for end in ends) else None
    try:
        numbers = [float(str(end)) for end in ends]
    except ValueError:
        return None
    earliest, latest = POSSIBLE.start.timestamp(), POSSIBLE.end.timestamp()
    for kind, factor in UNITS.items():
        if all(earliest * factor <= n <= latest * factor for n in numbers):
            return kind
    return None


POSSIBLE: Final = Window(datetime(1980, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))
"""Numbers since 1970 count as times within this period, in any unit."""


def units_of_ends(name: str, extent: Extent) -> list[TimeKind]:
    """The units since 1970 in which the lowest or the highest value is a time, if they are not times in one unit, as
    where one writer counts milliseconds and the others seconds. A single one counts if the column is named like a time.
    """
    units = [unit for unit in dict.fromkeys(_kinds_of_ends(extent)) if unit in UNITS]
    is_one = kind_of(extent) is not None or (len(units) < 2 and not words_of(name) & HINT)
    return [] if is_one else units


def _kinds_of_ends(extent: Extent) -> list[TimeKind | None]:
    return [kind_of(replace(extent, first=end, last=end)) for end in (extent.first, extent.last)]


def in_unit(extent: Extent, unit: TimeKind, values: int, first: datetime, last: datetime) -> Extent:
    """The extent of the values that are times in this unit; all others have another form."""
    low, high = (round(end.timestamp() * UNITS[unit]) for end in (first, last))
    other = extent.first if _kinds_of_ends(extent)[1] is unit else extent.last
    return Extent(extent.rows, values, low, high, extent.values - values + extent.others, other)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EARLIEST_MISDATED: Final = _EPOCH + timedelta(seconds=1)
"""Seconds that are taken for nanoseconds are later, and what stands for no time is earlier."""
LATEST_MISDATED: Final = datetime(1971, 1, 1, tzinfo=UTC)
"""Where misdated rows are looked for. They are in January: a history goes on after it."""
_FACTORS: Final = (1_000, 1_000_000, 1_000_000_000)
_RECENT: Final = timedelta(days=3653)
"""How old the newest such row may really be: our default."""
_CLOCKS_AHEAD: Final = timedelta(days=1)
"""How far clocks may be ahead."""
_MINUTE: Final = timedelta(minutes=1)


def misdating_factor(first: datetime, last: datetime, now: datetime) -> int | None:
    """By how much the unit of the times is too small; None if not all of them are recent in one other unit.

    `first`, `last`: the ends of the times from EARLIEST_MISDATED to LATEST_MISDATED.
    """
    is_by_minute = not ((first - _EPOCH) % _MINUTE or (last - _EPOCH) % _MINUTE)
    found = {_misdating_factor(first, now), _misdating_factor(last, now)}
    return None if is_by_minute or len(found) > 1 else found.pop()


def _misdating_factor(time: datetime, now: datetime) -> int | None:
    stored, latest = (time - _EPOCH).total_seconds(), (now + _CLOCKS_AHEAD - _EPOCH).total_seconds()
    earliest = latest - _RECENT.total_seconds()
    return next((factor for factor in _FACTORS if earliest <= stored * factor <= latest), None)
