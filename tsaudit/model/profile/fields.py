"""Fields, and what their values look like."""

from __future__ import annotations

from dataclasses import dataclass

from tsaudit.model.profile.figures import Count, Ratio, Source


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
    """A tag that separates the texts of a field: under some of its values all texts are numbers, under the others none
    are.
    """

    tag: str
    numbers: tuple[str, ...]
    """Values of the tag under which the rows read contain numbers, sorted."""
    others: tuple[str, ...]
    """Values of the tag under which the rows read contain other texts, sorted."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column that contains measured values."""

    key: str
    types: tuple[str, ...]
    """The engine's own names; more than one is a type conflict."""
    null_ratio: Ratio | None = None
    says_null: bool = False
    """Whether some documents contain the field with the value null instead of leaving it out. False for columns."""
    distinct: Count | None = None
    """Distinct values among the rows read."""
    sample: tuple[str, ...] = ()
    """Up to SAMPLE_SIZE distinct values, as strings, sorted."""
    constant_ratio: Ratio | None = None
    """Share of the series read, with at least two rows, in which the field has only one value."""
    whole_ratio: Ratio | None = None
    """Share of the values read that are integers; None for fields that are not floats."""
    number_ratio: Ratio | None = None
    """Share of the texts read that are numbers, not counting those that stand for no value, such as `-` and `N/A`; None
    for fields that are not text.
    """
    also_in: str = ""
    """For a text field with numbers: a numeric column that has the same value in nearly all rows read; empty if there
    is none.
    """
    same_tag: str = ""
    """A tag that has the same value in all rows read that have both, preferably the one with the same name; empty if
    there is none.
    """
    numbers_by: NumbersBy | None = None
    """The tag that separates texts with numbers from others; None if no tag does, or if the field does not contain
    both.
    """
    role_reason: str = ""
    value_bytes: float | None = None
    """Mean size of the values that are not null, in bytes; None if the engine does not report it."""
    items: Items | None = None
    """Number of items in arrays; None for fields that never contain an array."""
    lag: TimeLag | None = None
    """Lag of the times in this field; None if it contains no times, or no rows with times were read."""
    idle_hours: float | None = None
    """Hours from the newest row with the field to the newest row read. None if no rows with times were read, or none
    has the field.
    """
    per_day: float | None = None
    """By how much the numbers of a generated column rise a day, including those that no row has. None for other
    columns, if they do not rise with the time, and if the rows read cover less than a day.
    """


@dataclass(frozen=True, slots=True)
class SharedInstants:
    """Rows with a single value that have the same tags and time as other rows, and could be merged with them into one
    row.
    """

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
    """The tag that separates completely regular from completely irregular series; None if no tag does, or if all series
    are of one kind.
    """
    source: Source
