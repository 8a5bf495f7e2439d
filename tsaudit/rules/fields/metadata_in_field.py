"""FLD001."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tsaudit.analysis.columns.columns import VALUE, is_integer, is_text, names_source, words_of
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL, REPEATS
from tsaudit.model.change import AddIndex, Change, MakeField, MakeTag
from tsaudit.model.columns import Field
from tsaudit.model.figures import How
from tsaudit.model.finding import Basis, Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.rule import Case, Reach, Threshold, rule, subject_of
from tsaudit.text import count, listed, many, number, percent

_ID_NAME: Final = re.compile(r"(^|_)id$|Id$")
_PASSING_NAME: Final = re.compile(
    r"(?i)(^|_)(trace|span|request|req|correlation|session|message|msg|event|order|job|task|run|build|transaction|tx|"
    r"container|pod|process|thread|batch|invocation|execution|parent|root)(_?u?u?id|_?name|_?kind)?$|"
    r"^(pid|tid|uid|iter|vu)$"
)
"""Names of things that are soon over and followed by another one."""
_STATE_NAME = re.compile(
    r"(^|_)(status|state|level|severity|result|error|message|mode|reason|phase|code|health)$", re.I
)
_SOURCE_KINDS: Final = frozenset({"id", "mac", "ip", "hostname"})
_ENDLESS_KINDS: Final = frozenset({"uuid", "ulid", "hash", "pod"})
"""Kinds of IDs of which programs keep generating new ones, unless the column has the name of a thing."""

_SETTABLE: Final = frozenset({"inverted", "skipping", "fulltext"})
"""Kinds of indexes that can be set and unset on a column."""
_MOSTLY_CONSTANT: Final = 0.5
"""If the field never changes in at least this share of the series, it is an attribute of the source, which was changed
in the others.
"""


@rule(
    code="FLD001",
    title="A field contains metadata",
    costs={Currency.ANSWERS},
    guidelines=("C1",),
    follows_from={"NAM004": Reach.SUBJECT},
    requires={"field_types", "field_values"},
    uses={"row_patterns", "null_counts", "options", "indexes"},
    shows={"row_count"},
    engines=lambda engine: not engine.repeats_texts,
    thresholds=(
        Threshold(
            "max_values", 100, "distinct values", "our default: with more values, a tag would cost more than it helps"
        ),
    ),
)
def metadata_in_field(case: Case) -> Iterator[Finding]:
    """Fields that say where a row comes from: texts or IDs with few repeated values, or one value per series.

    The field's values and its name show whether it identifies a source. A text that repeats but looks like a state
    (`status`, `level`) or describes an event is reported without a plan. IDs of what passes, such as traces, requests,
    and containers, are not reported: as tags they would create series without bound. Neither is a field that repeats
    what a tag says in each row read, or one that GreptimeDB has an index on. InfluxDB 3 has no index of tags: there,
    only names of sources that share a series are reported, because their rows overwrite each other.

    Mostly, the finding is a note: these engines keep a repeated text only once, and whether anybody filters by it, the
    database does not say. PostgreSQL and SQLite store it again in each row, which `repeated-text` is about.

    ## Why it matters

    Queries filter and group by metadata. Fields are not indexed, so each such query reads all rows of the measurement.
    InfluxDB cannot group by a field at all. If several sources have no distinguishing tag, they share one series, where
    points with the same timestamp overwrite each other.

    ## Example

    `airSensors` with `sensor_id` as a field: to find the temperature of one sensor, a query reads the rows of all
    eight.

    ## Fix

    Write it as a tag. If it has one value per series, this adds no series. A finding that is only a note has no plan:
    whether the field is metadata depends on what queries do with it.

    ## References

    - Tags for metadata, the air sensors: https://awesome.influxdata.com/docs/part-2/designing-your-schema/
    - Tags versus fields: https://docs.influxdata.com/influxdb/v1/concepts/schema_and_data_layout/
    """
    from tsaudit.analysis.rows.column_groups import typed_values

    for measurement in (m for m in case.measurements if m.has_series):
        rows = _rows_read(measurement)
        if rows < ENOUGH:
            continue
        values, most = typed_values(f.key for f in measurement.fields), case.limit("max_values", measurement).value
        # In a table of values, the columns that name and contain the values are not metadata.
        values |= {field.key for field in measurement.fields if words_of(field.key) <= VALUE}
        for field in (field for field in measurement.fields if field.key not in values):
            if field.same_tag or _was_made_field(case, field):
                continue
            if not case.engine.indexes_tag_values:
                # On these engines, filtering by a tag or a field costs the same, but only tags keep rows of different
                # sources separate.
                if _mixes_sources(case, field, rows):
                    yield _of_mixed_sources(case, measurement, field)
            elif _repeats(case, field, rows, most=most) and not _is_passing(field):
                finding = _finding(case, measurement, field)
                is_news = finding.changes and not case.engine.keeps_all_rows(measurement)
                if is_news or not _settable_indexes(measurement, field.key):
                    yield finding


def _was_made_field(case: Case, field: Field) -> bool:
    """Whether it is a field because an earlier audit asked for that: it had too many values as a tag, although few of
    them may be read now.
    """
    asked = (one.change for one in case.timeline.wanted)
    return any(isinstance(change, MakeField) and change.tag == field.key for change in asked)


def _rows_read(measurement: Measurement) -> int:
    """The number of rows in which distinct values were counted: all rows, or a sample; 0 if it is not known."""
    rows = measurement.rows_known
    return min(rows, measurement.row_patterns.rows) if measurement.row_patterns else rows


def _mixes_sources(case: Case, field: Field, rows: int) -> bool:
    """Whether rows of one series come from several sources that only this field identifies.

    The number of values does not matter, and two rows per value suffice, because rows that were overwritten are
    missing.
    """
    varies = field.constant_ratio is not None and field.constant_ratio.value < _MOSTLY_CONSTANT
    is_source = names_source(field.key) and not _STATE_NAME.search(field.key) and not _is_passing(field)
    return is_source and varies and _repeats(case, field, rows, most=float("inf"), each=2)


def _is_passing(field: Field) -> bool:
    """Whether the field's values are IDs or names of things that are soon over."""
    if _PASSING_NAME.search(field.key):
        return True
    return shapes.classify(field.sample).kind in _ENDLESS_KINDS and not names_source(field.key)


