"""Queries that show what a finding is about, in Timestream. Each reads one day at most, because reading is charged."""

from __future__ import annotations

from typing import Final

from tsaudit.engines.sql.diagnostic_queries import DiagnosticQueries

DIAGNOSTIC_QUERIES: Final = DiagnosticQueries(
    recent=lambda place: f"{place.quoted([place.here.time_column or ''])} >= ago(1d)",
    columns=lambda place: f"DESCRIBE {place.table()}",
    tables=lambda place: f"SHOW TABLES FROM {place.quoted([place.database])}",
    databases="SHOW DATABASES",
    end="",
)
