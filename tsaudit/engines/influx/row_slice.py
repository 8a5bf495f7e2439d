"""Rows of all series from a short part of the window, where rows were read of a few series only: which of them share
their time, and so how many would overwrite another one without a tag.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.collect.draft import Draft
from tsaudit.collect.measuring import RowSlice
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.row_figures import likely_drops, rows_apart
from tsaudit.collect.rows import is_complete
from tsaudit.model.facts.given import OfRowSlice
from tsaudit.model.profile import How, Role, Tag, Window
from tsaudit.text import duration, instant, many

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SERIES: Final = 20_000
"""InfluxDB opens a cursor for each series in a shard of the slice: these take 1 to 2 seconds and 30 MB of the server.
Of more series, those with one value of a tag are read.
"""
_ENOUGH: Final = 0.1
"""Share of the row limit. If a slice has fewer rows, a longer one is read once."""
_AIM: Final = 0.8
_LONGER: Final = 100
_SHORTEST: Final = timedelta(milliseconds=1)
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to read."""

    key: str
    """The field that most rows have: others that share it can overwrite it."""
    per_second: float
    """Rows that are expected."""
    within: Mapping[str, str | None] = field(default_factory=dict)


def read_slice(runner: QueryRunner, draft: Draft) -> Draft:
    """Compare rows of all series, if rows of a few were read."""
    found = slice_of(runner, draft) if draft.sampled_series and draft.tags else None
    if found is None:
        return draft
    sets = likely_drops(draft.measurement.tag_sets)
    apart = rows_apart(found.tags, found.times, found.source, sets, whole=found.whole, within=found.within)
    known = replace(draft.measurement, rows_apart=apart)
    return replace(draft, measurement=known).sent("row_slice", found.statement)


def slice_of(runner: QueryRunner, draft: Draft, gone: Collection[str] = ()) -> RowSlice | None:
    """Rows of all series around the time of the newest row read; None if that is too expensive, or none was read.

    `gone`: the tags to drop, if that is known: rows are not chosen by one of them.
    """
    plan = _plan(draft, runner, gone)
    if plan is None or draft.measurement.last_time is None:
        return None
    window, limit = draft.measurement.own_window or runner.window, runner.target.budget.max_rows
    whole = window.end - window.start
    expected = plan.per_second * whole.total_seconds()
    part = _part(window, draft.measurement.last_time, whole if expected <= limit else whole * (_AIM * limit / expected))
    read = _read(runner, draft, plan, part, limit)
    if read is not None and read[0].num_rows < _ENOUGH * limit and part != window:
        factor = min(_AIM * limit / max(read[0].num_rows, 1), _LONGER)
        part = _part(window, draft.measurement.last_time, (part.end - part.start) * factor)
        read = _read(runner, draft, plan, part, limit)
    if read is None or not read[0].num_rows:
        return None
    return _sliced(runner, draft, *read, plan, part)


