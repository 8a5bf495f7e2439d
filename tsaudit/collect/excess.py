"""Whether the rows that arrive each day have multiplied, and one value of a column has brought them: a writer that
reports each second, or each time, what it reported each hour.

What is written by more sources, each at its usual rate, is growth, and none of this: then the rows of the value are of
new sources. Nor are old rows that are loaded, which do not arrive up to now, or a storm that is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from tsaudit.analysis.codes import Codes
from tsaudit.analysis.columns.columns import is_integer, may_be_text, names_id, names_source
from tsaudit.analysis.rows.over_time import Mask
from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL, REPEATS
from tsaudit.collect.draft import Draft, ReadRows
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import EARLIEST, may_scan, more_rows, on_pages, sampled
from tsaudit.model.figures import READ_BY_TIME, How, TableKind
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import ExcessRows
from tsaudit.text import many

_LEAST: Final = 3
"""How many times as many rows a day, as on the busiest day before, are more than a busy day: our default."""
_SUSPECT: Final = 2
"""The same, of the rows since the audit before and the mean of the days until it, from which on rows are read."""
_MOST_OF: Final = 0.5
"""Share of the additional rows that one value brings, and of what it brings that sources from before write."""
_DAYS_BEFORE: Final = 7
"""A week has all its days, the busy ones and the others."""
_LEAST_DAYS: Final = 0.5
"""Between two audits: at night, hardly any rows may come."""
_DAY: Final = timedelta(days=1)
_DAY_US: Final = _DAY // timedelta(microseconds=1)
_HOUR_US: Final = timedelta(hours=1) // timedelta(microseconds=1)
_QUARTERS: Final = 4


@dataclass(frozen=True, slots=True)
class Rise:
    """Since when more rows arrive."""

    days: float
    """For how many days, up to the newest row."""
    before: float
    """Rows of those read on a mean day until then."""
    since: float
    """The same from then on."""
    is_before: Mask
    """Which rows are of whole days until then."""
    is_since: Mask
    """Which are of whole days from then on."""


def rise_of(ages: npt.NDArray[np.float64]) -> Rise | None:
    """When the rows of a day have multiplied, of an even selection of all rows; None if they have not, or that is not
    known to have lasted for a day. `ages`: how many days older than the newest row each one is.
    """
    days = ages.astype(np.int64)
    counts = np.bincount(days)[: int(ages.max(initial=0))]  # The first day may not be whole.
    for whole in range(1, len(counts) - _DAYS_BEFORE):
        # It need not have begun with a whole day.
        early = counts[whole + 1 :]
        high, low = int(early.max()), int(counts[:whole].min())
        if not high or low < ENOUGH or low < _LEAST * high:
            continue
        before, since = float(early.mean()), float(counts[:whole].mean())
        part = min(max((counts[whole] - before) / (since - before), 0.0), 1.0)
        return Rise(whole + part, before, since, (days > whole) & (days < len(counts)), days < whole)
    return None


def find_excess(runner: QueryRunner, draft: Draft) -> Draft:
    """The draft of a table with what multiplied its rows. Sends one statement, and only if more than twice as many rows
    a day have come since the audit before as until then.
    """
    known, then = draft.measurement, draft.previous
    kinds = READ_BY_TIME - {TableKind.QUEUE}
    if draft.time is None or draft.sample is None or then is None or known.own_window or then.own_window:
        return draft
    if (known.kind is not None and known.kind not in kinds) or not draft.read_times()[1].filled:
        return draft
    found = _still(draft, then.excess) if then.excess else None
    if found is None and _may_have_risen(runner, draft, then):
        found = _found(runner, draft)
    return replace(draft, measurement=replace(known, excess=found))


def _may_have_risen(runner: QueryRunner, draft: Draft, then: Measurement) -> bool:
    """Whether the newest rows are more than what came on the days until the audit before. Where old rows are made fewer
    after a while, the newest are always more than these, and the table has as many rows as before.
    """
    now = draft.measurement
    if now.rows is None or then.rows is None or now.last_time is None or then.last_time is None:
        return False
    until = min(now.last_time, runner.window.end)
    days = (until - then.last_time) / _DAY
    first = max(then.first_time or runner.window.start, runner.window.start)
    of_days = (then.last_time - first) / _DAY
    if days < _LEAST_DAYS or of_days < _DAYS_BEFORE or runner.window.end - until > _DAY:
        return False
    return (now.rows.value - then.rows.value) / days >= _SUSPECT * then.rows.value / of_days


def _still(draft: Draft, found: ExcessRows) -> ExcessRows | None:
    """What an earlier audit found, if the newest rows are like that: later, the days before are not known anymore."""
    ages = _ages(draft, draft.rows_read)
    is_new = ages * _QUARTERS < 1
    part = 1.0
    if draft.is_of_pages and draft.measurement.rows is not None:
        part = draft.measurement.rows.value / len(ages)
    # Batches come at few instants: what counts is the time in which they came.
    a_day = part * is_new.sum() / max(min(float(ages.max()), 1 / _QUARTERS), 1 / _DAY_US)
    column = draft.rows_read.column(found.column) if draft.rows_read.has(found.column) else None
    if column is None or a_day < _LEAST * found.before_per_day:
        return None
    codes = [code for code, text in enumerate(column.texts.to_pylist()) if redact_unless_name(text) == found.value]
    share = np.isin(column.codes[is_new], codes).mean()
    return found if share >= _MOST_OF * found.share else None


def _ages(draft: Draft, rows: ReadRows) -> npt.NDArray[np.float64]:
    """How many days older than the newest row of the table each row is; those without a time are as old as any."""
    assert draft.time is not None
    newest = int(pc.max(draft.read_times()[1].values).as_py())
    times = rows.times_us(draft.time.name, draft.time.kind).values.fill_null(0).to_numpy()
    found: npt.NDArray[np.float64] = np.maximum(newest - times, 0) / _DAY_US
    return found


def _found(runner: QueryRunner, draft: Draft) -> ExcessRows | None:
    rows, count = _even_rows(runner, draft), draft.measurement.rows
    if rows is None or count is None or rows.num_rows < ENOUGH:
        return None
    ages = _ages(draft, rows)
    rise = rise_of(ages)
    if rise is None:
        return None
    column_of = {
        column.name: rows.column(column.name)
        for column in draft.columns
        if column.name != draft.measurement.time_column
        and not (column.is_unique or column.is_generated)
        and (may_be_text(column.data_type) or is_integer(column.data_type))
    }
    # What recurs names something.
    codes = {name: column.codes for name, column in column_of.items() if _recurs(column.codes[rise.is_before])}
    tags = {tag.key for tag in draft.tags}
    sources = {name for name in codes if name in tags or names_id(name) or names_source(name)}
    # Numbers as text do not: other ones are measured each time.
    measured = {name for name in codes.keys() - sources if column_of[name].measured_share >= _MOST_OF}
    named = {name: own for name, own in codes.items() if name not in measured}
    values = sorted(_values(named, sources, ages, rise), key=lambda one: (-one.excess, one.before))
    if not values:
        return None
    alike = [one for one in values if one.excess >= NEARLY_ALL * values[0].excess]
    best = min(alike, key=lambda one: (one.before, -one.excess))
    is_best = named[best.column] == best.code
    is_row = is_best & rise.is_since
    others = [one for one in alike if one.column != best.column]
    also = [one for one in others if (named[one.column] == one.code)[is_row].mean() >= NEARLY_ALL]
    # Of several that go with it, what names most sources says where to look.
    also.sort(key=lambda one: (not names_source(one.column), -int(named[one.column].max())))

    def shown(column: str, code: int) -> str:
        return redact_unless_name(column_of[column].texts[code].as_py())

    newest, scale = int(pc.max(draft.read_times()[1].values).as_py()), count.value / rows.num_rows
    # Some rows do not show the minute.
    began = round(newest / _HOUR_US - 24 * rise.days) * timedelta(hours=1)
    return ExcessRows(
        before_per_day=scale * rise.before,
        per_day=scale * rise.since,
        since=EARLIEST + began,
        column=best.column,
        value=shown(best.column, best.code),
        share_before=best.before,
        share=best.share,
        also=tuple((one.column, shown(one.column, one.code)) for one in also[:1]),
        source=runner.source("row_sample", How.ESTIMATE, f"{many(rows.num_rows, 'row')} from all of the window"),
    )


@dataclass(frozen=True, slots=True)
class _Value:
    """A value of a column that brings most of the additional rows."""

    column: str
    code: int
    excess: float
    """Its share of the additional rows of a day."""
    before: float
    """Its share of the rows before."""
    share: float
    """The same since then."""


def _values(
    codes: Mapping[str, Codes], sources: Set[str], ages: npt.NDArray[np.float64], rise: Rise
) -> Iterator[_Value]:
    """The values that bring most of the additional rows, whose share has doubled or more, and go on. `sources`: the
    columns that say so by their names.
    """
    for name, own in codes.items():
        size = int(own.max(initial=0)) + 1
        before = np.bincount(own[rise.is_before & (own >= 0)], minlength=size) / rise.is_before.sum()
        since = np.bincount(own[rise.is_since & (own >= 0)], minlength=size) / rise.is_since.sum()
        excess = (since * rise.since - before * rise.before) / (rise.since - rise.before)
        for code in np.flatnonzero((excess >= _MOST_OF) & (before > 0) & (since >= 2 * before)).tolist():
            is_one = own == code
            if _goes_on(ages[is_one], rise) and not _are_new_sources(codes, sources, is_one, rise):
                yield _Value(name, code, float(excess[code]), float(before[code]), float(since[code]))


def _goes_on(ages: npt.NDArray[np.float64], rise: Rise) -> bool:
    """Whether rows of a value came at the end as on the whole day, and for a day or more."""
    of_day = np.bincount((ages[ages < 1] * _QUARTERS).astype(np.int64), minlength=_QUARTERS)
    enough = _MOST_OF * of_day.sum() / _QUARTERS
    return bool(of_day[0] >= enough and (of_day[-1] >= enough or rise.days >= 2))


def _recurs(codes: Codes) -> bool:
    return REPEATS * len(np.unique(codes)) <= len(codes)


def _are_new_sources(codes: Mapping[str, Codes], sources: Set[str], is_one: Mask, rise: Rise) -> bool:
    """Whether the rows of a value are, since then, mostly of values of another column that it did not have before."""
    before, since = is_one & rise.is_before, is_one & rise.is_since
    others = [own for name, own in codes.items() if name in sources or _recurs(own[since])]
    return any(np.isin(own[since], own[before]).mean() < _MOST_OF for own in others)


def _even_rows(runner: QueryRunner, draft: Draft) -> ReadRows | None:
    """Rows from all of the window, about as many as were read; None if they cannot be read, or that failed."""
    if draft.is_even:
        return draft.sample
    inside, address = draft.measurement.rows, runner.engine.row_address
    if not draft.reads_all_parts or inside is None or not address:
        return None
    names, wanted = [column.name for column in draft.columns], draft.sample_limit
    if scan := draft.partial_scan:
        return more_rows(runner, draft, on_pages(runner, draft, names, wanted, scan.rows_all, inside.value))
    if not may_scan(runner, inside.value):
        return None
    return more_rows(runner, draft, replace(sampled(draft, runner.window, names, wanted), hashed=address))
