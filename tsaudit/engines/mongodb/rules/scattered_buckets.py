"""DOC006."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.columns import distinct_types
from tsaudit.engines.mongodb import DOCUMENT_ID
from tsaudit.engines.mongodb.collections import LongerSpan, is_more_than_room
from tsaudit.model.columns import Field
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.storage import Buckets
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, percent, rounded

_OWN_SHARE: Final = 0.5
"""Sources per bucket, above which there are too many sources; below, sources report too rarely."""
_ONCE_SHARE: Final = 0.9
_ONCE_SPANS: Final = 10
"""Sources per bucket, over so many time spans, from which on sources do not come again: each has one in each span."""
_ERROR: Final = 0.01
"""Relative standard error of what a sample of a thousand buckets shows, at least."""
_BUCKET_BYTES: Final = 207
"""Bytes of a bucket without fields: IDs, the source, times, and counts."""
_FIELD_BYTES: Final = 37
"""Bytes for each field: its lowest and highest value, and an empty column."""
_LONGER: Final = {"seconds": "minutes", "minutes": "hours"}
"""Each granularity to the next coarser one."""


@rule(
    code="DOC006",
    title="Buckets of a time series contain few measurements",
    costs={Currency.BYTES},
    guidelines=("H6",),
    requires={"buckets", "documents"},
    shows={"storage"},
    thresholds=(
        Threshold(
            "min_rows", 10, "measurements in a bucket, median", "our default: a bucket is meant to contain up to 1,000"
        ),
    ),
)
def scattered_buckets(case: Case) -> Iterator[Finding]:
    """Time series collections whose buckets contain fewer than `min_rows` measurements (the median of a sample).

    If nearly every bucket has a different source, the metaField is too fine-grained. The finding names its part with
    the most distinct values. If sources recur in many buckets, either a field changes its type, null included, which
    closes the bucket: the server counts that, or else the documents read show it. Or the sources report too rarely for
    the time span of a bucket.

    The cost is the space of buckets that would not exist if each contained `min_rows`: their share of the indexes, and
    the overhead of BSON in each bucket, which is 207 bytes, plus 37 bytes and three times the name for each field. The
    data itself would be compressed better, which is not counted. Where sources never come again, as many buckets are
    taken to come each day as came so far, as for tags.

    ## Why it matters

    The server stores measurements of one source and one time span in a bucket and compresses them together. If the
    metaField contains a request or user ID, each bucket contains one or two measurements: nothing is compressed, the
    index has an entry for each, and writes open and close buckets all the time.

    ## Example

    `meta: { host: "web-1", request: "7f3c" }`: each request gets its own bucket. With `meta: { host: "web-1" }`, an
    hour of a host takes only a few.

    ## Fix

    Put only what identifies the source into the metaField. Write each field in one type, and leave it out where it has
    no value. If both are correct and the sources report once an hour, set a coarser granularity.

    ## References

    - Choosing the metaField: https://www.mongodb.com/docs/manual/core/timeseries/timeseries-considerations/
    - Buckets: https://www.mongodb.com/docs/manual/core/timeseries/timeseries-bucketing/
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    buckets = measurement.buckets
    if buckets is None or buckets.median_rows is None:
        return
    if buckets.median_rows < case.limit("min_rows", measurement).value:
        yield _finding(case, measurement, buckets, buckets.median_rows)


def _finding(case: Case, measurement: Measurement, buckets: Buckets, rows: float) -> Finding:
    from tsaudit.analysis.significance import kinds_in_all

    sources = kinds_in_all(buckets.read, buckets.sources, buckets.count)
    share = sources / buckets.count
    if share < _OWN_SHARE and (changing := _changing(case, measurement, buckets, sources)):
        return _of_change(case, measurement, buckets, rows, changing)
    meta = (measurement.options or {}).get("timeseries.metaField", "the metaField")
    finest = max(measurement.tags, key=lambda t: t.values.value if t.values else 0, default=None)
    main_contributor = finest if share >= _OWN_SHARE else None
    key = main_contributor.key if main_contributor else meta
    advice, longer = _instead(measurement)
    again = "" if main_contributor else f", each in about {number(_estimated(buckets.count / sources))}"
    impact = _impact(case, measurement, buckets, rows)
    come_once = share >= _ONCE_SHARE and _spans(case, measurement) >= _ONCE_SPANS
    if impact and come_once and costs.written_days(case, measurement):
        # As for tags whose values keep coming: others come tomorrow.
        impact = replace(impact, ahead_days=None)
    return Finding(
        subject=subject_of(measurement, main_contributor.key if main_contributor else ""),
        impact=impact,
        message=f"{_few(buckets, rows)}; they are from {_sources(buckets, sources)}{again}.",
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
        facts=("buckets", "documents", "storage"),
        source=buckets.source,
    )


