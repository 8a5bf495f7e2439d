"""CAR003."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.finding import Evidence, Finding, Severity
from tsaudit.phrases import listed, many, number
from tsaudit.profile import Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.series_estimate import estimate


@rule(
    code="CAR003",
    title="A tag is determined by another tag",
    severity=Severity.INFO,
    guidelines=("A3",),
    requires={"series_listing", "tag_values", "field_types"},
    thresholds=(
        Threshold(
            "min_series",
            2,
            "series",
            "house judgement: with one series every tag determines every other and nothing is learnt",
        ),
    ),
    fixes={
        "any": (
            "Keep {tag} if queries group or filter by it: it adds no series. Leave it out when you multiply tag "
            "values to estimate series. If no query needs it, look it up from {determinant} outside the database."
        )
    },
)
def dependent_tag(case: Case) -> Iterator[Finding]:
    """Tags whose value follows from another tag's value in every series.

    Tags with a single value are left out. Where several tags determine one, the one with fewest values is named, as
    it is the closest.

    ## Why it matters

    A dependent tag adds no series, so multiplying its values in makes every estimate of the cardinality too high, and
    dropping it gains nothing. To reduce series, the determining tag has to go. A dependency that ends one day (a
    machine moves to another region) is worth noticing, too: from then on the tag does add series.

    ## Example

    `tag1` is `a` or `b`; `tag2` is `x` whenever `tag1` is `a` and `y` whenever it is `b`. With 3 fields the usual
    product gives 12, but there are 6.

    ## Fix

    None is needed. Count without the tag, and keep it only if queries use it.

    ## References

    - Dependent tags in InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - How dependent tags distort estimates:
      https://www.influxdata.com/blog/solving-runaway-series-cardinality-when-using-influxdb/
    """
    for measurement in case.measurements:
        sets, figures = measurement.tag_sets, estimate(measurement)
        limit = case.limit("min_series", measurement)
        if sets is None or figures is None or sets.series < limit.value:
            continue
        for dependent, determinants in _dependent_tags(measurement).items():
            values = _values(measurement, dependent)
            yield Finding(
                subject=subject_of(measurement, dependent),
                severity=Severity.INFO,
                message=(
                    f"Each of the {many(_values(measurement, determinants[0]), 'value')} of tag {determinants[0]} "
                    f"occurs with one value of {dependent} only, so {dependent} adds no series."
                ),
                fix=case.fix(tag=dependent, determinant=determinants[0]),
                observed=values,
                unit="values",
                guilty=dependent,
                share=0.0,
                evidence=(
                    Evidence("determined by", listed(determinants)),
                    Evidence("distinct values", number(values)),
                    *figures.evidence,
                ),
                facts=("series_listing", "tag_values", "field_types"),
                source=sets.source,
            )


def _dependent_tags(measurement: Measurement) -> dict[str, list[str]]:
    """Tags with more than one value to those that determine them, the closest first."""
    found: dict[str, list[str]] = {}
    for dependency in measurement.tag_sets.dependencies if measurement.tag_sets else ():
        if _values(measurement, dependency.dependent) > 1:
            found.setdefault(dependency.dependent, []).append(dependency.determinant)
    return {k: sorted(v, key=lambda tag: (_values(measurement, tag), tag)) for k, v in sorted(found.items())}


def _values(measurement: Measurement, key: str) -> int:
    tag = measurement.tag(key)
    return tag.values.value if tag and tag.values else 0
