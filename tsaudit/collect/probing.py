"""A quick look at what an audit would find: tries each fact in the cheapest way."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tsaudit.collect import catalog
from tsaudit.collect.counts import count_nulls
from tsaudit.collect.draft import Draft
from tsaudit.collect.measuring import contained, measuring_of
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.reading import limit_scan, sampled
from tsaudit.collect.roles import assign_roles, find_time, roles_without_rows
from tsaudit.collect.rows import describe_fields
from tsaudit.collect.series import list_tag_sets
from tsaudit.engines.connection import ConnectorError
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import (
    FACTS,
    Given,
    OfBuckets,
    OfDocuments,
    OfMeasurement,
    OfNullCounts,
    OfRowCount,
    OfSeriesListing,
    Scope,
)
from tsaudit.model.figures import Reason, Subject, Window, utc_now
from tsaudit.model.profile import Measurement, Profile
from tsaudit.net.watchdog import Deadline

if TYPE_CHECKING:
    from tsaudit.config.settings import Target
    from tsaudit.engines.connection import Connection


@dataclass(frozen=True, slots=True)
class Probed:
    """What an audit would find, according to a quick look."""

    profile: Profile
    """Contains the gaps that an audit would have, and what exists; its figures are meaningless."""
    tables: tuple[Measurement, ...] = ()
    """The biggest tables, with the kind and the column roles that an audit would find, ordered by database and name."""
    others: int = 0
    """Number of further tables with rows."""
    untried: int = 0
    """Number of tables that were not tried, although only reading a table shows whether the user has permission."""
    tiny: frozenset[Subject] = frozenset()
    """Tables with less than a thousand rows, by the server's estimate: whatever they contain, it costs nothing."""


_MOST_TRIED: Final = 200
_TINY: Final = 1_000


def probe(
    target: Target,
    connection: Connection,
    now: datetime | None = None,
    deadline: Deadline | None = None,
    *,
    most_tables: int = 0,
    previous: Profile | None = None,
) -> Probed:
    """Try each fact of the engine in the cheapest way, on one measurement of each database, or on each measurement if
    only that shows whether the user may read it.

    On engines that infer roles, also determine what the `most_tables` biggest tables contain, and what an audit would
    not read of them. `previous`, `now`, and `deadline` are as for `collect`.
    """
    end = now or utc_now()
    engine, files = ENGINES[target.engine], frozenset(query_files(target.engine))
    measuring_class = measuring_of(engine)
    queried = measuring_class.facts_to_query(frozenset(FACTS), files)
    with closing(QueryRunner(target, connection, Window(end - timedelta(seconds=1), end), deadline)) as runner:
        measuring = measuring_class(runner)
        known = catalog.databases(measuring, queried)
        status, *_ = catalog.of_target(runner, queried) if known.audited else (None,)
        found = catalog.find(measuring, queried, known, previous, status)
        readable = [draft for draft in found.drafts if not draft.unreadable and measuring.is_measured(draft)]
        each: Collection[Draft] = readable
        if not engine.has_rights_by_table:
            each = {d.database: d for d in reversed(readable)}.values()
        tried = {(draft.database, draft.name) for draft in islice(each, _MOST_TRIED)}
        looked_at = [
            try_facts(runner, draft, queried) if draft.unreadable or (draft.database, draft.name) in tried else draft
            for draft in found.drafts
        ]
        readable.sort(key=lambda draft: (-(draft.estimated_rows or 0), draft.database, draft.name))
        biggest = readable[:most_tables] if engine.infers_roles else []
        reader = runner.with_window(Window(end - target.window, end))
        step = contained(reader, "columns", lambda draft: _as_audited(reader, draft))
        refused = [draft for draft in found.drafts if draft.unreadable and engine.infers_roles]
        read = {(d.database, d.name): d.measurement for d in reader.each(step, [*refused, *biggest])}
        runner.gaps += reader.gaps
        looked_at = [_with_roles(draft, read.get((draft.database, draft.name))) for draft in looked_at]
        profile = catalog.profile_of(measuring, found, looked_at, end.date(), connection.server_version)
    names = {(draft.database, draft.name) for draft in biggest}
    return Probed(
        profile,
        tuple(m for m in profile.measurements if (m.database, m.name) in names),
        len(readable) - len(biggest) if biggest else 0,
        len(each) - len(tried),
        frozenset(Subject(d.database, d.name) for d in biggest if (d.estimated_rows or _TINY) < _TINY),
    )


