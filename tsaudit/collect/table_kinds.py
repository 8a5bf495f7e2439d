"""Decides what kind of rows a SQL table has, from its catalog and the rows read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.columns import columns as column_types
from tsaudit.analysis.columns import roles
from tsaudit.analysis.columns.columns import Column, TimeColumn, TimeKind, native
from tsaudit.analysis.columns.name_words import HINT, words_of
from tsaudit.analysis.columns.roles import are_quantities
from tsaudit.analysis.columns.table_kinds import (
    Decided,
    KindEvidence,
    Seen,
    Sources,
    decide,
    ids_of_rows,
    lives,
    never_source,
    sequences,
    sources,
)
from tsaudit.analysis.columns.time_columns import Extent, kind_of
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.significance import ALIKE
from tsaudit.analysis.values.label_sets import label_sets
from tsaudit.collect.draft import Draft, ReadColumn, ReadRows
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.model.profile import TableKind
from tsaudit.text.table_roles import CONFIGURED

NOT_CLASSIFIED: Final = "could not classify this table, so no rule about tags or series evaluates it; set `kind`"
"""The reason if the rows read do not show what kind the table is."""
_LOOKED_AT: Final = 2_000
"""Most rows whose times, labels, and fractions are examined."""
_EXAMINED: Final = 200
"""Most distinct texts of a column that are examined one by one, to recognize what they contain."""
_CATEGORIES: Final = 10
"""A whole-number column with at most this many distinct values contains categories, not measured values."""
_UNIQUE: Final = 0.9
_MIXED: Final = 0.5
_PROSE: Final = frozenset({"log_text", "sql", "url"})


@dataclass(frozen=True, slots=True)
class Kind:
    """What the table's rows are, and why; and the columns that cannot name the source of a row, with the reason."""

    kind: TableKind | None
    reason: str
    never_source: Mapping[str, str]


def kind_of_table(runner: QueryRunner, draft: Draft, time: TimeColumn | None) -> Kind:
    """The kind of the table. The draft must have its columns; rows read are used if there are any."""
    chosen = runner.target.columns.get(draft.name)
    evidence = _evidence(draft, time)
    never = never_source(evidence)
    if chosen is not None and (chosen.kind or chosen.tags):
        return Kind(chosen.kind or TableKind.SERIES, CONFIGURED, never)
    said = [column.role for column in draft.columns if column.role is not None]
    if said:
        return Kind(TableKind.SERIES, "the engine stores series", never)
    before = draft.previous
    decided = decide(evidence, before.kind if before else None)
    if decided is None and before is not None and before.kind is not None and not evidence.rows:
        decided = Decided(before.kind, before.kind_reason)
    if decided is None:
        return Kind(TableKind.OTHER, NOT_CLASSIFIED, never) if evidence.rows else Kind(None, "", never)
    return Kind(decided.kind, decided.reason, never)


def _evidence(draft: Draft, time: TimeColumn | None) -> KindEvidence:

    name = time.name if time else None
    generated = frozenset(c.name for c in draft.columns if c.is_generated and c.key_position is not None)
    base = KindEvidence(draft.columns, name, draft.referred_to, draft.refers, sequences=generated - {name})
    sample = draft.sample
    if sample is None or not sample.num_rows:
        return base
    whole = draft.is_read_whole
    seen = {c.name: _seen(sample.column(c.name), c, whole) for c in draft.columns}
    if time is None:
        return replace(base, seen=seen, rows=sample.num_rows, is_whole=whole, sequences=frozenset())
    times = {name_: found for name_, found in _all_times(sample, draft, time).items() if found is not None}
    changing = lives(time.name, times) if time.name in times else []
    of_others = {life.name for life in changing}
    numbering, found = _sources(sample, draft, time, seen, of_others)
    return KindEvidence(
        columns=draft.columns,
        time=time.name,
        referred_to=draft.referred_to,
        refers=draft.refers,
        seen={key: one for key, one in seen.items() if key not in of_others},
        lives=changing,
        rows=sample.num_rows,
        instants=len(sample.times_us(time.name, time.kind).distinct),
        is_whole=whole,
        regular_share=found.regular_share,
        coverage=found.coverage,
        sequences=numbering,
        is_never_updated=_is_never_updated(draft),
    )


def _is_never_updated(draft: Draft) -> bool:
    """Whether the counters of the server cover all rows, and no update of one."""
    status = draft.measurement.status
    if status is None or "rows_updated" not in status.counters:
        return False
    written, rows = status.counters.get("rows_inserted", 0), status.figures.get("live_rows", 0)
    return not status.counters["rows_updated"] and written >= max(rows, 1)


def _all_times(sample: ReadRows, draft: Draft, time: TimeColumn) -> dict[str, npt.NDArray[np.float64] | None]:
    """Each column that contains times, with the times of the first rows read, as from `_times`; None for the other
    columns.
    """
    found: dict[str, npt.NDArray[np.float64] | None] = {time.name: _times(sample, time.name, time.kind, _LOOKED_AT)}
    for column in draft.columns:
        if column.name != time.name:
            kind = _time_kind(sample.column(column.name).values.slice(0, _LOOKED_AT), column)
            found[column.name] = _times(sample, column.name, kind, _LOOKED_AT) if kind else None
    return found


def _time_kind(values: pa.ChunkedArray, column: Column) -> TimeKind | None:
    """How the column stores times; None if it does not contain times."""
    is_text, is_number = roles.is_text(column.data_type), not native(column) and words_of(column.name) & HINT
    if not (native(column) or is_text or is_number) or column_types.is_list(column.data_type):
        return None
    known = values.drop_null()
    if not len(known):
        return None
    if pa.types.is_timestamp(known.type):
        return native(column)
    try:
        ends = pc.min_max(known).as_py()
    except (NotImplementedError, ValueError, OverflowError):
        return None
    return kind_of(Extent(len(values), len(known), ends["min"], ends["max"]))


