"""How many rows the window has, from when to when, and how many of them have each field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.columns.time_columns import instant_of
from tsaudit.collect import reading
from tsaudit.collect.catalog_facts import single_value
from tsaudit.collect.draft import Draft
from tsaudit.collect.query_runner import Answered, QueryRunner
from tsaudit.collect.reading import shorter
from tsaudit.collect.rows import sample_source
from tsaudit.collect.series import scope
from tsaudit.model.columns import Field
from tsaudit.model.facts import OfNullCounts, OfRowCount
from tsaudit.model.figures import Count, How, Ratio, Reason, Window
from tsaudit.text import span


def count_nulls(runner: QueryRunner, draft: Draft) -> Draft:
    """Count rows, first and last time, and each field's share of nulls, with one scan of the window.

    For a table too big for that, use the engine's statistics; without these, leave a gap.
    """
    fact = "null_counts"
    if draft.partial_scan:
        return _by_statistics(runner, draft) if draft.is_too_big else _by_rows_read(runner, draft)
    found: list[Any] = []

    def consumer(_: OfNullCounts) -> Callable[[pa.RecordBatch], None]:
        found.clear()
        return consume

    def consume(batch: pa.RecordBatch) -> None:
        found.extend(map(single_value, batch.columns))
        if not isinstance(found[0], int):
            raise ValueError(f"the number of rows is {found[0]}")

    answer = runner.first_answered(fact, shorter(counts_of(runner, draft)), consumer)
    if answer is None:
        return draft
    rows, first, last, *counts = found
    later = bool(counts.pop()) if len(counts) > len(draft.fields) else draft.measurement.later_rows
    source = runner.source(fact, scope=scope(runner, draft, fact))
    fields = draft.fields
    if rows:
        fields = tuple(
            replace(field, null_ratio=Ratio((rows - count) / rows, source))
            for field, count in zip(draft.fields, counts, strict=True)
        )
    if answer.failed:
        return _of_shorter_window(runner, draft, answer, rows, fields)
    kind = draft.time.kind if draft.time else None
    known = replace(
        draft.measurement,
        rows=Count(rows, source),
        first_time=instant_of(first, kind),
        last_time=instant_of(last, kind),
        later_rows=later,
        fields=fields,
        statements={**draft.measurement.statements, fact: answer.statement},
    )
    return replace(draft, measurement=known)


def _of_shorter_window(
    runner: QueryRunner, draft: Draft, answer: Answered[OfNullCounts], rows: int, fields: tuple[Field, ...]
) -> Draft:
    """The draft with what a part of the window has: shares of nulls, and rows as if all of it had as many."""
    words = f"rows from {span(answer.given.start, answer.given.end)}"
    source = runner.source("null_counts", How.SAMPLED, words)
    counted = scaled_up(runner, draft, "null_counts", answer, Count(rows, source))
    if not rows:
        return draft
    of_part = [replace(f.null_ratio, source=source) if f.null_ratio else None for f in fields]
    fields = tuple(replace(field, null_ratio=ratio) for field, ratio in zip(fields, of_part, strict=True))
    known = replace(draft.measurement, rows=counted, fields=fields)
    return replace(draft, measurement=known).sent("null_counts", answer.statement)


def scaled_up(
    runner: QueryRunner, draft: Draft, fact: str, answer: Answered[OfNullCounts] | Answered[OfRowCount], rows: Count
) -> Count:
    """The rows of the window, if all of it has as many as the part that was counted; leaves a gap that says so."""
    assert answer.failed is not None
    part, whole = Window(answer.given.start, answer.given.end), draft.window(runner.window)
    words = f"rows from {span(part.start, part.end)}"
    failed, cause = answer.failed, f"{answer.failed.cause}; only {words} were counted"
    runner.gap(fact, failed.reason, cause, draft.database, draft.name, fix=failed.fix)
    source = replace(rows.source, how=How.ESTIMATE, scope=f"scaled up from {words}")
    return Count(round(rows.value * ((whole.end - whole.start) / (part.end - part.start))), source)


def counts_of(runner: QueryRunner, draft: Draft) -> OfNullCounts:
    """The parameters of the query for the counts."""
    return OfNullCounts(**draft.about(runner.window), later=_later_rows_wanted(draft))


def _later_rows_wanted(draft: Draft) -> Literal["by index", "by scan"] | None:
    """How to look for rows at or after the window's end; None if nothing will be reused from this profile.

    Without an index on the time, the scan of the window reads all rows anyway; with one, it must not read rows outside
    the window.
    """
    if draft.time is None or not draft.measurement.fingerprint or draft.measurement.fingerprint_as_of is None:
        return None
    name, indexes = draft.time.name, draft.measurement.indexes
    return "by index" if indexes is None or any(i.finds_ranges_of(name) for i in indexes) else "by scan"


def _by_rows_read(runner: QueryRunner, draft: Draft) -> Draft:
    """The draft with the count of rows that were all read; they show the shares of nulls, too."""
    known = replace(draft.measurement, rows=Count(draft.rows_read.num_rows, sample_source(runner, draft)))
    if draft.time:
        ends = pc.min_max(draft.rows_read.column(draft.time.name).values).as_py()
        first, last = (instant_of(ends[end], draft.time.kind) for end in ("min", "max"))
        known = replace(known, first_time=first, last_time=last)
    return replace(draft, measurement=known)


def _by_statistics(runner: QueryRunner, draft: Draft) -> Draft:
    scan, rows, last = draft.partial_scan, None, draft.measurement.last_time
    assert scan is not None
    if scan.rows is not None:
        rows = Count(scan.rows, runner.source("scan_estimate", How.ESTIMATE, "according to the planner"))
    if draft.sample is not None and draft.time:
        newest = pc.max(draft.sample.column(draft.time.name).values).as_py()
        last = instant_of(newest, draft.time.kind)
    ratios = {field.key: reading.null_ratio(runner, draft, field.key) for field in draft.fields}
    unknown = [key for key, ratio in ratios.items() if ratio is None]
    if rows is None and draft.time:
        unknown.insert(0, draft.time.name)
    if unknown:
        cause = f"no statistics for {', '.join(unknown[:3])}, and {reading.too_many(runner, scan.rows_all)}"
        fix = f"run ANALYZE, or {reading.to_read_all(scan.rows_all)}"
        runner.gap("null_counts", Reason.OVER_BUDGET, cause, draft.database, draft.name, fix=fix)
    fields = tuple(replace(field, null_ratio=ratios[field.key]) for field in draft.fields)
    return replace(draft, measurement=replace(draft.measurement, rows=rows, last_time=last, fields=fields))
