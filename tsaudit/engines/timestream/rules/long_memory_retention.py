"""RET004."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.engines.timestream import prices
from tsaudit.engines.timestream.tables import KeepInMemory, magnetic_days, memory_hours, takes_late_records
from tsaudit.model.finding import Basis, Currency, Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import many, number


@rule(
    code="RET004",
    title="Records stay in the memory store for long",
    costs={Currency.MONEY},
    guidelines=("F1",),
    requires={"options"},
    uses={"tag_values", "measure_names", "measure_name_counts", "row_sample"},
    thresholds=(
        Threshold(
            "enough_hours", 24, "hours", "our default: late records and the dashboards of a day; the service's is 6"
        ),
    ),
)
def long_memory_retention(case: Case) -> Iterator[Finding]:
    """Tables that keep records in the memory store for more than `enough_hours`.

    The cost is what the service charges a month for the records that are in memory for longer, at the prices of US
    East, minus what the magnetic store would charge for them. The bytes are estimated from the names and values read,
    and from the present rate: a table that is twenty minutes old is evaluated by what it will cost once its stores are
    full.

    ## Why it matters

    A gigabyte costs about 26 dollars a month in memory, and 3 cents in the magnetic store. Queries read both stores in
    the same way. The memory store is only needed for records that are written, or come late, and for fast queries on
    the latest data.

    ## Example

    90 days in memory, because a dashboard shows 90 days: of 1 GB of records, that is 26 dollars each month.

    ## Fix

    Set the retention of the memory store to the longest delay with which records arrive. Older ones are also stored if
    writes to the magnetic store are enabled.

    ## References

    - Storage: https://docs.aws.amazon.com/timestream/latest/developerguide/storage.html
    - Prices: https://aws.amazon.com/timestream/pricing/
    """
    for measurement in case.measurements:
        enough = case.limit("enough_hours", measurement).value
        if measurement.options is not None and memory_hours(measurement) > enough:
            yield _finding(case, measurement, round(enough))


def _finding(case: Case, measurement: Measurement, enough: int) -> Finding:
    hours, limit = memory_hours(measurement), case.limit("enough_hours", measurement)
    late, days = takes_late_records(measurement), magnetic_days(measurement)
    return Finding(
        subject=subject_of(measurement),
        impact=prices.of_memory(case, measurement, enough),
        basis=Basis.DECLARED,
        message=f"Records stay in the memory store for {_period(hours)}; there, a month of a gigabyte costs "
        f"${prices.MEMORY_GB_MONTH:.0f}, in the magnetic store ${prices.MAGNETIC_GB_MONTH}.",
        fix="" if late else "If records come later than that, first enable writes to the magnetic store.",
        changes=(KeepInMemory(subject_of(measurement), enough, days),) if days is not None else (),
        observed=hours,
        limit=limit,
        unit=limit.unit,
        evidence=(
            Evidence("memory store", many(hours, "hour")),
            Evidence("bytes of a record, estimated", number(round(prices.record_bytes(measurement)))),
            Evidence("records that come later", "stored" if late else "rejected"),
        ),
        facts=("options",),
    )


def _period(hours: int) -> str:
    return many(hours // 24, "day") if hours % 24 == 0 else many(hours, "hour")
