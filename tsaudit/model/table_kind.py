"""The kinds of tables."""

from __future__ import annotations

import enum
from typing import Final


class TableKind(enum.StrEnum):
    """The kind of rows in a table. It decides which rules evaluate the table: one row per customer is right in one
    kind, and a problem in another.
    """

    SERIES = "series"
    """Readings: the same sources write again and again; each row is a time with measured values."""
    EVENTS = "events"
    """A log: each row is an event, and is not changed afterward."""
    REFERENCE = "reference"
    """One row per entity, or per version of it, that other rows refer to; new rows are rare."""
    ENTITY = "entity"
    """One row per entity, such as an order, that is updated during its life."""
    QUEUE = "queue"
    """One row per job, which workers pick up and finish."""
    ATTRIBUTE_VALUE = "attribute_value"
    """One column names the attribute, and another contains its value: one series per entity and attribute."""
    OTHER = "other"
    """None of these, or the rows do not show which. Rules that depend on the kind do not evaluate such a table."""

    @property
    def has_series(self) -> bool:
        """Whether rows of one source form a series."""
        return self in SERIES_KINDS

    @property
    def words(self) -> str:
        """The kind as a noun phrase, for sentences: `a table of readings`."""
        return _WORDS[self]


SERIES_KINDS: Final = frozenset({TableKind.SERIES, TableKind.ATTRIBUTE_VALUE})
CLASSIFIED: Final = frozenset(TableKind) - {TableKind.OTHER}
READ_BY_TIME: Final = SERIES_KINDS | {TableKind.EVENTS, TableKind.QUEUE}
"""Kinds whose rows arrive all the time, are read by their time, and are deleted when they are old."""
_WORDS: Final = {
    TableKind.SERIES: "series",
    TableKind.EVENTS: "events",
    TableKind.REFERENCE: "reference data",
    TableKind.ENTITY: "entities",
    TableKind.QUEUE: "jobs of a queue",
    TableKind.ATTRIBUTE_VALUE: "values by attribute",
    TableKind.OTHER: "other rows",
}
