"""Facts about a target and its databases, and about all measurements of one at once."""

from __future__ import annotations

from typing import Final

from tsaudit.model.facts.fact import Fact, Scope, Step
from tsaudit.model.facts.given import OfMeasurements

OF_DATABASES: Final = (
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
        asked_with=OfMeasurements,
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
        asked_with=OfMeasurements,
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
        asked_with=OfMeasurements,
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
        asked_with=OfMeasurements,
    ),
    Fact(
        "storage",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "data_bytes", "index_bytes"),
        "bytes that the rows and that the indexes of each measurement take; None where the engine does not tell",
        asked_with=OfMeasurements,
    ),
    Fact(
        "options",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "option", "value"),
        "storage options of each measurement, by the engine's own names, as text; an option left out has its default",
        asked_with=OfMeasurements,
    ),
    Fact(
        "effective_options",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "option", "value"),
        "options that are in force whether the measurement names them or not, as the engine at work has them; they go "
        "before those of `options`",
        asked_with=OfMeasurements,
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
        asked_with=OfMeasurements,
    ),
    Fact(
        "partitions",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "key", "partition", "bounds", "rows", "bytes"),
        "partitions, chunks or regions; key: the columns that decide, with commas; rows and bytes by the engine's own "
        "statistics, None where it keeps none; a measurement without partitions has no row",
        asked_with=OfMeasurements,
    ),
    Fact(
        "index_use",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "index", "scans", "counted_since"),
        "how often each index was used since, where it takes a right of its own to know; else `indexes` tells",
        asked_with=OfMeasurements,
    ),
    Fact(
        "activity",
        Scope.DATABASE,
        Step.METADATA,
        ("measurement", "reads", "writes", "counted_since"),
        "operations on each measurement since, by the server that was asked; one that is not named had none",
        asked_with=OfMeasurements,
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
        asked_with=OfMeasurements,
    ),
)
