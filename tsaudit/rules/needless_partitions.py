"""STO004."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit.finding import Evidence, Finding, Severity
from tsaudit.phrases import listed, many, number, size
from tsaudit.profile import Measurement, Partitioning
from tsaudit.rule import Case, Threshold, rule, subject_of

_TRACES: Final = "greptime_trace_v1"
"""The data model of tables that the server makes for traces, which it divides by itself."""


@rule(
    code="STO004",
    title="Partitions before one machine is too small",
    severity=Severity.INFO,
    guidelines=("E13",),
    requires={"partitions"},
    uses={"storage", "options"},
    thresholds=(
        Threshold("min_bytes", 10_000_000_000, "bytes", "house judgement: any machine holds many times as much"),
    ),
    fixes={
        "any": (
            "If no fast growth is planned, copy {table} to a table without partitions:\n"
            "CREATE TABLE {copy:q} with the same columns, keys and options, without PARTITION ON COLUMNS;\n"
            "INSERT INTO {copy:q} SELECT * FROM {table:q};\n"
            "ALTER TABLE {table:q} RENAME {old:q};\nALTER TABLE {copy:q} RENAME {table:q};\n"
            "Writers have to stop meanwhile. {old} can be dropped once the counts of rows agree; that cannot be undone."
        ),
    },
)
def needless_partitions(case: Case) -> Iterator[Finding]:
    """Tables that are divided into partitions though they hold less than `min_bytes`.

    Information, as a table that was made for much more may be at its beginning. Left out are the tables that the server
    makes for traces, which it divides by itself.

    ## Why it matters

    Each partition has its own memory for writes, its own files and its own indexes, and each query asks all that it
    cannot rule out. That pays where one machine cannot hold or take in the data, and costs where it can.

    ## Example

    `cpu` with 16 partitions by host and 200 MB of data.

    ## Fix

    A table without partitions. What is partitioned later, when it has to be, can be divided by what is known then.

    ## References

    - Distributed tables, in the guide to schema design: https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    - Table sharding: https://docs.greptime.com/user-guide/deployments-administration/manage-data/table-sharding/
    """
    for measurement in case.measurements:
        cut, options = measurement.partitioning, measurement.options or {}
        if cut is None or cut.count < 2 or options.get("table_data_model") == _TRACES:
            continue
        held = _held(measurement, cut)
        if held is not None and held < case.limit("min_bytes", measurement).value:
            yield _finding(case, measurement, cut, held)


def _held(measurement: Measurement, cut: Partitioning) -> int | None:
    """Bytes of data; None where the server does not tell."""
    if measurement.storage is not None and measurement.storage.data_bytes is not None:
        return measurement.storage.data_bytes
    sizes = [part.bytes for part in cut.partitions if part.bytes is not None]
    return sum(sizes) if len(sizes) == cut.count else None


def _finding(case: Case, measurement: Measurement, cut: Partitioning, held: int) -> Finding:
    limit = case.limit("min_bytes", measurement)
    name = measurement.name
    return Finding(
        subject=subject_of(measurement),
        severity=Severity.INFO,
        message=f"{many(cut.count, 'partition')} for {size(held)} of data; below {size(limit.value)} one will do.",
        fix=case.fix(table=name, copy=f"{name}_whole", old=f"{name}_partitioned"),
        observed=held,
        limit=limit,
        unit="bytes",
        evidence=(Evidence("partitions", f"{number(cut.count)}, by {listed(cut.key)}"), Evidence("data", size(held))),
        facts=("partitions", "storage"),
    )
