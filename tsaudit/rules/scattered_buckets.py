"""DOC006."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.finding import Evidence, Finding, Severity
from tsaudit.phrases import many, number, percent
from tsaudit.profile import Buckets, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of


@rule(
    code="DOC006",
    title="The metaField of a time series is too fine",
    severity=Severity.WARN,
    guidelines=("H6",),
    requires={"buckets", "documents"},
    thresholds=(
        Threshold("min_buckets", 1_000, "buckets", "house judgement: a collection that has just begun has few"),
        Threshold(
            "min_rows", 10, "measurements in a bucket, median", "house judgement: a bucket is to hold up to 1,000"
        ),
        Threshold("critical_rows", 2, "measurements in a bucket, median", "house judgement: then it is no bucket"),
        Threshold("critical_sources", 0.9, "sources by bucket", "house judgement: nearly each bucket has its own"),
    ),
    fixes={
        "mongodb": (
            "Keep in {meta} only what names the source and never changes; {field} belongs beside it, as a measurement. "
            "The metaField cannot be chosen anew: make another collection and write there. If the sources are right "
            "and only report seldom, a longer span keeps more of each together:\n"
            "db.runCommand({{ collMod: {collection:q}, timeseries: {{ granularity: {granularity:q} }} }})"
        ),
    },
)
def scattered_buckets(case: Case) -> Iterator[Finding]:
    """Time series collections whose buckets hold fewer than `min_rows` measurements, by the median of some of them.

    It is critical when buckets hold `critical_rows` or fewer and nearly each has a source of its own. The part of the
    metaField with the most different values is named.

    ## Why it matters

    The server keeps measurements of one source and one span of time in one bucket, compressed together. With a
    request's or a user's id in the metaField, each bucket holds a measurement or two: nothing is compressed, the index
    has an entry for each, and writes open and close buckets all the time.

    ## Example

    `meta: { host: "web-1", request: "7f3c" }`: each request has a bucket of its own. With `meta: { host: "web-1" }` an
    hour of a host is in a few.

    ## Fix

    In the metaField only what names the source. Where it is right and the sources report once an hour, a coarser
    granularity.

    ## References

    - Choosing the metaField: https://www.mongodb.com/docs/manual/core/timeseries/timeseries-considerations/
    - Buckets: https://www.mongodb.com/docs/manual/core/timeseries/timeseries-bucketing/
    """
    for measurement in case.measurements:
        buckets = measurement.buckets
        if buckets is None or buckets.median_rows is None:
            continue
        if buckets.count < case.limit("min_buckets", measurement).value:
            continue
        if buckets.median_rows < case.limit("min_rows", measurement).value:
            yield _finding(case, measurement, buckets, buckets.median_rows)


def _finding(case: Case, measurement: Measurement, buckets: Buckets, rows: float) -> Finding:
    few = rows <= case.limit("critical_rows", measurement).value
    own = buckets.sources / buckets.read >= case.limit("critical_sources", measurement).value
    finest = max(measurement.tags, key=lambda t: t.values.value if t.values else 0, default=None)
    meta = (measurement.options or {}).get("timeseries.metaField", "the metaField")
    key = finest.key if finest else meta
    return Finding(
        subject=subject_of(measurement, finest.key if finest else ""),
        severity=Severity.CRITICAL if few and own else Severity.WARN,
        message=(
            f"Half of its {many(buckets.count, 'bucket')} hold {many(rows, 'measurement')} or fewer; "
            f"{number(buckets.sources)} different sources in {many(buckets.read, 'bucket')}."
        ),
        fix=case.fix(meta=meta, field=key, collection=measurement.name, granularity="hours"),
        observed=rows,
        limit=case.limit("min_rows", measurement),
        unit="measurements in a bucket",
        guilty=key,
        samples=finest.sample[:3] if finest else (),
        evidence=(
            Evidence("buckets", number(buckets.count)),
            Evidence("sources by bucket", percent(buckets.sources / buckets.read)),
            *(
                Evidence(f"values of {tag.key}", f"{number(tag.values.value)} among the documents read")
                for tag in measurement.tags
                if tag.values
            ),
        ),
        facts=("buckets", "documents"),
        source=buckets.source,
    )
