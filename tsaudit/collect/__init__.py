"""Measures a database and returns its profile: the only stage that accesses the audited database.

Facts are queried step by step, cheap ones first, within the target's budget. A fact that cannot be measured becomes a
gap, and the audit continues.
"""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import replace
from datetime import date, datetime
from itertools import groupby
from typing import TYPE_CHECKING

from tsaudit.collect import catalog
from tsaudit.collect.cross_checks import cross_checked, without_unusable_figures
from tsaudit.collect.earlier_days import Comparison, ValueMemory, reuse
from tsaudit.collect.measuring import MeasuringContext, MeasuringStep, contained, measuring_of
from tsaudit.collect.probing import Probed, database_names, probe
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.collect.sample_size import in_parts, rows_each
from tsaudit.engines.opening import of_package
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS
from tsaudit.model.profile import Profile, Window, utc_now
from tsaudit.net.watchdog import Deadline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tsaudit.collect.draft import Draft
    from tsaudit.config.settings import Target
    from tsaudit.engines.connection import Connection

__all__ = ["Probed", "collect", "database_names", "probe"]


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
    for all. `now`: rows from this time on are not counted; None for the current time. `deadline`: when to stop
    querying; None for the budget's deadline, starting now. Failures become gaps in the profile instead of exceptions;
    only ConnectorError is raised, if another package's engine cannot be used.
    """
    end = now or utc_now()
    measuring_class = measuring_of(ENGINES[target.engine])
    files = frozenset(query_files(target.engine))
    queried = measuring_class.facts_to_query(frozenset(FACTS) if wanted is None else wanted, files)
    with closing(QueryRunner(target, connection, Window(end - target.window, end), deadline)) as runner:
        measuring = measuring_class(runner)
        with of_package(target.engine):
            outline = catalog.find(measuring, queried, previous)
        nothing = None, None, None
        status, stored, storage = catalog.of_target(runner, queried) if outline.databases else nothing
        drafts = reuse(outline.drafts, previous, runner.window, target.max_age)
        reused, changed = [d for d in drafts if d.reused], [d for d in drafts if not d.reused]
        runner.rows_each = rows_each(
            [d.estimated_rows for d in changed if d.columns or d.fields], target.budget.max_rows
        )
        databases = {database.name: database for database in outline.databases}
        comparison = Comparison(memory, day, runner.window, databases) if memory else None
        context = MeasuringContext(queried, outline.series_at_most(), outline.series_not_listed(reused), comparison)
        with of_package(target.engine):
            steps = list(measuring.steps(context))
        for keeps_rows, taken in groupby(steps, lambda step: step.keeps_rows):
            together = list(taken)
            parts = in_parts(changed, runner.rows_each) if keeps_rows else [changed]
            changed = [done for part in parts for done in _after(runner, together, part)]

    found = catalog.profile_of(measuring, outline, [*reused, *changed], day, connection.server_version)
    profile = replace(
        found,
        databases=tuple(replace(one, statements=runner.statements_about(one.name)) for one in found.databases),
        statements=runner.statements_about(None),
        reused=len(reused),
        stored_queries=stored,
        storage=storage,
        server=status,
    )
    return without_unusable_figures(cross_checked(profile, previous, queried), queried)


def _after(runner: QueryRunner, steps: Sequence[MeasuringStep], drafts: list[Draft]) -> list[Draft]:
    """The drafts after all the steps, without the rows that the steps have read."""
    for step in steps:
        if step.prefetch:
            # If prefetching fails, the step itself fails too, and leaves a gap that names the measurement.
            with suppress(Exception):
                step.prefetch(drafts)
        drafts = runner.each(contained(runner, step.fact, step.run), drafts)
        runner.drop_prefetched()
    return [replace(draft, sample=None) for draft in drafts] if steps[-1].keeps_rows else drafts
