"""DOC005."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.finding import Evidence, Finding, Severity
from tsaudit.phrases import number, size
from tsaudit.profile import Field, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of

_COMPASS = "what MongoDB Compass warns of: https://github.com/mongodb-js/compass"


@rule(
    code="DOC005",
    title="Arrays grow without a bound",
    severity=Severity.WARN,
    guidelines=("H6",),
    requires={"documents"},
    thresholds=(
        Threshold("max_items", 250, "items on average", _COMPASS),
        Threshold("max_document_bytes", 10_000_000, "bytes", f"{_COMPASS}; the server refuses more than 16 MiB"),
    ),
    fixes={
        "mongodb": (
            "Write each item of {field} as a document of its own, with the _id of the document it belongs to and an "
            "index on that; or cut the array on each write with $push and $slice. What is stored:\n"
            "db.getCollection({collection:q}).aggregate([{{ $unwind: {unwound:q} }}, "
            "{{ $project: {{ _id: 0, of: {own:q}, item: {unwound:q} }} }}, {{ $out: {copy:q} }}])"
        ),
    },
)
def unbounded_array(case: Case) -> Iterator[Finding]:
    """Arrays with `max_items` items or more on average, and documents that come near the largest size there is.

    An array that is so long in one document only is information. A document over `max_document_bytes` makes it
    critical.

    ## Why it matters

    A document is read and written as a whole: to append one reading to an array of thousands, all of them are moved. At
    16 MiB the next write is refused. An index on the array has an entry for each item.

    ## Example

    A document per sensor with an array `readings` to which each minute one is pushed: 500,000 after a year.

    ## Fix

    A document for each item, or for each hour of them; for measurements a time series collection, which does just that.

    ## References

    - Unbounded arrays: https://www.mongodb.com/docs/manual/data-modeling/design-antipatterns/unbounded-arrays/
    - Limits: https://www.mongodb.com/docs/manual/reference/limits/#bson-documents
    """
    for measurement in case.measurements:
        arrays = [f for f in measurement.fields if f.items is not None]
        longest = max(arrays, key=lambda f: f.items.mean if f.items else 0.0, default=None)
        limit = case.limit("max_items", measurement).value
        if longest is not None and longest.items is not None and longest.items.most >= limit:
            yield _finding(case, measurement, longest)


def _finding(case: Case, measurement: Measurement, field: Field) -> Finding:
    assert field.items is not None
    assert measurement.documents is not None
    limit, largest = case.limit("max_items", measurement), case.limit("max_document_bytes", measurement)
    severity = Severity.WARN if field.items.mean >= limit.value else Severity.INFO
    huge = measurement.documents.max_bytes >= largest.value
    return Finding(
        subject=subject_of(measurement, field.key),
        severity=Severity.CRITICAL if huge else severity,
        message=(
            f"{field.key} holds {number(round(field.items.mean))} items on average and up to "
            f"{number(field.items.most)}; the largest document has {size(measurement.documents.max_bytes)}."
        ),
        fix=case.fix(
            field=field.key,
            collection=measurement.name,
            unwound=f"${field.key}",
            own="$_id",
            copy=f"{measurement.name}_{field.key.rpartition('.')[2]}",
        ),
        observed=float(measurement.documents.max_bytes) if huge else field.items.mean,
        limit=largest if huge else limit,
        unit="bytes" if huge else "items",
        guilty=field.key,
        evidence=(
            Evidence("items on average", number(round(field.items.mean, 1))),
            Evidence("items at most", number(field.items.most)),
            Evidence("bytes of a document", f"{size(measurement.documents.mean_bytes)} on average"),
            Evidence("documents read", number(measurement.documents.read)),
        ),
        facts=("documents",),
        source=measurement.documents.source,
    )
