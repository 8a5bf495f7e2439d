"""The top rung: facts that read rows, within the window and the budget."""

from __future__ import annotations

import dataclasses
import math
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

from tsaudit.collect import excerpts
from tsaudit.collect.asking import Asker
from tsaudit.collect.draft import Draft
from tsaudit.collect.listing import interval, scope
from tsaudit.engines.sql.roles import TimeKind
from tsaudit.model.profile import Count, How, Ratio, Reason, Rhythms, Role, RowPatterns, Source

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

ALL_SERIES_UP_TO: Final = 1000
"""InfluxDB opens a cursor per series and shard: above this many series, rows are read of a few series only."""
_PER_SECOND: Final = {
    TimeKind.SECONDS: 1,
    TimeKind.MILLISECONDS: 1_000,
    TimeKind.MICROSECONDS: 1_000_000,
    TimeKind.NANOSECONDS: 1_000_000_000,
}


def count_nulls(asker: Asker, draft: Draft) -> None:
    """Fill in rows, first and last time and each field's share of nulls, by one scan of the window.

    Of a table too big for that, by the engine's statistics; without these a gap is left.
    """
    fact = "null_counts"
    if draft.excerpt:
        _by_statistics(asker, draft, fact)
        return
    found: list[Any] = []

    def consume(batch: pa.RecordBatch) -> None:
        found.extend(_plain(column) for column in batch.columns)

    if not draft.note(fact, asker.ask(fact, consume, **draft.about, later=_later_rows_wanted(draft))):
        return
    rows, first, last, *counts = found
    if len(counts) > len(draft.fields):
        draft.later_rows = bool(counts.pop())
    source = asker.source(fact, scope=scope(asker, draft, fact))
    draft.rows = Count(rows, source)
    kind = draft.time.kind if draft.time else None
    draft.first_time, draft.last_time = instant(first, kind), instant(last, kind)
    if rows:
        draft.fields = tuple(
            dataclasses.replace(field, null_ratio=Ratio((rows - count) / rows, source))
            for field, count in zip(draft.fields, counts, strict=True)
        )


def _later_rows_wanted(draft: Draft) -> Literal["by index", "by scan"] | None:
    """How rows at or after the window's end are looked for; None where nothing will be taken over from this profile.

    Without an index on the time, all rows are read for the window anyway; with one, none outside of it may be.
    """
    if draft.time is None or not draft.fingerprint or draft.fingerprint_as_of is None:
        return None
    name, indexes = draft.time.name, draft.indexes
    return "by index" if indexes is None or any(i.finds_ranges_of(name) for i in indexes) else "by scan"


def _by_statistics(asker: Asker, draft: Draft, fact: str) -> None:
    import pyarrow.compute as pc

    assert draft.excerpt is not None
    draft.rows = excerpts.rows_by_planner(asker, draft)
    if draft.excerpt.newest and draft.sample is not None and draft.sample.num_rows and draft.time:
        newest = pc.max(draft.sample.column(draft.time.name)).as_py()
        draft.last_time = instant(newest, draft.time.kind)
    ratios = {field.key: excerpts.null_ratio(asker, draft, field.key) for field in draft.fields}
    draft.fields = tuple(dataclasses.replace(field, null_ratio=ratios[field.key]) for field in draft.fields)
    unknown = [key for key, ratio in ratios.items() if ratio is None]
    if draft.rows is None and draft.time:
        unknown.insert(0, draft.time.name)
    if unknown:
        detail = f"no statistics of {', '.join(unknown[:3])}: run ANALYZE; {excerpts.too_many(asker, draft)}"
        asker.gap(fact, Reason.OVER_BUDGET, detail, draft.database, draft.name)


