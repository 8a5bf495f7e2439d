"""A column of a SQL table: its type, and how it stores the time."""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Role


class TimeKind(enum.StrEnum):
    """How a column stores the time."""

    TIMESTAMP = "timestamp"
    """The engine's own type without a time zone; assumed to be UTC."""
    ZONED = "zoned"
    TEXT = "text"
    """ISO 8601 text."""
    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


UNITS: Final = {
    TimeKind.SECONDS: 1,
    TimeKind.MILLISECONDS: 1_000,
    TimeKind.MICROSECONDS: 1_000_000,
    TimeKind.NANOSECONDS: 1_000_000_000,
}
"""Kinds of numbers since 1970, with the number of units per second."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as in the catalog."""

    name: str
    data_type: str
    key_position: int | None = None
    """Position in the primary or unique key, from 1; None outside it."""
    role: Role | None = None
    """The role that the engine itself declares; None if it does not."""
    reason: str = ""
    """Why the engine declares that role; empty if it has a keyword for such columns."""
    is_unique: bool = False
    """Whether a key or unique index on this column alone ensures a different value in every row."""
    is_generated: bool = False
    """Whether the database itself gives each row a new value: an identity, a sequence, a random ID."""
    refers_to: str | None = None
    """The table that a foreign key on this column refers to; None if there is no such key."""
    metrics: tuple[str, ...] = ()
    """In a table with the rows of several metrics: the metrics that use this column; empty if all of them do."""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """The time column."""

    name: str
    kind: TimeKind
    reason: str = ""
    """Why this column was chosen, and what counts against the others."""


def native(column: Column) -> TimeKind | None:
    """How a column of a time type stores the time; None for other types."""
    return _native(column.data_type)


@functools.lru_cache(maxsize=1_024)
def _native(data_type: str) -> TimeKind | None:
    kind = data_type.upper()
    if is_list(kind):
        return None
    if re.match(r"TIMESTAMPTZ|TIMESTAMP.* WITH TIME ZONE", kind):
        return TimeKind.ZONED
    return TimeKind.TIMESTAMP if re.match(r"TIMESTAMP|DATETIME|DATE\b", kind) else None


TYPES: Final = 1_024
"""Size of the caches by type name: the same type is looked up several times per column."""
_SCHEMA: Final = re.compile(r'(\w+|"([^"]|"")*")\.')


def is_made(data_type: str) -> bool:
    """Whether the type is user-defined in a schema, such as an extension's `public.citext`, rather than built in."""
    return bool(_SCHEMA.match(data_type))


def is_list(data_type: str) -> bool:
    """Whether values of the type are lists."""
    return data_type.endswith("]")


@functools.lru_cache(maxsize=TYPES)
def is_text(data_type: str) -> bool:
    """Whether columns of the type hold text."""
    schema = _SCHEMA.match(data_type)
    kind = data_type[schema.end() if schema else 0 :].upper()
    is_one = re.match(r"(N?VAR)?CHAR|N?VARCHAR|(CI)?TEXT|STRING|BPCHAR|CLOB|ENUM|UUID", kind)
    return bool(is_one) and not is_list(data_type)


_NUMBERS: Final = frozenset({"int", "long", "double", "decimal"})
"""BSON types that compare as equal; drivers choose between them by the value: `1` or `1.5`."""


def distinct_types(engine: str, types: Sequence[str]) -> tuple[str, ...]:
    """The types whose differences affect queries, sorted."""
    if not ENGINES[engine].keeps_documents:
        return tuple(types)
    return tuple(sorted({"number" if t in _NUMBERS else t for t in types}))


@functools.lru_cache(maxsize=TYPES)
def is_integer(data_type: str) -> bool:
    """Whether columns of the type contain integers. SQLite takes any type with INT in its name for one, and programs
    call theirs `dt_integer(8)`.
    """
    is_one = re.match(
        r"(?:\w+_)?U?(TINY|SMALL|BIG|HUGE|MEDIUM)?INT(EGER)?([248]|16|32|64)?\b|UNSIGNED", data_type.upper()
    )
    return bool(is_one) and not is_list(data_type)


@functools.lru_cache(maxsize=TYPES)
def is_number(data_type: str) -> bool:
    """Whether columns of the type contain integers, floats, or decimals."""
    is_one = re.match(r"FLOAT|REAL|DOUBLE|NUMERIC|DECIMAL|DEC\b", data_type.upper())
    return is_integer(data_type) or (bool(is_one) and not is_list(data_type))


def is_single(data_type: str) -> bool:
    """Whether columns of the type contain floating-point numbers of four bytes."""
    # In lower case, `float` is a type of InfluxDB, which has eight bytes.
    return bool(re.fullmatch(r"real|float4|float32|FLOAT|REAL|FLOAT4|Float32", data_type))
