"""What the columns of a table take in a row, and which texts and documents repeat from row to row."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.codes import changes
from tsaudit.analysis.columns.columns import is_reference, may_be_long
from tsaudit.analysis.rows.column_groups import repeated_together
from tsaudit.analysis.significance import ENOUGH, REPEATS, WORTH_MOVING
from tsaudit.analysis.values.document_parts import repeated_parts, shares_of_parts
from tsaudit.analysis.values.label_sets import FORM_SHARE
from tsaudit.collect.draft import LONGEST, Draft, ReadColumn, ReadRows
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import more_rows, on_pages
from tsaudit.model.facts import OfRowSample
from tsaudit.model.figures import How, Source
from tsaudit.model.rows import EqualColumns, LargerColumn, RepeatedColumns, RowBytes
from tsaudit.text import many


def _texts_of(draft: Draft) -> dict[str, str]:
    """The columns of texts and documents, but the time, to the type of each."""
    own_time = draft.time.name if draft.time else None
    return {
        c.name: c.data_type
        for c in draft.columns
        if (may_be_long(c.data_type) or not c.data_type) and c.name != own_time
    }


def stored_bytes(runner: QueryRunner, draft: Draft, source: Source) -> RowBytes:
    """What the columns take, and what repeats in the rows read."""
    columns = {column.name: draft.rows_read.column(column.name) for column in draft.columns}
    texts = _texts_of(draft)
    stored = draft.measurement.status.widths if draft.measurement.status else {}
    if runner.engine.packs_integers:
        stored = packed_widths(columns) | dict(stored)
    sizes, larger = _sizes(runner, draft, columns, texts, stored)
    stored = dict(stored) | sizes
    widths = _widest_first({n: stored[n] if n in stored else _width_of(column) for n, column in columns.items()})
    repeated = repeated_columns(columns, texts, widths, LONGEST)
    equal = _equal_columns(columns, texts, widths, LONGEST)
    return RowBytes(widths, repeated, draft.rows_read.num_rows, source, equal=equal, larger=larger)


def _widest_first(widths: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(widths.items(), key=lambda pair: (-pair[1], pair[0])))


def spread_needed(runner: QueryRunner, draft: Draft) -> OfRowSample | None:
    """The query that `find_repeated` needs; None if it needs none."""
    found = _unconfirmed(runner, draft)
    return found[1] if found else None


def find_repeated(runner: QueryRunner, draft: Draft) -> Draft:
    """Replace what repeats in the rows read by what repeats in all parts of the table."""
    found, read = _unconfirmed(runner, draft), draft.measurement.row_bytes
    if found is None or read is None:
        return draft
    further, query = found
    spread = _spread_rows(runner, draft, query)
    confirmed = replace(read, repeated=(), equal=()) if spread is None else _confirmed(runner, draft, further, spread)
    return replace(draft, measurement=replace(draft.measurement, row_bytes=confirmed))


def _unconfirmed(runner: QueryRunner, draft: Draft) -> tuple[dict[str, str], OfRowSample | None] | None:
    """The columns of which more has to be read to know what repeats, to the type of each; and the query for rows from
    all parts of the table that show what repeats there, None if there are none. None if the rows read show it.
    """
    read = draft.measurement.row_bytes
    if read is None or draft.sample is None:
        return None
    texts = _texts_of(draft)
    further = [name for name in texts if _may_repeat_further(draft.sample.column(name))]
    most = int(_DOCUMENT_BYTES / max(sum(read.columns[name] for name in further), 1.0))
    if most < ENOUGH or draft.measurement.is_compressed:
        further = []
    names = {name for group in read.repeated for name in group.columns}
    # The statistics are about all rows, of which only the newest ones may have it.
    widths = {name: max(read.columns[name], _width_of(draft.rows_read.column(name))) for name in names}
    is_little = sum(widths.values()) < WORTH_MOVING and not read.equal
    if not further and (is_little or (draft.is_read_whole and draft.time is None)):
        return None
    names.update(further)
    names.update(name for pair in read.equal for name in (pair.column, pair.other))
    if further:
        # Any of the others may say which of the documents, or of their parts, a row has.
        names.update(name for name in texts if draft.sample.column(name).longest < LONGEST)
    longest, limit = (_LONGEST_DOCUMENT, min(most, draft.sample_limit)) if further else (LONGEST, draft.sample_limit)
    if draft.time is not None:
        names.add(draft.time.name)
    # The newest rows, and those at the beginning of a table, may be those of one source.
    query = _spread(runner, draft, [name for name in read.columns if name in names], limit, longest=longest)
    return {name: texts[name] for name in further}, query


def _confirmed(runner: QueryRunner, draft: Draft, further: Mapping[str, str], spread: ReadRows) -> RowBytes:
    """What repeats in rows from all parts of the table. Parameters as from `_unconfirmed`."""
    read, texts = draft.measurement.row_bytes, _texts_of(draft)
    assert read is not None
    found = {name: spread.column(name) for name in spread.names}
    parts, types, sizes = _document_parts(found, further, read.columns)
    widths = _widest_first({**sizes, **read.columns})
    longest = _LONGEST_DOCUMENT if further else LONGEST
    repeated = repeated_columns(parts | found, types | texts, widths, longest, by_page=True)
    scope = f"{many(spread.num_rows, 'row')} from all parts of the table"
    counted = runner.source("row_sample", How.SAMPLED, scope)
    repeated_parts = {name: sizes[name] for group in repeated for name in group.columns if name in sizes}
    equal = _equal_columns(found, texts, read.columns, longest)
    columns = _of_all_rows(draft, read.columns, found)
    lengths = {name: _lengths_of(column) for name, column in found.items() if name in texts and name in columns}
    known = {one.column for one in read.larger}
    larger = read.larger + _larger(runner, draft, spread, {k: v for k, v in lengths.items() if k not in known})
    return RowBytes(columns, repeated, spread.num_rows, counted, repeated_parts, equal, larger)


def _of_all_rows(draft: Draft, widths: Mapping[str, float], spread: Mapping[str, ReadColumn]) -> dict[str, float]:
    """The mean bytes of each column in all rows: what was taken from the newest rows, of which more or fewer have it
    than of all, is corrected by those that have it of the rows from all parts.
    """
    of_all = draft.measurement.status.widths if draft.measurement.status else {}
    known = dict(widths)
    for name, column in spread.items():
        read = draft.rows_read.column(name)
        if name not in of_all and read.longest < LONGEST and read.filled:
            known[name] *= column.filled / len(column) / (read.filled / len(read))
    return _widest_first(known)


def _lengths_of(column: ReadColumn) -> npt.NDArray[np.float64]:
    """The characters of each value, 0 for nulls."""
    of_value = np.append(pc.utf8_length(column.texts).to_numpy(zero_copy_only=False), 0)
    lengths: npt.NDArray[np.float64] = of_value[column.codes].astype(np.float64)
    return lengths


_LONGEST_DOCUMENT: Final = 10_000
"""Most characters read of each document in which something may repeat."""
_DOCUMENT_BYTES: Final = 8_000_000
"""About as many bytes of such documents are read of a table."""
_SIZED_ROWS: Final = 4_000
_WIDER: Final = 2


def _sizes(
    runner: QueryRunner,
    draft: Draft,
    columns: Mapping[str, ReadColumn],
    texts: Iterable[str],
    stored: Mapping[str, float],
) -> tuple[dict[str, float], tuple[LargerColumn, ...]]:
    """The mean bytes in a row of the columns whose size neither the statistics of the server nor the values read show:
    PostgreSQL counts a value that it stores outside of the row as 18 bytes, and long values are read in part. And those
    of them whose values have become larger.
    """
    names = [
        name
        for name in texts
        if columns[name].longest >= LONGEST or _width_of(columns[name]) > _WIDER * stored.get(name, sys.maxsize)
    ]
    query = _spread(runner, draft, names, min(_SIZED_ROWS, draft.sample_limit))
    if query is not None:
        own_time = [draft.time.name] if draft.time else []
        query = replace(query, columns=[*names, *own_time], sizes=names)
    sized = _spread_rows(runner, draft, query)
    if sized is None:
        return {}, ()
    # Where no row has a value, the type of the sizes is not known.
    bytes_ = {name: sized.column(name).values.cast(pa.float64()).fill_null(0).to_numpy() for name in names}
    means = {name: float(of_rows.mean()) for name, of_rows in bytes_.items()}
    # Statistics that agree are of more rows.
    agree = {name for name, mean in means.items() if name in stored and mean / _WIDER <= stored[name] <= mean * _WIDER}
    sizes = {name: mean for name, mean in means.items() if name not in agree}
    return sizes, _larger(runner, draft, sized, bytes_)


_LARGER: Final = 3
"""How many times as many bytes, as on the largest of the days before, are more than a busy day: our default."""
_DAYS_BEFORE: Final = 7
"""A week has all its days, the busy ones and the others."""
_DAYS_SINCE: Final = 30
"""What began earlier is how it is: whoever wanted it otherwise has had a month."""
_SAME_BEGINNING: Final = timedelta(hours=14)
"""It is known to about a third of a day; what moves on with the days does so by a day between two audits."""
_DAY_US: Final = 86_400_000_000
_OF_A_PERIOD: Final = 40
"""Mean number of rows of the periods whose mean sizes are compared: a day, or longer if rows of many days were read."""


def _larger(
    runner: QueryRunner, draft: Draft, rows: ReadRows, sizes: Mapping[str, npt.NDArray[np.float64]]
) -> tuple[LargerColumn, ...]:
    """The columns whose values have become larger. `sizes`: the bytes of their values in rows from all parts of the
    table, which have its time.
    """
    if draft.time is None or not rows.has(draft.time.name):
        return ()
    times = rows.times_us(draft.time.name, draft.time.kind).values.cast(pa.int64())
    at, end = times.fill_null(np.iinfo(np.int64).max).to_numpy(), round(runner.window.end.timestamp() * 1_000_000)
    known = at <= end
    if int(known.sum()) < ENOUGH:
        return ()
    newest = int(at[known].max())
    before = draft.previous.row_bytes.larger if draft.previous and draft.previous.row_bytes else ()
    seen = {one.column: one.since for one in before}
    found: list[LargerColumn] = []
    for name, of_rows in sizes.items():
        if step := size_step((newest - at[known]) / _DAY_US, of_rows[known]):
            days, earlier, now = step
            since = datetime.fromtimestamp(newest / 1_000_000, UTC) - timedelta(days=days)
            is_confirmed = name in seen and abs(since - seen[name]) <= _SAME_BEGINNING
            found.append(LargerColumn(name, earlier, now, since, is_confirmed))
    return tuple(found)


def size_step(ages: npt.NDArray[np.float64], sizes: npt.NDArray[np.float64]) -> tuple[float, float, float] | None:
    """For how many days up to the newest row values have been larger than on any day before, and the mean bytes of a
    row before and since; None if they have not, or if less than a week before, or a day since, is known. `ages`: how
    many days older than the newest row each row is.
    """
    unit = max(1.0, _OF_A_PERIOD * float(ages.max(initial=0)) / max(len(ages), 1))
    periods = (ages / unit).astype(np.int64)
    last = int(periods.max(initial=0))  # The first one may not be whole.
    counts = np.bincount(periods, minlength=last + 1)[:last]
    sums = np.bincount(periods, sizes, minlength=last + 1)[:last]
    shown = 2 * counts >= _OF_A_PERIOD
    means = np.divide(sums, counts, out=np.zeros(last), where=shown)
    largest = np.zeros(last + 1)
    np.maximum.at(largest, periods, sizes)
    # One value of any size is no change.
    without = np.divide(sums - largest[:last], counts - 1, out=np.zeros(last), where=shown)
    for whole in range(1, min(last - _DAYS_BEFORE, int(_DAYS_SINCE / unit) + 1)):
        # It need not have begun with a whole period.
        new, old = shown[:whole], shown[whole + 1 :]
        if not new.any() or old.sum() < _DAYS_BEFORE:
            continue
        high = means[whole + 1 :][old].max()
        oldest = np.sort(sizes[(ages >= (whole - 0.5) * unit) & (ages < whole * unit)])[:-1]
        low = min(without[:whole][new].min(), oldest.mean() if len(oldest) else 0.0)
        if low >= _LARGER * high and low - high >= WORTH_MOVING:
            now, before = float(means[:whole][new].mean()), float(means[whole + 1 :][old].mean())
            part = (float(means[whole]) - before) / (now - before) if shown[whole] else 0.0
            return (whole + min(max(part, 0.0), 1.0)) * unit, before, now
    return None


def _spread(
    runner: QueryRunner, draft: Draft, names: list[str], wanted: int, *, longest: int = LONGEST
) -> OfRowSample | None:
    """The query for these columns of about as many rows as wanted from all parts of the table, whatever their time.
    None if there are too few to show anything, or if reading them is no use. `longest`: most characters of each text.
    """
    rows = max(draft.estimated_rows or 0, draft.measurement.rows_known, draft.rows_read.num_rows)
    if not names or rows < ENOUGH or not draft.reads_all_parts or draft.measurement.is_compressed:
        return None
    return replace(on_pages(runner, draft, names, wanted, rows), longest=longest)


def _spread_rows(runner: QueryRunner, draft: Draft, query: OfRowSample | None) -> ReadRows | None:
    """These rows. None if there are too few to show anything, or if a gap was left."""
    read = more_rows(runner, draft, query, needed_for="repeated_columns") if query else None
    return read if read and read.num_rows >= ENOUGH else None


def _may_repeat_further(column: ReadColumn) -> bool:
    """Whether more of each value has to be read to know what repeats: beginnings repeat, or the values are JSON
    objects that differ as a whole.
    """
    begins_again = column.longest >= LONGEST and len(column.distinct) * REPEATS <= len(column)
    return begins_again or _differ_as_objects(column)


def _document_parts(
    columns: Mapping[str, ReadColumn], texts: Mapping[str, str], widths: Mapping[str, float]
) -> tuple[dict[str, ReadColumn], dict[str, str], dict[str, float]]:
    """The parts that repeat in JSON objects which differ as a whole: each as a column of its own, its type, and its
    mean bytes in a row, of those of the column. Parameters as for `repeated_columns`.
    """
    parts: dict[str, ReadColumn] = {}
    types: dict[str, str] = {}
    sizes: dict[str, float] = {}
    for name, kind in texts.items():
        column = columns[name]
        if not _differ_as_objects(column):
            continue
        parsed = [*map(_parsed, column.texts.to_pylist()), None]
        documents = [parsed[code] for code in column.codes.tolist()]
        is_packed = widths[name] < _PACKED_SHARE * _width_of(column)
        found = repeated_parts(documents, within=f"{name}.")
        # Stored as it is, a part may take more than its text, as in PostgreSQL's jsonb.
        least = _PART_BYTES if is_packed else 0
        for path, share in shares_of_parts(documents, found, least=least, is_packed=is_packed).items():
            if (size := share * widths[name]) >= _PART_BYTES:
                parts[path] = ReadColumn(pa.chunked_array([pa.array(found[path], pa.string())]))
                types[path], sizes[path] = kind, size
    return parts, types, sizes


_PACKED_SHARE: Final = 0.8
"""A document that takes less than this share of its text is stored compressed."""
_PART_BYTES: Final = 100
"""A part that takes less is an attribute like others, such as a name, an ID, or a hash: nobody moves it out."""


def _differ_as_objects(column: ReadColumn) -> bool:
    if len(column.distinct) * REPEATS <= len(column) or "{" not in column.initials:
        return False
    begin = pc.starts_with(pc.utf8_trim_whitespace(column.texts), "{").to_numpy(zero_copy_only=False)
    return int(column.rows[begin].sum()) >= FORM_SHARE * column.filled


def _parsed(text: str) -> object:
    """The JSON value; None for another text, and for one that was cut off."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def repeated_columns(
    columns: Mapping[str, ReadColumn],
    texts: Mapping[str, str],
    widths: Mapping[str, float],
    longest: int,
    *,
    by_page: bool = False,
) -> tuple[RepeatedColumns, ...]:
    """The texts and documents that repeat, widest first.

    `texts`: their columns, to the type of each. `widths`: mean bytes of the columns in a row, in that order. `longest`:
    where texts were cut off: such values may differ in what was not read. `by_page`: the rows are a sample, of which
    rows next to each other may be neighbors in the table: a value that is only in one place shows nothing about the
    others.
    """
    codes = {
        name: columns[name].codes + 1
        for name, width in widths.items()
        if name in texts
        and name in columns
        and width > _REFERENCE_BYTES
        and columns[name].longest < longest
        # What few rows have is not the same because the others have none.
        and len(columns[name].distinct) * REPEATS <= columns[name].filled
    }
    rows = len(next(iter(columns.values())))
    return tuple(
        RepeatedColumns(
            {name: texts[name] for name in one.names},
            one.combinations,
            tuple(key for key in one.keys if not by_page or changes(codes[key]).sum() >= REPEATS * one.combinations),
        )
        for one in repeated_together(codes, rows)
    )


