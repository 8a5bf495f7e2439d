"""Rows that are copies of others, among those read and in all of the table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.codes import combined
from tsaudit.analysis.columns.columns import Column, is_integer, is_load_stamp, may_be_text, names_id
from tsaudit.analysis.rows.duplicates import begins_late, copied_rows, identifying, place_of
from tsaudit.analysis.shapes.shapes import redact_unless_name
from tsaudit.collect.draft import Draft, ReadColumn
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import EARLIEST, finds_ranges, may_scan, more_rows, sampled
from tsaudit.collect.roles import read_extents
from tsaudit.collect.row_figures import numbers_of, texts_of
from tsaudit.model.facts import OfRowSample
from tsaudit.model.figures import How, Source, Window
from tsaudit.model.rows import Copies
from tsaudit.text import instant, many


def _copies(draft: Draft, source: Source) -> Copies | None:
    """None if the table has no columns to compare."""
    left_out = [
        c.name
        for c in draft.columns
        # A row that is stored again has another number, and a row that is loaded again another stamp.
        if c.is_generated or (c.is_unique and is_integer(c.data_type)) or is_load_stamp(c.name)
    ]
    own_time = draft.time.name if draft.time else None
    kept = [c for c in draft.columns if c.name not in {own_time, *left_out}]
    if not kept:
        return None
    compared = {c.name: draft.rows_read.column(c.name) for c in kept}
    ids = [c.name for c in kept if _may_be_id(c)]
    stamps = draft.time is None or draft.time.name in left_out
    times_us = None if stamps else draft.read_times()[1]
    return _among(compared, times_us, left_out, source, ids=ids, is_of_pages=draft.is_of_pages)


_PLACES: Final = 8
"""A load that covers an eighth of the time of all rows is seen at one of so many places."""


def find_copies(runner: QueryRunner, draft: Draft, source: Source) -> Copies | None:
    """The copies among the rows read, or among rows from all of the table, if more of those are copies for certain:
    where a file was loaded twice, other rows came since, and where each load brings the last weeks again, the newest
    rows came once. Only the rows read are compared if the engine declares tags. None if the table has no columns to
    compare.
    """
    found = _copies(draft, source)
    if found is None or found.in_bulk or draft.is_of_pages or draft.time is None or _are_kept_apart(draft, found):
        return found
    if not runner.engine.infers_roles:
        return found
    queries, which = _of_all_rows(runner, draft, found)
    read = more_rows(runner, draft, *queries) if queries else None
    if read is None or not read.num_rows:
        return found
    how = How.ESTIMATE if queries[0].hashed else How.SAMPLED
    of_all = _copies(
        replace(draft, sample=read), runner.source("row_sample", how, f"{many(read.num_rows, 'row')} {which}")
    )
    return of_all if of_all and (of_all.in_bulk or (of_all.key and not found.key)) else found


def _are_kept_apart(draft: Draft, found: Copies) -> bool:
    """Whether a unique index lets no row be stored twice."""
    indexes = [i for i in draft.measurement.indexes or () if i.unique and not i.partial]
    return any(None not in index.columns and set(found.left_out).isdisjoint(index.columns) for index in indexes)


def _of_all_rows(runner: QueryRunner, draft: Draft, found: Copies) -> tuple[list[OfRowSample], str]:
    """The queries for rows from all of the table, and which rows these are; none if all rows were read. Where all may
    be read, they are those with some of the values of the column with the most, because copies have the same ones,
    wherever they are. Otherwise, they are those at some older places, if these are found in little time.
    """
    names, sample, rows = [column.name for column in draft.columns], draft.rows_read, _rows_of_table(runner, draft)
    if rows <= max(sample.num_rows, runner.target.budget.max_rows):
        # A sample of fewer rows means that there are many tables.
        return [], ""
    if not draft.partial_scan and may_scan(runner, rows):
        compared = [name for name in names if name not in found.left_out]
        hashed = max(compared, key=lambda name: len(sample.column(name).distinct))
        query = sampled(draft, runner.window, names, draft.sample_limit)
        return [replace(query, time=None, hashed=hashed)], f"with some of the values of {hashed}"
    windows = list(_older_windows(runner, draft, rows))
    places = f"at {len(windows)} places until {instant(windows[-1].end)}" if windows else ""
    return [sampled(draft, window, names, draft.sample_limit // len(windows)) for window in windows], places


def _rows_of_table(runner: QueryRunner, draft: Draft) -> int:
    """The number of all rows, whatever their time; 0 if it is not known, and a server with statistics does not say it:
    then it may take long to count them.
    """
    known = draft.measurement.rows_total or draft.counted
    if known is not None or draft.time is None or draft.statistics is not None:
        return known.value if known else 0
    return max((e.rows for e in read_extents(runner, draft, [draft.time.name], whole=True).values()), default=0)


def _older_windows(runner: QueryRunner, draft: Draft, rows: int) -> Iterator[Window]:
    """The times before those of the rows read, in equal parts; none if that would take a scan of the table. Where the
    oldest time is not known, as if the table's `rows` had always arrived at the rate of those read.
    """
    ends = pc.min_max(draft.read_times()[1].values).as_py()
    if ends["min"] is None or not finds_ranges(runner, draft):
        return
    since = max(ends["min"] - (ends["max"] - ends["min"]) * rows // draft.rows_read.num_rows, 0)
    first, until = draft.oldest or _at(since), _at(ends["min"])
    if first < until:
        for place in range(_PLACES):
            yield Window(*(first + (until - first) * end / _PLACES for end in (place, place + 1)))


def _at(microseconds: int) -> datetime:
    return EARLIEST + timedelta(microseconds=microseconds)


def _may_be_id(column: Column) -> bool:
    return names_id(column.name) and (is_integer(column.data_type) or may_be_text(column.data_type))


def _among(
    columns: Mapping[str, ReadColumn],
    times_us: ReadColumn | None,
    left_out: Sequence[str],
    source: Source,
    *,
    ids: Collection[str] = (),
    is_of_pages: bool,
) -> Copies:
    """The rows that are copies of another one. `times_us`: in microseconds; rows without a time are left out. None:
    rows have no time. `ids`: the columns that may identify a row. `is_of_pages` as in `copied_rows`.
    """
    known = times_us.known if times_us is not None else np.ones(len(next(iter(columns.values()))), np.bool_)
    rows = int(known.sum())
    none = Copies(rows, 0, 0, None, None, tuple(left_out), source)
    if any(len(column.distinct) == len(column) for column in columns.values()):
        # No two rows are equal.
        return none
    codes = {name: column.codes[known] for name, column in columns.items()}
    values, times = (None, None) if times_us is None else np.unique(numbers_of(times_us), return_inverse=True)
    found = copied_rows(list(codes.values()), times, rows, is_of_pages=is_of_pages)
    if not found.copies or values is None or times is None:
        return replace(none, copies=found.copies)

    def at(row: int) -> datetime:
        return _at(int(values[times[row]]))

    first, last = map(at, found.bulk) if found.bulk else (None, None)
    whole = combined([times, *codes.values()], rows)
    others = {name: of for name, of in codes.items() if name not in ids}
    is_copy = np.ones(rows, np.bool_)
    is_copy[np.unique(whole, return_index=True)[1]] = False
    order = np.argsort(times, kind="stable")
    begin = begins_late(is_copy[order])
    place = place_of(others, is_copy)
    return replace(
        none,
        copies=found.copies,
        in_bulk=found.in_bulk,
        first=first,
        last=last,
        key=identifying({name: codes[name] for name in codes if name in ids}, others, whole),
        since=None if begin is None else at(int(order[begin])),
        column=place.column if place else "",
        values=tuple(_shown(columns[place.column].where(known), place.rows)) if place else (),
        rows_there=place.total if place else 0,
    )


def _shown(column: ReadColumn, rows: Sequence[int]) -> Iterator[str]:
    """The values of some rows; texts are redacted unless they are names."""
    is_day = pa.types.is_date(column.type)
    for text in texts_of(column, np.array(rows, np.intp)):
        yield "null" if text is None else text if is_day else redact_unless_name(text)
