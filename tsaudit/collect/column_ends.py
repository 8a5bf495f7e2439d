"""Where a column ends that the newest rows do not have: what older rows show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

import numpy as np
import pyarrow.compute as pc

from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL
from tsaudit.collect.draft import Draft
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import EARLIEST, finds_ranges, newest_of, sampled, times_of
from tsaudit.collect.row_figures import ROWS_BEFORE, begins, ended
from tsaudit.model.profile import Field, FieldEnd, Role, Window

_MOST_LOOKED_BACK: Final = 8
"""Columns of one table for each of which two more queries are sent."""


def looked_back(runner: QueryRunner, draft: Draft, fields: list[Field]) -> list[Field]:
    """The fields, those that none of the rows read has with what older rows have; until a statement fails."""
    unread, found = _not_read(runner, draft, fields), dict[str, Field]()
    for field in unread:
        known = _before_rows_read(runner, draft, field)
        if known is None:
            break
        found[field.key] = known
    return [found.get(field.key, field) for field in fields]


def _not_read(runner: QueryRunner, draft: Draft, fields: Sequence[Field]) -> list[Field]:
    """The fields that some rows of the window have, but none of those read, fullest first; none if it would take a scan
    of a big table to look further back.
    """
    if not finds_ranges(runner, draft) or draft.partial_scan or draft.read_times()[1].filled < ENOUGH:
        return []
    some = [f for f in fields if f.idle_hours is None and f.null_ratio is not None and f.null_ratio.value < 1]
    return sorted(some, key=lambda f: (f.null_ratio.value if f.null_ratio else 1.0, f.key))[:_MOST_LOOKED_BACK]


def _before_rows_read(runner: QueryRunner, draft: Draft, field: Field) -> Field | None:
    """The field, with what older rows have; None if a statement failed."""
    assert draft.time is not None
    assert draft.sample is not None
    _, times_us = draft.read_times()
    window, time = draft.measurement.own_window or runner.window, draft.time
    filled = replace(sampled(draft, window, [time.name], 1), filled=field.key)
    times = times_of(runner, filled, leave_gap=False)
    if times is None:
        return None
    last = newest_of(draft, times)
    if last is None:
        return field
    until = Window(window.start, min(last + timedelta(milliseconds=1), window.end))
    before = times_of(runner, sampled(draft, until, [field.key], ROWS_BEFORE), leave_gap=False)
    if before is None:
        return None
    last_us = (last - EARLIEST) // timedelta(microseconds=1)
    newest = int(pc.max(times_us.values).as_py())
    end = ended(last_us, times_us.filled, np.array([value is not None for value in before]))
    if end is not None:
        end = replace(end, begun=tuple(_begun(runner, draft, field, end, until)))
    return replace(field, idle_hours=(newest - last_us) / (3600 * 1_000_000), end=end)


def _begun(runner: QueryRunner, draft: Draft, field: Field, end: FieldEnd, until: Window) -> Iterator[str]:
    """The fields that begin where this one ends: the rows that have one of the two are about all."""
    for other in draft.fields:
        now = draft.read(Role.FIELD, other.key).known.mean()
        if field.null_ratio is None or other.null_ratio is None or not begins(end, 0, float(now)):
            continue
        if abs(field.null_ratio.value + other.null_ratio.value - 1) > 1 - NEARLY_ALL:
            continue
        before = times_of(runner, sampled(draft, until, [other.key], ROWS_BEFORE), leave_gap=False)
        if before and begins(end, sum(value is not None for value in before) / len(before), float(now)):
            yield other.key
