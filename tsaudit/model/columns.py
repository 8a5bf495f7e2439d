"""The tags and fields of a measurement: their values, how these came over time, and the series that tags form."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, Literal

from tsaudit.model.figures import Count, Ratio, Source

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
class NewestType:
    """The type of the newest values of a field that has several, of which a query returns only one."""

    type: str
    returned: str
    """The type that a query returns if it reads all values."""
    rows: int
    """Number of the newest rows read that have this type, up to one with another."""
    since: datetime
    """Time of the oldest of these."""
    until: datetime | None
    """Time of the newest row read with another type; None if all have this one."""


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
    refers_to: str = ""
    """The table that a foreign key on it refers to; empty if there is none."""
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
    preferably the one with the same name, in whose absence the field may have any value that the tag never has. Empty
    if there is none.
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
    newest_type: NewestType | None = None
    """The type of its newest values. None unless a query returns only one of its types, and where it is not known."""
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
