"""Finds the role of each column of a SQL table, from the catalog and a sample of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.collect.answers import single_value
from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft
from tsaudit.collect.excerpts import measure_extent
from tsaudit.collect.label_columns import open_labels
from tsaudit.collect.table_kinds import kind_of_table
from tsaudit.collect.together import tables_ahead
from tsaudit.collect.value_texts import as_text, measured_share
from tsaudit.engines.sql import roles
from tsaudit.engines.sql import types as column_types
from tsaudit.engines.sql.columns import Column
from tsaudit.engines.sql.time_columns import Extent, instant_of, time_candidates, time_column
from tsaudit.model.facts.given import OfRowSample, OfTimeExtents, Part
from tsaudit.model.profile import Field, Reason, Role, Tag, Window
from tsaudit.text import span

if TYPE_CHECKING:
    import pyarrow as pa

    from tsaudit.config.settings import Columns

_SPREAD_ROWS: Final = 10_000
"""About this many rows show the oldest and newest times of a bigger table, if the engine can read single pages."""
_LONGEST: Final = 1000
"""Characters read per string: enough to find out what it is, even if a column contains documents."""
_MARGIN: Final = timedelta(seconds=1)
"""Times that are stored as text compare as text, in which `10:00` comes before `10:00:00.0`."""
_ROLE_ROWS: Final = 1000
"""Enough rows to distinguish names from prose and numbers."""


def find_time(asker: Asker, draft: Draft) -> Draft:
    """Determine the time column, and which rows may be read."""
    if not draft.columns:
        return draft
    chosen = _chosen(asker, draft)
    typed = asker.engine.enforces_types
    candidates = [] if draft.unreadable else _candidates(asker, draft)
    extents = _extents(asker, draft, [c.name for c in candidates]) if candidates else {}
    indexed = frozenset(c.name for c in candidates for i in draft.measurement.indexes or () if c.name in i.columns)
    before = draft.previous.time_column if draft.previous else None
    time = time_column(draft.columns, extents, asker.window, chosen, typed=typed, indexed=indexed, before=before)
    draft = draft.with_time(time)
    return draft if draft.unreadable else measure_extent(asker, draft)


def find_time_ahead(asker: Asker, drafts: Sequence[Draft]) -> None:
    """Query the extents that `find_time` needs, of several tables at once."""
    needed = {id(draft): [] if draft.unreadable else _candidates(asker, draft) for draft in drafts}
    tables_ahead(
        asker,
        "time_extents",
        [draft for draft in drafts if needed[id(draft)]],
        lambda draft: _extents_of(asker, draft, [c.name for c in needed[id(draft)]]),
        lambda draft: tuple(c.data_type for c in needed[id(draft)]),
    )


def assign_roles(asker: Asker, draft: Draft, sample_wanted: bool) -> Draft:
    """Determine the kind of the table, and its tags and fields; keep the rows read for that. After `find_time`."""
    if not draft.columns:
        return draft
    most = _rows_read(asker, sample_wanted)
    if not draft.unreadable:
        draft = read_sample(asker, draft, most)
        if "row_sample" in draft.measurement.statements and (draft.sample is None or not draft.sample.num_rows):
            own = _own_window(asker, draft)
            draft = read_sample(asker, _within(draft, own), most) if own else draft
    kind = kind_of_table(asker, draft, draft.time)
    known = replace(draft.measurement, kind=kind.kind, kind_reason=kind.reason)
    draft = replace(draft, measurement=known, never_source=kind.never_source)
    draft = _with_roles(asker, draft, _values(draft))
    draft = open_labels(asker, draft, most)
    guessed = [t.key for t in draft.tags if t.role_reason.endswith(roles.UNJUDGED)]
    if guessed and "row_sample" not in draft.measurement.statements:
        reason = draft.unreadable.reason if draft.unreadable else asker.why(("row_sample",), draft.database, draft.name)
        detail = f"without any rows, {', '.join(guessed)} may be tags or fields"
        asker.gap("columns", reason, detail, draft.database, draft.name)
    return draft


def assign_roles_ahead(asker: Asker, drafts: Sequence[Draft], sample_wanted: bool) -> None:
    """Read the rows that `assign_roles` needs, of several tables at once."""
    most = _rows_read(asker, sample_wanted)
    tables_ahead(
        asker,
        "row_sample",
        drafts,
        lambda draft: _sample_of(asker, draft, most),
        lambda draft: tuple(c.data_type for c in draft.columns),
    )


def _rows_read(asker: Asker, sample_wanted: bool) -> int:
    most = asker.target.budget.max_rows
    return most if sample_wanted else min(most, _ROLE_ROWS)


def roles_without_rows(asker: Asker, draft: Draft) -> Draft:
    """The same from the catalog alone, reading nothing."""
    if not draft.columns:
        return draft
    typed = asker.engine.enforces_types
    time = time_column(draft.columns, {}, asker.window, asker.target.columns.get(draft.name), typed=typed)
    return _with_roles(asker, draft.with_time(time), {})


def _with_roles(asker: Asker, draft: Draft, values: dict[str, roles.Values]) -> Draft:
    """The draft with the roles of its columns other than the time. `values`: those read, by column."""
    chosen = asker.target.columns.get(draft.name)
    table = roles.Table(draft.name, draft.measurement.kind, draft.never_source)
    assigned = roles.assign(draft.columns, draft.time, values, table=table, chosen=chosen, previous=draft.previous)
    tags = tuple(
        Tag(a.column.name, a.column.data_type, role_reason=a.reason, metrics=a.column.metrics)
        for a in assigned
        if a.role is Role.TAG
    )
    fields = tuple(
        Field(a.column.name, (a.column.data_type,), role_reason=a.reason) for a in assigned if a.role is Role.FIELD
    )
    return replace(draft, measurement=replace(draft.measurement, tags=tags, fields=fields))


def _candidates(asker: Asker, draft: Draft) -> list[Column]:
    return time_candidates(draft.columns, asker.target.columns.get(draft.name), typed=asker.engine.enforces_types)


def _chosen(asker: Asker, draft: Draft) -> Columns | None:
    """The roles configured for the table's columns; a column that the table does not have leaves a gap."""
    chosen = asker.target.columns.get(draft.name)
    if chosen is not None:
        named = {*chosen.tags, *chosen.fields, *([chosen.time] if chosen.time else [])}
        columns = {c.name for c in draft.columns}
        for name in sorted(n for n in named - columns if not any(n.startswith(f"{c}.") for c in columns)):
            detail = f"tsaudit.yaml names a column {name}, which the table does not have"
            asker.gap("columns", Reason.FAILED, detail, draft.database, draft.name)
    return chosen


