"""DOC005."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from tsaudit import costs
from tsaudit.engines.mongodb.collections import ItemsToDocuments
from tsaudit.model.change import Diagnose
from tsaudit.model.columns import Field, ItemGrowth
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import Documents
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import many, number, size

_LARGE = 0.5
"""Share of the maximum size from which a document is reported, whatever makes it so large."""
_COMPASS = "the threshold at which MongoDB Compass warns: https://github.com/mongodb-js/compass"


@rule(
    code="DOC005",
    title="Arrays grow without bound",
    costs={Currency.LIMIT},
    guidelines=("H6",),
    requires={"documents"},
    uses={"largest_document", "storage"},
    thresholds=(
        Threshold("max_items", 250, "items on average", _COMPASS),
        Threshold("max_document_bytes", None, "bytes", "of a document"),
    ),
)
def unbounded_array(case: Case) -> Iterator[Finding]:
    """Arrays with `max_items` items or more in a document, and documents of more than half the maximum size.

    What counts is how close the largest document is to `max_document_bytes`, at which the server rejects writes, and
    when it will reach that size: at the rate at which an array received its items, if they have times or ObjectIds,
    otherwise at the rate since the previous audit, if the same document is the largest of all and has grown, or if both
    the largest one and the mean have. Arrays with the same length in all documents do not grow, for example vectors, or
    arrays from which the oldest items are removed. If as many arrays are finished as receive new items, each document
    covers one period, and the rate is ignored. The largest document is that of a sample; where the collection has more
    bytes than the sample explains, it is that of all documents, which is then read, or not known if there are too many
    to look through.

    ## Why it matters

    A document is read and written as a whole: to append one reading to an array of thousands, all of them are
    rewritten. At 16 MiB the next write is rejected. An index on the array has an entry for each item.

    ## Example

    A document per sensor with an array `readings` that gets one item every minute: 500,000 after a year.

    ## Fix

    Use a document per item, or per hour of items. For measurements, use a time series collection, which does exactly
    that.

    ## References

    - Unbounded arrays: https://www.mongodb.com/docs/manual/data-modeling/design-antipatterns/unbounded-arrays/
    - Limits: https://www.mongodb.com/docs/manual/reference/limits/#bson-documents
    """
    yield from case.once_for_family(lambda measurement: _evaluate(case, measurement))


def _evaluate(case: Case, measurement: Measurement) -> Iterator[Finding]:
    documents = measurement.documents
    if documents is None:
        return
    limit = case.limit("max_items", measurement).value
    long = [f for f in measurement.fields if f.items and f.items.most >= limit and not _is_fixed(measurement, f)]
    if long:
        yield _finding(case, measurement, max(long, key=_how_bad))
    elif documents.max_bytes >= _LARGE * case.limit("max_document_bytes", measurement).value:
        yield _large(case, measurement, documents)


def _how_bad(field: Field) -> tuple[float, float]:
    assert field.items is not None
    return field.items.growth.bytes_per_day if field.items.growth else 0.0, field.items.mean


def _impact(case: Case, measurement: Measurement, documents: Documents, growth: ItemGrowth | None = None) -> Impact:
    """How close a document is to the size that the server rejects: the document that will be the largest or, if nothing
    grows, the one that is.
    """
    limit, per_day, since = case.limit("max_document_bytes", measurement), 0.0, ""
    if growth is not None and growth.document_bytes < limit.value:
        return costs.of_limit(
            case,
            growth.document_bytes,
            limit,
            per_day=growth.bytes_per_day,
            how=f"the times of the items of the array, which span {many(round(growth.days, 1), 'day')}; {limit.source}",
        )
    before = case.timeline.previous
    of_before = next((m.documents for m in before.measurements if _is_same(m, measurement)), None) if before else None
    if before is not None and of_before is not None and case.timeline.is_older(case.profile, timedelta(days=1)):
        grown = float(documents.max_bytes - of_before.max_bytes)
        if documents.largest_id is None or documents.largest_id != of_before.largest_id:
            # Another document may be the largest, so it is assumed to grow no faster than the mean.
            grown = min(grown, documents.max_bytes * (documents.mean_bytes / of_before.mean_bytes - 1))
        days = (case.profile.collected_at - before.collected_at) / timedelta(days=1)
        per_day = max(grown, 0.0) / days
        since = f", and its growth since {before.day}"
    of = "all documents" if documents.is_max_of_all else f"{many(documents.read, 'document')} read"
    how = f"largest of {of}{since}; {limit.source}"
    return costs.of_limit(case, documents.max_bytes, limit, per_day=per_day, how=how)


def _is_same(one: Measurement, other: Measurement) -> bool:
    return (one.database, one.name) == (other.database, other.name)


def _is_fixed(measurement: Measurement, field: Field) -> bool:
    """Whether all arrays have the same length, and none is known to grow. A single document does not prove that."""
    assert field.items is not None
    assert measurement.documents is not None
    if field.items.growth is not None:
        return False
    return field.items.mean == field.items.most and round(field.present_ratio * measurement.documents.read) > 1


def _finding(case: Case, measurement: Measurement, field: Field) -> Finding:
    assert field.items is not None
    assert measurement.documents is not None
    limit, largest = case.limit("max_items", measurement), case.limit("max_document_bytes", measurement)
    growth = field.items.growth
    rate = f"; {number(round(growth.items_per_day))} more a day, {size(growth.bytes_per_day)}" if growth else ""
    huge = measurement.documents.max_bytes >= _LARGE * largest.value
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=_impact(case, measurement, measurement.documents, growth),
        message=(
            f"{field.key} contains {many(round(field.items.mean), 'item')} on average and up to "
            f"{number(field.items.most)}; the largest document has {size(measurement.documents.max_bytes)}{rate}."
        ),
        changes=(ItemsToDocuments(subject_of(measurement), field.key),),
        observed=float(measurement.documents.max_bytes if huge else field.items.most),
        limit=largest if huge else limit,
        unit="bytes" if huge else "items",
        main_contributor=field.key,
        evidence=(
            Evidence("items on average", number(round(field.items.mean, 1))),
            Evidence("items at most", number(field.items.most)),
            Evidence("bytes of a document", f"{size(measurement.documents.mean_bytes)} on average"),
            Evidence("documents read", number(measurement.documents.read)),
        ),
        facts=("documents",),
        source=measurement.documents.source,
    )


def _large(case: Case, measurement: Measurement, documents: Documents) -> Finding:
    """A document that is too large for another reason than an array."""
    widest = max(measurement.fields, key=lambda f: f.value_bytes or 0.0, default=None)
    largest = documents.largest_field or (widest.key if widest else None)
    return Finding(
        subject=subject_of(measurement),
        impact=_impact(case, measurement, documents),
        message=f"The largest document has {size(documents.max_bytes)}; the server rejects more than 16 MiB.",
        fix="Keep what makes them large in documents of its own (GridFS for files).",
        changes=(Diagnose(subject_of(measurement), "large rows"),),
        observed=float(documents.max_bytes),
        limit=case.limit("max_document_bytes", measurement),
        unit="bytes",
        main_contributor=largest,
        evidence=(
            Evidence("bytes of a document", f"{size(documents.mean_bytes)} on average"),
            Evidence("largest field", largest or "-"),
            Evidence("documents read", number(documents.read)),
        ),
        facts=("documents",),
        source=documents.source,
    )
