"""DOC001."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Final

from tsaudit import costs
from tsaudit.analysis.tables.collection_families import CollectionFamily, collection_families, total
from tsaudit.engines.mongodb.kinds import OneCollection
from tsaudit.model.finding import Evidence, Finding, Forecast
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import day, listed, many, number, size
from tsaudit.text.forecasts import limit_reached

if TYPE_CHECKING:
    from tsaudit.analysis.shapes.periods import PeriodFamily

_COUNT_BYTES: Final = 110
"""Bytes of a document of a counts collection, with its index entry: period, number, first and last ID."""
_NEAR: Final = 0.8
_SOON_DAYS: Final = 90
"""From where on the limit of files is what matters about a family."""
_PER_YEAR: Final = {"hour": 8766, "day": 365, "week": 52, "month": 12, "quarter": 4, "year": 1}


@rule(
    code="DOC001",
    title="Each period has a separate collection",
    costs={Currency.FAMILY, Currency.LIMIT},
    guidelines=("H1", "A4"),
    # Bytes are shown if another rule had them measured; the verdict does not depend on them.
    requires={"documents"},
    uses={"row_estimate", "indexes"},
    thresholds=(
        Threshold(
            "max_files",
            10_000,
            "collections and indexes",
            "MongoDB's own advice for a replica set: "
            "https://www.mongodb.com/developer/products/mongodb/schema-design-anti-pattern-massive-number-collections/",
        ),
    ),
)
def collection_per_period(case: Case) -> Iterator[Finding]:
    """Collections that are created for each hour, day, week, or month, recognized by their names.

    Names count only if several differ in nothing but the period, and cover most of the time from the first to the last:
    `order_201210` alone is not a period. The same applies to databases. Families with the same contents by day, week,
    and month are reported together.

    The cost is the number of collections. MongoDB advises against more than `max_files` collections and indexes on one
    server, but rejects none. If your plan or tsaudit.yaml sets that limit, the finding says how near all of them are to
    it, and when they reach it according to the daily history of their number.

    ## Why it matters

    Each collection, and each of its indexes, is a file. It costs memory, open files, and time at startup and at every
    checkpoint, whether or not anyone reads it. A question about several periods has to query as many collections.

    ## Example

    `users_2012_10_03`, `users_2012w40`, and `users_2012_10` contain the visitors of a day, a week, and a month. After
    two years there are more than 800 of them, although the only question is how many users there were.

    ## Fix

    Use one collection with the period as a field. If only numbers from the past are needed, use one collection of
    counts.

    ## References

    - Too many collections: https://www.mongodb.com/docs/manual/data-modeling/design-antipatterns/reduce-collections/
    - TTL indexes: https://www.mongodb.com/docs/manual/core/index-ttl/
    - Time series collections: https://www.mongodb.com/docs/manual/core/timeseries-collections/
    """
    yield from _databases(case)
    families = collection_families(case.profile)
    if not families:
        return
    files = _files(case, families)
    forecast = _forecast(case, files)
    for family in families:
        beside = [f for f in families if (f.database, f.stem) == (family.database, family.stem) and f is not family]
        yield _finding(case, family, beside, files, forecast)


def _databases(case: Case) -> Iterator[Finding]:
    """The same for databases that are created for each period."""
    from tsaudit.analysis.shapes.periods import period_families

    databases = {database.name: database for database in case.profile.wholes}
    for family in period_families(list(databases), now=case.profile.window.end):
        names = [period.name for period in family.members]
        inside = [m for m in case.measurements if m.database in names]
        kept = [storage for name in names if (storage := databases[name].storage) is not None]
        taken = sum((storage.data_bytes or 0) + (storage.index_bytes or 0) for storage in kept)
        collections = max(len(inside), len(names))
        yield Finding(
            subject=Subject(family.template),
            impact=Impact(
                Currency.FAMILY,
                now=collections,
                per_day=_databases_a_day(case, family) * collections / len(names),
                unit="collections",
                how="collections of the databases, by their names",
            ),
            message=(
                f"{many(len(names), 'database')} named {family.template} contain {many(len(inside), 'collection')}."
            ),
            changes=(OneCollection(Subject(family.template), family.stem or "all_periods"),),
            observed=float(len(names)),
            unit="databases",
            samples=(names[0], names[-1]),
            evidence=(
                Evidence("periods", _periods(family.members[0].start, family.members[-1].start, family.unit)),
                *([Evidence("bytes of documents and indexes", size(taken))] if len(kept) == len(names) else []),
            ),
        )


def _databases_a_day(case: Case, family: PeriodFamily) -> float:
    """How many databases are added; 0 if no more are."""
    last = family.members[-1]
    ended = case.profile.window.end - last.end > last.end - last.start
    return 0.0 if ended else _PER_YEAR[family.unit] / 365


def _files(case: Case, families: Sequence[CollectionFamily]) -> int:
    """Collections and indexes of the server; in a family, all members count with the indexes of the measured ones."""
    usual: dict[tuple[str, str], int] = {}
    for family in families:
        usual |= dict.fromkeys(((family.database, member.name) for member in family.members), family.most_indexes)
    return sum(
        1 + (usual.get((m.database, m.name), 1) if m.indexes is None else len(m.indexes)) for m in case.measurements
    )


def _forecast(case: Case, files: int) -> Forecast | None:
    """When the files reach their limit, by the history of the number of collections; None if they do not grow."""
    from tsaudit.analysis.growth import detection as growth

    count = len(case.measurements)
    points = (*case.timeline.of("measurements", Subject()), Point(case.profile.day, float(count)))
    days, values = [p.day for p in points], [p.value * files / count for p in points]
    if len(points) < 2 or growth.detect(days, values).kind != "growth":
        return None
    return growth.forecast(days, values, case.limit("max_files").value, unit="files")


def _into(family: CollectionFamily, beside: Sequence[CollectionFamily]) -> str:
    """A name for one collection of all periods: days and weeks of one kind of documents are not mixed."""
    stem = family.stem or "all_periods"
    return f"{stem}_by_{family.unit}" if beside else stem


def _finding(
    case: Case, family: CollectionFamily, beside: Sequence[CollectionFamily], files: int, forecast: Forecast | None
) -> Finding:
    count = len(family.members)
    contents = _contents(family)
    limit = case.limit("max_files")
    days = forecast.days if forecast else None
    soon = days is not None and days <= _SOON_DAYS
    is_near = soon or files >= _NEAR * limit.value
    impact = Impact(
        Currency.FAMILY,
        now=count,
        per_day=costs.periods_a_day(case, family),
        unit="collections",
        how="collections whose names differ only in the period",
    )
    if is_near and costs.is_enforced(case, limit, files):
        impact = costs.toward_limit(files, limit.value, limit.unit, days_left=days, how="listed on the whole server")
    reached = f"; {limit_reached(forecast)}" if forecast and soon else ""
    return Finding(
        subject=Subject(family.database, family.template),
        impact=impact,
        message=(f"{many(count, 'collection')} named {family.template}{contents}{reached}."),
        changes=(OneCollection(Subject(family.database, family.template), _into(family, beside)),),
        observed=float(count),
        limit=limit if is_near else None,
        unit="collections",
        samples=tuple(member.name for member in (family.members[0], family.members[-1])),
        evidence=(
            Evidence("periods", _periods(family.members[0].start, family.members[-1].start, family.unit)),
            *_bytes(case, family),
            Evidence("all collections and indexes that were audited", number(files)),
            Evidence("new files a year", number(_PER_YEAR[family.unit] * (1 + family.most_indexes))),
            *_same_thing(beside),
        ),
        forecast=forecast,
        facts=("documents", "row_estimate", "indexes", *(["storage"] if family.measured else [])),
    )


def _periods(first: datetime, last: datetime, unit: str) -> str:
    return f"{day(first)} to {day(last)}, each {unit}"


def _contents(family: CollectionFamily) -> str:
    """What they contain, as far as it is known."""
    data, index, documents = family.data_bytes, family.index_bytes, family.documents
    counted = "" if documents is None else f" contain {many(documents, 'document')}"
    if data is None or index is None:
        return counted
    return f"{f'{counted} in' if counted else ' take'} {size(data)}, and {size(index)} of indexes"


def _bytes(case: Case, family: CollectionFamily) -> Iterator[Evidence]:
    """All, and those that periods that are over would free; nothing if they are not known."""
    taken = total(member.bytes for member in family.members)
    over = [member for member in family.members if member.end <= case.profile.window.end]
    closed = total(member.bytes for member in over)
    if taken is not None and closed is not None:
        yield Evidence("bytes of documents and indexes", f"{size(taken)}, {family.how}")
        yield Evidence("a collection of counts would free", size(max(0.0, closed - _COUNT_BYTES * len(over))))


def _same_thing(beside: Sequence[CollectionFamily]) -> Iterator[Evidence]:
    if beside:
        kept = [f"{f.template} ({number(len(f.members))})" for f in beside]
        yield Evidence("seems to contain the same by other periods", listed(kept))
