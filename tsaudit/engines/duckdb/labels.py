"""Expressions for single labels of DuckDB's maps, structs, JSON, and lists of `key:value`."""

from __future__ import annotations


def opened(column: str, data_type: str, label: str) -> str | None:
    """See `tsaudit.engines.labels.Opener`."""
    kind = data_type.upper()
    if kind.startswith("MAP(VARCHAR,"):
        # What `[...]` of a map returns has changed between versions.
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
    """Of a list of `key:value` or `key=value`."""
    return (
        f"(SELECT any_value(substr(pair, length({label}) + 2)) FROM (SELECT unnest({column}) AS pair) AS pairs "  # noqa: S608
        f"WHERE starts_with(pair, {label} || ':') OR starts_with(pair, {label} || '='))"
    )