def _part(window: Window, last: datetime, length: timedelta) -> Window:
    """The part of the window that ends with the newest row read; all of it if it is not longer."""
    if length >= window.end - window.start:
        return window
    if length > _SECOND:
        length = timedelta(seconds=length // _SECOND)
    end = min(last + timedelta(microseconds=1), window.end)
    return Window(max(end - max(length, _SHORTEST), window.start), end)


def _plan(draft: Draft, runner: QueryRunner, gone: Collection[str]) -> _Plan | None:
    """What to read; None if the slice would have too many series, or if nothing is known about its rows."""
    if draft.measurement.series is None or draft.sample is None or not draft.sample.num_rows or not draft.fields:
        return None
    import pyarrow.compute as pc

    times = draft.sample.column(0)
    ends = pc.min_max(times).as_py()
    span = ends["max"] - ends["min"]
    if is_complete(runner, draft):
        window = draft.measurement.own_window or runner.window
        span = window.end - window.start
    series, read = draft.measurement.series.value, draft.sampled_series or draft.measurement.series.value
    rows = draft.sample.num_rows * series / max(read, 1)
    name = max(draft.fields, key=lambda one: _filled(draft, one.key)).key
    per_second = rows / max(span.total_seconds(), 1.0)
    if series <= MOST_SERIES:
        return _Plan(name, per_second)
    tag = _dividing(draft, series, gone)
    if tag is None or tag.values is None:
        return None
    (value,) = draft.read(Role.TAG, tag.key).slice(0, 1).to_pylist()
    return _Plan(name, per_second / tag.values.value, {tag.key: value or None})


def _dividing(draft: Draft, series: int, gone: Collection[str]) -> Tag | None:
    """The tag whose values divide the series into parts that can be read, and that contributes least to them."""
    least = series / MOST_SERIES
    able = [tag for tag in draft.tags if tag.key not in gone and tag.values is not None and tag.values.value >= least]
    # By itself, a tag that another one determines adds no series.
    sets = draft.measurement.tag_sets.contributions if draft.measurement.tag_sets else ()
    left = {one.tag: series if one.together_with else one.series_left for one in sets}
    if not gone and left:
        # It is what a plan would drop.
        able = [tag for tag in able if tag.key != min(left, key=lambda key: (left[key], key))]
    return max(able, key=lambda tag: (left.get(tag.key, 0), tag.key), default=None)


def _filled(draft: Draft, key: str) -> int:
    column = draft.read(Role.FIELD, key)
    return int(len(column) - column.null_count)


def _has_all(draft: Draft, key: str) -> bool:
    """Whether each row read has the field."""
    return bool(draft.read(Role.FIELD, key).null_count == 0)


def _read(runner: QueryRunner, draft: Draft, plan: _Plan, part: Window, limit: int) -> tuple[pa.Table, str] | None:
    """The time and the tags of the rows, by position, and the statement; None if the query failed."""
    import pyarrow as pa

    batches: list[pa.RecordBatch] = []
    about = draft.about(runner.window)
    about["start"], about["end"], about["fields"] = part.start, part.end, [plan.key]
    statement = runner.query("row_slice", batches.append, OfRowSlice(**about, limit=limit, within=plan.within))
    if statement is None:
        return None
    types = [pa.timestamp("ns", "UTC"), *(pa.string() for _ in draft.tags)]
    schema = pa.schema([(str(place), kind) for place, kind in enumerate(types)])
    # A tag that is absent from all rows of a batch has no type, and the field is not needed.
    tables = [
        pa.Table.from_arrays([batch.column(0), *(c.cast(pa.string()) for c in batch.columns[2:])], schema=schema)
        for batch in batches
    ]
    return (pa.concat_tables(tables) if tables else schema.empty_table()), statement


def _sliced(runner: QueryRunner, draft: Draft, table: pa.Table, statement: str, plan: _Plan, part: Window) -> RowSlice:
    import pyarrow as pa
    import pyarrow.compute as pc

    is_cut, whole, end = table.num_rows >= runner.target.budget.max_rows, True, part.end
    if is_cut:
        # They come in the order of their times, and the last instant may have more.
        ends = pc.min_max(table.column(0)).as_py()
        whole = bool(ends["min"] != ends["max"])
        if whole:
            table = table.filter(pc.less(table.column(0), pa.scalar(ends["max"], table.column(0).type)))
        end = pc.max(table.column(0)).cast(pa.timestamp("us", "UTC"), safe=False).as_py()
    is_all = (
        part == (draft.measurement.own_window or runner.window)
        and not (is_cut or plan.within)
        and _has_all(draft, plan.key)
    )
    how = How.EXACT if is_all else How.SAMPLED
    source = runner.source("row_slice", how, _scope(draft, plan, Window(part.start, end)))
    tags = {tag.key: table.column(1 + place) for place, tag in enumerate(draft.tags)}
    return RowSlice(table.column(0), tags, source, whole, statement, next(iter(plan.within), ""))


def _scope(draft: Draft, plan: _Plan, part: Window) -> str:
    """Which rows these are. The value is not shown: it may be somebody's name."""
    assert draft.measurement.series is not None
    within = next(iter(plan.within), "")
    which = f"one value of {within}" if within else f"all {many(draft.measurement.series.value, 'series', 'series')}"
    length = duration((part.end - part.start).total_seconds())
    return f"{which}, {length} from {instant(part.start)}"
