"""What a database's schema is on one day: the profile, and where each of its figures came from.

`None` always means "not measured" and has a `Gap` that says why; "kept forever" is `FOREVER`.
Timestamps are aware and in UTC. Ratios run from 0 to 1. Lists are sorted by name.
"""

from __future__ import annotations

import enum
import fnmatch
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Final, Literal

from tsaudit.secrets import mask

SCHEMA_VERSION: Final = 1
"""Raised when a stored profile of the version before cannot be read as one of this version."""

SAMPLE_SIZE: Final = 64
"""How many distinct values of a column a profile keeps."""
MAX_PATTERNS: Final = 32
MAX_MEASURE_NAMES: Final = 128
MAX_PARTITIONS: Final = 100
DEFAULT_PARTITION: Final = "DEFAULT"
"""The bounds of the partition that takes the rows for which there is no other one (PostgreSQL)."""

POLICY_MARK: Final = "/"
"""Between a database and its retention policy, in the name under which a policy is audited (`shop/raw`)."""

Forever = Literal["forever"]
FOREVER: Final[Forever] = "forever"
"""The duration of a retention that never drops data."""


class How(enum.StrEnum):
    """How a figure was had."""

    EXACT = "exact"
    ESTIMATE = "estimate"
    """Computed by the engine or by us from statistics; has a standard error where one is known."""
    SAMPLED = "sampled"
    """Exact for a part of the data; `Source.scope` names the part."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure came from."""

    query: str
    """The query file below `sql/`, e.g. `duckdb/row_count.sql`."""
    how: How
    as_of: datetime
    """When it was measured; older than the profile when the figure was reused."""
    scope: str = ""
    """Which part of the data it covers, in words; empty for all of it."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number of things."""

    value: int
    source: Source
    standard_error: float | None = None
    """In the same unit as `value`; None when exact or unknown."""


def how_summed(counts: Sequence[Count]) -> tuple[How, float | None]:
    """How the sum of the counts was measured, and its standard error; None where it is exact, or one is not known."""
    estimates = [count for count in counts if count.source.how is not How.EXACT]
    if not estimates:
        return How.EXACT, None
    errors = [count.standard_error for count in estimates if count.standard_error is not None]
    return How.ESTIMATE, math.hypot(*errors) if len(errors) == len(estimates) else None


@dataclass(frozen=True, slots=True)
class Ratio:
    """A share, 0 to 1."""

    value: float
    source: Source
    standard_error: float | None = None


class Role(enum.StrEnum):
    """What a column is for. InfluxDB says so itself; in SQL it is inferred or configured."""

    TIME = "time"
    TAG = "tag"
    FIELD = "field"


@dataclass(frozen=True, slots=True)
class SeriesSince:
    """Series of one listing whose newest part, the whole tag set or one tag's value, was first seen on a day."""

    day: date
    series: int


ValuesKind = Literal["bounded", "churning", "unbounded", "unknown"]


@dataclass(frozen=True, slots=True)
class ValuesOverTime:
    """What the listings so far tell of a tag's values. Sampled figures are scaled up to all values."""

    kind: ValuesKind
    """Whether the values end; `unknown` with less than a week of listings."""
    beta: float | None
    """How the distinct values grow with the days: 0 the same every day, 1 all new every day; None when unknown."""
    turnover: float | None
    """Share of a week's values that were new in it; None when unknown."""
    days: int
    """Days with a listing, of the last 28, from the first on which the tag had values."""
    new_values: int | None
    """Values that no listing before this one showed; None where there was none before."""
    new_per_day: float | None
    """Over these days; None with a single one."""
    life_days: float | None
    """Median, of the values that ended; None when none did, or when what was listed never leaves the listing."""
    series: tuple[SeriesSince, ...]
    """The listed series by the day their value of this tag was first seen, oldest first. See `Arrivals.began`."""
    newest: date | None
    """When the newest values were first seen; None where all may be older than the first listing."""
    examples: tuple[str, ...] = ()
    """Up to three of those."""
    shape: str = "unknown"
    """What those look like, by a sample of them."""
    sampled_values: int | None = None
    """Of how many values the series by day are known; None for all of them."""
    standard_error: float | None = None
    """Of `new_values`, which is too small to be seen within twice of it; None where all values are known."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Which series of a listing are new, by the listings of the days before."""

    observed: date
    """The day of the listing."""
    before: date | None
    """The day of the listing before it; None for the first, by which nothing can be called new."""
    began: date
    """The day of the first listing: what it showed may be older."""
    new_series: int | None
    """Series that no listing before this one showed; None where there was none before."""
    series: tuple[SeriesSince, ...]
    """The listed series by the day they were first seen, oldest first; those of more than 90 days together."""
    sampled_series: int | None = None
    """Of how many series this is known; None for all of them."""
    standard_error: float | None = None
    """Of `new_series`; None where all series are known."""


