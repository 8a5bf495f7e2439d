"""STO002."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.model.change import AddIndex
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import READ_BY_TIME, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, listed, size


@rule(
    code="STO002",
    title="No index starts with the time column",
    guidelines=("E8",),
    requires={"indexes"},
    uses={"null_counts", "row_estimate", "storage", "partitions"},
    not_applicable={
        "duckdb": "it keeps the smallest and largest time of each part of the column automatically",
        "greptimedb": "it stores rows by time automatically",
    },
    kinds=READ_BY_TIME,
    thresholds=(
        Threshold("min_rows", 1_000_000, "rows", "our default: a full scan of fewer takes well under a second"),
        Threshold("min_bytes", 100_000_000, "bytes", "our default: less data stays in memory"),
    ),
)
def missing_index(case: Case) -> Iterator[Finding]:
    """Big tables without an index on the time column, where every time range needs a full scan.

    Big means at least `min_rows` rows, or `min_bytes` of data if the engine reports bytes. An index helps if it starts
    with the time column; a BRIN index helps if it contains it. Partitions by time help too. If the time column only
    comes after other columns, as in (host, time), the index helps for a time range of one source but not for one of all
    sources. The finding is a note: how many rows queries read in vain is not measured.

    ## Why it matters

    Nearly every query of readings selects a time range. Without an index on the time column, its cost grows with all
    data ever stored, however short the range.

    ## Example

    `readings` (id, ts, sensor, value) with 50 million rows and the primary key (id).

    ## Fix

    Create an index. Use a method that does not block writers if the engine has one.

    ## References

    - BRIN indexes: https://www.postgresql.org/docs/current/brin.html
    - The query planner and indexes, SQLite: https://www.sqlite.org/queryplanner.html
    """
    for measurement in case.measurements:
        if measurement.indexes is None or not _is_big(case, measurement):
            continue
        if _lacks_index(measurement):
            yield _finding(measurement)


def _is_big(case: Case, measurement: Measurement) -> bool:
    rows, storage = measurement.rows, measurement.storage
    if rows is not None and rows.value >= case.limit("min_rows", measurement).value:
        return True
    kept = storage.data_bytes if storage else None
    return kept is not None and kept >= case.limit("min_bytes", measurement).value


def _lacks_index(measurement: Measurement) -> bool:
    """Whether a time range needs a full scan; False without a time column."""
    time = measurement.time_column
    if time is None or (measurement.partitioning and time in measurement.partitioning.key[:1]):
        return False
    return not any(index.finds_ranges_of(time) for index in measurement.indexes or ())


def _finding(measurement: Measurement) -> Finding:
    time = measurement.time_column or ""
    if any(time in i.columns for i in measurement.indexes or () if i.valid and not i.partial):
        message = f"No index starts with {time}, so a time range over all sources needs a full scan."
    else:
        message = f"{time} is in no index, so every time range needs a full scan."
    indexes = [f"{i.name} ({', '.join(c or 'an expression' for c in i.columns)})" for i in measurement.indexes or ()]
    kept = measurement.storage.data_bytes if measurement.storage else None
    return Finding(
        subject=subject_of(measurement),
        message=message,
        changes=(AddIndex(subject_of(measurement), (time,)),),
        observed=measurement.rows.value if measurement.rows else None,
        unit="rows" if measurement.rows else "",
        main_contributor=time,
        evidence=(
            Evidence("indexes", listed(indexes)),
            *([Evidence("rows", count(measurement.rows))] if measurement.rows else []),
            *([Evidence("data", size(kept))] if kept is not None else []),
        ),
        facts=("indexes", "null_counts", "row_estimate", "storage"),
        source=measurement.rows.source if measurement.rows else None,
    )
