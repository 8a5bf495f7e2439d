"""TAG008."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Measurement, Tag
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count

_POSITION = re.compile(r"(^|_)(lat|latitude|lon|lng|long|longitude|altitude|elevation)($|_)", re.IGNORECASE)
_NAMES_A_THING = re.compile(
    r"(^|_)(id|uid|code|serial|zip|postcode|port|pid|no|nr|num|number|index|version|release|build|key|partition|shard|"
    r"slot|core|cpu|channel|line|row|account)$|Id$",
    re.IGNORECASE,
)
_LATE = 0.01
"""Share of the instants at which a source may have two values: rows that come late."""
_TYPES = {"integer": ("BIGINT", "whole numbers"), "float": ("DOUBLE", "numbers"), "time": ("TIMESTAMP", "times")}


@rule(
    code="TAG008",
    title="A dimension holds numbers, times or positions as text",
    severity=Severity.WARN,
    guidelines=("C4",),
    requires={"tag_values"},
    uses={"tag_changes"},
    thresholds=(
        Threshold("min_values", 4, "values", "our default: with fewer the form may be chance"),
        Threshold(
            "min_integers", 30, "whole numbers", "our default: fewer are ranks, floors or levels, which name things"
        ),
        Threshold(
            "min_changing_ratio",
            0.5,
            "share of the sources",
            "our default: a whole number that most sources keep is the number of a store, a room or a line",
        ),
    ),
    fixes={
        "any": (
            "Write {tag} as a measure of type {type}, in one multi-measure record with the others: queries then "
            "compare it without a cast. Where it tells sources apart, keep a dimension that names the source, too."
        ),
    },
)
def typed_value_in_dimension(case: Case) -> Iterator[Finding]:
    """Dimensions whose values are numbers, instants or geographical positions.

    Dimensions are text. Numbers with a fraction, times and positions are reported from `min_values` values on. Whole
    numbers are from `min_integers` on, if by the rows read they change over time in `min_changing_ratio` of the
    sources that other dimensions name, and are not named as what they may well be: ids, codes, ports, versions.

    ## Why it matters

    To ask for a range, a query has to cast every row's text, and nothing is pruned by it: `'9' > '10'`. A measure of
    type DOUBLE, BIGINT or TIMESTAMP in the same record is as easy to filter by, and faster.

    ## Example

    `latitude` and `longitude` of a vehicle as dimensions; the time at which a request was sent as a second dimension.

    ## Fix

    Attributes of the multi-measure record, each of its own type.

    ## References

    - Richness of data types: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    """
    for measurement in case.measurements:
        for tag in measurement.tags:
            if kind := _kind(case, measurement, tag):
                yield _finding(case, measurement, tag, kind)


def _kind(case: Case, measurement: Measurement, tag: Tag) -> str:
    """The type that its values have; empty where text is what they are."""
    from tsaudit.analysis.shapes import shapes

    if tag.values is None:
        return ""
    kind = shapes.number_kind(tag.sample)
    least = case.limit("min_values", measurement).value
    if kind == "integer" and not _POSITION.search(tag.key):
        if _NAMES_A_THING.search(tag.key) or not _varies(case, measurement, tag):
            return ""
        least = case.limit("min_integers", measurement).value
    return kind if kind in _TYPES and tag.values.value >= least else ""


def _varies(case: Case, measurement: Measurement, tag: Tag) -> bool:
    """Whether one source has one value of it at a time, and most sources other values later."""
    least = case.limit("min_changing_ratio", measurement).value
    return any(
        seen.by and seen.changing and seen.changing >= least * seen.sources and seen.clashes <= _LATE * seen.instants
        for seen in tag.changes or ()
    )


def _finding(case: Case, measurement: Measurement, tag: Tag, kind: str) -> Finding:
    assert tag.values is not None
    data_type, words = _TYPES[kind]
    limit = case.limit("min_integers" if kind == "integer" else "min_values", measurement)
    what = "positions" if _POSITION.search(tag.key) else words
    return Finding(
        subject=subject_of(measurement, tag.key),
        severity=Severity.WARN,
        message=f"Dimension {tag.key} holds {what} as text: no query can compare them without a cast.",
        fix=case.fix(tag=tag.key, type=data_type),
        observed=tag.values.value,
        limit=limit,
        unit="values",
        guilty=tag.key,
        samples=tag.sample[:3],
        evidence=(Evidence("distinct values", count(tag.values)), Evidence("type that fits", data_type)),
        facts=("tag_values",),
        source=tag.values.source,
    )
