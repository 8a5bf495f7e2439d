"""Expressions for single labels of JSON in SQLite, which stores it as text."""

from __future__ import annotations


def opened(column: str, data_type: str, label: str) -> str | None:
    """See `tsaudit.engines.labels.Opener`."""
    if data_type.upper() not in ("JSON", "TEXT", ""):
        return None
    path = f"'$.' || json_quote({label})"
    return f"CASE WHEN json_valid({column}) THEN CAST(json_extract({column}, {path}) AS TEXT) END"
