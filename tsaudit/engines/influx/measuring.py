"""Measures InfluxDB 1.x and 2.x: retention policies, tags and fields in the index, and the rows of series."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.columns.columns import TimeColumn, TimeKind, types_read_apart
from tsaudit.analysis.columns.time_columns import misdating_factor
from tsaudit.collect.batch import prefetch_database_listing, prefetch_rows
from tsaudit.collect.catalog_facts import rows_about, rows_of
from tsaudit.collect.counts import scaled_up
from tsaudit.collect.draft import Draft, ReadRows
from tsaudit.collect.measuring import Audited, Measuring, MeasuringContext, MeasuringStep, RowSlice
from tsaudit.collect.query_runner import QueryRunner, Unanswered, keeping
from tsaudit.collect.reading import (
    EARLIEST,
    EARLY,
    LATEST,
    fewer,
    has_others,
    is_early,
    names_of,
    sampled,
    shorter,
    with_misdated,
)
from tsaudit.collect.rows import describe_fields, series_of_read
from tsaudit.collect.series import listing_of
from tsaudit.engines.influx.row_slice import MOST_SERIES, read_slice, scaled_error, slice_of, with_row_count
from tsaudit.model.columns import Field, Tag
from tsaudit.model.facts import OfDatabase, OfRowCount, OfRowSample
from tsaudit.model.figures import POLICY_SEPARATOR, Count, How, Reason, Role, TableKind, Window, how_summed, utc_now
from tsaudit.model.profile import Database, Measurement
from tsaudit.model.timeline import SAME_DAY
from tsaudit.text import many, span

if TYPE_CHECKING:
    import pyarrow as pa

ALL_SERIES_UP_TO: Final = 1000
"""Maximum number of series whose rows are all read: InfluxDB opens a cursor per series and shard, so if there are more,
rows of a few series are read.
"""

_MOST_FIELDS: Final = 1_000
"""Maximum number of fields of a measurement whose values are read, spread evenly over their names: InfluxDB opens a
cursor for each of them in each series and shard. 12,000 fields took it 45 seconds and 4.3 GB, 76,000 fields 18 GB.
"""
_MOST_CELLS: Final = 2_000_000
"""Maximum number of values read of one measurement, nulls included: 35 bytes of the server's memory each."""

_US: Final = 1_000_000
_TIME: Final = TimeColumn("time", TimeKind.NANOSECONDS)

Series = Sequence[Mapping[str, str | None]]
"""Tag sets whose rows are read; empty for all."""


