"""Looks for rows whose times were written in a wrong unit; queries nothing unless the oldest time is in 1970."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tsaudit.analysis.columns import time_columns
from tsaudit.analysis.columns.time_columns import instant_of
from tsaudit.collect.draft import Draft
from tsaudit.collect.fact_rows import single_value
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.roles import sampled, times_of
from tsaudit.engines.queries import query_files
from tsaudit.model.profile import Count, MisdatedRows, Window
from tsaudit.model.query_parameters import OfNullCounts

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
    rows, most = draft.estimated_rows or 0, runner.target.budget.max_scan_rows
    # Without an index, it takes all rows to find that none is in 1970.
    is_cheap = rows > 0 and (not most or rows <= most)
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
