"""Fields, and what their values are."""

from __future__ import annotations

from dataclasses import dataclass

from tsaudit.model.profile.figures import Count, Ratio, Source


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
    """Between the 10% with the least lag and the 10% with the most."""


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
