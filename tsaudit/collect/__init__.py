"""Measures a database and returns its profile: the only stage that accesses the audited database.

Facts are queried step by step, cheap ones first, within the target's budget. A fact that cannot be measured becomes a
gap, and the audit continues.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from tsaudit.collect import catalogue, database_figures, unused_settings
from tsaudit.collect.agreement import reconciled
from tsaudit.collect.asking import Asker
from tsaudit.collect.columns import assign_roles, find_time
from tsaudit.collect.draft import Draft
from tsaudit.collect.measuring import Context, Measuring, measuring_of
from tsaudit.collect.probing import try_facts
from tsaudit.collect.responses import not_understood
from tsaudit.collect.reuse import take_over
from tsaudit.collect.unjudged import unjudged_noted
from tsaudit.collect.value_memory import Comparison, ValueMemory
from tsaudit.engines.opening import of_package
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS, offered
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
    """The profile of the target on the logical `day`.

    `previous`: the newest profile of an earlier day; column roles are kept from it, and so are the expensive facts of
    unchanged measurements. `memory`: the value sets of earlier days; each listing is compared with them and added to
    them, unless it was reused, stopped early, or sampled. `wanted`: facts to collect, along with those they need; None
    for all. `now`: rows from this time on do not count; None for the present. `deadline`: when to stop querying; None
    for the budget's deadline, starting now. Failures are gaps in the profile, never raised; only ConnectorError is, if
    another package's engine cannot be used.
    """
    end = now or utc_now()
    measuring_class = measuring_of(ENGINES[target.engine])
    asked = measuring_class.asked(frozenset(FACTS) if wanted is None else wanted, frozenset(query_files(target.engine)))
    with closing(Asker(target, connection, Window(end - target.window, end), deadline)) as asker:
        measuring = measuring_class(asker)
        before = {(m.database, m.name): m for m in previous.measurements} if previous else {}
        with of_package(target.engine):
            found = _find(measuring, asked, before)
        databases = found.databases
        stored = database_figures.stored_queries(asker) if databases and "scheduled_queries" in asked else None
        storage = database_figures.target_storage(asker) if databases and "target_storage" in asked else None
        incomplete = {(gap.database, gap.measurement) for gap in previous.gaps} if previous else set()
        disputed = {gap.database for gap in previous.gaps if _is_of_many(gap)} if previous else set()
        drafts = [
            draft
            if (draft.database, draft.name) in incomplete or disputed & {draft.database, None}
            else take_over(draft, asker.window, target.max_age)
            for draft in found.drafts
        ]
        moved = [draft for draft in drafts if not draft.reused]
        settled = [draft for draft in drafts if draft.reused]
        comparison = Comparison(memory, day, asker.window, {d.name: d for d in databases}) if memory else None
        series = _series_at_most(databases)
        context = Context(asked, series, _series_unwanted(found, settled, series), comparison)
        with of_package(target.engine):
            steps = list(measuring.steps(context))
        for step in steps:
            if step.prefetch:
                # Whatever it stumbles over, the step says with which measurement.
                with suppress(Exception):
                    step.prefetch(moved)
            moved = asker.each(_contained(asker, step.fact, step.run), moved)
            asker.end_ahead()
    profile = replace(
        _profile(measuring, found, [*settled, *moved], day, connection.server_version),
        statements=dict(sorted(asker.statements.items())),
        reused=sum(draft.reused for draft in settled),
        stored_queries=stored,
        storage=storage,
    )
    return unjudged_noted(reconciled(profile, previous, asked), asked)


@dataclass(frozen=True, slots=True)
class Probed:
    """What an audit would find, from a first look."""

    profile: Profile
    """Contains the gaps that an audit would have, and what exists; its figures are meaningless."""
    tables: tuple[Measurement, ...] = ()
    """The kind and the column roles that an audit would find for the biggest tables, by database and name."""
    others: int = 0
    """Tables with rows beside these."""


def probe(
    target: Target,
    connection: Connection,
    now: datetime | None = None,
    deadline: Deadline | None = None,
    *,
    most_tables: int = 0,
    previous: Profile | None = None,
) -> Probed:
    """Try each fact of the engine in the cheapest way, on one measurement of each database.

    On engines that infer roles, also read what the `most_tables` biggest tables are. `previous`, `now`, and `deadline`
    are as for `collect`.
    """
    end = now or utc_now()
    engine, files = ENGINES[target.engine], frozenset(query_files(target.engine))
    measuring_class = measuring_of(engine)
    asked = measuring_class.asked(frozenset(FACTS), files)
    with closing(Asker(target, connection, Window(end - timedelta(seconds=1), end), deadline)) as asker:
        measuring = measuring_class(asker)
        before = {(m.database, m.name): m for m in previous.measurements} if previous else {}
        found = _find(measuring, asked, before)
        readable = [draft for draft in found.drafts if not draft.unreadable]
        tried = [
            next(d for d in readable if d.database == name) for name in dict.fromkeys(d.database for d in readable)
        ]
        looked_at = [
            try_facts(asker, draft, asked) if draft.unreadable or draft in tried else draft for draft in found.drafts
        ]
        profile = _profile(measuring, found, looked_at, end.date(), connection.server_version)
        drafts = list(readable)
        if not most_tables or not engine.infers_roles or not drafts:
            return Probed(profile)
        drafts.sort(key=lambda draft: (-(draft.estimated_rows or 0), draft.database, draft.name))
        reader = asker.with_window(Window(end - target.window, end))
        step = _contained(reader, "columns", lambda d: assign_roles(reader, find_time(reader, d), sample_wanted=True))
        read = [draft.finished() for draft in reader.each(step, drafts[:most_tables])]
    return Probed(profile, tuple(sorted(read, key=lambda m: (m.database, m.name))), len(drafts) - len(read))


def database_names(target: Target, connection: Connection, *, deadline: Deadline | None = None) -> tuple[str, ...]:
    """The databases that an audit of the target would cover, by name; none if they cannot be listed."""
    end = utc_now()
    with closing(Asker(target, connection, Window(end - target.window, end), deadline)) as asker:
        measuring = measuring_of(ENGINES[target.engine])(asker)
        return catalogue.databases(measuring, frozenset()).names


@dataclass(frozen=True, slots=True)
class _Outline:
    """What the catalog and index show, before any row is read."""

    databases: list[Database]
    drafts: list[Draft]
    listed: tuple[Listed, ...]
    unused_settings: tuple[UnusedSetting, ...]


def _find(measuring: Measuring, asked: frozenset[str], before: Mapping[tuple[str, str], Measurement]) -> _Outline:
    """The databases and measurements to examine. `before`: the measurements of an earlier day, by location."""
    asker, known = measuring.asker, catalogue.databases(measuring, asked)
    databases: list[Database] = []
    drafts: list[Draft] = []
    names: dict[str, list[str]] = {}
    for name in known.names:
        database, found, listed = catalogue.outline(measuring, name, known, asked, before)
        databases.append(database)
        drafts += found
        if listed is not None:
            names[name] = listed
    unused: tuple[UnusedSetting, ...] = ()
    if known.names and len(names) == len(known.names):
        # A setting can only be called unused if everything on the server is known.
        unused = tuple(unused_settings.find(asker.target, names, drafts))
        if why := unused_settings.nothing_to_audit(asker.target, names):
            asker.gap_in_all(asked, Reason.NOTHING_THERE, why)
    listed_counts = tuple(unused_settings.listed(asker.target, name, found) for name, found in names.items())
    return _Outline(databases, drafts, listed_counts, unused)


def _profile(
    measuring: Measuring, found: _Outline, measured: Sequence[Draft], day: date, server_version: str
) -> Profile:
    asker, target = measuring.asker, measuring.asker.target
    drafts = sorted(measured, key=lambda d: (d.database, d.name))
    return Profile(
        target=target.name,
        engine=target.engine,
        server_version=server_version,
        day=day,
        collected_at=utc_now(),
        window=asker.window,
        facts=tuple(sorted(offered(frozenset(query_files(target.engine))))),
        databases=tuple(measuring.with_own_series(found.databases, drafts)),
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


def _series_at_most(databases: Sequence[Database]) -> dict[str, int]:
    """Database to its series count; for a retention policy, that of all policies together. As far as they are known."""
    counts = {database.name: database.series.value for database in databases if database.series}
    whole = {database.name: counts.get(database.policy_of or database.name) for database in databases}
    return {name: count for name, count in whole.items() if count is not None}


def _series_unwanted(found: _Outline, settled: Sequence[Draft], series: Mapping[str, int]) -> dict[str, int]:
    """Database to the series, at most, of the measurements that are not examined. `settled`: those of the outline."""
    unwanted: dict[str, int] = defaultdict(int)
    for draft in settled:
        unwanted[draft.database] += draft.measurement.series.value if draft.measurement.series else 0
    known = Counter(draft.database for draft in found.drafts)
    for listed in found.listed:
        if known[listed.database] < listed.measurements:
            # Nobody knows how many of the database's series those have that are left out.
            unwanted[listed.database] = series.get(listed.database, 0)
    return unwanted


def _is_of_many(gap: Gap) -> bool:
    """Whether figures of several measurements together were contradicted: it is not known which of them are wrong."""
    return gap.reason is Reason.DISPUTED and gap.measurement is None


def _contained(asker: Asker, fact: str, step: Callable[[Draft], Draft]) -> Callable[[Draft], Draft]:
    """The step with its errors turned into gaps, so that the other measurements continue."""

    def run(draft: Draft) -> Draft:
        reads_rows = fact != "columns"
        if not draft.roles_known:
            if reads_rows:  # otherwise the step that failed has left the gap
                asker.gap(fact, Reason.FAILED, "the roles of its columns are not known", draft.database, draft.name)
            return draft
        if draft.unreadable and reads_rows:
            asker.gap(fact, draft.unreadable.reason, draft.unreadable.detail, draft.database, draft.name)
            return draft
        try:
            return step(draft)
        except Exception as error:
            asker.gap(fact, Reason.FAILED, not_understood(error), draft.database, draft.name)
            return replace(draft, roles_known=fact != "columns")

    return run
