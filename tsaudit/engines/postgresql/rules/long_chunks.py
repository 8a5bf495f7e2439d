"""STO019."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit import costs
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import duration, size

_OF_MEMORY: Final = 0.25
"""Share of the memory into which, says the vendor, the newest chunks of all hypertables should fit, with indexes."""
_CACHED: Final = 0.75
"""Share of the memory that the vendor's tuning program sets as `effective_cache_size`."""


@rule(
    code="STO019",
    title="Chunks are too long for the memory",
    guidelines=("H5",),
    requires={"retention", "partitions", "server_status"},
    uses={"storage"},
)
def long_chunks(case: Case) -> Iterator[Finding]:
    """Hypertables whose newest chunks are, together and with their indexes, larger than a quarter of the memory.

    The size of a chunk is that of the largest one, which is not compressed yet, with the table's share of indexes.
    Only hypertables that are written count, and those are reported that take at least their equal part of the sum. The
    memory is `harm.max_memory` if you say what there is; otherwise it follows from `effective_cache_size`, which the
    vendor's `timescaledb-tune` sets to three quarters of it. Where neither is set, nothing is reported. It is a note:
    what it costs is not measured. Chunks that are too short are many: SRV003 counts them, and their locks.

    ## Why it matters

    New rows go to the newest chunk, and so do most queries. If its indexes do not stay in memory, each insert reads
    from disk.

    ## Example

    20 GB a day in chunks of the default 7 days, on a server with 64 GB: 140 GB for 16 GB.

    ## Fix

    `SELECT set_chunk_time_interval('conditions', INTERVAL '12 hours')`. It holds for new chunks.

    ## References

    - Chunk size: https://docs.timescale.com/use-timescale/latest/hypertables/improve-query-performance/
    - `timescaledb-tune`: https://github.com/timescale/timescaledb-tune
    """
    memory = _memory(case)
    chunks = [(m, taken) for m in case.measurements if (taken := _newest(case, m))]
    together = sum(taken for _, taken in chunks)
    if memory is None or together <= _OF_MEMORY * memory:
        return
    others = f", and those of all {len(chunks)} hypertables {size(together)}" if len(chunks) > 1 else ""
    for measurement, taken in chunks:
        if taken * len(chunks) >= together:
            yield _finding(measurement, taken, others, memory, _OF_MEMORY * memory / together)


def _memory(case: Case) -> float | None:
    """Memory of the server in bytes; None if it is not known."""
    if case.harm.max_memory is not None:
        return case.harm.max_memory
    cached = case.profile.server.settings.get("effective_cache_size") if case.profile.server else None
    return cached / _CACHED if cached else None


def _newest(case: Case, measurement: Measurement) -> float:
    """Size in bytes, with indexes, of a chunk that is being written; 0 if there is none."""
    cut, kept, storage = measurement.partitioning, measurement.retention, measurement.storage
    largest = cut.partitions[0].bytes if cut and cut.partitions else None
    if not largest or kept is None or kept.partition_s is None or not costs.added_a_day(case, measurement):
        return 0.0
    indexes = (storage.index_bytes or 0) / storage.data_bytes if storage and storage.data_bytes else 0.0
    return largest * (1 + indexes)


def _finding(measurement: Measurement, taken: float, others: str, memory: float, fits: float) -> Finding:
    """`fits`: the share of the present chunk interval with which the chunks would fit."""
    assert measurement.retention is not None
    interval_s = measurement.retention.partition_s or 0
    return Finding(
        subject=subject_of(measurement),
        message=f"A chunk of {duration(interval_s)} takes {size(taken)} with its indexes{others}; a quarter of the "
        f"memory is {size(_OF_MEMORY * memory)}.",
        fix=f"Set a chunk interval of at most {duration(_whole(interval_s * fits))}. It holds for new chunks.",
        observed=taken,
        unit="bytes in a chunk",
        evidence=(Evidence("chunk interval", duration(interval_s)), Evidence("memory of the server", size(memory))),
        facts=("retention", "partitions", "server_status", "storage"),
    )


def _whole(seconds: float) -> int:
    """The seconds rounded down to whole days, hours, or minutes, whichever is the longest unit that fits."""
    unit = next((unit for unit in (86_400, 3_600) if seconds >= unit), 60)
    return max(int(seconds // unit), 1) * unit
