"""The measurements of one target on one day: its databases and their tables; their tags, the combinations of these that
form series, and their fields; how rows are stored, and what the rows read show.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final, Literal

from tsaudit.model.figures import CLASSIFIED as CLASSIFIED
from tsaudit.model.figures import FOREVER as FOREVER
from tsaudit.model.figures import POLICY_SEPARATOR as POLICY_SEPARATOR
from tsaudit.model.figures import READ_BY_TIME as READ_BY_TIME
from tsaudit.model.figures import SAMPLE_SIZE as SAMPLE_SIZE
from tsaudit.model.figures import SERIES_KINDS as SERIES_KINDS
from tsaudit.model.figures import TEXT_KEPT as TEXT_KEPT
from tsaudit.model.figures import Cost as Cost
from tsaudit.model.figures import Count as Count
from tsaudit.model.figures import Forever as Forever
from tsaudit.model.figures import Gap as Gap
from tsaudit.model.figures import How as How
from tsaudit.model.figures import Listed as Listed
from tsaudit.model.figures import Ratio as Ratio
from tsaudit.model.figures import Reason as Reason
from tsaudit.model.figures import Role as Role
from tsaudit.model.figures import Selection as Selection
from tsaudit.model.figures import Source as Source
from tsaudit.model.figures import TableKind as TableKind
from tsaudit.model.figures import UnusedSetting as UnusedSetting
from tsaudit.model.figures import Window as Window
from tsaudit.model.figures import how_summed as how_summed
from tsaudit.model.figures import utc_now as utc_now

ValuesKind = Literal["bounded", "churning", "unbounded", "unknown"]


@dataclass(frozen=True, slots=True)
class SeriesSince:
    """The number of series of one listing whose newest part (tag set, or value of one tag) was first seen on `day`."""

    day: date
    series: int
    values: int | None = None
    """Number of the tag's values in these series; None for whole tag sets."""


@dataclass(frozen=True, slots=True)
class ValuesOverTime:
    """What all listings so far show about the values of a tag. Sampled figures are scaled up to all values."""

    kind: ValuesKind
    """Whether the number of values is bounded; `unknown` with less than a week of listings."""
    beta: float | None
    """How the distinct values grow with the days: 0 if they are the same each day, 1 if all are new; None: unknown."""
    turnover: float | None
    """Share of a week's values that were new that week; None if unknown."""
    days: int
    """Number of days, of the last 28, covered by listings, beginning with the first on which the tag had values."""
    new_values: int | None
    """Number of values that no earlier listing contained; None if there was no earlier listing."""
    new_per_day: float | None
    """New values a day at present: in the last week, or since a clear change within it; None with a single day."""
    series: tuple[SeriesSince, ...]
    """The listed series by the day their value of this tag was first seen, oldest first. See `Arrivals.began`."""
    newest: date | None
    """When the newest values were first seen; None if all may be older than the first listing."""
    examples: tuple[str, ...] = ()
    """Up to three of the newest values."""
    shape: str = "unknown"
    """The format of the newest values, based on a sample of them."""
    sampled_values: int | None = None
    """The number of values for which `series` is known; None for all of them."""
    standard_error: float | None = None
    """Standard error of `new_values`, which is as good as 0 below twice this error; None if all are known."""
    lacking: tuple[SeriesSince, ...] = ()
    """The listed series without the tag, by the day they were first seen."""
    without: tuple[SeriesSince, ...] | None = None
    """For each listed series: the first day on which a series was seen that equals it except for this tag. None: not
    computed, because nearly all new series have a new value.
    """
    gathered: str | None = None
    """The one value that most of the past week's new series have, unlike the oldest still listed; None if none."""
    gathered_new: tuple[str, ...] = ()
    """Other tags of which every series with the `gathered` value has a value that is newer than the first listing."""

    @property
    def burst(self) -> SeriesSince | None:
        """The newest values, if `new_per_day` is the rate of their day alone, at least four times that of each day of
        the week before; None otherwise.
        """
        newest = self.series[-1] if self.series else None
        if newest is None or newest.day != self.newest or not newest.values or not self.new_per_day:
            return None
        if newest.values > (self.new_values or 0):
            return None  # They were there when it was last listed.
        is_alone = newest.values > self.new_per_day / 2 and all(4 * n <= newest.values for n in self._week_before)
        return newest if is_alone and newest.values < 2 * self.new_per_day else None

    @property
    def per_day_before(self) -> float:
        """New values a day in the week before the newest ones."""
        return sum(self._week_before) / _DAYS_BEFORE

    @property
    def _week_before(self) -> list[int]:
        # The first are those of the first listing.
        return [one.values or 0 for one in self.series[1:-1] if (self.series[-1].day - one.day).days <= _DAYS_BEFORE]


