"""Names and text in the languages of statements. Untrusted if from a database: never insert them unquoted."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Qualified:
    """The name of a table or an index, in a form that a statement finds whatever the schema search path is."""

    database: str
    name: str
    path: tuple[str, ...] = ()
    """The prefix instead of the database: a database and retention policy of InfluxQL."""

    def __str__(self) -> str:
        return self.name


class Language(enum.StrEnum):
    """The language of statements."""

    SQL = "sql"
    INFLUXQL = "influxql"
    MONGOSH = "mongosh"

    def identifier(self, name: str) -> str:
        """`name` as an identifier.

        SQL doubles the quote; MongoDB's shell uses a JavaScript string; InfluxQL escapes the quote, the backslash, and
        the newline with a backslash (https://docs.influxdata.com/influxdb/v1/query_language/spec/#identifiers).
        """
        if self is Language.MONGOSH:
            return json.dumps(name, ensure_ascii=False)
        if self is Language.INFLUXQL:
            return '"' + name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        return '"' + name.replace('"', '""') + '"'

    def string(self, text: str) -> str:
        """`text` as a string literal."""
        if self is Language.INFLUXQL:
            return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"
        return "'" + text.replace("'", "''") + "'"


def quote_flux(text: str) -> str:
    """`text` as a string literal of Flux, in which `${` would start an expression.

    https://docs.influxdata.com/flux/v0/spec/lexical-elements/#string-literals
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("${", "\\${")
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


class Label(str):
    """The name of a tag that is one label of a column, such as `labels.host`."""

    __slots__ = ("column", "data_type", "label")

    column: str
    data_type: str
    label: str

    @classmethod
    def of(cls, column: str, data_type: str, label: str) -> Self:
        """The tag's name. `data_type`: type of the column, as in the catalog."""
        made = cls(f"{column}.{label}")
        made.column, made.data_type, made.label = column, data_type, label
        return made
