"""Looks for rows outside the window if it contains none: the clocks may differ, and then the table was not measured."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from tsaudit.collect import partial_scan
from tsaudit.collect.draft import Draft
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.roles import LATEST, newest_of, sampled, times_of
from tsaudit.engines.queries import query_name
from tsaudit.model.profile import Count, How, Reason, Window, utc_now
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


def look_outside_window(runner: QueryRunner, draft: Draft, queried: frozenset[str]) -> Draft:
    """Leave gaps if the window contains no rows but the table does, and discard conclusions from the empty window.

    If all rows of a table are older than the window, its figures are kept as estimates, because they are correct for
    the window. If rows have no times, nothing is known. Tables whose rows are later than the window were already
    measured in a window of their own.
    """
    if draft.time is None or _saw_rows(draft) or not _may_have_rows(runner, draft):
        return draft
    found = _found(runner, draft)
    if found is None or (found.newest and found.read):
        return draft
    detail = _detail(runner, draft, found)
    for fact in sorted(queried.intersection(_OF_ROWS)):
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
        if not partial_scan.may_look_up_newest(runner, draft, Window(_FIRST, end)):
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
    return _Outside(newest_of(draft, anywhere), len(anywhere)) if anywhere else None


def _detail(runner: QueryRunner, draft: Draft, found: _Outside) -> str:
    assert draft.time is not None
    engine, window, name = runner.target.engine, runner.window, draft.time.name
    counts = query_name(engine, "null_counts" if "null_counts" in draft.measurement.statements else "row_sample")
    total = "there are some"
    if draft.estimated_rows is not None:
        total = f"the engine counts about {number(draft.estimated_rows)} ({query_name(engine, 'row_estimate')})"
    if found.newest is None:
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