def _is_big(draft: Draft) -> bool:
    return draft.estimated_rows is not None and draft.estimated_rows > _SPREAD_ROWS


def _extents(asker: Asker, draft: Draft, names: list[str], *, whole: bool = False) -> dict[str, Extent]:
    """What the columns that may be the time contain: in pages from all parts of a big table, unless it is wanted of the
    whole one.
    """
    found: list[object] = []

    def consume(batch: pa.RecordBatch) -> None:
        found.extend(map(single_value, batch.columns))

    if asker.ask("time_extents", consume, _extents_of(asker, draft, names, whole=whole)) is None or not found:
        return {}
    rows_read, *figures = found
    each = zip(names, figures[0::3], figures[1::3], figures[2::3], strict=True)
    return {name: Extent(int(str(rows_read)), int(str(values)), first, last) for name, values, first, last in each}


def _extents_of(asker: Asker, draft: Draft, names: list[str], *, whole: bool = False) -> OfTimeExtents:
    """The parameters of `time_extents`."""
    percent = None
    if _is_big(draft) and not whole:
        percent = f"{100.0 * _SPREAD_ROWS / (draft.estimated_rows or 1):.6f}"
    return OfTimeExtents(**draft.about(asker.window), columns=names, percent=percent)


def _within(draft: Draft, window: Window) -> Draft:
    """The draft of a table whose rows are measured within this period instead of the audit's window."""
    assert draft.time is not None
    words = f"all rows are older than the window, so those from {span(window.start, window.end)} were measured"
    time = replace(draft.time, reason="; ".join(filter(None, (draft.time.reason, words))))
    return replace(draft, measurement=replace(draft.measurement, own_window=window)).with_time(time)


