"""The engines, and how each quotes names and text. Names read from a database are foreign text: quote, never paste."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

AVAILABLE: Final[Mapping[str, tuple[str, str | None]]] = {
    "duckdb": ("tsaudit.connectors.sql", "duckdb"),
    "sqlite": ("tsaudit.connectors.sql", None),
    "postgresql": ("tsaudit.connectors.postgresql", "postgresql"),
    "influxdb1": ("tsaudit.connectors.influxdb1", None),
    "influxdb2": ("tsaudit.connectors.influxdb2", None),
    "influxdb3": ("tsaudit.connectors.influxdb3", "influxdb3"),
    "greptimedb": ("tsaudit.connectors.greptimedb", "greptimedb"),
    "timestream": ("tsaudit.connectors.timestream", "timestream"),
    "mongodb": ("tsaudit.connectors.mongodb", "mongodb"),
}
"""The engines, each with the module that connects, and the extra that installs its driver.

None for the extra where the core brings the driver. Rules apply to an engine as soon as it stands here, and the tests
then break and keep each of them on it.
"""

ENGINES: Final = tuple(AVAILABLE)
"""Their names, in the order in which documents list them."""

SQL_ENGINES: Final = frozenset({"duckdb", "sqlite", "postgresql", "influxdb3", "greptimedb", "timestream"})
INFLUXQL_ENGINES: Final = frozenset({"influxdb1", "influxdb2"})

ONLY_QUERIES: Final = frozenset({"influxdb3", "timestream"})
"""Their SQL reads only: nothing is made, renamed or changed by a statement."""

DOCUMENT_ENGINES: Final = frozenset({"mongodb"})
"""They keep documents, which may have any fields: what there is, is known from those that were read."""

DOCUMENT_ID: Final = "_id"
"""What names a document in its collection: always there, always indexed."""

SINGLE_VALUE: Final = "measure_value::"
"""Begins the columns that Timestream itself names, for records of one value, with its type behind it."""

UNINDEXED: Final = frozenset({"influxdb3"})
"""They keep no index of tag values: however many there are, that alone costs nothing."""


def quote_identifier(engine: str, name: str) -> str:
    """`name` as an identifier of the engine's query language.

    SQL doubles the quote; MongoDB's shell takes a text of JavaScript; InfluxQL escapes the quote, the backslash and
    the newline with a backslash
    (https://docs.influxdata.com/influxdb/v1/query_language/spec/#identifiers).
    """
    if engine in DOCUMENT_ENGINES:
        return json.dumps(name, ensure_ascii=False)
    if engine in INFLUXQL_ENGINES:
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return '"' + name.replace('"', '""') + '"'


def quote_text(engine: str, text: str) -> str:
    """`text` as a string literal of the engine's query language."""
    if engine in INFLUXQL_ENGINES:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    return "'" + text.replace("'", "''") + "'"


def quote_flux(text: str) -> str:
    """`text` as a string literal of Flux, in which `${` would begin an expression.

    https://docs.influxdata.com/flux/v0/spec/lexical-elements/#string-literals
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("${", "\\${")
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'
