"""The facts: what a connector can be asked for, with the parameters of each query, and the format of its answers.

A fact is the contract between a rule and a connector. A rule names the facts it `requires`; a connector offers those
with a query file in `sql/<engine>/`. A fact that no rule needs is not collected. The fields of a fact's class are the
names that its files may use. Parameters that an engine's own connector adds are declared with the engine
(`Engine.parameters`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Literal


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
    hashed: str | None = field(
        default=None,
        metadata=_is("a column: return the rows whose values of it have the lowest hashes; None for the newest rows"),
    )
    each_type: Mapping[str, Sequence[str]] = field(
        default_factory=dict,
        metadata=_is("fields of which a query returns one type only, to the types that are to be named (InfluxDB 1)"),
    )
    sizes: Sequence[str] = field(
        default=(),
        metadata=_is("the columns of which to return the bytes that each value takes as stored, instead of the value"),
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


class Scope(enum.StrEnum):
    """What one query for the fact covers."""

    TARGET = "target"
    DATABASE = "database"
    MEASUREMENT = "measurement"


@dataclass(frozen=True, slots=True)
class Fact:
    """One kind of data that a database can be queried for."""

    name: str
    """Also the stem of its query files, and its name in a rule's `requires`."""
    given: type[Given]
    """The class of its query parameters: an instance goes to `Connection.query`."""
    columns: tuple[str, ...]
    """The columns of each row; empty if they are the measurement's own columns."""
    meaning: str
    derived_from: tuple[str, ...] = ()
    """Facts from any one of which this fact can be computed; empty: it has to be queried."""

    @property
    def scope(self) -> Scope:
        """What one query covers."""
        if issubclass(self.given, OfMeasurement):
            return Scope.MEASUREMENT
        return Scope.DATABASE if issubclass(self.given, OfDatabase) else Scope.TARGET


