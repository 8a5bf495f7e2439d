"""STO003."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

from tsaudit.model.change import SetKey
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import DEFAULT_PARTITION, Measurement, Partition, Partitioning
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, percent, size


@rule(
    code="STO003",
    title="Partitions do not divide the work",
    severity=Severity.WARNING,
    guidelines=("E12",),
    follows_from={"STO004": Reach.MEASUREMENT},
    requires={"partitions"},
    uses={"options"},
    thresholds=(
        Threshold("max_skew", 4, "times the median of the others", "our default: one partition does most of the work"),
        Threshold("min_bytes", 100_000_000, "bytes", "our default: smaller partitions are even enough"),
        Threshold("min_rows", 1_000_000, "rows", "our default: smaller partitions are even enough"),
        Threshold(
            "min_noted",
            0.01,
            "of min_bytes or min_rows",
            "our default: with fewer rows, chance decides; in between, the finding is a note",
        ),
        Threshold("max_default_ratio", 0.5, "of all rows", "our default: by then the other partitions mean little"),
        Threshold("max_empty", 50, "empty partitions", "our default: more than are created ahead of time"),
        Threshold(
            "max_partitions",
            1_000,
            "partitions",
            "PostgreSQL plans well with up to a few thousand: "
            "https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-BEST-PRACTICES",
        ),
    ),
)
def partition_skew(case: Case) -> Iterator[Finding]:
    """Partitions of very different sizes, a default partition that collects rows, empty partitions that pile up, too
    many.

    A partition is uneven if it has more than `max_skew` times the median of the others, in bytes, or in rows if bytes
    are not known. Below `min_bytes` and `min_rows` that is a note: the table may grow. Partitions by time are left
    out, because the newest one is still filling and seasons differ. Lists of values are left out, because they are as
    uneven as the values. A default partition is reported if it contains any row of a table partitioned by time, or
    otherwise more than `max_default_ratio` of the rows. Rows and bytes come from the engine's own statistics.
    GreptimeDB divides storage by time itself, so partitions by time are reported there, and so are partitions by a
    column outside the primary key of a table that deduplicates.

    ## Why it matters

    Partitions divide work and make old data easy to drop. A partition with most of the rows is searched, vacuumed, and
    written as if there were no partitions. Rows in the default partition are not pruned by any query and are not
    dropped with any period. Each additional partition adds planning time to every query.

    ## Example

    `cpu` by hash of `datacenter` in eight partitions: three data centers fill three of them, one with 80% of the rows.

    ## Fix

    Partition by a column with many values of about the same weight, and by time if old rows are dropped.

    ## References

    - Partitioning, PostgreSQL: https://www.postgresql.org/docs/current/ddl-partitioning.html
    - Hypertables and chunks: https://docs.timescale.com/use-timescale/latest/hypertables/
    - Table sharding, GreptimeDB:
      https://docs.greptime.com/user-guide/deployments-administration/manage-data/table-sharding/
    - Repartition, GreptimeDB: https://docs.greptime.com/user-guide/deployments-administration/manage-data/repartition/
    """
    for measurement in case.measurements:
        if measurement.partitioning is None:
            continue
        troubles = list(_troubles(case, measurement, measurement.partitioning))
        if troubles:
            yield _finding(measurement, measurement.partitioning, troubles)


@dataclass(frozen=True, slots=True)
class _Trouble:
    words: str
    step: str
    observed: float
    unit: str
    merges: bool = False
    """Whether it goes with the partitions."""
    severity: Severity = Severity.WARNING


def _troubles(case: Case, measurement: Measurement, cut: Partitioning) -> Iterator[_Trouble]:
    """What is wrong, worst first."""
    by_time = _by_time(measurement, cut)
    if by_time and case.engine.divides_by_time:
        step = "Divide by a column that queries filter by, or not at all: storage is divided by time already."
        yield _Trouble(f"partitions are by time ({listed(cut.key)})", step, cut.count, "partitions", merges=True)
    yield from _default(case, measurement, cut, by_time)
    if not by_time and case.engine.deduplicates_within_partitions(measurement):
        yield from _undivided_key(measurement, cut)
    if not by_time:
        yield from _skew(case, measurement, cut)
    empty, limit = _empty(cut), case.limit("max_empty", measurement)
    if empty > limit.value:
        step = "Drop the empty partitions of past periods, and make fewer ahead."
        yield _Trouble(f"{many(empty, 'partition')} are empty", step, empty, "empty partitions")
    most = case.limit("max_partitions", measurement)
    if cut.count > most.value:
        step = "Let each partition span more: a longer period, or fewer remainders of the hash."
        words = f"{many(cut.count, 'partition')}, more than the recommended {number(most.value)}"
        yield _Trouble(words, step, cut.count, "partitions")


def _undivided_key(measurement: Measurement, cut: Partitioning) -> Iterator[_Trouble]:
    """Rows are deduplicated only within their partition, and the server does not warn about it."""
    outside = [key for key in cut.key if measurement.tag(key) is None]
    if not outside:
        return
    step = "Divide by columns of the primary key, or make the table append-only if no row is ever written again."
    words = (
        f"partitions are by {listed(outside)}, outside the primary key: two rows with the same key and time "
        "may both stay"
    )
    yield _Trouble(words, step, cut.count, "partitions")


def _by_time(measurement: Measurement, cut: Partitioning) -> bool:
    """Whether time is part of the partition key, as a column or in an expression."""
    time = measurement.time_column
    return time is not None and any(time in (part, part.strip('"')) or f'"{time}"' in part for part in cut.key)


def _is_default(partition: Partition) -> bool:
    return partition.bounds == DEFAULT_PARTITION


def _default(case: Case, measurement: Measurement, cut: Partitioning, by_time: bool) -> Iterator[_Trouble]:
    default = next((p for p in cut.partitions if _is_default(p)), None)
    if default is None or not default.rows:
        return
    known = sum(p.rows for p in cut.partitions if p.rows is not None)
    share, limit = default.rows / known, case.limit("max_default_ratio", measurement)
    if by_time or share > limit.value:
        step = (
            f"Make partitions for the rows in {default.name} and move them there, and find out why they were missing."
        )
        words = f"the default partition {default.name} contains {_rows(default.rows)}, {percent(share)} of all"
        yield _Trouble(words, step, default.rows, "rows")


def _skew(case: Case, measurement: Measurement, cut: Partitioning) -> Iterator[_Trouble]:
    parts = [p for p in cut.partitions if not _is_default(p) and not p.bounds.startswith("FOR VALUES IN")]
    weighed = [(p.bytes, p) for p in parts if p.bytes is not None], [(p.rows, p) for p in parts if p.rows is not None]
    for sizes, floor, words in zip(weighed, ("min_bytes", "min_rows"), (size, _rows), strict=True):
        if len(sizes) < 2:
            continue
        (most, largest), *others = sorted(sizes, key=lambda pair: -pair[0])
        usual = median(weight for weight, _ in others)
        ratio = most / max(usual, 1)
        enough = case.limit(floor, measurement).value
        noted = most >= enough * case.limit("min_noted", measurement).value
        if noted and ratio > case.limit("max_skew", measurement).value:
            step = f"Divide by a column with many values of about the same weight instead of {listed(cut.key)}."
            yield _Trouble(
                f"partition {largest.name} has {words(most)}, {number(float(f'{ratio:.3g}'))} times the median of the "
                f"others",
                step,
                ratio,
                "times the median of the others",
                severity=Severity.WARNING if most >= enough else Severity.NOTE,
            )
        return


def _rows(count: float) -> str:
    return many(count, "row")


def _empty(cut: Partitioning) -> int:
    """How many are empty; partitions that are not listed are at least as large as the smallest listed one."""
    # A table without rows may still have one index page.
    parts = [p for p in cut.partitions if not _is_default(p)]
    empty = [p.rows == 0 or (not p.rows and p.bytes is not None and p.bytes <= 8_192) for p in parts]
    unlisted = cut.count - len(cut.partitions)
    return sum(empty) + (unlisted if empty and empty[-1] else 0)


def _finding(measurement: Measurement, cut: Partitioning, troubles: list[_Trouble]) -> Finding:
    worst = troubles[0]
    severity = max((t.severity for t in troubles), key=lambda one: one.rank)
    words = "; ".join(t.words for t in troubles)
    largest = cut.partitions[0] if cut.partitions else None
    return Finding(
        subject=subject_of(measurement),
        severity=severity,
        message=f"{words[0].upper()}{words[1:]}.",
        changes=(SetKey(subject_of(measurement), partitions=1),) if any(t.merges for t in troubles) else (),
        fix=" ".join(dict.fromkeys(t.step for t in troubles)),
        observed=float(f"{worst.observed:.3g}"),
        unit=worst.unit,
        evidence=(
            Evidence("partitions", f"{number(cut.count)}, by {listed(cut.key)}"),
            *([Evidence("largest", _described(largest))] if largest else []),
        ),
        facts=("partitions", "options"),
    )


def _described(partition: Partition) -> str:
    rows = [_rows(partition.rows)] if partition.rows is not None else []
    kept = [size(partition.bytes)] if partition.bytes is not None else []
    return ", ".join([f"{partition.name} {partition.bounds}".strip(), *rows, *kept])
