"""The engines, and how each quotes names and text. Names read from a database are foreign text: quote, never paste."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Engine:
    """What connects to an engine, how an address of one looks, and what its users call things."""

    connector: str
    """The module that connects."""
    extra: str | None
    """What installs its driver; None where the core brings it."""
    example_url: str
    """`{name}` stands for the database's name."""
    database: str = "database"
    """What its users call a database."""
    measurement: str = "table"
    """What they call a measurement."""


ENGINES: Final[Mapping[str, Engine]] = {
    "duckdb": Engine("tsaudit.engines.sql.connector", "duckdb", "duckdb:///{name}.duckdb"),
    "sqlite": Engine("tsaudit.engines.sql.connector", None, "sqlite:///{name}.db"),
    "postgresql": Engine(
        "tsaudit.engines.postgresql.connector", "postgresql", "postgresql://tsaudit@localhost:5432/{name}"
    ),
    "influxdb1": Engine(
        "tsaudit.engines.influxdb1.connector", None, "http://localhost:8086", measurement="measurement"
    ),
    "influxdb2": Engine(
        "tsaudit.engines.influxdb2.connector", None, "http://localhost:8086?org=acme", "bucket", "measurement"
    ),
    "influxdb3": Engine("tsaudit.engines.influxdb3.connector", "influxdb3", "http://localhost:8181"),
    "greptimedb": Engine("tsaudit.engines.greptimedb.connector", "greptimedb", "mysql+pymysql://localhost:4002"),
    "timestream": Engine("tsaudit.engines.timestream.connector", "timestream", "timestream://eu-central-1"),
    "mongodb": Engine(
        "tsaudit.engines.mongodb.connector", "mongodb", "mongodb://localhost:27017", measurement="collection"
    ),
}
"""The engines, in the order in which documents list them.

Rules apply to an engine as soon as it stands here, and the tests then break and keep each of them on it.
"""

SQL_ENGINES: Final = frozenset({"duckdb", "sqlite", "postgresql", "influxdb3", "greptimedb", "timestream"})
INFLUXQL_ENGINES: Final = frozenset({"influxdb1", "influxdb2"})

ONLY_QUERIES: Final = frozenset({"influxdb3", "timestream"})
"""Their SQL reads only: nothing is made, renamed or changed by a statement."""

METERED: Final = frozenset({"timestream"})
"""What a statement reads is paid for: what is proposed there reads a day."""

DESCRIBED_SINGLY: Final = frozenset({"timestream"})
"""They describe each table in a statement of its own, which may be refused for some of them."""

INFERRED_ENGINES: Final = frozenset({"duckdb", "sqlite", "postgresql"})
"""Here a table does not say which of its columns are the time and the tags: tsaudit works it out, and may be wrong."""
DOCUMENT_ENGINES: Final = frozenset({"mongodb"})
"""They keep documents, which may have any fields: what there is, is known from those that were read."""

DOCUMENT_ID: Final = "_id"
"""What names a document in its collection: always there, always indexed."""

SINGLE_VALUE: Final = "measure_value::"
"""Begins the columns that Timestream itself names, for records of one value, with its type behind it."""

UNINDEXED: Final = frozenset({"influxdb3"})
"""They keep no index of tag values: however many there are, that alone costs nothing."""


SCHEMAS: Final[Mapping[str, str]] = {
    "duckdb": "main",
    "postgresql": "",
    "greptimedb": "",
    "timestream": "",
}
"""Engines whose databases are schemas, to the one in which every session finds names that stand alone; empty: none."""


@dataclass(frozen=True, slots=True)
class Qualified:
    """The name of a table or an index, which a statement has to find whatever schemas a session searches."""

    database: str
    name: str
    path: tuple[str, ...] = ()
    """What stands before the name instead of the database: a database and retention policy of InfluxQL."""

    def __str__(self) -> str:
        return self.name


def quote_name(engine: str, name: str | Qualified) -> str:
    """`name` as an identifier, with its schema where it would not be found without."""
    if isinstance(name, str):
        return quote_identifier(engine, name)
    quoted = quote_identifier(engine, name.name)
    if name.path:
        return ".".join([*(quote_identifier(engine, part) for part in name.path), quoted])
    if SCHEMAS.get(engine, name.database) == name.database:
        return quoted
    return f"{quote_identifier(engine, name.database)}.{quoted}"


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
