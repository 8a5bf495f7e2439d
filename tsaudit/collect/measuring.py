"""How the measurements of an engine are measured.

`Measuring` is for tables with columns, as in SQL databases. An engine that differs has a subclass in its own package
(`Engine.measuring`) that overrides the differences.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from tsaudit.analysis.columns.columns import Column
from tsaudit.collect.catalog_facts import STORAGE_FACTS, Row, describe_storage, each_of, rows_about
from tsaudit.collect.draft import ColumnStatistics, Draft
from tsaudit.collect.earlier_days import Comparison
from tsaudit.collect.query_runner import QueryRunner, not_understood
from tsaudit.engines.engine import Engine
from tsaudit.engines.opening import of_package
from tsaudit.model.facts import STRUCTURE, asked_for
from tsaudit.model.figures import Gap, Reason, Role, Source, utc_now
from tsaudit.model.profile import Database

if TYPE_CHECKING:
    import pyarrow as pa

    from tsaudit.model.facts import OfMeasurement


@dataclass(frozen=True, slots=True)
class MeasuringStep:
    """A step that is run for each measurement. It is done for all before the next begins, unless it `keeps_rows`."""

    fact: str
    """The fact in which a failure of the step leaves a gap."""
    run: Callable[[Draft], Draft]
    prefetch: Callable[[Sequence[Draft]], None] | None = None
    """Queries several measurements at once, before the step is run for each of them; None if there is nothing to."""
    keeps_rows: bool = False
    """Whether rows are kept for the next step. Consecutive steps that keep rows are all completed for one group of
    measurements before the next group, so that not all rows are in memory at once.
    """


@dataclass(frozen=True, slots=True)
class MeasuringContext:
    """What the steps of one audit know in addition to the measurement."""

    queried: frozenset[str]
    """The query files to run."""
    database_series: Mapping[str, int]
    """Database to its series count, if the engine counts series; for a retention policy, of all policies."""
    unlisted_series: Mapping[str, int]
    """Database to an upper bound on the series of the measurements that are not examined, or not examined again."""
    comparison: Comparison | None
    """Compares complete listings with those of earlier days; None if there are none to compare with."""


@dataclass(frozen=True, slots=True)
class Audited:
    """A database to audit, or a part of one that is audited as a database of its own."""

    name: str
    policy: str = ""
    """The retention policy; empty if the engine has none, or if it is not known."""
    policy_of: str = ""
    """See `profile.Database`."""
    is_divided: bool = False
    """Whether other retention policies of the database are audited, too."""
    unknown: Gap | None = None
    """Why its contents are unknown, so that nothing can be queried; None if they are known."""

    @property
    def path(self) -> tuple[str, ...]:
        """See `profile.Measurement`."""
        return (self.policy_of or self.name, self.policy) if self.policy else ()


@dataclass(frozen=True, slots=True)
class RowSlice:
    """Rows of all series, or of all that have one value of a tag, from a part of the window."""

    times: pa.ChunkedArray
    tags: Mapping[str, pa.ChunkedArray]
    source: Source
    whole: bool
    """Whether the slice contains all rows of each of its times."""
    statement: str
    within: str = ""
    """The tag by one value of which the rows were selected; empty for all rows."""


def contained(runner: QueryRunner, fact: str, step: Callable[[Draft], Draft]) -> Callable[[Draft], Draft]:
    """The step with its errors turned into gaps, so that the other measurements continue."""

    def run(draft: Draft) -> Draft:
        reads_rows = fact != "columns"
        if not draft.roles_known:
            why = runner.gap_in("columns", draft.database, draft.name)
            if reads_rows and why:  # otherwise the step that failed has left the gap
                runner.repeat_gap(why, fact)
            return draft
        if draft.unreadable and reads_rows:
            runner.repeat_gap(draft.unreadable, fact)
            return draft
        try:
            return step(draft)
        except Exception as error:
            runner.gap(fact, Reason.FAILED, not_understood(error), draft.database, draft.name)
            return replace(draft, roles_known=fact != "columns")

    return run


class Measuring:
    """Measures tables whose columns the catalog lists.

    Their roles are read there, or inferred from names, types, and some rows (`Engine.infers_roles`); then the tag sets
    of the rows within the window are listed, nulls are counted, and the newest rows are read.

    There is one object for each audit. Its methods are called for several measurements at a time.
    """

    lists_columns: ClassVar[bool] = True
    """Whether the catalog lists columns, whatever their role: if so, a table without columns leaves a gap."""
    uses_column_settings: ClassVar[bool] = True
    """Whether `columns` in tsaudit.yaml has an effect."""
    decided: ClassVar[frozenset[str]] = frozenset({"series_listing", "null_counts", "row_sample"})
    """If any of these facts is wanted, those in `deciding` are queried as well."""
    deciding: ClassVar[frozenset[str]] = frozenset({"column_statistics", "scan_estimate", "time_extents"})
    """Facts that decide how others are queried: here, how much of a big table is read."""

    def __init__(self, runner: QueryRunner) -> None:
        self.runner = runner

    @classmethod
    def facts_to_query(cls, wanted: frozenset[str], files: frozenset[str]) -> frozenset[str]:
        """The engine's query files to run for the wanted facts, including those that decide how others are queried."""
        queried = asked_for(wanted, files) | (files & STRUCTURE)
        # These show whether a measurement has changed.
        queried |= files & {"row_estimate", "database_series"}
        return queried | (files & cls.deciding) if queried & cls.decided else queried

    def databases(self, wanted: Sequence[str], listed: Set[str] | None, queried: Set[str]) -> dict[str, Audited]:
        """What to audit for the wanted databases, by name.

        `listed`: the databases that the server lists; None if they are not known.
        """
        return {name: Audited(name) for name in wanted}

    def listed(self, database: str, name: str) -> Draft:
        """A measurement of which only the name is known, with the properties that all of the engine's share."""
        return Draft.new(database, name)

    def outline(self, database: str, names: list[str]) -> dict[str, Draft] | None:
        """Measurements with their columns, tags, and fields from the catalog or the index; None if a gap was left.

        `listed` creates the measurements that are missing in the result.
        """
        described = each_of(self.runner, "columns", database, names)
        if described is None:
            return None
        columns = {name: tuple(map(_column, rows)) for name, rows in described.items() if rows is not None}
        # A row that refers to another row of its own table, such as the state before it, does not make that row an
        # entity.
        referred = {c.refers_to for name, own in columns.items() for c in own if c.refers_to != name}
        drafts: dict[str, Draft] = {}
        for name, rows in described.items():
            draft = self.listed(database, name)
            if name in columns:
                drafts[name] = replace(
                    draft,
                    columns=columns[name],
                    unreadable=_refused(database, name, rows),
                    referred_to=name in referred,
                    refers=frozenset(c.name for c in columns[name] if _refers(c, name, columns)),
                    reads_all_parts=all(row.get("has_rowid", True) for row in rows or ()),
                )
            else:
                drafts[name] = replace(draft, unreadable=self.runner.gap_in("columns", database, name))
        return drafts

    def is_measured(self, draft: Draft) -> bool:
        """Whether it is measured itself, and not represented by others."""
        return True

    def with_catalog(self, database: str, drafts: list[Draft], queried: Set[str]) -> list[Draft]:
        """The measurements of one database, with the rest of the catalog's information about them."""
        runner, measured = self.runner, [draft.name for draft in drafts if self.is_measured(draft)]
        answers = {f: rows_about(runner, f, database, measured) for f in STORAGE_FACTS if f in queried}
        # Index uses are counted up to now, whatever day is audited.
        today = utc_now().replace(hour=0, minute=0, second=0, microsecond=0)
        for fact, rows in answers.items():
            if rows is not None:
                with runner.understanding(fact, database):
                    drafts = describe_storage(drafts, fact, rows, today)
        if answers.get("storage") is not None:
            self._note_unknown_sizes(drafts)
        return self._with_statistics(drafts) if "column_statistics" in queried else drafts

    def _note_unknown_sizes(self, drafts: list[Draft]) -> None:
        """Leave a gap for each measurement whose size the engine does not report, such as a locked table."""
        for draft in filter(self.is_measured, drafts):
            if draft.measurement.storage is None or draft.measurement.storage.data_bytes is None:
                detail = "the engine does not report its size, as while another session locks the table"
                self.runner.gap("storage", Reason.FAILED, detail, draft.database, draft.name)

    def _with_statistics(self, drafts: list[Draft]) -> list[Draft]:
        """The drafts with the engine's column statistics for tables that may be too big to read."""
        runner, most = self.runner, self.runner.target.budget.max_scan_rows
        big = {draft.name for draft in drafts if draft.estimated_rows is None or draft.estimated_rows > most}
        if not big or not most:
            return drafts
        database = drafts[0].database
        rows = rows_about(runner, "column_statistics", database, [d.name for d in drafts if d.name in big])
        known: dict[str, dict[str, ColumnStatistics]] = {}
        with runner.understanding("column_statistics", database):
            from tsaudit.collect.reading import by_measurement

            known = by_measurement(rows or ())
        return [replace(d, statistics=known.get(d.name, {})) if d.name in big else d for d in drafts]

    def steps(self, context: MeasuringContext) -> Iterator[MeasuringStep]:
        """The steps for each measurement, in order."""
        # Not above: a database without tables does not need them.
        from tsaudit.collect.ahead import find_ahead
        from tsaudit.collect.batch import prefetch_tables
        from tsaudit.collect.counts import count_nulls, counts_of
        from tsaudit.collect.excess import find_excess
        from tsaudit.collect.reading import find_misdated, look_outside_window, sample_of
        from tsaudit.collect.roles import ROLE_ROWS, assign_roles, extents_needed, find_time, note_unopened_labels
        from tsaudit.collect.row_bytes import find_repeated, spread_needed
        from tsaudit.collect.rows import describe_fields
        from tsaudit.collect.series import listing_of

        runner, queried = self.runner, context.queried

        def several(
            fact: str, given: Callable[[Draft], OfMeasurement | None]
        ) -> Callable[[Sequence[Draft]], None] | None:
            is_batched = fact in runner.engine.batched_facts
            return functools.partial(prefetch_tables, runner, fact, given) if is_batched else None

        extents = several("time_extents", functools.partial(extents_needed, runner))
        yield MeasuringStep("columns", functools.partial(find_time, runner), extents)
        most = runner.rows_each if "row_sample" in queried else min(runner.rows_each, ROLE_ROWS)
        sample = several("row_sample", functools.partial(sample_of, runner, limit=most))
        yield MeasuringStep("columns", functools.partial(assign_roles, runner, most=most), sample, keeps_rows=True)
        if "series_listing" in queried:
            listings = several("series_listing", lambda draft: listing_of(runner, draft) if draft.tags else None)
            yield MeasuringStep("series_listing", self.listing(context), listings, keeps_rows=True)
        if "null_counts" in queried:
            counts = several("null_counts", functools.partial(counts_of, runner))
            yield MeasuringStep("null_counts", functools.partial(count_nulls, runner), counts, keeps_rows=True)
        if "row_sample" in queried:
            yield MeasuringStep("row_sample", functools.partial(describe_fields, runner), keeps_rows=True)
            if runner.engine.repeats_texts:
                spread = several("row_sample", functools.partial(spread_needed, runner))
                repeated = functools.partial(find_repeated, runner)
                yield MeasuringStep("row_sample", repeated, spread, keeps_rows=True)
            yield MeasuringStep("series_listing", functools.partial(note_unopened_labels, runner), keeps_rows=True)
            outside = functools.partial(look_outside_window, runner, queried=queried)
            yield MeasuringStep("row_sample", outside, keeps_rows=True)
            yield MeasuringStep("null_counts", functools.partial(find_misdated, runner), keeps_rows=True)
            yield MeasuringStep("row_sample", functools.partial(find_ahead, runner), keeps_rows=True)
            if runner.engine.infers_roles:
                yield MeasuringStep("row_sample", functools.partial(find_excess, runner), keeps_rows=True)

    def listing(self, context: MeasuringContext) -> Callable[[Draft], Draft]:
        """Returns a function that lists the tag sets of a measurement and compares them with those of earlier days."""
        from tsaudit.collect.series import list_tag_sets

        then = context.comparison.compare if context.comparison else None
        return functools.partial(list_tag_sets, self.runner, then=then)

    def with_own_series(self, databases: Sequence[Database], drafts: Sequence[Draft]) -> Iterator[Database]:
        """The databases, with figures that are derived from their measurements."""
        yield from databases

    def with_rows(self, draft: Draft, database_series: int | None) -> Draft:
        """The draft with its newest rows, if the roles of its columns are known without them.

        `database_series`: the series count of its database; None if it is not known.
        """
        return draft

    def row_slice(self, draft: Draft, gone: Collection[str]) -> RowSlice | None:
        """Rows of all series, for use when only rows of a few series were read; None if that is too expensive, or if no
        rows were read.

        `gone`: tags that are to be dropped, so rows are not selected by their values.
        """
        return None


