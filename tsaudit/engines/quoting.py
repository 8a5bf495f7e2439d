"""How each engine quotes names and text. Names read from a database are untrusted: quote them, never insert them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from tsaudit.engines.engine import Language
from tsaudit.engines.registry import ENGINES


@dataclass(frozen=True, slots=True)
class Qualified:
    """The name of a table or an index, which a statement has to find whatever the schema search path is."""

    database: str
    name: str
    path: tuple[str, ...] = ()
    """The prefix instead of the database: a database and retention policy of InfluxQL."""

    def __str__(self) -> str:
        return self.name


def quote_name(engine: str, name: str | Qualified) -> str:
    """`name` as an identifier, with its schema if it would not be found without."""
    if isinstance(name, str):
        return quote_identifier(engine, name)
    quoted = quote_identifier(engine, name.name)
    if name.path:
        return ".".join([*(quote_identifier(engine, part) for part in name.path), quoted])
    if ENGINES[engine].default_schema in (None, name.database):
        return quoted
    return f"{quote_identifier(engine, name.database)}.{quoted}"


def quote_identifier(engine: str, name: str) -> str:
    """`name` as an identifier of the engine's query language.

    SQL doubles the quote; MongoDB's shell uses a JavaScript string; InfluxQL escapes the quote, the backslash, and the
    newline with a backslash (https://docs.influxdata.com/influxdb/v1/query_language/spec/#identifiers).
    """
    language = ENGINES[engine].language
    if language is Language.MONGOSH:
        return json.dumps(name, ensure_ascii=False)
    if language is Language.INFLUXQL:
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    return '"' + name.replace('"', '""') + '"'


def quote_text(engine: str, text: str) -> str:
    """`text` as a string literal of the engine's query language."""
    if ENGINES[engine].language is Language.INFLUXQL:
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
    return "'" + text.replace("'", "''") + "'"


def quote_flux(text: str) -> str:
    """`text` as a string literal of Flux, in which `${` would start an expression.

    https://docs.influxdata.com/flux/v0/spec/lexical-elements/#string-literals
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("${", "\\${")
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'