_DAYS_BEFORE: Final = 6


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Which series of a listing are new, compared with the listings of earlier days."""

    observed: date
    """The day of the listing."""
    before: date | None
    """The day of the previous listing; None for the first, in which nothing counts as new."""
    began: date
    """The day of the first listing: its contents may be older."""
    new_series: int | None
    """Number of series that no earlier listing contained; None if there was no earlier listing."""
    series: tuple[SeriesSince, ...]
    """The listed series by the day they were first seen, oldest first; days more than 90 days ago are combined."""
    sampled_series: int | None = None
    """The number of series for which `series` is known; None for all of them."""
    standard_error: float | None = None
    """Standard error of `new_series`; None if all series are known."""
    newest_value: tuple[SeriesSince, ...] | None = None
    """The listed series by the day the newest of their values was first seen: a series that is newer than that is a new
    combination of old values. None: not known, because the values of a tag are sampled.
    """
    arrived: tuple[SeriesSince, ...] = ()
    """All series, including those that have left, by the day they were first seen; without those of the first day."""
    left: tuple[SeriesSince, ...] = ()
    """Series that have left, by the day of the first listing without them."""


@dataclass(frozen=True, slots=True)
class TagChanges:
    """How the value of a tag changes over time for a single source, in the rows read. An instant is a time at which a
    source has rows.
    """

    by: tuple[str, ...]
    """The tags that identify the source; empty: all rows belong to one source."""
    values: int
    """Number of distinct values, counting absence as one."""
    shared: int
    """Number of these values that occur with several values of each tag in `by` that has several: the minimum over
    those tags. If there are none, the tag names a part of what another tag names. 0 if it changes for no source.
    """
    sources: int
    """Number of sources with rows at several instants."""
    changing: int
    """Number of these sources with more than one value."""
    pairs: int
    """Number of pairs of consecutive instants of the changing sources."""
    changes: int
    """Number of these pairs whose value differs."""
    by_chance: float
    """Expected number of changes if each source's values occurred in random order."""
    instants: int
    """Number of instants of all sources."""
    clashes: int
    """Number of these instants with several values at once."""
    roughness: float | None
    """Mean step between consecutive values, divided by the mean difference between any two values of the source: near 0
    for a slow curve, near 1 for numbers in random order. None if the values are not numbers or never change.
    """
    source: Source


@dataclass(frozen=True, slots=True)
class Reports:
    """How often the values of a tag occur in the rows read."""

    per_value: float
    """Mean number of instants at which a value has rows."""
    hours: float
    """Hours from the first row read to the last."""
    lasting_ratio: float
    """Share of the values with rows at three instants or more that span an hour or more, 0 to 1."""
    rows_per_value: float = 0.0
    """Mean number of rows of a value, at least as many as instants; 0 if it is not known."""


@dataclass(frozen=True, slots=True)
class Turnover:
    """Whether a tag's values come and go for the same sources, or recur.

    The rows of each source are split into three parts with equally many instants, so that it does not matter for how
    long the source existed; those of a few series (`by` is None) into three parts of the same length.
    """

    by: tuple[str, ...] | None
    """The tags that identify a source: all tags that do not change together with this one. Empty: all rows belong to
    one source. None: rows of a few series were read, each as one source; they do not show what else a source wrote.
    """
    sources: int
    """Number of sources with enough instants to be split into three parts."""
    first: int
    """Number of pairs of a source and a value that occur in the source's first part."""
    again: int
    """Number of these pairs that also occur in the last part, or whose next instant is not due before the end."""
    new: int
    """Number of pairs that first occur in the last part."""
    new_values: int
    """Number of these pairs whose value no other source had before that part: the others only combine known values."""
    going_on: int
    """Number of these pairs whose source has other pairs that begin at another instant after the first part."""
    pairs: int
    """Number of all pairs."""
    lasting_ratio: float
    """Share of all pairs with rows at three instants or more that span an hour or more, 0 to 1."""
    hours: float
    """Hours from the first row read to the last."""
    source: Source


