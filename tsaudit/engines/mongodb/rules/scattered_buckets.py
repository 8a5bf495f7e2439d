"""DOC006."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit.engines.mongodb.collection_families import once_for_family
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Buckets, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import many, number, percent

_OWN_SHARE: Final = 0.5
"""Sources by bucket from which on it is the sources that are too many, and not their reports too few."""
_LONGER: Final = {"seconds": "minutes", "minutes": "hours"}
"""Granularity to the next one."""


@rule(
    code="DOC006",
    title="Buckets of a time series hold few measurements",
    severity=Severity.WARN,
    guidelines=("H6",),
    requires={"buckets", "documents"},
    thresholds=(
        Threshold("min_buckets", 1_000, "buckets", "our default: a collection that has just begun has few"),
        Threshold("min_rows", 10, "measurements in a bucket, median", "our default: a bucket is to hold up to 1,000"),
        Threshold("critical_rows", 2, "measurements in a bucket, median", "our default: then it is no bucket"),
        Threshold("critical_sources", 0.9, "sources by bucket", "our default: nearly each bucket has its own"),
    ),
    fixes={
        "mongodb": (
            "Keep in {meta} only what names the source and never changes; {field} belongs beside it, as a measurement. "
            "The metaField cannot be chosen anew: make another collection, and write there."
        ),
    },
)
def scattered_buckets(case: Case) -> Iterator[Finding]:
    """Time series collections whose buckets hold fewer than `min_rows` measurements, by the median of some of them.

    Where nearly each bucket has a source of its own, the metaField is too fine, and the part of it with the most
    different values is named; critical when buckets hold `critical_rows` or fewer. Where sources come again in bucket
    after bucket, they report too seldom for the span of a bucket.

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
    yield from once_for_family(case.profile, lambda measurement: _judge(case, measurement))


def _judge(case: Case, measurement: Measurement) -> Iterator[Finding]:
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
    guilty = finest if share >= _OWN_SHARE else None
    key = guilty.key if guilty else meta
    again = "" if guilty else f", each in about {number(round(buckets.count / sources))}"
    return Finding(
        subject=subject_of(measurement, guilty.key if guilty else ""),
        severity=Severity.CRITICAL if few and own else Severity.WARN,
        message=(
            f"Half of its {many(buckets.count, 'bucket')} hold {many(rows, 'measurement')} or fewer; they are of "
            f"{_about(buckets)}{many(round(sources), 'source')}{again}."
        ),
        fix=case.fix(meta=meta, field=key) if guilty else _longer_span(case, measurement),
        observed=rows,
        limit=case.limit("min_rows", measurement),
        unit="measurements in a bucket",
        guilty=key,
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


def _longer_span(case: Case, measurement: Measurement) -> str:
    """What to do where the sources are right, and only report seldom."""
    options = measurement.options or {}
    span = options.get("timeseries.granularity")
    longer = _LONGER.get(span or "")
    begin = "Its sources report too seldom for the span of a bucket"
    if longer is None:
        known = span or f"{options.get('timeseries.bucketMaxSpanSeconds', '?')} s"
        return (
            f"{begin} ({known}). A longer one, up to a year, is set with bucketMaxSpanSeconds and "
            "bucketRoundingSeconds; if there is nothing to gain by it, plain documents do as well."
        )
    return (
        f"{begin} ({span}); a longer one keeps more of each source together. It can only be raised:\n"
        f"db.runCommand({{ collMod: {case.quoted([measurement.name])}, timeseries: {{ granularity: "
        f'"{longer}" }} }})'
    )
