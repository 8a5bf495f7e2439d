"""What the rows of a table are."""

from __future__ import annotations

import enum
from typing import Final


class TableKind(enum.StrEnum):
    """Decides which rules evaluate a table: a customer per row is right in one, and a leak in another."""

    SERIES = "series"
    """Readings: the same sources write again and again, each row a time and measured values."""
    EVENTS = "events"
    """A log: each row is something that happened, and is not changed afterward."""
    REFERENCE = "reference"
    """One row per thing, or per version of it, that other rows refer to; new rows are rare."""
    ENTITY = "entity"
    """One row per thing, such as an order, that is updated during its life."""
    QUEUE = "queue"
    """One row per job, which workers take and finish."""
    ATTRIBUTE_VALUE = "attribute_value"
    """A column names the attribute, another one contains its value: a series per thing and attribute."""
    OTHER = "other"
    """None of these, or its rows do not show which: no rule that needs to know evaluates it."""

    @property
    def has_series(self) -> bool:
        """Whether rows of one source form a series."""
        return self in SERIES_KINDS

    @property
    def words(self) -> str:
        """For sentences: `a table of readings`."""
        return _WORDS[self]


SERIES_KINDS: Final = frozenset({TableKind.SERIES, TableKind.ATTRIBUTE_VALUE})
CLASSIFIED: Final = frozenset(TableKind) - {TableKind.OTHER}
READ_BY_TIME: Final = SERIES_KINDS | {TableKind.EVENTS, TableKind.QUEUE}
"""Rows arrive all the time, are read by their time, and are dropped when they are old."""
_WORDS: Final = {
    TableKind.SERIES: "series",
    TableKind.EVENTS: "events",
    TableKind.REFERENCE: "reference data",
    TableKind.ENTITY: "entities",
    TableKind.QUEUE: "jobs of a queue",
    TableKind.ATTRIBUTE_VALUE: "values by attribute",
    TableKind.OTHER: "other rows",
}
