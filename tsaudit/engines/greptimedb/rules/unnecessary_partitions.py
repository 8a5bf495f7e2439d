"""STO004."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.engines.greptimedb.tables import has_given_columns
from tsaudit.model.change import SetKey
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement, Partitioning
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, size


@rule(
    code="STO004",
    title="A small table is partitioned",
    guidelines=("E13",),
    requires={"partitions"},
    uses={"storage", "options", "indexes"},
    thresholds=(
        Threshold("min_bytes", 10_000_000_000, "bytes", "our default: any machine can store many times as much"),
    ),
)
def unnecessary_partitions(case: Case) -> Iterator[Finding]:
    """Tables that are partitioned although they contain less than `min_bytes`.

    The finding is only ever a note: so small a table costs little, and one planned for much more data may just be new.
    Tables that the server creates for traces are left out, because it partitions them itself. Tables of the metric
    engine are left out, because they are partitioned on purpose.

    ## Why it matters

    Each partition has its own write buffer, files, and indexes, and each query reads all partitions that it cannot rule
    out. That pays off if one machine cannot store or ingest the data, and is a cost otherwise.

    ## Example

    `cpu` with 16 partitions by host and 200 MB of data.

    ## Fix

    Use a table without partitions. If it has to be partitioned later, you will know more about the data. From 1.0 on, a
    cluster merges partitions in place if its files are in object storage; otherwise, copy the table.

    ## References

    - Distributed tables, in the guide to schema design:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    - Table sharding: https://docs.greptime.com/user-guide/deployments-administration/manage-data/table-sharding/
    - Repartition: https://docs.greptime.com/user-guide/deployments-administration/manage-data/repartition/
    """
    for measurement in case.measurements:
        cut = measurement.partitioning
        if cut is None or cut.count < 2 or has_given_columns(measurement):
            continue
        held = _held(measurement, cut)
        if held is not None and held < case.limit("min_bytes", measurement).value:
            yield _finding(case, measurement, cut, held)


def _held(measurement: Measurement, cut: Partitioning) -> int | None:
    """Bytes of data; None if the server does not report them."""
    if measurement.storage is not None and measurement.storage.data_bytes is not None:
        return measurement.storage.data_bytes
    sizes = [part.bytes for part in cut.partitions if part.bytes is not None]
    return sum(sizes) if len(sizes) == cut.count else None


def _finding(case: Case, measurement: Measurement, cut: Partitioning, held: int) -> Finding:
    limit = case.limit("min_bytes", measurement)
    return Finding(
        subject=subject_of(measurement),
        message=f"{many(cut.count, 'partition')} for {size(held)} of data; below {size(limit.value)} one is enough.",
        changes=(SetKey(subject_of(measurement), partitions=1),),
        fix="Leave them where fast growth is planned.",
        observed=held,
        limit=limit,
        unit="bytes",
        evidence=(Evidence("partitions", f"{number(cut.count)}, by {listed(cut.key)}"), Evidence("data", size(held))),
        facts=("partitions", "storage"),
    )
