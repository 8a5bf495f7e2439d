"""Finds the role of each column of a SQL table, from the catalog and a sample of its rows.

The labels in a column of label sets become tags if the engine can read single labels; otherwise the column leaves a
gap.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.columns import columns as column_types
from tsaudit.analysis.columns.columns import (
    HINT,
    LONG_TEXT,
    NUMBERS_SHARE,
    Column,
    Table,
    TimeColumn,
    TimeKind,
    Values,
    are_quantities,
    assign,
    label_in,
    may_be_text,
    names_code,
    names_id,
    names_removal,
    names_source,
    native,
    words_of,
)
from tsaudit.analysis.columns.table_kinds import (
    KindEvidence,
    Seen,
    decide,
    ids_of_rows,
    lives,
    never_source,
    sequences,
    sources,
)
from tsaudit.analysis.columns.time_columns import (
    POSSIBLE,
    Extent,
    in_unit,
    instant_of,
    kind_of,
    number_candidates,
    time_candidates,
    time_column,
    units_of_ends,
)
from tsaudit.analysis.shapes import shapes
from tsaudit.analysis.significance import ALIKE, NEARLY_ALL
from tsaudit.analysis.values.label_sets import Labels, label_sets, labels_of
from tsaudit.collect.catalog_facts import single_value
from tsaudit.collect.draft import Draft, ReadColumn, ReadRows
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import (
    EARLIEST,
    LATEST,
    counted_within,
    finds_ranges,
    limit_scan,
    may_look_up_newest,
    may_scan,
    newest_of,
    read_sample,
    sampled,
    times_of,
)
from tsaudit.collect.row_figures import is_float
from tsaudit.engines.queries import query_files
from tsaudit.model.columns import Field, Tag
from tsaudit.model.facts import OfTimeExtents
from tsaudit.model.figures import TEXT_KEPT, Count, How, Reason, Role, TableKind, Window, utc_now
from tsaudit.model.rows import EXPIRY_GRACE, Expiry, OtherTimes
from tsaudit.model.timeline import SAME_DAY
from tsaudit.text import many, span
from tsaudit.text.table_roles import CONFIGURED, NOT_EVALUATED

if TYPE_CHECKING:
    from tsaudit.config.settings import Columns

_SPREAD_ROWS: Final = 10_000
"""About this many rows are read to find the oldest and newest times of a bigger table, if it can read single pages."""
_END: Final = datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)
"""SQLite supports no later time."""
_MARGIN: Final = timedelta(seconds=1)
"""Added to the ends of a window: times stored as text are compared as text, in which `10:00` comes before `10:00:00.0`.
"""
_NEARLY_WHOLE: Final = 0.9
"""Of fewer rows than this share of the estimate, only some pages were read."""
ROLE_ROWS: Final = 1000
"""Enough rows to distinguish names from prose and numbers."""


def find_time(runner: QueryRunner, draft: Draft) -> Draft:
    """Determine the time column, and which rows may be read."""
    if not draft.columns:
        return draft
    chosen = _chosen(runner, draft)
    typed = runner.engine.enforces_types
    candidates = [] if draft.unreadable else _candidates(runner, draft)
    extents = _extents_in_one_unit(runner, draft, candidates) if candidates else {}
    indexed = frozenset(name for i in draft.measurement.indexes or () for name in i.columns if name is not None)
    before = draft.previous.time_column if draft.previous else None
    find = functools.partial(time_column, draft.columns, typed=typed, indexed=indexed, before=before)
    time = find(extents, runner.window, chosen)
    further = [column for column in number_candidates(draft.columns) if column.name not in extents]
    if time is None and extents and further and not (chosen and chosen.time):
        extents |= _extents_in_one_unit(runner, draft, further)
        time = find(extents, runner.window, chosen)
    draft = draft.with_time(time)
    if candidates and not extents and not (chosen and chosen.time):
        reason = runner.why(("time_extents",), draft.database, draft.name)
        names = ", ".join(c.name for c in candidates)
        runner.gap("columns", reason, f"which of {names} is the time is not known", draft.database, draft.name)
    elif time is None and before in extents and extents[before].rows and not draft.unreadable:
        detail = f"the time column of the previous audit was {before}; no column has times in most rows today, so the "
        detail += "rows could not be limited to the window"
        runner.gap("columns", Reason.INCONSISTENT, detail, draft.database, draft.name)
    other_times = tuple(
        found for name in sorted(extents) if (found := _other_times(runner, draft, name, extents[name]))
    )
    expiry = next((one for name in sorted(extents) if (one := _expiry(runner, draft, name, extents[name]))), None)
    if other_times or expiry:
        draft = replace(draft, measurement=replace(draft.measurement, other_times=other_times, expiry=expiry))
    if time is not None and time.name in extents:
        first, last = (instant_of(end, time.kind) for end in (extents[time.name].first, extents[time.name].last))
        is_whole = extents[time.name].rows >= (draft.estimated_rows or 0)
        draft = replace(draft, oldest=first, newest=last if is_whole else None)
    if extents and draft.estimated_rows is None:
        # Without an estimate, all rows are read.
        rows = Count(next(iter(extents.values())).rows, runner.source("time_extents", scope="all rows"))
        draft = replace(draft, counted=rows)
    return draft if draft.unreadable else limit_scan(runner, draft)


def _extents_in_one_unit(runner: QueryRunner, draft: Draft, candidates: Sequence[Column]) -> dict[str, Extent]:
    """What the columns contain. Of numbers in several units since 1970, the times are those in the unit of most: a few
    others, or a 0, would hide the time of the whole table.
    """
    extents = read_extents(runner, draft, [c.name for c in candidates])
    if "null_counts" not in query_files(runner.target.engine) or not may_scan(runner, draft.estimated_rows or 0):
        return extents
    for name, extent in extents.items():
        if units := units_of_ends(name, extent):
            known = read_extents(runner, draft, [name], whole=True).get(name, extent)
            counted = {
                unit: counted_within(runner, draft.with_time(TimeColumn(name, unit, "")), POSSIBLE) for unit in units
            }
            times = {unit: found for unit, found in counted.items() if found}
            # Numbers of any size are times in part by chance, such as fractions of a second in nanoseconds.
            if times and sum(count.value for count, *_ in times.values()) >= NEARLY_ALL * known.values:
                unit = max(times, key=lambda unit: times[unit][0].value)
                count, first, last = times[unit]
                extents[name] = in_unit(known, unit, count.value, first, last)
    return extents


def _expiry(runner: QueryRunner, draft: Draft, name: str, extent: Extent) -> Expiry | None:
    """Rows that may have been removed according to the column; None if it does not say that, or there are none, or new
    rows do not get such a time. One statement if there are some.
    """
    if not names_removal(name):
        return None
    column = next(column for column in draft.columns if column.name == name)
    kind = (native(column) if runner.engine.enforces_types else None) or kind_of(extent)
    first, last = (instant_of(end, kind) for end in (extent.first, extent.last))
    now, rows = runner.window.end, max(draft.estimated_rows or 0, extent.rows)
    if kind is None or first is None or last is None or not may_scan(runner, rows):
        return None
    if not first < now - EXPIRY_GRACE < now < last:
        return None
    counted = counted_within(runner, draft.with_time(TimeColumn(name, kind, "")), Window(EARLIEST, now - EXPIRY_GRACE))
    return Expiry(name, first, last, rows, counted[0]) if counted else None


def _other_times(runner: QueryRunner, draft: Draft, name: str, extent: Extent) -> OtherTimes | None:
    """Values of the column in another form than most; None if there are none, or neither are times."""
    other = replace(extent, first=extent.other, last=extent.other, values=extent.others)
    if not extent.values or not extent.others or not (kind_of(extent) or kind_of(other)):
        return None
    is_part = extent.rows < _NEARLY_WHOLE * (draft.estimated_rows or 0)
    source = runner.source("time_extents", How.SAMPLED if is_part else How.EXACT, many(extent.rows, "row"))
    usual = str(extent.last)[:TEXT_KEPT]
    return OtherTimes(name, extent.values, usual, extent.others, str(extent.other)[:TEXT_KEPT], source)


def extents_needed(runner: QueryRunner, draft: Draft) -> OfTimeExtents | None:
    """The query that `find_time` needs; None if it needs none."""
    candidates = _candidates(runner, draft)
    return _extents_of(runner, draft, [c.name for c in candidates]) if candidates else None


def assign_roles(runner: QueryRunner, draft: Draft, most: int) -> Draft:
    """Determine kind, tags, and fields of the table; keep the rows read for it, at most `most`. After `find_time`."""
    if not draft.columns:
        return draft
    if not draft.unreadable:
        draft = read_sample(runner, draft, most)
        if draft.is_empty:
            other = _of_other_rows(runner, draft)
            draft = draft if other is draft else read_sample(runner, limit_scan(runner, other), most)
    draft = _with_roles(runner, with_kind(runner, draft), _values(draft))
    draft = open_labels(runner, draft)
    guessed = [t.key for t in draft.tags if t.role_reason.endswith(NOT_EVALUATED)]
    if guessed and "row_sample" not in draft.measurement.statements:
        if draft.unreadable:
            runner.repeat_gap(draft.unreadable, "columns")
        else:
            reason = runner.why(("row_sample",), draft.database, draft.name)
            detail = f"without any rows, {', '.join(guessed)} may be tags or fields"
            runner.gap("columns", reason, detail, draft.database, draft.name)
    return draft


def roles_without_rows(runner: QueryRunner, draft: Draft) -> Draft:
    """The same as `assign_roles`, from the catalog alone, without reading rows."""
    if not draft.columns:
        return draft
    typed = runner.engine.enforces_types
    time = time_column(draft.columns, {}, runner.window, runner.target.columns.get(draft.name), typed=typed)
    return _with_roles(runner, draft.with_time(time), {})


def _with_roles(runner: QueryRunner, draft: Draft, values: dict[str, Values]) -> Draft:
    """The draft with the roles of its columns other than the time. `values`: the sampled values of each column."""
    chosen = runner.target.columns.get(draft.name)
    table = Table(draft.name, draft.measurement.kind, draft.never_source)
    assigned = assign(draft.columns, draft.time, values, table=table, chosen=chosen, previous=draft.previous)
    tags = tuple(
        Tag(
            a.column.name,
            a.column.data_type,
            role_reason=a.reason,
            metrics=a.column.metrics,
            refers_to=a.column.refers_to or "",
        )
        for a in assigned
        if a.role is Role.TAG
    )
    fields = tuple(
        Field(a.column.name, (a.column.data_type,), role_reason=a.reason, refers_to=a.column.refers_to or "")
        for a in assigned
        if a.role is Role.FIELD
    )
    return replace(draft, measurement=replace(draft.measurement, tags=tags, fields=fields))


def _candidates(runner: QueryRunner, draft: Draft) -> list[Column]:
    return time_candidates(draft.columns, runner.target.columns.get(draft.name), typed=runner.engine.enforces_types)


def _chosen(runner: QueryRunner, draft: Draft) -> Columns | None:
    """The roles configured for the table's columns; a column that the table does not have leaves a gap."""
    chosen = runner.target.columns.get(draft.name)
    if chosen is not None:
        named = {*chosen.tags, *chosen.fields, *([chosen.time] if chosen.time else [])}
        columns = {c.name for c in draft.columns}
        for name in sorted(n for n in named - columns if not any(n.startswith(f"{c}.") for c in columns)):
            detail = f"tsaudit.yaml names a column {name}, which the table does not have"
            runner.gap("columns", Reason.FAILED, detail, draft.database, draft.name)
    return chosen


