"""Finds the role of each column of a SQL table, from the catalog and a sample of its rows.

The labels in a column of label sets become tags if the engine can read single labels; otherwise the column leaves a
gap.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tsaudit.analysis.columns import columns as column_types
from tsaudit.analysis.columns import roles
from tsaudit.analysis.columns.columns import Column, TimeColumn
from tsaudit.analysis.columns.time_columns import Extent, instant_of, kind_of, time_candidates, time_column
from tsaudit.analysis.values.label_sets import Labels, label_sets, labels_of
from tsaudit.collect.batch import prefetch_tables
from tsaudit.collect.catalog_facts import single_value
from tsaudit.collect.column_figures import is_float
from tsaudit.collect.draft import LONGEST, Draft, ReadColumn, ReadRows
from tsaudit.collect.partial_reads import fewer_and_shorter, may_look_up_newest, measure_extent
from tsaudit.collect.query_runner import QueryRunner, keeping
from tsaudit.collect.table_kinds import kind_of_table
from tsaudit.engines.queries import query_files
from tsaudit.model.profile import TEXT_KEPT, Count, Field, How, OtherTimes, Reason, Role, Tag, Window, utc_now
from tsaudit.model.query_parameters import OfRowSample, OfTimeExtents, TablePart
from tsaudit.model.timeline import SAME_DAY
from tsaudit.text import many, span
from tsaudit.text.table_roles import CONFIGURED, NOT_EVALUATED

if TYPE_CHECKING:
    from tsaudit.config.settings import Columns


_SPREAD_ROWS: Final = 10_000
"""About this many rows are read to find the oldest and newest times of a bigger table, if the engine can read single
pages.
"""
EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Earlier values are considered mistakes, not times."""
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""Later values are considered mistakes: nanoseconds since 1970 end soon after."""
_END: Final = datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)
"""SQLite supports no later time."""
_MARGIN: Final = timedelta(seconds=1)
"""Added to the ends of a window: times stored as text are compared as text, in which `10:00` comes before `10:00:00.0`.
"""
_NEARLY_WHOLE: Final = 0.9
"""Of fewer rows than this share of the estimate, only some pages were read."""
_ROLE_ROWS: Final = 1000
"""Enough rows to distinguish names from prose and numbers."""


def find_time(runner: QueryRunner, draft: Draft) -> Draft:
    """Determine the time column, and which rows may be read."""
    if not draft.columns:
        return draft
    chosen = _chosen(runner, draft)
    typed = runner.engine.enforces_types
    candidates = [] if draft.unreadable else _candidates(runner, draft)
    extents = read_extents(runner, draft, [c.name for c in candidates]) if candidates else {}
    indexed = frozenset(c.name for c in candidates for i in draft.measurement.indexes or () if c.name in i.columns)
    before = draft.previous.time_column if draft.previous else None
    time = time_column(draft.columns, extents, runner.window, chosen, typed=typed, indexed=indexed, before=before)
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
    if other_times:
        draft = replace(draft, measurement=replace(draft.measurement, other_times=other_times))
    if time is not None and time.name in extents:
        draft = replace(draft, oldest=instant_of(extents[time.name].first, time.kind))
    if extents and draft.estimated_rows is None:
        # Without an estimate, all rows are read.
        rows = Count(next(iter(extents.values())).rows, runner.source("time_extents", scope="all rows"))
        draft = replace(draft, counted=rows)
    return draft if draft.unreadable else measure_extent(runner, draft)


def _other_times(runner: QueryRunner, draft: Draft, name: str, extent: Extent) -> OtherTimes | None:
    """Values of the column in another form than most; None if there are none, or neither are times."""
    other = replace(extent, first=extent.other, last=extent.other, values=extent.others)
    if not extent.values or not extent.others or not (kind_of(extent) or kind_of(other)):
        return None
    is_part = extent.rows < _NEARLY_WHOLE * (draft.estimated_rows or 0)
    source = runner.source("time_extents", How.SAMPLED if is_part else How.EXACT, many(extent.rows, "row"))
    usual = str(extent.last)[:TEXT_KEPT]
    return OtherTimes(name, extent.values, usual, extent.others, str(extent.other)[:TEXT_KEPT], source)


def prefetch_time(runner: QueryRunner, drafts: Sequence[Draft]) -> None:
    """Query the extents that `find_time` needs, of several tables at once."""
    needed = {id(draft): [] if draft.unreadable else _candidates(runner, draft) for draft in drafts}
    prefetch_tables(
        runner,
        "time_extents",
        [draft for draft in drafts if needed[id(draft)]],
        lambda draft: _extents_of(runner, draft, [c.name for c in needed[id(draft)]]),
        lambda draft: tuple(c.data_type for c in needed[id(draft)]),
    )


def assign_roles(runner: QueryRunner, draft: Draft, sample_wanted: bool) -> Draft:
    """Determine the kind of the table, and its tags and fields; keep the rows read for that. Call after `find_time`."""
    if not draft.columns:
        return draft
    most = _rows_read(runner, sample_wanted)
    if not draft.unreadable:
        draft = read_sample(runner, draft, most)
        if draft.is_empty:
            other = _of_other_rows(runner, draft)
            draft = draft if other is draft else read_sample(runner, measure_extent(runner, other), most)
    kind = kind_of_table(runner, draft, draft.time)
    known = replace(draft.measurement, kind=kind.kind, kind_reason=kind.reason)
    draft = replace(draft, measurement=known, never_source=kind.never_source)
    draft = _with_roles(runner, draft, _values(draft))
    draft = open_labels(runner, draft)
    guessed = [t.key for t in draft.tags if t.role_reason.endswith(NOT_EVALUATED)]
    if guessed and "row_sample" not in draft.measurement.statements:
        reason = runner.why(("row_sample",), draft.database, draft.name)
        detail = f"without any rows, {', '.join(guessed)} may be tags or fields"
        if why := draft.unreadable:
            reason, detail = why.reason, why.detail
        runner.gap("columns", reason, detail, draft.database, draft.name)
    return draft


def prefetch_roles(runner: QueryRunner, drafts: Sequence[Draft], sample_wanted: bool) -> None:
    """Read the rows that `assign_roles` needs, of several tables at once."""
    most = _rows_read(runner, sample_wanted)
    prefetch_tables(
        runner,
        "row_sample",
        drafts,
        lambda draft: _sample_of(runner, draft, most),
        lambda draft: tuple(c.data_type for c in draft.columns),
    )


def _rows_read(runner: QueryRunner, sample_wanted: bool) -> int:
    return runner.rows_each if sample_wanted else min(runner.rows_each, _ROLE_ROWS)


def roles_without_rows(runner: QueryRunner, draft: Draft) -> Draft:
    """The same as `assign_roles`, from the catalog alone, without reading rows."""
    if not draft.columns:
        return draft
    typed = runner.engine.enforces_types
    time = time_column(draft.columns, {}, runner.window, runner.target.columns.get(draft.name), typed=typed)
    return _with_roles(runner, draft.with_time(time), {})


def _with_roles(runner: QueryRunner, draft: Draft, values: dict[str, roles.Values]) -> Draft:
    """The draft with the roles of its columns other than the time. `values`: the sampled values of each column."""
    chosen = runner.target.columns.get(draft.name)
    table = roles.Table(draft.name, draft.measurement.kind, draft.never_source)
    assigned = roles.assign(draft.columns, draft.time, values, table=table, chosen=chosen, previous=draft.previous)
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
        Field(a.column.name, (a.column.data_type,), role_reason=a.reason) for a in assigned if a.role is Role.FIELD
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


def _is_big(draft: Draft) -> bool:
    return draft.estimated_rows is not None and draft.estimated_rows > _SPREAD_ROWS


def read_extents(runner: QueryRunner, draft: Draft, names: list[str], *, whole: bool = False) -> dict[str, Extent]:
    """What the columns that may be the time contain. For a big table, pages from all parts of it are read, unless
    `whole` is set.
    """
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
    percent = None
    if _is_big(draft) and not whole:
        percent = f"{100.0 * _SPREAD_ROWS / (draft.estimated_rows or 1):.6f}"
    texts = [c.name for c in draft.columns if c.name in names and column_types.is_text(c.data_type)]
    return OfTimeExtents(**draft.about(runner.window), columns=names, texts=texts, percent=percent)


def _of_other_rows(runner: QueryRunner, draft: Draft) -> Draft:
    """The draft of a table that has no rows within the audit's window, with a window of its own, or without a time if
    no row has one; the same draft if nothing else can be measured.
    """
    time, chosen = draft.time, runner.target.columns.get(draft.name)
    if time is None or draft.partial_scan:
        return draft
    most = runner.target.budget.max_scan_rows
    if "time_extents" not in query_files(runner.target.engine) or (most and (draft.estimated_rows or 0) > most):
        own = _window_ahead(runner, draft, time)
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


def _window_ahead(runner: QueryRunner, draft: Draft, time: TimeColumn) -> Window | None:
    """As `_own_window`, of a table of which only future rows are cheap to look up."""
    now = utc_now()
    ahead = Window(max(now, runner.window.end), LATEST)
    if now - runner.window.end > SAME_DAY or not may_look_up_newest(runner, draft, ahead):
        return None
    newest = newest_of(draft, times_of(runner, sampled(draft, ahead, [time.name], 1)) or [])
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


def times_of(runner: QueryRunner, given: OfRowSample, *, leave_gap: bool = True) -> list[object] | None:
    """The values of the only column of some rows; None if they could not be read, which leaves a gap unless the fact is
    known without them.
    """
    values: list[object] = []

    def consume(batch: pa.RecordBatch) -> None:
        values.extend(batch.column(0).to_pylist())

    if not leave_gap:
        return None if runner.why_unanswered("row_sample", consume, given) else values
    return None if runner.query("row_sample", consume, given) is None else values


def newest_of(draft: Draft, values: list[object]) -> datetime | None:
    """The newest of these times; None if no value is a time."""
    kind = draft.time.kind if draft.time else None
    return max((time for value in values if (time := instant_of(value, kind))), default=None)


def sampled(
    draft: Draft,
    window: Window,
    names: list[str],
    limit: int,
    part: TablePart | None = None,
    series: Sequence[Mapping[str, str | None]] = (),
) -> OfRowSample:
    """The parameters for reading rows of some columns. `series`: tag sets whose rows to read; empty for all."""
    texts = [c.name for c in draft.columns if roles.may_be_long(c.data_type)]
    return OfRowSample(
        **draft.about(window),
        columns=names,
        texts=texts,
        longest=LONGEST,
        limit=limit,
        series=series,
        partial_scan=part,
    )


def read_sample(runner: QueryRunner, draft: Draft, limit: int) -> Draft:
    """Keep the newest rows, at most `limit`, from `draft.sampled_since` on; fewer if reading that many fails."""
    batches: list[pa.RecordBatch] = []
    queries = fewer_and_shorter(_sample_of(runner, draft, limit))
    answer = runner.first_answered("row_sample", queries, keeping(batches))
    if answer is None:
        return draft
    if answer.failed and not any(batch.num_rows for batch in batches):
        # An empty newest part does not show that the other parts are empty.
        runner.gap("row_sample", answer.failed.reason, answer.failed.detail, draft.database, draft.name)
        return draft
    draft = replace(draft.sent("row_sample", answer.statement), sample_limit=answer.given.limit)
    if answer.failed and not draft.partial_scan and answer.given.start > draft.about(runner.window)["start"]:
        draft = replace(draft, sampled_since=answer.given.start)
    return replace(draft, sample=ReadRows.of(batches)) if batches else draft


def _sample_of(runner: QueryRunner, draft: Draft, limit: int) -> OfRowSample:
    """The parameters of `row_sample`."""
    window = Window(draft.sampled_since or runner.window.start, runner.window.end)
    part = draft.partial_scan.of(limit) if draft.partial_scan else None
    return sampled(draft, window, [c.name for c in draft.columns], limit, part)


def _values(draft: Draft) -> dict[str, roles.Values]:
    """The sampled values of text and integer columns."""
    found: dict[str, roles.Values] = {}
    if draft.sample is None or not draft.sample.num_rows:
        return found
    for column in draft.columns:
        if column_types.is_integer(column.data_type):
            found[column.name] = _repetition(draft, column.name)
        if roles.is_text(column.data_type):
            read = draft.sample.column(column.name)
            found[column.name] = roles.Values(
                read.filled, read.mean_length, read.measured_share, are_names=read.are_names
            )
    return found


def _repetition(draft: Draft, name: str) -> roles.Values:
    """How often the numbers of a column repeat: in the whole table according to its statistics, otherwise in the
    sample.
    """
    assert draft.sample is not None
    known = (draft.statistics or {}).get(name)
    if draft.is_too_big and draft.partial_scan and known and known.distinct and not known.at_least:
        count = round(draft.partial_scan.rows_all * (1 - (known.null_ratio or 0.0)))
        return roles.Values(count, 0.0, 1.0, known.distinct)
    values = draft.sample.column(name)
    return roles.Values(values.filled, 0.0, 1.0, len(values.distinct))


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
    assert draft.sample is not None
    sample, tags = draft.sample, []
    sets = [labels_of(value) or {} for value in draft.read(Role.FIELD, column).values.to_pylist()]
    for key in sorted(labels.keys):
        name = f"{column}.{key}"
        if sample.has(name) or (chosen is not None and name in chosen.fields):
            continue
        tags.append(Tag(name, "text", role_reason=roles.label_in(column), label_of=column))
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
    words = f"at least: label sets in {', '.join(found)} were not split into tags"
    scope = "; ".join(filter(None, (words, draft.measurement.series.source.scope)))
    source = dataclasses.replace(draft.measurement.series.source, how=How.ESTIMATE, scope=scope)
    series = dataclasses.replace(draft.measurement.series, source=source)
    return dataclasses.replace(draft, measurement=dataclasses.replace(draft.measurement, series=series))


def _label_columns(draft: Draft) -> dict[str, Labels]:
    """Fields that contain label sets."""
    assert draft.sample is not None
    whole = draft.is_read_whole
    measured = any(is_float(kind) or kind.upper().startswith(("NUMERIC", "DECIMAL")) for kind in _types(draft))
    found: dict[str, Labels] = {}
    for field in draft.fields:
        if field.role_reason == CONFIGURED or not _may_hold_labels(field.types[0]):
            continue
        column = draft.read(Role.FIELD, field.key)
        labels = label_sets(_some_cells(column)) if column.may_have_label_sets else None
        if labels and (labels.recurring or (measured and (labels.recurring_but_ids or not whole))):
            found[field.key] = labels
    return found


def _types(draft: Draft) -> Sequence[str]:
    return [field.types[0] for field in draft.fields]


def _may_hold_labels(data_type: str) -> bool:
    kind = data_type.upper()
    is_packed = kind.startswith(("MAP", "STRUCT", "JSON", "VARIANT")) or kind.endswith("HSTORE")
    return is_packed or column_types.is_list(data_type) or column_types.is_text(data_type) or not data_type


def _some_cells(column: ReadColumn) -> list[object]:
    """Some of the non-null values."""
    values: list[object] = column.values.slice(0, _ROWS).drop_null().to_pylist()
    return values


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