@dataclass(frozen=True, slots=True)
class Busiest:
    """The value of a tag that has the most rows among those read."""

    value: str
    share: float
    """Its share of all rows read, 0 to 1."""
    source: Source


@dataclass(frozen=True, slots=True)
class Tag:
    """A column that identifies the source of a row; the tags together form the series."""

    key: str
    data_type: str
    values: Count | None = None
    """Number of distinct values, not counting absence."""
    sample: tuple[str, ...] = ()
    """Up to SAMPLE_SIZE distinct values, sorted."""
    absent: Ratio | None = None
    """Share of the series that lack this tag."""
    role_reason: str = ""
    """Why the column counts as a tag; empty if the engine itself declares it."""
    refers_to: str = ""
    """The table that a foreign key on it refers to; empty if there is none."""
    over_time: ValuesOverTime | None = None
    """How the values change over the days; None if they were not listed completely, or there was no history."""
    changes: tuple[TagChanges, ...] | None = None
    """Changes with all other tags as the source, then with only the one with most values. None without times."""
    reports: Reports | None = None
    """How often each value occurs; None if no rows with times were read, or none has the tag."""
    busiest: Busiest | None = None
    """The value with the most rows; None if no rows were read, only those of some series, or only rows with one value.
    """
    idle_hours: float | None = None
    """Hours from the newest row with the tag to the newest row read. None if no row with a time and the tag was."""
    turnover: Turnover | None = None
    """Whether values come and go; None if no rows were read, or no source has enough instants."""
    label_of: str = ""
    """The column of label sets that contains the tag as a label, named after the column, a dot, and the label; empty if
    the tag is a column itself.
    """
    metrics: tuple[str, ...] = ()
    """In a table with the rows of several metrics: the metrics that have this tag, sorted; empty if all have it."""


@dataclass(frozen=True, slots=True)
class Dependency:
    """Every value of `determinant` occurs with only one value of `dependent`."""

    determinant: str
    dependent: str


@dataclass(frozen=True, slots=True)
class Contribution:
    """The series left without `tag` and every tag that determines it."""

    tag: str
    together_with: tuple[str, ...]
    """Tags that determine `tag`: dropping `tag` saves nothing unless they are dropped, too. In a curve, also tags that
    save much only together.
    """
    series_left: int
    """Number of series left; an upper bound if only a sample of the series was kept."""
    at_least: int | None = None
    """Lower bound of the series left, if only a sample of the series was kept. None: `series_left` is exact."""

    @property
    def tags(self) -> tuple[str, ...]:
        """All tags that are dropped."""
        return (self.tag, *self.together_with)


@dataclass(frozen=True, slots=True)
class TagSets:
    """What one listing of a measurement's tag sets shows. All figures have the source of the listing."""

    series: int
    """Number of distinct tag sets; if they were sampled, with the error of the measurement's `series`."""
    worst_case: int
    """Product of the distinct values of all tags (an absent tag counts as another value)."""
    independent_bound: int
    """The same product without the tags that another tag determines."""
    dependencies: tuple[Dependency, ...]
    minimal_key: tuple[str, ...]
    """Tags that are enough to identify all series; irreducible, not proven smallest."""
    contributions: tuple[Contribution, ...]
    """One entry per tag, fewest series left first."""
    drop_curve: tuple[Contribution, ...]
    """The order in which to drop tags, computed greedily: the best tag to drop first, second, and so on, with the
    series left after each.
    """
    source: Source
    sampled: int | None = None
    """The number of series kept, sampled by their hash, if there were too many. None: all of them were kept.

    Then `series`, the products, and the remaining series are estimates. Dependencies and the key hold in the sample,
    perhaps not in all series; if a dependency is not listed, it certainly does not exist.
    """


@dataclass(frozen=True, slots=True)
class ValuesOfType:
    """The documents read in which a field has one type."""

    type: str
    """The engine's own name."""
    documents: int
    bytes: int
    """Size of these documents, with all of their fields."""
    distinct: int
    """Number of distinct values."""
    has_dates: bool
    """Whether the values are dates, or arrays that contain a time; arrays with and without one are separate."""
    forms: tuple[str, ...] = ()
    """The forms of the times among other values, sorted: `milliseconds` and `seconds` since 1970, and `text`."""


