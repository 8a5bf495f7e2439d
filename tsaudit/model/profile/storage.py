"""How rows are stored: retention, partitions, indexes, and sizes; and what the rows read show."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.model.figures import Count, Forever, Source
from tsaudit.model.profile.columns import Rhythms, SharedInstants

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
    """Whether a primary key, a unique constraint, or another constraint needs the index, so that it cannot simply be
    dropped.
    """
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
    """How each column is sorted, in SQL terms: desc, desc nulls last, nulls first; empty for ascending. An empty tuple
    if all columns are ascending.
    """

    rows_read: int | None = None
    """For an index of page ranges (BRIN): the number of rows on all pages that it led to since `counted_since`. None
    for other indexes, and if it is not known.
    """
    is_as_old: bool = False
    """Whether the index has existed since `counted_since`, so that it was updated for all rows written since then.
    False if that is not known.
    """
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
    """Up to MAX_PARTITIONS partitions, the largest first; always including a default partition, and the time range that
    ends last.
    """
    last_end: datetime | None = None
    """The end of the last range of time; None if there are none, or the last one has no end."""


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


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

MAX_PATTERNS: Final = 32
MAX_MEASURE_NAMES: Final = 128


@dataclass(frozen=True, slots=True)
class RowPattern:
    """Rows that fill the same columns."""

    columns: tuple[str, ...]
    """Tags and fields that are not null in them, sorted."""
    rows: int


@dataclass(frozen=True, slots=True)
class RowPatterns:
    """Which columns are filled together in the rows read."""

    patterns: tuple[RowPattern, ...]
    """Up to MAX_PATTERNS patterns, most common first."""
    rows: int
    """Number of rows read."""
    pairs: int
    """Number of pairs of consecutive rows of a series among those read."""
    complementary_pairs: int
    """Number of these pairs in which no field is filled in both rows."""
    source: Source

    @property
    def complementary_ratio(self) -> float:
        """Share of the pairs that are complementary, 0 to 1; 0 if there are no pairs."""
        return self.complementary_pairs / self.pairs if self.pairs else 0.0

    @property
    def is_split(self) -> bool:
        """Whether one source spreads its fields over several rows. Fields that are written at different rates stay
        below four fifths of the pairs, because the faster one repeats.
        """
        return self.complementary_ratio > 0.8


@dataclass(frozen=True, slots=True)
class MeasureName:
    """A measure name: Timestream stores one with each record, and partitions tables by it."""

    name: str
    data_type: str
    """Data type of the values; `multi` if a record contains several values. Empty: not reported."""
    dimensions: tuple[str, ...]
    """All tags that records with this measure name were ever written with."""
    rows: int | None = None
    """Rows within the window; None: not counted."""
    series: int | None = None
    """Approximate number of tag sets within the window; None: not counted."""
    filled: Mapping[str, int] = field(default_factory=dict)
    """Tag or field to the number of rows in which it is not null; columns that are always null are left out."""
    row_patterns: RowPatterns | None = None
    """Which columns are filled together in the rows read with this measure name. None if there are no such rows, or if
    many other measure names have more rows.
    """
    rhythms: Rhythms | None = None
    """How regularly points arrive; None in the same cases."""

    @property
    def is_multi(self) -> bool:
        return self.data_type.lower() == "multi"


@dataclass(frozen=True, slots=True)
class MeasureNames:
    """The measure names of a table."""

    count: Count
    names: tuple[MeasureName, ...]
    """Up to MAX_MEASURE_NAMES measure names, those with the most rows first."""
    shared: SharedInstants | None = None
    """Rows that could be merged; None if no rows were read, or none of them contains a single value."""
    series_keys: Count | None = None
    """The number of tag sets, summed over the measure names: the series on an engine where the measure name becomes a
    tag. None: not counted.
    """


@dataclass(frozen=True, slots=True)
class SampledPoint:
    """A point used to compare measurements with each other."""

    hash: int
    """Hash of its tag set and its time to the microsecond; 32 bits."""
    time_s: int
    """Seconds since 1970."""


MOST_COMPARED_FIELDS: Final = 2
"""Most fields of a measurement that is compared with others: a value and its unit or quality. Measurements with more
fields are topics of their own, like cpu and mem.
"""


@dataclass(frozen=True, slots=True)
class PointSample:
    """A sample of the points read, which shows which measurements contain the same points."""

    points: tuple[SampledPoint, ...]
    """The points with the lowest hashes, ascending."""
    complete: bool
    """Whether `points` contains all points from `start` to `end`."""
    start: datetime
    """From this time on, all points were read."""
    end: datetime
    source: Source


@dataclass(frozen=True, slots=True)
class RepeatedColumns:
    """Columns of texts or documents, or parts of documents, that depend on each other, with few combinations in the
    rows read.
    """

    columns: Mapping[str, str]
    """Column to its type, largest column first; a part of a document is named like `about.device`, see `RowBytes`."""
    combinations: int
    """Number of distinct combinations among the rows read."""
    keys: tuple[str, ...] = ()
    """Columns that have a different value for each combination."""


@dataclass(frozen=True, slots=True)
class EqualColumns:
    """Two columns of texts or documents that are the same in nearly all rows read."""

    column: str
    other: str
    share: float
    """Share of the rows read, 0 to 1, in which both have the same value, nulls left out."""


@dataclass(frozen=True, slots=True)
class RowBytes:
    """The size of a row by column."""

    columns: Mapping[str, float]
    """Column to its mean bytes in a row, counting nulls: as stored if the server reports it, otherwise as read."""
    repeated: tuple[RepeatedColumns, ...]
    rows: int
    """Number of rows read."""
    source: Source
    parts: Mapping[str, float] = field(default_factory=dict)
    """The same for parts of documents that repeat, which the columns contain: their share of the text."""
    equal: tuple[EqualColumns, ...] = ()

    def of(self, name: str) -> float:
        """Mean bytes of a column, or of a part of one, in a row."""
        return self.parts[name] if name in self.parts else self.columns[name]

    @property
    def total(self) -> float:
        """Mean bytes of all columns in a row, without the engine's overhead."""
        return sum(self.columns.values())


