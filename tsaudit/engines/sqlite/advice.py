"""How to make changes on SQLite."""

from __future__ import annotations

from tsaudit.engines.quoting import Language
from tsaudit.engines.sql.advice import SqlAdvice
from tsaudit.engines.sql.statements import DiagnosticQueries, Part


class SqliteAdvice(SqlAdvice):
    """SQLite cannot change the type of a column, and each statement locks the whole file for other writers."""

    alter_locks = deletion_locks = "all writers of the file"

    def room(self) -> Part:
        deleted = super().room().words
        return Part(
            f"{deleted} The file stays as large, and new rows fill the room. To make it smaller, run VACUUM: while it "
            "runs, it needs about as much free space again as the file will have. Set before it, as here, auto_vacuum "
            "lets `PRAGMA incremental_vacuum` give room back later, without that.",
            ("PRAGMA auto_vacuum = INCREMENTAL;\nVACUUM;",),
            locks=self.alter_locks,
            cost="rewrites the file",
        )

    diagnostic_queries = DiagnosticQueries(
        columns=lambda place: f"PRAGMA table_info({Language.SQL.string(place.here.name)})",
        tables=lambda _: "SELECT name FROM sqlite_master WHERE type = 'table'",
    )
