"""DOC006."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit.engines.mongodb.kinds import LongerSpan
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Buckets, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import many, number, percent

_OWN_SHARE: Final = 0.5
"""Sources per bucket above which there are too many sources, as opposed to too few reports."""
_LONGER: Final = {"seconds": "minutes", "minutes": "hours"}
"""Each granularity and the next coarser one."""


@rule(
    code="DOC006",
    title="Buckets of a time series contain few measurements",
    severity=Severity.WARNING,
    guidelines=("H6",),
    requires={"buckets", "documents"},
    thresholds=(
        Threshold("min_buckets", 1_000, "buckets", "our default: a new collection has few"),
        Threshold(
            "min_rows", 10, "measurements in a bucket, median", "our default: a bucket is meant to contain up to 1,000"
        ),
        Threshold(
            "critical_rows", 2, "measurements in a bucket, median", "our default: at this size it is not a bucket"
        ),
        Threshold(
            "critical_sources", 0.9, "sources by bucket", "our default: nearly every bucket has a different source"
        ),
    ),
)
def scattered_buckets(case: Case) -> Iterator[Finding]:
    """Time series collections whose buckets contain fewer than `min_rows` measurements (the median of a sample).

    If nearly every bucket has a different source, the metaField is too fine-grained. The finding names its part with
    the most distinct values, and is critical if buckets contain `critical_rows` or fewer. If sources recur in many
    buckets, they report too rarely for the time span of a bucket.

    ## Why it matters

    The server stores measurements of one source and one time span in a bucket and compresses them together. If the
    metaField contains a request or user ID, each bucket contains one or two measurements: nothing is compressed, the
    index has an entry for each, and writes open and close buckets all the time.

    ## Example

    `meta: { host: "web-1", request: "7f3c" }`: each request gets its own bucket. With `meta: { host: "web-1" }`, an
    hour of a host takes only a few.

    ## Fix

    Put only what identifies the source into the metaField. If it is correct and the sources report once an hour, set a
    coarser granularity.

    ## References

    - Choosing the metaField: https://www.mongodb.com/docs/manual/core/timeseries/timeseries-considerations/
    - Buckets: https://www.mongodb.com/docs/manual/core/timeseries/timeseries-bucketing/
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    buckets = measurement.buckets
    if buckets is None or buckets.median_rows is None:
        return
    if buckets.count < case.limit("min_buckets", measurement).value:
        return
    if buckets.median_rows < case.limit("min_rows", measurement).value:
        yield _finding(case, measurement, buckets, buckets.median_rows)


def _finding(case: Case, measurement: Measurement, buckets: Buckets, rows: float) -> Finding:
    from tsaudit.analysis.values.kinds_in_all import kinds_in_all

    sources = kinds_in_all(buckets.read, buckets.sources, buckets.count)
    share = sources / buckets.count
    few = rows <= case.limit("critical_rows", measurement).value
    own = share >= case.limit("critical_sources", measurement).value
    meta = (measurement.options or {}).get("timeseries.metaField", "the metaField")
    finest = max(measurement.tags, key=lambda t: t.values.value if t.values else 0, default=None)
    main_contributor = finest if share >= _OWN_SHARE else None
    key = main_contributor.key if main_contributor else meta
    advice, longer = _instead(measurement)
    again = "" if main_contributor else f", each in about {number(round(buckets.count / sources))}"
    return Finding(
        subject=subject_of(measurement, main_contributor.key if main_contributor else ""),
        severity=Severity.CRITICAL if few and own else Severity.WARNING,
        message=(
            f"Half of its {many(buckets.count, 'bucket')} contain {many(rows, 'measurement')} or fewer; they "
            f"are from {_about(buckets)}{many(round(sources), 'source')}{again}."
        ),
        fix=f"Keep in {meta} only what names the source and never changes; {key} belongs beside it, as a measurement. "
        "The metaField of a collection cannot be changed: create another collection, and write there."
        if main_contributor
        else advice,
        changes=() if main_contributor else longer,
        observed=rows,
        limit=case.limit("min_rows", measurement),
        unit="measurements in a bucket",
        main_contributor=key,
        samples=finest.sample[:3] if finest else (),
        evidence=(
            Evidence("buckets", number(buckets.count)),
            Evidence("sources by bucket", percent(share)),
            *(
                Evidence(f"values of {tag.key}", f"{number(tag.values.value)} among the documents read")
                for tag in measurement.tags
                if tag.values
            ),
        ),
        facts=("buckets", "documents"),
        source=buckets.source,
    )


def _about(buckets: Buckets) -> str:
    return "" if buckets.read >= buckets.count else "about "


def _instead(measurement: Measurement) -> tuple[str, tuple[LongerSpan, ...]]:
    """What to do if the sources are correct and just report rarely, in words and as a change."""
    options = measurement.options or {}
    span = options.get("timeseries.granularity")
    begin = "Its sources report too seldom for the span of a bucket"
    if longer := _LONGER.get(span or ""):
        return f"{begin} ({span}), which can only be raised.", (LongerSpan(subject_of(measurement), longer),)
    known = span or f"{options.get('timeseries.bucketMaxSpanSeconds', '?')} s"
    return (
        f"{begin} ({known}). A longer one, up to a year, is set with bucketMaxSpanSeconds and bucketRoundingSeconds; "
        "if that gains nothing, plain documents do as well."
    ), ()
