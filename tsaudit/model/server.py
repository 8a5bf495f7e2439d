"""What a server says of itself and of its tables: counters, stored queries, and sequences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A query that the database runs on a schedule."""

    name: str
    statement: str
    bytes_scanned: int | None
    """Bytes that its last run scanned; None: not reported."""
    spatial_coverage: float | None
    """The largest share of a table's partitions that its last run read, 0 to 1; None: not reported."""
    temporal_range_s: float | None = None
    """The longest time range of a table that its last run read; None: not reported."""
    period_s: float | None = None
    """Seconds from its last run to the next one; None: not reported."""
    database: str = ""
    """The database that it belongs to; empty if queries belong to none."""


@dataclass(frozen=True, slots=True)
class Activity:
    """Operations on a collection, as counted by the connected server."""

    reads: int
    writes: int
    counted_since: datetime | None


_IN_ORDER: Final = 0.5
"""Minimum correlation at which a range index (BRIN) helps: our estimate."""


@dataclass(frozen=True, slots=True)
class ServerCounter:
    """A counter of the server that starts at 0 when the server starts."""

    name: str
    """Of a database: `points_written`, `points_dropped`, `points_failed`, or `transaction_age`. Of the server:
    `continuous_queries_failed`, `tasks_failed`, `subscriptions_failed`, `server_errors`, `compactions_failed`,
    `flushes_failed`, `writes_rejected`, `writes_delayed`, `queries_out_of_memory`, `open_files`, `connections`; and
    the `points_` counters if the server does not report them by database.
    """
    database: str
    """The database that the counter is about; empty for the server."""
    value: int


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The server's limits and counters, as far as the user may read them."""

    settings: Mapping[str, float] = field(default_factory=dict)
    """`max_series_per_database` and `max_values_per_tag`, 0 for none; `index_in_memory`, 1 or 0; `retention_enabled`,
    whether shards are deleted after their retention, 1 or 0; the maximum of `open_files` and `connections`; for
    PostgreSQL, `lock_table`, the number of locks that fit, and other settings by their own names. A missing setting is
    not known.
    """
    counters: tuple[ServerCounter, ...] = ()
    failures: tuple[ServerCounter, ...] = ()
    """What fails at present, with the number of failures, or the bytes that are kept for it."""
    started: datetime | None = None
    """When the counters began; None: not known."""

    def counted(self, name: str, database: str) -> int | None:
        """The value of the counter for the database; None if the server does not report it."""
        found = [one.value for one in self.counters if (one.name, one.database) == (name, database)]
        return sum(found) if found else None

    def is_same_start(self, before: ServerStatus) -> bool | None:
        """Whether the counters of both began at the same time, so that they can be compared; None: not known. A start
        that follows from an uptime is off by a second or a minute: by what was rounded, or by what the clock was set.
        """
        if self.started is None or before.started is None:
            return None
        return abs(self.started - before.started) <= timedelta(minutes=1)

    def is_restarted(self, before: ServerStatus, audited: datetime) -> bool | None:
        """Whether the server restarted since it was `audited` with the status `before`, so that its counters began at 0
        again; None: not known. Another start before that time is no restart: another server of a group answered, or the
        machine was suspended, and its uptime stood still.
        """
        if self.started is None or before.started is None:
            return None
        return self.started > audited and not self.is_same_start(before)


@dataclass(frozen=True, slots=True)
class KeptPoints:
    """How many of the points that the server accepted for one part of a database are left."""

    measurement: str
    """The measurement that nearly all rows belong to; empty if there is none."""
    first: datetime
    """The beginning of the part's time range."""
    last: datetime
    """The end of the part's time range."""
    accepted: int
    """Points accepted since the server started."""
    overwritten: int
    """This many of the accepted points were replaced by others with the same tags and time, at least."""
    counted: bool = False
    """Whether the values of the points were counted, so that this is not only a minimum."""


@dataclass(frozen=True, slots=True)
class IdSequence:
    """What gives a column its IDs."""

    name: str
    """Quoted and with its schema, as statements need it."""
    is_identity: bool
    """Whether it belongs to an identity column, and changes its type with the column."""
    step: int
    """From one ID to the next."""
    is_shared: bool
    """Whether several columns take their IDs from it."""


@dataclass(frozen=True, slots=True)
class TableStatus:
    """What the server counts for a table and all its partitions. A missing figure is not known."""

    counters: Mapping[str, float] = field(default_factory=dict)
    """Since `counted_since`: `rows_scanned` by scans of the whole; `rows_inserted`, `rows_updated`, `rows_deleted`."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Current figures: `live_rows`, `dead_rows`, `heap_bytes` including free space, `columns_used` including dropped
    columns, and `vacuumed`, in seconds since 1970.
    """
    order: Mapping[str, float] = field(default_factory=dict)
    """Column to how closely the physical order of rows follows it, 0 to 1: PostgreSQL's estimate of the correlation."""
    counted_since: datetime | None = None
    """When the counters began; None: not known."""
    widths: Mapping[str, float] = field(default_factory=dict)
    """Column to its mean bytes in a row as stored, counting nulls, without values stored outside of the row."""
    common: Mapping[str, float] = field(default_factory=dict)
    """Column to the share of rows that have its most common value, or null if that is more common, 0 to 1."""
    ids: Mapping[str, float] = field(default_factory=dict)
    """Column that a sequence fills, or one of `refers`, to the last ID that the sequence returned, approximately;
    one of `written_ids` to about the highest one.
    """
    id_limits: Mapping[str, float] = field(default_factory=dict)
    """The same columns to the highest ID that both the sequence, if there is one, and the column's type allow."""
    refers: Mapping[str, str] = field(default_factory=dict)
    """Column whose type does not hold all IDs of the column that it refers to, to that one: `builds.id`."""
    written_ids: frozenset[str] = frozenset()
    """Columns that no sequence fills, whose integers rise in the order of the rows, and use up most of their type."""
    sequences: Mapping[str, IdSequence] = field(default_factory=dict)
    """Column that a sequence fills to its sequence."""

    def is_in_order(self, column: str) -> bool:
        """Whether neighboring pages have neighboring values of the column; True if that is not known. If not, most page
        ranges contain nearly all values, and a range index (BRIN) has to read all of them.
        """
        return self.order.get(column, 1.0) >= _IN_ORDER
