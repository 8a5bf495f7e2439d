"""Measures Timestream: a table and its measure names, from the catalog, one scan, and the newest rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from tsaudit.analysis.columns.time_columns import instant_of
from tsaudit.collect.catalog_facts import each_of
from tsaudit.collect.draft import Draft
from tsaudit.collect.measuring import Measuring, MeasuringContext, MeasuringStep
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import read_sample
from tsaudit.collect.roles import roles_without_rows
from tsaudit.collect.row_figures import some_values
from tsaudit.collect.rows import describe_fields, patterns_and_rhythms, sample_source, series_of_read
from tsaudit.collect.series import scope
from tsaudit.model.columns import Tag
from tsaudit.model.facts import OfMeasurement
from tsaudit.model.figures import Count, How, Ratio, Reason, Role, Source, TableKind
from tsaudit.model.rows import MAX_MEASURE_NAMES, MeasureName, MeasureNames, SharedInstants
from tsaudit.text import many

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from tsaudit.collect.draft import ReadColumn

_OWN_VALUE_RATIO: Final = 0.5
"""Ratio of a tag's values to rows from which on most rows have their own, and a listing would be the whole table."""
_LISTED_ALL_THE_SAME: Final = 50_000
"""Maximum number of rows at which even such a listing is a small response."""
_DESCRIBED: Final = 32
"""Maximum number of measure names whose rows are examined separately, those with the most rows."""
_MARGIN: Final = 2.0
"""Safety factor for the length of the period that is read to get the wanted number of rows, because rates vary."""


Known = tuple[str, str]
"""Database and name of a table."""


class TimestreamMeasuring(Measuring):
    """Measures tables whose rows have several measure names, and whose catalog lists the roles of columns.

    A first scan counts by measure name. It decides whether the tag sets are listed, and how many rows are read, because
    reading costs money.
    """

    uses_column_settings = False
    decided = frozenset({"series_listing", "row_sample"})
    # The counts decide whether a listing is worthwhile, and how long a period the newest rows are read from.
    deciding = frozenset({"measure_name_counts"})

    def __init__(self, runner: QueryRunner) -> None:
        super().__init__(runner)
        self._listed: dict[Known, tuple[MeasureName, ...]] = {}
        """All measure names in the catalog, by table."""
        self._values: dict[Known, Mapping[str, list[int]]] = {}
        """Tag to its approximate number of values under each measure name, for tables where they were counted."""

    def listed(self, database: str, name: str) -> Draft:
        draft = Draft.new(database, name)
        known = replace(draft.measurement, kind=TableKind.SERIES, kind_reason="the engine stores series")
        return replace(draft, measurement=known)

    def with_catalog(self, database: str, drafts: list[Draft], queried: Set[str]) -> list[Draft]:
        if "measure_names" in queried:
            rows = each_of(self.runner, "measure_names", database, [draft.name for draft in drafts]) or {}
            drafts = [self._with_names(draft, rows.get(draft.name)) for draft in drafts]
        return super().with_catalog(database, drafts, queried)

    def _with_names(self, draft: Draft, rows: Sequence[Mapping[str, Any]] | None) -> Draft:
        if rows is None:
            return draft
        names = [MeasureName(row["measure_name"], row["data_type"], tuple(row["dimensions"])) for row in rows]
        self._listed[draft.database, draft.name] = tuple(names)
        count = Count(len(names), self.runner.source("measure_names"))
        first = tuple(sorted(names, key=lambda m: m.name)[:MAX_MEASURE_NAMES])
        return replace(draft, measurement=replace(draft.measurement, measure_names=MeasureNames(count, first)))

    def steps(self, context: MeasuringContext) -> Iterator[MeasuringStep]:
        is_counted = "measure_name_counts" in context.queried
        yield MeasuringStep("measure_name_counts", lambda draft: self._count_rows(draft, counted=is_counted))
        if "series_listing" in context.queried:
            listing = self.listing(context)
            yield MeasuringStep("series_listing", lambda draft: self._list_where_worth_it(draft, listing))
        if "row_sample" in context.queried:
            yield MeasuringStep("row_sample", lambda draft: read_newest(self.runner, draft, self._names_of(draft)))

    def _names_of(self, draft: Draft) -> tuple[MeasureName, ...]:
        return self._listed.get((draft.database, draft.name), ())

    def _count_rows(self, draft: Draft, *, counted: bool) -> Draft:
        """The first of three scans, for everything that can be counted by measure name."""
        draft = roles_without_rows(self.runner, draft)
        if not counted:
            return draft
        draft, values = _count(self.runner, draft, self._names_of(draft))
        self._values[draft.database, draft.name] = values
        return draft

    def _list_where_worth_it(self, draft: Draft, listing: Callable[[Draft], Draft]) -> Draft:
        """The second scan, for the tag sets, unless nearly every row has one of its own."""
        values = self._values.get((draft.database, draft.name), {})
        if own := _tag_with_own_values(draft, values):
            rows = draft.measurement.rows.value if draft.measurement.rows else 0
            most = f"tag {own} has a different value in most of {many(rows, 'row')}"
            detail = f"{most}: a listing would return all of them"
            self.runner.gap("series_listing", Reason.OVER_BUDGET, detail, draft.database, draft.name)
        else:
            draft = listing(draft)
        return draft if draft.measurement.tag_sets else _with_estimated_values(self.runner, draft, values)