def read_extents(runner: QueryRunner, draft: Draft, names: list[str], *, whole: bool = False) -> dict[str, Extent]:
    """What the columns that may be the time contain. For a big table, pages of all parts are read, unless `whole`."""
    found: list[object] = []

    def consume(batch: pa.RecordBatch) -> None:
        found.extend(map(single_value, batch.columns))

    if runner.query("time_extents", consume, _extents_of(runner, draft, names, whole=whole)) is None or not found:
        return {}
    rows_read, figures, others = found[0], found[1 : 3 * len(names) + 1], found[3 * len(names) + 1 :]
    others = others or [0, None] * len(names)
    each = zip(names, figures[0::3], figures[1::3], figures[2::3], others[0::2], others[1::2], strict=True)
    return {
        name: Extent(int(str(rows_read)), int(str(values)), first, last, int(str(odd)), other)
        for name, values, first, last, odd, other in each
    }


def _extents_of(runner: QueryRunner, draft: Draft, names: list[str], *, whole: bool = False) -> OfTimeExtents:
    """The parameters of `time_extents`."""
    rows, percent = draft.estimated_rows or 0, None
    if rows > _SPREAD_ROWS and not whole:
        percent = f"{100.0 * _SPREAD_ROWS / rows:.6f}"
    texts = [c.name for c in draft.columns if c.name in names and column_types.is_text(c.data_type)]
    return OfTimeExtents(**draft.about(runner.window), columns=names, texts=texts, percent=percent)


