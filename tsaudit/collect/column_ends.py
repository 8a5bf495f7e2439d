"""Where a column ends that the newest rows, or those of one kind, do not have: what older rows show."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.columns.time_columns import instant_of
from tsaudit.analysis.rows.over_time import Mask
from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.analysis.significance import ALIKE, ENOUGH, NEARLY_ALL
from tsaudit.collect.draft import Draft
from tsaudit.collect.query_runner import QueryRunner, Unanswered
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
    window, time = draft.window(runner.window), draft.time
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


_EMPTIER: Final = 0.05
"""Share of the rows by which those of the last day are emptier than those of the window where a kind of them may have
lost a column.
"""
_KINDS: Final = 50
"""A tag with more values names sources, not kinds of them."""
_MOST_OF_PARTS: Final = 3
"""Columns of one table for each of which a dozen places are read."""
_ROWS_EACH: Final = 2_000
_EXACT: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
_DAY_US: Final = _DAY // timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class _Part:
    """Whether the rows of one kind that were read at some time have a column."""

    rows: int
    filled: int
    last: datetime | None
    """Time of the newest of them that has it."""


def ends_of_parts(runner: QueryRunner, draft: Draft, fields: list[Field]) -> list[Field]:
    """The fields, those that the rows with one value of a tag do not have anymore with when that was: others go on, so
    their share of nulls rises by little. Nothing more is read unless the last day is emptier than the window.
    """
    if draft.time is None or draft.sampled_series or draft.partial_scan or not finds_ranges(runner, draft):
        return fields
    times = draft.read_times()[1]
    if times.filled < len(times) or len(times) < ENOUGH:
        return fields
    at = times.values.to_numpy()
    is_late = at > at.max() - _DAY_US
    counted = {f.key: f.null_ratio.value for f in fields if f.null_ratio is not None and f.end is None}
    empty = {key: ~draft.read(Role.FIELD, key).known[is_late] for key in counted if 0 < counted[key] < 1}
    rises = {key: mask.mean() - counted[key] for key, mask in empty.items() if not mask.all()}
    risen = sorted((key for key, rise in rises.items() if rise >= _EMPTIER), key=lambda key: (-rises[key], key))
    ends = {key: _of_part(runner, draft, key, is_late, empty[key]) for key in risen[:_MOST_OF_PARTS]}
    found = {key: end for key, end in ends.items() if end is not None}
    return [replace(field, end=found.get(field.key, field.end)) for field in fields]


def _of_part(runner: QueryRunner, draft: Draft, key: str, is_late: Mask, is_empty: Mask) -> FieldEnd | None:
    """The end of the field for the largest kind of rows of the last day that do not have it, and had it before."""
    window, newest = draft.window(runner.window), _newest(draft)
    first = max(window.start, draft.measurement.first_time or window.start)
    late, early = newest - _DAY, first + _DAY
    if early >= late:
        return None
    kinds = dict(_empty_kinds(draft, is_late, is_empty))
    tags = sorted({tag for tag, _ in kinds})
    before = _parts(runner, draft, key, tags, early) if kinds else {}
    had = {one: part for one, part in before.items() if one in kinds and _has(part)}
    then = _parts(runner, draft, key, tags, late) if had else {}
    over = (one for one in had if one in then and not then[one].filled)
    kind = max(over, key=lambda one: kinds[one], default=None)
    if kind is None:
        return None
    end = had[kind].last
    while late - early > _EXACT:
        middle = early + (late - early) / 2
        part = _parts(runner, draft, key, [kind[0]], middle).get(kind)
        if part is None or not part.rows:
            return None
        # Of those next to the end, only some have it.
        early, late, end = (middle, late, part.last) if part.filled else (early, middle, end)
    assert end is not None
    rows, filled = had[kind].rows, had[kind].filled
    return FieldEnd(end, kinds[kind], rows, filled / rows, of=(kind[0], redact_unless_name(kind[1])))


def _has(part: _Part) -> bool:
    return part.rows >= ALIKE and 2 * part.filled > part.rows


def _newest(draft: Draft) -> datetime:
    return EARLIEST + timedelta(microseconds=int(pc.max(draft.read_times()[1].values).as_py()))


def _empty_kinds(draft: Draft, is_late: Mask, is_empty: Mask) -> Iterator[tuple[tuple[str, str], int]]:
    """Each tag and value of enough rows of the last day, of which none has the field, with the number of these rows."""
    for tag in draft.tags:
        column = draft.read(Role.TAG, tag.key)
        values, codes = column.distinct.to_pylist(), column.codes[is_late]
        if not 1 < len(values) <= _KINDS:
            continue
        rows = np.bincount(codes[codes >= 0], minlength=len(values))
        empty = np.bincount(codes[is_empty & (codes >= 0)], minlength=len(values))
        yield from (
            ((tag.key, str(value)), int(count))
            for value, count, without in zip(values, rows, empty, strict=True)
            if count >= ENOUGH and without == count
        )


def _parts(
    runner: QueryRunner, draft: Draft, key: str, tags: Sequence[str], until: datetime
) -> dict[tuple[str, str], _Part]:
    """Each tag and value that rows up to a time have, with how many of these have the field; empty if they could not be
    read.
    """
    assert draft.time is not None
    window, kind = draft.window(runner.window), draft.time.kind
    batches: list[pa.RecordBatch] = []
    query = sampled(draft, Window(window.start, until), [draft.time.name, key, *tags], _ROWS_EACH)
    if isinstance(runner.try_query("row_sample", batches.append, query), Unanswered):
        return {}
    found: dict[tuple[str, str], list[tuple[bool, object]]] = defaultdict(list)
    for batch in batches:
        at, values, *columns = (column.to_pylist() for column in batch.columns)
        for tag, column in zip(tags, columns, strict=True):
            for time, value, of in zip(at, values, column, strict=True):
                found[tag, str(of)].append((value is not None, time))
    return {
        one: _Part(
            len(rows),
            sum(has for has, _ in rows),
            max((at for has, time in rows if has and (at := instant_of(time, kind))), default=None),
        )
        for one, rows in found.items()
    }
