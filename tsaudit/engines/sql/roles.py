"""Which column of a SQL table is the time, which are tags, which are fields. Pure: nothing is asked of a database.

An engine that says so itself, as InfluxDB does, needs none of this.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from tsaudit.engines.sql import types as column_types
from tsaudit.engines.sql.types import is_integer, is_list, is_made
from tsaudit.model.profile import Measurement, Role
from tsaudit.text import number, percent

if TYPE_CHECKING:
    from tsaudit.config.settings import Columns

LONG_TEXT: Final = 64
"""Texts longer than this on average are prose, not names."""
NUMBERS_SHARE: Final = 0.95
"""From this share of number-like values on a text column holds numbers."""

MIN_VALUES: Final = 20
MIN_TIMES: Final = 2.0
"""Numbers under the name of an id name a source where at least so many were seen, and each so often on average."""

UNJUDGED: Final = "without values to judge by"
"""Ends the reason of a column whose role is a guess."""

_TIME_NAMES: Final = (
    *("time", "timestamp", "ts", "datetime", "date", "_time", "event_time", "created_at", "recorded_at"),
    *("measured_at", "observed_at", "logged_at", "received_at", "inserted_at", "at"),
)
_ID_NAME: Final = re.compile(
    r"(^|_)(id|uuid|guid|key|code|serial|no|nr|number|zip)$|[a-z](Id|ID)$"
    r"|(user|device|host|sensor|machine|order|request|session|trace|span|event|customer|client|account|node)id$"
)
"""Names under which digits identify something, and measure nothing."""
_CODE_NAME: Final = re.compile(
    r"(?i:(^|_)(id|code|status|serial|zip|postcode|phone|version|firmware|release|build|no|nr|number|key|uuid)$)"
    r"|[a-z](Code|Status|Version)$"
)
"""Those, and names of categories that are written in digits."""
_EARLIEST: Final = datetime(1980, 1, 1, tzinfo=UTC).timestamp()
_LATEST: Final = datetime(2100, 1, 1, tzinfo=UTC).timestamp()
_ISO: Final = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?([zZ]|[+-]\d\d(:?\d\d)?)?)?")


class TimeKind(enum.StrEnum):
    """How a column keeps the time."""

    TIMESTAMP = "timestamp"
    """The engine's own type without zone; taken as UTC."""
    ZONED = "zoned"
    TEXT = "text"
    """ISO 8601."""
    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


