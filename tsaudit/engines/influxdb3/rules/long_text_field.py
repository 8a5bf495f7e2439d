"""FLD004."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.analysis.columns.types import is_text
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.profile import TEXT_KEPT, Field, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, number, percent


@rule(
    code="FLD004",
    title="A field contains long texts",
    guidelines=("C3",),
    engines=("influxdb3",),
    requires={"field_types", "field_values"},
    uses={"row_count", "null_counts"},
    thresholds=(
        Threshold("min_share", 0.5, "share of the values read", "our default: a long one now and then is no habit"),
    ),
)
def long_text_field(case: Case) -> Iterator[Finding]:
    """Text fields in which most values are long, such as the bodies of log records, stack traces, and documents.

    An audit keeps the beginning of a value only, so "long" means at least as long as that: 256 characters. The finding
    is only ever a note, because only the queries show how often the texts are read.

    ## Why it matters

    A query that touches the field reads the texts of all rows in its time range. Querying many long strings is slow,
    and they take most of the space, although nothing can be computed from them.

    ## Example

    `body` of a table `logs` with stack traces of 4 kB each, beside `level`, `service`, and `duration`.

    ## Fix

    Keep long texts in a log store or in object storage, and write what is counted and a reference to the text.

    ## References

    - The best data type:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#use-the-best-data-type-for-your-data
    """
    for measurement in case.measurements:
        for field in measurement.fields:
            if field.sample and all(map(is_text, field.types)):
                share = sum(len(value) >= TEXT_KEPT for value in field.sample) / len(field.sample)
                if share >= case.limit("min_share", measurement).value:
                    yield _finding(case, measurement, field, share)


def _finding(case: Case, measurement: Measurement, field: Field, share: float) -> Finding:
    return Finding(
        subject=subject_of(measurement, field.key),
        message=f"Field {field.key} contains long texts: {percent(share)} of the values read have {number(TEXT_KEPT)} "
        "characters or more.",
        fix=f"Where queries seldom need {field.key}, keep it in a log store or in object storage, and write a "
        "reference to it here, with the level, the code, and whatever else is counted.",
        observed=share,
        limit=case.limit("min_share", measurement),
        unit="share of the values read",
        main_contributor=field.key,
        samples=field.sample[:1],
        evidence=(
            Evidence("values read", number(len(field.sample))),
            *([Evidence("rows", count(measurement.rows))] if measurement.rows else []),
        ),
        facts=("field_types", "field_values", "null_counts"),
        source=field.distinct.source if field.distinct else None,
    )
