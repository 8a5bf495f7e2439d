"""DOC008."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.finding import Evidence, Finding, Severity, Subject
from tsaudit.phrases import listed, many, number, size
from tsaudit.profile import Database
from tsaudit.rule import Case, Threshold, rule

_PART: Final = re.compile(r"([-_.])")
_FEWEST: Final = 3


@rule(
    code="DOC008",
    title="Each customer has a database of its own",
    severity=Severity.INFO,
    guidelines=("F2",),
    requires={"database_storage", "measurements"},
    thresholds=(
        Threshold("min_databases", 5, "databases", "house judgement: fewer may be environments, or chance"),
        Threshold(
            "max_collections",
            10_000,
            "collections on the server",
            "MongoDB's own advice for a replica set: "
            "https://www.mongodb.com/developer/products/mongodb/schema-design-anti-pattern-massive-number-collections/",
        ),
    ),
    fixes={
        "mongodb": (
            "Know which of three designs you run. A database for each: rights, backups and removal of one are easy; "
            "each collection and index is a file, times {count}, and a change of the schema is made {count} times. One "
            "database with a field that names the customer, first in each index: no such costs; rights have to be kept "
            "by the application. A cluster for each of the few large ones, one database for the others.\n"
            "What each takes: db.adminCommand({{ listDatabases: 1, filter: {{ name: {pattern} }} }})"
        ),
    },
)
def database_per_customer(case: Case) -> Iterator[Finding]:
    """Databases of which many are alike, in their names but for one part, and in their collections.

    That is a choice, and often a good one, so it is information; a warning when the collections of all together come to
    more than `max_collections`.

    ## Why it matters

    The design decides what is easy later: to give one customer's data away, to ask over all customers, to change an
    index. It also decides the number of files: 500 customers with 20 collections of 3 indexes each are 40,000.

    ## Example

    `tenant_0001` to `tenant_0500`, each with `orders`, `users` and `events`.

    ## Fix

    Nothing, if that is what was meant and the number of files stays within what the server is sized for.

    ## References

    - One bucket, one for each user or an organisation for each customer, InfluxData's guide: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Multi-tenant architecture: https://www.mongodb.com/docs/atlas/build-multi-tenant-arch/
    """
    inside: dict[str, set[str]] = defaultdict(set)
    for measurement in case.measurements:
        inside[measurement.database].add(measurement.name)
    families: dict[str, list[Database]] = defaultdict(list)
    for database in case.profile.databases:
        for template in _templates(database.name):
            families[template].append(database)
    told: set[str] = set()
    for template, members in sorted(families.items(), key=lambda one: (-len(one[1]), one[0])):
        alike = [m for m in members if m.name not in told and _alike(inside[m.name], inside[members[0].name])]
        if len(alike) >= case.limit("min_databases").value:
            told |= {m.name for m in alike}
            yield _finding(case, template, alike, inside)


def _templates(name: str) -> Iterator[str]:
    """The name with one of its parts left open: `tenant_0001` as `tenant_{id}`, `acme-shop` as `{id}-shop`."""
    from tsaudit.analysis.shape_rules import is_random

    parts = _PART.split(name)
    for at in range(0, len(parts), 2):
        if len(parts) > 1 and parts[at]:
            yield "".join([*parts[:at], "{id}", *parts[at + 1 :]])
    if numbered := re.fullmatch(r"(\D*[A-Za-z])\d{2,}", name):
        yield f"{numbered[1]}{{id}}"
    if re.fullmatch(r"[0-9a-f]{8,}", name) or is_random(name):
        yield "{id}"


def _alike(one: set[str], other: set[str]) -> bool:
    """Whether two databases have at least half of their collections in common."""
    return 2 * len(one & other) >= max(len(one), len(other)) > 0


def _finding(case: Case, template: str, members: Sequence[Database], inside: dict[str, set[str]]) -> Finding:
    collections = sum(len(inside[m.name]) for m in members)
    sizes = {m.name: (m.storage.data_bytes or 0) + (m.storage.index_bytes or 0) for m in members if m.storage}
    largest = max(sizes, key=lambda name: sizes[name], default="")
    limit = case.limit("max_collections")
    shared = set.intersection(*(inside[m.name] for m in members))
    what = many(len(members), "database")
    return Finding(
        subject=Subject(members[0].name),
        severity=Severity.WARN if collections > limit.value else Severity.INFO,
        message=(f"{what} named {template} hold the same collections, {number(collections)} in all."),
        fix=case.fix(count=number(len(members)), pattern=f"/^{'.*'.join(map(re.escape, template.split('{id}')))}$/"),
        observed=float(collections),
        limit=limit,
        unit="collections",
        samples=tuple(m.name for m in members[:_FEWEST]),
        evidence=(
            Evidence("databases", listed([m.name for m in members], 6)),
            Evidence("collections in each of them", listed(sorted(shared), 6)),
            *([Evidence("bytes of all", size(sum(sizes.values())))] if sizes else []),
            *([Evidence("largest", f"{largest}: {size(sizes[largest])}")] if largest else []),
        ),
        facts=("database_storage", "measurements"),
    )
