"""CAR007."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.finding import Evidence, Finding, Severity
from tsaudit.phrases import listed, many, number, percent
from tsaudit.profile import Measurement, MeasureNames
from tsaudit.rule import Case, Threshold, rule, subject_of


@rule(
    code="CAR007",
    title="A table nears the limit of measure names",
    severity=Severity.WARN,
    guidelines=("G1",),
    requires={"measure_names"},
    uses={"measure_name_counts"},
    thresholds=(
        Threshold(
            "max_names",
            8192,
            "measure names",
            "https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html",
        ),
        Threshold("warn_ratio", 0.5, "share of the limit", "house judgement: what names there are, nobody can delete"),
        Threshold(
            "critical_ratio", 0.9, "share of the limit", "house judgement: records with a new name are soon rejected"
        ),
    ),
    fixes={
        "any": (
            "Write as measure names the few kinds of records there are, and what varies as dimensions or as "
            "measures of "
            "one multi-measure record. Names go only with their records: write to a new table, and let {measurement} "
            "run out."
        ),
    },
)
def too_many_measure_names(case: Case) -> Iterator[Finding]:
    """Tables with more than `warn_ratio` of the measure names that the service allows in one.

    How the rows are spread over the names is shown: a few names with nearly all rows say that the many are an accident.

    ## Why it matters

    At the limit every record with a new measure name is rejected, and nothing gives a name back but the end of its
    last record's retention.

    ## Example

    The id of a device as measure name: after 8,192 devices the next one cannot be written.

    ## Fix

    A measure name is a kind of record (`metrics`, `events`) or, for records of a single value, what is measured.

    ## References

    - Quotas: https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html
    - Measure names: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    """
    for measurement in case.measurements:
        found = measurement.measure_names
        if found is None:
            continue
        limit = case.limit("max_names", measurement)
        if found.count.value > limit.value * case.limit("warn_ratio", measurement).value:
            yield _finding(case, measurement, found)


def _finding(case: Case, measurement: Measurement, found: MeasureNames) -> Finding:
    limit, count = case.limit("max_names", measurement), found.count.value
    share = count / limit.value
    critical = share > case.limit("critical_ratio", measurement).value
    return Finding(
        subject=subject_of(measurement),
        severity=Severity.CRITICAL if critical else Severity.WARN,
        message=f"{many(count, 'measure name')}, {percent(share)} of the {number(limit.value)} that a table may have.",
        fix=case.fix(measurement=measurement.name),
        observed=count,
        limit=limit,
        unit="measure names",
        samples=tuple(name.name for name in found.names[:3]),
        evidence=(
            Evidence("such as", listed([name.name for name in found.names], 6)),
            *_distribution(measurement, found),
        ),
        facts=("measure_names", "measure_name_counts"),
        source=found.count.source,
    )


def _distribution(measurement: Measurement, found: MeasureNames) -> Iterator[Evidence]:
    """How the rows within the window are spread over the names; nothing where they were not counted."""
    rows = measurement.rows.value if measurement.rows else 0
    counts = [name.rows for name in found.names if name.rows]
    if not rows or not counts:
        return
    largest = found.names[0]
    yield Evidence("name with most rows", f"{largest.name}: {percent(counts[0] / rows)} of {many(rows, 'row')}")
    yield Evidence("ten names with most rows", f"{percent(sum(counts[:10]) / rows)} of the rows")
    if idle := sum(name.rows == 0 for name in found.names):
        yield Evidence("names without a row in the window", number(idle))
