"""Expressions for single labels of PostgreSQL's JSON, hstore, and arrays of `key:value`."""

from __future__ import annotations


def opened(column: str, data_type: str, label: str) -> str | None:
    """See `tsaudit.engines.labels.Opener`."""
    kind = data_type.lower()
    if kind in ("json", "jsonb"):
        return f"({column} ->> {label})"
    schema, _, name = kind.rpartition(".")
    if name == "hstore":
        # Outside of the search path, the operator is only found by its schema.
        return f"({column} {f'OPERATOR({data_type[: len(schema)]}.->)' if schema else '->'} {label})"
    if kind in ("text[]", "character varying[]"):
        return (
            f"(SELECT min(substr(pair, length({label}) + 2)) FROM unnest({column}) AS pair "  # noqa: S608
            f"WHERE starts_with(pair, {label} || ':') OR starts_with(pair, {label} || '='))"
        )
    return None
