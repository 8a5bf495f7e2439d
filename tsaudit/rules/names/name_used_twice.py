"""NAM004."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.engines.influx.reach import not_mapped
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.rule import Case, rule, subject_of, table_of


@rule(
    code="NAM004",
    title="A name is both a tag and a field",
    severity=Severity.WARN,
    guidelines=("B6",),
    requires={"tag_keys", "field_types"},
    fixes={
        "influxql": (
            "Rename one of the two in the writer. Until the old points have expired, ask for {name:q}::tag or "
            "{name:q}::field by name{not_mapped}:\n"
            "SELECT {name:q}::field FROM {measurement:q} WHERE {name:q}::tag = '...'"
        ),
    },
)
def name_used_twice(case: Case) -> Iterator[Finding]:
    """Names that a measurement uses for both a tag and a field.

    ## Why it matters

    The server accepts such points without a warning. `SELECT *` then returns the columns `x` and `x_1`, a condition on
    `x` applies to the field, and a query that means the tag finds nothing. InfluxDB 3 rejects such a write, so the data
    cannot be migrated as it is.

    ## Example

    `requests,status=ok status=200`: `WHERE status = 'ok'` compares with the field and finds nothing.

    ## Fix

    Keep the name for the one that queries filter by, and rename the other one after its contents: `status` and
    `status_code`.

    ## References

    - Duplicate names:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#do-not-use-duplicate-names-for-tags-and-fields
    - No warning is given: https://github.com/influxdata/influxdb/issues/7745
    """
    for measurement in case.measurements:
        tags = {tag.key for tag in measurement.tags}
        for field in measurement.fields:
            if field.key in tags:
                yield Finding(
                    subject=subject_of(measurement, field.key),
                    severity=Severity.WARN,
                    message=f"{field.key} is both a tag and a field of {measurement.name}.",
                    fix=case.fix(
                        name=field.key,
                        measurement=table_of(measurement),
                        not_mapped=not_mapped(case, measurement),
                    ),
                    guilty=field.key,
                    evidence=(Evidence("type of the field", " and ".join(field.types)),),
                    facts=("tag_keys", "field_types"),
                )