def _as_audited(runner: QueryRunner, draft: Draft) -> Draft:
    """The draft with the column roles of an audit and, for a table too big to read, with the gaps of one."""
    draft = assign_roles(runner, find_time(runner, draft), runner.rows_each)
    return describe_fields(runner, count_nulls(runner, list_tag_sets(runner, draft))) if draft.is_too_big else draft


def _with_roles(draft: Draft, read: Measurement | None) -> Draft:
    """The draft as it was read, with all statements that succeeded. `read`: None if it was not."""
    if read is None:
        return draft
    return replace(draft, measurement=replace(read, statements={**draft.measurement.statements, **read.statements}))


def database_names(target: Target, connection: Connection, *, deadline: Deadline | None = None) -> tuple[str, ...]:
    """The databases that an audit of the target would cover, by name; none if they cannot be listed.

    Raises ConnectorError if the server refuses to list them: some show only then that a login is needed.
    """
    end = utc_now()
    with closing(QueryRunner(target, connection, Window(end - target.window, end), deadline)) as runner:
        measuring = measuring_of(ENGINES[target.engine])(runner)
        names = tuple(catalog.databases(measuring, frozenset()).audited)
        if refused := next((gap for gap in runner.gaps if gap.reason in (Reason.DENIED, Reason.UNREACHABLE)), None):
            raise ConnectorError(refused.detail)
        return names


def try_facts(runner: QueryRunner, draft: Draft, queried: frozenset[str]) -> Draft:
    """Query one row of each fact. Returns the draft with the statements that succeeded; failures leave gaps."""
    if why := draft.unreadable:
        for fact in sorted(fact for fact in queried if FACTS[fact].scope is Scope.MEASUREMENT):
            runner.repeat_gap(why, fact)
        return draft
    draft = limit_scan(runner, roles_without_rows(runner, draft))
    series: list[dict[str, str | None]] = []

    def keep_one(batch: pa.RecordBatch) -> None:
        series[:] = batch.slice(0, 1).to_pylist()

    def ignore(batch: pa.RecordBatch) -> None:
        del batch

    if draft.unreadable:
        return draft
    about = draft.about(runner.window)
    part = draft.partial_scan.of(1) if draft.partial_scan else None
    if "series_listing" in queried and draft.tags:
        listing = OfSeriesListing(**about, limit=1, partial_scan=part)
        draft = _noted(draft, "series_listing", runner.query("series_listing", keep_one, listing, first_only=True))
    if "buckets" in queried and (draft.measurement.options or {}).get("type") == "timeseries":
        # Only time series have buckets.
        draft = _noted(draft, "buckets", runner.query("buckets", ignore, OfBuckets(**about, limit=1)))
    if "documents" in queried:
        documents = OfDocuments(**about, total=None, limit=1)
        draft = _noted(draft, "documents", runner.query("documents", ignore, documents))
    if draft.tags and not series and draft.is_indexed:
        return draft  # The listing has left a gap: reading rows of all series are too expensive for a probe.
    sample = sampled(draft, draft.window(runner.window), [c.name for c in draft.columns], 1, part)
    given: dict[str, Given] = {"row_sample": replace(sample, series=series)}
    if not part:
        given["measure_name_counts"] = OfMeasurement(**about)
        given["null_counts"] = OfNullCounts(**about, later=None)
        given["row_count"] = OfRowCount(**about, series=series)
    for fact in sorted(queried & given.keys()):
        draft = _noted(draft, fact, runner.query(fact, ignore, given[fact], first_only=True))
    return draft


def _noted(draft: Draft, fact: str, statement: str | None) -> Draft:
    return draft if statement is None else draft.sent(fact, statement)
