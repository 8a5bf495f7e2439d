"""DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tsaudit.engines.engine import ServerLimit, Words
from tsaudit.engines.sql import BATCHED, FileEngine

if TYPE_CHECKING:
    from tsaudit.engines.sql.connector import FileDriver
    from tsaudit.model.storage import Index


class Duckdb(FileEngine):
    """DuckDB."""

    name = "duckdb"
    adviser = "tsaudit.engines.duckdb.advice:DuckdbAdvice"
    example_url = "duckdb:///{name}.duckdb"
    extra = "duckdb"
    keywords = ("duckdb/keywords.txt",)
    default_schema = "main"
    has_one_database = True
    alters_types = True
    words = Words(database="schema")
    file_magic = (8, b"DUCK")
    shrinking = (
        "While nothing writes, copy the rows to a new file, ATTACH 'new.duckdb' AS new; COPY FROM DATABASE ... TO new; "
        "and put it in the old one's place. If that much will be written again soon, leave it: new rows use the free "
        "blocks first."
    )
    measurement_bytes = 266_000
    index_bytes = 262_000
    measurement_price = "a block of 256 KiB on disk for each table with rows, and each index or key: measured on DuckDB"
    # Sorting takes megabytes of memory for each table, and the parts of one statement run at the same time.
    measurements_per_statement = {"row_estimate": 50, "row_sample": 20}
    batched_facts = BATCHED
    total_falls_short = 0.0
    prunes_ranges = True
    row_address = "rowid"
    sql_types = {**FileEngine.sql_types, "decimal": "DECIMAL(18, 4)", "date": "DATE"}
    not_applicable = {
        **FileEngine.not_applicable,
        **dict.fromkeys(("D1", "D2"), "it documents no limit on columns, and an empty one takes hardly any space"),
    }
    limits = (
        ServerLimit(
            "unused-or-redundant-index.min_values",
            1_000,
            "an index helps queries that select less than 0.1%: https://duckdb.org/docs/stable/sql/indexes",
            is_enforced=False,
        ),
    )
    parameters = {"catalog": "the database's name in the file's catalog"}
    index_entry_bytes = 64
    index_price = (
        "64 B for each row in a key on a text and a time, read into memory when used: measured on DuckDB 2.0.1"
    )

    def index_unused(self, index: Index, *, on_time: bool) -> str:
        if index.unique:
            return ""
        if len(index.columns) > 1:
            return "DuckDB uses no index on several columns to answer a query"
        return "DuckDB finds a time range by the range it keeps for each part of the column" if on_time else ""

    def driver(self) -> FileDriver:
        from tsaudit.engines.duckdb.driver import DRIVER

        return DRIVER

    def label(self, column: str, data_type: str, label: str) -> str | None:
        kind = data_type.upper()
        if kind.startswith("MAP(VARCHAR,"):
            # The result type of `[...]` on a map differs between versions.
            return f"CAST(map_extract({column}, {label})[1] AS VARCHAR)"
        if kind.startswith("STRUCT(") and not kind.endswith("[]"):
            return f"CAST(struct_extract({column}, {label}) AS VARCHAR)"
        if kind == "VARCHAR[]":
            return _listed(column, label)
        if kind in ("JSON", "VARCHAR"):
            path = f"'$.' || to_json({label})"
            return f"CASE WHEN json_valid({column}) THEN json_extract_string({column}, {path}) END"
        return None


def _listed(column: str, label: str) -> str:
    """The label's value in a list of `key:value` or `key=value` strings."""
    return (
        f"(SELECT any_value(substr(pair, length({label}) + 2)) FROM (SELECT unnest({column}) AS pair) AS pairs "  # noqa: S608
        f"WHERE starts_with(pair, {label} || ':') OR starts_with(pair, {label} || '='))"
    )


ENGINE: Final = Duckdb()
