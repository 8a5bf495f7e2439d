"""Reading less than everything: ever cheaper ways to query a fact about rows, for `QueryRunner.first_answered`; and
which rows of a table too big to read are read instead, with what the engine's statistics show about all of them.

A table is read completely, within the window, if the planner estimates at most `budget.max_scan_rows` rows. For a
bigger table, only the newest rows are read if an index provides them, otherwise pages selected at random. The rest
comes from the statistics and is marked as such.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC
from typing import Any, Final, TypeVar

import pyarrow as pa

from tsaudit.collect.draft import ColumnStatistics, Draft, PartialScan
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.model.profile import Count, How, Ratio, Reason, Source, Window
from tsaudit.model.query_parameters import OfBuckets, OfDocuments, OfMeasurement, OfRowSample, OfScanEstimate, TablePart
from tsaudit.text import instant, many, number, percent

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
            yield replace(given, partial_scan=_smaller(part, by))  # type: ignore[call-arg]
        elif given.time is not None:
            yield replace(given, start=given.end - (given.end - given.start) / by)


def fewer(given: Limited) -> Iterator[Limited]:
    """The number of rows wanted, then fewer."""
    yield given
    for by in _PARTS:
        if given.limit // by >= _FEWEST_ROWS:
            yield replace(given, limit=given.limit // by)


def fewer_and_shorter(given: OfRowSample) -> Iterator[OfRowSample]:
    """Fewer rows, in case rows are wide; then fewer rows from the newest parts of the window, in case there are many
    rows.
    """
    sizes = list(fewer(given))
    yield from sizes
    # All combinations would take longer than the audit may, so only a few parts are tried, with a small number of rows.
    few = sizes[min(2, len(sizes) - 1)]
    _whole, *parts = shorter(few)
    yield from parts[1::2]


def _smaller(part: TablePart, by: int) -> TablePart:
    return TablePart(part.newest, max(part.rows // by, 1), f"{float(part.percent) / by:.6f}")


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


def measure_extent(runner: QueryRunner, draft: Draft) -> Draft:
    """Decide whether the rows within the window may be read; if not, `draft.partial_scan` says which may.

    If the query fails, nothing is read, and `draft.unreadable` says why.
    """
    most = runner.target.budget.max_scan_rows
    if draft.statistics is None or not most:
        return draft
    statement, extent = _extent(
        runner, draft, runner.window, min(most, max(runner.target.budget.max_rows, LISTED_ROWS))
    )
    if statement is None:
        return replace(draft, unreadable=runner.gap_in("scan_estimate", draft.database, draft.name))
    draft = draft.sent("scan_estimate", statement)
    # If a table was never analyzed, the planner only knows its size; the engine may have counted the rows.
    rows_all = max(extent["rows_all"], draft.estimated_rows or 0)
    scale = rows_all / extent["rows_all"] if extent["rows_all"] else 1.0
    read = extent["rows_read"] * scale if extent["rows_all"] else rows_all
    if read > most:
        known = draft.time is None or null_ratio(runner, draft, draft.time.name) is not None
        newest = extent["rows_sorted"] is not None and extent["rows_sorted"] * scale <= most
        return replace(draft, partial_scan=PartialScan(newest, extent["rows"] if known else None, rows_all, most))
    return draft


def may_look_up_newest(runner: QueryRunner, draft: Draft, window: Window) -> bool:
    """Whether the newest row in the window may be looked up: an index provides it, or there are few rows to read.

    If not, a gap says why.
    """
    most = runner.target.budget.max_scan_rows
    if draft.statistics is None or not most:
        return True
    statement, extent = _extent(runner, draft, window, 1)
    if statement is None:
        return False
    if extent["rows_sorted"] is not None and extent["rows_sorted"] <= most:
        return True
    runner.gap(
        "row_sample",
        Reason.OVER_BUDGET,
        f"no row is within the window, and the newest one was not looked up: {too_many(runner, extent['rows_all'])}",
        draft.database,
        draft.name,
    )
    return False


def _extent(runner: QueryRunner, draft: Draft, window: Window, limit: int) -> tuple[str | None, Mapping[str, Any]]:
    """The statement and the row of `scan_estimate`; None and an empty mapping if a gap was left."""
    found: list[Mapping[str, Any]] = []

    def consume(batch: pa.RecordBatch) -> None:
        found.extend(batch.to_pylist())

    statement = runner.query("scan_estimate", consume, OfScanEstimate(**draft.about(window), limit=limit))
    return (None, {}) if statement is None else (statement, found[0])


def rows_by_planner(runner: QueryRunner, draft: Draft) -> Count | None:
    """The number of rows within the window; None if the planner has no statistics of the time column."""
    assert draft.partial_scan is not None
    if draft.partial_scan.rows is None:
        return None
    return Count(draft.partial_scan.rows, runner.source("scan_estimate", How.ESTIMATE, "according to the planner"))


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
    """Why a table with so many rows is not read completely, and the setting that would help while it keeps growing."""
    most, enough = number(runner.target.budget.max_scan_rows), 10 ** len(str(rows))
    return f"of about {many(rows, 'row')} at most {most} may be read; set `budget: {{max_scan_rows: {enough}}}`"


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
    """Whether much was written since the statistics were computed or, if writes are not counted, whether the statistics
    are old.
    """
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
        analysed_at=analysed if analysed is None or analysed.tzinfo else analysed.replace(tzinfo=UTC),
        changed_ratio=row["changed_ratio"],
    )
