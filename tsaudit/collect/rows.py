"""What the rows read show of fields, tags, and series, alone and together."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.cardinality import fleets
from tsaudit.analysis.codes import RowGroups
from tsaudit.analysis.columns.columns import (
    is_number,
    is_single,
)
from tsaudit.analysis.significance import REPEATS
from tsaudit.collect import reading
from tsaudit.collect.column_ends import with_ends
from tsaudit.collect.copies import find_copies
from tsaudit.collect.draft import Draft, ReadColumn, content_of
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import more_rows, on_pages
from tsaudit.collect.row_bytes import stored_bytes
from tsaudit.collect.row_figures import (
    busiest,
    field_end,
    filled_in,
    idle_hours,
    likely_drops,
    newest_type,
    point_sample,
    repeats,
    reports,
    rhythms,
    rise_per_day,
    row_patterns,
    rows_apart,
    series_of_rows,
    split_name,
    stopped_totals,
    tag_changes,
    time_lag,
    turnover,
)
from tsaudit.collect.series import interval
from tsaudit.model.columns import Field, Tag
from tsaudit.model.figures import How, Reason, Role, Source
from tsaudit.model.rows import MOST_COMPARED_FIELDS, PointSample, Repeats, Rhythms, RowPatterns, RowsApart
from tsaudit.text import many, span, values_of

_NEVER: Final = 2**63 - 1
"""Later than any time, in microseconds."""


def describe_fields(runner: QueryRunner, draft: Draft) -> Draft:
    """Derive what the sampled rows show about the fields; the share of nulls only if there is no count of them."""
    if draft.sample is None:
        if (scan := draft.partial_scan) and "row_sample" in draft.measurement.statements:
            too_many, fix = reading.too_many(runner, scan.rows_all), reading.to_read_all(scan.rows_all)
            cause = f"no row within the window was among those read: {too_many}"
            runner.gap("row_sample", Reason.OVER_BUDGET, cause, draft.database, draft.name, fix=fix)
        return draft

    source = sample_source(runner, draft)
    layout = runner.alike.of(_layout_key(runner, draft, source), lambda: _layout(runner, draft, source))
    values = {field.key: draft.read(Role.FIELD, field.key) for field in draft.fields}
    measured = {f.key: values[f.key] for f in draft.fields if f.types and all(map(is_number, f.types))}
    given = frozenset(column.name for column in draft.columns if column.is_generated)
    ids = given.union(draft.measurement.status.ids if draft.measurement.status else ())
    times = draft.read_times() if draft.time else None
    fields = []
    for field in draft.fields:
        column = values[field.key]
        found = filled_in(field, column, layout.by_series, source, layout.tag_columns, measured)
        fields.append(_over_time(runner, draft, found, column, layout, is_id=field.key in ids))
    known = draft.measurement
    stored = stored_bytes(runner, draft, source) if runner.engine.repeats_texts else known.row_bytes
    is_table = runner.engine.infers_roles
    has_all = is_table or runner.engine.keeps_all_rows(known)
    if times:
        if is_table or runner.engine.has_series_index:
            fields = with_ends(runner, draft, fields)
        fields = _with_rises(runner, draft, fields, ids)
    measurement = replace(
        known,
        tags=tuple(layout.tag(tag) for tag in draft.tags),
        fields=tuple(fields),
        row_patterns=layout.row_patterns,
        rhythms=layout.rhythms,
        rows_apart=layout.rows_apart,
        point_sample=layout.point_sample,
        repeats=layout.repeats,
        row_bytes=stored,
        copies=find_copies(runner, draft, source) if has_all else known.copies,
    )
    return replace(draft, measurement=measurement)


def _over_time(
    runner: QueryRunner, draft: Draft, field: Field, column: ReadColumn, layout: _Layout, *, is_id: bool
) -> Field:
    """The field with what its values show over time. `is_id`: whether they are IDs, which rise."""
    if draft.time is None:
        return field
    times, times_us = draft.read_times()
    may_stop = any(map(is_single, field.types)) and runner.engine.sql_types["float"] not in field.types
    types = draft.each_type.get(field.key)
    tag, known, lag = layout.tag_columns.get(field.key), layout.fields[field.key], time_lag(column, times)
    expiry = draft.measurement.expiry
    if expiry is not None and field.key == expiry.column:
        # Times may be read as texts or numbers: those of a table all in the same way. A time that many rows share is
        # that of something else, such as the end of a contract.
        own = draft.rows_read.times_us(field.key, draft.time.kind)
        is_of_rows = len(own.distinct) * REPEATS >= len(times_us.distinct)
        lag = time_lag(_instants(own), _instants(times_us)) if is_of_rows else None
    return replace(
        field,
        idle_hours=known.idle_hours,
        end=known.end,
        newest_type=newest_type(draft.read_types(field.key), times_us, types[0]) if types else None,
        lag=lag,
        per_day=rise_per_day(column, times_us) if is_id else None,
        stopped=stopped_totals(column, times_us, series_of_read(draft)) if may_stop else None,
        split=split_name(column, tag, times_us, series_of_read(draft)) if tag is not None else None,
    )


def _instants(times_us: ReadColumn) -> ReadColumn:
    """Microseconds since 1970 as timestamps."""
    return ReadColumn(times_us.values.cast(pa.timestamp("us")))


@dataclass(frozen=True, slots=True)
class _Layout:
    """What the rows read show about their tags and times, and about which fields they have, whatever the values of the
    fields. Measurements of one collector have the same layout.
    """

    by_series: RowGroups
    tag_columns: Mapping[str, ReadColumn]
    tags: Mapping[str, Tag]
    """Tags with only what the rows show; of tables without a time, what is known without it."""
    fields: Mapping[str, Field]
    """Fields with only what the rows show; empty for tables without a time."""
    row_patterns: RowPatterns
    rhythms: Rhythms | None = None
    rows_apart: RowsApart | None = None
    point_sample: PointSample | None = None
    repeats: Repeats | None = None

    def tag(self, tag: Tag) -> Tag:
        """The tag with what the rows show."""
        known = self.tags[tag.key]
        return replace(
            tag,
            busiest=known.busiest,
            changes=known.changes,
            reports=known.reports,
            idle_hours=known.idle_hours,
            turnover=known.turnover,
        )


def _layout_key(runner: QueryRunner, draft: Draft, source: Source) -> Hashable:
    """All that `_layout` depends on."""
    read = [draft.read(Role.TAG, tag.key) for tag in draft.tags]
    if draft.time:
        read.append(draft.read_times()[0])
    if draft.measurement.measure_names is not None:
        read.append(draft.rows_read.column("measure_name"))
    columns = [column.values for column in read]
    columns += [draft.read(Role.FIELD, field.key).values.is_valid() for field in draft.fields]
    table = pa.table(columns, [str(place) for place in range(len(columns))])
    return (
        content_of(table.combine_chunks().to_batches()),
        draft.rows_read.num_rows,
        tuple(field.key for field in draft.fields),
        tuple((tag.key, tag.label_of, fleets.rows_per_value(draft.measurement, tag)) for tag in draft.tags),
        draft.time,
        draft.measurement.tag_sets,
        draft.measurement.measure_names is None,
        draft.window(runner.window_of("row_sample", draft.database, draft.name)),
        draft.is_read_whole,
        draft.sampled_series,
        draft.partial_scan,
        source,
    )


def _layout(runner: QueryRunner, draft: Draft, source: Source) -> _Layout:
    series = series_of_read(draft)
    tags = {tag.key: draft.read(Role.TAG, tag.key) for tag in draft.tags}
    patterns, own_rhythms = patterns_and_rhythms(draft, series, source)
    # Rows of a few series do not show which others write more.
    of_tags = {
        key: Tag(key, "", busiest=None if draft.sampled_series else busiest(column, source))
        for key, column in tags.items()
    }
    without_time = _Layout(RowGroups(series), tags, of_tags, {}, patterns, own_rhythms)
    if draft.time is None:
        return without_time
    times, times_us = draft.read_times()
    changes, others = tag_changes(tags, times, source), _other_tags(draft)
    columns = {field.key: draft.read(Role.FIELD, field.key) for field in draft.fields}
    for tag in draft.tags:
        by = None if draft.sampled_series else others[tag.key]
        written = fleets.rows_per_value(draft.measurement, tag) or 0.0
        of_tags[tag.key] = replace(
            of_tags[tag.key],
            changes=changes[tag.key],
            reports=reports(tags[tag.key], times_us),
            idle_hours=idle_hours(tags[tag.key], times_us),
            turnover=turnover(tags, times_us, tag.key, by, source, written),
        )
    return replace(
        without_time,
        fields={
            key: Field(key, (), idle_hours=idle_hours(column, times_us), end=field_end(column, times_us, columns))
            for key, column in columns.items()
        },
        rows_apart=_apart(draft, times, times_us, source),
        point_sample=None
        if len(draft.fields) > MOST_COMPARED_FIELDS
        else point_sample(
            tags,
            times_us,
            series if draft.measurement.measure_names is None else series_of_read(draft, by_measure_name=False),
            draft.window(runner.window_of("row_sample", draft.database, draft.name)),
            source,
            all_rows=draft.is_read_whole,
        ),
        repeats=repeats(tags, times, source, times_us),
    )


_SOME_USED: Final = 0.1
"""Share of the IDs of a sequence that are given before it matters how fast."""


def _with_rises(runner: QueryRunner, draft: Draft, fields: list[Field], ids: frozenset[str]) -> list[Field]:
    """The fields, those of `ids` of which a part is used up with how they rise in the whole window where the
    newest rows cover less than a day: one query, of pages chosen at random.
    """
    if (status := draft.measurement.status) is None:
        return fields
    used = {key for key in ids.intersection(status.ids) if status.ids[key] >= _SOME_USED * status.id_limits[key]}
    if not used:
        return fields
    assert draft.time is not None
    rows, whole = draft.measurement.rows, draft.measurement.rows_total or draft.measurement.rows
    if draft.is_even or rows is None or whole is None or _days_of(draft) >= 1:
        return fields
    names = [draft.time.name, *sorted(used)]
    query = on_pages(runner, draft, names, draft.sample_limit, whole.value, rows.value)
    read = more_rows(runner, draft, query)
    if read is None:
        return fields
    spread = replace(draft, sample=read)
    if _days_of(spread) <= _days_of(draft):
        return fields
    times_us = spread.read_times()[1]
    rises = {key: rise_per_day(spread.read(Role.FIELD, key), times_us) for key in used}
    return [replace(field, per_day=found) if (found := rises.get(field.key)) is not None else field for field in fields]


def _days_of(draft: Draft) -> float:
    """The time that the rows read cover, in days."""
    times = draft.read_times()[1].values
    oldest, newest = pc.min(times).as_py(), pc.max(times).as_py()
    return 0.0 if oldest is None else (newest - oldest) / (86_400 * 1_000_000)


def _other_tags(draft: Draft) -> dict[str, tuple[str, ...]]:
    """For each tag, all others that do not go with it: a series keeps them when it is left out."""
    sets, keys = draft.measurement.tag_sets, [tag.key for tag in draft.tags]
    gone = {one.tag: {one.tag, *one.together_with} for one in sets.contributions} if sets else {}
    return {key: tuple(other for other in keys if other not in gone.get(key, {key})) for key in keys}


def _apart(draft: Draft, times: ReadColumn, times_us: ReadColumn, source: Source) -> RowsApart:
    """What distinguishes the rows read with the same time. `times`: as stored, and in microseconds."""
    columns = {tag.key: draft.read(Role.TAG, tag.key) for tag in draft.tags}
    also = draft.rows_read.column("measure_name") if draft.measurement.measure_names is not None else None
    # Rows of a few series do not show which rows of others share their time, nor do rows of random pages.
    whole = not draft.sampled_series and not draft.is_of_pages
    later = None
    if whole and not draft.is_read_whole:
        # The oldest instant may have more rows than were read.
        numbers = times_us.values.fill_null(_NEVER).to_numpy()
        later = times_us.known & (numbers > numbers.min(initial=_NEVER))
        whole = bool(later.any())
    likely = likely_drops(draft.measurement.tag_sets)
    return rows_apart(columns, times, source, likely, also=also, whole=whole, only=later if whole else None)


def patterns_and_rhythms(
    draft: Draft, series: np.ndarray, source: Source, only: np.ndarray | None = None
) -> tuple[RowPatterns, Rhythms | None]:
    """What the rows fill together, and how regularly they arrive. `series`: a number a row. `only`: rows to include."""

    def taken(column: ReadColumn) -> ReadColumn:
        return column if only is None else column.where(only)

    tags = {tag.key: taken(draft.read(Role.TAG, tag.key)) for tag in draft.tags}
    fields = {field.key: taken(draft.read(Role.FIELD, field.key)) for field in draft.fields}
    series = series if only is None else series[only]
    # Each metric has labels of its own, and one that is absent takes no room.
    columns = {tag.key: tags[tag.key] for tag in draft.tags if not tag.label_of}
    if draft.time is None:
        return row_patterns(columns, fields, None, series, source), None
    times, times_us = map(taken, draft.read_times())
    return row_patterns(columns, fields, times, series, source), rhythms(tags, fields, times_us, series, source)


def sample_source(runner: QueryRunner, draft: Draft) -> Source:
    """The source of figures derived from the rows read; requires rows."""
    window = interval(runner, draft, "row_sample")
    if draft.sampled_since:
        window = f"from {span(draft.sampled_since, runner.window.end)}"
    if draft.time is None:
        window = "whatever their time: the table has no time column"
    rows = draft.rows_read.num_rows
    if draft.is_too_big and draft.partial_scan:
        return runner.source("row_sample", How.SAMPLED, f"{draft.partial_scan.words(rows)} {window}")
    if draft.is_read_whole and not draft.sampled_series:
        return runner.source("row_sample", How.EXACT, f"all {many(rows, 'row')} {window}")
    which = f"the newest {many(rows, 'row')}" if draft.time else many(rows, "row")
    if draft.sampled_series:
        series = draft.measurement.series
        known = values_of(series, "series").removesuffix(" series") if series else "more than could be listed"
        some = f"values of tag {draft.read_by}" if draft.read_by else f"series, an even sample of {known}"
        which += f" of {draft.sampled_series} {some},"
    return runner.source("row_sample", How.SAMPLED, f"{which} {window}")


def series_of_read(draft: Draft, *, by_measure_name: bool = True) -> np.ndarray:
    """A number for each row read, the same for rows of one series: of one tag set and one measure name."""

    parts = [draft.read(Role.TAG, tag.key) for tag in draft.tags]
    if by_measure_name and draft.measurement.measure_names is not None:
        parts.append(draft.rows_read.column("measure_name"))
    return series_of_rows(parts, draft.rows_read.num_rows)
