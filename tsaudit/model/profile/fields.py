"""Fields, and what their values look like."""

from __future__ import annotations

from dataclasses import dataclass

from tsaudit.model.profile.figures import Count, Ratio, Source


@dataclass(frozen=True, slots=True)
class ItemGrowth:
    """How the array grows that will soon make the largest document, by the times of its first and last item."""

    document_bytes: int
    bytes_per_day: float
    items_per_day: float
    days: float
    """Which its items span."""


@dataclass(frozen=True, slots=True)
class Items:
    """The number of items in the arrays of a field, among the values read."""

    mean: float
    most: int
    growth: ItemGrowth | None = None
    """None if the items have no times, or no array grows without bound."""


@dataclass(frozen=True, slots=True)
class TimeLag:
    """How far a field that contains times is before the time of its row, in the rows read that have both."""

    rows: int
    before_ratio: float
    """Share of these rows in which the field is earlier."""
    median_s: float
    """Median over all these rows; negative if the field is mostly later."""
    spread_s: float
    """Between the 10% with the smallest lag and the 10% with the largest."""


@dataclass(frozen=True, slots=True)
class NumbersBy:
    """A tag that separates the texts of a field: under some of its values all are numbers, under the others none is."""

    tag: str
    numbers: tuple[str, ...]
    """Values of the tag under which the rows read contain numbers, sorted."""
    others: tuple[str, ...]
    """Values of the tag under which they contain texts, sorted."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column that contains measured values."""

    key: str
    types: tuple[str, ...]
    """The engine's own names; more than one is a type conflict."""
    null_ratio: Ratio | None = None
    says_null: bool = False
    """Whether some documents contain it with the value null, and do not just leave it out. False for columns."""
    distinct: Count | None = None
    """Distinct values among the rows read."""
    sample: tuple[str, ...] = ()
    """Up to SAMPLE_SIZE distinct values, as strings, sorted."""
    constant_ratio: Ratio | None = None
    """Share of the series read, with at least two rows, in which the field has only one value."""
    whole_ratio: Ratio | None = None
    """Share of the values read that are integers; None for fields that are not floats."""
    number_ratio: Ratio | None = None
    """Share of the texts read that are numbers, without those that stand for no value, such as `-` and `N/A`; None for
    fields that are not text.
    """
    also_in: str = ""
    """Of a text with numbers: a column of numbers that holds the same in nearly all rows read; empty if there is
    none.
    """
    numbers_by: NumbersBy | None = None
    """None if no tag does, or the field does not contain both."""
    role_reason: str = ""
    value_bytes: float | None = None
    """Mean size of the values that are present, in bytes; None if the engine does not report it."""
    items: Items | None = None
    """None for fields that never contain an array."""
    lag: TimeLag | None = None
    """None if it contains no times, or no rows with times were read."""
    idle_hours: float | None = None
    """From the newest row with the field to the newest row read. None if no rows with times were read, or none has
    it.
    """


@dataclass(frozen=True, slots=True)
class SharedInstants:
    """Rows with a single value that share tags and time with others, and could be merged with them into one row."""

    names: tuple[str, ...]
    """Names of single-value measures that share an instant with others among the rows read, sorted."""
    rows: int
    """Number of rows read with these names."""
    instants: int
    """Distinct combinations of tags and time among them: the number of rows after merging."""
    bytes_now: int
    """Size of these rows: names and values of their tags, measure name, time, and value."""
    bytes_merged: int
    """The same with all values of an instant in one row."""
    source: Source


@dataclass(frozen=True, slots=True)
class FieldRhythm:
    """How regularly the values of one field arrive, over the series with enough rows among those read."""

    field: str
    regular: int
    """Series in which they arrive at regular intervals, as metrics do."""
    irregular: int
    """Series in which they arrive irregularly, mostly in rows of their own, as events do."""
    interval_s: float | None
    """Median interval of the regular series; None if there are none."""


@dataclass(frozen=True, slots=True)
class PartingTag:
    """A tag that separates regular from irregular series: none of its values occurs in both."""

    tag: str
    regular: tuple[str | None, ...]
    """Up to three of its values in regular series; None stands for an absent tag."""
    irregular: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Rhythms:
    """How regularly points arrive. A field that is neither regular nor irregular anywhere is not counted in either."""

    fields: tuple[FieldRhythm, ...]
    parted_by: PartingTag | None
    """The tag that separates completely regular from completely irregular series; None if no tag does, or if all series
    are of one kind.
    """
    source: Source
