"""CAR002."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.model.finding import Finding
from tsaudit.model.profile import SERIES_KINDS
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.series_estimate import contribution_evidence, estimate, on_sample
from tsaudit.text import listed, number


@rule(
    code="CAR002",
    title="The tags allow more series than the limit",
    guidelines=("A2",),
    follows_from={"CAR001": Reach.SUBJECT} | dict.fromkeys(("TAG001", "TAG002", "TAG006", "TAG008"), Reach.MEASUREMENT),
    requires={"series_listing", "field_types"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold(
            "max_series",
            1_000_000,
            "series x fields",
            "our default: the quota of a usage-based InfluxDB Cloud account, "
            "https://docs.influxdata.com/influxdb/cloud/account-management/limits/",
        ),
    ),
)
def worst_case_above_limit(case: Case) -> Iterator[Finding]:
    """Measurements whose independent tags allow more than `max_series` series, even if there are fewer today.

    The worst case is computed as in InfluxDB's guide: the numbers of tag values multiplied together, times the number
    of fields. Tags that are determined by another tag are left out of the product, because they add no series.

    ## Why it matters

    A measurement can grow to the product of its tag values without a single new tag value: a deployment that combines
    them differently is enough. The worst case and the actual number together show how much headroom there is, and how
    far off the usual product is for this measurement.

    ## Example

    `tag1` and `tag2` have 2 values each, and there are 3 fields: 12 series in the worst case. Since `tag1` determines
    `tag2`, there are actually 6 and cannot be more. If they were independent and had 1,500 values each, the worst case
    would be 6,750,000.

    ## Fix

    Decide whether the tags can be combined freely. If so, limit one of them now, while little data is stored.

    ## References

    - The guide's formula and its dependent tags: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - InfluxDB glossary, series cardinality:
      https://docs.influxdata.com/influxdb/v2/reference/glossary/#series-cardinality
    """
    for measurement in case.measurements:
        figures, limit = estimate(measurement), case.limit("max_series", measurement)
        sets = measurement.tag_sets
        if figures is None or sets is None or figures.independent <= limit.value or figures.actual > limit.value:
            continue
        determined = {d.dependent for d in sets.dependencies}
        several = {t.key for t in measurement.tags if t.values is None or t.values.value > 1}
        free = [t.key for t in measurement.tags if t.key in several - determined]
        yield Finding(
            subject=subject_of(measurement),
            message=(
                f"The independent tags allow {number(figures.independent)} series x fields, more "
                f"than the limit of {number(limit.value)}; today there are "
                f"{figures.actual_description}{on_sample(sets)}."
            ),
            fix=f"Nothing is wrong yet. If the values of {listed(free)} may come to be combined freely, bound one of "
            "them: fewer or coarser values, or a field instead of a tag. Otherwise leave it: CAR004 watches growth.",
            observed=figures.independent,
            limit=limit,
            unit="series x fields",
            evidence=(*figures.evidence, *contribution_evidence(sets)),
            facts=("series_listing", "field_types"),
            source=sets.source,
        )
