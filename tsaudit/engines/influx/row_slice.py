"""Reads rows of all series from a short part of the window, if otherwise only rows of a few series were read: they show
which rows have the same time, and so how many would overwrite others without a tag, and which series have most rows.

Also reads rows of a few whole sources, which show whether values of a tag come and go. If a source has left a thousand
series behind, rows of a few series would miss nearly all of them.

And it finds the number of rows of all series, where only those of an even sample were counted. A sample of a thousandth
of the series has none of the few that may have most of the rows, and its standard error does not show that. So the
series that stand out in the slice are counted by themselves. Without a slice, what the sample shows is a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.columns.columns import TimeKind
from tsaudit.collect.draft import Draft, ReadColumn, epoch_us
from tsaudit.collect.measuring import RowSlice
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.row_figures import likely_drops, rows_apart, tag_changes, turnover
from tsaudit.collect.series import SERIES_KEPT
from tsaudit.model.columns import Contribution, Tag, TagSets
from tsaudit.model.facts import OfRowCount, OfRowSlice
from tsaudit.model.figures import Count, How, Role, Source, Window
from tsaudit.text import many, span

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SERIES: Final = 100_000
"""Maximum number of series read in a slice: InfluxDB opens a cursor for each series in the shards of the slice. Half as
many, in four shards, took 1.3 seconds and 82 MB of the server. If there are more, only series with one value of a tag
are read.
"""
_ENOUGH: Final = 0.1
"""Minimum share of the row limit: of fewer rows, a longer slice is read."""
_MOST_READS: Final = 3
_FULL: Final = 0.1
"""Maximum share of a slice that may be unread: it ends too early if there is more."""
_AIM: Final = 0.8
_LONGER: Final = 100
_SHORTEST: Final = timedelta(milliseconds=1)
_SECOND: Final = timedelta(seconds=1)
_FEWEST_SERIES: Final = 300
"""Minimum number of series: fewer cost nothing, and their newest rows show most of them."""
_TAGS: Final = 3
"""Maximum number of tags examined, those that contribute most to the series."""
_LEAST_GAIN: Final = 0.1
"""Minimum share of the series that dropping the tag would remove."""
_SOURCES: Final = 8


@dataclass(frozen=True, slots=True)
class _Plan:
    """What to read."""

    key: str
    """The field that most rows have: a row can only be overwritten by another one that has the same field."""
    per_second: float
    """Expected number of rows per second."""
    within: Mapping[str, str | None] = field(default_factory=dict)


def read_slice(runner: QueryRunner, draft: Draft) -> Draft:
    """Compare rows of all series, if only rows of a few were read, and of whole sources, if not all sources were."""
    found = slice_of(runner, draft) if draft.sampled_series and draft.tags else None
    draft = with_all_rows(runner, draft, found)
    if found is not None:
        draft = _compared(draft, found)
    sets = draft.measurement.tag_sets
    if sets is None or sets.series < _FEWEST_SERIES or draft.sample is None:
        return draft
    if draft.sampled_series or not draft.is_read_whole:
        for one in _causes(sets):
            if not any(_shows_more(tag) for tag in draft.tags if tag.key == one.tag):
                draft = _with_sources(runner, draft, one, sets.series)
    return draft


def _shows_more(tag: Tag) -> bool:
    """Whether rows of whole sources have already shown that new values of the tag keep appearing."""
    return fleets.keeps_coming(tag) and tag.turnover is not None and tag.turnover.by is not None


def _compared(draft: Draft, found: RowSlice) -> Draft:
    sets = likely_drops(draft.measurement.tag_sets)
    tags = {key: ReadColumn(column) for key, column in found.tags.items()}
    times = ReadColumn(found.times)
    apart = rows_apart(tags, times, found.source, sets, whole=found.whole, within=found.within)
    draft = replace(draft, measurement=replace(draft.measurement, rows_apart=apart)).sent("row_slice", found.statement)
    draft = _with_times(draft, found.times)
    for one in _causes(draft.measurement.tag_sets) if draft.measurement.tag_sets else ():
        if found.within not in (one.tag, *one.together_with):
            draft = _with_turnover(draft, one, tags, times, found.source)
    return draft


def _causes(sets: TagSets) -> list[Contribution]:
    """The tags that contribute most to the series, each together with the tags that are interchangeable with it,
    largest contribution first; before them, several tags that only together contribute most.
    """
    said = {(one.determinant, one.dependent) for one in sets.dependencies}
    known: set[str] = set()
    found = []
    for one in sets.contributions:
        # A tag that another tag determines adds no series by itself.
        is_free = one.tag not in known and all((one.tag, other) in said for other in one.together_with)
        if is_free and sets.series - one.series_left >= _LEAST_GAIN * sets.series:
            known.update(one.tags)
            found.append(one)
    each = {frozenset(one.tags) for one in sets.contributions}
    together = [one for one in sets.drop_curve[:1] if known.isdisjoint(one.tags) and frozenset(one.tags) not in each]
    return [*together, *found][:_TAGS]


def _with_sources(runner: QueryRunner, draft: Draft, without: Contribution, series: int) -> Draft:
    """Add what the newest rows of a few sources show. A source is all series that differ only in these tags."""
    most = min(_SOURCES, int(MOST_SERIES * max(without.series_left, 1) / series))
    sources = list(_sources(draft, _others(draft, without)))[:most]
    window = draft.window(runner.window)
    limit = runner.target.budget.max_rows
    within = [one for one in sources if one]
    read = _read(runner, draft, fullest_field(draft), window, limit, within, newest=True) if sources else None
    if read is None or not read[0].num_rows:
        return draft
    source = runner.source("row_slice", How.SAMPLED, f"the newest rows of {many(len(sources), 'source')}")
    draft = _with_times(draft, read[0].column(0))
    columns = {tag.key: ReadColumn(read[0].column(1 + place)) for place, tag in enumerate(draft.tags)}
    return _with_turnover(draft, without, columns, ReadColumn(read[0].column(0)), source)


def _with_times(draft: Draft, times: pa.ChunkedArray) -> Draft:
    """Add the oldest and the newest of these rows: those of a few series may be older than the newest of all."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pc.min_max(times.cast(pa.timestamp("us", "UTC"), safe=False)).as_py()
    here = draft.measurement
    first, last = min(here.first_time or ends["min"], ends["min"]), max(here.last_time or ends["max"], ends["max"])
    return replace(draft, measurement=replace(here, first_time=first, last_time=last))


