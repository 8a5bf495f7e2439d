"""STO015."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tsaudit.engines.timestream.tables import ENFORCEMENT, KEY, EnforceKey, best_key, values
from tsaudit.model.columns import Tag
from tsaudit.model.finding import Basis, Currency, Evidence, Finding, Impact, Limit
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, many, number, percent, rows_of

_MOST: Final = 0.9
"""Share of the rows with one measure name, above which the measure name does not divide the table."""


@rule(
    code="STO015",
    title="The partition key is missing, weak, or not enforced",
    costs={Currency.MECHANISM},
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
    ),
)
def weak_partition_key(case: Case) -> Iterator[Finding]:
    """Tables whose partition key does not help: it is missing, has few values, or is not required in records.

    A key that some or all records lack does not work. It is a note if all records have the key but do not have to, if
    it has fewer than `min_values` values and another dimension has more, or if a table has none, one measure name has
    nearly all rows, and a dimension has `min_values` values: what queries read because of it is not known. Dimensions
    with fewer than ten rows per value are event IDs, unless the values recur or the dimension is named like a device,
    and are not suggested.

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
        if measurement.options is not None and (found := _evaluate(case, measurement, measurement.options.get(KEY))):
            yield found


_MOVE: Final = (
    "Create another table that is partitioned by the dimension by whose single values most queries filter, and write "
    "there. The key of a table cannot be changed."
)


def _evaluate(case: Case, measurement: Measurement, key: str | None) -> Finding | None:
    best, limit = best_key(measurement), case.limit("min_values", measurement)
    if key is None:
        return None if best is None else _missing(measurement, best, limit)
    tag = measurement.tag(key)
    if tag is None:
        # Without records or columns, it is not known whether one has the key.
        if not measurement.columns or not measurement.rows or not measurement.rows.value:
            return None
        text = f"No record has the partition key {key} as a dimension."
        return _unenforced(measurement, text, key, 0.0, limit, lacks=True)
    if tag.values is None:
        return None
    is_coarse = tag.values.value < limit.value and not tag.values.is_lower_bound
    if is_coarse and best is not None and values(best) > tag.values.value:
        few, most = many(tag.values.value, "value"), number(values(best))
        message = f"The partition key {key} has only {few}, {best.key} has {most}."
        return _finding(measurement, message, tag.values.value, limit, fix=_MOVE)
    if (measurement.options or {}).get(ENFORCEMENT) == "REQUIRED":
        return None
    absent = tag.absent.value if tag.absent else 0.0
    text = f"{percent(absent)} of the series lack it" if absent else "all records have it so far"
    message = f"The partition key {key} is not enforced: {text}."
    return _unenforced(measurement, message, key, absent, limit, lacks=absent > 0)


def _missing(measurement: Measurement, best: Tag, limit: Limit) -> Finding | None:
    rows, names = measurement.rows, measurement.measure_names
    if rows is None or not rows.value or values(best) < limit.value:
        return None
    largest = (names.names[0].rows or 0) / rows.value if names and names.names else 0.0
    if largest <= _MOST:
        return None
    message = (
        f"It has no partition key except the measure name, and {percent(largest)} of its "
        f"{rows_of(rows)} have the same one: a query for one of {number(values(best))} values of "
        f"{best.key} cannot be limited to its partition."
    )
    return _finding(measurement, message, values(best), limit, fix=_MOVE)


def _unenforced(
    measurement: Measurement, message: str, key: str, absent: float, limit: Limit, *, lacks: bool
) -> Finding:
    """`lacks`: whether some records lack the key."""
    impact = Impact(
        Currency.MECHANISM,
        consequence="No query can be limited to a part of the table by this key.",
        how="schema by DescribeTable, and series without it",
    )
    found = _finding(measurement, message, absent, limit)
    changes = (EnforceKey(subject_of(measurement), key),)
    return replace(found, impact=impact if lacks else None, changes=changes)


def _finding(measurement: Measurement, message: str, observed: float, limit: Limit, fix: str = "") -> Finding:
    options = measurement.options or {}
    key = options.get(KEY)
    tags = sorted(measurement.tags, key=lambda t: (-values(t), t.key))[:5]
    return Finding(
        subject=subject_of(measurement),
        basis=Basis.DECLARED,
        message=message,
        fix=fix,
        observed=observed,
        limit=limit,
        unit=limit.unit,
        main_contributor=key,
        evidence=(
            Evidence("partition key", f"{key}, {options.get(ENFORCEMENT, '').lower()}" if key else "the measure name"),
            *(Evidence(f"values of {t.key}", count(t.values)) for t in tags if t.values),
        ),
        facts=("options", "tag_values", "measure_name_counts"),
        source=next((t.values.source for t in tags if t.values), None),
    )