def _own_window(asker: Asker, draft: Draft) -> Window | None:
    """All of a table that is small enough, otherwise its newest part, as long as the audit's window.

    Only of tables that were that old when they were first seen: where writers stopped, the figures of the days before
    are not followed by those of another period. None: the audit's window.
    """
    before, time = draft.previous, draft.time
    was_series = before is not None and before.kind is not None and before.kind.has_series
    if time is None or draft.excerpt or (before is not None and was_series and before.own_window is None):
        return None
    if (most := asker.target.budget.max_scan_rows) and (draft.estimated_rows or 0) > most:
        return None
    extent = _extents(asker, draft, [time.name], whole=True).get(time.name)
    newest = instant_of(extent.last, time.kind) if extent else None
    if extent is None or newest is None or newest >= asker.window.start:
        return None
    start = newest - asker.target.window
    if extent.rows <= asker.target.budget.max_rows:
        start = min(start, (instant_of(extent.first, time.kind) or start) - _MARGIN)
    return Window(start, newest + _MARGIN)


def sampled(draft: Draft, window: Window, names: list[str], limit: int, part: Part | None = None) -> OfRowSample:
    """The parameters for reading rows of some columns."""
    texts = [c.name for c in draft.columns if roles.may_be_long(c.data_type)]
    return OfRowSample(**draft.about(window), columns=names, texts=texts, longest=_LONGEST, limit=limit, excerpt=part)


def read_sample(asker: Asker, draft: Draft, limit: int) -> Draft:
    """Keep the newest rows, at most `limit`, from `draft.sampled_since` on."""
    import pyarrow as pa

    batches: list[pa.RecordBatch] = []
    statement = asker.ask("row_sample", batches.append, _sample_of(asker, draft, limit))
    if statement is None:
        return draft
    draft = draft.sent("row_sample", statement)
    return replace(draft, sample=pa.Table.from_batches(batches)) if batches else draft


def _sample_of(asker: Asker, draft: Draft, limit: int) -> OfRowSample:
    """The parameters of `row_sample`."""
    window = Window(draft.sampled_since or asker.window.start, asker.window.end)
    part = draft.excerpt.of(limit) if draft.excerpt else None
    return sampled(draft, window, [c.name for c in draft.columns], limit, part)


def _values(draft: Draft) -> dict[str, roles.Values]:
    """The sampled values of text and integer columns."""
    import pyarrow.compute as pc

    found: dict[str, roles.Values] = {}
    if draft.sample is None:
        return found
    for column in draft.columns:
        if column_types.is_integer(column.data_type):
            found[column.name] = _repetition(draft, column.name)
        if not roles.is_text(column.data_type):
            continue
        values = as_text(draft.sample.column(column.name)).drop_null()
        count = len(values)
        if count:
            length = pc.mean(pc.utf8_length(values)).as_py()
            found[column.name] = roles.Values(count, length, measured_share(values))
        else:
            found[column.name] = roles.Values(0, 0.0, 0.0)
    return found


def _repetition(draft: Draft, name: str) -> roles.Values:
    """How often the numbers of a column repeat: in the whole table according to its statistics, otherwise in the
    sample.
    """
    import pyarrow.compute as pc

    assert draft.sample is not None
    known = (draft.statistics or {}).get(name)
    if draft.excerpt and known and known.distinct and not known.at_least:
        count = round(draft.excerpt.rows_all * (1 - (known.null_ratio or 0.0)))
        return roles.Values(count, 0.0, 1.0, known.distinct)
    values = draft.sample.column(name).drop_null()
    return roles.Values(len(values), 0.0, 1.0, pc.count_distinct(values).as_py())