class InfluxMeasuring(Measuring):
    """Measures what an index contains: tags, fields, and every tag set.

    The tag sets are listed from the index. Then the newest rows are read, of a few series if there are many, because
    each series is read separately.
    """

    lists_columns = False
    uses_column_settings = False
    decided = frozenset({"row_sample", "row_count"})
    # Rows are read for listed series, by retention policy. Rows of a few series do not show which rows of other series
    # have the same time.
    deciding = frozenset({"series_listing", "retention", "row_slice"})

    def __init__(self, runner: QueryRunner) -> None:
        super().__init__(runner)
        self._is_at_rest = False
        """Whether no measurement has rows within the window, because the writers stopped before it."""
        self._early: dict[tuple[str, str], Window] = {}
        """Database and measurement to the first and the last of its times in 1970."""

    def databases(self, wanted: Sequence[str], listed: Set[str] | None, queried: Set[str]) -> dict[str, Audited]:
        if "policies" in queried:
            return self._to_audit(wanted, listed)
        return super().databases(wanted, listed, queried)

    def listed(self, database: str, name: str) -> Draft:
        return _listed(database, name)

    def outline(self, database: str, names: list[str]) -> dict[str, Draft] | None:
        found_tags = rows_of(self.runner, "tag_keys", OfDatabase(database=database))
        found_fields = rows_of(self.runner, "field_types", OfDatabase(database=database))
        if found_tags is None or found_fields is None:
            return None
        tags: dict[str, list[Tag]] = {}
        for row in found_tags:
            tags.setdefault(row["measurement"], []).append(Tag(row["tag"], "string"))
        types: dict[str, dict[str, set[str]]] = {}
        for row in found_fields:
            types.setdefault(row["measurement"], {}).setdefault(row["field"], set()).add(row["data_type"])
        drafts: dict[str, Draft] = {}
        for name in tags | types:
            fields = [Field(key, tuple(sorted(kinds))) for key, kinds in sorted(types.get(name, {}).items())]
            step = -(-len(fields) // _MOST_FIELDS) or 1
            unread = tuple(field for place, field in enumerate(fields) if place % step)
            drafts[name] = _listed(database, name, tuple(tags.get(name, ())), tuple(fields[::step]), unread)
            if self.runner.engine.reads_each_type:
                apart = {field.key: types_read_apart(field.types) for field in drafts[name].fields}
                drafts[name] = replace(drafts[name], each_type={key: types for key, types in apart.items() if types})
        return drafts

    def steps(self, context: MeasuringContext) -> Iterator[MeasuringStep]:
        queried, series = context.queried, context.database_series
        if "series_listing" in queried:

            def list_all(drafts: Sequence[Draft]) -> None:
                prefetch_database_listing(
                    self.runner, drafts, functools.partial(listing_of, self.runner), series, context.unlisted_series
                )

            yield MeasuringStep("series_listing", self.listing(context), list_all)
        if queried & {"row_sample", "row_count"}:
            yield MeasuringStep(
                "row_sample",
                lambda draft: self.with_rows(draft, series.get(draft.database)),
                lambda drafts: self._prefetch_points(drafts, series),
            )
            yield MeasuringStep(
                "row_sample",
                lambda draft: self._with_rows_at_rest(draft, series.get(draft.database)),
                self._look_whether_at_rest,
            )
        if "row_count" in queried:
            yield MeasuringStep(
                "row_count",
                lambda draft: self._count_points(draft, series.get(draft.database)),
                lambda drafts: self._prefetch_point_counts(drafts, series),
            )
        if "row_sample" in queried:
            look = self._look_for_early_rows if "early_rows" in queried else None
            yield MeasuringStep("row_sample", self._with_misdated, look)
            yield MeasuringStep("row_sample", functools.partial(describe_fields, self.runner))
        if "row_slice" in queried:
            yield MeasuringStep("row_slice", functools.partial(read_slice, self.runner))

    def row_slice(self, draft: Draft, gone: Collection[str]) -> RowSlice | None:
        return slice_of(self.runner, draft, gone)

    def with_rows(self, draft: Draft, database_series: int | None) -> Draft:
        """Read the newest rows, of a few series if there are many. `database_series`: see `_series_to_read`."""
        series = _series_to_read(draft, database_series)
        if impossible := _cannot_read(draft, series):
            reason = self.runner.why(("series_listing", "retention"), draft.database, draft.name)
            self.runner.gap("row_sample", reason, impossible, draft.database, draft.name)
            return draft
        read, draft = self._read_newest(draft, series or ())
        if read and draft.sample is None and series:
            draft = self._read_last_day(draft)
        if read and draft.sample is None:
            draft = self._read_ahead(draft, series or ())
        return self._with_first_rows(draft)

    def _with_first_rows(self, draft: Draft) -> Draft:
        """The draft with the day on which each of an even sample of its series began, as far as their rows show it: if
        not all were read, for as long as they cover. Unchanged without a sample.
        """
        end, is_even = self.runner.window.end, draft.sampled_series and not (draft.read_by or draft.sampled_since)
        if draft.sample is None or not is_even or draft.measurement.own_window:
            return draft
        import numpy as np

        from tsaudit.analysis.cardinality.arrivals import by_day, date_of

        series, times = series_of_read(draft), draft.read_times()[1].values.to_numpy()
        first = np.full(int(series.max()) + 1, times.max())
        np.minimum.at(first, series, times)
        # What has no row was there before, and is silent.
        begun = self.runner.window.start.timestamp() * _US if draft.is_read_whole else times.min()
        silent = np.full(draft.sampled_series - len(first), begun)
        ago = ((end.timestamp() * _US - np.append(first, silent)) // (86_400 * _US)).astype(np.int32)
        day = (end - timedelta(microseconds=1)).date()
        days = by_day(day.toordinal() - ago, date_of(day.toordinal() - int(ago.max())), day)
        # Of few series that were there before, a sample may have one today and none tomorrow.
        known = draft.previous.first_rows if draft.previous else ()
        older = (one for one in known if self.runner.window.start.date() <= one.day < days[0].day)
        return replace(draft, measurement=replace(draft.measurement, first_rows=(*older, *days)))

    def _look_whether_at_rest(self, drafts: Sequence[Draft]) -> None:
        """`drafts`: all measurements, after their rows were read."""
        self._is_at_rest = all(draft.sample is None for draft in drafts)

    def _with_rows_at_rest(self, draft: Draft, database_series: int | None) -> Draft:
        """The draft with its newest rows from a window of their own, if no measurement is written anymore."""
        if draft.sample is not None or "row_sample" not in draft.measurement.statements:
            return draft
        series = _series_to_read(draft, database_series)
        found = self._read_before(draft, series or ()) if self._is_at_rest and not _was_written(draft) else draft
        if found.sample is None and series:
            days = many(round(self.runner.target.window / timedelta(days=1)), "day")
            cause = (
                f"none of {len(series)} series chosen from the listing has rows within the window of {days}: most have "
                "stopped"
            )
            fix = "drop series whose points nobody needs anymore, or list the measurement in `exclude`"
            self.runner.gap("row_sample", Reason.FAILED, cause, draft.database, draft.name, fix=fix)
        return found

    def _count_points(self, draft: Draft, database_series: int | None) -> Draft:
        """Count the rows within the window, unless all of them were read. `database_series`: see `_series_to_read`."""
        if "row_sample" not in draft.measurement.statements:
            reason = self.runner.why(("row_sample",), draft.database, draft.name)
            behind = self.runner.gap_in("row_sample", draft.database, draft.name)
            detail = "the rows could not be sampled" + (f": {behind.detail}" if behind else "")
            self.runner.gap("row_count", reason, detail, draft.database, draft.name)
            return draft
        if draft.is_read_whole:
            return with_row_count(draft, self._scaled(draft, _per_series(draft), "row_sample"))
        if draft.unread or draft.sampled_since:
            # The server would count the values of each field, or of each series, most of which have stopped.
            return with_row_count(draft, self._scaled(replace(draft, sampled_series=0), [], "row_sample"))
        batches: list[pa.RecordBatch] = []
        given = self._count_of(draft, _series_to_read(draft, database_series) or ())
        answer = self.runner.first_answered("row_count", shorter(given), keeping(batches))
        if answer is None:
            return draft
        counts = [count for batch in batches for count in batch.column(0).to_pylist()]
        rows = self._scaled(draft, counts, "row_count")
        if rows and answer.failed:
            rows = scaled_up(self.runner, draft, "row_count", answer, rows)
        return with_row_count(draft, rows).sent("row_count", answer.statement)

    def _look_for_early_rows(self, drafts: Sequence[Draft]) -> None:
        """`drafts`: all measurements."""
        names = defaultdict[str, list[str]](list)
        for draft in drafts:
            names[draft.database].append(draft.name)
        for database in sorted(names):
            for row in rows_about(self.runner, "early_rows", database, names[database]) or ():
                self._early[database, row["measurement"]] = Window(row["first"], row["last"])

    def _with_misdated(self, draft: Draft) -> Draft:
        """The draft with the rows whose times were written in a wrong unit."""
        early = self._early.get((draft.database, draft.name))
        runner, known = self.runner, draft.measurement
        if early is None:
            if known.own_window is None or not known.first_time or not known.last_time or not is_early(known.last_time):
                return draft
            return with_misdated(runner, draft, known.first_time, known.last_time, known.rows, are_all=True)
        if misdating_factor(early.start, early.end, runner.window.end) is None:
            return draft
        counted: list[pa.RecordBatch] = []
        answer = runner.try_query("row_count", counted.append, self._count_of(_within(draft, EARLY), ()))
        counts = [count for batch in counted for count in batch.column(0).to_pylist()]
        rows, common = None, tuple[tuple[str, str], ...]()
        if not isinstance(answer, Unanswered):
            rows = Count(sum(counts), runner.source("row_count", scope="rows in 1970"))
            common = tuple(_in_common(draft, counted))
        are_all = draft.sample is None and not has_others(runner, draft)
        return with_misdated(runner, draft, early.start, early.end, rows, are_all=are_all, common=common)

    def _prefetch_points(self, drafts: Sequence[Draft], database_series: Mapping[str, int]) -> None:
        """Read the newest rows of measurements with few series, several measurements per statement."""
        few = [one for one in _of_all_series(drafts, database_series) if self._rows_of(one) == self.runner.rows_each]
        prefetch_rows(self.runner, "row_sample", few, lambda draft: self._newest_of(draft, ()), self.runner.rows_each)

    def _prefetch_point_counts(self, drafts: Sequence[Draft], database_series: Mapping[str, int]) -> None:
        """Count the rows of measurements with few series, several measurements per statement."""
        few = _of_all_series(drafts, database_series)
        read = (draft for draft in few if "row_sample" in draft.measurement.statements and not draft.unread)
        uncounted = [draft for draft in read if not draft.is_read_whole]
        prefetch_rows(self.runner, "row_count", uncounted, lambda draft: self._count_of(draft, ()), ALL_SERIES_UP_TO)

    def _read_newest(self, draft: Draft, series: Series, since: datetime | None = None) -> tuple[bool, Draft]:
        """Whether there was a response, and the draft with its rows. `since`: None for the whole window."""
        import pyarrow as pa
        import pyarrow.compute as pc

        batches: list[pa.RecordBatch] = []
        newest = self._newest_of(draft, series)
        queries = fewer(replace(newest, start=since) if since else newest)
        answer = self.runner.first_answered("row_sample", queries, keeping(batches))
        if answer is None:
            return False, replace(draft, sampled_series=len(series))
        limit = answer.given.limit
        if not any(batch.num_rows for batch in batches):
            draft = replace(draft, sampled_series=len(series), sample_limit=limit)
            return True, draft.sent("row_sample", answer.statement)
        sample = ReadRows.of(batches, names_of(draft, newest))
        times = sample.column("time").values.cast(pa.timestamp("us", "UTC"), safe=False)
        ends = pc.min_max(times).as_py()
        known = replace(
            draft.measurement,
            first_time=ends["min"],
            last_time=ends["max"],
            statements={**draft.measurement.statements, "row_sample": answer.statement},
        )
        sampled_series = len(series)
        return True, replace(draft, measurement=known, sample=sample, sampled_series=sampled_series, sample_limit=limit)

    def _read_last_day(self, draft: Draft) -> Draft:
        """The draft with the newest rows of all series, from the window's last day: if most series have stopped, those
        chosen from the listing have. Unchanged if there are none, or if there are too many series.
        """
        series, since = draft.measurement.series, self.runner.window.end - timedelta(days=1)
        if series is None or series.value > MOST_SERIES or since <= self.runner.window.start:
            return draft
        _, found = self._read_newest(draft, (), since)
        return draft if found.sample is None else replace(found, sampled_since=since)

    def _read_ahead(self, draft: Draft, series: Series) -> Draft:
        """The draft with rows that are in the future, such as those of a forecast, from a window of their own;
        unchanged if there are none. For an audit of a past day, they may not have existed then.
        """
        now, end = utc_now(), self.runner.window.end
        if now - end > SAME_DAY:
            return draft
        ahead = replace(draft.measurement, own_window=Window(max(now, end), LATEST))
        _, found = self._read_newest(replace(draft, measurement=ahead), series)
        if found.measurement.last_time is None or found.sample is None:
            return draft
        window = Window(max(now, end), found.measurement.last_time + timedelta(seconds=1))
        return replace(found, measurement=replace(found.measurement, own_window=window))

    def _read_before(self, draft: Draft, series: Series) -> Draft:
        """The draft with its newest rows from before the window, of a period as long; unchanged if there are none."""
        whole = replace(draft.measurement, own_window=Window(EARLIEST, self.runner.window.start))
        _, found = self._read_newest(replace(draft, measurement=whole), series)
        first, last = found.measurement.first_time, found.measurement.last_time
        if first is None or last is None or found.sample is None:
            return draft
        window = Window(last - self.runner.target.window, last + timedelta(seconds=1))
        if first < window.start:
            _, found = self._read_newest(replace(draft, measurement=replace(whole, own_window=window)), series)
        return replace(found, measurement=replace(found.measurement, own_window=window))

    def _newest_of(self, draft: Draft, series: Series) -> OfRowSample:
        """The parameters for reading the newest rows."""
        return sampled(draft, draft.window(self.runner.window), [], self._rows_of(draft), series=series)

    def _rows_of(self, draft: Draft) -> int:
        """The number of rows to read: fewer, if they are wide."""
        return min(self.runner.rows_each, _MOST_CELLS // (1 + len(draft.fields) + len(draft.tags)))

    def _count_of(self, draft: Draft, series: Series) -> OfRowCount:
        """The parameters for counting the rows."""
        return OfRowCount(**draft.about(self.runner.window), series=series)

    def _scaled(self, draft: Draft, counts: list[int], fact: str) -> Count | None:
        """The number of rows of all series, scaled up from the sampled ones. None if that is not possible."""
        read = draft.sampled_series
        own = draft.window(self.runner.window)
        window = f"from {span(own.start, own.end)}"
        if fact == "row_count":
            window += ", counting the values of each series' fullest field"
        if not read:
            rows, seen = sum(counts), draft.sample.num_rows if draft.sample else 0
            # Where each row has fields of its own, the fullest one is in few of them.
            source = self.runner.source(fact, scope=f"rows {window}")
            if rows < seen:
                source = replace(source, how=How.SAMPLED, is_at_least=True)
            return Count(max(rows, seen), source)
        series = draft.measurement.series
        if series is None:
            detail = "rows cannot be scaled up from a few series: the number of all series is not known"
            self.runner.gap("row_count", Reason.OVER_BUDGET, detail, draft.database, draft.name)
            return None
        of_all, of_what = series, "series"
        if draft.read_by:
            of_all, of_what = _values_listed(draft) or series, f"values of tag {draft.read_by}"
        mean = sum(counts) / read
        text = f"scaled up from {read} {of_what}, an even sample of {of_all.value:,}; rows {window}"
        source = self.runner.source(fact, How.ESTIMATE, text)
        if of_all.is_lower_bound:
            source = replace(source, how=How.SAMPLED, is_at_least=True)
        return Count(round(mean * of_all.value), source, scaled_error(series, counts, read))

    def _to_audit(self, wanted: Sequence[str], listed: Set[str] | None) -> dict[str, Audited]:
        """What to audit for the wanted databases, each of which may name one retention policy: `database/policy`.

        `listed`: the databases that the server lists; None if they are not known.
        """
        found: dict[str, Audited] = {}
        divided: dict[str, list[Audited]] = {}
        for name in wanted:
            whole = _database_in(name, listed)
            if whole is None:
                found[name] = Audited(name)
                continue
            if whole not in divided:
                divided[whole] = self._policies(whole)
            policy = name.removeprefix(whole).removeprefix(POLICY_SEPARATOR)
            chosen = [part for part in divided[whole] if not policy or part.unknown or part.policy == policy]
            found |= {part.name: part for part in chosen or [self._missing(name, divided[whole])]}
        return dict(sorted(found.items()))

    def _policies(self, database: str) -> list[Audited]:
        rows = rows_of(self.runner, "policies", OfDatabase(database=database))
        if rows is None:
            return [Audited(database, unknown=self.runner.gaps[-1])]
        several = len(rows) > 1
        return [Audited(row["database"], row["policy"], row["policy_of"], several) for row in rows]

    def _missing(self, name: str, parts: Sequence[Audited]) -> Audited:
        """A configured retention policy that contains no data. Adds a gap."""
        holding = ", ".join(f"{part.name} ({part.policy})" for part in parts if part.policy)
        detail = f"no retention policy of this name contains data; available: {holding}"
        self.runner.gap("policies", Reason.FAILED, detail, name)
        return Audited(name, unknown=self.runner.gaps[-1])

    def with_own_series(self, databases: Sequence[Database], drafts: Sequence[Draft]) -> Iterator[Database]:
        """The databases. If several policies contain data, each has its own series count; otherwise a database is
        returned unchanged.
        """
        divided = {database.policy_of for database in databases} - {""}
        left_out = {gap.database for gap in self.runner.gaps if gap.fact == "measurements" and gap.measurement is None}
        for database in databases:
            is_known = database.name not in left_out
            if database.policy_of:
                yield replace(database, series=self._summed(database, drafts) if is_known else None)
            elif database.name in divided:
                scope = "all retention policies together; a series in several of them counts once"
                whole = database.series and replace(
                    database.series, source=replace(database.series.source, scope=scope)
                )
                own = self._summed(database, drafts) if is_known else None
                yield replace(database, series=whole, own_series=own)
            else:
                yield database

    def _summed(self, database: Database, drafts: Sequence[Draft]) -> Count | None:
        """The sum over the measurements; None if the number for one of them is not known."""
        inside = [draft.measurement.series for draft in drafts if draft.database == database.name]
        known = [count for count in inside if count is not None and not count.is_lower_bound]
        if len(known) < len(inside):
            return None
        how, error = how_summed(known)
        source = self.runner.source("series_listing", how, "the sum over the measurements")
        return Count(sum(count.value for count in known), source, error)


def _within(draft: Draft, window: Window) -> Draft:
    return replace(draft, measurement=replace(draft.measurement, own_window=window))


def _listed(
    database: str, name: str, tags: tuple[Tag, ...] = (), fields: tuple[Field, ...] = (), unread: tuple[Field, ...] = ()
) -> Draft:
    reason = "the engine stores series"
    known = Measurement(database, name, _TIME.name, tags, fields, kind=TableKind.SERIES, kind_reason=reason)
    return Draft(known, time=_TIME, is_indexed=True, unread=unread)


def _in_common(draft: Draft, counted: Sequence[pa.RecordBatch]) -> Iterator[tuple[str, str]]:
    """Tags with one value in all counted series, and others in further series."""
    for tag in draft.measurement.tags:
        columns = (batch.column(f"{Role.TAG} {tag.key}") for batch in counted if batch.num_rows)
        values = {value for column in columns for value in column.to_pylist()}
        if len(values) == 1 and tag.values is not None and tag.values.value > 1:
            yield tag.key, values.pop()


def _of_all_series(drafts: Sequence[Draft], database_series: Mapping[str, int]) -> list[Draft]:
    found = ((draft, _series_to_read(draft, database_series.get(draft.database))) for draft in drafts)
    return [draft for draft, series in found if series is None and not _cannot_read(draft, series)]


def _series_to_read(draft: Draft, database_series: int | None) -> Series | None:
    """The series whose rows are read; None for all. Empty if only rows of known series may be read, but no series is
    known.

    `database_series`: the number of series in the database, which is an upper bound for the measurement; None if it is
    not known.
    """
    known = draft.measurement.series
    # A lower bound does not show that there are few series.
    most = database_series if known is None or known.is_lower_bound else known.value
    return _identifying_tags(draft, database_series) if most is None or most > ALL_SERIES_UP_TO else None


def _cannot_read(draft: Draft, series: Series | None) -> str:
    """Why no rows can be read; empty if they can be."""
    if series is not None and not series:
        return "rows are read for known series only, and the series could not be listed"
    if not draft.policies:
        return "the retention policies that contain the rows are not known"
    return "" if draft.fields else "no field is known, and rows cannot be queried without one"


def _identifying_tags(draft: Draft, database_series: int | None) -> Series:
    """The series kept from the listing, reduced to the tags that distinguish them. If only the values of one tag were
    listed, only so many of these values that they have about `ALL_SERIES_UP_TO` series.
    """
    if known := _values_listed(draft):
        values = known.value
        return draft.some_series[: max(ALL_SERIES_UP_TO * values // max(database_series or values, 1), 1)]
    if draft.measurement.tag_sets is None or draft.measurement.tag_sets.sampled:
        # The tags that distinguish the series in a sample may not distinguish all series.
        return draft.some_series
    key = draft.measurement.tag_sets.minimal_key
    return [{tag: tags[tag] for tag in key} for tags in draft.some_series]


def _values_listed(draft: Draft) -> Count | None:
    """The number of values of the tag by which rows are selected; None if whole series are known."""
    tag = draft.measurement.tag(draft.read_by) if draft.read_by else None
    return tag.values if tag else None


def _was_written(draft: Draft) -> bool:
    """Whether the previous audit saw rows in its window. If all have stopped since, a wrong clock may be the cause."""
    before = draft.previous
    return before is not None and before.own_window is None and before.rows is not None and before.rows.value > 0


def _per_series(draft: Draft) -> list[int]:
    """Number of rows per series, in a sample that contains all their rows."""
    import numpy as np

    return [] if draft.sample is None else [int(n) for n in np.bincount(series_of_read(draft))]


def _database_in(name: str, listed: Set[str] | None) -> str | None:
    """The database of a configured name, which may include a policy; None if the server does not list it."""
    if listed is None:
        return name.partition(POLICY_SEPARATOR)[0]
    ends = [i for i, letter in enumerate(name) if letter == POLICY_SEPARATOR]
    return next((name[:end] for end in [len(name), *reversed(ends)] if name[:end] in listed), None)


MEASURING: Final = InfluxMeasuring