@dataclass(frozen=True, slots=True)
class Activity:
    """Operations on a collection, as counted by the connected server."""

    reads: int
    writes: int
    counted_since: datetime | None


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a collection that were read."""

    read: int
    mean_bytes: float
    max_bytes: int
    source: Source
    is_max_of_all: bool = False
    """Whether `max_bytes` is of all documents, not only of those that were read."""
    added_ratio: float | None = None
    """Share of the bytes read that is added each day at present, by the times of the newest documents; None if that is
    not known.
    """


@dataclass(frozen=True, slots=True)
class Repeats:
    """Duplicate rows among those read. A table that keeps one row per source and time has none."""

    rows: int
    """Number of rows read that have a time."""
    repeated: int
    """Number of rows with the same tags and time as an earlier one."""
    identical: int
    """Number of these rows that are the same in all other columns, too."""
    source: Source
    lost_ratio: float | None = None
    """Estimated share of the rows written, 0 to 1, that were overwritten by others of the same second, if they are
    events that occur at random times; see `analysis.rows.distinguishing_tags`. None if times are finer than seconds, or
    rows do not occur at random times.
    """


@dataclass(frozen=True, slots=True)
class Copies:
    """Rows read that equal another one in all columns that say what they are about."""

    rows: int
    """Number of rows compared."""
    copies: int
    """Number of rows that equal an earlier one; 0 if that many are equal by chance."""
    in_bulk: int
    """Number of these in the longest period in which nearly all rows have a copy, and equally many."""
    first: datetime | None
    """Begin of that period; None if there is none. `last` is its end."""
    last: datetime | None
    left_out: tuple[str, ...]
    """Columns that were not compared: those that the database fills, and those that say when a row was loaded."""
    source: Source
    key: tuple[str, ...] = ()
    """The column that identifies a row, as its values differ in nearly all rows but the copies; after the column within
    which they do, if there is one. Empty if there is none: then rows may be the same, and still be two.
    """
    since: datetime | None = None
    """The time of the first row that is a copy; None if copies are as old as the rows read."""
    column: str = ""
    """A column of which only some values have copies; empty if copies are everywhere."""
    values: tuple[str, ...] = ()
    """These values, most copies first, redacted unless they are names."""
    rows_there: int = 0
    """Number of rows compared that have these values."""


@dataclass(frozen=True, slots=True)
class OtherTimes:
    """Values of a column with times in another form than most of them, which a range of times does not find."""

    column: str
    values: int
    """Number of values in the form of most, among the rows read for that."""
    usual: str
    """One of these."""
    others: int
    other: str
    """One of the others."""
    source: Source


@dataclass(frozen=True, slots=True)
class MisdatedRows:
    """Rows whose times were written in a wrong unit, so that they are in January 1970."""

    first: datetime
    last: datetime
    factor: int
    """By how much the unit is too small: the time since 1970 times this is the time that was meant."""
    rows: Count | None = None
    """The number of these rows; None if they were not counted."""
    are_all: bool = False
    """Whether all rows of the measurement are among them."""

    @property
    def meant(self) -> datetime:
        """The time that the newest of them was meant to have."""
        return _EPOCH + timedelta(seconds=(self.last - _EPOCH).total_seconds() * self.factor)


@dataclass(frozen=True, slots=True)
class SetApart:
    """A set of tags without which some rows would equal others in all other tags and the time."""

    tags: tuple[str, ...]
    rows: int
    """Number of compared rows that would then overwrite another one."""


@dataclass(frozen=True, slots=True)
class RowsApart:
    """Which tags distinguish rows with the same time, and so how many rows would overwrite others without some of the
    tags.
    """

    rows: int
    """Number of rows compared: those read that have a time."""
    by: tuple[SetApart, ...]
    """The smallest such sets of tags, none of which contains another, and other sets that were also counted. Sets with
    the fewest tags first.
    """
    complete: bool
    """Whether `by` contains all of the smallest sets."""
    source: Source
    whole: bool = True
    """Whether all rows of each time were compared; otherwise more rows may overwrite each other."""
    within: str = ""
    """The tag for which only rows with one value were read; empty if rows with all values were."""

    def covers(self, tags: Collection[str]) -> bool:
        """Whether all rows that could overwrite another one without the tags were compared with it. Otherwise, that
        none is lost proves nothing.
        """
        return self.whole and self.within not in tags

    def lost(self, tags: Collection[str]) -> tuple[int, bool]:
        """The number of rows that would overwrite another one without the tags, and whether it is exact for the rows
        compared; otherwise it is a minimum.
        """
        gone = frozenset(tags)
        inside = {frozenset(one.tags): one.rows for one in self.by if gone.issuperset(one.tags)}
        rows = max(inside.values(), default=0)
        is_counted = gone in inside or (not rows and self.complete)
        return rows, is_counted and self.covers(gone)


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
