"""The number of rows of all series, where only those of an even sample of series were counted.

A sample of a thousandth of the series has none of the few that may have most of the rows, and its standard error does
not show that. So it is compared with a slice of the rows of all series: the series that stand out there are counted by
themselves. Without a slice, what the sample shows is a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tsaudit.collect.draft import Draft
from tsaudit.collect.measuring import RowSlice
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.series import SERIES_KEPT
from tsaudit.model.facts import OfRowCount
from tsaudit.model.profile import AT_LEAST, Count, How
from tsaudit.text import many, span

if TYPE_CHECKING:
    import pyarrow as pa

_STANDS_OUT: Final = 10
"""Times the mean number of rows of a slice from which on a series is counted by itself: 64 series of a sample show what
less than that does to the sum.
"""
_NO_CHANCE: Final = 8
"""Rows in a slice that no series has by chance if the mean is less than one."""
_VAGUE: Final = 0.5
"""Standard error, relative to the figure, from which on it may be off by several times."""
_ERRORS: Final = 2
"""Standard errors by which a bound is lower than the estimate."""

_TagSet = tuple[str | None, ...]


def with_all_rows(runner: QueryRunner, draft: Draft, found: RowSlice | None) -> Draft:
    """The draft with a number of rows that the few series with many of them are part of; unchanged if all series were
    counted. `found`: the slice; None if there is none.
    """
    rows = draft.measurement.rows
    if rows is None or not draft.sampled_series or rows.source.how is not How.ESTIMATE:
        return draft
    if found is not None and found.source.how is How.EXACT:
        return _with(draft, Count(len(found.times), runner.source("row_slice", scope=f"rows {_window(runner, draft)}")))
    heavy = None if found is None or found.within else _standing_out(draft, found)
    if heavy:
        draft = _counted_apart(runner, draft, heavy)
    rows = draft.measurement.rows or rows
    is_vague = rows.standard_error is not None and rows.standard_error > _VAGUE * rows.value
    return _with(draft, _bound(draft, rows)) if heavy is None or is_vague else draft


def _standing_out(draft: Draft, found: RowSlice) -> list[_TagSet]:
    """The series that have many of the rows of the slice, those with the most first."""
    import pyarrow as pa

    series = draft.measurement.series
    table = pa.table({tag.key: found.tags[tag.key] for tag in draft.tags})
    counted = table.group_by(table.column_names).aggregate([([], "count_all")])
    counts: pa.ChunkedArray = counted.column("count_all")
    least = max(_STANDS_OUT * table.num_rows / max(series.value if series else 1, 1), _NO_CHANCE)
    known = zip(counts.to_pylist(), *(counted.column(tag.key).to_pylist() for tag in draft.tags), strict=True)
    above = [(-count, tuple(value or None for value in tags)) for count, *tags in known if count >= least]
    return [tags for _, tags in sorted(above, key=lambda one: (one[0], [value or "" for value in one[1]]))]


def _counted_apart(runner: QueryRunner, draft: Draft, heavy: Sequence[_TagSet]) -> Draft:
    """The draft with the rows of these series, as counted, and of all others, as scaled up from others; with a bound if
    one of the two is not known.
    """
    series, rows = draft.measurement.series, draft.measurement.rows
    assert series is not None
    assert rows is not None
    apart = heavy[:SERIES_KEPT]
    sampled = [tuple(tags.get(tag.key) or None for tag in draft.tags) for tags in draft.some_series]
    others = [tags for tags in sampled if tags not in set(apart)]
    of_heavy = None if draft.read_by or not others else _counts(runner, draft, apart)
    of_others = None if of_heavy is None else _counts(runner, draft, others)
    if of_heavy is None or of_others is None:
        return _with(draft, _bound(draft, rows))
    rest = replace(series, value=max(series.value - len(apart), len(others)))
    text = (
        f"{many(len(apart), 'series')} with many of the newest rows, and scaled up from {len(others)} of the other "
        f"{rest.value:,}; rows {_window(runner, draft)}, counting the values of each series' fullest field"
    )
    value = sum(of_heavy) + round(sum(of_others) / len(others) * rest.value)
    source = runner.source("row_count", How.ESTIMATE, text)
    return _with(draft, Count(value, source, scaled_error(rest, of_others, len(others))))


def _counts(runner: QueryRunner, draft: Draft, series: Sequence[_TagSet]) -> list[int] | None:
    """The number of rows of each of the series that has any; None if a gap was left."""
    batches: list[pa.RecordBatch] = []
    wanted: list[Mapping[str, str | None]] = [
        {tag.key: value for tag, value in zip(draft.tags, tags, strict=True)} for tags in series
    ]
    given = OfRowCount(**draft.about(runner.window), series=wanted)
    if runner.query("row_count", batches.append, given) is None:
        return None
    return [count for batch in batches for count in batch.column(0).to_pylist()]


def _bound(draft: Draft, rows: Count) -> Count:
    """At least how many rows there are: those read, or what the sample shows for certain."""
    read = draft.sample.num_rows if draft.sample else 0
    sure = 0 if rows.standard_error is None else round(rows.value - _ERRORS * rows.standard_error)
    scope = rows.source.scope if rows.is_lower_bound else f"{AT_LEAST}; {rows.source.scope}"
    return Count(max(read, sure), replace(rows.source, how=How.SAMPLED, scope=scope))


def _window(runner: QueryRunner, draft: Draft) -> str:
    window = draft.measurement.own_window or runner.window
    return f"from {span(window.start, window.end)}"


def _with(draft: Draft, rows: Count) -> Draft:
    return replace(draft, measurement=replace(draft.measurement, rows=rows))


def scaled_error(series: Count, counts: Sequence[int], read: int) -> float | None:
    """The standard error of rows scaled up from `read` series to all of them; None if it is not known.

    A single series does not show how series differ. If the total is an estimate, its own error is added if it is known.
    """
    total, mean = series.value, sum(counts) / read
    of_total = 0.0 if series.source.how is How.EXACT else series.standard_error
    if of_total is None or read == 1 < total:
        return None
    # Series without rows in the window are not in `counts`, and count as zero.
    squares = sum((c - mean) ** 2 for c in counts) + (read - len(counts)) * mean**2
    variance = squares / max(read - 1, 1)
    return math.hypot(total * math.sqrt((1 - read / total) * variance / read), mean * of_total)
