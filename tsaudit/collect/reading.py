"""Which rows of a measurement are read, and how: the newest, in ever cheaper ways if a query for all of them fails; a
part of a table too big to read, with what the engine's statistics show about all of it; and rows outside the window.

A table is read completely, within the window, if the planner estimates at most `budget.max_scan_rows` rows. For a
bigger table, only the newest rows are read if an index provides them, otherwise pages selected at random. The rest
comes from the statistics and is marked as such.

Outside the window: if that contains no row, whether the table has any, as the clocks may differ, and then it was not
measured; and whether rows in 1970 have times in a wrong unit, for which nothing is queried unless the oldest time is in
1970.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

import pyarrow as pa

from tsaudit.analysis.columns import time_columns
from tsaudit.analysis.columns.columns import may_be_long
from tsaudit.analysis.columns.time_columns import instant_of
from tsaudit.collect.catalog_facts import single_value
from tsaudit.collect.draft import LONGEST, ColumnStatistics, Draft, PartialScan, ReadRows
from tsaudit.collect.query_runner import QueryRunner, Unanswered, keeping
from tsaudit.engines.queries import query_files, query_name
from tsaudit.model.facts import (
    OfBuckets,
    OfDocuments,
    OfMeasurement,
    OfNullCounts,
    OfRowSample,
    OfScanEstimate,
    TablePart,
)
from tsaudit.model.figures import Count, How, Ratio, Reason, Role, Source, Window, utc_now, with_zone
from tsaudit.model.rows import MisdatedRows
from tsaudit.model.timeline import SAME_DAY
from tsaudit.text import instant, many, number, percent, span

EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""Earlier values are considered mistakes, not times."""
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)
"""Later values are considered mistakes: nanoseconds since 1970 end soon after."""
_PARTS: Final = (4, 16, 64, 256)
_FEWEST_ROWS: Final = 100
"""Fewest rows to ask for: a smaller sample shows too little."""

About = TypeVar("About", bound=OfMeasurement)
Limited = TypeVar("Limited", OfRowSample, OfDocuments, OfBuckets)