@dataclass(frozen=True, slots=True)
class TagChanges:
    """How a tag changes over time for one source, in the rows read. An instant is a time at which a source has rows."""

    by: tuple[str, ...]
    """The tags that name the source; none: all rows are of one."""
    values: int
    """Distinct ones, absence counted as one."""
    shared: int
    """Of these, the values that occur with several values of each tag in `by` that has several: the fewest for any.
    With none of them the tag names a part of what another one names."""
    sources: int
    """With rows at several instants."""
    changing: int
    """Of these, with more than one value."""
    pairs: int
    """Instants of the changing sources that follow one another."""
    changes: int
    """Of these, with another value than before."""
    by_chance: float
    """Changes to be expected if each source's values came in any order."""
    instants: int
    """Of all sources."""
    clashes: int
    """Of these, with several values at once."""
    roughness: float | None
    """Mean step between values that follow one another, by that between any two of the source: near 0 for a slow curve,
    near 1 for numbers in any order. None where the values are no numbers or never change."""
    source: Source


@dataclass(frozen=True, slots=True)
class Tag:
    """A column that identifies the source of a row; the tags together make the series."""

    key: str
    data_type: str
    values: Count | None = None
    """Distinct values, absence not counted."""
    sample: tuple[str, ...] = ()
    """Up to SAMPLE_SIZE distinct values, spread over all of them, sorted."""
    absent: Ratio | None = None
    """Share of the series that lack this tag."""
    role_reason: str = ""
    """Why the column counts as a tag; empty where the engine itself says so."""
    over_time: ValuesOverTime | None = None
    """None where the values were not listed in full, or no history was at hand to compare them with."""
    changes: tuple[TagChanges, ...] | None = None
    """By all other tags, then by the one of them with most values. None where no rows with times were read."""


@dataclass(frozen=True, slots=True)
class Items:
    """How many items the arrays hold that were read of a field."""

    mean: float
    most: int


@dataclass(frozen=True, slots=True)
class TimeLag:
    """How far a field that holds times lies before the time of its row, in the rows read that have both."""

    rows: int
    before_ratio: float
    """Share of these rows in which the field is earlier."""
    median_s: float
    """Of all these rows; negative where the field is mostly later."""
    spread_s: float
    """Between the 10 % with the least lag and the 10 % with the most."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column that holds what was measured."""

    key: str
    types: tuple[str, ...]
    """The engine's own names; more than one is a type conflict."""
    null_ratio: Ratio | None = None
    distinct: Count | None = None
    """Distinct values among the rows read."""
    sample: tuple[str, ...] = ()
    """Up to SAMPLE_SIZE distinct values, as text, sorted."""
    constant_ratio: Ratio | None = None
    """Share of the series read, with at least two rows, in which the field has only one value."""
    whole_ratio: Ratio | None = None
    """Share of the values read that are whole numbers; None for fields that are not floats."""
    role_reason: str = ""
    value_bytes: float | None = None
    """Mean bytes of a value where there is one; None where the engine does not tell."""
    items: Items | None = None
    """None for fields that never hold an array."""
    lag: TimeLag | None = None
    """None where it holds no times, or no rows with times were read."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Every value of `determinant` occurs with one value of `dependent` only."""

    determinant: str
    dependent: str


@dataclass(frozen=True, slots=True)
class JointDependency:
    """Every combination of the two `determinants` occurs with one value of `dependent` only; neither alone does it."""

    determinants: tuple[str, str]
    dependent: str


