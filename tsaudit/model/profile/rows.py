"""Rows: what is filled together, and what documents and measure names there are."""

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
    """Which columns the rows read fill together."""

    patterns: tuple[RowPattern, ...]
    """Up to MAX_PATTERNS, most common first."""
    rows: int
    """All rows read."""
    pairs: int
    """Rows read that follow one another in one series."""
    complementary_pairs: int
    """Of these, the pairs in which no field is filled in both."""
    source: Source

    @property
    def complementary_ratio(self) -> float:
        """Their share of the pairs, 0 to 1; 0 where there are no pairs."""
        return self.complementary_pairs / self.pairs if self.pairs else 0.0


@dataclass(frozen=True, slots=True)
class MeasureName:
    """One of the names that Timestream keeps with each record, and partitions a table by."""

    name: str
    data_type: str
    """Of the values; `multi` where a record holds several. Empty: not told."""
    dimensions: tuple[str, ...]
    """The tags that its records were ever written with."""
    rows: int | None = None
    """Within the window; None: not counted."""
    series: int | None = None
    """Tag sets that it was written with within the window, roughly; None: not counted."""
    filled: Mapping[str, int] = field(default_factory=dict)
    """Tag or field to the rows in which it is not null; those that are null in all of them are left out."""
    row_patterns: RowPatterns | None = None
    """Of its rows among those read; None where there are none, or for a name with fewer rows than many others."""
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
    """Up to MAX_MEASURE_NAMES, those with most rows first."""
    shared: SharedInstants | None = None
    """None where no rows were read, or none of them holds a single value."""
    series_keys: Count | None = None
    """Tag sets under each measure name, added up: the series of an engine to which the name is one tag more. None: not
    counted."""


@dataclass(frozen=True, slots=True)
class SampledPoint:
    """A point by which measurements are compared."""

    hash: int
    """Of its tag set and its time to the microsecond; 32 bits."""
    time_s: int
    """Seconds since 1970."""


@dataclass(frozen=True, slots=True)
class PointSample:
    """A few of the points read, by which it is seen which measurements have the same ones."""

    points: tuple[SampledPoint, ...]
    """Those with the lowest hashes, ascending."""
    complete: bool
    """Whether these are all points from `start` to `end`."""
    start: datetime
    """All points from then on were read."""
    end: datetime
    source: Source


@dataclass(frozen=True, slots=True)
class Activity:
    """Operations on a collection, as the server counted them that was asked."""

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
    """Rows read that repeat another of them. Of a table that keeps one row per source and time there are none."""

    rows: int
    """All rows read that have a time."""
    repeated: int
    """Rows with the tags and the time of one before them."""
    identical: int
    """Of these, the rows that are the same in all other columns, too."""
    source: Source


@dataclass(frozen=True, slots=True)
class SetApart:
    """Tags that alone tell rows of one instant apart."""

    tags: tuple[str, ...]
    rows: int
    """Those that differ in exactly these tags from another row of their instant."""


@dataclass(frozen=True, slots=True)
class RowsApart:
    """What tells rows of one instant apart, and so which rows would be one without some of the tags."""

    rows: int
    """All rows read that have a time."""
    by: tuple[SetApart, ...]
    """The smallest sets, fewest tags first: none contains another one."""
    complete: bool
    """Whether all rows of each instant were compared, and all sets are here."""
    source: Source

    def without(self, tags: Collection[str]) -> int:
        """Rows that would be like another one, at least, without the tags; none where it is 0 and `complete`."""
        return max((one.rows for one in self.by if set(one.tags) <= set(tags)), default=0)


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of a time-series collection, each of which holds rows of one source."""

    count: int
    read: int
    sources: int
    """Different ones among the buckets read."""
    median_rows: float | None
    """Rows in a bucket; None where the buckets do not say."""
    source: Source


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows in the files that lie within the window as a whole; of a row that was written again, each version."""

    rows: int
    first_time: datetime
    """Of the oldest of these rows."""