def _of_other_rows(runner: QueryRunner, draft: Draft) -> Draft:
    """The draft of a table that has no rows within the audit's window, with a window of its own, or without a time if
    no row has one; the same draft if nothing else can be measured.
    """
    time, chosen = draft.time, runner.target.columns.get(draft.name)
    if time is None or draft.partial_scan:
        return draft
    if "time_extents" not in query_files(runner.target.engine) or not may_scan(runner, draft.estimated_rows or 0):
        own = _window_of_newest(runner, draft, time)
    else:
        extent = read_extents(runner, draft, [time.name], whole=True).get(time.name)
        is_never_filled = extent is not None and extent.rows > 0 and not extent.values and not extent.others
        if is_never_filled and not (chosen and chosen.time) and not _was_series(draft):
            return draft.with_time(None)
        own = _own_window(runner, draft, time, extent) if extent else None
    return _within(draft, own) if own else draft


def _was_series(draft: Draft) -> bool:
    """Whether the previous profile has series of it within the audit's window, whose writers may have stopped."""
    before = draft.previous
    return before is not None and before.kind is not None and before.kind.has_series and before.own_window is None


def _within(draft: Draft, window: Window) -> Draft:
    """The draft of a table whose rows are measured within this period instead of the audit's window."""
    assert draft.time is not None
    words = f"no row is within the window, so those from {span(window.start, window.end)} were measured"
    time = replace(draft.time, reason="; ".join(filter(None, (draft.time.reason, words))))
    return replace(draft, measurement=replace(draft.measurement, own_window=window)).with_time(time)


