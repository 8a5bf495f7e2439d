"""NAM005."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from tsaudit import costs
from tsaudit.analysis.shapes.name_families import NameFamily, grids, keyed_fields
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import KeyedFields
from tsaudit.rule import Case, rule, subject_of
from tsaudit.text import listed, many, number, plural

_LEVELS: Final = 10
"""Up to nine tags whose names differ in a number may be levels of a hierarchy; more are a list."""
_MOST_APART: Final = 3
"""Families of one measurement that are findings of their own; with more, one writer has made them all."""
_MOST_LISTED: Final = 10
"""Smaller families of one finding that are listed with their number of names."""


@rule(
    code="NAM005",
    title="Names of tags or fields contain data",
    costs={Currency.FAMILY},
    guidelines=("B4",),
    requires={"field_types"},
    uses={"tag_keys", "documents"},
)
def data_in_key_name(case: Case) -> Iterator[Finding]:
    """Tags or fields of a measurement whose names differ only in data: hosts, regions, IDs, dates, numbers.

    Words are data as well if at least twelve names combine nearly all words of two lists, separated by periods,
    slashes, colons, or blanks. Fewer than ten tags whose names differ only in a number are levels of a hierarchy, and
    no finding. In documents, at least eight dates, IDs, or numbers side by side count, at any depth; where there are
    more than 1,000 different fields, so do 100 side by side in another field, whatever they look like, that contain
    mostly the same or are in few documents each. It is a note: names cost nothing until they reach a limit on columns,
    which near-limit reports, and names and values in an array take no less space. On InfluxDB 1 and 2, which have no
    such limit, it is a warning if the fields of a measurement become `harm.min_names` more in `harm.warning_days`, at
    the rate of the last weeks, or in a week, at that of at least three days if it was even.

    ## Why it matters

    To sum over all servers, a query has to name every column, and has to change with every new one. Each new name is a
    schema change, another column in every row of a table, and counts toward the column limit. In documents, no index
    covers names that are not known in advance, and a validator cannot list them.

    ## Example

    `cpu usage_server-01=12,usage_server-02=30` should be `cpu,host=server-01 usage=12` and `cpu,host=server-02
    usage=30`. In a document, `scores: { "u1001": 7, "u1002": 3 }` should be `scores: [{ k: "u1001", v: 7 }, { k:
    "u1002", v: 3 }]`.

    ## Fix

    Move the varying part into a tag, and keep one field for the measured value. In documents, use the attribute
    pattern: name and value as two fields of a small document in an array, with one index over both.

    ## References

    - Keep tags and fields simple:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#keep-measurement-names-tags-and-fields-simple
    - Data in names: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    - The attribute pattern:
      https://www.mongodb.com/docs/manual/data-modeling/design-patterns/group-data/attribute-pattern/
    """
    if case.engine.keeps_documents:
        yield from case.once_for_family(_in_documents)
        return
    for measurement in case.measurements:
        for role, names in (
            ("tag", [t.key for t in measurement.tags]),
            ("field", [f.key for f in measurement.fields]),
        ):
            families = case.name_families(names)
            rest = set(names) - {name for family in families for name in family.members}
            found = [*families, *(grid.family for grid in grids(rest, strong_only=True))]
            found = [family for family in found if _is_data(role, family)]
            found.sort(key=lambda family: (-len(family.members), family.template))
            groups = [found] if len(found) > _MOST_APART else [[family] for family in found]
            impact = costs.of_field_names(case, measurement) if role == "field" else None
            growing = max(groups, key=partial(_new_names, _names_before(case, measurement)), default=None)
            for group in groups:
                # What all fields of the measurement cost is said once.
                yield _finding(measurement, role, group, impact if group is growing else None)


def _names_before(case: Case, measurement: Measurement) -> frozenset[str]:
    """The names of the measurement's fields in the previous snapshot; empty if there is none."""
    before = case.timeline.earlier(measurement)
    return frozenset(field.key for field in before.fields) if before else frozenset()


def _new_names(before: frozenset[str], group: Sequence[NameFamily]) -> int:
    return sum(name not in before for family in group for name in family.members)


def _is_data(role: str, family: NameFamily) -> bool:
    """Whether the names are no levels of a hierarchy, of which every row has one each."""
    return len(family.members) > (_LEVELS - 1 if family.is_numbered and role == "tag" else 1)


def _finding(measurement: Measurement, role: str, families: Sequence[NameFamily], impact: Impact | None) -> Finding:
    """`families`: the largest one, and smaller ones that one writer has made with it. `impact`: of new names that keep
    coming; None if they do not.
    """
    family, *others = families
    tags = {part.name: part.example for part in family.tags}
    what = f"tag{'s' if len(tags) > 1 else ''} {listed(list(tags))}" if tags else "the row's own timestamp"
    count, rest = len(family.members), sum(len(one.members) for one in others)
    also = f" The same holds for {many(rest, f'more {role}')} named {listed([one.template for one in others], 3)}."
    should = f"should be one {role} {family.measurement} with {what}"
    fix = (
        f"Write one {role} {family.measurement} and what varies as {what}, in a row for each: "
        f"{listed([f'{key}={value}' for key, value in tags.items()] or ['its time'])}. What is stored keeps its names: "
        "read it and write it again, without columns that have no value."
    )
    if impact is not None:
        should = f"have data in their names, and about {many(round(impact.per_day or 0), 'new one')} come a day"
    if impact is not None and tags:
        fix = (
            "If nobody needs them one by one, count them at the writer, or leave them out. Otherwise write a row for "
            f"each, at a time of its own, with {listed(list(tags))} {plural(len(tags), 'as a field', 'as fields')}: as "
            "a tag, each value would be another series. What is stored keeps its names."
        )
    return Finding(
        subject=Subject(measurement.database, measurement.name, family.template),
        impact=impact,
        message=f"{many(count, role)} named {family.template} {should}." + also * bool(others),
        fix=fix,
        observed=count + rest,
        unit="names",
        samples=family.members[:3],
        evidence=(
            Evidence("names", f"{number(count)}: {listed(family.members, 6)}"),
            *(Evidence(one.template, many(len(one.members), "name")) for one in others[:_MOST_LISTED]),
            *(Evidence(f"tag {name}", f"e.g. {value}") for name, value in tags.items()),
        ),
        facts=("field_types", "tag_keys"),
    )


def _in_documents(measurement: Measurement) -> Iterator[Finding]:
    if measurement.documents is not None:
        for found in (*measurement.documents.keyed, *keyed_fields(field.key for field in measurement.fields)):
            yield _of_documents(measurement, found)


def _of_documents(measurement: Measurement, found: KeyedFields) -> Finding:
    assert measurement.documents is not None
    path, count = found.path, len(found.names)
    name = found.above or "values"
    return Finding(
        subject=subject_of(measurement, path),
        message=f"{many(count, 'field')} named {path} have data in their names.",
        fix=f'Write an array {name} of names and values, {{ k: "{found.names[0]}", v: ... }} for each, with one index '
        f"on {name}.k and {name}.v. Stored documents can stay as they are, if readers know both forms.",
        observed=count,
        unit="names",
        main_contributor=path,
        samples=found.names[:3],
        evidence=(
            Evidence("names", f"{number(count)}: {listed(found.names, 6)}"),
            Evidence("documents read", number(measurement.documents.read)),
        ),
        facts=("field_types", "documents"),
        source=measurement.documents.source,
    )
