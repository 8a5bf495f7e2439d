"""How an engine stores a table, and for how long."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from tsaudit.model.profile.figures import Forever

MAX_PARTITIONS: Final = 100
DEFAULT_PARTITION: Final = "DEFAULT"
"""The bounds of the partition that takes the rows for which there is no other one (PostgreSQL)."""


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes on the engine's disk, by its own account. None: it does not tell."""

    data_bytes: int | None
    index_bytes: int | None


@dataclass(frozen=True, slots=True)
class Index:
    """One index of a table."""

    name: str
    kind: str
    """The engine's own word, in lower case: btree, inverted, skipping, ..."""
    columns: tuple[str | None, ...]
    """In the order of the index; None for an expression, or a column that it does not keep in the usual order."""
    unique: bool
    constraint: bool
    """A primary key, a unique or another constraint needs it, so that it cannot simply be dropped."""
    partial: bool
    """It holds only the rows that fulfil its condition."""
    size_bytes: int | None = None
    """None: the engine does not tell."""
    scans: int | None = None
    """How often it was used since `counted_since`; None where the engine does not count."""
    counted_since: datetime | None = None
    """None: since always, or it is not known."""
    valid: bool = True
    """False where no query uses it, as it was never finished."""
    sorting: tuple[str, ...] = ()
    """How each column is sorted, as SQL says it: desc, desc nulls last, nulls first; empty for ascending, and the whole
    where all are."""

    def finds_ranges_of(self, column: str) -> bool:
        """Whether rows between two values of the column are found by it, without reading all rows."""
        return self.valid and not self.partial and column in (self.columns if self.kind == "brin" else self.columns[:1])


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition, chunk or region of a table."""

    name: str
    bounds: str
    """Which rows belong into it, in the engine's own words."""
    rows: int | None
    """By the engine's statistics; None where it keeps none."""
    bytes: int | None


@dataclass(frozen=True, slots=True)
class Partitioning:
    """How a table is cut into parts."""

    key: tuple[str, ...]
    """The columns, or expressions, that decide where a row goes."""
    count: int
    partitions: tuple[Partition, ...]
    """Up to MAX_PARTITIONS, the largest first; a default partition in any case."""


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a database, or a table, keeps its rows."""

    policy: str
    """Its name; empty where the engine has no such thing, so that rows stay until somebody deletes them."""
    duration_s: int | Forever
    partition_s: int | None
    """Length of a shard group, chunk or partition."""
    default: bool


@dataclass(frozen=True, slots=True)
class DatabaseStorage:
    """Bytes by the server's own account. None: it does not tell."""

    data_bytes: int | None
    index_bytes: int | None
    disk_used_bytes: int | None
    """On the file system the database is on, by whatever is on it."""
    disk_bytes: int | None
    """Size of that file system."""


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """A column that the server itself lets a measurement have."""

    measurement: str
    column: str
    type: str
    """`timestamp`, `tag` or `field`."""
    data_type: str | None
    """Of a field."""


@dataclass(frozen=True, slots=True)
class StoredQuery:
    """A query that the database runs by itself."""

    name: str
    statement: str
    bytes_scanned: int | None
    """By its last run; None: not told."""
    spatial_coverage: float | None
    """The largest share of a table's partitions that its last run read, 0 to 1; None: not told."""
    temporal_range_s: float | None = None
    """The longest time of which its last run read a table; None: not told."""
