"""CAR006."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.analysis.cardinality.contributions import left_ratio, main_contribution, share_of
from tsaudit.model.finding import Finding
from tsaudit.model.profile import SERIES_KINDS, Contribution, Measurement
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.series_estimate import contribution_evidence, describe_left, on_sample
from tsaudit.text import listed, number, percent


@rule(
    code="CAR006",
    title="One tag causes nearly all series",
    guidelines=("A8",),
    follows_from=dict.fromkeys(("TAG001", "TAG002", "TAG006", "TAG008"), Reach.SUBJECT),
    requires={"series_listing"},
    kinds=SERIES_KINDS,
    thresholds=(
        Threshold("max_left_ratio", 0.1, "share of the series left without it", "our default: a tenfold reduction"),
        Threshold("min_series", 1_000, "series", "our default: below this, no engine is affected"),
    ),
)
def dominant_tag(case: Case) -> Iterator[Finding]:
    """Measurements where dropping one tag would leave at most `max_left_ratio` of the series.

    Tags that determine it are dropped with it, because dropping it alone would not help. It is always a note, from
    `min_series` on: the tag may be that of an honest source.

    ## Why it matters

    If a measurement has too many series, one tag is nearly always the cause. It is not always the tag with the most
    values, since a dependent tag adds no series. The number of series left without each tag shows where to start and
    what it saves.

    ## Example

    100,000 series with the tags `user_id`, `host`, and `region`: without `user_id` 50 series are left, without `host`
    100,000.

    ## Fix

    If queries do not filter by the tag, turn it into a field. If they do, limit its values. The finding shows how many
    series are left if the values are hashed into 10, 100, or 1,000 buckets (CRC-32 of the value, modulo the number of
    buckets).

    ## References

    - Resolve high cardinality:
      https://docs.influxdata.com/influxdb/v2/write-data/best-practices/resolve-high-cardinality/
    - Common causes, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    """
    for measurement in case.measurements:
        sets = measurement.tag_sets
        contribution = main_contribution(sets) if sets else None
        if contribution is None or sets is None or sets.series < case.limit("min_series", measurement).value:
            continue
        limit = case.limit("max_left_ratio", measurement)
        if left_ratio(contribution, sets) <= limit.value:
            yield _finding(case, measurement, contribution)


def _finding(case: Case, measurement: Measurement, contribution: Contribution) -> Finding:
    sets = measurement.tag_sets
    assert sets is not None
    together = f" (with {listed(contribution.together_with)}, which determine it)" if contribution.together_with else ""
    about = "about " if sets.sampled is not None else ""
    tag = measurement.tag(contribution.tag)
    return Finding(
        subject=subject_of(measurement, contribution.tag),
        message=(
            f"Without tag {contribution.tag}{together} {describe_left(contribution)} of {about}{number(sets.series)} "
            f"series would be left ({percent(left_ratio(contribution, sets))}{on_sample(sets)})."
        ),
        fix="If queries filter by it, write fewer or coarser values: see what buckets leave.",
        observed=left_ratio(contribution, sets),
        limit=case.limit("max_left_ratio", measurement),
        unit="share of the series left",
        main_contributor=contribution.tag,
        share=share_of(contribution, sets),
        samples=tag.sample[:3] if tag else (),
        evidence=contribution_evidence(sets),
        facts=("series_listing",),
        source=sets.source,
    )
