"""LAY008."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tsaudit import costs
from tsaudit.model.change import Diagnose
from tsaudit.model.finding import Evidence, Finding, Limit
from tsaudit.model.impact import Currency
from tsaudit.model.profile import Database
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import listed, many, number, size

_PART: Final = re.compile(r"([-_.])")
_FEWEST: Final = 3
_NO_LIMIT: Final = "our default: 0 means that the engine documents no limit"
_INFLUXDB3: Final = "https://docs.influxdata.com/influxdb3"
_TIMESTREAM: Final = "https://docs.aws.amazon.com/timestream/latest/developerguide/ts-limits.html"


@rule(
    code="LAY008",
    title="Each tenant has a separate database",
    costs={Currency.LIMIT},
    guidelines=("F2",),
    requires={"measurements"},
    thresholds=(
        Threshold(
            "min_databases",
            5,
            "databases",
            "our default: fewer may be environments, or coincidence",
            {"influxdb3 Core": (3, f"our default: the product allows five, {_INFLUXDB3}/core/admin/databases/")},
        ),
        Threshold(
            "max_databases",
            0,
            "databases",
            _NO_LIMIT,
            {
                "influxdb3 Core": (5, f"{_INFLUXDB3}/core/admin/databases/#database-limit"),
                "influxdb3 Enterprise": (100, f"{_INFLUXDB3}/enterprise/admin/databases/#database-limit"),
                "timestream": (500, _TIMESTREAM),
            },
        ),
        Threshold(
            "max_measurements",
            0,
            "measurements",
            _NO_LIMIT,
            {
                "timestream": (50_000, _TIMESTREAM),
                "influxdb3 Core": (2_000, f"{_INFLUXDB3}/core/admin/databases/#table-limit"),
                "influxdb3 Enterprise": (10_000, f"{_INFLUXDB3}/enterprise/admin/databases/#table-limit"),
            },
        ),
    ),
)
def database_per_tenant(case: Case) -> Iterator[Finding]:
    """Databases or buckets whose names differ in one part and that contain the same things.

    Names that differ in a day, week, or month do not count. A database per tenant is a choice, and often a good one,
    so the finding is a note. What it may cost is the product's limit: the number of databases is compared with
    `max_databases`, and the measurements in the similar databases with `max_measurements`. The third design, a
    separate organization, account, or server per tenant, is not visible here, because each is its own target.

    ## Why it matters

    The design decides what is easy later: handing over one tenant's data, keeping it longer, querying all tenants,
    changing an index. It also limits the number of tenants: five on InfluxDB 3 Core. In MongoDB, 500 tenants with
    20 collections of 3 indexes each are 40,000 files.

    ## Example

    `tenant_0001` to `tenant_0500`, each with `orders`, `users`, and `events`.

    ## Fix

    Do nothing if this is intended and there is room for more tenants.

    ## References

    - One bucket, one per user, or an organization per customer, InfluxData's guide:
      https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Number of buckets, InfluxDB 2: https://docs.influxdata.com/influxdb/v2/admin/buckets/create-bucket/
    - Databases and access in Timestream:
      https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Multi-tenant architecture, MongoDB: https://www.mongodb.com/docs/atlas/build-multi-tenant-arch/
    """
    from tsaudit.analysis.shapes.periods import period_families

    inside: dict[str, set[str]] = defaultdict(set)
    # Retention policies of one database are not databases of tenants.
    wholes = case.profile.wholes
    for database in wholes:
        inside[database.name] = {measurement.name for measurement in case.profile.inside(database)}
    names = [database.name for database in wholes]
    of_periods = {p.name for family in period_families(names, now=case.profile.window.end) for p in family.members}
    families: dict[str, list[Database]] = defaultdict(list)
    for database in wholes:
        for template in () if database.name in of_periods else _templates(database.name):
            families[template].append(database)
    reported: set[str] = set()
    for template, members in sorted(families.items(), key=lambda one: (-len(one[1]), one[0])):
        alike = [m for m in members if m.name not in reported and _alike(inside[m.name], inside[members[0].name])]
        if len(alike) >= case.limit("min_databases").value:
            reported |= {m.name for m in alike}
            yield _finding(case, template, alike, inside)


def _templates(name: str) -> Iterator[str]:
    """The name with a placeholder for one of its parts: `tenant_0001` as `tenant_{id}`, `acme-shop` as `{id}-shop`."""
    from tsaudit.analysis.shapes.shape_rules import is_random

    parts = _PART.split(name)
    for at in range(0, len(parts), 2):
        if len(parts) > 1 and parts[at]:
            yield "".join([*parts[:at], "{id}", *parts[at + 1 :]])
    if numbered := re.fullmatch(r"(\D*[A-Za-z])\d{2,}", name):
        yield f"{numbered[1]}{{id}}"
    if re.fullmatch(r"[0-9a-f]{8,}", name) or is_random(name):
        yield "{id}"


def _alike(one: set[str], other: set[str]) -> bool:
    """Whether two databases have at least half of their measurements in common."""
    return 2 * len(one & other) >= max(len(one), len(other)) > 0


def _finding(case: Case, template: str, members: Sequence[Database], inside: Mapping[str, set[str]]) -> Finding:
    words = case.engine.words
    measurements = sum(len(inside[m.name]) for m in members)
    # Bytes are shown if another rule had them measured; the verdict does not depend on them.
    sizes = {m.name: (m.storage.data_bytes or 0) + (m.storage.index_bytes or 0) for m in members if m.storage}
    largest = max(sizes, key=lambda name: sizes[name], default="")
    shared = set.intersection(*(inside[m.name] for m in members))
    observed, limit = _nearest_limit(case, measurements)
    message = f"{many(len(members), words.database)} named {template} contain the same {words.measurement}s"
    message += f", {number(measurements)} in total"
    if limit:
        what = words.database if limit.unit == "databases" else words.measurement
        message += f"; the maximum is {many(limit.value, what)}, and there are {number(observed)}"
    return Finding(
        subject=Subject(members[0].name),
        impact=costs.of_hard_limit(observed, limit) if limit else None,
        message=f"{message}.",
        fix=_designs(case, len(members)),
        changes=(Diagnose(Subject(members[0].name), "databases", values=tuple(template.split("{id}"))),),
        observed=float(observed) if limit else float(len(members)),
        limit=limit,
        unit=limit.unit if limit else "databases",
        samples=tuple(m.name for m in members[:_FEWEST]),
        evidence=(
            Evidence(f"{words.database}s", listed([m.name for m in members], 6)),
            Evidence("in each of them", listed(sorted(shared), 6)),
            *([Evidence("bytes of all", size(sum(sizes.values())))] if sizes else []),
            *([Evidence("largest", f"{largest}: {size(sizes[largest])}")] if largest else []),
        ),
        facts=("measurements",),
    )


def _nearest_limit(case: Case, measurements: int) -> tuple[int, Limit | None]:
    """The count nearest to its limit, and that limit; None if there is no limit."""
    counted = (
        (len(case.profile.wholes), case.limit("max_databases")),
        (measurements, case.limit("max_measurements")),
    )
    limited = [(observed, limit) for observed, limit in counted if limit.value]
    return max(limited, key=lambda one: one[0] / one[1].value, default=(0, None))


def _designs(case: Case, count: int) -> str:
    """Which three designs there are, and what each is good for."""
    words = case.engine.words
    return (
        f"Know which of three designs you run. A {words.database} for each: its rights and its {words.retention} are "
        f"its own, and it is dropped at once; a question about all names {number(count)} {words.database}s, and "
        f"whatever is set up or changed is so {number(count)} times. One {words.database} with a {words.tag} that "
        "names the tenant: all is set up once, and one question is about all; rights do not tell them apart. A "
        f"server, an account or an organization for each of the few large ones, one {words.database} for the others."
    )
