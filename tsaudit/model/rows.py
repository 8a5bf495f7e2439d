"""What the rows and documents read show: patterns, measure names, bytes, duplicates, and times."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.model.figures import Count, Source


@dataclass(frozen=True, slots=True)
class SharedInstants:
    """Rows with a single value that have the same tags and time as other rows, and could be merged into one row."""

    names: tuple[str, ...]
    """Names of single-value measures that share an instant with others among the rows read, sorted."""
    rows: int
    """Number of rows read with these names."""
    instants: int
    """Distinct combinations of tags and time among them: the number of rows after merging."""
    bytes_now: int
    """Size of these rows in bytes: names and values of their tags, measure name, time, and value."""
    bytes_merged: int
    """Size in bytes with all values of an instant in one row."""
    source: Source


@dataclass(frozen=True, slots=True)
class FieldRhythm:
    """How regularly the values of one field arrive, in the series that have enough rows among those read."""

    field: str
    regular: int
    """Number of series in which values arrive at regular intervals, as metrics do."""
    irregular: int
    """Number of series in which values arrive irregularly, mostly in rows of their own, as events do."""
    interval_s: float | None
    """Median interval of the regular series in seconds; None if there are none."""


@dataclass(frozen=True, slots=True)
class PartingTag:
    """A tag that separates regular from irregular series: none of its values occurs in both."""

    tag: str
    regular: tuple[str | None, ...]
    """Up to three of its values in regular series; None stands for an absent tag."""
    irregular: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Rhythms:
    """How regularly points arrive. A field that is neither regular nor irregular in any series is not counted."""

    fields: tuple[FieldRhythm, ...]
    parted_by: PartingTag | None
    """The tag that separates regular from irregular series completely; None if none does, or all are of one kind."""
    source: Source


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
    """The tag sets, summed over the measure names: the series where that becomes a tag. None: not counted."""


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
    """Columns of texts, or (parts of) documents, that depend on each other, with few combinations among the rows."""

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
class LargerColumn:
    """A column whose values take several times as many bytes, from some day on, as on the days before."""

    column: str
    before: float
    """Mean bytes in a row until then, counting nulls, as stored."""
    now: float
    """The same since then."""
    since: datetime
    is_confirmed: bool = False
    """Whether the audit of another day saw it begin at the same time: where old values are emptied after some days, or
    a job fills the column once a week, that time moves on.
    """


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
    larger: tuple[LargerColumn, ...] = ()
    """Those whose values have become larger, by column."""

    def newest(self, name: str) -> float:
        """Mean bytes of a column, or of a part of one, in one of the rows to come: as since they became larger."""
        return next((one.now for one in self.larger if one.column == name and one.is_confirmed), self.of(name))

    def of(self, name: str) -> float:
        """Mean bytes of a column, or of a part of one, in a row."""
        return self.parts[name] if name in self.parts else self.columns[name]

    @property
    def total(self) -> float:
        """Mean bytes of all columns in a row, without the engine's overhead."""
        return sum(self.columns.values())


@dataclass(frozen=True, slots=True)
class KeyedFields:
    """Sibling names in documents that are data."""

    above: str
    """The path that contains them; empty at the top."""
    template: str
    names: tuple[str, ...]

    @property
    def path(self) -> str:
        """What stands for all of them."""
        return f"{self.above}.{self.template}" if self.above else self.template

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(f"{self.above}.{name}" if self.above else name for name in self.names)


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a collection that were read."""

    read: int
    mean_bytes: float
    max_bytes: int
    source: Source
    is_max_of_all: bool = False
    """Whether `max_bytes` is of all documents, not only of those that were read."""
    largest_field: str | None = None
    """The field that takes most of the largest of all documents; None if `max_bytes` is only of those read."""
    largest_id: str | None = None
    """A hash of its `_id`, which tells whether it is the same document as on another day; None as above."""
    keyed: tuple[KeyedFields, ...] = ()
    """Names that are data, of which there are more than fields are described; one field stands for each of these."""
    added_ratio: float | None = None
    """Share of the bytes read that is added each day at present, by the newest documents' times; None if unknown."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Duplicate rows among those read. A table that keeps one row per source and time has none."""

    rows: int
    """Number of rows read that have a time."""
    repeated: int
    """Number of rows with the same tags and time as an earlier one."""
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
    common: tuple[tuple[str, str], ...] = ()
    """Tags, with the value that all of these rows have, and some others do not. Empty if this is not known."""

    @property
    def began(self) -> datetime:
        """The time that the oldest of them was meant to have."""
        return _EPOCH + (self.first - _EPOCH) * self.factor

    @property
    def meant(self) -> datetime:
        """The time that the newest of them was meant to have."""
        return _EPOCH + timedelta(seconds=(self.last - _EPOCH).total_seconds() * self.factor)