@dataclass(frozen=True, slots=True)
class ItemGrowth:
    """How fast the array grows that will soon make a document too large, by the times of its first and last item."""

    document_bytes: int
    bytes_per_day: float
    items_per_day: float
    days: float
    """Days between the first and the last item."""


@dataclass(frozen=True, slots=True)
class Items:
    """The number of items in the arrays of a field, among the values read."""

    mean: float
    most: int
    growth: ItemGrowth | None = None
    """None if the items have no times, or no array grows without bound."""


@dataclass(frozen=True, slots=True)
class TimeLag:
    """How much earlier the times in a field are than the times of their rows, in the rows read that have both."""

    rows: int
    before_ratio: float
    """Share of these rows in which the field's time is earlier."""
    median_s: float
    """Median lag over all these rows, in seconds; negative if the field's time is mostly later."""
    spread_s: float
    """Difference between the 90th and the 10th percentile of the lag, in seconds."""


@dataclass(frozen=True, slots=True)
class NumbersBy:
    """A tag that separates the texts of a field: all are numbers under some of its values, none under others."""

    tag: str
    numbers: tuple[str, ...]
    """Values of the tag under which the rows read contain numbers, sorted."""
    others: tuple[str, ...]
    """Values of the tag under which the rows read contain other texts, sorted."""


@dataclass(frozen=True, slots=True)
class TextsAmongNumbers:
    """Texts in a column that is declared to contain numbers, which SQLite takes."""

    rows: int
    """Number of rows read with a text."""
    filled: int
    """Number of rows read with any value."""
    example: str
    """A text, the most frequent one."""
    by: NumbersBy | None
    """The tag that separates the numbers from the texts; None if none does."""


@dataclass(frozen=True, slots=True)
class PartOfRows:
    """The rows with some values of a tag, which changed within some time."""

    tag: str
    values: tuple[str, ...]
    """Some of the values, those that changed first, redacted unless they are names."""
    count: int
    """Number of these values."""
    known: int
    """Number of values of the tag in the newest rows, with enough rows each."""
    first: datetime
    """When the first of them changed."""
    sources: int
    """Number of these values, or, if larger, of the values of another tag of which rows with these values changed."""


@dataclass(frozen=True, slots=True)
class FieldEnd:
    """A field that the newest rows, or the newest ones with some values of a tag, do not have. In a table without a
    time: that no row has which was added since an audit. Or that no row has anymore.
    """

    time: datetime
    """Time of the newest row with the field, in a table too big to look for it to the hour, or of that audit."""
    rows_after: int
    """Number of rows read after that, or added since, or of all rows if none has it."""
    rows_before: int
    """Number of rows read up to that time, the newest ones, or of all rows then."""
    filled_before: float
    """Share of these that have the field, 0 to 1."""
    begun: tuple[str, ...] = ()
    """Fields that hardly any of the rows up to that time have, and as many of those after it as had this one before."""
    of: PartOfRows | None = None
    """The rows that this is about; None: all rows."""
    erased: bool = False
    """Whether the rows that had it have lost it, too, since the audit of that time."""


@dataclass(frozen=True, slots=True)
class StoppedTotals:
    """Series in which a total in floats of four bytes stopped rising, at one from which on they are too far apart."""

    series: int
    """Number of series that have stopped."""
    rising: int
    """Number of series that still rise."""
    value: float
    """The highest number at which one has stopped, a power of two."""
    next: float
    """By how much the next number is higher."""
    rows: int
    """Number of rows read with this number in its series, the newest ones."""


