"""LAY010."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Final

from tsaudit.analysis.significance import ENOUGH
from tsaudit.engines.timestream import MOST_MEASURES, prices
from tsaudit.engines.timestream.tables import OneRecord
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import SharedInstants
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed, many, number, percent, size

_ROWS_PER_INSTANT: Final = 1.5
"""Minimum rows per combination of dimensions and time: merging then leaves at most two thirds of the rows."""
_MOST_PER_RECORD: Final = 256
"""Maximum number of measures: https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html"""


@rule(
    code="LAY010",
    title="Values of the same time are in separate rows",
    costs={Currency.MONEY},
    guidelines=("G3",),
    requires={"measure_names", "row_sample"},
    uses={"measure_name_counts", "options"},
)
def unmerged_measures(case: Case) -> Iterator[Finding]:
    """Single-value records that share their dimensions and their time with others.

    Reported if there are more than 1.5 such rows for each combination of dimensions and time, among the rows read. The
    savings are estimated from these rows: after merging, dimension names, dimension values, and the time are stored
    once per combination. Not reported if there are more such names than the 1,024 measures that a table can have: their
    names contain data, which other rules report.

    The cost is what the service charges a month for the bytes that merging saves, at the prices of US East and at the
    present rate: when they are written, while they are in the memory store, and in the magnetic store.

    ## Why it matters

    Each record repeats its dimensions and its time, and storage, ingestion, and queries are billed by the byte. In
    AWS's own example, servers with 20 metrics and 5 events, multi-measure records take about 40% fewer bytes to ingest
    and about an eighth of the storage. Queries that compare two values need no join.

    ## Example

    A host that writes `cpu_user`, `memory_free`, and `disk_io_reads` every minute as three records.

    ## Fix

    Write one multi-measure record with three measures. Values that arrive at other times stay separate records.

    ## References

    - Multi-measure records: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    """
    for measurement in case.measurements:
        found = measurement.measure_names.shared if measurement.measure_names else None
        if found is None or not found.instants or found.rows < ENOUGH:
            continue
        if len(found.names) <= MOST_MEASURES and found.rows / found.instants > _ROWS_PER_INSTANT:
            yield _finding(case, measurement, found)


def _finding(case: Case, measurement: Measurement, found: SharedInstants) -> Finding:
    per_instant = found.rows / found.instants
    saved = 1 - found.bytes_merged / found.bytes_now
    # Usually one: a record can contain this many measures.
    records = ceil(per_instant / _MOST_PER_RECORD)
    enough = "one row" if records == 1 else many(records, "row")
    return Finding(
        subject=subject_of(measurement),
        impact=_impact(case, measurement, found),
        message=f"{many(len(found.names), 'measure name')} share their timestamps: {number(per_instant)} rows "
        f"of one value each, where {enough} would be enough and take about {percent(saved)} fewer bytes.",
        changes=(OneRecord(subject_of(measurement), tuple(found.names)),),
        observed=per_instant,
        unit="rows per instant",
        evidence=(
            Evidence("measure names", listed(found.names, 20)),
            Evidence("rows read of them", number(found.rows)),
            Evidence("rows that would be left", f"{number(found.instants)} ({percent(found.instants / found.rows)})"),
            Evidence("bytes now and merged, estimated", f"{size(found.bytes_now)} and {size(found.bytes_merged)}"),
            *_whole(measurement, found),
        ),
        facts=("measure_names", "row_sample", "measure_name_counts", "options"),
        source=found.source,
    )


def _impact(case: Case, measurement: Measurement, found: SharedInstants) -> Impact | None:
    """What merging saves a month; None if the rows within the window were not counted."""
    rows = _rows(measurement, found)
    if not rows:
        return None
    in_all = max(measurement.rows.value if measurement.rows else 0, rows)
    saved = 1 - found.bytes_merged / found.bytes_now
    return prices.of_share(case, measurement, saved * rows / in_all, how="bytes that merging saves in the rows read")


def _rows(measurement: Measurement, found: SharedInstants) -> int:
    """Number of rows with these names within the window; 0 if they were not counted."""
    names, known = set(found.names), measurement.measure_names.names if measurement.measure_names else ()
    return sum(name.rows or 0 for name in known if name.name in names)


def _whole(measurement: Measurement, found: SharedInstants) -> Iterator[Evidence]:
    """The evidence for all rows within the window; empty if they were not counted."""
    if rows := _rows(measurement, found):
        left = round(rows * found.instants / found.rows)
        yield Evidence("rows of them in the window", f"{number(rows)}; about {number(left)} would be left")
