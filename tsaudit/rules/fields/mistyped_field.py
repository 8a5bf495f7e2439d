"""FLD002."""

from __future__ import annotations

from collections.abc import Iterator

from tsaudit.engines.sql.roles import names_code
from tsaudit.engines.sql.types import is_text
from tsaudit.model.change import ChangeType
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Field, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, number

_WORDS = {"integer": "whole numbers", "float": "numbers", "boolean": "true and false", "time": "times"}
_FITS = {
    "integer": {"integer", "time"},  # A number with ten digits may be seconds since 1970.
    "float": {"float", "integer", "time"},
    "boolean": {"boolean", "integer"},
    "time": {"time"},
}
"""Patterns for single values of each kind."""


@rule(
    code="FLD002",
    title="A field has a type that does not fit its values",
    severity=Severity.WARN,
    guidelines=("C3",),
    requires={"field_types", "field_values"},
    uses={"row_count", "null_counts"},
    thresholds=(
        Threshold("min_rows", 20, "rows", "our default: with fewer, all may be numbers by chance"),
        Threshold("min_whole_ratio", 1.0, "share of the values", "our default: a single fraction proves a float"),
    ),
)
def mistyped_field(case: Case) -> Iterator[Finding]:
    """Text fields that contain numbers, booleans, or times, and float fields that only contain whole numbers.

    This is based on the values read within the window. Float fields are information only: values that are whole today
    may have a fraction tomorrow. Text with leading zeros and fields named like codes are not reported.

    ## Why it matters

    Text cannot be averaged or compared as numbers (`"9" > "10"`), takes more space, and compresses worse. Queries have
    to cast every value, and fail on a value that cannot be cast.

    ## Example

    `temperature="21.5"` as a string: `mean(temperature)` is an error in InfluxDB, and silently 0 elsewhere.

    ## Fix

    Write whole numbers as integers, decimals as floats, true and false as booleans, and instants as timestamps.

    ## References

    - The best data type:
      https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/best-practices/schema-design/#use-the-best-data-type-for-your-data
    - Field types of InfluxDB:
      https://docs.influxdata.com/influxdb/v1/write_protocols/line_protocol_reference/#data-types
    """
    for measurement in case.measurements:
        rows = measurement.rows
        if rows is None or rows.value < case.limit("min_rows", measurement).value:
            continue
        for field in measurement.fields:
            if kind := _text_kind(field):
                yield _finding(measurement, field, kind, Severity.WARN)
            elif _is_whole(case, measurement, field):
                yield _finding(measurement, field, "integer", Severity.INFO)


def _text_kind(field: Field) -> str | None:
    """The type the values should have; None if they really are text."""
    from tsaudit.analysis.shapes import shapes

    if not all(is_text(t) for t in field.types) or names_code(field.key):
        return None
    return shapes.number_kind(field.sample)


def _is_whole(case: Case, measurement: Measurement, field: Field) -> bool:
    limit = case.limit("min_whole_ratio", measurement).value
    # A single distinct value proves nothing: usually it is zero.
    several = field.distinct is not None and field.distinct.value > 1
    return several and field.whole_ratio is not None and field.whole_ratio.value >= limit


def _all(field: Field, kind: str) -> str:
    """Whether all values read are of the kind, or nearly all."""
    return "nearly all" if _exceptions(field, kind) else "all"


def _exceptions(field: Field, kind: str) -> tuple[str, ...]:
    """Some values that are none of the kind: none of those that were read as numbers is."""
    from tsaudit.analysis.shapes import shapes

    if field.whole_ratio is not None:
        return ()
    return tuple(v for v in field.sample if v.strip() and shapes.number_kind((v,)) not in _FITS[kind])[:5]


def _finding(measurement: Measurement, field: Field, kind: str, severity: Severity) -> Finding:
    stored = " and ".join(field.types)
    return Finding(
        subject=subject_of(measurement, field.key),
        severity=severity,
        message=f"Field {field.key} is stored as {stored}, and {_all(field, kind)} its values are {_WORDS[kind]}.",
        changes=(ChangeType(subject_of(measurement), field.key, kind, _exceptions(field, kind)),),
        guilty=field.key,
        samples=field.sample[:3],
        evidence=(
            Evidence("stored as", stored),
            Evidence("values are", _WORDS[kind]),
            Evidence("distinct values read", count(field.distinct) if field.distinct else number(len(field.sample))),
        ),
        facts=("field_types", "field_values"),
        source=field.distinct.source if field.distinct else None,
    )
