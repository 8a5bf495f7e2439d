"""NAM002."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tsaudit import costs
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.shapes.name_families import NameFamily, is_place_name
from tsaudit.analysis.shapes.periods import period_families
from tsaudit.analysis.significance import A_LIST
from tsaudit.model.change import Merged, MergeMeasurements
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, rule, subject_of
from tsaudit.rules.merged_families import families_of_one_schema, grids_of, merged, merged_grid, unmerged, with_quantity
from tsaudit.text import day, listed, many, number, percent, size

if TYPE_CHECKING:
    from tsaudit.analysis.collection_families import CollectionFamily

_FEWEST = 3
"""Fewest measure names that count as differing only in data: two may be two separate things."""

_LARGE: Final = 50
"""Names of a family from which on it is a list of things you run, whatever the columns of its tables are, and is
compared with others: many small ones are not what fills the memory.
"""
_SAME: Final = 0.5
"""Of the data in the names of a large family that another one must contain as well."""


_FAST: Final = 0.05
"""Share of the names that are new each day: a fleet that grows by as much doubles in two weeks."""
_SAMPLE: Final = 1_000
"""Values that show what all of them are."""
_MOST_LISTED: Final = 10
"""Families of one finding that are listed with their number of names."""
_PIECES: Final = re.compile(r"(\{\w+\}|[A-Za-z0-9]+)")
_KIND: Final = re.compile(r"\{(?!field\})\w+\}")
_WORD: Final = re.compile(r"[A-Za-z0-9]+")


@rule(
    code="NAM002",
    title="Names of measurements contain data",
    costs={Currency.FAMILY, Currency.BYTES},
    guidelines=("A4", "A7", "B2", "H1"),
    follows_from={"NAM006": Reach.SUBJECT},
    requires={"measurements", "field_types"},
    # Bytes are shown if another rule had them measured; the verdict does not depend on them.
    uses={"measure_names", "documents", "options"},
    by_name=True,
)
def data_in_measurement_name(case: Case) -> Iterator[Finding]:
    """Measurements whose names differ only in data: hosts, regions, IDs, dates, numbers.

    The finding suggests the measurement, tags, and field to write. Families that contain the same data, and at least
    five whose names differ in one word, such as the application, are one finding. Words are data as well if at least
    twelve names of measurements with the same columns combine nearly all words of two lists, such as rooms and
    quantities, or if five differ in one word only and have several numbers each, such as a table per customer. Outside
    of SQL databases, a single name is reported if its parts leave no doubt. On Timestream, the measure names of a table
    are checked too. Collections of documents, and databases of them, are of periods only if several differ in nothing
    but the period, and cover most of the time from the first to the last: `order_201210` alone is not a period.

    In SQL databases, at least five tables of series or events are reported if they have the same columns, and more than
    50 whatever their columns are. Tables of the same readings at several resolutions are not, and neither are tables
    that inherit from another one (PostgreSQL), which already reads all their rows.

    A family costs memory on InfluxDB 1 and 2, open files on MongoDB, and space for each table and its indexes in SQL
    databases: for the names of today, and for those that are added until the horizon.

    ## Why it matters

    Data in a name is not indexed: to select one region or group by host, queries need regular expressions. Every host
    creates a new measurement, so their number keeps growing, and every schema change has to be repeated in all of them.
    In MongoDB, each collection and each of its indexes is a file, which takes memory and time at every checkpoint. One
    question needs many queries.

    ## Example

    `Cpu.server-5.us-west.usage_user value=20.0` should be `cpu,host=server-5,region=us-west usage_user=20.0`.

    ## Fix

    Put the data into tags or columns, and name the field after the measured value. Drop the period: rows already carry
    a timestamp. Telegraf's Graphite parser does this with a template such as `measurement.host.region.field`.

    ## References

    - Data in names:
      https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/#dont-encode-data-in-measurement-names
    - Too many measurements, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Too many collections, MongoDB:
      https://www.mongodb.com/docs/manual/data-modeling/design-antipatterns/reduce-collections/
    - Graphite templates: https://docs.influxdata.com/telegraf/v1/data_formats/input/graphite/
    """
    of, fewest = (_of_tables, A_LIST) if case.engine.infers_roles else (_of_names, 1)
    for database in case.profile.databases:
        inside = {m.name: m for m in unmerged(case, database.name)}
        beyond = () if case.engine.infers_roles else case.profile.beyond_budget.get(database.name, ())
        found = [one for one in of(case, database.name, inside, beyond) if len(one[0].members) >= fewest]
        members = [{one.measurement for one in change.members} for _, change in found]
        large = _large(found)
        for group in _of_one_cause(found, large):
            together = set[str]().union(*(members[place] for place in group if place in large))
            counted = (together if place in large else members[place] for place in group)
            impacts = (costs.of_family(case, database.name, one) for one in counted)
            worst = max((one for one in impacts if one), key=lambda impact: impact.now, default=None)
            count = len(inside) + len(beyond)
            one_cause = [found[place] for place in group]
            endless = _ids(one_cause) if _keep_coming(case, worst) else frozenset()
            yield replace(_finding(case, database.name, one_cause, count, endless), impact=worst)
    for measurement in case.measurements:
        names = [n.name for n in measurement.measure_names.names] if measurement.measure_names else []
        # There is one finding per table, about its largest family.
        largest = max(case.name_families(names), key=lambda family: len(family.members), default=None)
        if largest and len(largest.members) >= _FEWEST:
            yield _of_measure_names(measurement, largest)
    if case.engine.keeps_documents:
        from tsaudit.analysis.collection_families import collection_families

        families = collection_families(case.profile)
        yield from (_of_periods(case, family, families) for family in families)
        yield from _databases(case)


_Family = tuple["NameFamily", MergeMeasurements]
_Families = Iterator[_Family]


_Data = set[tuple[tuple[str, str], ...]]
"""The data in the names of a family: the tags that it suggests, with their values."""


def _large(found: Sequence[_Family]) -> dict[int, _Data]:
    """The positions of large families, with their data, as far as it is not the same in all names of the family."""
    large: dict[int, _Data] = {}
    for place, (_, change) in enumerate(found):
        values = Counter(tag for tag, _ in {pair for one in change.members for pair in one.tags})
        data = {tuple(pair for pair in one.tags if values[pair[0]] > 1) for one in change.members} - {()}
        if len(data) >= _LARGE:
            large[place] = data
    return large


def _of_one_cause(found: Sequence[_Family], large: Mapping[int, _Data]) -> list[list[int]]:
    """The positions of the families, those of one writer side by side: families that contain the same hosts or IDs,
    large ones with the same data of any kind, and at least five that differ in one word of their names, such as the
    application in `<application>.{host}.cpu`. `large`: the result of `_large`.
    """
    alike: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for place, (family, _) in enumerate(found):
        pieces = _PIECES.split(family.template)
        for at, word in enumerate(pieces):
            if _WORD.fullmatch(word):
                alike["word", at, (*pieces[:at], *pieces[at + 1 :])].append(place)
        # Of names in one place, some look like hosts and others like numbers.
        alike["kind", _KIND.sub("{}", family.template)].append(place)
    joined = [places for (by, *_), places in alike.items() if len(places) >= (A_LIST if by == "word" else 2)]
    joined += _pairs(large.items(), lambda own, these: min(len(own), len(these)))
    # Many writers count from 1: a few numbers alone do not show that it is the same one.
    data = (
        (place, {one.tags for one in change.members})
        for place, (family, change) in enumerate(found)
        if family.tags and not family.is_numbered
    )
    joined += _pairs(data, lambda own, these: len(own | these))
    return _components(len(found), joined)


def _pairs(families: Iterable[tuple[int, _Data]], size: Callable[[_Data, _Data], int]) -> list[list[int]]:
    """Each family, by its position, with the first one that has more than half of the same data. `size`: of what it is
    half, for two families.
    """
    first, pairs = dict[int, _Data](), list[list[int]]()
    for place, own in families:
        same = next((one for one, these in first.items() if len(own & these) > _SAME * size(own, these)), None)
        if same is None:
            first[place] = own
        else:
            pairs.append([same, place])
    return pairs


def _components(count: int, joined: Iterable[Sequence[int]]) -> list[list[int]]:
    """The numbers below `count`, in groups: those that are in one list, or in lists that have one in common."""
    first = list(range(count))

    def of(place: int) -> int:
        while first[place] != place:
            place = first[place]
        return place

    for places in joined:
        low = min(map(of, places))
        for place in places:
            first[of(place)] = low
    groups: dict[int, list[int]] = defaultdict(list)
    for place in range(count):
        groups[of(place)].append(place)
    return list(groups.values())


def _of_names(case: Case, database: str, inside: Mapping[str, Measurement], beyond: Collection[str]) -> _Families:
    """Families by their names alone, then by words among the names of measurements with the same columns. `beyond`:
    names of further measurements, whose columns are unknown.
    """
    names = [*inside, *beyond]
    families: Sequence[NameFamily] = case.name_families(names)
    if case.engine.keeps_documents:
        families = _of_collections(case, names, families)
    for family in (with_quantity(family, inside) for family in families):
        yield family, merged(database, family, inside)
    taken = {name for family in families for name in family.members} | _in_periods(case, names)
    for grid in grids_of(case, {name: m for name, m in inside.items() if name not in taken}):
        yield grid.family, merged_grid(database, grid)


def _of_tables(case: Case, database: str, inside: Mapping[str, Measurement], beyond: Collection[str]) -> _Families:
    """Large families whatever their columns are, then those of one schema."""
    large = [f for f in case.name_families([*inside, *beyond]) if len(f.members) > _LARGE]
    for family in sorted(large, key=lambda family: -len(family.members)):
        yield family, merged(database, family, inside)
    taken = {name for family in large for name in family.members}
    for family, change in families_of_one_schema(case, database):
        if taken.isdisjoint(family.members):
            yield family, change


def _in_periods(case: Case, names: list[str]) -> set[str]:
    return {p.name for family in period_families(names, now=case.profile.window.end) for p in family.members}


def _of_collections(case: Case, names: list[str], families: Sequence[NameFamily]) -> list[NameFamily]:
    """The families that differ in more than a date, including numbers that could be read as dates.

    Those are reported apart; a date in one or two names may also be a number.
    """
    by_period = _in_periods(case, names)
    dated: dict[str, list[str]] = defaultdict(list)
    for family in families:
        if not family.tags:
            dated[family.template.replace("{date}", "{n}")] += [n for n in family.members if n not in by_period]
    return [replace(f, members=tuple(sorted({*f.members, *dated[f.template]}))) for f in families if f.tags]


def _finding(case: Case, database: str, group: Sequence[_Family], names: int, endless: Set[str]) -> Finding:
    """One finding about families of one cause. `names`: of all measurements of the database. `endless`: the data that
    are IDs, each of which adds series as a tag, too.
    """
    (family, _), *others = group
    tags = {part.name: part.example for part in family.tags if part.name not in endless}
    ids = {part.name: part.example for part in family.tags if part.name in endless}
    count = len(family.members)
    kind = case.engine.words.measurement
    word = "field" if case.engine.keeps_documents else "column" if case.engine.infers_roles else case.engine.words.tag
    proposal = [f"{kind} {family.measurement}"]
    named = [f"{name} (such as {value})" if is_place_name(name) else name for name, value in tags.items()]
    proposal += [f"{word}{'s' if len(tags) > 1 else ''} {listed(named)}"] if tags else []
    proposal += [f"field {family.field}"] if family.field else []
    message = f"{many(count, kind)} named {family.template} should be {listed(proposal)}."
    in_all = count + sum(len(one.members) for one, _ in others)
    if others:
        templates = [one.template for one, _ in others]
        message += f" The same holds for {many(in_all - count, f'more {kind}')} named {listed(templates, 3)}."
    return Finding(
        subject=Subject(database, family.template),
        message=message,
        changes=tuple(_without(change, endless) for _, change in group),
        fix=f"Write what stays the same, such as the name of a job, in place of {listed(list(ids.values()))}, or the "
        "ID as a field: as a tag, it adds as many series as now."
        if ids
        else "",
        observed=in_all,
        unit="names",
        share=in_all / names,
        samples=family.members[:3],
        evidence=(
            Evidence("names", f"{number(count)}: {listed(family.members, 6)}"),
            Evidence(f"share of all {kind}s", percent(in_all / names)),
            *(Evidence(f"{word} {name}", f"e.g. {value}") for name, value in tags.items()),
            *(Evidence(one.template, many(len(one.members), "name")) for one, _ in others[:_MOST_LISTED]),
        ),
        facts=("measurements",),
    )


def _keep_coming(case: Case, impact: Impact | None) -> bool:
    """Whether so many names come a day that they cannot be those of a fleet, and each makes series as a tag, too."""
    is_fast = impact is not None and (impact.per_day or 0.0) >= _FAST * impact.now
    return is_fast and case.engine.has_costly_series


def _ids(families: Sequence[_Family]) -> frozenset[str]:
    """The data in the names that are IDs."""
    values: dict[str, list[str]] = defaultdict(list)
    for tag, value in {pair for _, change in families for one in change.members for pair in one.tags}:
        # A day in the value stands for any day.
        values[tag].append(value.replace("{date}", "20200101"))
    kinds = {tag: shapes.classify(sorted(found)[:_SAMPLE]).kind for tag, found in values.items()}
    return frozenset(tag for tag, kind in kinds.items() if kind in shapes.IDENTIFIER_KINDS)


def _without(change: MergeMeasurements, tags: Set[str]) -> MergeMeasurements:
    members = (replace(one, tags=tuple(pair for pair in one.tags if pair[0] not in tags)) for one in change.members)
    return replace(change, members=tuple(members)) if tags else change


def _of_measure_names(measurement: Measurement, family: NameFamily) -> Finding:
    what = listed([part.name for part in family.tags]) or "the period"
    kind = family.field or family.measurement
    return Finding(
        subject=subject_of(measurement),
        message=f"{many(len(family.members), 'measure name')} such as {family.members[0]} differ only in data: {what}.",
        fix=f"Write the measure name {kind} instead of {family.members[0]}: what varies as dimensions of one table. "
        "Stored records keep the name they have.",
        observed=len(family.members),
        unit="names",
        samples=family.members[:3],
        evidence=(
            Evidence("measure names", f"{number(len(family.members))}: {listed(family.members, 6)}"),
            *(Evidence(f"dimension {part.name}", f"e.g. {part.example}") for part in family.tags),
        ),
        facts=("measure_names",),
        source=measurement.measure_names.count.source if measurement.measure_names else None,
    )


def _of_periods(case: Case, family: CollectionFamily, families: Sequence[CollectionFamily]) -> Finding:
    """Collections that are created for each period, with what they contain, as far as it is known."""
    beside = [f for f in families if (f.database, f.stem) == (family.database, family.stem) and f is not family]
    # Days and weeks of one kind of documents are not mixed.
    into = "_by_".join([family.stem or "all_periods", *([family.unit] if beside else [])])
    count, first, last = len(family.members), family.members[0], family.members[-1]
    periods = tuple(Merged(one.name, (("period", f"{one.start:%Y-%m-%d}"),)) for one in family.members)
    impact = costs.of_family(case, family.database, [one.name for one in family.members])
    taken = family.bytes
    others = [f"{f.template} ({number(len(f.members))})" for f in beside]
    documents = "" if family.documents is None else f" contain {many(family.documents, 'document')} and"
    return Finding(
        subject=Subject(family.database, family.template),
        impact=impact and replace(impact, per_day=costs.periods_a_day(case, family)),
        message=f"{many(count, 'collection')} named {family.template}{documents} should be collection {into} and field "
        "period.",
        fix="An index on the period can let old documents expire (expireAfterSeconds).",
        changes=(MergeMeasurements(Subject(family.database), into, family.template, periods),),
        observed=float(count),
        unit="collections",
        samples=(first.name, last.name),
        evidence=(
            Evidence("periods", f"{day(first.start)} to {day(last.start)}, each {family.unit}"),
            *([] if taken is None else [Evidence("bytes of documents and indexes", f"{size(taken)}, {family.how}")]),
            *([Evidence("seems to contain the same by other periods", listed(others))] if beside else []),
        ),
        facts=("measurements", "documents"),
    )


def _databases(case: Case) -> Iterator[Finding]:
    """Databases that are created for each period."""
    for family in period_families([database.name for database in case.profile.wholes], now=case.profile.window.end):
        names, first, last = [period.name for period in family.members], family.members[0], family.members[-1]
        collections = max(sum(m.database in names for m in case.measurements), len(names))
        yield Finding(
            subject=Subject(family.template),
            impact=Impact(
                Currency.FAMILY,
                now=collections,
                per_day=costs.periods_a_day(case, family) * collections / len(names),
                unit="collections",
                how="collections of the databases, by their names",
            ),
            message=f"{many(len(names), 'database')} named {family.template} with {many(collections, 'collection')} "
            "should be one.",
            fix="Write the documents of all periods to one database, each with its period as a date in a field.",
            observed=float(len(names)),
            unit="databases",
            samples=(names[0], names[-1]),
            evidence=(Evidence("periods", f"{day(first.start)} to {day(last.start)}, each {family.unit}"),),
        )