def _repeats(case: Case, field: Field, rows: int, *, most: float, each: int = REPEATS) -> bool:
    """Whether the field has few repeated values and may be metadata, judging by its type and name."""
    if field.distinct is None or field.null_ratio is None or case.engine.names_itself(field.key):
        return False
    texts = any(is_text(t) for t in field.types) and not _are_numbers(field)
    ids = any(is_integer(t) for t in field.types) and bool(_ID_NAME.search(field.key))
    values, filled = field.distinct.value, rows * (1 - field.null_ratio.value)
    return (texts or ids) and 2 <= values <= most and filled >= values * each


def _are_numbers(field: Field) -> bool:
    return shapes.number_kind(field.sample) is not None and not (names_source(field.key) or _ID_NAME.search(field.key))


def _names_source(field: Field) -> bool:
    return names_source(field.key) or shapes.classify(field.sample).kind in _SOURCE_KINDS


def _finding(case: Case, measurement: Measurement, field: Field) -> Finding:
    assert field.distinct is not None
    constant = field.constant_ratio
    is_constant = constant is not None and constant.value >= NEARLY_ALL and len(measurement.tags) > 0
    is_state = bool(_STATE_NAME.search(field.key))
    warned = (is_constant or _names_source(field)) and not is_state
    values = many(field.distinct.value, "distinct value")
    habit = "the same within each series" if is_constant else "which repeat often"
    series = measurement.series.value if measurement.series else 0
    is_certain = constant is not None and constant.source.how is How.EXACT
    effect = (
        f"{'This' if is_certain else 'As far as the rows read show, this'} adds no series."
        if is_constant
        else f"As a tag it would create up to {number(max(series, 1) * field.distinct.value)} series."
    )
    # On engines that keep all rows, an index is as good as a place in the key.
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


def _of_mixed_sources(case: Case, measurement: Measurement, field: Field) -> Finding:
    assert field.distinct is not None
    assert field.constant_ratio is not None
    tags = listed([tag.key for tag in measurement.tags]) or "none"
    how = "sources whose rows share a series, among the rows read"
    missed = f"Queries find one row where several {field.key} sent one each: sums and counts are too low."
    return Finding(
        subject=subject_of(measurement, field.key),
        # Overwritten rows are gone, so they cannot be counted; the remaining ones are not all that the sources sent.
        impact=Impact(Currency.ANSWERS, how=how, consequence=missed),
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