_OF_DATABASES: Final = (
    Fact("databases", OfTarget, ("database",), "databases, buckets, or schemas to audit"),
    Fact(
        "scheduled_queries",
        OfTarget,
        ("query", "statement", "enabled", "bytes_scanned", "spatial_coverage", "temporal_range_s", "period_s"),
        "queries that the service runs on a schedule (Timestream), with the bytes that the last run read, the share of "
        "a table's partitions, 0 to 1, and the seconds until the next run; None if not reported; an engine whose "
        "queries belong to databases adds a column `database`",
    ),
    Fact(
        "target_storage",
        OfTarget,
        ("data_bytes", "index_bytes", "free_bytes"),
        "bytes of all databases of the target, if they are one file; index_bytes None if it is part of data_bytes; "
        "free_bytes, the part of data_bytes that holds nothing",
    ),
    Fact(
        "server_status",
        OfTarget,
        ("kind", "name", "database", "value"),
        "what the server reports about itself, as far as the user may read it: rows of the kind `setting` with "
        "configured limits (`max_series_per_database`, `max_values_per_tag`, 0 for none; `index_in_memory` and "
        "`retention_enabled`, 1 or 0; PostgreSQL's own names), `counter` with the points of a database since the "
        "server started (`points_written`, `points_dropped`, `points_failed`), with the failures of the server "
        "(`continuous_queries_failed`, `tasks_failed`, `subscriptions_failed`, `server_errors`, `compactions_failed`, "
        "`flushes_failed`, `writes_rejected`, `writes_delayed`, `queries_out_of_memory`), with the number of what it "
        "has open, for the settings of the same name (`open_files`, `connections`), or with the age of its oldest "
        "transaction (`transaction_age`), `failure` with what fails at present and how often it has failed, or the "
        "bytes that it keeps, and one row of the kind `started` with the time of the start in seconds since 1970",
    ),
    Fact(
        "server_counters",
        OfTarget,
        ("kind", "name", "database", "value"),
        "the counters of `server_status`, and when they began, for servers that report nothing else about themselves",
        derived_from=("server_status",),
    ),
    Fact(
        "policies",
        OfDatabase,
        ("database", "policy", "policy_of"),
        "the names under which a database is audited: its own for the default retention policy, "
        "`database/policy` for every other one that contains data, with `policy_of`, the database; policy "
        "empty if there is no default one",
    ),
    Fact("measurements", OfDatabase, ("measurement",), "measurements, tables, or collections"),
    Fact(
        "columns",
        OfMeasurements,
        ("measurement", "column", "data_type", "key_position"),
        "columns in the order of the table; key_position counts from 1 in the primary key, None outside it; "
        "an engine with tags adds a column `role`: time, tag, or field, and may add a column `reason`; one with keys "
        "adds `is_unique`, true if a key on this column alone makes its values different in every row, and "
        "`refers_to`, the table that a foreign key on it refers to",
    ),
    Fact(
        "tag_keys",
        OfDatabase,
        ("measurement", "tag"),
        "tags of each measurement",
        derived_from=("columns", "documents"),
    ),
    Fact(
        "field_types",
        OfDatabase,
        ("measurement", "field", "data_type"),
        "fields with their types; two rows for one field are a type conflict",
        derived_from=("columns", "documents"),
    ),
    Fact(
        "retention",
        OfDatabase,
        ("policy", "duration_s", "partition_s", "default"),
        "retention policies; duration_s 0 means no retention",
        derived_from=("table_retention",),
    ),
    Fact(
        "table_retention",
        OfMeasurements,
        ("measurement", "policy", "duration_s", "partition_s"),
        "the retention of each table, if it is not set for the database; duration_s 0 means no retention, "
        "None that it is not known; policy empty if the engine has no such setting, and rows stay until "
        "somebody deletes them",
    ),
    Fact(
        "database_series",
        OfDatabase,
        ("series", "counts_fields"),
        "series in the database, exact; counts_fields if each field of a tag set is a separate series",
    ),
    Fact(
        "early_rows",
        OfMeasurements,
        ("measurement", "first", "last"),
        "measurements with rows in 1970, whose times may have been written in a wrong unit: the first and the last of "
        "these times, without the first second of the year",
    ),
    Fact(
        "row_estimate",
        OfMeasurements,
        ("measurement", "rows"),
        "rows according to the engine's own statistics; rows None if it has none; an engine that can detect "
        "writes better than by their number adds a column `state`, a text that changes with writes, None if "
        "not known",
    ),
    Fact(
        "column_statistics",
        OfMeasurements,
        (
            "measurement",
            "column",
            "distinct",
            "at_least",
            "null_ratio",
            "common_values",
            "sampled_rows",
            "analysed_at",
            "changed_ratio",
        ),
        "the engine's own statistics on each column of the named measurements: distinct values (at_least if only from "
        "part of the rows), share of nulls, common values as a JSON list; the maximum number of rows they are based "
        "on, when they were computed, and the share of rows written since then; None for what is not known",
    ),
    Fact(
        "storage",
        OfMeasurements,
        ("measurement", "data_bytes", "index_bytes"),
        "bytes of the rows and of the indexes of each measurement; None if the engine does not report them; an engine "
        "whose rows are sampled adds a column `mean_row_bytes`, the bytes of a row before compression, None if not "
        "known",
    ),
    Fact(
        "options",
        OfMeasurements,
        ("measurement", "option", "value"),
        "storage options of each measurement, by the engine's own names, as text; a missing option has its default",
        derived_from=("effective_options",),
    ),
    Fact(
        "effective_options",
        OfMeasurements,
        ("measurement", "option", "value"),
        "options in force whether or not the measurement sets them, as reported by the running engine; they "
        "take precedence over `options`",
    ),
    Fact(
        "indexes",
        OfMeasurements,
        (
            "measurement",
            "index",
            "kind",
            "position",
            "column",
            "is_unique",
            "is_constraint",
            "is_partial",
            "size_bytes",
            "scans",
            "counted_since",
        ),
        "indexes, one row for each of their columns; column None for an expression, or for one with an unusual order "
        "(operator class, collation); is_constraint if a primary key or a unique constraint needs it; scans None if "
        "uses are not counted, otherwise the number of uses since `counted_since`; an engine that may have unfinished "
        "indexes that no query uses adds a column `is_valid`, one that sorts columns in several ways `sorting`: desc, "
        "desc nulls last, or nulls first, empty for ascending, one with indexes of page ranges `rows_read`: the rows "
        "on the pages that they led to, one that also counts the use of indexes by writes `is_as_old`, true if the "
        "index has existed since `counted_since`, and one whose indexes remove old documents `expires_s`",
    ),
    Fact(
        "partitions",
        OfMeasurements,
        ("measurement", "key", "partition", "bounds", "rows", "bytes"),
        "partitions, chunks, or regions; key: the partition columns, separated by commas; rows and bytes "
        "according to the engine's own statistics, None if it has none; a measurement without partitions has "
        "no row; an engine with schemas adds a column `schema`: that of the partition, None if it is the table's",
    ),
    Fact(
        "table_status",
        OfMeasurements,
        ("measurement", "kind", "name", "value", "text"),
        "what the server counts for each measurement: rows of the kind `counter` (`rows_scanned`, by scans of the "
        "whole table; `rows_inserted`, `rows_updated`, `rows_deleted`), `since` with the time they began in seconds "
        "since 1970, `figure` (`live_rows`, `dead_rows`; `heap_bytes`, without indexes; `columns_used`, including "
        "dropped ones; `vacuumed`, in seconds since 1970), and by column `order` with how far rows lie in its order, 0 "
        "to 1, `width` with its mean bytes in a row, `common` with the share of the rows that have its most common "
        "value, or null, `id` and `id_limit` with the last ID that its sequence returned and the highest ID that "
        "the sequence and the column's type allow, `identity` or `sequence` with the sequence's step and, as "
        "`text`, its quoted name, and `defaults` with the number of columns whose default takes from it; what is "
        "not known has no row",
    ),
    Fact(
        "index_use",
        OfMeasurements,
        ("measurement", "index", "scans", "counted_since"),
        "how often each index was used since `counted_since`, if that needs a separate permission; otherwise it is in "
        "`indexes`",
    ),
    Fact(
        "activity",
        OfMeasurements,
        ("measurement", "reads", "writes", "counted_since"),
        "operations on each measurement since `counted_since`, as counted by the connected server; a measurement "
        "without a row had none",
    ),
    Fact(
        "database_storage",
        OfDatabase,
        ("data_bytes", "index_bytes", "disk_used_bytes", "disk_bytes"),
        "bytes of the database, the bytes used on its file system, and the size of that file system",
    ),
    Fact(
        "database_bytes",
        OfDatabase,
        ("data_bytes", "index_bytes"),
        "bytes of the database, if the engine reports neither single measurements nor its disk; index_bytes None if "
        "not reported; an engine with shards adds the columns `shards`, their number, and `shard_series`, the sum of "
        "the series in each shard, None if not reported; one that reports the retention of each shard adds "
        "`expired_shards`, the number of those that are still there a day after it has passed, `expired_bytes`, and "
        "`expired_since`, when that of the oldest passed, in seconds since 1970",
    ),
    Fact(
        "kept_points",
        OfDatabase,
        ("measurement", "first", "last", "accepted", "overwritten", "counted"),
        "points that the server accepted since its start for one part of the database (the newest that is not too "
        "large), and how many of them others with the same tags and time replaced, at least, or, with `counted`, "
        "according to their values; the beginning and the end of the part, in UTC; measurement: the one that nearly "
        "all rows belong to, empty if there is none; no row if this is not known",
    ),
    Fact(
        "stored_bytes",
        OfDatabase,
        (),
        "bytes of data and indexes, for the target, each database, or each measurement",
        derived_from=("target_storage", "database_storage", "database_bytes", "storage"),
    ),
    Fact(
        "measure_names",
        OfMeasurements,
        ("measurement", "measure_name", "data_type", "dimensions"),
        "measure names of each table (Timestream): the type of their values, `multi` if a record has several, "
        "and the tags they were written with",
    ),
)