def measuring_of(engine: Engine) -> type[Measuring]:
    """The class that measures the engine's measurements. Raises ConnectorError if another package's is unusable."""
    if not engine.measuring:
        return Measuring
    with of_package(engine.name):
        found = importlib.import_module(engine.measuring).MEASURING
        if not isinstance(found, type) or not issubclass(found, Measuring):
            raise TypeError(f"`MEASURING` in {engine.measuring} is not a subclass of Measuring")
        return found


def _refused(database: str, measurement: str, rows: list[Row] | None) -> Gap | None:
    """Why the engine would refuse to read the measurement's rows, according to its catalog; None if it would not."""
    found = next((row for row in rows or () if row.get("unreadable")), None)
    if found is None:
        return None
    return Gap("columns", Reason.DENIED, found["unreadable"], database, measurement, fix=found["grant"])


def _refers(column: Column, table: str, tables: Container[str]) -> bool:
    """Whether a column refers to another table by a foreign key, or by its name: `pump` or `pump_id` to `pumps`."""
    named = column.name.lower().removesuffix("_id")
    others = {column.refers_to} if column.refers_to else {named, f"{named}s"}
    return any(other != table and other in tables for other in others)


def _column(row: Row) -> Column:
    said = row.get("role")
    role, reason = Role(said) if said else None, row.get("reason") or ""
    metrics = tuple(row.get("metrics") or ())
    is_unique, is_generated = bool(row.get("is_unique")), bool(row.get("is_generated"))
    return Column(
        row["column"],
        row["data_type"],
        row["key_position"],
        role,
        reason,
        is_unique,
        is_generated,
        row.get("refers_to"),
        metrics,
    )