def _count(runner: QueryRunner, draft: Draft, listed: Sequence[MeasureName]) -> tuple[Draft, Mapping[str, list[int]]]:
    """The draft with all counts from one scan, and each tag's approximate number of values under each measure name."""
    fact = "measure_name_counts"
    found: list[dict[str, Any]] = []

    def consume(batch: pa.RecordBatch) -> None:
        found.extend(batch.to_pylist())

    statement = runner.query(fact, consume, OfMeasurement(**draft.about(runner.window)))
    if statement is None:
        return draft, {}
    source = runner.source(fact, scope=scope(runner, draft, fact))
    rows = sum(row["rows"] for row in found)
    names = _names(draft, listed, found)
    count = draft.measurement.measure_names.count if draft.measurement.measure_names else Count(len(names), source)
    keys = Count(sum(row["series"] for row in found), replace(source, how=How.ESTIMATE))
    fields = draft.fields
    if rows:
        fields = tuple(
            replace(field, null_ratio=Ratio(_null_ratio(field.key, names, rows), source)) for field in draft.fields
        )
    kind = draft.time.kind if draft.time else None
    known = replace(
        draft.measurement,
        rows=Count(rows, source),
        first_time=instant_of(min((row["first_time"] for row in found), default=None), kind),
        last_time=instant_of(max((row["last_time"] for row in found), default=None), kind),
        measure_names=MeasureNames(count, tuple(names[:MAX_MEASURE_NAMES]), series_keys=keys),
        fields=fields,
    )
    values = {tag.key: [row[f"distinct_{i}"] for row in found] for i, tag in enumerate(draft.tags, start=1) if found}
    return replace(draft, measurement=known).sent(fact, statement), values


def _names(draft: Draft, listed: Sequence[MeasureName], found: Sequence[Mapping[str, Any]]) -> list[MeasureName]:
    """The measure names, most rows first: those that were counted, then those without rows in the window."""
    counted = {row["measure_name"]: _counted(draft, row) for row in found}
    known = {name.name: name for name in listed}
    names = [
        replace(known.get(name, MeasureName(name, "", ())), rows=of_name, series=series, filled=filled)
        for name, (of_name, series, filled) in counted.items()
    ]
    # It was written once, but not within the window.
    names += [replace(name, rows=0, series=0) for key, name in known.items() if key not in counted]
    return sorted(names, key=lambda m: (-(m.rows or 0), m.name))


def _counted(draft: Draft, row: Mapping[str, Any]) -> tuple[int, int, dict[str, int]]:
    """Rows, series, and filled columns of one measure name."""
    keys = [*(t.key for t in draft.tags), *(f.key for f in draft.fields)]
    counts = {key: row[f"count_{i}"] for i, key in enumerate(keys, start=1)}
    return row["rows"], row["series"], {key: count for key, count in counts.items() if count}


def _null_ratio(field: str, names: Sequence[MeasureName], rows: int) -> float:
    """The share of rows without the field, among rows of measure names that have it: others lack it by design."""
    having = [name for name in names if field in name.filled]
    possible = sum(name.rows or 0 for name in having) or rows
    return 1 - sum(name.filled[field] for name in having) / possible


def _tag_with_own_values(draft: Draft, values: Mapping[str, list[int]]) -> str:
    """The tag whose values hardly repeat, if the table is too large to list because of it; otherwise empty."""
    rows = draft.measurement.rows.value if draft.measurement.rows else 0
    if rows <= _LISTED_ALL_THE_SAME:
        return ""
    return next((key for key, counts in values.items() if sum(counts) > _OWN_VALUE_RATIO * rows), "")


def read_newest(runner: QueryRunner, draft: Draft, listed: Sequence[MeasureName]) -> Draft:
    """The third scan, for the newest rows: what they show about the columns, and about each measure name."""
    most = runner.rows_each
    counted = {field.key for field in draft.fields if field.null_ratio is not None}
    draft = read_sample(runner, replace(draft, sampled_since=_since(runner, draft, most)), most)
    draft = describe_fields(runner, draft)
    # A share of nulls over all measure names is meaningless: most of them lack a field by design.
    fields = tuple(field if field.key in counted else replace(field, null_ratio=None) for field in draft.fields)
    draft = replace(draft, measurement=replace(draft.measurement, fields=fields))
    if draft.sample is None:
        return draft
    tags = tuple(tag if tag.sample else _with_sample(draft, tag) for tag in draft.tags)
    draft = replace(draft, measurement=replace(draft.measurement, tags=tags))
    names = draft.measurement.measure_names
    if names is not None:
        names = _with_rows(draft, names, listed, sample_source(runner, draft))
    return replace(draft, measurement=replace(draft.measurement, measure_names=names))