def _window_of_newest(runner: QueryRunner, draft: Draft, time: TimeColumn) -> Window | None:
    """As `_own_window`, of a table of which only the newest row is cheap to look up: one in the future, else one before
    the audit's window where rows of a range of times are found in little time.
    """

    def newest_in(window: Window) -> datetime | None:
        if not may_look_up_newest(runner, draft, window):
            return None
        return newest_of(draft, times_of(runner, sampled(draft, window, [time.name], 1)) or [])

    now, newest = utc_now(), None
    if now - runner.window.end <= SAME_DAY:
        newest = newest_in(Window(max(now, runner.window.end), LATEST))
    # Where tags are declared, such a table has ended, and a service may charge for looking through all of it.
    may_be_at_rest = runner.engine.infers_roles and not _was_series(draft)
    if newest is None and may_be_at_rest and finds_ranges(runner, draft):
        newest = newest_in(Window(EARLIEST, runner.window.start))
    return Window(newest - runner.target.window, newest + _MARGIN) if newest else None


def _own_window(runner: QueryRunner, draft: Draft, time: TimeColumn, extent: Extent) -> Window | None:
    """The period in which to measure a table that has no rows within the audit's window; None: the audit's window. A
    small enough table is measured as a whole, otherwise its newest part is, which is as long as the audit's window.

    Only tables whose newest rows are in the future, as in a schedule, and tables that were already old at their first
    audit have their own period. If writers stopped later, figures of another period must not follow those of earlier
    days. If a past day is audited, rows in its future may not have existed then.
    """
    now, newest = utc_now(), instant_of(extent.last, time.kind)
    if newest is None:
        return None
    if newest < runner.window.start:
        if _was_series(draft):
            return None
    elif newest < now or now - runner.window.end > SAME_DAY:
        return None  # Rows arrived after the window.
    start = newest - runner.target.window
    if extent.rows <= runner.target.budget.max_rows:
        start = min(start, (instant_of(extent.first, time.kind) or start) - _MARGIN)
    return Window(start, newest + min(_MARGIN, _END - newest))


