"""Measures a database and returns its profile: the only stage that accesses the audited database.

Facts are queried step by step, cheap ones first, within the target's budget. A fact that cannot be measured becomes a
gap, and the audit continues.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import date, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Final

from tsaudit.collect import catalog
from tsaudit.collect.cross_checks import cross_checked, without_unusable_figures
from tsaudit.collect.draft import Draft
from tsaudit.collect.earlier_days import Comparison, ValueMemory, ended_queries, reuse, with_column_ends
from tsaudit.collect.measuring import MeasuringContext, MeasuringStep, contained, measuring_of
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.engines.opening import of_package
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import Gap, Reason, Window, utc_now
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import SAME_DAY
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
            known = catalog.databases(measuring, queried)
            nothing = None, None, None
            status, stored, storage = catalog.of_target(runner, queried) if known.audited else nothing
            outline = catalog.find(measuring, queried, known, previous, status)
        drafts = reuse(outline.drafts, previous, runner.window, target.max_age)
        reused, changed = [d for d in drafts if d.reused], [d for d in drafts if not d.reused]
        runner.rows_each = rows_each(
            [d.estimated_rows for d in changed if d.columns or d.fields], target.budget.max_rows
        )
        databases = {database.name: database for database in outline.databases}
        comparison = Comparison(memory, day, runner.window, databases) if memory else None
        context = MeasuringContext(queried, outline.series_at_most(), outline.series_not_listed(reused), comparison)
        with of_package(target.engine):
            steps = list(measuring.steps(context)) if changed else []
        for keeps_rows, taken in groupby(steps, lambda step: step.keeps_rows):
            together = list(taken)
            parts = in_parts(sorted(changed, key=_alike), runner.rows_each) if keeps_rows else [changed]
            changed = [done for part in parts for done in _after(runner, together, part)]

    found = catalog.profile_of(measuring, outline, [*reused, *changed], day, connection.server_version)
    profile = replace(
        found,
        databases=tuple(replace(one, statements=runner.statements_about(one.name)) for one in found.databases),
        statements=runner.statements_about(None),
        reused=len(reused),
        stored_queries=stored,
        ended_queries=ended_queries(stored, previous),
        storage=storage,
        server=status,
    )
    return with_column_ends(without_unusable_figures(cross_checked(profile, queried), queried), previous)


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


SAMPLED_ROWS: Final = 500_000
"""Most rows in all samples of a target together: reading them takes several times as long as all else."""
FEWEST_ROWS: Final = 1_000
"""Smallest limit of a sample, however many measurements there are: rules about rows need about this many to decide."""

_AT_A_TIME: Final = 200_000
"""Most sampled rows in memory at once: with a dozen columns, they take about as much memory as the program itself."""
_OVERHEAD_ROWS: Final = 1_000
"""What the smallest sample counts for: its arrays and codes take as much memory as these rows."""


def rows_each(rows: Sequence[int | None], most: int) -> int:
    """The most rows to read of each measurement, so that all samples together stay within SAMPLED_ROWS.

    `rows`: the number of rows of each measurement; None if unknown. `most`: the upper limit of a sample. Rows that
    small measurements do not need are given to the others.
    """
    left, needed = SAMPLED_ROWS, sorted(most if one is None else min(one, most) for one in rows)
    for place, need in enumerate(needed):
        share = left // (len(needed) - place)
        if need > share:
            return min(most, max(share, FEWEST_ROWS))
        left -= need
    return most


def _alike(draft: Draft) -> tuple[str, int, list[str]]:
    """Sorts tables that one statement can query next to each other: it has to be about tables of one part."""
    return draft.database, len(draft.columns), [column.data_type for column in draft.columns]


def in_parts(drafts: Sequence[Draft], each: int) -> Iterator[list[Draft]]:
    """The drafts in parts whose samples fit in memory together. `each`: the most rows of one sample."""
    part: list[Draft] = []
    rows = 0
    for draft in drafts:
        own = each if draft.estimated_rows is None else min(max(draft.estimated_rows, _OVERHEAD_ROWS), each)
        if part and rows + own > _AT_A_TIME:
            yield part
            part, rows = [], 0
        part.append(draft)
        rows += own
    if part:
        yield part


_OF_INDEX: Final = ("series_listing", "database_series")
_OF_ROWS: Final = ("documents", "null_counts", "row_sample", "series_listing")
_LISTED: Final = "cannot be known of a past day: the index lists the series of today"
_READ: Final = "cannot be known of a past day: rows of any age are read"


def of_its_day(profile: Profile) -> Profile:
    """The profile without what its engine cannot say of a past day, if it is of one.

    What is there today would be found on a day before it existed. Rules that need it are unknown on that day.
    """
    if profile.collected_at - profile.window.end <= SAME_DAY:
        return profile
    engine = ENGINES[profile.engine]
    databases, gaps = profile.databases, list(profile.gaps)
    if engine.has_series_index:
        gaps += [Gap(fact, Reason.PAST_DAY, _LISTED, one.name) for one in databases for fact in _OF_INDEX]
        databases = tuple(replace(one, series=None, own_series=None) for one in databases)
    measurements = []
    for one in profile.measurements:
        is_bounded = one.time_column is not None and not engine.keeps_documents
        if not is_bounded:
            facts = [fact for fact in _OF_ROWS if fact in profile.facts]
            gaps += [Gap(fact, Reason.PAST_DAY, _READ, one.database, one.name) for fact in facts]
            fields = tuple(replace(field, null_ratio=None, distinct=None) for field in one.fields)
            one = replace(one, rows=None, documents=None, fields=fields, row_patterns=None)
        if engine.has_series_index or not is_bounded:
            tags = tuple(replace(tag, values=None, absent=None, over_time=None) for tag in one.tags)
            one = replace(one, series=None, tags=tags, tag_sets=None, arrivals=None, first_rows=())
        measurements.append(one)
    return replace(profile, databases=databases, measurements=tuple(measurements), gaps=tuple(gaps))