_OF_MEASUREMENTS: Final = (
    Fact(
        "scan_estimate",
        OfScanEstimate,
        ("rows", "rows_read", "rows_all", "rows_sorted"),
        "the planner's estimates of rows within the window, rows read to find these, rows in the table, and "
        "rows sorted to return the requested number of newest ones; the last is 0 if an index has their "
        "order, None without a time",
    ),
    Fact(
        "time_extents",
        OfTimeExtents,
        ("rows", "*"),
        "rows examined, then, for each column that may be the time, its number of values in the form that most have, "
        "the lowest of them, and the highest; then, for each, the number of values in another form, and the lowest",
    ),
    Fact(
        "stored_rows",
        OfMeasurements,
        ("measurement", "rows", "first_time"),
        "rows in the files that are completely within the window, counting each version of a row, and their "
        "first time; a measurement without such a file has no row",
    ),
    Fact(
        "series_listing",
        OfSeriesListing,
        (),
        "every distinct tag set, streamed; a column per tag, null if the tag is absent",
    ),
    Fact(
        "tag_values",
        OfMeasurement,
        (),
        "distinct values, a sample of them and the share of series without the tag, per tag",
        derived_from=("series_listing", "measure_name_counts"),
    ),
    Fact(
        "row_count",
        OfRowCount,
        ("rows",),
        "rows within the window, in one or more parts",
    ),
    Fact(
        "row_sample",
        OfRowSample,
        (),
        "complete rows within the window, newest first, at most a given number; columns as in the table",
    ),
    Fact(
        "row_slice",
        OfRowSlice,
        (),
        "the rows of all series from `start` to `end` that have the one field in `fields`, oldest first, at most a "
        "given number: their time, the field, and the tags",
    ),
    Fact(
        "null_counts",
        OfNullCounts,
        ("rows", "first_time", "last_time", "*"),
        "rows within the window, their first and last time, then the number of non-null values for each field",
    ),
    Fact(
        "documents",
        OfDocuments,
        ("document", "bytes", "path", "data_type", "value", "value_bytes", "items", "first_item", "last_item"),
        "random documents, a row for each of their leaves: its dotted path, type, value as text, and, for an "
        "array, its number of items, and the times of its first and last item, None if they have none; data_type "
        "None for null",
    ),
    Fact(
        "largest_document",
        OfMeasurement,
        ("document", "bytes", "path", "data_type", "value", "value_bytes", "items", "first_item", "last_item"),
        "the largest of all documents, as in `documents`, where the collection has more bytes than a sample explains",
    ),
    Fact(
        "buckets",
        OfBuckets,
        ("buckets", "source", "rows", "closed", "closed_by_change"),
        "random buckets of a time series collection: their total number, the bucket's source, as text, and "
        "its number of rows, None if not reported; how many buckets the server has closed since its start, and how "
        "many of them because a field changed its type, None if it does not count them",
    ),
    Fact(
        "measure_name_counts",
        OfMeasurement,
        ("measure_name", "rows", "first_time", "last_time", "series", "*"),
        "for each measure name the rows within the window, their first and last time, and the approximate "
        "number of tag sets, then the number of non-null rows for each tag and each field, then the "
        "approximate number of values of each tag",
    ),
    Fact(
        "null_ratios",
        OfMeasurement,
        (),
        "share of nulls per field",
        derived_from=("null_counts", "measure_name_counts", "row_sample", "documents", "column_statistics"),
    ),
    Fact(
        "field_values",
        OfMeasurement,
        (),
        "values of the fields as read: samples, distinct, constant per series, whole numbers",
        derived_from=("row_sample", "documents"),
    ),
    Fact(
        "repeated_columns",
        OfMeasurement,
        (),
        "which columns of texts repeat together, in rows from all parts of the table",
        derived_from=("row_sample",),
    ),
    Fact(
        "row_patterns",
        OfMeasurement,
        (),
        "which columns rows fill together, and how often rows of a series fill only what the previous one lacks",
        derived_from=("row_sample", "documents"),
    ),
    Fact(
        "row_share",
        OfMeasurement,
        (),
        "rows per measurement, from which each share is computed",
        derived_from=("null_counts", "measure_name_counts", "row_count"),
    ),
)


FACTS: Final = {fact.name: fact for fact in (*_OF_DATABASES, *_OF_MEASUREMENTS)}

STRUCTURE: Final = frozenset({"databases", "policies", "measurements", "columns", "tag_keys", "field_types"})
"""The facts that list measurements and columns."""


def offered(query_files: frozenset[str]) -> frozenset[str]:
    """The facts available from the given ones: their own, and all that can be derived from those."""
    derived = {f.name for f in FACTS.values() if any(source in query_files for source in f.derived_from)}
    return query_files | derived


def asked_for(wanted: frozenset[str], query_files: frozenset[str]) -> frozenset[str]:
    """The query files to run so that every available fact in `wanted` is measured."""
    direct = wanted & query_files
    sources = {s for name in wanted for s in FACTS[name].derived_from if s in query_files}
    return direct | sources


def sources_of(name: str) -> frozenset[str]:
    """The fact itself and those that it can be derived from: a gap in any of them is a gap in the fact."""
    return frozenset((name, *FACTS[name].derived_from))