@dataclass(frozen=True, slots=True)
class NearDependency:
    """A tag that determines another except for a few of its values."""

    determinant: str
    dependent: str
    broken: int
    """Values of `determinant` that occur with several values of `dependent`."""
    values: int
    """Values of `determinant` that occur in several series, and so could be among `broken`."""
    exceptions: int
    """Series without which `determinant` would determine `dependent`: the fewest there are."""
    examples: tuple[str | None, ...]
    """Up to three of the values that break it; None stands for an absent tag."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What is left if `tag`, and with it every tag that determines it, were no tag any more."""

    tag: str
    together_with: tuple[str, ...]
    """Tags that determine `tag`: without dropping them too, nothing is gained."""
    series_left: int
    """Where only a sample of the series was kept: at most so many."""
    at_least: int | None = None
    """Where only a sample of the series was kept: at least so many. None: `series_left` is exact."""


@dataclass(frozen=True, slots=True)
class Bucketing:
    """What is left if the values of `tag` were hashed into so many buckets."""

    tag: str
    buckets: int
    series_left: int
    """Where only a sample of the series was kept: at most so many."""


@dataclass(frozen=True, slots=True)
class TagSets:
    """What one listing of a measurement's tag sets tells. Figures share the listing's source."""

    series: int
    """Distinct tag sets; with the error of the measurement's `series` where they were sampled."""
    worst_case: int
    """Product of the distinct values of all tags (an absent tag counts as one value more)."""
    independent_bound: int
    """The same product without the tags that another tag determines."""
    dependencies: tuple[Dependency, ...]
    minimal_key: tuple[str, ...]
    """Tags that alone tell all series apart; irreducible, not proven smallest."""
    contributions: tuple[Contribution, ...]
    """One per tag, fewest series left first."""
    drop_curve: tuple[Contribution, ...]
    """Greedy: the tag to drop first, then next, with the series left after each."""
    source: Source
    joint: tuple[JointDependency, ...] | None = None
    """The tags that follow from two others only together. None: not looked for; `not_looked_for` says why."""
    near: tuple[NearDependency, ...] | None = None
    """The tags that nearly follow from another. None: not looked for."""
    not_looked_for: str = "measured by a version of tsaudit that did not look for them"
    """Why `joint` or `near` is None, or how they fall short; empty when both were looked for in full."""
    bucketings: tuple[Bucketing, ...] = ()
    """Of the first tag of `drop_curve`, where it can be dropped alone and has more values than buckets."""
    sampled: int | None = None
    """The number of series looked at, chosen by their hash, where there were too many to keep. None: all of them.

    Then `series`, the products and what is left are estimates. What is said of dependencies and of the key was seen
    on the sample only; that a dependency is missing is certain.
    """


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
class SharedInstants:
    """How many rows of a single value have the tags and the time of others, and could be one row."""

    names: tuple[str, ...]
    """Measure names of a single value among the rows read that share an instant, sorted."""
    rows: int
    """Rows read of these names."""
    instants: int
    """Different tag sets and times among them: the rows that would be left."""
    bytes_now: int
    """What these rows take: names and values of their tags, measure name, time and value."""
    bytes_merged: int
    """The same with the values of an instant in one row."""
    source: Source


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
class FieldRhythm:
    """How evenly the values of one field come, by the series of which enough rows were read to tell."""

    field: str
    regular: int
    """Series in which they come at even intervals, as metrics do."""
    irregular: int
    """Series in which they come at uneven ones, mostly in rows of their own, as events do."""
    interval_s: float | None
    """Median interval of the regular ones; None where there are none."""


@dataclass(frozen=True, slots=True)
class PartingTag:
    """A tag of which no value occurs in both a regular and an irregular series."""

    tag: str
    regular: tuple[str | None, ...]
    """Up to three of its values in regular series; None stands for an absent tag."""
    irregular: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Rhythms:
    """How evenly points come. A field that is neither regular nor irregular anywhere counts in neither."""

    fields: tuple[FieldRhythm, ...]
    parted_by: PartingTag | None
    """What tells wholly regular series from wholly irregular ones; None where no tag does, or one kind is all."""
    source: Source


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
class Retention:
    """How long a database, or a table, keeps its rows."""

    policy: str
    """Its name; empty where the engine has no such thing, so that rows stay until somebody deletes them."""
    duration_s: int | Forever
    partition_s: int | None
    """Length of a shard group, chunk or partition."""
    default: bool


