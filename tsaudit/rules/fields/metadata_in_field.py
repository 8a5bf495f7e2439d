"""FLD001."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from tsaudit import costs
from tsaudit.analysis.columns.kind_words import VALUE
from tsaudit.analysis.columns.name_words import words_of
from tsaudit.analysis.columns.roles import names_source
from tsaudit.analysis.columns.types import is_integer, is_text
from tsaudit.model.change import AddIndex, Change, MakeField, MakeTag
from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Basis, Currency, Impact
from tsaudit.model.profile import SERIES_KINDS, Field, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, listed, many, number, percent

_ID_NAME: Final = re.compile(r"(^|_)id$|Id$")
_PASSING_NAME: Final = re.compile(
    r"(?i)(^|_)(trace|span|request|req|correlation|session|message|msg|event|order|job|task|run|build|transaction|tx|"
    r"container|pod|process|thread|batch|invocation|execution|parent|root)(_?u?u?id|_?name|_?kind)?$|"
    r"^(pid|tid|uid|iter|vu)$"
)
"""Names of what passes: each is over soon, and another one follows."""
_STATE_NAME = re.compile(
    r"(^|_)(status|state|level|severity|result|error|message|mode|reason|phase|code|health)$", re.I
)
_SOURCE_KINDS: Final = frozenset({"id", "mac", "ip", "hostname"})
_ENDLESS_KINDS: Final = frozenset({"uuid", "ulid", "hash", "container_id", "pod"})
"""Kinds of IDs of which a program makes new ones all the time, unless their name is that of a thing."""

_SETTABLE: Final = frozenset({"inverted", "skipping", "fulltext"})
"""Kinds of indexes that can be set and unset on a column."""
_MOSTLY_CONSTANT: Final = 0.5
"""Share of the series from which on it is an attribute of the source, which was changed in the others."""


@rule(
    code="FLD001",
    title="A field contains metadata",
    costs={Currency.BYTES, Currency.ANSWERS},
    guidelines=("C1",),
    requires={"field_types", "field_values"},
    uses={"row_count", "row_patterns", "null_counts", "options", "indexes"},
    kinds=SERIES_KINDS,
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
    (`status`, `level`) or describes an event is reported without a plan. IDs of what passes, such as traces, requests,
    and containers, are not reported: as tags they would create series without bound. In GreptimeDB, any column can have
    its own index, so in a table that keeps all rows there is no finding if the field has an index. InfluxDB 3 has no
    index of tags: there, only names of sources that share a series are reported, because their rows overwrite each
    other.

    On PostgreSQL, the cost is what the repeated texts of a source take: for each row the bytes of a value, by those
    read, of which a reference would need four. Elsewhere the finding is a note: most engines keep a repeated text only
    once, and whether anybody filters by it, the database does not say.

    ## Why it matters

    Queries filter and group by metadata. Fields are not indexed, so each such query reads all rows of the measurement.
    InfluxDB cannot group by a field at all. If several sources have no distinguishing tag, they share one series, where
    points with the same timestamp overwrite each other.

    ## Example

    `airSensors` with `sensor_id` as a field: to find the temperature of one sensor, a query reads the rows of all
    eight.

    ## Fix

    Write it as a tag. If it has one value per series, this adds no series. In PostgreSQL, keep the texts in a table of
    their own, and refer to them. A finding that is only a note has no plan: whether the field is metadata depends on
    what queries do with it.

    ## References

    - Tags for metadata, the air sensors: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Tags versus fields: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    """
    from tsaudit.analysis.tables.typed_values import typed_values

    for measurement in case.measurements:
        rows = _rows_read(measurement)
        if rows < case.limit("min_rows", measurement).value:
            continue
        values = typed_values(field.key for field in measurement.fields)
        # What a table of values is about is no metadata of it, whatever it is.
        values |= {field.key for field in measurement.fields if words_of(field.key) <= VALUE}
        for field in (field for field in measurement.fields if field.key not in values):
            if _was_made_field(case, field):
                continue
            if not case.engine.indexes_tag_values:
                # Filtering by a tag or a field costs the same there, but only tags keep rows apart.
                if _mixes_sources(case, measurement, field, rows):
                    yield _of_mixed_sources(case, measurement, field)
            elif _repeats(case, measurement, field, rows) and not _is_passing(field):
                finding = _finding(case, measurement, field)
                is_news = finding.changes and not case.engine.keeps_all_rows(measurement)
                if is_news or not _settable_indexes(measurement, field.key):
                    yield finding


def _was_made_field(case: Case, field: Field) -> bool:
    """Whether it is a field because an earlier audit wanted that: its values, of which few may be read now, were too
    many.
    """
    asked = (one.change for one in case.timeline.wanted)
    return any(isinstance(change, MakeField) and change.tag == field.key for change in asked)


def _rows_read(measurement: Measurement) -> int:
    """The rows that the distinct values were counted in: all of them, or a sample; 0 if that is not known."""
    rows = measurement.rows.value if measurement.rows else 0
    return min(rows, measurement.row_patterns.rows) if measurement.row_patterns else rows


def _mixes_sources(case: Case, measurement: Measurement, field: Field, rows: int) -> bool:
    """Whether rows of one series come from several sources, which only this field names.

    Any number of values may be sources: what was overwritten left fewer rows for each of them.
    """
    many_values = {"max_values": float("inf"), "min_rows_per_value": 2.0}
    varies = field.constant_ratio is not None and field.constant_ratio.value < _MOSTLY_CONSTANT
    is_source = names_source(field.key) and not _STATE_NAME.search(field.key) and not _is_passing(field)
    return is_source and varies and _repeats(case, measurement, field, rows, many_values)


