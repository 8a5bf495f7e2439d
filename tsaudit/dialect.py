"""The engines, and how each quotes names and text. Names read from a database are foreign text: quote, never paste."""

from __future__ import annotations

from typing import Final

ENGINES: Final = (
    "duckdb",
    "sqlite",
    "postgresql",
    "influxdb1",
    "influxdb2",
    "influxdb3",
    "greptimedb",
    "timestream",
    "mongodb",
)
"""Every engine tsaudit names; which of them this version can audit, `tsaudit.connectors.AVAILABLE` says."""

SQL_ENGINES: Final = frozenset({"duckdb", "sqlite", "postgresql", "influxdb3", "greptimedb", "timestream"})
INFLUXQL_ENGINES: Final = frozenset({"influxdb1", "influxdb2"})


def quote_identifier(engine: str, name: str) -> str:
    """`name` as an identifier of the engine's query language.

    SQL doubles the quote; InfluxQL escapes it, the backslash and the newline with a backslash
    (https://docs.influxdata.com/influxdb/v1/query_language/spec/#identifiers).
    """
    if engine in INFLUXQL_ENGINES:
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return '"' + name.replace('"', '""') + '"'


def quote_text(engine: str, text: str) -> str:
    """`text` as a string literal of the engine's query language."""
    if engine in INFLUXQL_ENGINES:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    return "'" + text.replace("'", "''") + "'"
