"""The facts: what a connector can be asked, and what its answer looks like.

A fact is the contract between a rule and a connector. A rule names the facts it `requires`; a connector
offers those for which `sql/<engine>/` holds a query file; a fact nobody asks for is not collected.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Scope(enum.StrEnum):
    """What one query for the fact is about."""

    TARGET = "target"
    DATABASE = "database"
    MEASUREMENT = "measurement"


class Step(enum.IntEnum):
    """The rung of the ladder: how dear a fact is. A higher step is climbed only where a lower one gave cause."""

    METADATA = 1
    """Catalogue look-ups; no data and no index is read."""
    INDEX = 2
    """Answered from an index or from statistics."""
    LISTING = 3
    """One listing of a measurement's tag sets."""
    SCAN = 4
    """Reads rows, within the window and the budget."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that can be asked of a database."""

    name: str
    """Also the stem of its query files, and the word in a rule's `requires`."""
    scope: Scope
    step: Step
    columns: tuple[str, ...]
    """What each row of the answer holds; empty where the columns are the measurement's own."""
    meaning: str
    derived_from: tuple[str, ...] = ()
    """Facts any one of which lets tsaudit work this one out; empty: it has to be asked."""


_ALL: Final = (
    Fact("databases", Scope.TARGET, Step.METADATA, ("database",), "databases, buckets or schemas to audit"),
    Fact(
        "scheduled_queries",
        Scope.TARGET,
        Step.METADATA,
        ("query", "statement", "enabled", "bytes_scanned", "spatial_coverage", "temporal_range_s"),
        "queries that the service runs by itself (Timestream), with the bytes that the last run read and the share "
        "of a "
        "table's partitions, 0 to 1; both None where it does not tell",
    ),
    Fact(
        "target_storage",
        Scope.TARGET,
        Step.METADATA,
        ("data_bytes", "index_bytes"),
        "bytes that all databases of the target take, where they are one file; index_bytes None where it is part of "
        "data_bytes",
    ),
    Fact(
        "policies",
        Scope.DATABASE,
        Step.METADATA,
        ("database", "policy", "policy_of"),
        "the names under which a database is audited: its own for the default retention policy, `database/policy` for "
        "each other one that holds data, with `policy_of`, the database; policy empty where there is no default one",
    ),
    Fact("measurements", Scope.DATABASE, Step.METADATA, ("measurement",), "measurements, tables or collections"),
    Fact(
        "columns",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "column", "data_type", "key_position"),
        "columns in the order of the table; key_position counts from 1 in the primary key, None outside it; an engine "
        "that knows tags adds a column `role`: time, tag or field, and may add a column `reason`",
    ),
    Fact(
        "tag_keys",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "tag"),
        "tags of each measurement",
        derived_from=("columns", "documents"),
    ),
    Fact(
        "field_types",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "field", "data_type"),
        "fields with their types; two rows for one field are a type conflict",
        derived_from=("columns", "documents"),
    ),
    Fact(
        "retention",
        Scope.DATABASE,
        Step.METADATA,
        ("policy", "duration_s", "partition_s", "default"),
        "retention policies; duration_s 0 means forever",
        derived_from=("table_retention",),
    ),
    Fact(
        "table_retention",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "policy", "duration_s", "partition_s"),
        "how long each table keeps its rows, where that is not set for the database; duration_s 0 means forever, None "
        "that it is not known; policy empty where there is no such thing, and rows stay until somebody deletes them",
    ),
    Fact(
        "declared_schema",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "column", "type", "data_type"),
        "columns that the server itself enforces, where it does; type is timestamp, tag or field, data_type a field's; "
        "a row without a measurement says that it enforces a schema, whether a measurement is declared or not",
    ),
    Fact(
        "database_series",
        Scope.DATABASE,
        Step.INDEX,
        ("series", "counts_fields"),
        "series in the database, exact; counts_fields where each field of a tag set is a series of its own",
    ),
    Fact(
        "row_estimate",
        Scope.DATABASE,
        Step.INDEX,
        ("measurement", "rows"),
        "rows by the engine's own statistics; rows None where it keeps none; an engine that knows better than by their "
        "number whether rows were written adds a column `state`, a text that is another one then, None when not known",
    ),
    Fact(
        "column_statistics",
        Scope.DATABASE,
        Step.INDEX,
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
        "what the engine's own statistics say of each column of the measurements named: distinct values (at_least "
        "where of a part of the rows only), share of nulls, common values as a JSON list; from how many rows at most, "
        "when, and how many rows were written since, as a share; None for what is not known",
    ),
    Fact(
        "storage",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "data_bytes", "index_bytes"),
        "bytes that the rows and that the indexes of each measurement take; None where the engine does not tell",
    ),
    Fact(
        "options",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "option", "value"),
        "storage options of each measurement, by the engine's own names, as text; an option left out has its default",
    ),
    Fact(
        "effective_options",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "option", "value"),
        "options that are in force whether the measurement names them or not, as the engine at work has them; they go "
        "before those of `options`",
    ),
    Fact(
        "indexes",
        Scope.DATABASE,
        Step.METADATA,
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
        "indexes, a row for each column in one; column None for an expression, or for one that is not kept in the "
        "usual order (operator class, collation); is_constraint where a primary key or a unique constraint "
        "needs it; scans None where none are counted, else how often it was used since; an engine that may have "
        "indexes that no query uses, as they are not finished, adds a column `is_valid`, and one that sorts columns in "
        "several ways `sorting`: desc, desc nulls last or nulls first, empty for ascending",
    ),
    Fact(
        "partitions",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "key", "partition", "bounds", "rows", "bytes"),
        "partitions, chunks or regions; key: the columns that decide, with commas; rows and bytes by the engine's own "
        "statistics, None where it keeps none; a measurement without partitions has no row",
    ),
    Fact(
        "index_use",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "index", "scans", "counted_since"),
        "how often each index was used since, where it takes a right of its own to know; else `indexes` tells",
    ),
    Fact(
        "activity",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "reads", "writes", "counted_since"),
        "operations on each measurement since, by the server that was asked; one that is not named had none",
    ),
    Fact(
        "database_storage",
        Scope.DATABASE,
        Step.METADATA,
        ("data_bytes", "index_bytes", "disk_used_bytes", "disk_bytes"),
        "bytes that the database takes, those used on the file system it is on, and that one's size",
    ),
    Fact(
        "database_bytes",
        Scope.DATABASE,
        Step.METADATA,
        ("data_bytes", "index_bytes"),
        "bytes that the database takes, where the engine tells neither of single measurements nor of its disk; "
        "index_bytes None where they are not told",
    ),
    Fact(
        "stored_bytes",
        Scope.DATABASE,
        Step.METADATA,
        (),
        "bytes that data and indexes take, told for the target, each database or each measurement",
        derived_from=("target_storage", "database_storage", "database_bytes", "storage"),
    ),
    Fact(
        "measure_names",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "measure_name", "data_type", "dimensions"),
        "measure names of each table (Timestream): the type of their values, `multi` where a record has several, and "
        "the tags that they were written with",
    ),
    Fact(
        "scan_estimate",
        Scope.MEASUREMENT,
        Step.METADATA,
        ("rows", "rows_read", "rows_all", "rows_sorted"),
        "by the planner's estimate, rows within the window, read to find these, in the table, and sorted to hand over "
        "the newest ones, as many as were asked for; the last 0 where an index has their order, None without a time",
    ),
    Fact(
        "stored_rows",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "rows", "first_time"),
        "rows in the files that lie within the window as a whole, each version of a row counted, and their first time; "
        "a measurement without such a file has no row",
    ),
    Fact(
        "series_listing",
        Scope.MEASUREMENT,
        Step.LISTING,
        (),
        "every distinct tag set, streamed; a column per tag, null where the tag is absent",
    ),
    Fact(
        "tag_values",
        Scope.MEASUREMENT,
        Step.LISTING,
        (),
        "distinct values, a sample of them and the share of series without the tag, per tag",
        derived_from=("series_listing", "measure_name_counts"),
    ),
    Fact("row_count", Scope.MEASUREMENT, Step.SCAN, ("rows",), "rows within the window, in one or more parts"),
    Fact(
        "row_sample",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "whole rows from within the window, newest first, at most a given number; columns as in the table",
    ),
    Fact(
        "null_counts",
        Scope.MEASUREMENT,
        Step.SCAN,
        ("rows", "first_time", "last_time", "*"),
        "rows within the window, their first and last time, then for each field how many of them are not null",
    ),
    Fact(
        "documents",
        Scope.MEASUREMENT,
        Step.SCAN,
        ("document", "bytes", "path", "data_type", "value", "value_bytes", "items"),
        "documents chosen at random, a row for each leaf of each: its dotted path, type, value as text, and, of an "
        "array, how many items it has; data_type None for null",
    ),
    Fact(
        "buckets",
        Scope.MEASUREMENT,
        Step.SCAN,
        ("buckets", "source", "rows"),
        "buckets of a time-series collection, chosen at random: how many there are in all, what tells the bucket's "
        "source, as text, and how many rows it holds, None where it does not say",
    ),
    Fact(
        "measure_name_counts",
        Scope.MEASUREMENT,
        Step.SCAN,
        ("measure_name", "rows", "first_time", "last_time", "series", "*"),
        "for each measure name rows within the window, their first and last time, about how many tag sets, then for "
        "each tag and each field how many rows are not null, then for each tag about how many values it has",
    ),
    Fact(
        "null_ratios",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "share of nulls per field",
        derived_from=("null_counts", "measure_name_counts", "row_sample", "documents"),
    ),
    Fact(
        "field_values",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "values of the fields as read: samples, distinct, constant per series, whole numbers",
        derived_from=("row_sample", "documents"),
    ),
    Fact(
        "row_patterns",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "which columns rows fill together, and how often rows of a series fill only what the one before lacks",
        derived_from=("row_sample", "documents"),
    ),
    Fact(
        "rhythms",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "in how many of the series read each field's values come at even intervals, and in how many at uneven ones",
        derived_from=("row_sample",),
    ),
    Fact(
        "point_sample",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "hashes of a few points' tag sets and times, the same few in measurements with the same points",
        derived_from=("row_sample",),
    ),
    Fact(
        "tag_changes",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "how the value of each tag changes over time, for sources named by the other tags",
        derived_from=("row_sample",),
    ),
    Fact(
        "repeats",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "how many of the rows read have the tags and the time of another, or are the same in all columns",
        derived_from=("row_sample",),
    ),
    Fact(
        "time_lags",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "how far fields that hold times lie before the time of their rows",
        derived_from=("row_sample",),
    ),
    Fact(
        "row_share",
        Scope.MEASUREMENT,
        Step.SCAN,
        (),
        "rows per measurement, from which each one's share follows",
        derived_from=("null_counts", "measure_name_counts", "row_count"),
    ),
)

FACTS: Final = {fact.name: fact for fact in _ALL}

STRUCTURE: Final = frozenset({"databases", "policies", "measurements", "columns", "tag_keys", "field_types"})
"""The facts that say which measurements and columns there are."""


def offered(query_files: frozenset[str]) -> frozenset[str]:
    """The facts that can be had from the given ones: themselves, and all that can be worked out of them."""
    derived = {f.name for f in _ALL if any(source in query_files for source in f.derived_from)}
    return query_files | derived


def asked_for(wanted: frozenset[str], query_files: frozenset[str]) -> frozenset[str]:
    """Which of the query files have to be run so that all of `wanted` that can be had is had."""
    direct = wanted & query_files
    sources = {s for name in wanted - query_files for s in FACTS[name].derived_from if s in query_files}
    return direct | sources


def sources_of(name: str) -> frozenset[str]:
    """The fact itself and those it can be worked out of: a gap in any of them is a gap in it."""
    return frozenset((name, *FACTS[name].derived_from))
