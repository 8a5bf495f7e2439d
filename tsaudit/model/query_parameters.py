"""The parameters of query files.

The fields of a fact's class are the names that its files may use. Parameters that an engine's own connector adds are
declared with the engine (`Engine.parameters`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Literal


def _is(meaning: str) -> dict[str, str]:
    return {"meaning": meaning}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The parameters of one query; none in this base class."""

    @property
    def subject(self) -> tuple[str | None, str | None]:
        """The database and the measurement that the query is about; None for all of them."""
        return getattr(self, "database", None), getattr(self, "measurement", None)

    def variables(self) -> dict[str, Any]:
        """The parameters by name, for the template."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTarget(Given):
    """Facts about the target as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfDatabase(Given):
    """Facts about one database."""

    database: str = field(metadata=_is("the database, bucket or schema"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfMeasurements(OfDatabase):
    """Facts about all measurements of one database at once."""

    measurements: Sequence[str] = field(
        metadata=_is("names of the measurements to query; the response may contain others")
    )
    start: datetime = field(metadata=_is("first instant of the window, in UTC"))
    end: datetime = field(metadata=_is("first instant after the window, in UTC"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfMeasurement(OfDatabase):
    """Facts about one measurement."""

    measurement: str = field(metadata=_is("measurement, table or collection"))
    tags: Sequence[str] = field(metadata=_is("its tags, as far as they are known yet"))
    fields: Sequence[str] = field(metadata=_is("its fields, as far as they are known yet"))
    time: str | None = field(metadata=_is("its time column; None: it has none, and all rows count"))
    time_kind: str | None = field(
        metadata=_is("how times are stored: timestamp, zoned, text, or s, ms, us or ns since 1970; None without a time")
    )
    policies: Sequence[str] = field(metadata=_is("retention policies of its database (InfluxDB); otherwise empty"))
    start: datetime = field(metadata=_is("first instant of the window, in UTC"))
    end: datetime = field(metadata=_is("first instant after the window, in UTC"))


@dataclass(frozen=True, slots=True)
class TablePart:
    """A part of a table that is too big to be read completely."""

    newest: bool
    """Whether the part is the newest rows, found by an index; otherwise rows on pages selected at random."""
    rows: int
    """Approximate number of rows."""
    percent: str
    """The share of the table's pages that contains this many rows, as a decimal number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfScanEstimate(OfMeasurement):
    """`scan_estimate`."""

    limit: int = field(metadata=_is("how many of the newest rows would be read"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfTimeExtents(OfMeasurement):
    """`time_extents`."""

    columns: Sequence[str] = field(metadata=_is("the columns that may be the time"))
    texts: Sequence[str] = field(default=(), metadata=_is("the columns among them that contain text"))
    percent: str | None = field(
        default=None,
        metadata=_is("the share of the table's pages to read, as a decimal number; None for the whole table"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSeriesListing(OfMeasurement):
    """`series_listing`."""

    limit: int = field(
        metadata=_is("maximum number of tag sets to return; one more than is used, to detect that there are more")
    )
    partial_scan: TablePart | None = field(
        metadata=_is("the part to list: `newest`, `rows`, and `percent` of pages; None for all rows of the window")
    )
    singly: bool = field(
        default=False,
        metadata=_is(
            "whether to list the values of each tag separately, from an index, at most `limit` of each, with one "
            "column per batch"
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRowCount(OfMeasurement):
    """`row_count`."""

    series: Sequence[Mapping[str, str | None]] = field(
        metadata=_is("tag sets, each by tag, whose rows count; None for an absent tag; empty for all series")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRowSample(OfMeasurement):
    """`row_sample`."""

    columns: Sequence[str] = field(metadata=_is("columns to return, in this order; empty: fields, then tags"))
    texts: Sequence[str] = field(metadata=_is("the columns among them whose values may be long strings"))
    longest: int = field(metadata=_is("number of characters to return of a long string"))
    limit: int = field(metadata=_is("maximum number of rows to return"))
    series: Sequence[Mapping[str, str | None]] = field(
        default=(), metadata=_is("tag sets, each by tag, whose rows to return; empty for all series")
    )
    partial_scan: TablePart | None = field(
        default=None,
        metadata=_is("the part to read: `newest`, `rows`, and `percent` of pages; None for all rows of the window"),
    )
    filled: str | None = field(
        default=None, metadata=_is("a column that is not null in the rows to return; None for all rows")
    )
    sizes: bool = field(
        default=False,
        metadata=_is("whether to return the bytes that each value takes as stored, instead of the values"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRowSlice(OfMeasurement):
    """`row_slice`."""

    limit: int = field(metadata=_is("maximum number of rows to return"))
    within: Sequence[Mapping[str, str | None]] = field(
        default=(), metadata=_is("the values of some tags, each by tag, whose rows to return; empty for all rows")
    )
    newest: bool = field(default=False, metadata=_is("whether to return the newest rows first"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfNullCounts(OfMeasurement):
    """`null_counts`."""

    later: Literal["by index", "by scan"] | None = field(
        metadata=_is(
            "how to find out whether there are rows at or after `end`, which an additional last column says: by an "
            "index on the time, or in the same scan; None: no such column"
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OfDocuments(OfMeasurement):
    """`documents`."""

    total: int | None = field(metadata=_is("number of documents according to the metadata; None if not known"))
    limit: int = field(metadata=_is("maximum number of documents to return"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OfBuckets(OfMeasurement):
    """`buckets`."""

    limit: int = field(metadata=_is("maximum number of buckets to return"))


def names_of(given: type[Given]) -> dict[str, str]:
    """Each parameter that a query file may use, with its meaning."""
    return {one.name: one.metadata["meaning"] for one in fields(given)}
