"""What the rows of a measurement contain: columns filled together, documents, measure names, duplicates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.model.figures import Count, Source
from tsaudit.model.profile.columns import Rhythms, SharedInstants

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
    """Columns of texts or documents that depend on each other, with few combinations in the rows read."""

    columns: Mapping[str, str]
    """Column to its type, largest column first."""
    combinations: int
    """Number of distinct combinations among the rows read."""
    keys: tuple[str, ...] = ()
    """Columns that have a different value for each combination."""


@dataclass(frozen=True, slots=True)
class RowBytes:
    """The size of a row by column."""

    columns: Mapping[str, float]
    """Column to its mean bytes in a row, counting nulls: as stored if the server reports it, otherwise as read."""
    repeated: tuple[RepeatedColumns, ...]
    rows: int
    """Number of rows read."""
    source: Source

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

    def lost(self, tags: Collection[str]) -> tuple[int, bool]:
        """The number of rows that would overwrite another one without the tags, and whether it is exact for the rows
        compared; otherwise it is a minimum.
        """
        gone = frozenset(tags)
        is_whole = self.whole and self.within not in gone
        inside = {frozenset(one.tags): one.rows for one in self.by if gone.issuperset(one.tags)}
        rows = max(inside.values(), default=0)
        is_counted = gone in inside or (not rows and self.complete)
        return rows, is_counted and is_whole


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