def _values(draft: Draft) -> dict[str, Values]:
    """The sampled values of text and integer columns."""
    found: dict[str, Values] = {}
    if draft.sample is None:
        return found
    for column in draft.columns:
        if column_types.is_integer(column.data_type):
            found[column.name] = _repetition(draft, column.name)
        if may_be_text(column.data_type):
            read = draft.sample.column(column.name)
            found[column.name] = Values(read.filled, read.mean_length, read.measured_share, are_names=read.are_names)
    return found


def _repetition(draft: Draft, name: str) -> Values:
    """How often the numbers of a column repeat: in the table according to its statistics, or in the sample."""
    known = (draft.statistics or {}).get(name)
    if draft.is_too_big and draft.partial_scan and known and known.distinct and not known.at_least:
        count = round(draft.partial_scan.rows_all * (1 - (known.null_ratio or 0.0)))
        return Values(count, 0.0, 1.0, known.distinct)
    values = draft.rows_read.column(name)
    return Values(values.filled, 0.0, 1.0, len(values.distinct))


_ROWS: Final = 10_000
"""Most rows examined for label sets: enough to see whether whole sets repeat."""
_MOST_OPENED: Final = 32
"""Most labels of one column that become tags; the others are a gap."""
_KEYS_NAMED: Final = 3
_INCOMPARABLE: Final = frozenset({"json"})
"""Types that cannot be a tag: unlike jsonb, PostgreSQL cannot compare their values for equality."""


def open_labels(runner: QueryRunner, draft: Draft) -> Draft:
    """Turn the labels in columns of label sets into tags.

    Only for tables that may contain series, and only on engines whose roles tsaudit infers.
    """
    if draft.sample is None or not runner.engine.infers_roles:
        return draft
    if draft.measurement.kind is not None and not draft.measurement.kind.has_series:
        return draft
    chosen = runner.target.columns.get(draft.name)
    for name, labels in _label_columns(draft).items():
        data_type = next(c.data_type for c in draft.columns if c.name == name)
        is_sure = labels.recurring_but_ids and len(labels.keys) <= _MOST_OPENED and not labels.rare
        if is_sure and runner.engine.label("x", data_type, "'x'") is not None:
            draft = _opened(draft, name, labels, chosen)
    return draft


def _opened(draft: Draft, column: str, labels: Labels, chosen: Columns | None) -> Draft:
    sample, tags = draft.rows_read, []
    sets = [labels_of(value) or {} for value in draft.read(Role.FIELD, column).values.to_pylist()]
    for key in sorted(labels.keys):
        name = f"{column}.{key}"
        if sample.has(name) or (chosen is not None and name in chosen.fields):
            continue
        tags.append(Tag(name, "text", role_reason=label_in(column), label_of=column))
        sample = sample.with_column(name, pa.array([one.get(key) for one in sets], pa.string()))
    fields = tuple(f for f in draft.fields if f.key != column or not tags)
    opened = dataclasses.replace(draft.measurement, tags=(*draft.tags, *tags), fields=fields)
    return dataclasses.replace(draft, measurement=opened, sample=sample)


