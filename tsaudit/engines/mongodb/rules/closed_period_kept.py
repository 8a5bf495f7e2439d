"""DOC003."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from tsaudit import costs
from tsaudit.analysis.collection_families import CollectionFamily, Member, collection_families, documents_of, total
from tsaudit.engines.mongodb import DOCUMENT_ID
from tsaudit.engines.mongodb.collections import KeepCounts
from tsaudit.model.columns import Field
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Basis, Currency, Evidence, Finding
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import day, many, number, size

_COUNT_BYTES: Final = 110
"""Bytes of a document in a collection of counts, with its index entry."""
_MOST_FIELDS: Final = 2
"""Maximum number of fields in a document that only says who was there, and when."""


@rule(
    code="DOC003",
    title="Closed periods are kept document by document",
    costs={Currency.BYTES},
    guidelines=("H3",),
    requires={"documents", "row_estimate", "storage"},
    uses={"activity"},
    thresholds=(Threshold("grace_days", 2, "days", "our default: late writes, and a job that runs at night"),),
)
def closed_period_kept(case: Case) -> Iterator[Finding]:
    """Collections of past periods that nobody writes to anymore, where a count would be enough.

    A period is over when the time in its collection's name ended more than `grace_days` ago. If the server has counted
    writes since then, or an audit since then found fewer documents than there are now, the collection is not closed.

    The cost is the bytes that a count in place of the documents would free. Documents that have at most two fields
    beside their `_id`, none of them a measured number, only say that something happened. If they contain more, the
    finding is a note: their contents may be needed.

    ## Why it matters

    Documents that are only counted never change again. They and their indexes use disk, backup space, and memory
    that the active collections need.

    ## Example

    A thousand collections, 12 GB in total, contain an ID of each user who visited, and are only queried for their
    `countDocuments()`. Their counts are a thousand documents of 100 bytes.

    ## Fix

    Run a nightly job that stores the count of each closed period in one collection, with the old name as its `_id`, and
    then drops the period's collection.

    ## References

    - Drop a collection, which frees its space: https://www.mongodb.com/docs/manual/reference/method/db.collection.drop/
    - Too many collections: https://www.mongodb.com/docs/manual/data-modeling/design-antipatterns/reduce-collections/
    """
    for family in collection_families(case.profile):
        over = [m for m in family.members if m.end + _grace(case) <= case.profile.window.end]
        closed = [member for member in over if not _still_written(case, family, member)]
        taken = total(member.bytes for member in closed)
        if taken is not None and closed:
            yield _finding(case, family, closed, taken, len(over) - len(closed))


def _grace(case: Case) -> timedelta:
    return timedelta(days=case.limit("grace_days").value)


def _still_written(case: Case, family: CollectionFamily, member: Member) -> bool:
    """Whether writes were counted after the end of the period, or the collection has more documents than on a day after
    it.

    Counters that started after the audited time are ignored, because they describe another time.
    """
    activity = member.measurement.activity
    if activity is not None and activity.counted_since is not None:
        now = case.profile.window.end
        if activity.writes > 0 and member.end <= activity.counted_since < now:
            return True
    counted = _counted_after(case, family, member)
    return member.documents is not None and any(point.value < member.documents for point in counted)


def _counted_after(case: Case, family: CollectionFamily, member: Member) -> list[Point]:
    """The collection's number of documents on the days after its period, oldest first."""
    points = case.timeline.of("rows", Subject(family.database, member.name))
    return [point for point in points if point.day > member.end.date()]


def _finding(case: Case, family: CollectionFamily, closed: Sequence[Member], taken: float, written: int) -> Finding:
    documents = documents_of(closed)
    freed = max(0.0, taken - _COUNT_BYTES * len(closed))
    how = f"bytes by $collStats, {family.how}, less {_COUNT_BYTES} B for each count"
    subject = Subject(family.database, family.template)
    return Finding(
        subject=subject,
        impact=costs.of_periods(case, family, freed, how=how),
        basis=Basis.MEASURED if _only_count(closed) else Basis.INFERRED,
        message=(
            f"{many(len(closed), 'closed ' + family.unit)} of {family.template} are kept in full; their counts alone "
            f"would free {size(freed)}."
        ),
        changes=(KeepCounts(subject, f"{family.stem or 'period'}_counts", tuple(member.name for member in closed)),),
        observed=freed,
        unit="bytes",
        samples=(closed[0].name, closed[-1].name),
        evidence=(
            Evidence("bytes freed", number(freed)),
            Evidence("closed", f"{closed[0].name} to {closed[-1].name}"),
            *([Evidence("documents in them", number(documents))] if documents is not None else []),
            Evidence("bytes by", family.how),
            Evidence("writes", _writes(closed)),
            *_unchanged(case, family, closed),
            *([Evidence("over according to the name, but still written", number(written))] if written else []),
        ),
        facts=("documents", "row_estimate", "storage", "activity"),
    )


def _only_count(closed: Sequence[Member]) -> bool:
    """Whether the documents read only say that something happened, and when, so that a count would be enough."""
    read = [member.measurement for member in closed if member.measurement.documents]
    fields = [[field for field in m.fields if field.key != DOCUMENT_ID] for m in read]
    return bool(read) and all(len(own) <= _MOST_FIELDS and not any(map(_is_measured, own)) for own in fields)


def _is_measured(field: Field) -> bool:
    return bool({"double", "decimal"} & set(field.types))


def _writes(closed: Sequence[Member]) -> str:
    since = [_counted_since(member) for member in closed]
    known = [time for time in since if time is not None]
    if len(known) < len(closed):
        return "not counted since the end of each; closed only according to the name"
    return f"none since {day(max(known))}, when the server started counting"


def _counted_since(member: Member) -> datetime | None:
    """The time since which writes are counted; None if it is not known, or counting started within the period."""
    activity = member.measurement.activity
    time = activity.counted_since if activity else None
    return time if time is not None and time >= member.end else None


def _unchanged(case: Case, family: CollectionFamily, closed: Sequence[Member]) -> Iterator[Evidence]:
    """The day since which earlier audits show no new documents, if they do so for each collection."""
    counted = [_counted_after(case, family, member) for member in closed]
    if all(counted):
        yield Evidence("no new documents since", day(max(points[0].day for points in counted)))
