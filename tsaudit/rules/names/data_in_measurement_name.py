"""NAM002."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tsaudit import costs
from tsaudit.model.change import MergeMeasurements
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.rules.merged_families import grids_of, merged, merged_grid, with_quantity
from tsaudit.text import listed, many, number

if TYPE_CHECKING:
    from tsaudit.analysis.shapes.shapes import NameFamily

_FEWEST = 3
"""Fewest measure names that count as differing only in data: two may be two separate things."""


@rule(
    code="NAM002",
    title="Names of measurements contain data",
    costs={Currency.FAMILY, Currency.BYTES},
    guidelines=("B2", "H1"),
    follows_from={"NAM006": Reach.SUBJECT},
    requires={"measurements", "field_types"},
    uses={"measure_names"},
    thresholds=(Threshold("min_names", 1, "names", "our default: raise it to ignore small families"),),
)
def data_in_measurement_name(case: Case) -> Iterator[Finding]:
    """Measurements whose names differ only in data: hosts, regions, IDs, dates, numbers.

    The finding suggests the measurement, tags, and field to write. A single name is reported only if its parts leave no
    doubt. Words are data as well if at least twelve names of measurements with the same columns combine nearly all
    words of two lists, such as rooms and quantities, if at least twelve things have the same quantities, or if five
    differ in one word only and have several numbers each, such as a table per customer or continent. On Timestream, the
    measure names of a table are checked too, from three of a kind. Periods in names are included, except for
    collections of documents, which collection-per-period covers in more detail.

    ## Why it matters

    Data in a name is not indexed: to select one region or group by host, queries need regular expressions. Every host
    creates a new measurement, so their number keeps growing.

    ## Example

    `Cpu.server-5.us-west.usage_user value=20.0` should be `cpu,host=server-5,region=us-west usage_user=20.0`.

    ## Fix

    Put the data into tags, and name the field after the measured value. Telegraf's Graphite parser does this with a
    template such as `measurement.host.region.field`.

    ## References

    - Data in names:
      https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/#dont-encode-data-in-measurement-names
    - Too many measurements, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Graphite templates: https://docs.influxdata.com/telegraf/v1/data_formats/input/graphite/
    """
    for database in case.profile.databases:
        inside = {m.name: m for m in case.measurements if m.database == database.name}
        families: Sequence[NameFamily] = case.name_families(inside)
        if case.engine.keeps_documents:
            families = _of_collections(case, list(inside), families)
        for family in (with_quantity(family, inside) for family in families):
            if len(family.members) >= case.limit("min_names").value:
                yield _finding(case, database.name, family, merged(database.name, family))
        taken = {name for family in families for name in family.members} | _in_periods(case, list(inside))
        for grid in grids_of(case, {name: m for name, m in inside.items() if name not in taken}):
            if len(grid.members) >= case.limit("min_names").value:
                yield _finding(case, database.name, grid.family, merged_grid(database.name, grid))
    for measurement in case.measurements:
        names = [n.name for n in measurement.measure_names.names] if measurement.measure_names else []
        # There is one finding per table, about its largest family.
        largest = max(case.name_families(names), key=lambda family: len(family.members), default=None)
        if largest and len(largest.members) >= max(case.limit("min_names").value, _FEWEST):
            yield _of_measure_names(case, measurement, largest)


def _in_periods(case: Case, names: list[str]) -> set[str]:
    from tsaudit.analysis.shapes.periods import period_families

    return {p.name for family in period_families(names, now=case.profile.window.end) for p in family.members}


def _of_collections(case: Case, names: list[str], families: Sequence[NameFamily]) -> list[NameFamily]:
    """The families that differ in more than a date, including numbers that could be read as dates.

    collection-per-period reports collections of periods; a date in one or two names may also be a number.
    """
    by_period = _in_periods(case, names)
    dated: dict[str, list[str]] = defaultdict(list)
    for family in families:
        if not family.tags:
            dated[family.template.replace("{date}", "{n}")] += [n for n in family.members if n not in by_period]
    return [replace(f, members=tuple(sorted({*f.members, *dated[f.template]}))) for f in families if f.tags]


def _finding(case: Case, database: str, family: NameFamily, change: MergeMeasurements) -> Finding:
    tags = {part.name: part.example for part in family.tags}
    documents = case.engine.keeps_documents
    word, kind = ("field", "collection") if documents else ("tag", "measurement")
    proposal = [f"{kind} {family.measurement}"]
    proposal += [f"{word}{'s' if len(tags) > 1 else ''} {listed(list(tags))}"] if tags else []
    proposal += [f"field {family.field}"] if family.field else []
    return Finding(
        subject=Subject(database, family.template),
        impact=costs.of_family(case, database, len(family.members)),
        message=f"{many(len(family.members), kind)} named {family.template} should be {listed(proposal)}.",
        changes=(change,),
        observed=len(family.members),
        limit=case.limit("min_names"),
        unit="names",
        samples=family.members[:3],
        evidence=(
            Evidence("names", f"{number(len(family.members))}: {listed(family.members, 6)}"),
            *(Evidence(f"{word} {name}", f"e.g. {value}") for name, value in tags.items()),
        ),
        facts=("measurements",),
    )


def _of_measure_names(case: Case, measurement: Measurement, family: NameFamily) -> Finding:
    what = listed([part.name for part in family.tags]) or "the period"
    kind = family.field or family.measurement
    return Finding(
        subject=subject_of(measurement),
        message=f"{many(len(family.members), 'measure name')} such as {family.members[0]} differ only in data: {what}.",
        fix=f"Write the measure name {kind} instead of {family.members[0]}: what varies as dimensions of one table. "
        "Stored records keep the name they have.",
        observed=len(family.members),
        limit=case.limit("min_names"),
        unit="names",
        samples=family.members[:3],
        evidence=(
            Evidence("measure names", f"{number(len(family.members))}: {listed(family.members, 6)}"),
            *(Evidence(f"dimension {part.name}", f"e.g. {part.example}") for part in family.tags),
        ),
        facts=("measure_names",),
        source=measurement.measure_names.count.source if measurement.measure_names else None,
    )