@dataclass(frozen=True, slots=True)
class StoredRows:
    """Rows in the files that lie within the window as a whole; of a row that was written again, each version."""

    rows: int
    first_time: datetime
    """Of the oldest of these rows."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement, table or collection."""

    database: str
    name: str
    time_column: str | None
    tags: tuple[Tag, ...]
    fields: tuple[Field, ...]
    series: Count | None = None
    """Distinct tag sets; fields are not counted in (InfluxDB OSS's definition)."""
    rows: Count | None = None
    """Rows (points) within the profile's window."""
    rows_total: Count | None = None
    """Rows of whatever time, by the engine's own statistics. None: it keeps none, or they were not asked for."""
    tag_sets: TagSets | None = None
    arrivals: Arrivals | None = None
    """None where the tag sets were not listed in full, or no history was at hand to compare them with."""
    row_patterns: RowPatterns | None = None
    """None where no rows were read."""
    rhythms: Rhythms | None = None
    """None where no rows, or no times of them, were read."""
    point_sample: PointSample | None = None
    """As above."""
    measure_names: MeasureNames | None = None
    """None: not measured, or the engine has no such thing."""
    storage: Storage | None = None
    options: Mapping[str, str] | None = None
    """Storage options by the engine's own names; those not here have their default. None: not measured."""
    indexes: tuple[Index, ...] | None = None
    """By name. None: not measured, or the engine's users make none."""
    partitioning: Partitioning | None = None
    """None: it has no partitions, or the fact `partitions` was not measured."""
    retention: Retention | None = None
    """Where the engine keeps it for each table. None: it does not, or it is not known."""
    activity: Activity | None = None
    documents: Documents | None = None
    """None for tables with columns, and where none was read."""
    buckets: Buckets | None = None
    repeats: Repeats | None = None
    """None where no rows with times were read."""
    stored: StoredRows | None = None
    """None: the engine does not tell, or no file lies within the window."""
    time_type: str | None = None
    """The engine's own name; None where the catalogue does not tell, as in InfluxDB, where it is always the same."""
    first_time: datetime | None = None
    last_time: datetime | None = None
    """Oldest and newest row among those read; None where there were none or nothing was read."""
    later_rows: bool | None = None
    """Whether rows lie at or after the end of the window. None: not measured."""
    fingerprint: str = ""
    """Cheap state (keys, types, counts) by which the next audit sees whether anything moved."""
    fingerprint_as_of: datetime | None = None
    """The instant that both the fingerprint and the figures are of: the end of the window they were measured in. None
    where they are not of one instant, as after an audit of a past day: the fingerprint is always of the present."""
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact name to the statement that was sent, so that a reader can run it by hand."""
    path: tuple[str, ...] = ()
    """What a statement puts before the name to reach it from anywhere: database and retention policy. On InfluxDB 2.x
    those of the DBRP mapping by which InfluxQL answered; empty there where InfluxQL does not reach the bucket. Empty on
    all other engines, where `database` says it all."""

    @property
    def columns(self) -> tuple[str, ...]:
        """All column names, the time column first."""
        time = (self.time_column,) if self.time_column else ()
        return (*time, *(t.key for t in self.tags), *(f.key for f in self.fields))

    @property
    def parts(self) -> tuple[Measurement | MeasureName, ...]:
        """Whose rows are looked at apart: its measure names where it has such, else itself."""
        return (self,) if self.measure_names is None else self.measure_names.names

    def tag(self, key: str) -> Tag | None:
        return next((t for t in self.tags if t.key == key), None)


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
class Database:
    """A database, bucket or schema within the target."""

    name: str
    series: Count | None = None
    """Distinct tag sets, as everywhere in a profile. Where retention policies are audited beside it (`policy_of`), of
    all of them together: the server counts a series once, in however many policies it is."""
    retention: tuple[Retention, ...] | None = None
    """None: not measured, or the engine has no such thing (then without a gap)."""
    series_with_fields: Count | None = None
    """Distinct pairs of a tag set and a field, where the product counts those (InfluxDB Cloud); never compared with
    `series`, and kept under a name of its own in the history."""
    storage: DatabaseStorage | None = None
    declared: tuple[DeclaredColumn, ...] | None = None
    """All that may be written, by measurement and column, where the server enforces a schema (an explicit bucket of
    InfluxDB Cloud). None: it enforces none, or it was not asked."""
    own_series: Count | None = None
    """The part of `series` that is in its own policy. None: there is no other policy with data, or it is not known."""
    policy_of: str = ""
    """The database of which it is one retention policy, not the default one (InfluxDB 1.x: `shop` of `shop/raw`)."""


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


class Reason(enum.StrEnum):
    """Why something was not measured."""

    DENIED = "denied"
    TIMED_OUT = "timed out"
    OVER_BUDGET = "over budget"
    UNREACHABLE = "unreachable"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"
    NOTHING_THERE = "nothing there"
    """The server was asked and answered; it holds nothing, or nothing that the configuration lets through."""
    DISPUTED = "disputed"
    """It was measured, and another figure contradicts it."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that was asked for and not measured."""

    fact: str
    reason: Reason
    detail: str
    """One line: what happened and what would help."""
    database: str | None = None
    measurement: str | None = None
    """None: the whole database, or the whole target."""

    def __post_init__(self) -> None:
        # Whatever a driver quoted: gaps go into the history, the report, and messages.
        object.__setattr__(self, "detail", mask(self.detail))

    def covers(self, database: str, measurement: str | None = None) -> bool:
        """Whether it leaves something unmeasured there; a server that is gone leaves all that would have followed."""
        if self.database is None or (self.reason is Reason.UNREACHABLE and self.measurement is None):
            return True
        return self.database == database and (self.measurement is None or self.measurement == measurement)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one fact cost the audited database."""

    fact: str
    statements: int
    seconds: float
    rows: int
    bytes: int | None
    """Received; None where the driver does not tell."""
    bytes_scanned: int | None = None
    """Read by the server; None where it does not tell."""
    bytes_metered: int | None = None
    """Charged for; None where the provider does not tell."""

    @property
    def bytes_charged(self) -> int:
        """What counts against `budget.max_bytes_scanned`: a provider may charge for more than is read."""
        return max(self.bytes_scanned or 0, self.bytes_metered or 0)


@dataclass(frozen=True, slots=True)
class Window:
    """The rows a data fact looks at: from `start` (included) to `end` (excluded)."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Selection:
    """Which measurements were to be looked at. What is outside was not seen, which does not say it was not there."""

    databases: tuple[str, ...] = ()
    """Empty for all."""
    include: tuple[str, ...] = ("*",)
    exclude: tuple[str, ...] = ()
    """Patterns of measurement names; wins over `include`."""
    parts_of: tuple[str, ...] = ()
    """Databases of which all retention policies were to be looked at, as `database/policy` (InfluxDB 1.x)."""

    def takes(self, database: str, measurement: str | None = None) -> bool:
        """Whether the database, or the measurement in it, was to be looked at."""
        if self.databases and database not in self.databases and not self._is_part(database):
            return False
        if measurement is None:
            return True
        included, excluded = (
            any(fnmatch.fnmatchcase(measurement, pattern) for pattern in patterns)
            for patterns in (self.include, self.exclude)
        )
        return included and not excluded

    def _is_part(self, database: str) -> bool:
        return any(database.startswith(f"{whole}{POLICY_MARK}") for whole in self.parts_of)


