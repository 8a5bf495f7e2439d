"""What the server says of itself and of its tables: limits as they are set, and counters of what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final


@dataclass(frozen=True, slots=True)
class ServerCounter:
    """Something that the server counts from its start on."""

    name: str
    """Of a database: `points_written`, `points_dropped`, `points_failed`, or `transaction_age`. Of the server:
    `continuous_queries_failed`, `subscriptions_failed`, `server_errors`, `compactions_failed`, `flushes_failed`,
    `writes_rejected`, `writes_delayed`, `queries_out_of_memory`, `open_files`, `connections`; and the points, if the
    server does not tell whose.
    """
    database: str
    """Empty for the server."""
    value: int


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The server's limits and counters, as far as the user may see them."""

    settings: Mapping[str, float] = field(default_factory=dict)
    """`max_series_per_database` and `max_values_per_tag`, 0 for none; `index_in_memory`, 1 or 0; `open_files` and
    `connections` that it may have; of PostgreSQL, `lock_table`, the locks there is room for, and others by its own
    names. A missing one is not known.
    """
    counters: tuple[ServerCounter, ...] = ()
    failures: tuple[ServerCounter, ...] = ()
    """What fails at present, with how often it has."""
    started: datetime | None = None
    """When the counters began; None: not known."""

    def counted(self, name: str, database: str) -> int | None:
        """The counter of the database; None if the server does not tell."""
        found = [one.value for one in self.counters if (one.name, one.database) == (name, database)]
        return sum(found) if found else None

    def is_restarted(self, before: ServerStatus) -> bool | None:
        """Whether the counters began at 0 again since; None: not known. Of a server that only says how long it has run,
        the start is a whole minute, and may be the next one.
        """
        if self.started is None or before.started is None:
            return None
        is_whole = not (self.started.second or self.started.microsecond)
        return abs(self.started - before.started) > timedelta(minutes=1 if is_whole else 0)


@dataclass(frozen=True, slots=True)
class KeptPoints:
    """What is left of the points that the server accepted for one part of a database."""

    measurement: str
    """The one that nearly all rows are of; empty if there is none."""
    first: datetime
    """The beginning of the part."""
    last: datetime
    """Its end."""
    accepted: int
    """Since the server's start."""
    overwritten: int
    """Of these, replaced by others with the same tags and time, at least."""


@dataclass(frozen=True, slots=True)
class TableStatus:
    """What the server counts of a table and all its partitions, as far as it does. A missing figure is not known."""

    counters: Mapping[str, float] = field(default_factory=dict)
    """Since `counted_since`: `rows_scanned`, by scans of the whole table; `rows_inserted`, `rows_updated`,
    `rows_deleted`.
    """
    figures: Mapping[str, float] = field(default_factory=dict)
    """Now: `live_rows`, `dead_rows`, `heap_bytes` of the rows with what is free between them, `columns_used` with
    dropped ones, and `vacuumed`, in seconds since 1970.
    """
    order: Mapping[str, float] = field(default_factory=dict)
    """Column to how far rows lie in its order, 0 to 1: the correlation that PostgreSQL estimates."""
    counted_since: datetime | None = None
    """None: not known."""
    widths: Mapping[str, float] = field(default_factory=dict)
    """Column to its mean bytes in a row as stored, nulls included: what lies outside of the row does not count."""
    common: Mapping[str, float] = field(default_factory=dict)
    """Column to the share of the rows that have its most common value, or null if those are more, 0 to 1."""
    ids: Mapping[str, float] = field(default_factory=dict)
    """Column that a sequence fills to the last ID that it gave, or about that."""
    id_limits: Mapping[str, float] = field(default_factory=dict)
    """The same columns to the highest ID that both the sequence and the column's type allow."""

    def is_in_order(self, column: str) -> bool:
        """Whether neighboring pages have neighboring values of the column; so if that is not known. Otherwise most
        ranges of pages have nearly all values, and an index of ranges leads to all of them.
        """
        return self.order.get(column, 1.0) >= _IN_ORDER


_IN_ORDER: Final = 0.5
"""Correlation from which on an index of ranges helps: our estimate."""