@dataclass(frozen=True, slots=True)
class SplitName:
    """Rows read that have a name only as a field, and others that have it only as a tag, with the same values."""

    field_rows: int
    """Number of rows read with only the field."""
    tag_rows: int
    """Number of rows read with only the tag."""
    field_times: tuple[datetime, datetime]
    """The oldest and the newest of the rows with only the field."""
    tag_times: tuple[datetime, datetime]
    """The same of the rows with only the tag."""
    field_series: int
    """Number of series of the rows with only the field."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column that contains measured values."""

    key: str
    types: tuple[str, ...]
    """The engine's own names; more than one is a type conflict, unless `has_type_by_name`."""
    has_type_by_name: bool = False
    """Of documents: whether the field stands for many names that are data, none of which has several types."""
    null_ratio: Ratio | None = None
    says_null: bool = False
    """Whether some documents contain the field with the value null instead of leaving it out. False for columns."""
    by_type: tuple[ValuesOfType, ...] = ()
    """Of documents, if the field has several types or an index that removes documents: the values by type, the most
    common first. Empty otherwise.
    """
    distinct: Count | None = None
    """Distinct values among the rows read."""
    sample: tuple[str, ...] = ()
    """Up to SAMPLE_SIZE distinct values, as strings, sorted."""
    constant_ratio: Ratio | None = None
    """Share of the series read, with at least two rows, in which the field has only one value."""
    whole_ratio: Ratio | None = None
    """Share of the values read that are integers; None for fields that are not floats."""
    number_ratio: Ratio | None = None
    """Share of the texts read that are numbers, without those for none, such as `-` and `N/A`; None without texts."""
    also_in: str = ""
    """For a text field with numbers: a numeric column with the same value in nearly all rows read; or empty."""
    same_tag: str = ""
    """A tag that has the same value in every row read, and is only absent where the field is, too, or is empty or 0;
    preferably the one with the same name. Empty if there is none.
    """
    numbers_by: NumbersBy | None = None
    """The tag that separates texts with numbers from others; None if none does, or it does not contain both."""
    texts: TextsAmongNumbers | None = None
    """The texts in a column that is declared to contain numbers; None if there are none."""
    role_reason: str = ""
    value_bytes: float | None = None
    """Mean size of the values that are not null, in bytes; None if the engine does not report it."""
    items: Items | None = None
    """Number of items in arrays; None for fields that never contain an array."""
    lag: TimeLag | None = None
    """Lag of the times in this field; None if it contains no times, or no rows with times were read."""
    idle_hours: float | None = None
    """Hours from the newest row with the field to the newest row read. None if no row with a time and the field was."""
    split: SplitName | None = None
    """The rows with only the field or only the tag of its name; None if no tag has its name, if too few rows have only
    one of them, or if the values differ.
    """
    end: FieldEnd | None = None
    """The rows before and after the newest one with the field. None if so few come after it that this may be chance;
    in a table without a time, they may be few.
    """
    stopped: StoppedTotals | None = None
    """The series in which it no longer rises because its floats have four bytes; None if there are none."""
    per_day: float | None = None
    """By how much the numbers of a generated column rise a day, including those that no row has, without the
    largest step. None for other columns, if they do not rise with the time, and if the rows read cover less than a day.
    """

    @property
    def present_ratio(self) -> float:
        """The share of the rows or documents with a value; 1 if those without were not counted."""
        return 1 - (self.null_ratio.value if self.null_ratio else 0.0)


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


_IN_ORDER: Final = 0.5
"""Minimum correlation at which a range index (BRIN) helps: our estimate."""


@dataclass(frozen=True, slots=True)
class ServerCounter:
    """A counter of the server that starts at 0 when the server starts."""

    name: str
    """Of a database: `points_written`, `points_dropped`, `points_failed`, or `transaction_age`. Of the server:
    `continuous_queries_failed`, `tasks_failed`, `subscriptions_failed`, `server_errors`, `compactions_failed`,
    `flushes_failed`, `writes_rejected`, `writes_delayed`, `queries_out_of_memory`, `open_files`, `connections`; and
    the `points_` counters if the server does not report them by database.
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

    def is_same_start(self, before: ServerStatus) -> bool | None:
        """Whether the counters of both began at the same time, so that they can be compared; None: not known. A start
        that follows from an uptime is off by a second or a minute: by what was rounded, or by what the clock was set.
        """
        if self.started is None or before.started is None:
            return None
        return abs(self.started - before.started) <= timedelta(minutes=1)

    def is_restarted(self, before: ServerStatus, audited: datetime) -> bool | None:
        """Whether the server restarted since it was `audited` with the status `before`, so that its counters began at 0
        again; None: not known. Another start before that time is no restart: another server of a group answered, or the
        machine was suspended, and its uptime stood still.
        """
        if self.started is None or before.started is None:
            return None
        return self.started > audited and not self.is_same_start(before)


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
    """This many of the accepted points were replaced by others with the same tags and time, at least."""
    counted: bool = False
    """Whether the values of the points were counted, so that this is not only a minimum."""


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
    """Since `counted_since`: `rows_scanned` by scans of the whole; `rows_inserted`, `rows_updated`, `rows_deleted`."""
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
    """Column that a sequence fills, or one of `refers`, to the last ID that the sequence returned, approximately;
    one of `written_ids` to about the highest one.
    """
    id_limits: Mapping[str, float] = field(default_factory=dict)
    """The same columns to the highest ID that both the sequence, if there is one, and the column's type allow."""
    refers: Mapping[str, str] = field(default_factory=dict)
    """Column whose type does not hold all IDs of the column that it refers to, to that one: `builds.id`."""
    written_ids: frozenset[str] = frozenset()
    """Columns that no sequence fills, whose integers rise in the order of the rows, and use up most of their type."""
    sequences: Mapping[str, IdSequence] = field(default_factory=dict)
    """Column that a sequence fills to its sequence."""

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


