"""A column of a SQL table, and how it stores the time."""

from __future__ import annotations

import enum
import functools
import re
from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.columns.types import is_list
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
