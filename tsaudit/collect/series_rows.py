"""The newest rows of measurements whose series an index lists, and their number; if there are many series, of a few
only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from tsaudit.collect.asking import Asker
from tsaudit.collect.columns import sampled
from tsaudit.collect.draft import Draft
from tsaudit.collect.rows import is_complete, series_of_read
from tsaudit.collect.together import rows_ahead
from tsaudit.model.facts.given import OfRowCount, OfRowSample
from tsaudit.model.profile import Count, How, Reason, Role
from tsaudit.text import span

if TYPE_CHECKING:
    import pyarrow as pa

ALL_SERIES_UP_TO: Final = 1000
"""InfluxDB opens a cursor per series and shard: above this many series, rows are read for a few series only."""

Series = Sequence[Mapping[str, str | None]]
"""Tag sets whose rows to read; empty for all."""


def read_points(asker: Asker, draft: Draft, database_series: int | None) -> Draft:
    """Read the newest rows, of a few series if there are many. `database_series`: see `_series_to_read`."""
    series = _series_to_read(draft, database_series)
    if impossible := _cannot_read(draft, series):
        reason = asker.why(("series_listing", "retention"), draft.database, draft.name)
        asker.gap("row_sample", reason, impossible, draft.database, draft.name)
        return draft
    read, draft = _read_newest(asker, draft, series or ())
    if read and draft.sample is None and series:
        detail = f"none of {len(series)} series chosen from the listing has rows within the window"
        asker.gap("row_sample", Reason.FAILED, detail, draft.database, draft.name)
    return draft


def count_points(asker: Asker, draft: Draft, database_series: int | None) -> Draft:
    """Count the rows within the window, unless all of them were read. `database_series`: see `_series_to_read`."""
    if "row_sample" not in draft.measurement.statements:
        reason = asker.why(("row_sample",), draft.database, draft.name)
        behind = asker.gap_in("row_sample", draft.database, draft.name)
        detail = "the rows could not be sampled" + (f": {behind.detail}" if behind else "")
        asker.gap("row_count", reason, detail, draft.database, draft.name)
        return draft
    if is_complete(asker, draft):
        return _with_rows(draft, _scaled(asker, draft, _per_series(draft), "row_sample"))
    counts: list[int] = []

    def consume(batch: pa.RecordBatch) -> None:
        counts.extend(batch.column(0).to_pylist())

    statement = asker.ask("row_count", consume, _count_of(asker, draft, _series_to_read(draft, database_series) or ()))
    if statement is None:
        return draft
    return _with_rows(draft, _scaled(asker, draft, counts, "row_count")).sent("row_count", statement)


def _with_rows(draft: Draft, rows: Count | None) -> Draft:
    return replace(draft, measurement=replace(draft.measurement, rows=rows))


def read_points_ahead(asker: Asker, drafts: Sequence[Draft], database_series: Mapping[str, int]) -> None:
    """Read the newest rows of measurements with few series, of several with one statement."""
    few = _of_all_series(drafts, database_series)
    rows_ahead(asker, "row_sample", few, lambda draft: _newest_of(asker, draft, ()), asker.target.budget.max_rows)


def count_points_ahead(asker: Asker, drafts: Sequence[Draft], database_series: Mapping[str, int]) -> None:
    """Count the rows of measurements with few series, of several with one statement."""
    few = _of_all_series(drafts, database_series)
    uncounted = [
        draft for draft in few if "row_sample" in draft.measurement.statements and not is_complete(asker, draft)
    ]
    rows_ahead(asker, "row_count", uncounted, lambda draft: _count_of(asker, draft, ()), ALL_SERIES_UP_TO)


def _of_all_series(drafts: Sequence[Draft], database_series: Mapping[str, int]) -> list[Draft]:
    found = ((draft, _series_to_read(draft, database_series.get(draft.database))) for draft in drafts)
    return [draft for draft, series in found if series is None and not _cannot_read(draft, series)]


def _series_to_read(draft: Draft, database_series: int | None) -> Series | None:
    """The series whose rows to read; None for all. Empty if rows of known series are needed, and none is known.

    `database_series`: the series count of its database, which limits its own; None if it is not known.
    """
    known = draft.measurement.series.value if draft.measurement.series else database_series
    return _identifying_tags(draft) if known is None or known > ALL_SERIES_UP_TO else None


def _cannot_read(draft: Draft, series: Series | None) -> str:
    """Why no rows can be read; empty if they can."""
    if series is not None and not series:
        return "rows are read for known series only, and the series could not be listed"
    if not draft.policies:
        return "the retention policies that contain the rows are not known"
    return "" if draft.fields else "no field is known, and rows cannot be queried without one"


def _identifying_tags(draft: Draft) -> Series:
    """The kept series, reduced to the tags that distinguish them."""
    if draft.measurement.tag_sets is None or draft.measurement.tag_sets.sampled:
        # Tags that distinguish the series of a sample may not distinguish all series.
        return draft.some_series
    key = draft.measurement.tag_sets.minimal_key
    return [{tag: tags[tag] for tag in key} for tags in draft.some_series]


def _read_newest(asker: Asker, draft: Draft, series: Series) -> tuple[bool, Draft]:
    """Whether there was a response, and the draft with its rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    batches: list[pa.RecordBatch] = []
    statement = asker.ask("row_sample", batches.append, _newest_of(asker, draft, series))
    draft = replace(draft, sampled_series=len(series))
    if statement is None:
        return False, draft
    draft = draft.sent("row_sample", statement)
    if not batches:
        return True, draft
    names = ["time", *(f"{Role.FIELD} {f.key}" for f in draft.fields), *(f"{Role.TAG} {t.key}" for t in draft.tags)]
    sample = _joined([pa.Table.from_batches([batch]).rename_columns(names) for batch in batches])
    times = sample.column(0).cast(pa.timestamp("us", "UTC"), safe=False)
    ends = pc.min_max(times).as_py()
    known = replace(draft.measurement, first_time=ends["min"], last_time=ends["max"])
    return True, replace(draft, measurement=known, sample=sample)