@dataclass(frozen=True, slots=True)
class Measurement:
    """A measurement, table, or collection."""

    database: str
    name: str
    time_column: str | None
    tags: tuple[Tag, ...]
    fields: tuple[Field, ...]
    series: Count | None = None
    """Distinct tag sets; fields do not count (as InfluxDB OSS defines series)."""
    rows: Count | None = None
    """Rows (points) within the profile's window."""
    rows_total: Count | None = None
    """Rows of any time, according to the engine's own statistics. None: the engine has none, or they were not queried.
    """
    tag_sets: TagSets | None = None
    arrivals: Arrivals | None = None
    """Which series are new; None if tag sets were not listed completely, or without a history."""
    first_rows: tuple[SeriesSince, ...] = ()
    """An even sample of the series, by the 24 hours, up to the end of the window, that have their first row within it,
    oldest first; those that have no row, or may have older ones, count on the oldest day. Before these, those of the
    previous audit that began earlier than all of them. Empty if it is not known.
    """
    row_patterns: RowPatterns | None = None
    """Which columns are filled together; None if no rows were read."""
    row_bytes: RowBytes | None = None
    """Bytes of a row by column; None if no rows were read, or if the engine stores a repeated text only once."""
    rhythms: Rhythms | None = None
    """How regularly points arrive; None if no rows, or no times of rows, were read."""
    point_sample: PointSample | None = None
    """Points to compare with other measurements; None if no rows, or no times of rows, were read, or if it has too many
    fields to be compared (`MOST_COMPARED_FIELDS`).
    """
    measure_names: MeasureNames | None = None
    """Measure names (Timestream). None: not measured, or the engine has none."""
    storage: Storage | None = None
    options: Mapping[str, str] | None = None
    """Storage options by the engine's own names; options not listed have their default. None: not measured."""
    indexes: tuple[Index, ...] | None = None
    """Indexes by name. None: not measured, or users of the engine do not create any."""
    partitioning: Partitioning | None = None
    """Partitions of the table. None: it has none, or the fact `partitions` was not measured."""
    retention: Retention | None = None
    """Retention, if the engine sets it per table. None: the engine does not, or it is not known."""
    activity: Activity | None = None
    status: TableStatus | None = None
    """Counters and statistics of the server. None: the engine has none, or they were not queried."""
    documents: Documents | None = None
    """The documents read; None for tables with columns, and if no document was read."""
    buckets: Buckets | None = None
    rows_apart: RowsApart | None = None
    """Which tags distinguish rows with the same time; None if no rows with times, or only of some series, were read."""
    copies: Copies | None = None
    """Rows that are copies of another one; None if no rows were read, or if it keeps one row per source and time."""
    repeats: Repeats | None = None
    """Duplicate rows; None if no rows with times were read."""
    stored: StoredRows | None = None
    """Rows in the stored files. None: the engine does not report them, or no file is within the window."""
    kind: TableKind | None = None
    """The kind of rows. None: not determined, or not meant for the engine; then all rules evaluate the table."""
    kind_reason: str = ""
    """The reason for `kind`, as a part of a sentence."""
    time_reason: str = ""
    """Why this column is the time column, and what speaks against other candidates; empty if there can be only one."""
    time_type: str | None = None
    """The engine's own name of the time column's type; None if the catalog does not contain it, as in InfluxDB, where
    it is always the same.
    """
    other_times: tuple[OtherTimes, ...] = ()
    """Values of columns with times that have another form than most, by column."""
    misdated: MisdatedRows | None = None
    """Rows whose times were written in a wrong unit; None: none were found, or none were looked for."""
    ahead: RowsAhead | None = None
    """Sources whose rows are later than now, unlike those of others; None: none were found, or none were looked for."""
    excess: ExcessRows | None = None
    """What multiplied the rows of a day; None: nothing did, or there was no audit of an earlier day."""
    expiry: Expiry | None = None
    """Rows that may have been removed; None if no column says that, there are none, or they were not counted."""
    first_time: datetime | None = None
    last_time: datetime | None = None
    """Oldest and newest row among those read; None if there were none or nothing was read."""
    own_window: Window | None = None
    """The period measured instead of the profile's window, which contains no row; None: that was measured."""
    later_rows: bool | None = None
    """Whether there are rows at or after the end of the window. None: not measured."""
    fingerprint: str = ""
    """Hash of cheap metadata (keys, types, counts), by which the next audit detects changes."""
    fingerprint_as_of: datetime | None = None
    """The time that both the fingerprint and the figures describe: the end of their window. None if they describe
    different times, as after an audit of a past day, since the fingerprint always describes the present.
    """
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact name to the statement that was sent, so that a reader can run it manually."""
    path: tuple[str, ...] = ()
    """The qualifier that a statement puts before the name to reach it from anywhere: database and retention policy. On
    InfluxDB 2.x, those of the DBRP mapping through which InfluxQL answered; empty there if InfluxQL does not reach the
    bucket. Empty on all other engines, where `database` is enough.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """All column names, the time column first."""
        time = (self.time_column,) if self.time_column else ()
        tags = dict.fromkeys(t.label_of or t.key for t in self.tags)
        return (*time, *tags, *(f.key for f in self.fields))

    @property
    def parts(self) -> tuple[Measurement | MeasureName, ...]:
        """The groups of rows to examine separately: the measure names, or the measurement itself."""
        return (self,) if self.measure_names is None else self.measure_names.names

    @property
    def rows_known(self) -> int:
        """Rows within the window: the count if there is one, otherwise the number of rows read."""
        read = self.row_patterns.rows if self.row_patterns else 0
        return self.rows.value if self.rows else read

    @property
    def filled_rows(self) -> dict[str, int]:
        """Field to the number of rows that have it; without those that were not counted."""
        if self.rows is None or self.rows.source.how is not How.EXACT:
            return {}
        known = {field.key: field.null_ratio for field in self.fields}
        exact = {key: ratio for key, ratio in known.items() if ratio is not None and ratio.source.how is How.EXACT}
        return {key: round(self.rows.value * (1 - ratio.value)) for key, ratio in exact.items()}

    @property
    def is_compressed(self) -> bool:
        """Whether TimescaleDB may compress it, so that a repeated value takes hardly any room."""
        return (self.options or {}).get("timescaledb.compress") == "true"

    @property
    def has_series(self) -> bool:
        """Whether the rows may form series; False for a table of orders or a log in a SQL database."""
        return self.kind is None or self.kind.has_series or self.series is not None

    def tag(self, key: str) -> Tag | None:
        return next((t for t in self.tags if t.key == key), None)