def _is_passing(field: Field) -> bool:
    """Whether its values are IDs or names of what is over soon."""
    from tsaudit.analysis.shapes import shapes

    if _PASSING_NAME.search(field.key):
        return True
    return shapes.classify(field.sample).kind in _ENDLESS_KINDS and not names_source(field.key)


def _repeats(
    case: Case, measurement: Measurement, field: Field, rows: int, limits: Mapping[str, float] | None = None
) -> bool:
    """Whether the field has few repeated values and may be metadata, judging by its type and name."""
    if field.distinct is None or field.null_ratio is None or case.engine.names_itself(field.key):
        return False
    texts = any(is_text(t) for t in field.types) and not _are_numbers(field)
    ids = any(is_integer(t) for t in field.types) and bool(_ID_NAME.search(field.key))
    values, filled = field.distinct.value, rows * (1 - field.null_ratio.value)
    most, each = (
        (limits or {}).get(name, case.limit(name, measurement).value) for name in ("max_values", "min_rows_per_value")
    )
    return (texts or ids) and 2 <= values <= most and filled >= values * each


def _are_numbers(field: Field) -> bool:
    from tsaudit.analysis.shapes import shapes

    return shapes.number_kind(field.sample) is not None and not (names_source(field.key) or _ID_NAME.search(field.key))


def _names_source(field: Field) -> bool:
    from tsaudit.analysis.shapes import shapes

    return names_source(field.key) or shapes.classify(field.sample).kind in _SOURCE_KINDS


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
    # Where all rows are kept, an index serves as well as a place in the key.
    change: Change = MakeTag(subject_of(measurement), field.key)
    if case.engine.keeps_all_rows(measurement):
        change = AddIndex(subject_of(measurement), (field.key,), "inverted")
    what = "index it" if isinstance(change, AddIndex) else "write it as a tag"
    advice = (effect,) if warned else (f"If queries filter or group by it, {what}.", effect)
    evidence = [Evidence("distinct values among the rows read", count(field.distinct))]
    if constant is not None:
        evidence.append(Evidence("series where it never changes", percent(constant.value)))
    return Finding(
        subject=subject_of(measurement, field.key),
        impact=_repeated(case, measurement, field) if warned else None,
        basis=Basis.MEASURED,
        message=f"Field {field.key} has {values}, {habit}: it "
        + ("says where a row comes from." if warned else "may be metadata."),
        fix=" ".join(filter(None, (_served(measurement, field.key), *advice))),
        changes=(change,) if warned else (),
        observed=field.distinct.value,
        limit=case.limit("max_values", measurement),
        unit="distinct values",
        main_contributor=field.key,
        samples=field.sample[:3],
        evidence=tuple(evidence),
        facts=("field_values", "row_count", "null_counts", "indexes"),
        source=field.distinct.source,
    )


_REFERENCE_BYTES: Final = 4
_HEADER_BYTES: Final = 1
"""Of a short text in PostgreSQL."""


def _repeated(case: Case, measurement: Measurement, field: Field) -> Impact | None:
    """The bytes of its texts beyond the first of each; None where a text that repeats takes hardly any, or its length
    is not known.
    """
    rows = measurement.rows_total or measurement.rows
    texts = [value for value in field.sample if value] if any(is_text(t) for t in field.types) else []
    if not case.engine.repeats_texts or rows is None or field.distinct is None or not texts:
        return None
    width = _HEADER_BYTES + sum(len(text.encode()) for text in texts) / len(texts)
    filled = rows.value * (1 - (field.null_ratio.value if field.null_ratio else 0.0))
    saved = max(filled - field.distinct.value, 0) * max(width - _REFERENCE_BYTES, 0)
    how = f"{number(round(filled))} rows with a text of {width:.3g} bytes, of which a reference would need 4"
    return costs.of_bytes(case, measurement, saved, how=how)


def _of_mixed_sources(case: Case, measurement: Measurement, field: Field) -> Finding:
    assert field.distinct is not None
    assert field.constant_ratio is not None
    tags = listed([tag.key for tag in measurement.tags]) or "none"
    return Finding(
        subject=subject_of(measurement, field.key),
        # What was overwritten is gone, so it cannot be counted; what is left is not all that the sources sent.
        impact=Impact(Currency.ANSWERS, how="sources whose rows share a series, among the rows read"),
        message=f"Field {field.key} names {many(field.distinct.value, 'source')} that share a series: of their rows "
        "with the same time, only the last one is kept.",
        fix="Only tags and time distinguish rows. Rows that were overwritten are lost, and have to be written "
        f"again with {field.key} as a tag.",
        changes=(MakeTag(subject_of(measurement), field.key),),
        observed=field.distinct.value,
        limit=case.limit("max_values", measurement),
        unit="distinct values",
        main_contributor=field.key,
        samples=field.sample[:3],
        evidence=(
            Evidence("tags", tags),
            Evidence("distinct values among the rows read", count(field.distinct)),
            Evidence("series where it never changes", percent(field.constant_ratio.value)),
        ),
        facts=("field_values", "row_count", "null_counts"),
        source=field.distinct.source,
    )


def _settable_indexes(measurement: Measurement, column: str) -> set[str]:
    return {i.kind for i in measurement.indexes or () if i.kind in _SETTABLE and i.columns == (column,)}


def _served(measurement: Measurement, column: str) -> str:
    if "inverted" not in _settable_indexes(measurement, column):
        return ""
    return f"{column} has an inverted index, which serves queries that filter by it."
