"""Sources of a table whose rows are ahead of now, because their clock or time zone is wrong, while others of the same
table report up to now.

Schedules, bookings, and forecasts are ahead, too. Unlike these, a wrong clock shifts all rows of a source by as much:
it writes as many rows ahead of now as before, at any hour, and its newest row is as far ahead as those of others with
the same fault. Sources that report only about once within the offset look like a schedule, and are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import Codes, distinct
from tsaudit.analysis.columns import columns as column_types
from tsaudit.analysis.columns.columns import BEGINS, DUE, ENDS, OTHER, names_id, names_source, words_of
from tsaudit.analysis.rows.over_time import spacing
from tsaudit.analysis.significance import REPEATS
from tsaudit.collect.draft import Draft, ReadRows
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import LATEST, finds_ranges, more_rows, sampled
from tsaudit.model.figures import Count, How, Window, utc_now
from tsaudit.model.rows import RowsAhead
from tsaudit.text.table_roles import NOT_EVALUATED

_LIVE: Final = timedelta(hours=1)
"""Longest time from the end of the window to the reading of later rows; after that, a past day is audited."""
_SECOND: Final = 1_000_000
_MINUTE: Final = 60 * _SECOND
_HOUR: Final = 60 * _MINUTE
_CLOCKS: Final = 10 * _MINUTE
"""Clocks may be off by less than this: our default."""
_FARTHEST: Final = 15 * _HOUR
"""No time zone is this far ahead of UTC."""
_STEP: Final = 15 * _MINUTE
"""Time zones differ by multiples of it."""
_NEAR: Final = 3 * _MINUTE
"""How far from such a multiple an offset may seem to be, because rows take a while to arrive: our default."""
_LATE: Final = _HOUR
"""How long ago the newest row of those that are not ahead may be: our default."""
_FEWEST_OTHERS: Final = 3
_LIKE: Final = 3
"""By which factor the intervals of sources of one kind differ at most: our default."""
_MOST: Final = 0.75
"""The share of the values ahead that are as far ahead as the others, and of the hours with rows: our default."""
_EXAMPLES: Final = 5
_PLANNED: Final = frozenset(
    ["forecast", "predicted", "prediction", "planned", "plan", "schedule", "scheduled", "expected", "projected"]
)
"""Words for values whose rows are ahead because they are meant to be."""

Times = npt.NDArray[np.int64]
"""Microseconds since 1970."""


@dataclass(frozen=True, slots=True)
class Lead:
    """Values of one column whose rows are ahead by the same time."""

    values: Codes
    others: int
    """Number of values that report up to now."""
    offset_us: int
    """A multiple of a quarter of an hour, unless the values report too rarely to show which one."""


def lead_of(
    seen: tuple[Codes, Times], later: tuple[Codes, Times], end: int, now: int, *, whole: bool = True
) -> Lead | None:
    """Which values of a column are ahead, and by how much; None if these are no sources with a wrong clock.

    `seen`: the values and times of the newest rows before `end`, in any order. `later`: the same of those from then on,
    read at `now`. Times in microseconds since 1970. `whole`: whether `later` has all such rows, not only the newest.
    """
    if not len(seen[0]) or not len(later[0]):
        return None
    codes, times = np.append(seen[0], later[0]), np.append(seen[1], later[1])
    size = int(codes.max()) + 1
    known = spacing(codes, times)
    interval = np.zeros(size)
    interval[known.series] = np.nan_to_num(known.median)
    reach = np.maximum(_STEP, 1.5 * interval)
    newest = _newest(codes, times, size)
    lead, behind = newest - now, now - newest if whole else end - _newest(*seen, size)
    # What has a single row ahead has a stray one, or reports too rarely.
    ahead = (lead >= _CLOCKS) & (np.bincount(codes[times > now], minlength=size) > 1)
    reports = (lead < _CLOCKS) & (np.bincount(seen[0], minlength=size) > 1)
    # Rows of all may arrive late, as from a queue.
    late = float(behind[reports].min(initial=_LATE))
    others = reports & (behind <= late + reach)
    if not ahead.any() or others.sum() < max(_FEWEST_OTHERS, ahead.sum() + 1, reports.sum() / 2):
        return None
    middle = float(np.median(lead[ahead]))
    alike = ahead & (np.abs(lead - middle) <= reach)
    offset, usual = middle + float(np.median(behind[others])), float(np.median(interval[ahead]))
    # Forecasts by the hour are no clocks of sensors that report by the minute.
    peers = others & (interval <= _LIKE * usual) & (usual <= _LIKE * interval)
    rounded = round(offset / _STEP) * _STEP
    is_zone = rounded > 0 and lead[ahead].max() <= _FARTHEST and abs(offset - rounded) <= max(_NEAR, usual)
    if not is_zone or peers.sum() < _FEWEST_OTHERS:
        return None
    # Of many rows, only a part of these periods was read.
    compared = min(offset, float(end - seen[1].min()), max(float(np.ptp(later[1])), usual))
    before = np.bincount(seen[0][seen[1] > end - compared], minlength=size)
    after = np.bincount(later[0][later[1] > newest[later[0]] - compared], minlength=size)
    steady = (after <= 2 * before + 1) & (before <= 2 * after + 1) & (_hours(*seen, size) >= _MOST)
    if (alike & steady).sum() < _MOST * ahead.sum():
        return None
    return Lead(np.flatnonzero(alike), int(others.sum()), rounded)


def _newest(codes: Codes, times: Times, size: int) -> Times:
    """The newest time of each value; 1970 for those without."""
    found = np.zeros(size, np.int64)
    np.maximum.at(found, codes, times)
    return found


def _hours(codes: Codes, times: Times, size: int) -> npt.NDArray[np.float64]:
    """In which share of the hours from its first to its last row each value has rows; 0 for those without."""
    hours = times // _HOUR
    first, last = np.full(size, np.iinfo(np.int64).max), np.zeros(size, np.int64)
    np.minimum.at(first, codes, hours)
    np.maximum.at(last, codes, hours)
    low, count = int(hours.min()), int(hours.max() - hours.min()) + 1
    filled = np.bincount(distinct(codes * count + hours - low) // count, minlength=size)
    return np.where(filled > 0, filled / np.maximum(last - first + 1, 1), 0.0)


def find_ahead(runner: QueryRunner, draft: Draft) -> Draft:
    """The draft of a table with the sources that are ahead. Sends a statement only if there are rows after now, as far
    as that is known, and one value of a column may have written them.
    """
    if draft.time is None or draft.sample is None or not _may_be_ahead(runner, draft):
        return draft
    names = list(_sources(draft))
    if not names:
        return draft
    window = Window(runner.window.end, LATEST)
    later = more_rows(runner, draft, sampled(draft, window, [draft.time.name, *names], runner.rows_each))
    if later is None:
        return draft
    now = utc_now()
    found = [one for name in names if (one := _of_column(runner, draft, later, name, now))]
    # A gateway has fewer values than the devices behind it, and both are ahead.
    best = min(found, key=lambda one: (one.values, -one.others), default=None)
    return replace(draft, measurement=replace(draft.measurement, ahead=best))


def _may_be_ahead(runner: QueryRunner, draft: Draft) -> bool:
    known = draft.measurement
    is_live = utc_now() - runner.window.end <= _LIVE and known.own_window is None and not draft.is_of_pages
    is_other = draft.time is not None and words_of(draft.time.name) & (OTHER | DUE | ENDS | BEGINS)
    if not is_live or is_other:
        return False
    if draft.newest:
        return draft.newest >= utc_now() + timedelta(microseconds=_CLOCKS)
    return finds_ranges(runner, draft) if known.later_rows is None else known.later_rows


def _sources(draft: Draft) -> Iterator[str]:
    """The columns whose values may be sources: tags, or what other tables or their names say of columns that recur."""
    if draft.measurement.has_series:
        yield from (t.key for t in draft.tags if not t.label_of and not t.role_reason.endswith(NOT_EVALUATED))
        return
    for column in draft.columns:
        is_own = column.is_unique or column.is_generated or column.name in draft.never_source
        is_code = column_types.is_integer(column.data_type) or column_types.is_text(column.data_type)
        is_named = column.refers_to or names_id(column.name) or names_source(column.name)
        if is_code and is_named and not is_own and (not draft.time or column.name != draft.time.name):
            read = draft.rows_read.column(column.name)
            if len(read.distinct) > _FEWEST_OTHERS and read.filled >= REPEATS * len(read.distinct):
                yield column.name


def _of_column(runner: QueryRunner, draft: Draft, later: ReadRows, name: str, now: datetime) -> RowsAhead | None:
    assert draft.time is not None
    time, numbers = draft.time, dict[str, int]()

    def numbered(rows: ReadRows) -> tuple[Codes, Times]:
        """The number of the value, and the time, of each row that has both."""
        column, times = rows.column(name), rows.times_us(time.name, time.kind)
        known = column.known & times.known
        of_code = np.array([numbers.setdefault(text, len(numbers)) for text in column.texts.to_pylist()], np.int64)
        return of_code[column.codes[known]], times.where(known).values.to_numpy().astype(np.int64)

    seen, (codes, times_us) = numbered(draft.rows_read), numbered(later)
    end_us, now_us = (round(at.timestamp() * _SECOND) for at in (runner.window.end, now))
    whole = later.num_rows < runner.rows_each
    lead = lead_of(seen, (codes, times_us), end_us, now_us, whole=whole)
    if lead is None:
        return None
    is_one, texts = np.isin(codes, lead.values) & (times_us > now_us), list(numbers)
    values = sorted(texts[code] for code in lead.values)
    if any(words_of(value) & _PLANNED for value in values):
        return None
    newest = datetime.fromtimestamp(int(times_us[is_one].max()) // _SECOND, UTC)
    scope = "rows later than now" if whole else "the newest rows later than now"
    count = Count(int(is_one.sum()), runner.source("row_sample", How.EXACT, scope))
    return RowsAhead(name, len(values), lead.others, lead.offset_us / _SECOND, newest, tuple(values[:_EXAMPLES]), count)