def _newest_of(asker: Asker, draft: Draft, series: Series) -> OfRowSample:
    """The parameters for reading the newest rows."""
    return replace(sampled(draft, asker.window, [], asker.target.budget.max_rows), series=series)


def _count_of(asker: Asker, draft: Draft, series: Series) -> OfRowCount:
    """The parameters for counting the rows."""
    return OfRowCount(**draft.about(asker.window), series=series)


def _joined(tables: list[pa.Table]) -> pa.Table:
    """One table from batches whose columns may have different types; incompatible ones become strings."""
    import pyarrow as pa

    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowTypeError:
        from tsaudit.collect.value_texts import as_text

        names = tables[0].column_names
        texts = [pa.table([t.column(0), *(as_text(c) for c in t.columns[1:])], names=names) for t in tables]
        return pa.concat_tables(texts)


def _per_series(draft: Draft) -> list[int]:
    """Rows per series, in a sample that contains all of their rows."""
    import numpy as np

    return [] if draft.sample is None else [int(n) for n in np.bincount(series_of_read(draft))]


def _scaled(asker: Asker, draft: Draft, counts: list[int], fact: str) -> Count | None:
    """The rows of all series, scaled up from the sampled ones. None if that is not possible."""
    read = draft.sampled_series
    window = f"from {span(asker.window.start, asker.window.end)}"
    if fact == "row_count":
        window += ", counting the values of each series' fullest field"
    if not read:
        return Count(sum(counts), asker.source(fact, How.EXACT, f"rows {window}"))
    series = draft.measurement.series
    if series is None:
        detail = "rows cannot be scaled up from a few series: the number of all series is not known"
        asker.gap("row_count", Reason.OVER_BUDGET, detail, draft.database, draft.name)
        return None
    total = series.value
    mean = sum(counts) / read
    text = f"scaled up from {read} series, an even sample of {total:,}; rows {window}"
    return Count(
        round(mean * total),
        asker.source(fact, How.ESTIMATE, text),
        _scaled_error(series, counts, read),
    )


def _scaled_error(series: Count, counts: list[int], read: int) -> float | None:
    """The standard error of rows scaled up from `read` series to all of them; None if it is not known.

    A single series does not show how series differ. If the total is an estimate, its own error is added if it is known.
    """
    total, mean = series.value, sum(counts) / read
    of_total = 0.0 if series.source.how is How.EXACT else series.standard_error
    if of_total is None or read == 1 < total:
        return None
    # Series without rows in the window are not in `counts` and count as zero.
    squares = sum((c - mean) ** 2 for c in counts) + (read - len(counts)) * mean**2
    variance = squares / max(read - 1, 1)
    return math.hypot(total * math.sqrt((1 - read / total) * variance / read), mean * of_total)
