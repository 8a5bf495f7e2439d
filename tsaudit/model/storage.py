"""How a measurement or a database is stored: indexes, partitions, retention, and bytes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tsaudit.model.figures import Forever, Source

MAX_PARTITIONS: Final = 100


DEFAULT_PARTITION: Final = "DEFAULT"
"""The bounds of the partition for rows that no other partition accepts (PostgreSQL)."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes on the engine's disk, as reported by the engine. None: not reported."""

    data_bytes: int | None
    index_bytes: int | None
    free_bytes: int | None = None
    """The part of `data_bytes` that holds nothing and is kept for new rows."""
    mean_row_bytes: float | None = None
    """Of all rows, before compression, as the engine counts them; only where documents are sampled."""


@dataclass(frozen=True, slots=True)
class Index:
    """One index of a table."""

    name: str
    kind: str
    """The engine's own name in lower case: btree, inverted, skipping, ..."""
    columns: tuple[str | None, ...]
    """Columns in the order of the index; None for an expression, or for a column with an unusual sort order."""
    unique: bool
    constraint: bool
    """Whether a primary key, or another constraint, needs it, so that it cannot simply be dropped."""
    partial: bool
    """Whether the index contains only the rows that meet its condition."""
    size_bytes: int | None = None
    """Size in bytes; None: the engine does not report it."""
    scans: int | None = None
    """Number of uses since `counted_since`; None if the engine does not count."""
    counted_since: datetime | None = None
    """When the counters began; None: at the index's creation, or not known."""
    scans_since: datetime | None = None
    """The day on which an audit first saw this number of uses. None if the engine does not count."""
    valid: bool = True
    """False if the index was never finished, so that no query uses it."""
    sorting: tuple[str, ...] = ()
    """The sorting of each column: desc, desc nulls last, nulls first; empty for ascending, and if all columns are."""

    rows_read: int | None = None
    """For an index of page ranges (BRIN): the number of rows on all pages that it led to since `counted_since`. None
    for other indexes, and if it is not known.
    """
    is_as_old: bool = False
    """Whether it existed at `counted_since`, so that it was updated for all rows written since. False if unknown."""
    expires_s: int | None = None
    """Seconds after which the index removes documents (TTL); None for an index that removes none."""

    def finds_ranges_of(self, column: str) -> bool:
        """Whether the index finds rows between two values of the column without reading all rows."""
        return self.valid and not self.partial and column in (self.columns if self.kind == "brin" else self.columns[:1])


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition, chunk, or region of a table."""

    name: str
    bounds: str
    """Which rows belong in the partition, in the engine's own words."""
    rows: int | None
    """Number of rows according to the engine's statistics; None if it has none."""
    bytes: int | None
    schema: str = ""
    """The schema it is in; empty if that is the table's."""


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How a table is partitioned."""

    key: tuple[str, ...]
    """The columns, or expressions, that decide where a row goes."""
    count: int
    partitions: tuple[Partition, ...]
    """Up to MAX_PARTITIONS partitions, the largest first; with a default partition, and the range that ends last."""
    last_end: datetime | None = None
    """The end of the last range of time; None if there are none, or the last one has no end."""
    first_begin: datetime | None = None
    """The beginning of the first range of time; None if there are none, or the first one has no beginning."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The retention of a database or table."""

    policy: str
    """Name of the retention policy; empty if the engine has none, so that rows stay until somebody deletes them."""
    duration_s: int | Forever
    partition_s: int | None
    """Length of a shard group, chunk, or partition, in seconds."""
    default: bool


@dataclass(frozen=True, slots=True)
class DatabaseStorage:
    """Bytes as reported by the server. None: not reported."""

    data_bytes: int | None
    index_bytes: int | None
    disk_used_bytes: int | None
    """Used bytes on the database's file system, including all other files on it."""
    disk_bytes: int | None
    """Size of that file system."""
    shards: int | None = None
    """Number of shards, files by time range, on engines that have them per database: InfluxDB 1 and 2."""
    shard_series: int | None = None
    """Sum of the series in each shard: a series counts once in every shard that contains it."""
    expired_shards: int | None = None
    """Number of shards that are still there a day or more after their retention has passed; None: not known."""
    expired_bytes: int | None = None
    """Bytes of these shards."""
    expired_since: int | None = None
    """When the retention of the oldest of them passed, in seconds since 1970; None if there are none."""


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of a time series collection, each of which contains rows of one source."""

    count: int
    read: int
    sources: int
    """Distinct sources among the buckets read."""
    median_rows: float | None
    """Median number of rows in a bucket; None if the buckets do not report it."""
    source: Source
    closed: int | None = None
    """Buckets closed since the server started; None if the server does not count them."""
    closed_by_change: int | None = None
    """Number of these buckets that were closed because a field's type changed, null included."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows in the files that are completely within the window; each version of a rewritten row is counted."""

    rows: int
    first_time: datetime
    """Time of the oldest of these rows."""
