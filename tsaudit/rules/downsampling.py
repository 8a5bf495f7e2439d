"""What queries of the server write by themselves, and which of them a new default retention policy left behind."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from tsaudit.engines.engine import Downsampling
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import FOREVER, Database, Retention
from tsaudit.rule import Case
from tsaudit.text import day, duration, instant, listed, many

_INTERVALS: Final = 10
"""For so many of its intervals in a row, a query must have found nothing: our default."""
_PAUSE: Final = timedelta(days=1)
"""Writers may stop for less than that, such as for the night: our default."""
_FACTS: Final = frozenset({"measurements", "row_count", "row_sample", "time_extents"})
"""Facts without which the newest rows of a measurement are not known."""


def results(case: Case) -> frozenset[tuple[str, str]]:
    """Database and name of the measurements that queries of the server write."""
    return frozenset((one.target, name) for one in case.engine.downsamplings(case.profile) for name in one.writes)


def readers(case: Case, database: Database) -> list[str]:
    """The names of the queries of the server that read the database, or the retention policy that is audited as one."""
    return [one.name for one in case.engine.downsamplings(case.profile) if one.source == database.name]


def kept_shortest(case: Case) -> tuple[str, timedelta] | None:
    """The audited database that keeps its points for the shortest time, and for how long, of those that queries of the
    server read; of all if it is not known what they read. None if none of them deletes points, or it is not known.
    """
    read = {query.source for query in case.engine.downsamplings(case.profile)}
    kept = [
        (timedelta(seconds=float(one.duration_s)), database.name)
        for database in case.profile.databases
        for one in database.retention or ()
        if one.duration_s != FOREVER and (database.name in read or not read)
        if (one.default if not database.policy_of else database.name == f"{database.policy_of}/{one.policy}")
    ]
    return (min(kept)[1], min(kept)[0]) if kept else None


def left_behind(case: Case) -> Iterator[Finding]:
    """Queries whose retention policy was written until another one became the default: one finding for each policy."""
    found: dict[tuple[str, str], list[tuple[Downsampling, datetime]]] = {}
    written = results(case)
    for query in case.engine.downsamplings(case.profile):
        until = _newest(case, query.source, query.reads)
        if until is not None and _is_taken_over(case, query, until, written):
            found.setdefault((query.database, query.policy), []).append((query, until))
    for queries in found.values():
        yield _finding(case, queries)


def _is_taken_over(case: Case, query: Downsampling, until: datetime, written: Collection[tuple[str, str]]) -> bool:
    """Whether the same measurements are in the default policy from about the time on when the query's source ended,
    other than those that queries have `written`. Where both were written before, somebody stopped writing to one.
    """
    now, patience = case.profile.window.end, max(_INTERVALS * query.every, _PAUSE)
    default = [
        m
        for m in case.profile.measurements
        if m.database == query.database and m.name in query.reads and (m.database, m.name) not in written
    ]
    if query.source == query.database or not default or now - until <= patience:
        return False
    first = min((m.first_time for m in default if m.first_time), default=None)
    last = max((m.last_time for m in default if m.last_time), default=None)
    return first is not None and last is not None and first >= until - patience and now - last <= patience


def _newest(case: Case, database: str, names: Collection[str]) -> datetime | None:
    """The newest row of the measurements in the window; None if there is none, or if it is not known."""
    gaps = [gap for gap in case.profile.gaps if gap.fact in _FACTS]
    if any(gap.covers(database, name) for gap in gaps for name in names):
        return None
    inside = [m for m in case.profile.measurements if m.database == database and m.name in names]
    return max((m.last_time for m in inside if m.last_time is not None), default=None)


def _finding(case: Case, queries: Sequence[tuple[Downsampling, datetime]]) -> Finding:
    """`queries`: each with the newest row of what it reads."""
    (query, _), names = queries[0], [one.name for one, _ in queries]
    until = min(newest for _, newest in queries)
    default = next(one for one in case.profile.databases if one.name == query.database)
    kept = next(one for one in default.retention or () if one.default)
    writes = f"{many(len(names), 'continuous query')} write{'' if names[1:] else 's'} nothing ({listed(names, 4)})"
    likewise = f" Likewise {listed(names[1:], 4)}." if names[1:] else ""
    return Finding(
        subject=Subject(query.database, f"continuous queries of {query.policy}"),
        message=f"{writes}: what is read in retention policy {query.policy} was not written since {instant(until)}; "
        f"its points go to {kept.policy}, the default one now.",
        headline=f"{writes}: the points go to retention policy {kept.policy}, no longer to {query.policy}",
        impact=Impact(
            Currency.MECHANISM,
            is_enforced=None,
            consequence=_lost(kept, until),
            how="the list of continuous queries, and the newest row of each measurement",
        ),
        fix=case.engine.redirection(query, kept.policy) + likewise,
        observed=float(len(queries)),
        unit="continuous queries",
        evidence=tuple(
            Evidence(one.name, f"reads {listed(one.reads, 3)} of {one.policy}, newest row {instant(newest)}")
            for one, newest in queries[:8]
        ),
        since=until.date(),
        facts=("scheduled_queries", "row_sample"),
    )


def _lost(kept: Retention, until: datetime) -> str:
    """What is lost because nobody has summed it up."""
    if kept.duration_s == FOREVER:
        return "What they should have written is missing."
    ends = day(until + timedelta(seconds=float(kept.duration_s)))
    return (
        f"{kept.policy} keeps points for {duration(kept.duration_s)}: from {ends} on, they are deleted, and nothing is "
        "left of them."
    )
