"""A database, bucket, schema, or retention policy, and what the server reports about itself and its tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from tsaudit.model.coverage import POLICY_SEPARATOR
from tsaudit.model.figures import Count
from tsaudit.model.profile.storage import DatabaseStorage, Retention

_IN_ORDER: Final = 0.5
"""Minimum correlation at which a range index (BRIN) helps: our estimate."""


@dataclass(frozen=True, slots=True)
class ServerCounter:
    """A counter of the server that starts at 0 when the server starts."""

    name: str
    """Of a database: `points_written`, `points_dropped`, `points_failed`, or `transaction_age`. Of the server:
    `continuous_queries_failed`, `subscriptions_failed`, `server_errors`, `compactions_failed`, `flushes_failed`,
    `writes_rejected`, `writes_delayed`, `queries_out_of_memory`, `open_files`, `connections`; and the `points_`
    counters if the server does not report them by database.
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

    def is_restarted(self, before: ServerStatus) -> bool | None:
        """Whether the server restarted since `before`, so that the counters began at 0 again; None: not known. A server
        that reports only its uptime gives a start in whole minutes, which may be off by one.
        """
        if self.started is None or before.started is None:
            return None
        is_whole = not (self.started.second or self.started.microsecond)
        return abs(self.started - before.started) > timedelta(minutes=1 if is_whole else 0)


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
    """At least this many of the accepted points were replaced by others with the same tags and time."""


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
    """Counters since `counted_since`: `rows_scanned` by scans of the whole table; `rows_inserted`, `rows_updated`,
    `rows_deleted`.
    """
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
    """Column that a sequence fills to the last ID that the sequence returned, approximately."""
    id_limits: Mapping[str, float] = field(default_factory=dict)
    """The same columns to the highest ID that both the sequence and the column's type allow."""
    sequences: Mapping[str, IdSequence] = field(default_factory=dict)
    """The same columns to their sequences."""

    def is_in_order(self, column: str) -> bool:
        """Whether neighboring pages have neighboring values of the column; True if that is not known. If not, most page
        ranges contain nearly all values, and a range index (BRIN) has to read all of them.
        """
        return self.order.get(column, 1.0) >= _IN_ORDER


@dataclass(frozen=True, slots=True)
class Database:
    """A database, bucket, or schema within the target."""

    name: str
    series: Count | None = None
    """Distinct tag sets, as everywhere in a profile. If retention policies are audited separately (`policy_of`), the
    number covers all of them: the server counts a series once, however many policies contain it.
    """
    retention: tuple[Retention, ...] | None = None
    """None: not measured, or the engine has no retention (then there is no gap)."""
    series_with_fields: Count | None = None
    """Distinct pairs of a tag set and a field, if the product counts those (InfluxDB Cloud); never compared with
    `series`, and stored under a separate name in the history.
    """
    storage: DatabaseStorage | None = None
    own_series: Count | None = None
    """The part of `series` in this database's own policy. None: no other policy has data, or it is not known."""
    kept: KeptPoints | None = None
    """How many of the accepted points are left; None: not known."""
    policy_of: str = ""
    """The database that this retention policy belongs to (InfluxDB 1.x: `shop` for `shop/raw`); empty for a database
    and its default policy.
    """
    statements: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Fact name to the statement that was sent, for facts about the database."""

    @property
    def server_name(self) -> str:
        """The server's name for the database."""
        return self.policy_of or self.name

    @property
    def own_name(self) -> str:
        """The name chosen by a user: of a database, or of the retention policy that is audited as one."""
        return self.name.removeprefix(f"{self.policy_of}{POLICY_SEPARATOR}") if self.policy_of else self.name