_SPAN_S: Final = {"seconds": 3_600, "minutes": 86_400, "hours": 2_592_000}
"""Granularity to the time span of a bucket:
https://www.mongodb.com/docs/manual/core/timeseries/timeseries-granularity/
"""
_MOSTLY: Final = 0.5
_DAY_S: Final = 86_400


def _changing(case: Case, measurement: Measurement, buckets: Buckets, sources: float) -> list[Field]:
    """The fields whose changing types close the buckets; empty if something else does."""
    found = [f for f in measurement.fields if f.key != DOCUMENT_ID and len(_types(case, f)) > 1]
    if buckets.closed and buckets.closed_by_change is not None:
        return found if buckets.closed_by_change >= _MOSTLY * buckets.closed else []
    # Without counters, changing types are assumed if a source has enough rows in the time span.
    spans = _spans(case, measurement)
    if not measurement.rows or not spans:
        return []
    in_span = measurement.rows.value / sources / max(spans, 1)
    return found if in_span >= case.limit("min_rows", measurement).value else []


def _spans(case: Case, measurement: Measurement) -> float:
    """The time of all rows in time spans of a bucket; 0 if not known."""
    options, days = measurement.options or {}, costs.age_days(case, measurement)
    span_s = _SPAN_S.get(options.get("timeseries.granularity", ""), 0)
    span_s = int(options.get("timeseries.bucketMaxSpanSeconds", span_s) or span_s)
    return days * _DAY_S / span_s if days and span_s else 0.0


def _types(case: Case, field: Field) -> list[str]:
    """The types as far as they close a bucket: all types of numbers count as one."""
    return [*distinct_types(case.profile.engine, field.types), *(["null"] if field.says_null and field.types else [])]


def _of_change(
    case: Case, measurement: Measurement, buckets: Buckets, rows: float, changing: Sequence[Field]
) -> Finding:
    each = [f"{field.key} is {listed(_types(case, field))}" for field in changing]
    counted = []
    if buckets.closed_by_change is not None and buckets.closed:
        by_change = f"{number(buckets.closed_by_change)} of {number(buckets.closed)}"
        counted = [Evidence("buckets closed because a field changed its type", by_change)]
    return Finding(
        subject=subject_of(measurement, changing[0].key),
        impact=_impact(case, measurement, buckets, rows),
        message=f"{_few(buckets, rows)}: each change of a field's type begins another one, and {listed(each, 3)}.",
        fix="Write each field in one type, and leave it out of documents that have no value for it instead of writing "
        "null. Stored buckets stay as they are until they expire.",
        observed=rows,
        limit=case.limit("min_rows", measurement),
        unit="measurements in a bucket",
        main_contributor=changing[0].key,
        samples=changing[0].sample[:3],
        evidence=(Evidence("buckets", number(buckets.count)), *counted),
        facts=("buckets", "documents", "storage"),
        source=buckets.source,
    )


def _impact(case: Case, measurement: Measurement, buckets: Buckets, rows: float) -> Impact | None:
    """The bytes of unnecessary buckets; None if no bytes are known. `rows`: median number of rows in a bucket."""
    kept = measurement.storage
    if kept is None or kept.data_bytes is None or kept.index_bytes is None:
        return None
    in_all = measurement.rows.value if measurement.rows else rows * buckets.count
    full = case.limit("min_rows", measurement).value
    spare = max(1 - in_all / full / buckets.count, 0.0)
    own = bucket_bytes(measurement)
    held = measurement.documents.mean_bytes * in_all / buckets.count if measurement.documents else 0.0
    return costs.of_bytes(
        case,
        measurement,
        spare * (kept.index_bytes + kept.data_bytes * own / (own + held)),
        how=f"{percent(spare)} of the index bytes and of what BSON adds in each bucket, {number(own)} B, compressed as "
        f"data are: buckets that would not be there with {number(full)} measurements in each",
        is_row_data=is_more_than_room(measurement),
    )


def bucket_bytes(measurement: Measurement) -> float:
    """Bytes of a bucket without its values, as measured with `bson.encode` for the layout of MongoDB 5.2 and later."""
    names = [field.key for field in measurement.fields if field.key != DOCUMENT_ID]
    return _BUCKET_BYTES + sum(_FIELD_BYTES + 3 * len(name.encode()) for name in names)


def _few(buckets: Buckets, rows: float) -> str:
    few = f"{many(rows, 'measurement')} or fewer" if rows > 1 else "a single measurement"
    return f"Half of its {many(buckets.count, 'bucket')} contain {few}"


def _sources(buckets: Buckets, sources: float) -> str:
    is_whole = buckets.read >= buckets.count
    return many(round(sources), "source") if is_whole else f"about {many(_estimated(sources), 'source')}"


def _estimated(value: float) -> float:
    """A number that follows from a sample of the buckets, without the digits that it does not have."""
    return rounded(value, _ERROR * value)


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