def _with_turnover(
    draft: Draft, without: Contribution, columns: Mapping[str, ReadColumn], times: ReadColumn, source: Source
) -> Draft:
    at = ReadColumn(epoch_us(times.values, TimeKind.NANOSECONDS))
    # Rows of whole series, which were read before, show how often a value is written.
    whole = next((tag.reports for tag in draft.tags if tag.key == without.tag), None)
    written = whole.per_value if whole else 0.0
    found = turnover(columns, at, without.tag, _others(draft, without), source, written)
    gone = {without.tag, *without.together_with}
    changes = tag_changes(columns, times, source)
    tags = tuple(
        replace(tag, turnover=found or tag.turnover, changes=changes[tag.key]) if tag.key in gone else tag
        for tag in draft.tags
    )
    return replace(draft, measurement=replace(draft.measurement, tags=tags))


def _others(draft: Draft, without: Contribution) -> tuple[str, ...]:
    gone = {without.tag, *without.together_with}
    return tuple(sorted(tag.key for tag in draft.tags if tag.key not in gone))


def _sources(draft: Draft, by: tuple[str, ...]) -> Iterator[dict[str, str | None]]:
    """The sources of the series kept from the listing, without duplicates."""
    known = set()
    for tags in draft.some_series:
        source = {key: tags.get(key) for key in by}
        if (values := tuple(source.values())) not in known:
            known.add(values)
            yield source