def _since(runner: QueryRunner, draft: Draft, most: int) -> datetime | None:
    """The time since which about the wanted number of rows was written, as reads are billed. None: the whole window."""
    first, last = draft.measurement.first_time, draft.measurement.last_time
    if draft.measurement.rows is None or draft.measurement.rows.value <= most or first is None or last is None:
        return None
    wanted = (last - first) * (_MARGIN * most / draft.measurement.rows.value)
    return max(runner.window.start, last - max(wanted, timedelta(seconds=1)))


def _with_sample(draft: Draft, tag: Tag) -> Tag:
    """The tag with some of its values from the rows read, because its values were not listed."""
    return replace(tag, sample=some_values(draft.rows_read.column(tag.key)))


def _with_rows(draft: Draft, found: MeasureNames, listed: Sequence[MeasureName], source: Source) -> MeasureNames:
    """The measure names with what the rows read show about each of them, and about all of them together."""
    import pyarrow.compute as pc

    of_rows = draft.rows_read.column("measure_name")
    series = series_of_read(draft)
    described = []
    for name in found.names[:_DESCRIBED]:
        rows = pc.equal(of_rows.values, name.name).to_numpy()
        if rows.any():
            patterns, rhythms = patterns_and_rhythms(draft, series, source, rows)
            name = replace(name, row_patterns=patterns, rhythms=rhythms)
        described.append(name)
    names = (*described, *found.names[_DESCRIBED:])
    return replace(found, names=names, shared=_shared_instants(draft, listed, source))


def _shared_instants(draft: Draft, listed: Sequence[MeasureName], source: Source) -> SharedInstants | None:
    """Which single-value measure names occur together in the rows read."""
    import numpy as np
    import pyarrow.compute as pc

    from tsaudit.analysis.rows.duplicates import merged_instants

    assert draft.time is not None
    single = {name.name for name in listed if name.data_type and not name.is_multi}
    named = draft.rows_read.column("measure_name")
    rows = np.isin(named.values.to_numpy(zero_copy_only=False), list(single))
    if not rows.any():
        return None
    tags = {tag.key: _bytes_of(draft.read(Role.TAG, tag.key), len(tag.key.encode())) for tag in draft.tags}
    values = [_bytes_of(draft.read(Role.FIELD, field.key), 0) for field in draft.fields]
    moment = draft.read_times()[1].codes
    shared = series_of_read(draft, by_measure_name=False) * (int(moment.max()) + 1) + moment
    zeros = np.zeros(draft.rows_read.num_rows, np.int64)
    found = merged_instants(
        shared[rows],
        named.codes[rows],
        sum(tags.values(), zeros)[rows],
        pc.binary_length(named.values).to_numpy().astype(np.int64)[rows],
        sum(values, zeros)[rows],
    )
    together = tuple(sorted(named.texts.take(found.names).to_pylist()))
    return SharedInstants(together, found.rows, found.instants, found.bytes_now, found.bytes_merged, source)


def _bytes_of(column: ReadColumn, with_each: int) -> np.ndarray:
    """Bytes of each value, plus `with_each`; 0 for null. A number or time takes eight bytes."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string(column.type):
        lengths = pc.binary_length(column.values.fill_null("")).to_numpy().astype(np.int64)
    else:
        lengths = np.full(len(column), 1 if pa.types.is_boolean(column.type) else 8, np.int64)
    taken: np.ndarray = np.where(column.known, lengths + with_each, 0)
    return taken


def _with_estimated_values(runner: QueryRunner, draft: Draft, approximate: Mapping[str, list[int]]) -> Draft:
    """The draft with the approximate number of values, from the scan, for tags that were not listed."""
    fact = "measure_name_counts"
    rows = draft.measurement.rows.value if draft.measurement.rows else 0
    if not approximate:
        return draft
    source = runner.source(fact, How.ESTIMATE, scope(runner, draft, fact))

    def described(tag: Tag) -> Tag:
        values = approximate[tag.key]
        # Values that occur only once differ between measure names; values of lasting entities are the same.
        once = sum(values) > _OWN_VALUE_RATIO * rows
        return replace(tag, values=Count(sum(values) if once else max(values), source))

    tags, series = tuple(described(tag) for tag in draft.tags), draft.measurement.series
    if own := _tag_with_own_values(draft, approximate):
        at_least = max((tag.values.value for tag in tags if tag.values), default=0)
        bound = replace(source, scope=f"according to the values of {own}; {source.scope}", is_at_least=True)
        series = Count(at_least, bound)
    return replace(draft, measurement=replace(draft.measurement, tags=tags, series=series))


MEASURING: Final = TimestreamMeasuring
