"""CAR002."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.advice.series_estimate import contribution_evidence, estimate, on_sample
from tsaudit.model.finding import Finding, Severity
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import number


@rule(
    code="CAR002",
    title="The tags allow more series than the limit",
    severity=Severity.INFO,
    guidelines=("A2",),
    requires={"series_listing", "field_types"},
    thresholds=(
        Threshold(
            "max_series",
            1_000_000,
            "series x fields",
            "house judgement: the quota of a usage-based InfluxDB Cloud account, "
            "https://docs.influxdata.com/influxdb/cloud/account-management/limits/",
        ),
    ),
    fixes={
        "any": (
            "Nothing is wrong yet. If the values of {tags} may come to be combined freely, bound one of them: fewer or "
            "coarser values, or a field instead of a tag. Otherwise leave it; growth is watched by CAR004."
        )
    },
)
def worst_case_above_limit(case: Case) -> Iterator[Finding]:
    """Measurements whose independent tags could make more series than `max_series`, although today they do not.

    Counted as InfluxDB's guide does: tag values multiplied, times the number of fields. Tags that another tag
    determines are left out of the product, as they add no series.

    ## Why it matters

    The product of the tag values is what a measurement may grow to without a single new tag value: a deployment that
    combines them differently is enough. The worst case and the actual number together tell how much room there is, and
    how wrong the usual multiplication is for this measurement.

    ## Example

    `tag1` and `tag2` have 2 values each and there are 3 fields: 12 in the worst case. As `tag1` determines `tag2`, the
    actual number is 6 and can be no more. Were they independent and had 1,500 values each, the worst case would be
    6,750,000.

    ## Fix

    Decide whether the tags can come to be combined freely. If so, bound one of them now, while little is stored.

    ## References

    - The guide's formula and its dependent tags: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - InfluxDB glossary, series cardinality: https://docs.influxdata.com/influxdb/v2/reference/glossary/#series-cardinality
    """
    for measurement in case.measurements:
        figures, limit = estimate(measurement), case.limit("max_series", measurement)
        sets = measurement.tag_sets
        if figures is None or sets is None or figures.independent <= limit.value or figures.actual > limit.value:
            continue
        determined = {d.dependent for d in sets.dependencies}
        free = [t.key for t in measurement.tags if t.key not in determined]
        yield Finding(
            subject=subject_of(measurement),
            severity=Severity.INFO,
            message=(
                f"Its independent tags allow {number(figures.independent)} series (tag sets x fields), more than "
                f"{number(limit.value)}; today there are {number(figures.actual)}{on_sample(sets)}."
            ),
            fix=case.fix(tags=" and ".join(free)),
            observed=figures.independent,
            limit=limit,
            unit="series x fields",
            evidence=(*figures.evidence, *contribution_evidence(sets)),
            facts=("series_listing", "field_types"),
            source=sets.source,
        )