def slice_of(runner: QueryRunner, draft: Draft, gone: Collection[str] = ()) -> RowSlice | None:
    """Rows of all series around the time of the newest row read; None if that is too expensive, or no row was read.

    `gone`: the tags to be dropped, if known: rows are not selected by one of these.
    """
    plan = _plan(draft, runner, gone)
    if plan is None or draft.measurement.last_time is None:
        return None
    window, limit = draft.window(runner.window), runner.target.budget.max_rows
    whole = window.end - window.start
    expected = plan.per_second * whole.total_seconds()
    length, reads = (whole if expected <= limit else whole * (_AIM * limit / expected)), 0
    while True:
        part, reads = _part(window, draft.measurement.last_time, length), reads + 1
        read = _read(runner, draft, plan.key, part, limit, [plan.within] if plan.within else ())
        if read is None:
            return None
        other = _other_length(read[0], part, limit)
        if other is None or reads == _MOST_READS or (part == window and other > length):
            return _sliced(runner, draft, *read, plan, part) if read[0].num_rows else None
        length = other


def _other_length(rows: pa.Table, part: Window, limit: int) -> timedelta | None:
    """The length of a part with about as many rows as can be read, by the rows of this one; None if it has. Of one with
    more, only the oldest rows were read, which may all be older than a tag that is new.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    read: int = rows.num_rows
    if read < _ENOUGH * limit:
        return (part.end - part.start) * min(_AIM * limit / max(read, 1), _LONGER)
    if read < limit:
        return None
    last: datetime = pc.max(rows.column(0)).cast(pa.timestamp("us", "UTC"), safe=False).as_py()
    return _AIM * (last - part.start) if last < part.end - _FULL * (part.end - part.start) else None


def _part(window: Window, last: datetime, length: timedelta) -> Window:
    """The part of the window with this length that ends at the newest row read; the whole window if it is shorter."""
    if length >= window.end - window.start:
        return window
    if length > _SECOND:
        length = timedelta(seconds=length // _SECOND)
    end = min(last + timedelta(microseconds=1), window.end)
    return Window(max(end - max(length, _SHORTEST), window.start), end)


def _plan(draft: Draft, runner: QueryRunner, gone: Collection[str]) -> _Plan | None:
    """What to read; None if the slice would have too many series, or if nothing is known about its rows."""
    if draft.measurement.series is None or draft.sample is None or not draft.fields:
        return None
    import pyarrow.compute as pc

    ends = pc.min_max(draft.sample.column("time").values).as_py()
    span = ends["max"] - ends["min"]
    if draft.is_read_whole:
        window = draft.window(runner.window)
        span = window.end - window.start
    series, read = draft.measurement.series.value, draft.sampled_series or draft.measurement.series.value
    rows = draft.sample.num_rows * series / max(read, 1)
    name = fullest_field(draft)
    per_second = rows / max(span.total_seconds(), 1.0)
    if series <= MOST_SERIES:
        return _Plan(name, per_second)
    tag = _dividing(draft, series, gone)
    if tag is None or tag.values is None:
        return None
    (value,) = draft.read(Role.TAG, tag.key).values.slice(0, 1).to_pylist()
    return _Plan(name, per_second / tag.values.value, {tag.key: value or None})


def _dividing(draft: Draft, series: int, gone: Collection[str]) -> Tag | None:
    """The tag whose values divide the series into parts small enough to read, and that adds least to the series."""
    least = series / MOST_SERIES
    able = [tag for tag in draft.tags if tag.key not in gone and tag.values is not None and tag.values.value >= least]
    # A tag that another tag determines adds no series by itself.
    sets = draft.measurement.tag_sets.contributions if draft.measurement.tag_sets else ()
    left = {one.tag: series if one.together_with else one.series_left for one in sets}
    if not gone and left:
        # A plan would drop this tag.
        able = [tag for tag in able if tag.key != min(left, key=lambda key: (left[key], key))]
    return max(able, key=lambda tag: (left.get(tag.key, 0), tag.key), default=None)


def fullest_field(draft: Draft) -> str:
    """The field that most of the rows read have."""

    return max(draft.fields, key=lambda one: draft.read(Role.FIELD, one.key).filled).key


def _read(
    runner: QueryRunner,
    draft: Draft,
    field: str,
    part: Window,
    limit: int,
    within: Sequence[Mapping[str, str | None]],
    *,
    newest: bool = False,
) -> tuple[pa.Table, str] | None:
    """The time and the tags of the rows, by position, with the statement; None if the query failed."""
    import pyarrow as pa

    batches: list[pa.RecordBatch] = []
    about = draft.about(runner.window)
    about["start"], about["end"], about["fields"] = part.start, part.end, [field]
    statement = runner.query(
        "row_slice", batches.append, OfRowSlice(**about, limit=limit, within=within, newest=newest)
    )
    if statement is None:
        return None
    types = [pa.timestamp("ns", "UTC"), *(pa.string() for _ in draft.tags)]
    schema = pa.schema([(str(place), kind) for place, kind in enumerate(types)])
    # A tag that is absent from all rows of a batch has no type; the field itself is not needed.
    tables = [
        pa.Table.from_arrays([batch.column(0), *(c.cast(pa.string()) for c in batch.columns[2:])], schema=schema)
        for batch in batches
    ]
    return (pa.concat_tables(tables) if tables else schema.empty_table()), statement


def _sliced(runner: QueryRunner, draft: Draft, table: pa.Table, statement: str, plan: _Plan, part: Window) -> RowSlice:
    import pyarrow as pa
    import pyarrow.compute as pc

    is_cut, whole, end = table.num_rows >= runner.target.budget.max_rows, True, part.end
    if is_cut:
        # The rows are sorted by time, so the last instant may be incomplete.
        ends = pc.min_max(table.column(0)).as_py()
        whole = bool(ends["min"] != ends["max"])
        if whole:
            table = table.filter(pc.less(table.column(0), pa.scalar(ends["max"], table.column(0).type)))
        end = pc.max(table.column(0)).cast(pa.timestamp("us", "UTC"), safe=False).as_py()
    is_all = (
        part == draft.window(runner.window)
        and not (is_cut or plan.within)
        and draft.read(Role.FIELD, plan.key).known.all()
    )
    how = How.EXACT if is_all else How.SAMPLED
    source = runner.source("row_slice", how, _scope(draft, plan, Window(part.start, end)))
    tags = {tag.key: table.column(1 + place) for place, tag in enumerate(draft.tags)}
    return RowSlice(table.column(0), tags, source, whole, statement, next(iter(plan.within), ""))


def _scope(draft: Draft, plan: _Plan, part: Window) -> str:
    """Which rows were read, in words. The value of the tag is not shown, because it may be somebody's name."""
    assert draft.measurement.series is not None
    within, series = next(iter(plan.within), ""), many(draft.measurement.series.value, "series")
    which = f"rows with one value of {within}" if within else f"all {series}"
    return f"{which}, {span(part.start, part.end)}"


