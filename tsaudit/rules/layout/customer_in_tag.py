"""LAY009."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tsaudit.engines.influx.reach import server_name
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Count, Database, Measurement
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, Threshold, rule
from tsaudit.text import listed, number, values_of

_CUSTOMER: Final = re.compile(
    r"(?:tenant|customer|org|organi[sz]ation|account)(?:[-_ ]?(?:id|key|code|no|number|name|uuid|slug))?", re.IGNORECASE
)
"""Names that identify customers, as one word or two, including `customerId`."""


@rule(
    code="LAY009",
    title="Customers share a database, separated by a tag",
    severity=Severity.INFO,
    guidelines=("F2",),
    requires={"measurements", "tag_keys"},
    uses={"tag_values", "documents"},
    thresholds=(
        Threshold(
            "min_share",
            0.5,
            "share of the measurements",
            "our default: in most measurements it is the design, in a few it is a detail",
        ),
        Threshold("min_customers", 2, "values", "our default: with one value, the database belongs to that customer"),
    ),
    fixes={
        "influxdb1": (
            "Nothing, if all customers keep their data equally long and nobody but your own services reads {database}: "
            "rights end at the database. Give a customer that needs more a database of its own, and copy it there day "
            'by day: SELECT * INTO {target:q}."autogen".:MEASUREMENT FROM {source}./.*/ WHERE {tag:q} = '
            "'CUSTOMER' AND "
            "time >= '2026-01-01' AND time < '2026-01-02' GROUP BY *"
        ),
        "influxdb2": (
            "Nothing, if all customers keep their data equally long and nobody but your own services reads {database}: "
            "a token reads the data of all. Give a customer that needs a retention or a token of its own a bucket of "
            "its own, and copy it there day by day: from(bucket: {database:q}) |> range(start: 2026-01-01T00:00:00Z, "
            'stop: 2026-01-02T00:00:00Z) |> filter(fn: (r) => r[{tag:q}] == "CUSTOMER") |> to(bucket: {target:q}). '
            "Give one that needs limits of its own an organization."
        ),
        "influxdb3": (
            "Nothing, if all customers keep their data equally long and nobody but your own services reads {database}: "
            "a token reads the data of all. Where queries name the customer, {tag} is best the first tag of a table; "
            "on Core and Enterprise the first write decides. Write a customer that needs more to a database of its own "
            "({target}); what is stored: SELECT * FROM ... WHERE {tag:q} = 'CUSTOMER'"
        ),
        "timestream": (
            "Nothing, if all customers keep their data equally long under the same key of encryption and nobody but "
            "your own services reads {database}: policies end at the table. Where queries name the customer, make "
            "{tag} the partition key of the tables. Write a customer that needs more to a database of its own "
            "({target})."
        ),
        "mongodb": (
            "Nothing, if the application filters every query by {tag}: rights end at the collection. Let each index "
            "begin with {tag}; where the cluster is sharded, the shard key too. Write a customer that needs more to a "
            "database of its own ({target})."
        ),
    },
)
def customer_in_tag(case: Case) -> Iterator[Finding]:
    """Databases or buckets where a tag in most measurements names the customer; in MongoDB, a field.

    The rule recognizes the tag by its name: tenant, customer, org, organization, or account, alone or followed by a
    word such as id, key, or name. It must have at least `min_customers` values somewhere, and be in at least
    `min_share` of the measurements. This is the design "one database for all customers". The finding is information:
    the design is fine, but other designs suit other needs.

    ## Why it matters

    One database for all is the simplest to query and maintain: one retention, one downsampling job. But it cannot keep
    one customer's data longer than another's, or give someone read access to a single customer. In InfluxDB 1 and 2,
    each customer also multiplies the series.

    ## Example

    `customer_id` and `device_id` are tags of all measurements in the bucket `iot`.

    ## Fix

    Do nothing as long as all customers are treated the same. If retention or permissions differ, use a database per
    customer. For a large customer, use a separate organization, account, or server.

    ## References

    - Single bucket, bucket per user, org per customer, InfluxData's guide:
      https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Databases and access in Timestream:
      https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html
    - Multi-tenant architecture, MongoDB: https://www.mongodb.com/docs/atlas/build-multi-tenant-arch/
    """
    for database in case.profile.databases:
        inside = [m for m in case.measurements if m.database == database.name and (m.tags or m.fields)]
        named: dict[str, dict[str, Count | None]] = {}
        for measurement in inside:
            for key, values in _columns(case, measurement):
                if _CUSTOMER.fullmatch(key.rsplit(".", 1)[-1]):
                    named.setdefault(key, {})[measurement.name] = values
        for key, holding in sorted(named.items(), key=lambda one: (-len(one[1]), one[0]))[:1]:
            customers = _most(holding)
            several = customers is not None and customers.value >= case.limit("min_customers").value
            if customers and several and len(holding) >= case.limit("min_share").value * len(inside):
                yield _finding(case, database, key, customers, holding, inside)


def _columns(case: Case, measurement: Measurement) -> Iterator[tuple[str, Count | None]]:
    """The column that could name a customer, with its number of values; None if not known."""
    yield from ((tag.key, tag.values) for tag in measurement.tags)
    if case.engine.keeps_documents:
        yield from ((field.key, field.distinct) for field in measurement.fields)


def _most(holding: Mapping[str, Count | None]) -> Count | None:
    """The largest of the numbers; None if none is known."""
    return max((values for values in holding.values() if values), key=lambda values: values.value, default=None)


def _finding(
    case: Case,
    database: Database,
    key: str,
    customers: Count,
    holding: Mapping[str, Count | None],
    inside: Sequence[Measurement],
) -> Finding:
    words = case.engine.words
    without = sorted({m.name for m in inside} - holding.keys())
    return Finding(
        subject=Subject(database.name),
        severity=Severity.INFO,
        message=(
            f"One {words.database} for all customers: {key}, with {values_of(customers)}, separates them in "
            f"{number(len(holding))} of {number(len(inside))} {words.measurement}s."
        ),
        fix=case.fix(
            database=database.name,
            source=_source(case, database, inside[0]),
            tag=key,
            target=f"{server_name(database)}_customer",
        ),
        observed=len(holding) / len(inside),
        limit=case.limit("min_share"),
        unit="share of the measurements",
        guilty=key,
        evidence=(
            Evidence(f"with {key}", listed(sorted(holding), 6)),
            Evidence("without it", listed(without, 6)),
        ),
        facts=("documents",) if case.engine.keeps_documents else ("tag_keys", "tag_values"),
        source=customers.source,
    )


def _source(case: Case, database: Database, example: Measurement) -> str:
    """The database and its retention policy as statements name them; an empty policy means the default one."""
    return ".".join(case.quoted([name]) for name in example.path) or f"{case.quoted([database.name])}."
