"""GreptimeDB's information_schema as several of its versions have it, filled in from the tables of the stand-in.

Names, types and values of the columns are those of the product's sources at v0.12.2, v0.17.2, v1.0.2 and v1.1.0
(github.com/GreptimeTeam/greptimedb, src/catalog/src/system_schema/information_schema) and of its recorded outputs
(tests/cases/standalone). Columns that no reader of tsaudit asks for are there where the recorded outputs list them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import pyarrow as pa

from tests.engines.greptimedb.stored import CATALOG, INDEXES, TYPES, Column, Stored, Version

_CREATED: Final = datetime(2026, 3, 1, tzinfo=UTC).replace(tzinfo=None)

Values = Sequence[Any]
_Shape = Mapping[str, pa.DataType]
_TEXT, _BIG, _COUNT, _SMALL = pa.string(), pa.int64(), pa.uint64(), pa.uint32()


def views(
    version: Version, databases: Sequence[str], tables: Sequence[Stored], counted: bool, down: Mapping[int, int]
) -> dict[str, pa.Table]:
    """Name of each view to its rows. `counted`: whether the regions tell how much is in them; `down`: region to the
    seconds for which its leader has been down.
    """
    fillers: dict[str, tuple[_Shape, Callable[[], Iterator[Values]]]] = {
        "schemata": (_SCHEMATA, lambda: _schemata(databases)),
        "tables": (_TABLES, lambda: _tables(tables, counted)),
        "key_column_usage": (_KEY_COLUMN_USAGE, lambda: _key_column_usage(version, tables)),
        "partitions": (_PARTITIONS, lambda: _partitions(version, tables)),
        "region_peers": (_REGION_PEERS, lambda: _region_peers(tables, down)),
        "region_statistics": (_region_statistics_shape(version), lambda: _region_statistics(version, tables)),
        "build_info": (_BUILD_INFO, lambda: iter([("main", "7fd0a7bb9877", "7fd0a7bb", "true", version.text)])),
        "columns": (_COLUMNS, lambda: iter(())),
    }
    if version.number >= (1, 0):
        fillers["ssts_manifest"] = (_ssts_manifest_shape(version), lambda: _ssts_manifest(version, tables))
    if not version.joins_indexes:
        fillers["statistics"] = (_STATISTICS, lambda: _statistics(tables))
        fillers["region_info"] = (_REGION_INFO, lambda: _region_info(version, tables))
    made = {name: _filled(shape, rows()) for name, (shape, rows) in fillers.items()}
    own = [(name, list(shape.items())) for name, (shape, _) in sorted(fillers.items())]
    made["columns"] = _filled(_COLUMNS, _columns(version, tables, own))
    made["tables"] = pa.concat_tables([made["tables"], _filled(_TABLES, _own_tables(list(fillers)))])
    return made


def _filled(shape: _Shape, rows: Iterator[Values]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(shape)
    arrays = [pa.array(values, kind) for values, kind in zip(columns, shape.values(), strict=True)]
    return pa.table(arrays, names=list(shape))


# --- Databases and tables ----------------------------------------------------------------------------------------

_SCHEMATA: Final = dict.fromkeys(
    ("catalog_name", "schema_name", "default_character_set_name", "default_collation_name", "sql_path", "options"),
    _TEXT,
)


def _schemata(databases: Sequence[str]) -> Iterator[Values]:
    for name in sorted({*databases, "public", "information_schema", "greptime_private"}):
        yield CATALOG, name, "utf8", "utf8_bin", None, ""


_TABLES: Final = {
    **dict.fromkeys(("table_catalog", "table_schema", "table_name", "table_type"), _TEXT),
    "table_id": _SMALL,
    **dict.fromkeys(
        ("data_length", "max_data_length", "index_length", "max_index_length", "avg_row_length"),
        _COUNT,
    ),
    "engine": _TEXT,
    "version": _COUNT,
    "row_format": _TEXT,
    **dict.fromkeys(("table_rows", "data_free", "auto_increment"), _COUNT),
    **dict.fromkeys(("create_time", "update_time", "check_time"), pa.timestamp("s")),
    "table_collation": _TEXT,
    "checksum": _COUNT,
    **dict.fromkeys(("create_options", "table_comment", "temporary"), _TEXT),
}


def _tables(tables: Sequence[Stored], counted: bool) -> Iterator[Values]:
    # Never empty in the product: this one is always there.
    yield _table("public", "numbers", "LOCAL TEMPORARY", 2, "test_engine", 0, 0, 0, "")
    for t in tables:
        # Without figures from the regions the view says 0, and no more than that.
        rows, data, index = (
            sum(getattr(r, name) for r in t.regions) if counted else 0 for name in ("rows", "data_bytes", "index_bytes")
        )
        options = " ".join(f"{key}={value}" for key, value in t.options.items())
        yield _table(t.database, t.name, "BASE TABLE", t.id, t.engine, rows, data, index, options)


def _own_tables(names: Sequence[str]) -> Iterator[Values]:
    for number, name in enumerate(sorted(names), 3):
        yield _table("information_schema", name, "LOCAL TEMPORARY", number, "", 0, 0, 0, "")


def _table(
    schema: str, name: str, kind: str, id_: int, engine: str, rows: int, data: int, index: int, options: str
) -> Values:
    average = data // rows if rows else 0
    sizes = (data, 0, index, 0, average, engine, 11, "Fixed", rows, 0, 0)
    return (CATALOG, schema, name, kind, id_, *sizes, _CREATED, _CREATED, None, "utf8_bin", 0, options, None, "N")


# --- Columns -----------------------------------------------------------------------------------------------------

_COLUMNS: Final = {
    **dict.fromkeys(("table_catalog", "table_schema", "table_name", "column_name"), _TEXT),
    "ordinal_position": _BIG,
    **dict.fromkeys(
        (
            "character_maximum_length",
            "character_octet_length",
            "numeric_precision",
            "numeric_scale",
            "datetime_precision",
        ),
        _BIG,
    ),
    **dict.fromkeys(
        (
            "character_set_name",
            "collation_name",
            "column_key",
            "extra",
            "privileges",
            "generation_expression",
            "greptime_data_type",
            "data_type",
            "semantic_type",
            "column_default",
            "is_nullable",
            "column_type",
            "column_comment",
        ),
        _TEXT,
    ),
    "srs_id": _BIG,
}


def _columns(
    version: Version, tables: Sequence[Stored], own: Sequence[tuple[str, Sequence[tuple[str, pa.DataType]]]]
) -> Iterator[Values]:
    number = Column("number", _SMALL, "TAG")
    yield _column(version, "public", "numbers", 1, number, "PRI")
    for view, shape in own:
        for position, (name, kind) in enumerate(shape, 1):
            yield _column(version, "information_schema", view, position, Column(name, kind, "FIELD"), "")
    for t in tables:
        for position, column in enumerate(t.columns, 1):
            key = {"TAG": "PRI", "TIMESTAMP": "TIME INDEX"}.get(column.semantic, "")
            yield _column(version, t.database, t.name, position, column, key)


def _column(version: Version, schema: str, table: str, position: int, column: Column, key: str) -> Values:
    kind, own_kind = TYPES[column.type]
    yes, no = ("Yes", "No") if version.joins_indexes else ("YES", "NO")
    text = column.type == _TEXT
    lengths = (2147483647, 2147483647) if text else (None, None)
    precision = kind[10:-1] if kind.startswith("timestamp") else None
    return (
        *(CATALOG, schema, table, column.name, position, *lengths, None, None, precision and int(precision)),
        *(("utf8", "utf8_bin") if text else (None, None)),
        *(key, "", "select,insert", "", own_kind, kind, column.semantic, None),
        *(yes if column.nullable else no, kind, None, None),
    )


# --- Keys and indexes --------------------------------------------------------------------------------------------

_KEY_COLUMN_USAGE: Final = {
    **dict.fromkeys(
        (
            "constraint_catalog",
            "constraint_schema",
            "constraint_name",
            "table_catalog",
            "real_table_catalog",
            "table_schema",
            "table_name",
            "column_name",
        ),
        _TEXT,
    ),
    "ordinal_position": _SMALL,
    "position_in_unique_constraint": _SMALL,
    **dict.fromkeys(
        ("referenced_table_schema", "referenced_table_name", "referenced_column_name", "greptime_index_type"), _TEXT
    ),
}


def _key_column_usage(version: Version, tables: Sequence[Stored]) -> Iterator[Values]:
    def row(t: Stored, constraint: str, column: str, position: int, kinds: str) -> Values:
        place = ("def", t.database, constraint, "def", CATALOG, t.database, t.name, column)
        return (*place, position, None, None, None, None, kinds)

    for t in tables:
        for position, column in enumerate(t.columns, 1):
            if column.semantic == "TIMESTAMP":
                yield row(t, "TIME INDEX", column.name, 1, "")
            in_key = column.name in t.key
            if not version.joins_indexes:
                if in_key:
                    yield row(t, "PRIMARY", column.name, t.key.index(column.name) + 1, "dense")
                continue
            kinds = [kind for kind in INDEXES if kind in t.indexes.get(column.name, ())]
            names = ["PRIMARY"] * in_key + [f"{kind.upper()} INDEX" for kind in kinds]
            own = ["greptime-primary-key-v1"] * in_key + [INDEXES[kind][2] for kind in kinds]
            if names:
                yield row(t, ", ".join(names), column.name, position, ", ".join(own))


_STATISTICS: Final = {
    **dict.fromkeys(("table_catalog", "table_schema", "table_name"), _TEXT),
    "non_unique": _BIG,
    **dict.fromkeys(("index_schema", "index_name"), _TEXT),
    "seq_in_index": _BIG,
    **dict.fromkeys(("column_name", "collation"), _TEXT),
    **dict.fromkeys(("cardinality", "sub_part"), _BIG),
    **dict.fromkeys(
        (
            "packed",
            "nullable",
            "index_type",
            "comment",
            "index_comment",
            "is_visible",
            "expression",
            "greptime_index_type",
        ),
        _TEXT,
    ),
}


def _statistics(tables: Sequence[Stored]) -> Iterator[Values]:
    def row(t: Stored, non_unique: int, index: str, position: int, column: Column, kind: str, own: str) -> Values:
        nullable = "YES" if column.nullable else ""
        place = ("def", t.database, t.name, non_unique, t.database, index, position, column.name)
        return (*place, "A", None, None, None, nullable, kind, "", "", "YES", None, own)

    for t in tables:
        named = {c.name: c for c in t.columns}
        for position, name in enumerate(t.key, 1):
            yield row(t, 0, "PRIMARY", position, named[name], "PRIMARY", "dense")
        for column in t.columns:
            if column.semantic == "TIMESTAMP":
                yield row(t, 1, "TIME INDEX", 1, column, "TIME", "")
            for kind, (upper, own, _) in INDEXES.items():
                if kind in t.indexes.get(column.name, ()):
                    yield row(t, 1, f"{upper}_INDEX_{column.name}", 1, column, upper, own)


# --- Partitions and regions --------------------------------------------------------------------------------------

_PARTITIONS: Final = {
    **dict.fromkeys(("table_catalog", "table_schema", "table_name", "partition_name", "subpartition_name"), _TEXT),
    **dict.fromkeys(("partition_ordinal_position", "subpartition_ordinal_position"), _BIG),
    **dict.fromkeys(
        (
            "partition_method",
            "subpartition_method",
            "partition_expression",
            "subpartition_expression",
            "partition_description",
        ),
        _TEXT,
    ),
    **dict.fromkeys(
        ("table_rows", "avg_row_length", "data_length", "max_data_length", "index_length", "data_free"), _BIG
    ),
    **dict.fromkeys(("create_time", "update_time", "check_time"), pa.timestamp("s")),
    "checksum": _BIG,
    **dict.fromkeys(("partition_comment", "nodegroup", "tablespace_name"), _TEXT),
    "greptime_partition_id": _COUNT,
}


def _partitions(version: Version, tables: Sequence[Stored]) -> Iterator[Values]:
    for t in tables:
        columns = ", ".join(t.partition_by) or None
        for number, region in enumerate(t.regions):
            expression = region.bound if version.bounds_as_expression else columns
            description = None if version.bounds_as_expression else region.bound
            yield (
                *(CATALOG, t.database, t.name, f"p{number}", None, number + 1, None, "RANGE", None),
                *(expression, None, description, None, None, None, None, None, None),
                *(_CREATED, None, None, None, None, None, None, region.id),
            )


_REGION_PEERS: Final = {
    **dict.fromkeys(("table_catalog", "table_schema", "table_name"), _TEXT),
    **dict.fromkeys(("region_id", "peer_id"), _COUNT),
    **dict.fromkeys(("peer_addr", "is_leader", "status"), _TEXT),
    "down_seconds": _BIG,
}


def _region_peers(tables: Sequence[Stored], down: Mapping[int, int]) -> Iterator[Values]:
    for t in tables:
        for region in t.regions:
            status = "DOWNGRADED" if region.id in down else "ALIVE"
            yield CATALOG, t.database, t.name, region.id, 0, "", "Yes", status, down.get(region.id)
            yield CATALOG, t.database, t.name, region.id, 1, "", "No", "DOWNGRADED", 3_600


def _region_statistics_shape(version: Version) -> _Shape:
    number = version.number
    return {
        "region_id": _COUNT,
        **dict.fromkeys(("table_id", "region_number"), _SMALL),
        "region_rows": _COUNT,
        **dict.fromkeys(("written_bytes_since_open",) if number >= (1, 0) else (), _COUNT),
        **dict.fromkeys(("query_cpu_time_millis", "query_scanned_bytes") if number >= (1, 2) else (), _COUNT),
        **dict.fromkeys(("disk_size", "memtable_size", "manifest_size", "sst_size"), _COUNT),
        **dict.fromkeys(("sst_num",) if number >= (0, 16) else (), _COUNT),
        "index_size": _COUNT,
        **dict.fromkeys(("engine", "region_role"), _TEXT),
    }


def _region_statistics(version: Version, tables: Sequence[Stored]) -> Iterator[Values]:
    written = (0,) * (1 if version.number >= (1, 0) else 0) + (0, 0) * (version.number >= (1, 2))
    for t in tables:
        for number, region in enumerate(t.regions):
            data, index = region.data_bytes, region.index_bytes
            files = (len(region.files),) * (version.number >= (0, 16))
            sizes = (data + index, 0, 0, data, *files, index)
            role = "Leader(Downgrading)" if number else "Leader"
            yield region.id, t.id, number, region.rows, *written, *sizes, t.engine, role
            # A read replica tells of the same rows once more.
            yield region.id, t.id, number, region.rows, *written, *sizes, t.engine, "Follower"


_REGION_INFO: Final = {
    "region_id": _COUNT,
    **dict.fromkeys(("table_id", "region_number"), _SMALL),
    "region_group": pa.uint8(),
    "region_sequence": _SMALL,
    **dict.fromkeys(("state", "role"), _TEXT),
    "writable": pa.bool_(),
    **dict.fromkeys(("committed_sequence", "flushed_sequence", "manifest_version"), _COUNT),
    **dict.fromkeys(("compaction_time_window", "region_options", "sst_format"), _TEXT),
    "node_id": _COUNT,
}


def _region_info(version: Version, tables: Sequence[Stored]) -> Iterator[Values]:
    for t in tables:
        for number, region in enumerate(t.regions):
            kept = t.options.get("sst_format", version.sst_format)
            state = ("Leader(Writable)", "Leader", True, region.rows, region.rows, 1)
            yield region.id, t.id, number, 0, number, *state, None, "{}", kept, 0


def _ssts_manifest_shape(version: Version) -> _Shape:
    return {
        "table_dir": _TEXT,
        "region_id": _COUNT,
        **dict.fromkeys(("table_id", "region_number"), _SMALL),
        "region_group": pa.uint8(),
        "region_sequence": _SMALL,
        "file_id": _TEXT,
        "index_version": _COUNT,
        "level": pa.uint8(),
        "file_path": _TEXT,
        "file_size": _COUNT,
        "index_file_path": _TEXT,
        **dict.fromkeys(("index_file_size", "num_rows", "num_row_groups", "num_series"), _COUNT),
        **dict.fromkeys(("min_ts", "max_ts"), pa.timestamp("ns")),
        **dict.fromkeys(("sequence", "origin_region_id", "node_id"), _COUNT),
        "visible": pa.bool_(),
        **dict.fromkeys(("primary_key_min", "primary_key_max") if version.number >= (1, 1) else (), pa.binary()),
    }


def _ssts_manifest(version: Version, tables: Sequence[Stored]) -> Iterator[Values]:
    keys = (None, None) if version.number >= (1, 1) else ()
    for t in tables:
        for number, region in enumerate(t.regions):
            for file, within in enumerate(region.files):
                folder = f"data/{CATALOG}/{t.database}/{t.id}/"
                size = region.data_bytes // len(region.files)
                estimate = region.series_estimate
                yield (
                    *(folder, region.id, t.id, number, 0, number, f"{t.id:08x}-{file:04x}", 0, 1),
                    *(
                        f"{folder}{file}.parquet",
                        size,
                        None,
                        None,
                        within.rows,
                        1,
                        estimate,
                        within.first_ns,
                        within.last_ns,
                        file,
                        region.id,
                        0,
                        True,
                    ),
                    *keys,
                )


_BUILD_INFO: Final = dict.fromkeys(("git_branch", "git_commit", "git_commit_short", "git_clean", "pkg_version"), _TEXT)
