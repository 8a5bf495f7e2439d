"""Rows outside the window: if it contains none, whether the table has any, as the clocks may differ, and then it was
not measured; and whether rows in 1970 have times in a wrong unit, for which nothing is queried unless the oldest time
is in 1970.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from tsaudit.analysis.columns import time_columns
from tsaudit.analysis.columns.time_columns import instant_of
from tsaudit.collect import partial_reads
from tsaudit.collect.catalog_facts import single_value
from tsaudit.collect.draft import Draft
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.roles import LATEST, newest_of, sampled, times_of
from tsaudit.engines.queries import query_files, query_name
from tsaudit.model.profile import Count, How, MisdatedRows, Reason, Window, utc_now
from tsaudit.model.query_parameters import OfNullCounts
from tsaudit.model.timeline import SAME_DAY
from tsaudit.text import instant as instant_description
from tsaudit.text import many, number, span

_FIRST: Final = datetime(1700, 1, 1, tzinfo=UTC)
"""The earliest time that fits into nanoseconds since 1970."""
_PEEKED: Final = 200
_OF_ROWS: Final = ("null_counts", "row_estimate", "row_sample", "series_listing")


@dataclass(frozen=True, slots=True)
class _Outside:
    """The result of a query without the window."""

    newest: datetime | None
    """The time of the newest row; None if no row has a time."""
    read: int
    """Number of rows read regardless of their time; 0 if that was not needed. If these rows have times, either they are
    later than the past day audited, or the table is too big to read and a gap says so.
    """
    is_beyond: bool = False
    """Whether these rows have times that cannot be read, because they are after the year 9999."""


def look_outside_window(runner: QueryRunner, draft: Draft, queried: frozenset[str]) -> Draft:
    """Leave gaps if the window contains no rows but the table does, and discard conclusions from the empty window.

    If all rows of a table are older than the window, its figures are kept as estimates, because they are correct for
    the window. If rows have no times, nothing is known. If all times are in a wrong unit, a finding says so. Tables
    whose rows are later than the window were already measured in a window of their own.
    """
    if draft.time is None or _saw_rows(draft) or not _may_have_rows(runner, draft):
        return draft
    found = _found(runner, draft)
    if found is None or (found.newest and found.read):
        return draft
    draft = find_misdated(runner, replace(draft, newest=found.newest, oldest=draft.oldest or found.newest))
    detail = _detail(runner, draft, found)
    for fact in sorted(queried.intersection(_OF_ROWS)) if draft.measurement.misdated is None else ():
        runner.gap(fact, Reason.INCONSISTENT, detail, draft.database, draft.name)
    if found.newest is not None and found.newest < runner.window.start:
        rows, series = _doubted(draft.measurement.rows), _doubted(draft.measurement.series)
    else:
        rows = series = None
    tags = tuple(replace(tag, values=None, absent=None, over_time=None) for tag in draft.tags)
    known = replace(draft.measurement, rows=rows, series=series, tags=tags, tag_sets=None, arrivals=None)
    return replace(draft, measurement=known)


def _saw_rows(draft: Draft) -> bool:
    """Whether a row was seen, or no rows were looked for."""
    if draft.partial_scan:
        return "row_sample" not in draft.measurement.statements or bool(
            draft.sample is not None and draft.sample.num_rows
        )
    return draft.measurement.rows is None or draft.measurement.rows.value > 0


def _may_have_rows(runner: QueryRunner, draft: Draft) -> bool:
    if draft.estimated_rows is not None:
        return draft.estimated_rows > 0
    return runner.engine.infers_roles


def _found(runner: QueryRunner, draft: Draft) -> _Outside | None:
    """What is outside the window; None for a table without rows, or without rows before the window's end, and if a gap
    was left.
    """
    assert draft.time is not None
    if not draft.partial_scan:
        # If a past day is audited, rows after its window did not exist then.
        end = runner.window.end if utc_now() - runner.window.end > SAME_DAY else LATEST
        if not partial_reads.may_look_up_newest(runner, draft, Window(_FIRST, end)):
            return None
        times = times_of(runner, sampled(draft, Window(_FIRST, end), [draft.time.name], 1))
        newest = newest_of(draft, times or [])
        if times is None or (newest and runner.window.end <= newest <= utc_now()):
            return None  # a gap was left, or rows first arrived after the window
        if times:
            return _Outside(newest, 0)
    if not runner.engine.infers_roles:
        return None
    anywhere = times_of(runner, replace(sampled(draft, runner.window, [draft.time.name], _PEEKED), time=None))
    if not anywhere:
        return None
    newest = newest_of(draft, anywhere)
    return _Outside(newest, len(anywhere), newest is None and any(value is not None for value in anywhere))


def _detail(runner: QueryRunner, draft: Draft, found: _Outside) -> str:
    assert draft.time is not None
    engine, window, name = runner.target.engine, runner.window, draft.time.name
    counts = query_name(engine, "null_counts" if "null_counts" in draft.measurement.statements else "row_sample")
    total = "there are some"
    if draft.estimated_rows is not None:
        total = f"the engine counts about {number(draft.estimated_rows)} ({query_name(engine, 'row_estimate')})"
    if found.is_beyond:
        why = f"the {name} of all {many(found.read, 'row')} read cannot be read as a time before the year 10000"
    elif found.newest is None:
        why = f"all {many(found.read, 'row')} read have no {name}"
    else:
        why = f"the newest {name} is {instant_description(found.newest)}"
    detail = f"0 rows from {span(window.start, window.end)} by column {name} ({counts}), although {total}: {why}; "
    if runner.engine.infers_roles:
        key = draft.name if draft.name.isidentifier() else json.dumps(draft.name, ensure_ascii=False)
        detail += f"if another column is the time, set `columns: {{{key}: {{time: <column>}}}}` in tsaudit.yaml; "
    return detail + "otherwise, set a longer `window`, or skip the table with `exclude`"


def _doubted(count: Count | None) -> Count | None:
    if count is None or count.source.how is not How.EXACT:
        return count
    return replace(count, source=replace(count.source, how=How.ESTIMATE))


EARLY = Window(time_columns.EARLIEST_MISDATED, time_columns.LATEST_MISDATED)


def is_early(time: datetime | None) -> bool:
    """Whether a time may have been written in a wrong unit."""
    return time is not None and EARLY.start <= time < EARLY.end


def with_misdated(
    runner: QueryRunner, draft: Draft, first: datetime, last: datetime, rows: Count | None, *, are_all: bool
) -> Draft:
    """The draft with its rows in 1970, if they are misdated."""
    factor = time_columns.misdating_factor(first, last, runner.window.end)
    if factor is None:
        return draft
    found = MisdatedRows(first.astimezone(UTC), last.astimezone(UTC), factor, rows, are_all)
    return replace(draft, measurement=replace(draft.measurement, misdated=found))


def find_misdated(runner: QueryRunner, draft: Draft) -> Draft:
    """The draft of a table with its misdated rows."""
    known, oldest = draft.measurement, draft.oldest or draft.measurement.first_time
    if (
        draft.time is None
        or known.misdated
        or draft.is_too_big
        or not (is_early(oldest) or _may_be_early(runner, draft))
    ):
        return draft
    if known.own_window and is_early(known.last_time) and known.first_time and known.last_time:
        return with_misdated(runner, draft, known.first_time, known.last_time, known.rows, are_all=True)
    counted = _counted(runner, draft) if "null_counts" in query_files(runner.target.engine) else None
    if counted is None:
        return draft
    rows, first, last = counted
    are_all = is_early(draft.newest) or (not known.rows_known and not _has_others(runner, draft))
    return with_misdated(runner, draft, first, last, rows, are_all=are_all)


def _may_be_early(runner: QueryRunner, draft: Draft) -> bool:
    """Whether nothing is known about when its rows are, except that none is in the window."""
    known = draft.measurement
    is_seen = known.own_window is not None or draft.oldest is not None or draft.newest is not None
    rows, most = draft.estimated_rows, runner.target.budget.max_scan_rows
    # An engine of time series finds rows by their time. Elsewhere it takes all rows to find that none is in 1970.
    is_cheap = not runner.engine.infers_roles if rows is None else rows > 0 and (not most or rows <= most)
    return known.rows is not None and not known.rows.value and not is_seen and is_cheap


def _has_others(runner: QueryRunner, draft: Draft) -> bool:
    """Whether there are rows from after 1970 on, before the window."""
    assert draft.time is not None
    window = Window(EARLY.end, runner.window.start)
    return times_of(runner, sampled(draft, window, [draft.time.name], 1), leave_gap=False) != []


def _counted(runner: QueryRunner, draft: Draft) -> tuple[Count, datetime, datetime] | None:
    """The rows in 1970, with the first and the last time; None if there are none, or they could not be counted."""
    found: list[Any] = []
    about = replace(draft, measurement=replace(draft.measurement, own_window=EARLY)).about(runner.window)
    given = OfNullCounts(**about | {"fields": []}, later=None)
    if runner.why_unanswered("null_counts", lambda batch: found.extend(map(single_value, batch.columns)), given):
        return None
    kind = draft.time.kind if draft.time else None
    first, last = (instant_of(end, kind) for end in found[1:3])
    if first is None or last is None:
        return None
    return Count(found[0], runner.source("null_counts", scope="rows in 1970")), first, last
