"""STO015."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tsaudit.engines.timestream.kinds import EnforceKey, PartitionBy
from tsaudit.engines.timestream.tables import ENFORCEMENT, KEY, best_key, values
from tsaudit.model.change import Change
from tsaudit.model.finding import Evidence, Finding, Limit, Severity
from tsaudit.model.profile import Measurement, Tag
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, many, number, percent


@rule(
    code="STO015",
    title="The partition key is missing, weak, or not enforced",
    severity=Severity.WARNING,
    guidelines=("G7",),
    requires={"options", "tag_values"},
    uses={"measure_names", "measure_name_counts"},
    thresholds=(
        Threshold(
            "min_values",
            100,
            "values",
            "our default: AWS asks for a key of high cardinality and gives no number",
        ),
        Threshold("min_rows", 1_000_000, "rows", "our default: below this, a query reads little with any key"),
        Threshold(
            "min_sources",
            1_000,
            "sources",
            "our default: queries ask for single ones of so many, and the key can only be set when a table is created",
        ),
        Threshold("max_name_share", 0.9, "share of the rows", "our default: then the measure name divides nothing"),
    ),
)
def weak_partition_key(case: Case) -> Iterator[Finding]:
    """Tables whose partition key does not help: it is missing, has few values, or is not required in records.

    A key with fewer than `min_values` values is a warning, and so is a key that some or all records lack. If all
    records have the key but do not have to, that is a note. A table without a key, in which one measure name has
    nearly all rows, is a warning if a dimension has at least `min_sources` values, and a note if the table has at
    least `min_rows` rows and a dimension has `min_values`. Dimensions with fewer than ten rows per value are event IDs,
    unless the values recur or the dimension is named like a device, and are not suggested.

    ## Why it matters

    The service finds rows by partition, and a query is charged for what it reads. Without a key, the measure name is
    the key: a single name divides nothing. With a key that has few values, the rows of one source are spread over many
    partitions, some of them nearly empty. Queries that use the key do not find records without it.

    ## Example

    A table partitioned by `region`, with three values, while every dashboard queries a single `instance_name`.

    ## Fix

    Partition by a dimension with many values that queries filter by, and enforce it. The key is set when the table is
    created.

    ## References

    - Customer-defined partition keys:
      https://docs.aws.amazon.com/timestream/latest/developerguide/customer-defined-partition-keys.html
    - Dimensions of low cardinality:
      https://docs.aws.amazon.com/timestream/latest/developerguide/customer-defined-partition-keys-low-cardinality-dimensions.html
    """
    for measurement in case.measurements:
        if measurement.options is not None and (found := _weakness(case, measurement, measurement.options.get(KEY))):
            yield _finding(measurement, found)


@dataclass(frozen=True, slots=True)
class _Weakness:
    """What is wrong with the key of a table."""

    severity: Severity
    message: str
    advice: str
    change: Change
    observed: float
    limit: Limit


_MOVE = "This helps where queries ask for single values of a dimension: use the one that most of them filter by."


def _weakness(case: Case, measurement: Measurement, key: str | None) -> _Weakness | None:
    best, limit = best_key(measurement), case.limit("min_values", measurement)
    if key is None:
        return None if best is None else _missing(case, measurement, best, limit)
    tag = measurement.tag(key)
    if tag is None:
        return _never_written(measurement, key, limit)
    if tag.values is None:
        return None
    if tag.values.value < limit.value and best is not None and values(best) > tag.values.value:
        return _Weakness(
            Severity.WARNING,
            (
                f"The partition key {key} has only {many(tag.values.value, 'value')}, {best.key} has "
                f"{number(values(best))}."
            ),
            _MOVE,
            PartitionBy(subject_of(measurement), best.key),
            tag.values.value,
            limit,
        )
    if (measurement.options or {}).get(ENFORCEMENT) == "REQUIRED":
        return None
    absent = tag.absent.value if tag.absent else 0.0
    text = f"{percent(absent)} of the series lack it" if absent else "all records have it so far"
    return _Weakness(
        Severity.WARNING if absent else Severity.NOTE,
        f"The partition key {key} is not enforced: {text}.",
        "",
        EnforceKey(subject_of(measurement), key),
        absent,
        limit,
    )


def _never_written(measurement: Measurement, key: str, limit: Limit) -> _Weakness | None:
    """A key that is not a dimension of any record; None if there are no records, or columns are not known."""
    if not measurement.columns or not measurement.rows or not measurement.rows.value:
        return None
    return _Weakness(
        Severity.WARNING,
        f"No record has the partition key {key} as a dimension.",
        "",
        EnforceKey(subject_of(measurement), key),
        0.0,
        limit,
    )


def _missing(case: Case, measurement: Measurement, best: Tag, limit: Limit) -> _Weakness | None:
    rows, names = measurement.rows, measurement.measure_names
    many_sources = values(best) >= case.limit("min_sources", measurement).value
    big = rows is not None and rows.value >= case.limit("min_rows", measurement).value and values(best) >= limit.value
    if rows is None or not rows.value or not (many_sources or big):
        return None
    largest = (names.names[0].rows or 0) / rows.value if names and names.names else 0.0
    if largest <= case.limit("max_name_share", measurement).value:
        return None
    return _Weakness(
        Severity.WARNING if many_sources else Severity.NOTE,
        f"It has no partition key except the measure name, and {percent(largest)} of its "
        f"{many(rows.value, 'row')} have the same one: a query for one of {number(values(best))} values of "
        f"{best.key} cannot be limited to its partition.",
        _MOVE,
        PartitionBy(subject_of(measurement), best.key),
        values(best),
        case.limit("min_sources", measurement) if many_sources else limit,
    )


def _finding(measurement: Measurement, found: _Weakness) -> Finding:
    options = measurement.options or {}
    key = options.get(KEY)
    tags = sorted(measurement.tags, key=lambda t: (-values(t), t.key))[:5]
    return Finding(
        subject=subject_of(measurement),
        severity=found.severity,
        message=found.message,
        fix=found.advice,
        changes=(found.change,),
        observed=found.observed,
        limit=found.limit,
        unit=found.limit.unit,
        main_contributor=key,
        evidence=(
            Evidence("partition key", f"{key}, {options.get(ENFORCEMENT, '').lower()}" if key else "the measure name"),
            *(Evidence(f"values of {t.key}", count(t.values)) for t in tags if t.values),
        ),
        facts=("options", "tag_values", "measure_name_counts"),
        source=next((t.values.source for t in tags if t.values), None),
    )
