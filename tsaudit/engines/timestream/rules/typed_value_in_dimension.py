"""TAG008."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tsaudit import costs
from tsaudit.analysis.cardinality.contributions import made_fields
from tsaudit.analysis.cardinality.fleets import names_device
from tsaudit.analysis.columns.roles import names_code
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Measurement, Tag
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import count

_POSITION = re.compile(r"(^|_)(lat|latitude|lon|lng|long|longitude|altitude|elevation)($|_)", re.IGNORECASE)
_NAMES_A_THING = re.compile(
    r"(^|_)(id|uid|code|serial|zip|postcode|port|pid|no|nr|num|number|index|version|release|build|key|partition|shard|"
    r"slot|core|cpu|channel|line|row|account)$|Id$",
    re.IGNORECASE,
)
_LATE = 0.01
"""Share of the times at which a source may have two values, to allow for late rows."""
_TYPES = {"integer": ("BIGINT", "whole numbers"), "float": ("DOUBLE", "numbers"), "time": ("TIMESTAMP", "times")}


@rule(
    code="TAG008",
    title="A dimension contains numbers, times, or positions as text",
    costs={Currency.ANSWERS},
    guidelines=("C4",),
    follows_from={"TAG006": Reach.SUBJECT},
    requires={"tag_values"},
    uses={"tag_changes"},
    thresholds=(
        Threshold("min_values", 4, "values", "our default: with fewer, the format may be a coincidence"),
        Threshold(
            "min_integers", 30, "whole numbers", "our default: fewer are ranks, floors, or levels, which name things"
        ),
        Threshold(
            "min_changing_ratio",
            0.5,
            "share of the sources",
            "our default: a whole number that stays the same for most sources is the number of a store, room, or line",
        ),
    ),
)
def typed_value_in_dimension(case: Case) -> Iterator[Finding]:
    """Dimensions whose values are numbers, timestamps, or geographical positions.

    Dimensions are text. Numbers with a fraction, times, and positions are reported from `min_values` values. Whole
    numbers are reported from `min_integers`, if they change over time in `min_changing_ratio` of the sources
    (identified by the other dimensions), and if their name does not suggest IDs, codes, ports, or versions. Numbers
    that were measured, with a fraction or in another order as text, give wrong answers; the others are notes.

    ## Why it matters

    To query a range, the text of every row has to be cast, and no data can be skipped: `'9' > '10'`. A measure of type
    DOUBLE, BIGINT, or TIMESTAMP in the same record is just as easy to filter by, and faster.

    ## Example

    `latitude` and `longitude` of a vehicle as dimensions; the time a request was sent as a second dimension.

    ## Fix

    Make them attributes of the multi-measure record, each with its own type.

    ## References

    - Richness of data types: https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    """
    for measurement in case.measurements:
        for tag in measurement.tags:
            if kind := _kind(case, measurement, tag):
                yield _finding(case, measurement, tag, kind)


def _kind(case: Case, measurement: Measurement, tag: Tag) -> str:
    """The type that fits its values; empty if they really are text."""
    from tsaudit.analysis.shapes import shapes

    if tag.values is None:
        return ""
    kind = shapes.number_kind(tag.sample)
    least = case.limit("min_values", measurement).value
    if kind == "integer" and not _POSITION.search(tag.key):
        named = _NAMES_A_THING.search(tag.key) or names_code(tag.key) or names_device(tag.key)
        if named or not _varies(case, measurement, tag):
            return ""
        least = case.limit("min_integers", measurement).value
    return kind if kind in _TYPES and tag.values.value >= least else ""


def _varies(case: Case, measurement: Measurement, tag: Tag) -> bool:
    """Whether each source has one value at a time, and most sources have other values later."""
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
        impact=costs.of_numbers_as_text(tag.key, tag.sample, tag.values.value),
        message=f"Dimension {tag.key} contains {what} as text: no query can compare them without a cast.",
        fix="Queries then compare it without a cast. If it identifies sources, keep a dimension that names the source.",
        changes=made_fields(measurement, tag.key, to=kind),
        observed=tag.values.value,
        limit=limit,
        unit="values",
        main_contributor=tag.key,
        samples=tag.sample[:3],
        evidence=(Evidence("distinct values", count(tag.values)), Evidence("type that fits", data_type)),
        facts=("tag_values",),
        source=tag.values.source,
    )
