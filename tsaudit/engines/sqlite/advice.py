"""How to make changes on SQLite."""

from __future__ import annotations

from tsaudit.engines.quoting import Language
from tsaudit.engines.sql.advice import SqlAdvice
from tsaudit.engines.sql.statements import DiagnosticQueries


class SqliteAdvice(SqlAdvice):
    """SQLite cannot change the type of a column, and each statement locks the whole file for other writers."""

    alter_locks = deletion_locks = "all writers of the file"
    diagnostic_queries = DiagnosticQueries(
        columns=lambda place: f"PRAGMA table_info({Language.SQL.string(place.here.name)})",
        tables=lambda _: "SELECT name FROM sqlite_master WHERE type = 'table'",
    )
