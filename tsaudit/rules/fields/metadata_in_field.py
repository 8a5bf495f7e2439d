"""FLD001."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tsaudit.engines.greptimedb.tables import indexes_on, is_append_only
from tsaudit.engines.sql.types import is_integer, is_text
from tsaudit.model.change import AddIndex, MakeTag
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Field, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, many, number, percent

_SOURCE_NAME = re.compile(
    r"(^|_)(id|uuid|serial|name|host|hostname|server|instance|node|device|sensor|machine|meter|station|site|location|room|"
    r"building|region|zone|country|city|tenant|customer|model|vendor|firmware|version|type|kind|unit|owner|team)$|Id$",
    re.IGNORECASE,
)
_STATE_NAME = re.compile(
    r"(^|_)(status|state|level|severity|result|error|message|mode|reason|phase|code|health)$", re.I
)
_SOURCE_KINDS = frozenset({"uuid", "ulid", "id", "mac", "ip", "hostname", "container_id", "pod", "hash"})


@rule(
    code="FLD001",
    title="A field contains metadata",
    severity=Severity.WARN,
    guidelines=("C1",),
    requires={"field_types", "field_values"},
    uses={"row_count", "null_counts", "options", "indexes"},
    thresholds=(
        Threshold(
            "max_values", 100, "distinct values", "our default: with more values, a tag would cost more than it helps"
        ),
        Threshold("min_rows", 100, "rows", "our default: fewer rows do not repeat values"),
        Threshold("min_rows_per_value", 10, "rows per value", "our default: this often is not a coincidence"),
        Threshold("min_constant_ratio", 0.95, "share of the series", "our default: exceptions are mistakes"),
    ),
)
def metadata_in_field(case: Case) -> Iterator[Finding]:
    """Fields that say where a row comes from: texts or IDs with few repeated values, or one value per series.

    The field's values and its name show whether it identifies a source. A text that repeats but looks like a state
    (`status`, `level`) is information only. In GreptimeDB, any column can have its own index, so in a table that keeps
    all rows the finding is information only, and there is no finding if the field has an index.

    ## Why it matters

    Queries filter and group by metadata. Fields are not indexed, so each such query reads all rows of the measurement.
    InfluxDB cannot group by a field at all. If several sources have no distinguishing tag, they share one series, where
    points with the same timestamp overwrite each other.

    ## Example

    `airSensors` with `sensor_id` as a field: to find the temperature of one sensor, a query reads the rows of all
    eight.

    ## Fix

    Write it as a tag. If it has one value per series, this adds no series.

    ## References

    - Tags for metadata, the air sensors: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Tags versus fields: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    """
    for measurement in case.measurements:
        rows = measurement.rows
        if rows is None or rows.value < case.limit("min_rows", measurement).value:
            continue
        for field in measurement.fields:
            if _repeats(case, measurement, field, rows.value):
                finding = _finding(case, measurement, field)
                if finding.severity is not Severity.INFO or not indexes_on(measurement, field.key):
                    yield finding


def _repeats(case: Case, measurement: Measurement, field: Field, rows: int) -> bool:
    """Whether the field has few repeated values and may be metadata, judging by its type and name."""
    if field.distinct is None or field.null_ratio is None or field.key.startswith(case.engine.own_prefixes):
        return False
    texts = any(is_text(t) for t in field.types) and not _are_numbers(field)
    ids = any(is_integer(t) for t in field.types) and bool(re.search(r"(^|_)id$|Id$", field.key))
    values, filled = field.distinct.value, rows * (1 - field.null_ratio.value)
    return (
        (texts or ids)
        and 2 <= values <= case.limit("max_values", measurement).value
        and filled >= values * case.limit("min_rows_per_value", measurement).value
    )


def _are_numbers(field: Field) -> bool:
    from tsaudit.analysis.shapes import shapes

    return shapes.number_kind(field.sample) is not None and not _SOURCE_NAME.search(field.key)


def _names_source(field: Field) -> bool:
    from tsaudit.analysis.shapes import shapes

    return bool(_SOURCE_NAME.search(field.key)) or shapes.classify(field.sample).kind in _SOURCE_KINDS


def _finding(case: Case, measurement: Measurement, field: Field) -> Finding:
    assert field.distinct is not None
    constant = field.constant_ratio
    limit = case.limit("min_constant_ratio", measurement)
    is_constant = constant is not None and constant.value >= limit.value and len(measurement.tags) > 0
    is_state = bool(_STATE_NAME.search(field.key))
    warned = (is_constant or _names_source(field)) and not is_state
    values = many(field.distinct.value, "distinct value")
    habit = "the same within each series" if is_constant else "which repeat often"
    series = measurement.series.value if measurement.series else 0
    effect = (
        "This adds no series."
        if is_constant
        else f"As a tag it would create up to {number(max(series, 1) * field.distinct.value)} series."
    )
    evidence = [Evidence("distinct values among the rows read", count(field.distinct))]
    if constant is not None:
        evidence.append(Evidence("series where it never changes", percent(constant.value)))
    return Finding(
        subject=subject_of(measurement, field.key),
        # A table that keeps all rows anyway can index any column, and its vendor recommends starting without a key.
        severity=Severity.WARN if warned and not is_append_only(measurement) else Severity.INFO,
        message=f"Field {field.key} has {values}, {habit}: it "
        + ("says where a row comes from." if warned else "may be metadata."),
        fix=" ".join(filter(None, (_served(measurement, field.key), effect))),
        # Where all rows are kept, an index serves as well as a place in the key.
        changes=(AddIndex(subject_of(measurement), (field.key,), "inverted"),)
        if is_append_only(measurement)
        else (MakeTag(subject_of(measurement), field.key),),
        observed=field.distinct.value,
        limit=case.limit("max_values", measurement),
        unit="distinct values",
        guilty=field.key,
        samples=field.sample[:3],
        evidence=tuple(evidence),
        facts=("field_values", "row_count", "null_counts", "indexes"),
        source=field.distinct.source,
    )


def _served(measurement: Measurement, column: str) -> str:
    if "inverted" not in indexes_on(measurement, column):
        return ""
    return f"{column} has an inverted index, which serves queries that filter by it."