def shorter(given: About) -> Iterator[About]:
    """The whole window, then smaller and smaller newest parts of it: engines that store rows by time then read less.
    For a table of which only a part may be read, smaller and smaller parts.
    """
    yield given
    part: TablePart | None = getattr(given, "partial_scan", None)
    for by in _PARTS:
        if part is not None:
            smaller = TablePart(part.newest, max(part.rows // by, 1), f"{float(part.percent) / by:.6f}")
            yield replace(given, partial_scan=smaller)  # type: ignore[call-arg]
        elif given.time is not None:
            yield replace(given, start=given.end - (given.end - given.start) / by)


def fewer(given: Limited) -> Iterator[Limited]:
    """The number of rows wanted, then fewer."""
    yield given
    for by in _PARTS:
        if given.limit // by >= _FEWEST_ROWS:
            yield replace(given, limit=given.limit // by)


def fewer_and_shorter(given: OfRowSample) -> Iterator[OfRowSample]:
    """Fewer rows, in case rows are wide; then fewer from the newest parts of the window, in case there are many."""
    sizes = list(fewer(given))
    yield from sizes
    # All combinations would take longer than the audit may, so only a few parts are tried, with a small number of rows.
    few = sizes[min(2, len(sizes) - 1)]
    _whole, *parts = shorter(few)
    yield from parts[1::2]


def times_of(runner: QueryRunner, given: OfRowSample) -> list[object] | None:
    """The values of the only column of some rows; None if a gap was left."""
    values: list[object] = []

    def consume(batch: pa.RecordBatch) -> None:
        values.extend(batch.column(0).to_pylist())

    return None if runner.query("row_sample", consume, given) is None else values


def newest_of(draft: Draft, values: list[object]) -> datetime | None:
    """The newest of these times; None if no value is a time."""
    kind = draft.time.kind if draft.time else None
    return max((time for value in values if (time := instant_of(value, kind))), default=None)


def sampled(
    draft: Draft,
    window: Window,
    names: list[str],
    limit: int,
    part: TablePart | None = None,
    series: Sequence[Mapping[str, str | None]] = (),
) -> OfRowSample:
    """The parameters for reading rows of some columns of a period, whether or not that is the one that is measured.
    `series`: tag sets whose rows to read; empty for all.
    """
    texts = [c.name for c in draft.columns if may_be_long(c.data_type)]
    return OfRowSample(
        **draft.about(window) | {"start": window.start, "end": window.end},
        columns=names,
        texts=texts,
        longest=LONGEST,
        limit=limit,
        series=series,
        partial_scan=part,
        each_type=draft.each_type,
    )


def read_sample(runner: QueryRunner, draft: Draft, limit: int) -> Draft:
    """Keep the newest rows, at most `limit`, from `draft.sampled_since` on; fewer if reading that many fails."""
    batches: list[pa.RecordBatch] = []
    queries = fewer_and_shorter(sample_of(runner, draft, limit))
    answer = runner.first_answered("row_sample", queries, keeping(batches))
    if answer is None:
        return draft
    has_rows = any(batch.num_rows for batch in batches)
    if answer.failed and not has_rows:
        # An empty newest part does not show that the other parts are empty.
        failed = answer.failed
        runner.gap("row_sample", failed.reason, failed.cause, draft.database, draft.name, fix=failed.fix)
        return draft
    draft = replace(draft.sent("row_sample", answer.statement), sample_limit=answer.given.limit)
    if answer.failed and not draft.partial_scan and answer.given.start > draft.about(runner.window)["start"]:
        draft = replace(draft, sampled_since=answer.given.start)
    return replace(draft, sample=ReadRows.of(batches)) if has_rows else draft


def sample_of(runner: QueryRunner, draft: Draft, limit: int) -> OfRowSample:
    """The parameters of `row_sample`."""
    window = draft.window(runner.window)
    window = replace(window, start=draft.sampled_since or window.start)
    part = draft.partial_scan.of(limit) if draft.partial_scan else None
    return sampled(draft, window, [c.name for c in draft.columns], limit, part)


def names_of(draft: Draft, given: OfRowSample) -> Sequence[str]:
    """The names by which `Draft.read` finds the columns of these rows."""
    if not draft.is_indexed:
        return given.columns
    columns = ["time", *(f"{Role.FIELD} {key}" for key in given.fields), *(f"{Role.TAG} {key}" for key in given.tags)]
    return [*columns, *(f"type {key}" for key in given.fields if key in given.each_type)]


def on_pages(
    runner: QueryRunner, draft: Draft, names: list[str], wanted: int, rows: int, inside: int | None = None
) -> OfRowSample:
    """The query for these columns of about as many rows as wanted, on pages chosen at random: those within the window,
    of which there are `inside`, or with None those of any time. `rows`: of the whole table.
    """
    part = PartialScan(False, inside, rows, runner.target.budget.max_scan_rows or rows).of(wanted)
    # If there are more rows than estimated, the limit would leave only the first ones.
    query = sampled(draft, draft.window(runner.window), names, 2 * wanted, part)
    return query if inside is not None else replace(query, time=None)


def more_rows(runner: QueryRunner, draft: Draft, *queries: OfRowSample, needed_for: str = "") -> ReadRows | None:
    """All rows of these queries, in addition to those read; None if one was not answered, or if there are more on pages
    than its limit. As they only add to what is known, that leaves no gap, unless they are `needed_for` a fact.
    """
    batches: list[pa.RecordBatch] = []
    for query in queries:
        answer = runner.try_query("row_sample", batches.append, query)
        if isinstance(answer, Unanswered):
            if needed_for:
                cause = f"rows from all parts of the table were not read: {answer.cause}"
                runner.gap(needed_for, answer.reason, cause, draft.database, draft.name, fix=answer.fix)
            return None
    read = ReadRows.of(batches, names_of(draft, queries[0]))
    return None if queries[0].partial_scan and read.num_rows >= queries[0].limit else read


LISTED_ROWS: Final = 100_000
"""Rows of a big table whose tag sets are listed: few enough that their distinct values fit into the server's memory."""
HARMLESS_SERIES: Final = 1_000
"""A big table with at most this many series is not listed: listing costs more than it is worth."""
_STALE_SHARE: Final = 0.1
"""If at least this share of the rows was written since the statistics were computed, they are stale: autovacuum would
have analyzed the table again.
"""


def by_measurement(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, ColumnStatistics]]:
    """The rows of `column_statistics` as measurement to column to statistics."""
    found: dict[str, dict[str, ColumnStatistics]] = {}
    for row in rows:
        found.setdefault(row["measurement"], {})[row["column"]] = _statistics(row)
    return found


def limit_scan(runner: QueryRunner, draft: Draft) -> Draft:
    """Decide whether the rows within the window may be read; if not, `draft.partial_scan` says which may.

    If the query fails, nothing is read, and `draft.unreadable` says why.
    """
    most = runner.target.budget.max_scan_rows
    if draft.statistics is None or not most:
        return draft
    statement, estimate = _estimate(
        runner, draft, runner.window, min(most, max(runner.target.budget.max_rows, LISTED_ROWS))
    )
    if statement is None:
        return replace(draft, unreadable=runner.gap_in("scan_estimate", draft.database, draft.name))
    draft = draft.sent("scan_estimate", statement)
    # If a table was never analyzed, the planner only knows its size; the engine may have counted the rows.
    rows_all = max(estimate["rows_all"], draft.estimated_rows or 0)
    scale = rows_all / estimate["rows_all"] if estimate["rows_all"] else 1.0
    read = estimate["rows_read"] * scale if estimate["rows_all"] else rows_all
    if read > most:
        known = draft.time is None or null_ratio(runner, draft, draft.time.name) is not None
        newest = estimate["rows_sorted"] is not None and estimate["rows_sorted"] * scale <= most
        return replace(draft, partial_scan=PartialScan(newest, estimate["rows"] if known else None, rows_all, most))
    return draft


def may_scan(runner: QueryRunner, rows: int) -> bool:
    """Whether the budget allows a statement that reads so many rows."""
    most = runner.target.budget.max_scan_rows
    return not most or rows <= most


def may_look_up_newest(runner: QueryRunner, draft: Draft, window: Window) -> bool:
    """Whether the newest row in the window may be looked up: an index provides it, or there are few rows to read.

    If not, a gap says why.
    """
    most = runner.target.budget.max_scan_rows
    if draft.statistics is None or not most:
        return True
    statement, estimate = _estimate(runner, draft, window, 1)
    if statement is None:
        return False
    if estimate["rows_sorted"] is not None and estimate["rows_sorted"] <= most:
        return True
    runner.gap(
        "row_sample",
        Reason.OVER_BUDGET,
        f"no row is within the window, and the newest one was not looked up: {too_many(runner, estimate['rows_all'])}",
        draft.database,
        draft.name,
        fix=to_read_all(estimate["rows_all"]),
    )
    return False


def _estimate(runner: QueryRunner, draft: Draft, window: Window, limit: int) -> tuple[str | None, Mapping[str, Any]]:
    """The statement and the row of `scan_estimate`; None and an empty mapping if a gap was left."""
    found: list[Mapping[str, Any]] = []

    def consume(batch: pa.RecordBatch) -> None:
        found.extend(batch.to_pylist())

    statement = runner.query("scan_estimate", consume, OfScanEstimate(**draft.about(window), limit=limit))
    return (None, {}) if statement is None else (statement, found[0])


def null_ratio(runner: QueryRunner, draft: Draft, column: str) -> Ratio | None:
    """The share of nulls (0-1) among all rows of the table, from statistics; None without statistics."""
    known = (draft.statistics or {}).get(column)
    if known is None or known.null_ratio is None:
        return None
    p = known.null_ratio
    return Ratio(p, _source(runner, known), math.sqrt(p * (1 - p) / max(known.sampled_rows, 1)))


def distinct_values(runner: QueryRunner, draft: Draft, column: str) -> Count | None:
    """The number of distinct values in all rows of the table, from statistics; None without statistics."""
    known = (draft.statistics or {}).get(column)
    if known is None or known.distinct is None:
        return None
    return Count(known.distinct, _source(runner, known, "at least" if known.at_least else ""))


def series_bound(runner: QueryRunner, draft: Draft) -> Count | None:
    """The maximum number of series, if it is so small that listing them is not worthwhile; otherwise None.

    A table whose series were listed in the previous profile is listed again, because a change of method would look like
    growth.
    """
    before = draft.previous.series if draft.previous else None
    if before and before.source.query == runner.source("series_listing").query:
        return None
    known = [(draft.statistics or {}).get(tag.key) for tag in draft.tags]
    product = 1
    for column in known:
        if column is None or column.distinct is None or column.at_least or _is_stale(runner, column):
            return None
        product *= column.distinct + (1 if column.null_ratio else 0)
    if product > HARMLESS_SERIES or known[0] is None:
        return None
    return Count(product, _source(runner, known[0], "at most, the product of all tags' values"))


def common_values(draft: Draft, column: str) -> tuple[str, ...]:
    """The most common values of a column, from statistics."""
    known = (draft.statistics or {}).get(column)
    return known.common_values if known else ()


def too_many(runner: QueryRunner, rows: int) -> str:
    """Why a table with so many rows is not read completely."""
    return f"of about {many(rows, 'row')} at most {number(runner.target.budget.max_scan_rows)} may be read"


def to_read_all(rows: int) -> str:
    """The setting by which a table with so many rows is read completely while it keeps growing."""
    return f"set `budget: {{max_scan_rows: {10 ** len(str(rows))}}}`"


def _source(runner: QueryRunner, known: ColumnStatistics, how_many: str = "") -> Source:
    """The source of a figure from statistics, with their age and how much has been written since."""
    as_of = known.analysed_at or runner.now
    age = f"of {instant(as_of)}" if known.analysed_at else "of unknown age"
    words = f"{how_many}; " if how_many else ""
    words += f"all rows, according to the engine's statistics {age}"
    if _is_stale(runner, known):
        written = known.changed_ratio or 0.0
        words += f", which are old: rows written since then are {percent(written)} of the table"
    return Source(runner.source("column_statistics").query, How.ESTIMATE, as_of, words)


def _is_stale(runner: QueryRunner, known: ColumnStatistics) -> bool:
    """Whether much was written since the statistics were computed or, if that is not counted, whether they are old."""
    if known.changed_ratio is not None:
        return known.changed_ratio >= _STALE_SHARE
    return known.analysed_at is None or runner.now - known.analysed_at > runner.target.max_age


def _statistics(row: Mapping[str, Any]) -> ColumnStatistics:
    common = json.loads(row["common_values"]) if row["common_values"] else []
    analysed = row["analysed_at"]
    return ColumnStatistics(
        distinct=row["distinct"],
        at_least=bool(row["at_least"]),
        null_ratio=row["null_ratio"],
        common_values=tuple(value for value in common if value is not None),
        sampled_rows=row["sampled_rows"],
        analysed_at=analysed and with_zone(analysed),
        changed_ratio=row["changed_ratio"],
    )


_FIRST: Final = datetime(1700, 1, 1, tzinfo=UTC)
"""The earliest time that fits into nanoseconds since 1970."""
_PEEKED: Final = 200
_OF_ROWS: Final = ("null_counts", "row_estimate", "row_sample", "series_listing")


def look_outside_window(runner: QueryRunner, draft: Draft, queried: frozenset[str]) -> Draft:
    """Leave gaps if the window contains no rows but the table does, and discard conclusions from the empty window.

    If all rows of a table are older than the window, its figures are kept as estimates, because they are correct for
    the window. If rows have no times, nothing is known. If all times are in a wrong unit, a finding says so. Tables
    whose rows are later than the window were already measured in a window of their own.
    """
    if draft.time is None or _saw_rows(draft) or not _may_have_rows(runner, draft):
        return draft
    found = _outside(runner, draft)
    if found is None:
        return draft
    newest, anywhere = found
    draft = find_misdated(runner, replace(draft, newest=newest, oldest=draft.oldest or newest))
    detail = _detail(runner, draft, newest, anywhere)
    for fact in sorted(queried.intersection(_OF_ROWS)) if draft.measurement.misdated is None else ():
        runner.gap(fact, Reason.INCONSISTENT, detail, draft.database, draft.name)
    if newest is not None and newest < runner.window.start:
        rows, series = _doubted(draft.measurement.rows), _doubted(draft.measurement.series)
    else:
        rows = series = None
    tags = tuple(replace(tag, values=None, absent=None, over_time=None) for tag in draft.tags)
    known = replace(draft.measurement, rows=rows, series=series, tags=tags, tag_sets=None, arrivals=None)
    return replace(draft, measurement=known)


def _saw_rows(draft: Draft) -> bool:
    """Whether a row was seen, or no rows were looked for."""
    if draft.partial_scan:
        return "row_sample" not in draft.measurement.statements or draft.sample is not None
    return draft.measurement.rows is None or draft.measurement.rows.value > 0


def _may_have_rows(runner: QueryRunner, draft: Draft) -> bool:
    if draft.estimated_rows is not None:
        return draft.estimated_rows > 0
    return runner.engine.infers_roles


def _outside(runner: QueryRunner, draft: Draft) -> tuple[datetime | None, list[object]] | None:
    """The newest time outside the window, None if no row has one, and what rows read regardless of their time have as
    such, if that was needed. None if there are no rows before the window's end, or a gap was left.
    """
    assert draft.time is not None
    if not draft.partial_scan:
        # If a past day is audited, rows after its window did not exist then.
        end = runner.window.end if utc_now() - runner.window.end > SAME_DAY else LATEST
        if not may_look_up_newest(runner, draft, Window(_FIRST, end)):
            return None
        times = times_of(runner, sampled(draft, Window(_FIRST, end), [draft.time.name], 1))
        newest = newest_of(draft, times or [])
        if times is None or (newest and runner.window.end <= newest <= utc_now()):
            return None  # a gap was left, or rows first arrived after the window
        if times:
            return newest, []
    if not runner.engine.infers_roles:
        return None
    anywhere = times_of(runner, replace(sampled(draft, runner.window, [draft.time.name], _PEEKED), time=None))
    # Of rows with times, either they are later than the past day audited, or there are too many, and a gap says so.
    return None if not anywhere or newest_of(draft, anywhere) else (None, anywhere)


def _detail(runner: QueryRunner, draft: Draft, newest: datetime | None, anywhere: list[object]) -> str:
    """Why figures of the window cannot be right. Parameters as from `_outside`."""
    assert draft.time is not None
    engine, window, name = runner.target.engine, runner.window, draft.time.name
    counts = query_name(engine, "null_counts" if "null_counts" in draft.measurement.statements else "row_sample")
    total = "there are some"
    if draft.estimated_rows is not None:
        total = f"the engine counts about {number(draft.estimated_rows)} ({query_name(engine, 'row_estimate')})"
    if newest is not None:
        why = f"the newest {name} is {instant(newest)}"
    elif any(value is not None for value in anywhere):
        why = f"the {name} of all {many(len(anywhere), 'row')} read cannot be read as a time before the year 10000"
    else:
        why = f"all {many(len(anywhere), 'row')} read have no {name}"
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
    runner: QueryRunner,
    draft: Draft,
    first: datetime,
    last: datetime,
    rows: Count | None,
    *,
    are_all: bool,
    common: tuple[tuple[str, str], ...] = (),
) -> Draft:
    """The draft with its rows in 1970, if they are misdated."""
    factor = time_columns.misdating_factor(first, last, runner.window.end)
    if factor is None:
        return draft
    found = MisdatedRows(first.astimezone(UTC), last.astimezone(UTC), factor, rows, are_all, common)
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
    counted = counted_within(runner, draft, EARLY) if "null_counts" in query_files(runner.target.engine) else None
    if counted is None:
        return draft
    rows, first, last = counted
    are_all = is_early(draft.newest) or (not known.rows_known and not has_others(runner, draft))
    return with_misdated(runner, draft, first, last, rows, are_all=are_all)


def _may_be_early(runner: QueryRunner, draft: Draft) -> bool:
    """Whether nothing is known about when its rows are, except that none is in the window."""
    known = draft.measurement
    is_seen = known.own_window is not None or draft.oldest is not None or draft.newest is not None
    rows = draft.estimated_rows
    # An engine of time series finds rows by their time. Elsewhere it takes all rows to find that none is in 1970.
    is_cheap = not runner.engine.infers_roles if rows is None else rows > 0 and may_scan(runner, rows)
    return known.rows is not None and not known.rows.value and not is_seen and is_cheap


def has_others(runner: QueryRunner, draft: Draft) -> bool:
    """Whether there are rows from after 1970 on, before the window; also True if that could not be read."""
    assert draft.time is not None
    read = more_rows(runner, draft, sampled(draft, Window(EARLY.end, runner.window.start), [draft.time.name], 1))
    return read is None or read.num_rows > 0


def counted_within(runner: QueryRunner, draft: Draft, window: Window) -> tuple[Count, datetime, datetime] | None:
    """The rows of a period, with the first and the last time; None if there are none, or they could not be counted."""
    found: list[Any] = []
    about = replace(draft, measurement=replace(draft.measurement, own_window=window)).about(runner.window)
    given = OfNullCounts(**about | {"fields": []}, later=None)
    answer = runner.try_query("null_counts", lambda batch: found.extend(map(single_value, batch.columns)), given)
    if isinstance(answer, Unanswered):
        return None
    kind = draft.time.kind if draft.time else None
    first, last = (instant_of(end, kind) for end in found[1:3])
    if first is None or last is None:
        return None
    return (
        Count(found[0], runner.source("null_counts", scope=f"rows from {span(window.start, window.end)}")),
        first,
        last,
    )


_CHEAP_ROWS: Final = 100_000
"""A table with so many rows is read from beginning to end in little time, without an index on the time."""


def finds_ranges(runner: QueryRunner, draft: Draft) -> bool:
    """Whether rows of a range of times are found in little time."""
    indexes, time = draft.measurement.indexes or (), draft.time.name if draft.time else ""
    # Without an index, rows outside of the window are read, too.
    is_small = max(draft.estimated_rows or 0, draft.measurement.rows_known) <= _CHEAP_ROWS
    return is_small or runner.engine.prunes_ranges or any(i.finds_ranges_of(time) for i in indexes)