def note_unopened_labels(runner: QueryRunner, draft: Draft) -> Draft:
    """Leave a gap if a column contains label sets that did not become tags: the series are then a lower bound.

    Only on engines whose roles tsaudit infers: an engine that declares its tags counts series by them. If label sets
    never repeat in the rows read, the rows alone do not show whether they are labels: the column is assumed to contain
    labels if not all rows were read and the table also contains numeric measurements.
    """
    if draft.sample is None or draft.measurement.series is None or not runner.engine.infers_roles:
        return draft
    found = _label_columns(draft)
    for column, labels in found.items():
        runner.gap("series_listing", Reason.UNSUPPORTED, _detail(draft, column, labels), draft.database, draft.name)
    if not found:
        return draft
    words = f"label sets in {', '.join(found)} were not split into tags"
    scope = "; ".join(filter(None, (words, draft.measurement.series.source.scope)))
    source = dataclasses.replace(draft.measurement.series.source, how=How.ESTIMATE, scope=scope, is_at_least=True)
    series = dataclasses.replace(draft.measurement.series, source=source)
    return dataclasses.replace(draft, measurement=dataclasses.replace(draft.measurement, series=series))


def _label_columns(draft: Draft) -> dict[str, Labels]:
    """Fields that contain label sets."""
    whole = draft.is_read_whole
    types = [field.types[0] for field in draft.fields]
    measured = any(is_float(kind) or kind.upper().startswith(("NUMERIC", "DECIMAL")) for kind in types)
    found: dict[str, Labels] = {}
    for field in draft.fields:
        if field.role_reason == CONFIGURED or not _may_hold_labels(field.types[0]):
            continue
        column = draft.read(Role.FIELD, field.key)
        cells = column.values.slice(0, _ROWS).drop_null().to_pylist() if column.may_have_label_sets else []
        labels = label_sets(cells) if cells else None
        if labels and (labels.recurring or (measured and (labels.recurring_but_ids or not whole))):
            found[field.key] = labels
    return found


def _may_hold_labels(data_type: str) -> bool:
    kind = data_type.upper()
    is_packed = kind.startswith(("MAP", "STRUCT", "JSON", "VARIANT")) or kind.endswith("HSTORE")
    return is_packed or column_types.is_list(data_type) or column_types.is_text(data_type) or not data_type


def _detail(draft: Draft, column: str, labels: Labels) -> str:
    keys = ", ".join(labels.keys[:_KEYS_NAMED]) + (", ..." if len(labels.keys) > _KEYS_NAMED else "")
    table = draft.name if draft.name.isidentifier() else json.dumps(draft.name, ensure_ascii=False)
    settings = [f"`columns: {{{table}: {{fields: [{column}]}}}}` if it does not identify a source"]
    if next(one.data_type for one in draft.columns if one.name == column).lower() not in _INCOMPARABLE:
        settings.insert(0, f"`columns: {{{table}: {{tags: [{column}]}}}}` to count each set as a value of one tag")
    return (
        f"column {column} contains label sets that were not split into tags: {many(labels.sets, 'distinct set')} of "
        f"{keys} in {many(labels.rows, 'row')} read. There may be more series than were counted; in tsaudit.yaml, set "
        f"{', or '.join(settings)}"
    )


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


def with_kind(runner: QueryRunner, draft: Draft) -> Draft:
    """The draft of a table with its kind, and the columns that cannot name the source of a row. It must have its
    columns and time; rows read are used if there are any.
    """
    evidence = _evidence(draft)
    decided = _decided(runner, draft, evidence)
    kind, reason = decided or (None, "")
    known = replace(draft.measurement, kind=kind, kind_reason=reason)
    return replace(draft, measurement=known, never_source=never_source(evidence))


def _decided(runner: QueryRunner, draft: Draft, evidence: KindEvidence) -> tuple[TableKind, str] | None:
    """The kind of the table, and why; None if nothing shows it."""
    chosen, before = runner.target.columns.get(draft.name), draft.previous
    if chosen is not None and (chosen.kind or chosen.tags):
        return chosen.kind or TableKind.SERIES, CONFIGURED
    if any(column.role is not None for column in draft.columns):
        return TableKind.SERIES, "the engine stores series"
    if decided := decide(evidence, before.kind if before else None):
        return decided
    if evidence.rows:
        return TableKind.OTHER, NOT_CLASSIFIED
    return (before.kind, before.kind_reason) if before and before.kind else None