def describe_fields(asker: Asker, draft: Draft) -> None:
    """Fill in what the sampled rows tell of the fields; share of nulls only where no count of them was had."""
    if draft.sample is None or not draft.sample.num_rows:
        if draft.excerpt and "row_sample" in draft.statements:
            detail = f"no row within the window was among those read; {excerpts.too_many(asker, draft)}"
            asker.gap("row_sample", Reason.OVER_BUDGET, detail, draft.database, draft.name)
        return
    from tsaudit.collect import figures, points
    from tsaudit.collect.row_times import repeats, time_lag
    from tsaudit.collect.tag_changes import tag_changes

    source = sample_source(asker, draft)
    series = series_of_read(draft)
    draft.fields = tuple(
        figures.filled_in(field, draft.read(Role.FIELD, field.key), series, source) for field in draft.fields
    )
    draft.row_patterns, draft.rhythms = row_figures(draft, series, source)
    if draft.time is not None:
        tags = {tag.key: draft.read(Role.TAG, tag.key) for tag in draft.tags}
        times = draft.sample.column(0 if draft.is_indexed else draft.time.name)
        draft.point_sample = points.point_sample(
            tags,
            epoch_us(times, draft.time.kind),
            series_of_read(draft, by_measure_name=False),
            asker.window_of("row_sample", draft.database, draft.name),
            source,
            all_rows=_complete(asker, draft),
        )
        changes = tag_changes(tags, times, source)
        draft.tags = tuple(dataclasses.replace(tag, changes=changes[tag.key]) for tag in draft.tags)
        fields = {field.key: draft.read(Role.FIELD, field.key) for field in draft.fields}
        draft.repeats = repeats(tags, fields, times, source)
        draft.fields = tuple(dataclasses.replace(f, lag=time_lag(fields[f.key], times)) for f in draft.fields)


def row_figures(
    draft: Draft, series: np.ndarray, source: Source, only: np.ndarray | None = None
) -> tuple[RowPatterns, Rhythms | None]:
    """What the rows read fill together, and how evenly they come. `series`: a number per row; `only`: rows to take."""
    from tsaudit.collect import figures, points

    def taken(column: pa.ChunkedArray) -> pa.ChunkedArray:
        return column if only is None else column.filter(only)

    tags = {tag.key: taken(draft.read(Role.TAG, tag.key)) for tag in draft.tags}
    fields = {field.key: taken(draft.read(Role.FIELD, field.key)) for field in draft.fields}
    assert draft.sample is not None
    times = taken(draft.sample.column(0 if draft.is_indexed else draft.time.name)) if draft.time else None
    series = series if only is None else series[only]
    patterns = figures.row_patterns(tags, fields, times, series, source)
    if times is None or draft.time is None:
        return patterns, None
    return patterns, points.rhythms(tags, fields, epoch_us(times, draft.time.kind), series, source)


def read_points(asker: Asker, draft: Draft, database_series: int | None, asked: frozenset[str]) -> None:
    """InfluxDB: read the newest rows, of a few series where there are many, and count them where they are too many."""
    known = draft.series.value if draft.series else database_series
    restricted = known is None or known > ALL_SERIES_UP_TO
    if impossible := _cannot_read(draft, restricted):
        reason = asker.why(("series_listing", "retention"), draft.database, draft.name)
        for fact in sorted(asked & {"row_sample", "row_count"}):
            asker.gap(fact, reason, impossible, draft.database, draft.name)
        return
    series = _told_apart(draft) if restricted else []
    draft.sampled_series = len(series)
    if not _read_newest(asker, draft, series):
        if "row_count" in asked:
            reason = asker.why(("row_sample",), draft.database, draft.name)
            behind = asker.gap_in("row_sample", draft.database, draft.name)
            detail = "the rows could not be sampled" + (f": {behind.detail}" if behind else "")
            asker.gap("row_count", reason, detail, draft.database, draft.name)
        return
    if "row_count" in asked:
        complete = _complete(asker, draft)
        counts = _per_series(draft) if complete else _counted(asker, draft, series)
        if counts is not None:
            draft.rows = _scaled(asker, draft, counts, "row_sample" if complete else "row_count")
    if draft.sample is None and restricted and "row_sample" in asked:
        detail = f"none of {len(series)} series chosen from the listing has rows within the window"
        asker.gap("row_sample", Reason.FAILED, detail, draft.database, draft.name)