EXPIRY_GRACE: Final = timedelta(days=31)
"""Jobs that remove what has expired may run once a month."""


@dataclass(frozen=True, slots=True)
class Expiry:
    """Rows of a table that may have been removed for EXPIRY_GRACE, as a column says that is named so."""

    column: str
    first: datetime
    last: datetime
    """The earliest and the latest time, of the rows examined."""
    rows: int
    """About how many rows the table has."""
    overdue: Count
    """Number of these rows."""


@dataclass(frozen=True, slots=True)
class RowsAhead:
    """Rows that are later than now, of a minority of the sources: their clock or time zone is wrong."""

    column: str
    """Its values are the sources."""
    values: int
    """Number of values whose rows are ahead."""
    others: int
    """Number of values whose rows end at about now."""
    offset_s: float
    """How far they are ahead."""
    newest: datetime
    examples: tuple[str, ...]
    """Some of the values, in order."""
    rows: Count
    """The rows read of them that are later than now."""


@dataclass(frozen=True, slots=True)
class ExcessRows:
    """Rows that arrive each day since the rows of a table have multiplied, most of them with one value of a column."""

    before_per_day: float
    """Rows of the table on a mean day before."""
    per_day: float
    """The same since then, as the audit that found it saw it."""
    since: datetime
    column: str
    value: str
    """The value that brings most of them, redacted unless it is a name."""
    share_before: float
    """Share of the rows that had this value before, 0 to 1."""
    share: float
    """The same since then."""
    also: tuple[tuple[str, str], ...]
    """Another column with the value, redacted unless it is a name, that nearly all of these rows have; may be empty."""
    source: Source

    @property
    def excess_per_day(self) -> float:
        """How many more rows with the value come each day."""
        return self.share * self.per_day - self.share_before * self.before_per_day


@dataclass(frozen=True, slots=True)
class SetApart:
    """A set of tags without which some rows would equal others in all other tags and the time."""

    tags: tuple[str, ...]
    rows: int
    """Number of compared rows that would then overwrite another one."""


@dataclass(frozen=True, slots=True)
class RowsApart:
    """Which tags distinguish rows with the same time, and how many would overwrite others without some."""

    rows: int
    """Number of rows compared: those read that have a time."""
    by: tuple[SetApart, ...]
    """The smallest such sets of tags, none of which contains another, and others counted; fewest tags first."""
    complete: bool
    """Whether `by` contains all of the smallest sets."""
    source: Source
    whole: bool = True
    """Whether all rows of each time were compared; otherwise more rows may overwrite each other."""
    within: str = ""
    """The tag for which only rows with one value were read; empty if rows with all values were."""
    absent: tuple[str, ...] = ()
    """The tags that none of the rows has: rows that have them were not compared."""

    def covers(self, tags: Collection[str]) -> bool:
        """Whether all rows that could overwrite others without the tags were compared; else, no loss proves nothing."""
        return self.whole and {self.within, *self.absent}.isdisjoint(tags)

    def lost(self, tags: Collection[str]) -> tuple[int, bool]:
        """The number of rows that would overwrite another one without the tags, and whether it is exact for the rows
        compared; otherwise it is a minimum.
        """
        gone = frozenset(tags)
        inside = {frozenset(one.tags): one.rows for one in self.by if gone.issuperset(one.tags)}
        rows = max(inside.values(), default=0)
        is_counted = gone in inside or (not rows and self.complete)
        return rows, is_counted and self.covers(gone)