def _times(sample: ReadRows, name: str, kind: TimeKind, rows: int | None = None) -> npt.NDArray[np.float64]:
    """Microseconds since 1970; NaN where a row has no time. `rows`: use only this many rows at the beginning; None for
    all.
    """
    values = sample.times_us(name, kind).values
    values = values if rows is None else values.slice(0, rows)
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def _sources(
    sample: ReadRows, draft: Draft, time: TimeColumn, seen: Mapping[str, Seen], times: set[str]
) -> tuple[frozenset[str], Sources]:
    """The key columns that only number rows, and how the sources write."""
    key = [c.name for c in draft.columns if c.key_position is not None]
    able = {c.name: sample.column(c.name).codes for c in draft.columns if c.name in key}
    integers = {
        c.name: sample.column(c.name).codes
        for c in draft.columns
        if c.name in key and c.name != time.name and _may_number(c)
    }
    numbering = sequences(time.name, integers, able) if len(key) > 1 else frozenset()
    numbering |= {c.name for c in draft.columns if c.name in key and c.name != time.name and c.is_generated}
    numbering |= ids_of_rows(key, time.name, {name: seen[name] for name in key if name != time.name}, sample.num_rows)
    named = [
        c.name
        for c in draft.columns
        if c.name not in times | numbering | {time.name}
        and c.refers_to != draft.name
        and _may_name_source(c, seen[c.name])
    ]
    at = _times(sample, time.name, time.kind)
    return numbering, sources({name: sample.column(name).codes for name in named}, key, at)


def _may_number(column: Column) -> bool:
    return column_types.is_integer(column.data_type) and not column.refers_to and not roles.names_id(column.name)


def _may_name_source(column: Column, seen: Seen) -> bool:
    if column.is_unique or seen.is_document or seen.is_prose or seen.is_measure:
        return False
    is_number = seen.is_integer and (roles.names_id(column.name) or column.refers_to or column.key_position is not None)
    return (seen.is_text or bool(is_number) or seen.is_label_set) and not seen.is_unique


def _seen(values: ReadColumn, column: Column, whole: bool) -> Seen:
    """What the values of a column look like. `whole`: whether all rows were read, so that values without repetition are
    evidence.
    """
    rows = values.filled
    if column_types.is_integer(column.data_type):
        distinct = len(values.distinct)
        is_code = roles.names_code(column.name) or column.refers_to or column.is_unique
        several = distinct > _CATEGORIES or (rows < 10 * _CATEGORIES and distinct > 2)
        return Seen(
            distinct, is_integer=True, is_measure=not is_code and several, is_unique=whole and _unique(distinct, rows)
        )
    if _is_decimal(column.data_type):
        is_measure = rows > 0 and (not roles.names_id(column.name) or _has_fractions(values.values.drop_null()))
        return Seen(is_measure=is_measure)
    if _is_structure(column.data_type) or roles.is_text(column.data_type):
        return _seen_text(values, column, rows, whole)
    return Seen()


def _has_fractions(known: pa.ChunkedArray) -> bool:
    """Whether some numbers have a fraction, so that they are no IDs, whatever the column's name."""
    some = known.slice(0, _LOOKED_AT).cast("float64", safe=False)
    return bool(pc.any(pc.not_equal(some, pc.floor(some))).as_py())


def _seen_text(values: ReadColumn, column: Column, rows: int, whole: bool) -> Seen:
    if not rows:
        return Seen(distinct=0, is_text=True)
    if values.may_have_label_sets and label_sets(values.values.drop_null().slice(0, _LOOKED_AT).to_pylist()):
        return Seen(is_label_set=True)
    distinct = len(values.distinct)
    if _is_structure(column.data_type):
        # A structure that is the same in all rows is no document that describes one row.
        return Seen(is_document=distinct > 1 or rows < ALIKE)
    is_value = bool(words_of(column.name) & {"value", "val", "reading", "result", "state"})
    is_named = roles.names_code(column.name) or roles.names_source(column.name) or values.are_names
    some = sorted(values.texts.slice(0, _EXAMINED).to_pylist())
    shape = shapes.classify(some)
    is_measure = values.measured_share >= (_MIXED if is_value else roles.NUMBERS_SHARE) and not is_named
    is_measure = is_measure and (is_value or are_quantities(column.name, some, distinct))
    is_random = shape.kind in shapes.IDENTIFIER_KINDS
    return Seen(
        distinct,
        is_text=True,
        is_measure=is_measure,
        number_share=values.measured_share,
        is_unique=_unique(distinct, rows) and (whole or is_random),
        is_random=is_random,
        is_document=shape.kind == "json",
        is_prose=(values.mean_length > roles.LONG_TEXT and not is_random) or shape.kind in _PROSE,
    )


def _unique(distinct: int, rows: int) -> bool:
    return rows >= ALIKE and distinct >= _UNIQUE * rows


def _is_decimal(data_type: str) -> bool:
    kind = data_type.upper()
    return kind.startswith(("DOUBLE", "FLOAT", "REAL", "NUMERIC", "DECIMAL")) and not column_types.is_list(data_type)


def _is_structure(data_type: str) -> bool:
    kind = data_type.upper()
    return (
        kind.startswith(("MAP", "STRUCT", "JSON", "VARIANT", "XML"))
        or kind.endswith("HSTORE")
        or (column_types.is_list(data_type))
    )