SCHEMA_VERSION: Final = 1
"""Increased if tsaudit can no longer read stored profiles of the previous version."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything measured about one target on one day."""

    target: str
    engine: str
    server_version: str
    day: date
    """The audited day: a second audit of the same day replaces the first."""
    collected_at: datetime
    window: Window
    facts: tuple[str, ...]
    """Facts that the engine offers, whether or not they were queried."""
    databases: tuple[Database, ...]
    measurements: tuple[Measurement, ...]
    gaps: tuple[Gap, ...]
    costs: tuple[Cost, ...]
    statements: Mapping[str, str] = field(default_factory=dict)
    """Fact name to the statement that was sent, for facts about the whole target."""
    reused: int = 0
    """Number of measurements whose expensive facts were reused from the previous snapshot."""
    selection: Selection = field(default_factory=Selection)
    listed: tuple[Listed, ...] = ()
    """Databases whose measurements could be listed, with the number of measurements in each."""
    beyond_budget: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Database to the names of the measurements in scope not examined because of `budget.max_measurements`."""
    unused_settings: tuple[UnusedSetting, ...] = ()
    """Settings for this target that have no effect. Also empty if the server did not report what exists."""
    stored_queries: tuple[StoredQuery, ...] | None = None
    """Enabled scheduled queries, by name. None: not measured, or the engine has none."""
    storage: Storage | None = None
    """Storage of all databases together, if they are one file. None: they are not, or it was not measured."""
    server: ServerStatus | None = None
    """Limits and counters of the server; None if the engine has none, or the user may not read them."""
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
        """Whether the profile contains every measurement of the database, or of the target, that is in scope."""
        gaps = (g for g in self.gaps if g.fact == "measurements" and g.measurement is None)
        return not any(database is None or g.database in (None, database) for g in gaps)

    def all_named(self, database: str | None = None) -> bool:
        """Whether `names` contains every measurement of the database, or of the target, that is in scope."""
        gaps = (g for g in self.gaps if g.fact == "measurements" and g.measurement is None)
        return not any((database is None or g.database in (None, database)) and not self.is_named(g) for g in gaps)

    def is_named(self, gap: Gap) -> bool:
        """Whether the names of all measurements are known that the gap is about: only the budget leaves them out."""
        return gap.reason is Reason.OVER_BUDGET and gap.measurement is None and gap.database in self.beyond_budget

    def names(self, database: str) -> tuple[str, ...]:
        """The names of the database's measurements, including those that the budget leaves out."""
        examined = (m.name for m in self.measurements if m.database == database)
        return (*examined, *self.beyond_budget.get(database, ()))

    @property
    def wholes(self) -> tuple[Database, ...]:
        """The databases that are not a retention policy of another one here: each series is in exactly one of them."""
        names = {database.name for database in self.databases}
        return tuple(database for database in self.databases if database.policy_of not in names)

    def policies_beside(self, database: Database) -> tuple[Database, ...]:
        """Other retention policies of the database, which are audited as separate databases."""
        return tuple(other for other in self.databases if other.policy_of == database.name)

    def is_within(self, database: str, other: str) -> bool:
        """Whether `database` is `other` or a retention policy of it; an empty `other` stands for the whole target."""
        if other in ("", database):
            return True
        is_named_so = database.startswith(f"{other}{POLICY_SEPARATOR}")
        return is_named_so and any(d.name == database and d.policy_of == other for d in self.databases)

    def inside(self, database: Database) -> tuple[Measurement, ...]:
        """All measurements of the database, including those in its other retention policies."""
        names = {database.name, *(policy.name for policy in self.policies_beside(database))}
        return tuple(m for m in self.measurements if m.database in names)

    def oldest_time(self, measurement: Measurement) -> datetime | None:
        """The beginning of its oldest partition, or the time of its oldest row; None if that is not known: not all rows
        were counted, or older ones may lie before the window.
        """
        cut, time, first = measurement.partitioning, measurement.time_column, measurement.first_time
        if cut is not None and cut.first_begin is not None and time is not None and any(time in key for key in cut.key):
            return cut.first_begin
        is_counted = "null_counts" in self.facts and measurement.own_window is None
        return first if is_counted and first and first - self.window.start >= timedelta(days=1) else None

    @property
    def edition(self) -> str:
        """The engine's product edition, such as `Core` or `Cloud Serverless`; empty if the engine has none."""
        named = re.match(r"[A-Za-z ]*", self.server_version)
        return named[0].strip() if named else ""

    @property
    def series(self) -> int | None:
        """Series of the whole target: each database's own count, or the sum over all its measurements.

        None if any of these is not known: a part must not look like the whole. So if nothing was found that may have
        series: an audit cannot tell an empty database from one whose measurements it may not see.
        """
        if all(d.series is None for d in self.databases) and not any(m.has_series for m in self.measurements):
            return None
        total = 0
        for database in self.wholes:
            if database.series is not None:
                total += database.series.value
                continue
            if self.policies_beside(database):
                # A series may be in several measurements, so the database's count is not the sum over them.
                return None
            counts = [m.series for m in self.measurements if m.database == database.name and m.has_series]
            known = [c.value for c in counts if c is not None and not c.is_lower_bound]
            if len(known) != len(counts) or not self.all_listed(database.name):
                return None
            total += sum(known)
        return total
