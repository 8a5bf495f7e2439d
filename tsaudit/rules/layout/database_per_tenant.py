"""LAY008."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tsaudit.model.figures import Subject
from tsaudit.model.finding import Evidence, Finding
from tsaudit.rule import Case, Threshold, rule
from tsaudit.rules.merged_families import Tenants, tenants
from tsaudit.text import listed, many, number, size

_SHOWN: Final = 3


@rule(
    code="LAY008",
    title="Each tenant has a separate database",
    guidelines=("F2",),
    requires={"measurements"},
    thresholds=(
        Threshold(
            "min_databases",
            5,
            "databases",
            "our default: fewer may be environments, or coincidence",
        ),
    ),
)
def database_per_tenant(case: Case) -> Iterator[Finding]:
    """Databases or buckets whose names differ in one part and that contain the same things.

    Names that differ in a day, week, or month do not count. A database per tenant is a choice, and often a good one,
    so the finding is a note. What it may cost is a limit of the product, which SRV003 reports. The third design, a
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
    for found in tenants(case.profile, round(case.limit("min_databases").value)):
        yield _finding(case, found)


def _finding(case: Case, found: Tenants) -> Finding:
    words, first = case.engine.words, found.databases[0].name
    # Sizes are shown if another rule has had them measured; the verdict does not depend on them.
    sizes = {m.name: (m.storage.data_bytes or 0) + (m.storage.index_bytes or 0) for m in found.databases if m.storage}
    largest = max(sizes, key=lambda name: sizes[name], default="")
    names, count = [m.name for m in found.databases], len(found.databases)
    return Finding(
        subject=Subject(first),
        message=f"{many(count, words.database)} named {found.template} contain the same {words.measurement}s, "
        f"{number(found.measurements)} in total.",
        fix=_designs(case, count),
        observed=float(count),
        unit="databases",
        samples=tuple(names[:_SHOWN]),
        evidence=(
            Evidence(f"{words.database}s", listed(names, 6)),
            Evidence("in each of them", listed(found.shared, 6)),
            *([Evidence("bytes of all", size(sum(sizes.values())))] if sizes else []),
            *([Evidence("largest", f"{largest}: {size(sizes[largest])}")] if largest else []),
        ),
        facts=("measurements",),
    )


def _designs(case: Case, count: int) -> str:
    """The three possible designs, and what each is good for."""
    words = case.engine.words
    return (
        f"Know which of three designs you run. A {words.database} for each: its rights and its {words.retention} are "
        f"its own, and it is dropped at once; a question about all names {number(count)} {words.database}s, and "
        f"whatever is set up or changed is so {number(count)} times. One {words.database} with a {words.tag} that "
        "names the tenant: all is set up once, and one question is about all; rights do not tell them apart. A "
        f"server, an account or an organization for each of the few large ones, one {words.database} for the others."
    )