def instant(value: Any, kind: TimeKind | None) -> datetime | None:
    """A time as the engine returned it, aware and in UTC; None for nothing, or for what cannot be read."""
    if value is None or kind is None:
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    if kind in _PER_SECOND:
        microseconds = int(value) * 1_000_000 // _PER_SECOND[kind]
        return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=microseconds)
    try:
        return instant(datetime.fromisoformat(str(value)), kind)
    except ValueError:
        return None


def epoch_us(times: pa.ChunkedArray, kind: TimeKind) -> pa.ChunkedArray:
    """The times in microseconds since 1970; null for what cannot be read."""
    import pyarrow as pa

    if pa.types.is_timestamp(times.type):
        return times.cast(pa.timestamp("us", times.type.tz), safe=False).cast(pa.int64())
    epoch = datetime.fromtimestamp(0, UTC)
    read = [instant(value, kind) for value in times.to_pylist()]
    return pa.chunked_array([pa.array([t and (t - epoch) // timedelta(microseconds=1) for t in read], pa.int64())])


def _complete(asker: Asker, draft: Draft) -> bool:
    """Whether the sample holds all rows within the window, of the series it was taken from."""
    return draft.sample is None or (
        draft.sample.num_rows < asker.target.budget.max_rows and draft.sampled_since is None
    )


def sample_source(asker: Asker, draft: Draft) -> Source:
    """Where figures had from the rows read come from; needs rows."""
    assert draft.sample is not None
    window = interval(asker, draft, "row_sample")
    if draft.sampled_since:
        window = f"from {draft.sampled_since:%Y-%m-%d %H:%M} to {asker.window.end:%Y-%m-%d %H:%M} UTC"
    if draft.time is None:
        window = "whatever their time: the table has no time column"
    rows = draft.sample.num_rows
    if draft.excerpt:
        return asker.source("row_sample", How.SAMPLED, f"{draft.excerpt.words(rows)} {window}")
    if _complete(asker, draft) and not draft.sampled_series:
        return asker.source("row_sample", How.EXACT, f"all {rows:,} rows {window}")
    which = f"the newest {rows:,} rows" if draft.time else f"{rows:,} rows"
    if draft.sampled_series:
        known = f"{draft.series.value:,}" if draft.series else "more than could be listed"
        which += f" of {draft.sampled_series} series, chosen evenly out of {known},"
    return asker.source("row_sample", How.SAMPLED, f"{which} {window}")


def _cannot_read(draft: Draft, restricted: bool) -> str:
    """Why no rows can be read; empty when they can."""
    if restricted and not draft.some_series:
        return "rows are read for known series only, and the series could not be listed"
    if not draft.policies:
        return "the retention policies that hold the rows are not known"
    return "" if draft.fields else "no field is known, and rows cannot be queried without one"


def _plain(column: pa.Array) -> Any:
    """The single value of a column; times to the microsecond, as Python keeps them."""
    import pyarrow as pa

    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return column[0].as_py()


def _told_apart(draft: Draft) -> list[dict[str, str | None]]:
    """The remembered series, by the tags that suffice to tell them apart."""
    if draft.tag_sets is None or draft.tag_sets.sampled:
        # What tells the series of a sample apart may fit several of all.
        return draft.some_series
    key = draft.tag_sets.minimal_key
    return [{tag: tags[tag] for tag in key} for tags in draft.some_series]


def _read_newest(asker: Asker, draft: Draft, series: list[dict[str, str | None]]) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    batches: list[pa.RecordBatch] = []
    limit = asker.target.budget.max_rows
    statement = asker.ask("row_sample", batches.append, **draft.about, series=series, limit=limit)
    if not draft.note("row_sample", statement):
        return False
    names = ["time", *(f"{Role.FIELD} {f.key}" for f in draft.fields), *(f"{Role.TAG} {t.key}" for t in draft.tags)]
    if batches:
        draft.sample = _joined([pa.Table.from_batches([batch]).rename_columns(names) for batch in batches])
        times = draft.sample.column(0).cast(pa.timestamp("us", "UTC"), safe=False)
        ends = pc.min_max(times).as_py()
        draft.first_time, draft.last_time = ends["min"], ends["max"]
    return True


def _joined(tables: list[pa.Table]) -> pa.Table:
    """One table of batches whose columns may have different types; those that do not go together become text."""
    import pyarrow as pa

    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowTypeError:
        from tsaudit.collect.columns import as_text

        names = tables[0].column_names
        texts = [pa.table([t.column(0), *(as_text(c) for c in t.columns[1:])], names=names) for t in tables]
        return pa.concat_tables(texts)


def _per_series(draft: Draft) -> list[int]:
    """Rows of each series, out of a sample that holds all of them."""
    import numpy as np

    return [] if draft.sample is None else [int(n) for n in np.bincount(series_of_read(draft))]


def series_of_read(draft: Draft, *, by_measure_name: bool = True) -> np.ndarray:
    """A number for each row read, the same for rows of one series: of one tag set, and of one measure name."""
    from tsaudit.collect.figures import series_of_rows

    assert draft.sample is not None
    parts = [draft.read(Role.TAG, tag.key) for tag in draft.tags]
    if by_measure_name and draft.measure_names is not None:
        parts.append(draft.sample.column("measure_name"))
    return series_of_rows(parts, draft.sample.num_rows)


def _counted(asker: Asker, draft: Draft, series: list[dict[str, str | None]]) -> list[int] | None:
    counts: list[int] = []

    def consume(batch: pa.RecordBatch) -> None:
        counts.extend(batch.column(0).to_pylist())

    statement = asker.ask("row_count", consume, **draft.about, series=series)
    return counts if draft.note("row_count", statement) else None


def _scaled(asker: Asker, draft: Draft, counts: list[int], fact: str) -> Count | None:
    """The rows of all series from those of the sampled ones. None when it cannot be told."""
    read = draft.sampled_series
    window = f"from {asker.window.start:%Y-%m-%d %H:%M} to {asker.window.end:%Y-%m-%d %H:%M} UTC"
    if fact == "row_count":
        window += ", counting the values of each series' fullest field"
    if not read:
        return Count(sum(counts), asker.source(fact, How.EXACT, f"rows {window}"))
    if draft.series is None:
        detail = "rows cannot be scaled up from a few series: the number of all series is not known"
        asker.gap("row_count", Reason.OVER_BUDGET, detail, draft.database, draft.name)
        return None
    total = draft.series.value
    mean = sum(counts) / read
    text = f"scaled up from {read} series, chosen evenly out of {total:,}; rows {window}"
    return Count(round(mean * total), asker.source(fact, How.ESTIMATE, text), _scaled_error(draft.series, counts, read))


def _scaled_error(series: Count, counts: list[int], read: int) -> float | None:
    """The standard error of rows scaled up from `read` series to all of them; None where it is not known.

    A single series does not show how they differ. A total that is an estimate adds its own error, if that is known.
    """
    total, mean = series.value, sum(counts) / read
    of_total = 0.0 if series.source.how is How.EXACT else series.standard_error
    if of_total is None or read == 1 < total:
        return None
    # Series without rows in the window are not in `counts`, and count as zero.
    squares = sum((c - mean) ** 2 for c in counts) + (read - len(counts)) * mean**2
    variance = squares / max(read - 1, 1)
    return math.hypot(total * math.sqrt((1 - read / total) * variance / read), mean * of_total)
