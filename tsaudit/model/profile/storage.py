"""How an engine stores a table, and its retention."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tsaudit.model.profile.figures import Forever

MAX_PARTITIONS: Final = 100
DEFAULT_PARTITION: Final = "DEFAULT"
"""The bounds of the partition for rows that no other one accepts (PostgreSQL)."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes on the engine's disk, as reported by the engine. None: not reported."""

    data_bytes: int | None
    index_bytes: int | None


@dataclass(frozen=True, slots=True)
class Index:
    """One index of a table."""

    name: str
    kind: str
    """The engine's own word, in lower case: btree, inverted, skipping, ..."""
    columns: tuple[str | None, ...]
    """In the order of the index; None for an expression, or for a column with an unusual order."""
    unique: bool
    constraint: bool
    """A primary key, a unique constraint, or another one needs it, so it cannot simply be dropped."""
    partial: bool
    """It contains only the rows that meet its condition."""
    size_bytes: int | None = None
    """None: the engine does not report it."""
    scans: int | None = None
    """Number of uses since `counted_since`; None if the engine does not count."""
    counted_since: datetime | None = None
    """None: since always, or not known."""
    scans_since: datetime | None = None
    """The day on which an audit first saw this number of uses. None if the engine does not count."""
    valid: bool = True
    """False if no query uses it, because it was never finished."""
    sorting: tuple[str, ...] = ()
    """How each column is sorted, in SQL terms: desc, desc nulls last, nulls first; empty for ascending, and altogether
    if all are.
    """

    rows_read: int | None = None
    """Of an index of ranges of pages (BRIN): the rows of all pages that it led to since `counted_since`. None for
    others, and if it is not known.
    """
    is_as_old: bool = False
    """Whether it was there as long as uses were counted: it was written with all rows since `counted_since`. False if
    that is not known.
    """
    expires_s: int | None = None
    """After how long documents are removed by it; None for an index that removes none."""

    def finds_ranges_of(self, column: str) -> bool:
        """Whether it finds rows between two values of the column without reading all rows."""
        return self.valid and not self.partial and column in (self.columns if self.kind == "brin" else self.columns[:1])


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition, chunk, or region of a table."""

    name: str
    bounds: str
    """Which rows belong into it, in the engine's own words."""
    rows: int | None
    """According to the engine's statistics; None if it has none."""
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How a table is partitioned."""

    key: tuple[str, ...]
    """The columns, or expressions, that decide where a row goes."""
    count: int
    partitions: tuple[Partition, ...]
    """Up to MAX_PARTITIONS, the largest first; always including a default partition, and the range of time that ends
    last.
    """


@dataclass(frozen=True, slots=True)
class Retention:
    """The retention of a database or table."""

    policy: str
    """Its name; empty if the engine has no such thing, so that rows stay until somebody deletes them."""
    duration_s: int | Forever
    partition_s: int | None
    """Length of a shard group, chunk, or partition."""
    default: bool


@dataclass(frozen=True, slots=True)
class DatabaseStorage:
    """Bytes as reported by the server. None: not reported."""

    data_bytes: int | None
    index_bytes: int | None
    disk_used_bytes: int | None
    """On the file system of the database, including everything else on it."""
    disk_bytes: int | None
    """Size of that file system."""
    shards: int | None = None
    """Files by time, of engines that have them for a database: InfluxDB 1 and 2."""
    shard_series: int | None = None
    """Of all shards together: a series counts in each shard that has it."""


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """A column that the server allows in a measurement."""

    measurement: str
    column: str
    type: str
    """`timestamp`, `tag`, or `field`."""
    data_type: str | None
    """Of a field."""


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A query that the database runs on a schedule."""

    name: str
    statement: str
    bytes_scanned: int | None
    """By its last run; None: not reported."""
    spatial_coverage: float | None
    """The largest share of a table's partitions that its last run read, 0 to 1; None: not reported."""
    temporal_range_s: float | None = None
    """The longest time range of a table that its last run read; None: not reported."""
    period_s: float | None = None
    """From its last run to the next one; None: not reported."""
