"""CAR005."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tsaudit.model.finding import Evidence, Finding, Limit
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Threshold, rule
from tsaudit.rules.merged_families import merged
from tsaudit.text import listed, number

if TYPE_CHECKING:
    from tsaudit.analysis.shapes.shapes import NameFamily

_NO_FAMILY = "Look for things that should be rows of one measurement, and drop what is no longer written."


@rule(
    code="CAR005",
    title="Too many measurements",
    guidelines=("A7",),
    requires={"measurements"},
    thresholds=(Threshold("max_measurements", 1_000, "measurements", "our default: more than anyone can remember"),),
)
def too_many_measurements(case: Case) -> Iterator[Finding]:
    """Databases with more than `max_measurements` measurements or tables.

    It is a note: how near they are to the number that a product allows, SRV003 says, and what a family of names costs,
    NAM002. Collections of documents count if their names are in no family, because NAM002 and DOC001 report the others.
    If only some measurements are audited, the count is a lower bound.

    ## Why it matters

    Measurements are meant for kinds of things, and there are few of those. If every host, customer, or month has its
    own measurement, one question needs many queries, the catalog keeps growing, and every schema change has to be
    repeated many times. It often happens to people who are used to a key-value store.

    ## Example

    `Cpu.server-5.us-west.usage_user` and 800 more such names, where `cpu` with the tags host and region would do.

    ## Fix

    Move the varying part into a tag or column. Drop the period: rows already carry a timestamp.

    ## References

    - Too many measurements, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Schema recommendations: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    """
    most = case.limit("max_measurements")
    for database in case.profile.databases:
        names = [m.name for m in case.measurements if m.database == database.name]
        if len(names) > most.value:
            families = sorted(case.name_families(names), key=lambda f: -len(f.members))
            documents = case.engine.keeps_documents
            yield from (_of_collections if documents else _whole)(database.name, names, families, most)


def _of_collections(database: str, names: list[str], families: list[NameFamily], limit: Limit) -> Iterator[Finding]:
    """Collections that are not in families: two other rules report those."""
    from tsaudit.analysis.shapes.periods import period_families

    known = {name for family in families for name in family.members}
    known |= {period.name for family in period_families(names) for period in family.members}
    rest = sorted(set(names) - known)
    if len(rest) > limit.value:
        beside = f" beside {number(len(known))} in families" if known else ""
        yield Finding(
            subject=Subject(database),
            message=f"{number(len(rest))} collections{beside}, more than {number(limit.value)}.",
            fix="If they contain the same kind of documents, such as those of different customers or devices, write "
            "them to one collection with a field for what the names say, and drop what is no longer written.",
            observed=len(rest),
            limit=limit,
            unit="collections",
            samples=tuple(rest[:3]),
            evidence=(Evidence("collections", listed(rest, 6)),),
            facts=("measurements",),
        )


def _whole(database: str, names: list[str], families: list[NameFamily], limit: Limit) -> Iterator[Finding]:
    in_families = sum(len(f.members) for f in families)
    yield Finding(
        subject=Subject(database),
        message=f"{number(len(names))} measurements, more than {number(limit.value)}"
        + (f"; {number(in_families)} of them have names that differ only in data." if in_families else "."),
        fix="" if families else _NO_FAMILY,
        changes=tuple(merged(database, family) for family in families),
        observed=len(names),
        limit=limit,
        unit="measurements",
        share=in_families / len(names),
        samples=families[0].members[:3] if families else (),
        evidence=(
            Evidence("in families of names", f"{number(in_families)} of {number(len(names))}"),
            *(Evidence(f.template, f"{number(len(f.members))} names") for f in families[:10]),
        ),
        facts=("measurements",),
    )
