"""From a database to a profile: the only stage that talks to what is audited.

Facts are asked for rung by rung, cheap ones first, within the target's budget. A fact that cannot be had becomes a gap,
and the rest goes on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from tsaudit.collect import catalogue, unused_settings
from tsaudit.collect.agreement import reconciled
from tsaudit.collect.asking import Asker, not_understood
from tsaudit.collect.columns import assign_roles
from tsaudit.collect.documents import read_documents
from tsaudit.collect.draft import Draft
from tsaudit.collect.hidden_labels import note_hidden_labels
from tsaudit.collect.listing import list_tag_sets
from tsaudit.collect.measure_names import count_rows, list_where_worth_it, read_newest
from tsaudit.collect.policies import with_own_series
from tsaudit.collect.probing import try_facts
from tsaudit.collect.reuse import take_over
from tsaudit.collect.rows import count_nulls, describe_fields, read_points
from tsaudit.collect.unjudged import unjudged_noted
from tsaudit.collect.unseen_rows import look_outside
from tsaudit.collect.value_memory import Comparison, ValueMemory
from tsaudit.engines.queries import query_files
from tsaudit.model.facts import FACTS, STRUCTURE, asked_for, offered
from tsaudit.model.profile import (
    Database,
    Gap,
    Listed,
    Measurement,
    Profile,
    Reason,
    Selection,
    UnusedSetting,
    Window,
    utc_now,
)
from tsaudit.net.watchdog import Deadline

if TYPE_CHECKING:
    from tsaudit.config.settings import Target
    from tsaudit.engines.connection import Connection

Step = Callable[[Draft], None]


def collect(
    target: Target,
    connection: Connection,
    *,
    day: date,
    previous: Profile | None = None,
    memory: ValueMemory | None = None,
    wanted: frozenset[str] | None = None,
    now: datetime | None = None,
    deadline: Deadline | None = None,
) -> Profile:
    """What the target's schema is on the logical `day`.

    `previous`: the newest profile of an earlier day; roles of columns are kept from it, and the expensive facts of
    measurements that have not moved. `memory`: the value sets of earlier days; a listing is compared with them and
    added to them, unless it was reused, broken off or sampled. `wanted`: facts to collect, and what is needed for them;
    None for all. `now`: rows from then on do not count; None for the present. `deadline`: when nothing more is asked;
    None for the budget's, from now on. Failures are gaps in the profile, never raised.
    """
    end = now or utc_now()
    files = frozenset(query_files(target.engine))
    asked = _asked(frozenset(FACTS) if wanted is None else wanted, files)
    with closing(Asker(target, connection, Window(end - target.window, end), deadline)) as asker:
        before = {(m.database, m.name): m for m in previous.measurements} if previous else {}
        found = _find(asker, asked, before)
        databases, drafts = found.databases, found.drafts
        stored = catalogue.stored_queries(asker) if databases and "scheduled_queries" in asked else None
        storage = catalogue.target_storage(asker) if databases and "target_storage" in asked else None
        incomplete = {(gap.database, gap.measurement) for gap in previous.gaps} if previous else set()
        disputed = {gap.database for gap in previous.gaps if _is_of_many(gap)} if previous else set()
        for draft in drafts:
            if (draft.database, draft.name) not in incomplete and not disputed & {draft.database, None}:
                take_over(draft, asker.window, target.max_age)
        moved = [draft for draft in drafts if not draft.reused and not draft.is_empty]
        comparison = Comparison(memory, day, asker.window, {d.name: d for d in databases}) if memory else None
        for step in _ladder(asker, asked, {d.name: d.series.value for d in databases if d.series}, comparison):
            asker.each(step, moved)
    profile = replace(
        _profile(asker, found, day, connection.server_version),
        statements=dict(sorted(asker.statements.items())),
        reused=sum(draft.reused for draft in drafts),
        stored_queries=stored,
        storage=storage,
    )
    return unjudged_noted(reconciled(profile, previous, asked), asked)


def probe(
    target: Target, connection: Connection, now: datetime | None = None, deadline: Deadline | None = None
) -> Profile:
    """Try each fact of the engine in the cheapest way, on one measurement of each database.

    The profile has the gaps that an audit would have, and what is there; the figures in it are of no use. `now`: when
    it is; None for the present. `deadline`: as for `collect`.
    """
    end = now or utc_now()
    asked = _asked(frozenset(FACTS), frozenset(query_files(target.engine)))
    with closing(Asker(target, connection, Window(end - timedelta(seconds=1), end), deadline)) as asker:
        found = _find(asker, asked, {})
        for database in found.databases:
            for draft in [d for d in found.drafts if d.database == database.name and not d.is_empty][:1]:
                try_facts(asker, draft, asked)
    return _profile(asker, found, end.date(), connection.server_version)


@dataclass(frozen=True, slots=True)
class _Found:
    """What catalogue and index show, before any row is read."""

    databases: list[Database]
    drafts: list[Draft]
    listed: tuple[Listed, ...]
    unused_settings: tuple[UnusedSetting, ...]


def _find(asker: Asker, asked: frozenset[str], before: Mapping[tuple[str, str], Measurement]) -> _Found:
    """The databases and measurements to look at. `before`: the measurements of an earlier day, by where they are."""
    known = catalogue.databases(asker, asked)
    databases: list[Database] = []
    drafts: list[Draft] = []
    names: dict[str, list[str]] = {}
    for name in known.names:
        database, found, listed = catalogue.outline(asker, name, known, asked, before)
        databases.append(database)
        drafts += found
        if listed is not None:
            names[name] = listed
    unused: tuple[UnusedSetting, ...] = ()
    if known.names and len(names) == len(known.names):
        # Only where all is known that is there can be said that something does not fit it.
        unused = tuple(unused_settings.find(asker.target, names, drafts))
        if why := unused_settings.nothing_to_audit(asker.target, names):
            asker.gap_in_all(asked, Reason.NOTHING_THERE, why)
    listed_counts = tuple(unused_settings.listed(asker.target, name, found) for name, found in names.items())
    return _Found(databases, drafts, listed_counts, unused)


def _profile(asker: Asker, found: _Found, day: date, server_version: str) -> Profile:
    target = asker.target
    drafts = sorted(found.drafts, key=lambda d: (d.database, d.name))
    return Profile(
        target=target.name,
        engine=target.engine,
        server_version=server_version,
        day=day,
        collected_at=utc_now(),
        window=asker.window,
        facts=tuple(sorted(offered(frozenset(query_files(target.engine))))),
        databases=tuple(with_own_series(asker, found.databases, drafts)),
        measurements=tuple(draft.finished() for draft in drafts),
        gaps=asker.sorted_gaps(),
        costs=asker.costs(),
        selection=Selection(
            target.databases,
            target.include,
            target.exclude,
            parts_of=target.databases if "policies" in query_files(target.engine) else (),
        ),
        listed=found.listed,
        unused_settings=found.unused_settings,
    )


def _is_of_many(gap: Gap) -> bool:
    """Whether figures of several measurements together were contradicted: which of them are wrong is not known."""
    return gap.reason is Reason.DISPUTED and gap.measurement is None


def _asked(wanted: frozenset[str], files: frozenset[str]) -> frozenset[str]:
    """The query files to run, with those that nothing can be asked without."""
    asked = asked_for(wanted, files)
    asked |= files & STRUCTURE
    # By these it is seen whether a measurement has moved.
    asked |= files & {"row_estimate", "database_series"}
    if "documents" in asked:
        # How a collection is kept, and how many documents it holds, decide how it is read.
        asked |= files & {"options", "buckets"}
    if asked & {"series_listing", "row_sample"}:
        # It tells whether a listing is worth it, and how long a time the newest rows take.
        asked |= files & {"measure_name_counts"}
    if asked & {"series_listing", "null_counts", "row_sample"}:
        # By these it is decided how much of a big table is read.
        asked |= files & {"column_statistics", "scan_estimate"}
    if "columns" not in files and asked & {"row_sample", "row_count"}:
        # InfluxDB: rows are read of listed series, and out of retention policies.
        asked |= files & {"series_listing", "retention"}
    return asked


def _ladder(
    asker: Asker, asked: frozenset[str], database_series: dict[str, int], comparison: Comparison | None
) -> list[Step]:
    """What is done for each measurement, one rung for all of them before the next."""
    if "documents" in asked:
        return [_contained(asker, "documents", functools.partial(read_documents, asker))]
    if "measure_name_counts" in query_files(asker.target.engine):
        by_name = _by_measure_name(asker, asked, comparison)
        return [_contained(asker, fact, step) for fact, step in by_name]
    steps: list[tuple[str, Step]] = [
        ("columns", functools.partial(assign_roles, asker, sample_wanted="row_sample" in asked))
    ]
    if "series_listing" in asked:
        steps.append(
            ("series_listing", functools.partial(list_tag_sets, asker, then=comparison.compare if comparison else None))
        )
    if "null_counts" in asked:
        steps.append(("null_counts", functools.partial(count_nulls, asker)))
    if "columns" not in asked and asked & {"row_sample", "row_count"}:
        series = database_series.get
        steps.append(("row_sample", lambda draft: read_points(asker, draft, series(draft.database), asked)))
    if "row_sample" in asked:
        steps.append(("row_sample", functools.partial(describe_fields, asker)))
        if "columns" in asked:
            steps.append(("series_listing", functools.partial(note_hidden_labels, asker)))
            steps.append(("row_sample", functools.partial(look_outside, asker, asked=asked)))
    return [_contained(asker, fact, step) for fact, step in steps]


def _by_measure_name(asker: Asker, asked: frozenset[str], comparison: Comparison | None) -> Iterator[tuple[str, Step]]:
    """The same for tables with measure names (Timestream), of which the engine itself says what columns are for."""
    counted = "measure_name_counts" in asked
    yield "measure_name_counts", functools.partial(count_rows, asker, counted=counted)
    if "series_listing" in asked:
        yield "series_listing", functools.partial(list_where_worth_it, asker, comparison=comparison)
    if "row_sample" in asked:
        yield "row_sample", functools.partial(read_newest, asker)


def _contained(asker: Asker, fact: str, step: Step) -> Step:
    """The step, except that what breaks in it is a gap, and the other measurements go on."""

    def run(draft: Draft) -> None:
        if not draft.roles_known:
            asker.gap(fact, Reason.FAILED, "the roles of its columns are not known", draft.database, draft.name)
            return
        if draft.unreadable:
            asker.gap(fact, draft.unreadable.reason, draft.unreadable.detail, draft.database, draft.name)
            return
        try:
            step(draft)
        except Exception as error:
            asker.gap(fact, Reason.FAILED, not_understood(error), draft.database, draft.name)
            draft.roles_known = fact != "columns"

    return run
