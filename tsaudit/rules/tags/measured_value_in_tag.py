"""TAG006."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tsaudit import costs
from tsaudit.analysis.cardinality.contributions import made_fields, share_of_tag
from tsaudit.analysis.columns.types import is_integer, is_text
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import SERIES_KINDS, Measurement, Tag, TagChanges
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, many, number, percent

_NAMES_A_THING = re.compile(
    r"(^|_)(id|uid|uuid|code|status|serial|zip|postcode|port|pid|no|nr|num|number|index|idx|version|release|build|key|"
    r"partition|shard|slot|core|cpu|channel|line|row|le|quantile|bucket)$|Id$",
    re.IGNORECASE,
)
_NAMES_A_PART = re.compile(
    r"(^|_)(version|release|build|firmware|le|ge|quantile|percentile|bucket|bin)$|Version$", re.IGNORECASE
)
"""Names of numbers with a fraction that are not measured: versions and histogram bounds."""


@rule(
    code="TAG006",
    title="A tag contains a measured value",
    costs={Currency.SERIES, Currency.ANSWERS},
    guidelines=("C2",),
    requires={"tag_values", "tag_changes"},
    uses={"series_listing"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold(
            "min_values",
            30,
            "values",
            ("our default: there are fewer histogram bounds and quantiles, which are numbers too"),
        ),
        Threshold(
            "min_values_per_source",
            3,
            "values per source",
            "our default: a position or size is also a number, but has one value per source, and few are corrected",
        ),
        Threshold(
            "max_clash_ratio",
            0.05,
            "share of the instants",
            "our default: a quantity has one value at a time; several values at once identify things",
        ),
        Threshold(
            "max_roughness",
            0.5,
            "mean step divided by the mean difference of any two values",
            "our default: whole numbers that do not follow a curve may be IDs; near 1 they are in random order",
        ),
    ),
)
def measured_value_in_tag(case: Case) -> Iterator[Finding]:
    """Tags that contain numbers that vary over time: a temperature, a load, a price.

    A tag is reported if it has at least `min_values` values, nearly all of them are numbers, and each source (rows with
    the same other tags) has one of them at a time. Tags named like versions or histogram bounds are left out. Numbers
    with a fraction need `min_values_per_source` values per source. Whole numbers could be IDs, so they must also have a
    name that does not identify a thing, and follow a curve over time: steps smaller than `max_roughness` of the
    difference between any two values. In GreptimeDB, tags of a floating-point type are covered by unsuitable-key-type.

    ## Why it matters

    Every new reading creates a new series. Tags are text: they cannot be averaged or compared by size, and to read all
    values of a source, a query has to visit every series.

    ## Example

    `room,sensor=s1,temperature=21.7 ok=1i`: a sensor that reports tenths of a degree creates hundreds of series.

    ## Fix

    Write it as a field. Stored data has to be rewritten.

    ## References

    - Tags versus fields: https://docs.influxdata.com/influxdb/v2/write-data/best-practices/schema-design/
    - What to store as a tag, GreptimeDB:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        readings = [(tag, reading) for tag in measurement.tags if (reading := _reading(case, measurement, tag))]
        impact = costs.of_series(case, measurement, [tag.key for tag, _ in readings])
        yield from (_finding(case, measurement, tag, reading, impact) for tag, reading in readings)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Why a tag counts as a measured value."""

    kind: str
    """`integer` or `float`."""
    per_source: float | None
    """Values per source according to the listing; None if not known."""
    changes: TagChanges | None
    """The rows that show it; None if the rows read show no change."""


def _reading(case: Case, measurement: Measurement, tag: Tag) -> _Reading | None:
    from tsaudit.analysis.shapes import shapes

    if tag.values is None or tag.values.value < case.limit("min_values", measurement).value:
        return None
    if case.engine.checks_key_types and not (is_text(tag.data_type) or is_integer(tag.data_type)):
        return None
    kind = shapes.number_kind(tag.sample)
    if kind not in ("integer", "float") or (_NAMES_A_THING if kind == "integer" else _NAMES_A_PART).search(tag.key):
        return None
    seen = [c for c in tag.changes or () if c.instants]
    clash = case.limit("max_clash_ratio", measurement).value
    if any(c.clashes > clash * c.instants for c in seen):
        return None
    changing = max((c for c in seen if 2 * c.changing >= c.sources > 0), key=lambda c: c.pairs, default=None)
    if kind == "integer":
        limit = case.limit("max_roughness", measurement).value
        smooth = changing is not None and changing.roughness is not None and changing.roughness <= limit
        return _Reading(kind, _per_source(measurement, tag), changing) if smooth else None
    per_source = _per_source(measurement, tag)
    enough = case.limit("min_values_per_source", measurement).value
    return _Reading(kind, per_source, changing) if changing or (per_source or 0) >= enough else None


def _per_source(measurement: Measurement, tag: Tag) -> float | None:
    """Series divided by the series left without the tag; None if they were not listed."""
    sets = measurement.tag_sets
    left = next((c.series_left for c in sets.contributions if c.tag == tag.key), 0) if sets else 0
    return sets.series / left if sets and left else None


def _finding(case: Case, measurement: Measurement, tag: Tag, reading: _Reading, impact: Impact | None) -> Finding:
    assert tag.values is not None
    evidence = [Evidence("distinct values", count(tag.values))]
    if reading.per_source is not None:
        evidence.append(Evidence("values per source", number(reading.per_source)))
    if seen := reading.changes:
        by = f"identified by {', '.join(seen.by)}" if seen.by else "of one source"
        evidence += [
            Evidence("sources where it changes", f"{number(seen.changing)} of {number(seen.sources)}, {by}"),
            Evidence(
                "times the value changed from one instant to the next",
                f"{number(seen.changes)} of {number(seen.pairs)} ({percent(seen.changes / seen.pairs)})",
            ),
        ]
        if seen.roughness is not None:
            evidence.append(
                Evidence("mean step divided by the mean difference of any two values", number(round(seen.roughness, 3)))
            )
    as_text = is_text(tag.data_type)
    words = "whole numbers" if reading.kind == "integer" else "numbers"
    return Finding(
        subject=subject_of(measurement, tag.key),
        # Where series cost nothing, it is still a number that is stored as text.
        impact=impact or (costs.of_numbers_as_text(tag.key, tag.sample, tag.values.value) if as_text else None),
        message=f"Tag {tag.key} contains {words} that vary over time: {many(tag.values.value, 'value')}.",
        changes=made_fields(measurement, tag.key, to=reading.kind),
        observed=tag.values.value,
        limit=case.limit("min_values", measurement),
        unit="values",
        main_contributor=tag.key,
        share=share_of_tag(tag.key, measurement.tag_sets),
        samples=tag.sample[:3],
        evidence=tuple(evidence),
        facts=("tag_values", "tag_changes", "series_listing"),
        source=tag.values.source,
    )