def _evidence(draft: Draft) -> KindEvidence:
    time = draft.time
    name = time.name if time else None
    generated = frozenset(c.name for c in draft.columns if c.is_generated and c.key_position is not None)
    base = KindEvidence(draft.columns, name, draft.referred_to, draft.refers, sequences=generated - {name})
    sample = draft.sample
    if sample is None:
        return base
    whole = draft.is_read_whole
    seen = {c.name: _seen(sample.column(c.name), c, whole) for c in draft.columns}
    if time is None:
        return replace(base, seen=seen, rows=sample.num_rows, is_whole=whole, sequences=frozenset())
    times = {name_: found for name_, found in _all_times(sample, draft, time).items() if found is not None}
    changing = lives(time.name, times) if time.name in times else []
    of_others = {life.name for life in changing}
    numbering, (regular_share, coverage) = _sources(sample, draft, time, seen, of_others)
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
        regular_share=regular_share,
        coverage=coverage,
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
    """Each column that contains times, with those of the first rows read, as from `_times`; None for others."""
    found: dict[str, npt.NDArray[np.float64] | None] = {time.name: _times(sample, time.name, time.kind, _LOOKED_AT)}
    for column in draft.columns:
        if column.name != time.name:
            kind = _time_kind(sample.column(column.name).values.slice(0, _LOOKED_AT), column)
            found[column.name] = _times(sample, column.name, kind, _LOOKED_AT) if kind else None
    return found


def _time_kind(values: pa.ChunkedArray, column: Column) -> TimeKind | None:
    """How the column stores times; None if it does not contain times."""
    is_text, is_number = may_be_text(column.data_type), not native(column) and words_of(column.name) & HINT
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
    """Microseconds since 1970; NaN where a row has no time. `rows`: so many at the beginning; None for all."""
    values = sample.times_us(name, kind).values
    values = values if rows is None else values.slice(0, rows)
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(), np.float64)


def _sources(
    sample: ReadRows, draft: Draft, time: TimeColumn, seen: Mapping[str, Seen], times: set[str]
) -> tuple[frozenset[str], tuple[float | None, float | None]]:
    """The key columns that only number rows, and how regularly the sources write, and how likely one is known."""
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
    return column_types.is_integer(column.data_type) and not column.refers_to and not names_id(column.name)


def _may_name_source(column: Column, seen: Seen) -> bool:
    if column.is_unique or seen.is_document or seen.is_prose or seen.is_measure:
        return False
    is_number = seen.is_integer and (names_id(column.name) or column.refers_to or column.key_position is not None)
    return (seen.is_text or bool(is_number) or seen.is_label_set) and not seen.is_unique


def _seen(values: ReadColumn, column: Column, whole: bool) -> Seen:
    """What the values of a column look like. `whole`: whether all rows were read, so that no repetition is evidence."""
    rows = values.filled
    if column_types.is_integer(column.data_type):
        distinct = len(values.distinct)
        is_code = names_code(column.name) or column.refers_to or column.is_unique
        several = distinct > _CATEGORIES or (rows < 10 * _CATEGORIES and distinct > 2)
        return Seen(
            distinct, is_integer=True, is_measure=not is_code and several, is_unique=whole and _unique(distinct, rows)
        )
    if _is_decimal(column.data_type):
        is_measure = rows > 0 and (not names_id(column.name) or _has_fractions(values.values.drop_null()))
        return Seen(is_measure=is_measure)
    if _is_structure(column.data_type) or may_be_text(column.data_type):
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
    is_named = names_code(column.name) or names_source(column.name) or values.are_names
    some = sorted(values.texts.slice(0, _EXAMINED).to_pylist())
    shape = shapes.classify(some)
    is_measure = values.measured_share >= (_MIXED if is_value else NUMBERS_SHARE) and not is_named
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
        is_prose=(values.mean_length > LONG_TEXT and not is_random) or shape.kind in _PROSE,
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
