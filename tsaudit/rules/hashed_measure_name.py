"""NAM006."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tsaudit.finding import Evidence, Finding, Severity
from tsaudit.phrases import count, listed, number, percent
from tsaudit.profile import Measurement, MeasureNames
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.statements import partitioned

_BUCKETS = 8192
_NUMBER = re.compile(r"-?\d{1,4}")


@rule(
    code="NAM006",
    title="Measure names are made by hashing",
    severity=Severity.WARN,
    guidelines=("G6",),
    requires={"measure_names"},
    uses={"options", "tag_values"},
    thresholds=(
        Threshold("min_names", 8, "names that are numbers", "house judgement: fewer may be codes of things"),
        Threshold("min_share", 0.9, "share of the names", "house judgement: a few names may have other uses"),
    ),
    fixes={
        "any": (
            "Write to a new table with a partition key of its own, and one measure name for each kind of record: "
            "{partitioned}. The key of a table cannot be changed later: choose the dimension that queries filter by."
        ),
    },
)
def hashed_measure_name(case: Case) -> Iterator[Finding]:
    """Tables whose measure names are bare numbers below 8,192: a dimension hashed into as many as a table may have.

    ## Why it matters

    It was once AWS's advice, to let the measure name act as a partition key. The advice is out of date: every reader
    has to compute the hash to find anything, names say nothing, and a table can now have a partition key of its own.

    ## Example

    `measure_name` 6445, 6399, 640, 2093, 7051, computed as `abs(hash(host_name)) % 8192`.

    ## Fix

    A table with a customer-defined partition key on that dimension, and measure names that name kinds of records.

    ## References

    - The deprecated advice: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Customer-defined partition keys: https://docs.aws.amazon.com/timestream/latest/developerguide/customer-defined-partition-keys.html
    """
    for measurement in case.measurements:
        found = measurement.measure_names
        if found is None or not found.names:
            continue
        hashed = [name.name for name in found.names if _is_bucket(name.name)]
        enough = len(hashed) >= case.limit("min_names", measurement).value
        if enough and len(hashed) / len(found.names) >= case.limit("min_share", measurement).value:
            yield _finding(case, measurement, found, hashed)


def _is_bucket(name: str) -> bool:
    return bool(_NUMBER.fullmatch(name)) and abs(int(name)) < _BUCKETS


def _finding(case: Case, measurement: Measurement, found: MeasureNames, hashed: list[str]) -> Finding:
    tags = sorted(measurement.tags, key=lambda t: (-(t.values.value if t.values else 0), t.key))
    key = (measurement.options or {}).get("CompositePartitionKey")
    share = len(hashed) / len(found.names)
    limit = case.limit("min_share", measurement)
    return Finding(
        subject=subject_of(measurement),
        severity=Severity.WARN,
        message=f"{count(found.count)} measure names such as {listed(hashed, 3)} are numbers below {number(_BUCKETS)}: "
        "hashes, which a partition key makes needless.",
        fix=case.fix(partitioned=partitioned(measurement, key or (tags[0].key if tags else "of what is hashed"))),
        observed=share,
        limit=limit,
        unit=limit.unit,
        samples=tuple(hashed[:3]),
        evidence=(
            Evidence("names that are numbers", f"{percent(share)} of those looked at"),
            Evidence("partition key", key or "none but the measure name"),
            *(Evidence("dimension with most values", f"{t.key}: {count(t.values)}") for t in tags[:1] if t.values),
        ),
        facts=("measure_names", "options", "tag_values"),
        source=found.count.source,
    )
