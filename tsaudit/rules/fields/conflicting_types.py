"""FLD003."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.engines.influx.reach import not_mapped
from tsaudit.engines.mongodb.collection_families import once_for_family
from tsaudit.engines.sql.types import told_apart
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, rule, subject_of, table_of
from tsaudit.text import listed


@rule(
    code="FLD003",
    title="A field has several types",
    severity=Severity.WARN,
    guidelines=("C7",),
    requires={"field_types"},
    fixes={
        "influxql": (
            "Find the writer that sends {field} as another type than the others, and have all send one: {types} are "
            "stored. What is stored as the wrong type goes with its shards; until then ask for the type by "
            "name{not_mapped}:\n"
            "SELECT {field:q}::{first} FROM {measurement:q}; SELECT {field:q}::{last} FROM {measurement:q}"
        ),
        "mongodb": (
            "Find the writer that sends {field} as another type than the others, have all send one, convert what is "
            "stored, and let a validator refuse the rest: {types} are stored. See some of each:\n"
            "db.getCollection({measurement:q}).find({{ {field:q}: {{ $type: {first:q} }} }}).limit(5)\n"
            "db.getCollection({measurement:q}).find({{ {field:q}: {{ $type: {last:q} }} }}).limit(5)"
        ),
    },
)
def conflicting_types(case: Case) -> Iterator[Finding]:
    """Fields that are stored with more than one type, in different shards or by different writers.

    ## Why it matters

    A query over both shards silently returns only one of the types: the values of the other one are missing from every
    sum and every graph. Within a shard, points with the second type are rejected, so writers lose data. A document
    store rejects nothing, but a range query or sort on the field treats each type separately, and a sum ignores text.
    Number types count as one type there.

    ## Example

    One sensor writes `litres=1i`, the others write `litres=1.0`. Last week's shard contains integers, this week's
    floats, and `mean(litres)` over the month is the mean of the floats only.

    ## Fix

    Decide on one type, usually float, and write it everywhere with explicit syntax (`1.0`, never `1`).

    ## References

    - Field type discrepancies:
      https://docs.influxdata.com/influxdb/v1/query_language/explore-schema/#field-type-discrepancies
    - Write errors:
      https://docs.influxdata.com/influxdb/v1/troubleshooting/errors/#error-partial-write-field-type-conflict
    """
    yield from once_for_family(case.profile, lambda measurement: _judge(case, measurement))


def _judge(case: Case, measurement: Measurement) -> Iterator[Finding]:
    for field in measurement.fields:
        found = told_apart(case.profile.engine, field.types)
        if len(found) < 2:
            continue
        types = listed(found)
        yield Finding(
            subject=subject_of(measurement, field.key),
            severity=Severity.WARN,
            message=f"Field {field.key} is stored as {types}.",
            fix=case.fix(
                field=field.key,
                measurement=table_of(measurement),
                types=types,
                first=found[0],
                last=found[-1],
                not_mapped=not_mapped(case, measurement),
            ),
            observed=float(len(found)),
            unit="types",
            guilty=field.key,
            evidence=(Evidence("types", types),),
            facts=("field_types",),
        )
