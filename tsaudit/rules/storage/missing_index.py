"""STO002."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of, table_of
from tsaudit.text import count, listed, size


@rule(
    code="STO002",
    title="No index leads with the time",
    severity=Severity.WARN,
    guidelines=("E8",),
    requires={"indexes"},
    uses={"null_counts", "row_estimate", "storage", "partitions"},
    moot={
        "duckdb": "it keeps the smallest and the largest time of each part of the column without being asked",
        "greptimedb": "it keeps rows by time without being asked",
    },
    thresholds=(
        Threshold("min_rows", 1_000_000, "rows", "our default: fewer are read whole in well under a second"),
        Threshold("min_bytes", 100_000_000, "bytes", "our default: fewer stay in memory"),
    ),
    fixes={
        "postgresql": (
            "Where rows are written about in the order of their time, as readings are, a BRIN index of a few pages "
            "will do; else a B-tree on the same column:\n"
            "CREATE INDEX{apart} ON {table:q} USING brin ({time:q});"
        ),
        "sql": "CREATE INDEX {index:q} ON {table:q} ({time:q});\nIt takes about as much room as the column itself.",
    },
)
def missing_index(case: Case) -> Iterator[Finding]:
    """Big tables whose time is in no index, so that every window is found by reading all rows.

    Big are `min_rows` rows, or `min_bytes` of data where the engine tells. An index serves if it leads with the time;
    a BRIN index wherever it has it. So do partitions by time. Where the time only comes behind other columns, as in
    (host, time), a window of one source is found, and one of all sources is not: that is information.

    ## Why it matters

    Nearly every query of readings asks for a span of time. Without an index on it the cost grows with all that was
    ever stored, however short the span.

    ## Example

    `readings` (id, ts, sensor, value) with 50 million rows and the primary key (id).

    ## Fix

    Make one; it is built beside the writers where the engine can.

    ## References

    - BRIN indexes: https://www.postgresql.org/docs/current/brin.html
    - The query planner and indexes, SQLite: https://www.sqlite.org/queryplanner.html
    """
    for measurement in case.measurements:
        if measurement.indexes is None or not _is_big(case, measurement):
            continue
        severity = _severity(measurement)
        if severity:
            yield _finding(case, measurement, severity)


def _is_big(case: Case, measurement: Measurement) -> bool:
    rows, storage = measurement.rows, measurement.storage
    if rows is not None and rows.value >= case.limit("min_rows", measurement).value:
        return True
    kept = storage.data_bytes if storage else None
    return kept is not None and kept >= case.limit("min_bytes", measurement).value


def _severity(measurement: Measurement) -> Severity | None:
    """How bad it is; None where a span of time is found without reading all rows, or there is no time."""
    time = measurement.time_column
    if time is None or (measurement.partitioning and time in measurement.partitioning.key[:1]):
        return None
    indexes = measurement.indexes or ()
    if any(index.finds_ranges_of(time) for index in indexes):
        return None
    return Severity.INFO if any(time in i.columns for i in indexes if i.valid and not i.partial) else Severity.WARN


def _finding(case: Case, measurement: Measurement, severity: Severity) -> Finding:
    time = measurement.time_column
    if severity is Severity.INFO:
        message = f"No index leads with {time}, so that a span of time over all sources is found by reading all rows."
    else:
        message = f"{time} is in no index, so that every span of time is found by reading all rows."
    indexes = [f"{i.name} ({', '.join(c or 'an expression' for c in i.columns)})" for i in measurement.indexes or ()]
    kept = measurement.storage.data_bytes if measurement.storage else None
    return Finding(
        subject=subject_of(measurement),
        severity=severity,
        message=message,
        fix=case.fix(
            table=table_of(measurement),
            index=f"{measurement.name}_{time}_idx",
            time=time,
            # PostgreSQL refuses CONCURRENTLY for a partitioned table.
            apart="" if measurement.partitioning else " CONCURRENTLY",
        ),
        observed=measurement.rows.value if measurement.rows else None,
        unit="rows" if measurement.rows else "",
        guilty=time,
        evidence=(
            Evidence("indexes", listed(indexes)),
            *([Evidence("rows", count(measurement.rows))] if measurement.rows else []),
            *([Evidence("data", size(kept))] if kept is not None else []),
        ),
        facts=("indexes", "null_counts", "row_estimate", "storage"),
        source=measurement.rows.source if measurement.rows else None,
    )
