"""The figures of a target and of its databases as a whole, from catalog and index."""

from __future__ import annotations

from tsaudit.collect.answers import rows_of
from tsaudit.collect.asking import Asker
from tsaudit.model.facts.given import OfDatabase, OfTarget
from tsaudit.model.profile import (
    FOREVER,
    Count,
    DatabaseStorage,
    DeclaredColumn,
    Reason,
    Retention,
    Storage,
    StoredQuery,
)


def stored_queries(asker: Asker) -> tuple[StoredQuery, ...] | None:
    """The enabled queries that the service runs automatically; None if a gap was left."""
    rows = rows_of(asker, "scheduled_queries", OfTarget())
    if rows is None:
        return None
    enabled = [row for row in rows if row["enabled"]]
    read = [row for row in enabled if row["statement"] is not None]
    if len(read) < len(enabled):
        detail = f"{len(enabled) - len(read)} of {len(enabled)} scheduled queries were skipped: each needs a call"
        asker.gap("scheduled_queries", Reason.OVER_BUDGET, detail)
    figures = ("statement", "bytes_scanned", "spatial_coverage", "temporal_range_s")
    found = [StoredQuery(row["query"], *(row[figure] for figure in figures)) for row in read]
    return tuple(sorted(found, key=lambda query: query.name))


def target_storage(asker: Asker) -> Storage | None:
    """The storage that all databases use together; None if a gap was left."""
    rows = rows_of(asker, "target_storage", OfTarget())
    return Storage(**rows[0]) if rows else None


def retention(asker: Asker, database: str) -> tuple[Retention, ...] | None:
    """The retention policies of the database; None if a gap was left."""
    rows = rows_of(asker, "retention", OfDatabase(database=database))
    if rows is None:
        return None
    return tuple(
        Retention(row["policy"], row["duration_s"] or FOREVER, row["partition_s"] or None, row["default"])
        for row in sorted(rows, key=lambda row: str(row["policy"]))
    )


def declared(asker: Asker, database: str) -> tuple[DeclaredColumn, ...] | None:
    """The columns that the server enforces; None if it enforces none, or a gap was left."""
    rows = rows_of(asker, "declared_schema", OfDatabase(database=database))
    if not rows:
        return None
    columns = [row for row in rows if row["measurement"] is not None]
    found = (DeclaredColumn(r["measurement"], r["column"], r["type"], r["data_type"]) for r in columns)
    return tuple(sorted(found, key=lambda one: (one.measurement, one.column)))


def series(asker: Asker, database: str) -> tuple[Count | None, Count | None]:
    """The number of series as tag sets, and as tag sets with their fields: an engine counts one or the other."""
    rows = rows_of(asker, "database_series", OfDatabase(database=database))
    if not rows:
        return None, None
    count = Count(rows[0]["series"], asker.source("database_series", database=database))
    return (None, count) if rows[0]["counts_fields"] else (count, None)


def storage(asker: Asker, database: str, asked: frozenset[str]) -> DatabaseStorage | None:
    """The bytes that the database uses, and the size of its disk; None if unknown."""
    if "database_bytes" in asked:
        rows = rows_of(asker, "database_bytes", OfDatabase(database=database))
        return DatabaseStorage(**rows[0], disk_used_bytes=None, disk_bytes=None) if rows else None
    if "database_storage" not in asked:
        return None
    rows = rows_of(asker, "database_storage", OfDatabase(database=database))
    if not rows:
        return None
    found = DatabaseStorage(**rows[0])
    if found.disk_bytes is None:
        asker.gap("database_storage", Reason.UNSUPPORTED, "the server does not report its disk", database)
    return found
