"""CAR005."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tsaudit import costs
from tsaudit.model.change import Change
from tsaudit.model.finding import Evidence, Finding, Limit
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Selection
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Threshold, rule
from tsaudit.rules.merged_families import merged
from tsaudit.text import listed, many, number, percent

if TYPE_CHECKING:
    from tsaudit.analysis.shapes.shapes import NameFamily

_NO_FAMILY = "Look for things that should be rows of one measurement, and drop what is no longer written."
_INFLUXDB3 = "https://docs.influxdata.com/influxdb3"


@rule(
    code="CAR005",
    title="Too many measurements",
    costs={Currency.LIMIT},
    guidelines=("A7",),
    requires={"measurements"},
    thresholds=(
        Threshold("max_measurements", 1_000, "measurements", "our default: more than anyone can remember"),
        Threshold(
            "engine_measurements",
            0,
            "measurements",
            "our default: 0 means that the engine documents no limit",
            {
                "influxdb3 Cloud Serverless": (500, f"{_INFLUXDB3}/cloud-serverless/admin/billing/limits/"),
                "influxdb3 Cloud Dedicated": (500, f"{_INFLUXDB3}/cloud-dedicated/admin/databases/#table-limit"),
            },
        ),
        Threshold(
            "server_measurements",
            0,
            "measurements",
            "our default: 0 means that the engine documents no limit",
            {
                "timestream": (50_000, "https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html"),
                "influxdb3 Core": (2_000, f"{_INFLUXDB3}/core/admin/databases/#table-limit"),
                "influxdb3 Enterprise": (10_000, f"{_INFLUXDB3}/enterprise/admin/databases/#table-limit"),
            },
        ),
        Threshold(
            "server_databases",
            0,
            "databases",
            "our default: 0 means that the engine documents no limit",
            {
                "timestream": (500, "https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html"),
                "influxdb3 Core": (5, f"{_INFLUXDB3}/core/admin/databases/#database-limit"),
                "influxdb3 Enterprise": (100, f"{_INFLUXDB3}/enterprise/admin/databases/#database-limit"),
            },
        ),
    ),
)
def too_many_measurements(case: Case) -> Iterator[Finding]:
    """Databases with more than `max_measurements` measurements or tables, or near the product's maximum.

    The product's maximum number of tables is a limit that rejects writes: `engine_measurements` in one database, or
    `server_measurements` in all databases, as InfluxDB 3 Core and Enterprise count them. Everything else is a note.
    Collections of documents count if their names are in no family, because NAM002 and DOC001 report the others. If only
    some databases or measurements are audited, the count is a lower bound. If a server has as many databases as the
    product allows (`server_databases`), that is a note. What a family of names costs by itself, NAM002 says.

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
    names = {d.name: [m.name for m in case.measurements if m.database == d.name] for d in case.profile.databases}
    families = {
        database: sorted(case.name_families(inside), key=lambda f: -len(f.members))
        for database, inside in names.items()
    }
    yield from _server(case, {database: len(inside) for database, inside in names.items()}, families)
    for database, inside in names.items():
        if case.engine.keeps_documents:
            yield from _of_collections(case, database, inside, families[database])
            continue
        if limit := _exceeded(case, len(inside)):
            yield _whole(database, len(inside), families[database], limit)


def _of_collections(case: Case, database: str, names: list[str], families: list[NameFamily]) -> Iterator[Finding]:
    """Collections that are not in families: two other rules report those."""
    from tsaudit.analysis.shapes.periods import period_families

    known = {name for family in families for name in family.members}
    known |= {period.name for family in period_families(names) for period in family.members}
    rest = sorted(set(names) - known)
    if limit := _exceeded(case, len(rest)):
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


def _server(case: Case, counts: dict[str, int], families: dict[str, list[NameFamily]]) -> Iterator[Finding]:
    """Limits on all databases together; at most one finding, because only one per subject is kept."""
    tables, databases = case.limit("server_measurements"), case.limit("server_databases")
    names = sum(counts.values())
    if tables.value and names >= tables.value * case.harm.limit_warning:
        each = ((database, family) for database, found in families.items() for family in found)
        largest = max(each, key=lambda one: len(one[1].members), default=None)
        yield Finding(
            subject=Subject(),
            impact=costs.toward_limit(names, tables.value, tables.unit),
            message=f"{_at_least(case)}{number(names)} measurements in {many(len(counts), 'database')}, "
            f"{percent(names / tables.value)} of the {number(tables.value)} that the product allows in "
            "total.",
            fix="" if largest else _NO_FAMILY,
            changes=_merges(*largest) if largest else (),
            observed=names,
            limit=tables,
            unit="measurements",
            evidence=tuple(
                Evidence(f"in {database}", many(count, "measurement"))
                for database, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))[:10]
            ),
            facts=("measurements",),
        )
    elif databases.value and len(counts) >= databases.value:
        yield Finding(
            subject=Subject(),
            message=f"{_at_least(case)}{many(len(counts), 'database')}, the maximum that the product allows: "
            "creating another one will fail.",
            fix="Keep together what needs no retention and no rights of its own; delete databases that nobody uses.",
            observed=len(counts),
            limit=databases,
            unit="databases",
            evidence=(Evidence("databases", listed(list(counts))),),
            facts=("databases", "measurements"),
        )


def _at_least(case: Case) -> str:
    """A prefix for counts that would be higher if everything on the server were audited."""
    chosen = case.profile.selection
    return "" if chosen == Selection() else "At least "


def _exceeded(case: Case, names: int) -> Limit | None:
    """The engine's limit if the count is near it; otherwise the recommended limit if it is exceeded."""
    engine, recommended = case.limit("engine_measurements"), case.limit("max_measurements")
    if engine.value and names >= engine.value * case.harm.limit_warning:
        return engine
    return recommended if names > recommended.value else None


def _whole(database: str, names: int, families: list[NameFamily], limit: Limit) -> Finding:
    near = limit.name.endswith("engine_measurements")
    reached = f"{percent(names / limit.value)} of the {number(limit.value)} that the product allows"
    in_families = sum(len(f.members) for f in families)
    return Finding(
        subject=Subject(database),
        impact=costs.toward_limit(names, limit.value, limit.unit) if near else None,
        message=f"{number(names)} measurements, {reached if near else f'more than {number(limit.value)}'}"
        + (f"; {number(in_families)} of them have names that differ only in data." if in_families else "."),
        fix="" if families else _NO_FAMILY,
        changes=tuple(change for family in families for change in _merges(database, family)),
        observed=names,
        limit=limit,
        unit="measurements",
        share=in_families / names,
        samples=families[0].members[:3] if families else (),
        evidence=(
            Evidence("in families of names", f"{number(in_families)} of {number(names)}"),
            *(Evidence(f.template, f"{number(len(f.members))} names") for f in families[:10]),
        ),
        facts=("measurements",),
    )


def _merges(database: str, family: NameFamily) -> tuple[Change, ...]:
    return (merged(database, family),)