_UNITS: Final = {
    TimeKind.SECONDS: 1.0,
    TimeKind.MILLISECONDS: 1e3,
    TimeKind.MICROSECONDS: 1e6,
    TimeKind.NANOSECONDS: 1e9,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the catalogue has it."""

    name: str
    data_type: str
    key_position: int | None = None
    """From 1 in the primary or unique key; None outside it."""
    role: Role | None = None
    """What the engine itself says that the column is for; None where it does not."""
    reason: str = ""
    """Why it says so; empty where it has a word for such columns."""


@dataclass(frozen=True, slots=True)
class Values:
    """What a sample says of a column."""

    count: int
    """Values that are not null."""
    mean_length: float
    """Of the values as text, in characters."""
    number_share: float
    """Share of the values that read as numbers."""
    distinct: int | None = None
    """Distinct ones among them; None where that does not matter."""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """The column that says when."""

    name: str
    kind: TimeKind


@dataclass(frozen=True, slots=True)
class Assigned:
    """The role of one column, and why."""

    column: Column
    role: Role
    reason: str


def time_column(
    columns: Sequence[Column],
    values: Mapping[str, Sequence[object]],
    chosen: Columns | None = None,
    *,
    typed: bool = True,
) -> TimeColumn | None:
    """The column that says when; None when no column does.

    `values` holds some values of the columns that `time_candidates` names. The configuration comes first; then what the
    engine says; then columns of a time type, those named like time and members of the key before others; then numbers
    and texts that are named like time and hold plausible instants.
    """
    said = next((c for c in columns if c.role is Role.TIME and _native(c)), None)
    if said is not None and (chosen is None or chosen.time in (None, said.name)):
        return TimeColumn(said.name, _native(said) or TimeKind.TIMESTAMP)
    for column in time_candidates(columns, chosen, typed=typed):
        if kind := _kind(values.get(column.name, ()), empty=_native(column)):
            return TimeColumn(column.name, kind)
    native = [c for c in columns if typed and _native(c) and (chosen is None or chosen.time in (None, c.name))]
    best = min(native, key=_preference, default=None)
    kind = _native(best) if best else None
    return TimeColumn(best.name, kind) if best and kind else None


def time_candidates(columns: Sequence[Column], chosen: Columns | None = None, *, typed: bool = True) -> list[Column]:
    """Columns that may be the time if their values bear it out, best first; empty when none need be read.

    `typed`: False for an engine that lets any column hold anything, as SQLite does: there a type alone says nothing.
    """
    if chosen is not None and chosen.time is not None:
        return [c for c in columns if c.name == chosen.time and not (typed and _native(c))]
    if said := [c for c in columns if c.role is Role.TIME]:
        return [c for c in said if not (typed and _native(c))]
    if typed and any(_native(c) for c in columns):
        return []
    return sorted((c for c in columns if _native(c) or c.name.lower() in _TIME_NAMES), key=_preference)


def assign(
    columns: Sequence[Column],
    time: TimeColumn | None,
    values: Mapping[str, Values],
    *,
    chosen: Columns | None = None,
    previous: Measurement | None = None,
) -> list[Assigned]:
    """The role of every column, in the order of the table.

    In this order: the configuration, what the engine says, the table's key, what the column was in the profile before
    (as long as its type is the same), its type, its values. `values` holds what a sample says of columns of text, where
    one that is missing counts as a tag, and of whole numbers, which count as fields unless it bears out that they name
    a source.
    """
    name = time.name if time else None
    key, alone = _key_members(columns, name), _sole_key(columns, name)
    before = _roles_before(previous)
    assigned = []
    for column in columns:
        if column.name == name:
            assigned.append(Assigned(column, Role.TIME, "the time column"))
            continue
        found = _by_configuration(column, chosen) or _by_engine(column) or _by_key(column, key, alone)
        found = found or before.get((column.name, column.data_type))
        role, reason = found or _by_type_and_values(column, values.get(column.name))
        assigned.append(Assigned(column, role, reason))
    return assigned


def time_names() -> tuple[str, ...]:
    """What fields that hold the time are called, the likeliest first; in lower case."""
    return _TIME_NAMES


def is_text(data_type: str) -> bool:
    """Whether the type can name a source: text, enumeration, UUID or boolean; in SQLite also none."""
    is_boolean = data_type.upper().startswith("BOOL") and not is_list(data_type)
    return not data_type or is_boolean or column_types.is_text(data_type)


def names_code(name: str) -> bool:
    """Whether digits under the name say which one it is, like a status: nobody computes with them."""
    return bool(_ID_NAME.search(name) or _CODE_NAME.search(name))


def may_be_long(data_type: str) -> bool:
    """Whether values of the type may be, or print as, texts of any length."""
    kind = data_type.upper()
    is_long = re.match(r"(N?VAR)?CHAR|N?VARCHAR|TEXT|STRING|BPCHAR|CLOB|JSON|XML|BYTEA|TSVECTOR|PATH|POLYGON", kind)
    return bool(is_long) or is_made(data_type) or is_list(data_type)


CONFIGURED: Final = "set in tsaudit.yaml"
"""The reason of a role that the configuration gives."""


def _by_configuration(column: Column, chosen: Columns | None) -> tuple[Role, str] | None:
    if chosen is None:
        return None
    if column.name in chosen.tags:
        return Role.TAG, CONFIGURED
    return (Role.FIELD, CONFIGURED) if column.name in chosen.fields else None


def _by_engine(column: Column) -> tuple[Role, str] | None:
    # A column that the engine takes for the time, and the configuration does not, is one like others.
    if column.role in (None, Role.TIME):
        return None
    return column.role, column.reason or f"the engine keeps it as a {column.role}"


def _key_members(columns: Sequence[Column], time: str | None) -> frozenset[str]:
    """Columns that, with the time, make the table's key; empty for a key that numbers rows or names none."""
    key = {c.name for c in columns if c.key_position is not None}
    if time not in key:
        return frozenset()
    return frozenset(key - {time})


def _sole_key(columns: Sequence[Column], time: str | None) -> str | None:
    """The column that is the table's key by itself; None where it has none, or one of several columns or the time."""
    key = [c.name for c in columns if c.key_position is not None]
    return key[0] if len(key) == 1 and key[0] != time else None


def _by_key(column: Column, key: frozenset[str], alone: str | None) -> tuple[Role, str] | None:
    if column.name == alone:
        return Role.FIELD, "the table's key by itself: each row has another value"
    if not key:
        return None
    if column.name in key:
        return Role.TAG, "part of the table's key, with the time"
    return Role.FIELD, "outside the table's key"


def _roles_before(previous: Measurement | None) -> dict[tuple[str, str], tuple[Role, str]]:
    if previous is None:
        return {}
    tags = {(t.key, t.data_type): (Role.TAG, t.role_reason) for t in previous.tags}
    fields = {(f.key, f.types[0]): (Role.FIELD, f.role_reason) for f in previous.fields if len(f.types) == 1}
    return {column: role for column, role in (tags | fields).items() if role[1] != CONFIGURED}


def _by_type_and_values(column: Column, values: Values | None) -> tuple[Role, str]:
    kind = column.data_type.lower() or "untyped"
    if is_integer(column.data_type) and _ID_NAME.search(column.name) and (times := _times(values)) >= MIN_TIMES:
        return Role.TAG, f"whole numbers under the name of an id, each {number(round(times))} times on average"
    if not is_text(column.data_type):
        return Role.FIELD, f"a {kind} column"
    if values is None or values.count == 0:
        return Role.TAG, f"a {kind} column {UNJUDGED}"
    if values.mean_length > LONG_TEXT:
        return Role.FIELD, f"long text, {number(round(values.mean_length))} characters on average"
    if kind.startswith("bool"):
        return Role.TAG, f"a {kind} column"
    if values.number_share >= NUMBERS_SHARE and not names_code(column.name):
        return Role.FIELD, f"numbers kept as text ({percent(values.number_share)} of the values read)"
    return Role.TAG, f"a {kind} column with short values"


def _times(values: Values | None) -> float:
    """How often each value comes on average; 0 when too few were seen."""
    if values is None or not values.distinct or values.count < MIN_VALUES:
        return 0.0
    return values.count / values.distinct


def _native(column: Column) -> TimeKind | None:
    """How a column of a time type keeps the time; None for other types."""
    kind = column.data_type.upper()
    if is_list(kind):
        return None
    if re.match(r"TIMESTAMPTZ|TIMESTAMP.* WITH TIME ZONE", kind):
        return TimeKind.ZONED
    return TimeKind.TIMESTAMP if re.match(r"TIMESTAMP|DATETIME|DATE\b", kind) else None


def _preference(column: Column) -> tuple[int, bool, str]:
    name = column.name.lower()
    place = _TIME_NAMES.index(name) if name in _TIME_NAMES else len(_TIME_NAMES)
    return place, column.key_position is None, name


def _kind(values: Sequence[object], empty: TimeKind | None) -> TimeKind | None:
    """How the values keep the time; None when they are no plausible instants. `empty` is for a column of nulls."""
    present = [v for v in values if v is not None]
    if not present:
        return empty
    if all(isinstance(v, str) and _ISO.fullmatch(v) for v in present):
        return TimeKind.TEXT
    if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        return None
    numbers = [float(v) for v in present if isinstance(v, int | float)]
    for kind, factor in _UNITS.items():
        if all(_EARLIEST * factor <= n <= _LATEST * factor for n in numbers):
            return kind
    return None
