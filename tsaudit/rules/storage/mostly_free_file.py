"""STO020."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import percent, size

_HOW: Final = "free pages of the file, as the engine counts them"


@rule(
    code="STO020",
    title="Most of a file is free",
    costs={Currency.BYTES},
    guidelines=("H5",),
    requires={"target_storage"},
    thresholds=(
        Threshold(
            "max_free",
            0.6,
            "of the file",
            "our default: where all rows are replaced, half of the file is free, because both versions were in it",
        ),
    ),
)
def mostly_free_file(case: Case) -> Iterator[Finding]:
    """Files of which more than `max_free` is left from rows that were deleted.

    SQLite and DuckDB use free pages again for new rows, and mostly do not return them to the disk. Less is free in any
    database that deletes old rows at night, or rewrites its tables.

    ## Why it matters

    The file keeps the size that it once had. Backups and copies contain the free pages, too.

    ## Example

    Somebody has deleted all but the last ten days from a year of `states`: 2 GB of rows in a file of 40 GB.

    ## Fix

    While nothing writes. SQLite: `VACUUM` rewrites the file; it needs up to twice its size as free disk, and gives new
    rowids to rows of tables without an INTEGER PRIMARY KEY. DuckDB: copy the rows to a new file, `ATTACH 'new.duckdb'
    AS new; COPY FROM DATABASE old TO new;`, and replace the old one.

    ## References

    - VACUUM, SQLite: https://www.sqlite.org/lang_vacuum.html
    - Reclaiming space, DuckDB: https://duckdb.org/docs/stable/operations_manual/footprint_of_duckdb/reclaiming_space
    """
    storage = case.profile.storage
    if storage is None or not storage.data_bytes or storage.free_bytes is None:
        return
    limit = case.limit("max_free")
    held, free = storage.data_bytes, storage.free_bytes
    if free <= limit.value * held:
        return
    yield Finding(
        subject=Subject(),
        message=f"{percent(free / held)} of the file is free: it has {size(held)}, of which {size(held - free)} are "
        "used.",
        impact=Impact(Currency.BYTES, now=free, whole=held, per_day=0.0, how=_HOW),
        fix=case.engine.shrinking,
        observed=free / held,
        limit=limit,
        unit="of the file",
        evidence=(Evidence("bytes of the file", size(held)), Evidence("free bytes", size(free))),
        facts=("target_storage",),
    )