def _equal_columns(
    columns: Mapping[str, ReadColumn], texts: Iterable[str], widths: Mapping[str, float], longest: int
) -> tuple[EqualColumns, ...]:
    """The pairs of texts, other than IDs, that are the same in nearly all rows and do not just repeat; of several that
    are the same, each but the first one is in one pair. Parameters as for `repeated_columns`.
    """
    wide = [n for n in texts if n in columns and widths[n] >= WORTH_MOVING and pa.types.is_string(columns[n].type)]
    varied = [
        n for n in wide if len(columns[n].distinct) * REPEATS > len(columns[n]) and not is_reference(n, widths[n])
    ]
    found: list[EqualColumns] = []
    for (name, column), (other, copy) in itertools.combinations([(name, columns[name]) for name in varied], 2):
        if {name, other} & {pair.column for pair in found}:
            continue
        # Texts that were cut off may differ in what was not read.
        whole = pc.less(pc.utf8_length(copy.values), longest)
        same = pc.sum(pc.and_(pc.equal(column.values, copy.values), whole)).as_py() or 0
        if same >= ENOUGH and same >= _EQUAL_SHARE * max(column.filled, copy.filled):
            found.append(EqualColumns(other, name, same / len(copy)))
    return tuple(found)


_EQUAL_SHARE: Final = 0.95
_REFERENCE_BYTES: Final = 4
"""What takes no more is as short as what could stand for it."""
_HEADER_BYTES: Final = 1
"""Of a short text in PostgreSQL and SQLite."""


def _width_of(column: ReadColumn) -> float:
    """The mean bytes of its values as read, nulls included."""
    if pa.types.is_primitive(column.type):
        return float(column.filled * column.type.bit_width / 8) / len(column)
    lengths = int((pc.binary_length(column.texts).to_numpy() * column.rows).sum())
    return float(lengths + _HEADER_BYTES * column.filled) / len(column)


_PACKED: Final = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 6}
"""Bytes that a whole number needs to those it takes, in SQLite: 0 and 1 take none, the largest ones 8."""


def packed_widths(columns: Mapping[str, ReadColumn]) -> dict[str, float]:
    """The mean bytes of whole numbers, by column, where they take only what they need, nulls included."""
    return {name: _packed_width(column) for name, column in columns.items() if pa.types.is_integer(column.type)}


def _packed_width(column: ReadColumn) -> float:
    values = column.values.drop_null().to_numpy().astype(np.float64)
    widths = np.full(len(values), 8.0)
    for needed in sorted(_PACKED, reverse=True):
        widths[(values >= -(2.0 ** (8 * needed - 1))) & (values < 2.0 ** (8 * needed - 1))] = _PACKED[needed]
    widths[(values == 0) | (values == 1)] = 0
    return float(widths.sum()) / len(column)