@dataclass(frozen=True, slots=True)
class Listed:
    """How many measurements a database has, and how many of them the patterns leave out."""

    database: str
    measurements: int
    left_out: int
    """By `include` and `exclude`; the budget may leave out more, which is a gap."""
    examples: tuple[str, ...] = ()
    """The first few of those left out."""


@dataclass(frozen=True, slots=True)
class UnusedSetting:
    """A setting that fits nothing there is, so that it does nothing."""

    setting: str
    """Where it stands below the target, e.g. `include` or `columns.cpu.tags`; `routes[2].measurements` of all."""
    value: str
    """As it is written."""
    detail: str
    """What it does not match, and what comes near: `matches none of 42 measurements, did you mean cpu?`."""

    def __str__(self) -> str:
        return f"{self.setting}: `{self.value}` {self.detail}"


@dataclass(frozen=True, slots=True)
class Profile:
    """All that was learnt about one target on one day."""

    target: str
    engine: str
    server_version: str
    day: date
    """The logical day: a second audit of the same day replaces the first."""
    collected_at: datetime
    window: Window
    facts: tuple[str, ...]
    """Facts the engine offers, asked for or not."""
    databases: tuple[Database, ...]
    measurements: tuple[Measurement, ...]
    gaps: tuple[Gap, ...]
    costs: tuple[Cost, ...]
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact name to statement, for facts about a database or the whole target."""
    reused: int = 0
    """Measurements whose expensive facts were taken over from the snapshot before."""
    selection: Selection = field(default_factory=Selection)
    listed: tuple[Listed, ...] = ()
    """By database, those of which the measurements could be listed."""
    unused_settings: tuple[UnusedSetting, ...] = ()
    """What the configuration says of this target and does nothing. Empty too where the server did not tell what is
    there."""
    stored_queries: tuple[StoredQuery, ...] | None = None
    """Those that are enabled, by name. None: not measured, or the engine keeps none."""
    storage: Storage | None = None
    """Of all databases together, where they are one file. None: they are not, or it was not measured."""
    schema_version: int = SCHEMA_VERSION

    def gaps_for(self, fact: str, measurement: Measurement | None = None) -> Iterator[Gap]:
        """Gaps that leave `fact` unmeasured, for one measurement or anywhere."""
        for gap in self.gaps:
            if gap.fact != fact:
                continue
            if measurement is None or (
                gap.database in (None, measurement.database) and gap.measurement in (None, measurement.name)
            ):
                yield gap

    def all_listed(self, database: str | None = None) -> bool:
        """Whether every measurement of the database, or of the target, that was to be looked at is in here."""
        gaps = (g for g in self.gaps if g.fact == "measurements" and g.measurement is None)
        return not any(database is None or g.database in (None, database) for g in gaps)

    @property
    def wholes(self) -> tuple[Database, ...]:
        """The databases without those that are a retention policy of another one here: each series is in one."""
        names = {database.name for database in self.databases}
        return tuple(database for database in self.databases if database.policy_of not in names)

    def policies_beside(self, database: Database) -> tuple[Database, ...]:
        """Retention policies of the database that are audited as databases of their own."""
        return tuple(other for other in self.databases if other.policy_of == database.name)

    def is_within(self, database: str, other: str) -> bool:
        """Whether the database is the other one or a retention policy of it; `other` is empty for the whole target."""
        if other in ("", database):
            return True
        is_named_so = database.startswith(f"{other}{POLICY_MARK}")
        return is_named_so and any(d.name == database and d.policy_of == other for d in self.databases)

    def inside(self, database: Database) -> tuple[Measurement, ...]:
        """All measurements of the database, those in its other retention policies too."""
        names = {database.name, *(policy.name for policy in self.policies_beside(database))}
        return tuple(m for m in self.measurements if m.database in names)

    @property
    def edition(self) -> str:
        """The product among those of one engine, such as `Core` or `Cloud Serverless`; empty where it has no name."""
        named = re.match(r"[A-Za-z ]*", self.server_version)
        return named[0].strip() if named else ""

    @property
    def series(self) -> int | None:
        """Series of the whole target: each database's own count, else the sum over all its measurements.

        None when one of them is not known: a part must not look like the whole.
        """
        if not self.databases and not self.all_listed():
            return None
        total = 0
        for database in self.wholes:
            if database.series is not None:
                total += database.series.value
                continue
            if self.policies_beside(database):
                # A series may be in several of them, so that their sum is not it.
                return None
            counts = [m.series for m in self.measurements if m.database == database.name]
            known = [c.value for c in counts if c is not None]
            if len(known) != len(counts) or not self.all_listed(database.name):
                return None
            total += sum(known)
        return total


def utc_now() -> datetime:
    """The present instant, aware, in UTC."""
    return datetime.now(UTC)