# --- The number of rows of all series ---------------------------------------------------------------------------------

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
        return with_row_count(
            draft, Count(len(found.times), runner.source("row_slice", scope=f"rows {_window(runner, draft)}"))
        )
    heavy = None if found is None or found.within else _standing_out(draft, found)
    if heavy:
        draft = _counted_apart(runner, draft, heavy)
    rows = draft.measurement.rows or rows
    is_vague = rows.standard_error is not None and rows.standard_error > _VAGUE * rows.value
    return with_row_count(draft, _bound(draft, rows)) if heavy is None or is_vague else draft


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
        return with_row_count(draft, _bound(draft, rows))
    rest = replace(series, value=max(series.value - len(apart), len(others)))
    text = (
        f"{many(len(apart), 'series')} with many of the newest rows, and scaled up from {len(others)} of the other "
        f"{rest.value:,}; rows {_window(runner, draft)}, counting the values of each series' fullest field"
    )
    value = sum(of_heavy) + round(sum(of_others) / len(others) * rest.value)
    source = runner.source("row_count", How.ESTIMATE, text)
    return with_row_count(draft, Count(value, source, scaled_error(rest, of_others, len(others))))


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
    return Count(max(read, sure), replace(rows.source, how=How.SAMPLED, is_at_least=True))


def _window(runner: QueryRunner, draft: Draft) -> str:
    window = draft.window(runner.window)
    return f"from {span(window.start, window.end)}"


def with_row_count(draft: Draft, rows: Count | None) -> Draft:
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
