"""Rows: which columns are filled together, and which documents and measure names there are."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from tsaudit.model.profile.fields import Rhythms, SharedInstants
from tsaudit.model.profile.figures import Count, Source

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
    """Up to MAX_PATTERNS, most common first."""
    rows: int
    """All rows read."""
    pairs: int
    """Consecutive rows of a series among those read."""
    complementary_pairs: int
    """Of these, the pairs in which no field is filled in both."""
    source: Source

    @property
    def complementary_ratio(self) -> float:
        """Their share of the pairs, 0 to 1; 0 if there are no pairs."""
        return self.complementary_pairs / self.pairs if self.pairs else 0.0

    @property
    def is_split(self) -> bool:
        """Whether one source spreads its fields over several rows: fields with different rates stay below four fifths
        of the pairs, because the faster one repeats.
        """
        return self.complementary_ratio > 0.8


@dataclass(frozen=True, slots=True)
class MeasureName:
    """One of the names that Timestream stores with each record, and partitions a table by."""

    name: str
    data_type: str
    """Of the values; `multi` if a record contains several. Empty: not reported."""
    dimensions: tuple[str, ...]
    """The tags that its records were ever written with."""
    rows: int | None = None
    """Within the window; None: not counted."""
    series: int | None = None
    """Approximate number of tag sets within the window; None: not counted."""
    filled: Mapping[str, int] = field(default_factory=dict)
    """Tag or field to the number of rows in which it is not null; those that are always null are left out."""
    row_patterns: RowPatterns | None = None
    """Of its rows among those read; None if there are none, or if many other names have more rows."""
    rhythms: Rhythms | None = None
    """As above."""

    @property
    def is_multi(self) -> bool:
        return self.data_type.lower() == "multi"


@dataclass(frozen=True, slots=True)
class MeasureNames:
    """The measure names of a table."""

    count: Count
    names: tuple[MeasureName, ...]
    """Up to MAX_MEASURE_NAMES, those with the most rows first."""
    shared: SharedInstants | None = None
    """None if no rows were read, or none of them contains a single value."""
    series_keys: Count | None = None
    """The sum of the tag sets under each measure name: the series on an engine where the name becomes a tag. None: not
    counted.
    """


@dataclass(frozen=True, slots=True)
class SampledPoint:
    """A point by which measurements are compared."""

    hash: int
    """Hash of its tag set and its time to the microsecond; 32 bits."""
    time_s: int
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class PointSample:
    """A few of the points read, which show which measurements have the same ones."""

    points: tuple[SampledPoint, ...]
    """Those with the lowest hashes, ascending."""
    complete: bool
    """Whether these are all points from `start` to `end`."""
    start: datetime
    """All points from then on were read."""
    end: datetime
    source: Source


@dataclass(frozen=True, slots=True)
class RepeatedColumns:
    """Texts or documents that depend on each other, with few combinations in the rows read."""

    columns: Mapping[str, str]
    """Column to its type, most bytes first."""
    combinations: int
    """Distinct ones among the rows read."""
    keys: tuple[str, ...] = ()
    """Columns that have a value of their own for each."""


@dataclass(frozen=True, slots=True)
class RowBytes:
    """What the columns of a row take."""

    columns: Mapping[str, float]
    """Column to its mean bytes in a row, nulls included: as stored if the server tells, otherwise as read."""
    repeated: tuple[RepeatedColumns, ...]
    rows: int
    """All rows read."""
    source: Source

    @property
    def total(self) -> float:
        """Mean bytes of all columns in a row, without what the engine adds."""
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
    """All rows read that have a time."""
    repeated: int
    """Rows with the same tags and time as an earlier one."""
    identical: int
    """Of these, the rows that are the same in all other columns, too."""
    source: Source
    lost_ratio: float | None = None
    """Share of the rows written, 0 to 1, that others of the same second overwrote, if they are events that come at
    random; see `analysis.rows.distinguishing_tags`. None if times are finer than seconds or rows do not come so.
    """


@dataclass(frozen=True, slots=True)
class SetApart:
    """Tags without which some rows would equal another one in all other tags and the time."""

    tags: tuple[str, ...]
    rows: int
    """Those that would then overwrite another one, of the rows compared."""


@dataclass(frozen=True, slots=True)
class RowsApart:
    """What distinguishes rows with the same time, and so which rows would overwrite another one without some of the
    tags.
    """

    rows: int
    """All rows compared: those read that have a time."""
    by: tuple[SetApart, ...]
    """The smallest sets, of which none contains another one, and other sets that were counted as well. Fewest tags
    first.
    """
    complete: bool
    """Whether all of the smallest sets are here."""
    source: Source
    whole: bool = True
    """Whether all rows of each time are among those compared; otherwise more of them may overwrite each other."""
    within: str = ""
    """The tag of which only rows of one value were read; empty for rows of all values."""

    def lost(self, tags: Collection[str]) -> tuple[int, bool]:
        """Rows that would overwrite another one without the tags, and whether exactly that many of those compared;
        otherwise at least that many.
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
    """Rows in a bucket; None if the buckets do not report it."""
    source: Source
    closed: int | None = None
    """Buckets closed since the server's start; None if it does not count them."""
    closed_by_change: int | None = None
    """Of these, those that were closed because a field had another type than before, null included."""


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows in the files that are completely within the window; each version of a rewritten row counts."""

    rows: int
    first_time: datetime
    """Of the oldest of these rows."""
