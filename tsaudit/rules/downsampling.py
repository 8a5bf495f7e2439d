"""What queries of the server write by themselves, and those of them that write nothing anymore."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from tsaudit.engines.engine import Downsampling
from tsaudit.model.profile import Database, Measurement
from tsaudit.rule import Case

_RUNS: Final = 10
"""So many times in a row, a query must have found nothing: our default."""
_LEAST: Final = timedelta(days=1)
"""Writers may stop for less than that, such as for the night: our default."""


def written(case: Case) -> frozenset[tuple[str, str]]:
    """Database and name of the measurements that queries of the server write."""
    return frozenset((one.target, name) for one in case.engine.downsamplings(case.profile) for name in one.writes)


def readers(case: Case, database: Database) -> list[str]:
    """The names of the queries of the server that read the database, or the retention policy that is audited as one."""
    return [one.name for one in case.engine.downsamplings(case.profile) if one.source == database.name]


@dataclass(frozen=True, slots=True)
class Idle:
    """A query that runs and writes nothing."""

    query: Downsampling
    since: datetime | None
    """The newest row of what it reads, or, if that is written, of what it wrote; None: there is none in the window."""
    instead: Measurement | None
    """What is written instead of what it reads; None if that is written, and only the result is missing."""


def idle(case: Case) -> Iterator[Idle]:
    """The queries that have written nothing for many of their intervals, although what they read is written, or would
    be in another retention policy. A source that ended is no fault of the query.
    """
    now, results = case.profile.window.end, written(case)
    for query in case.engine.downsamplings(case.profile):
        patience = max(_RUNS * query.every, _LEAST)
        is_known, read = _newest(case, query.source, query.reads)
        if not is_known:
            continue
        if read is None or now - read > patience:
            others = [m for m in _elsewhere(case, query) if (m.database, m.name) not in results]
            newest = max(others, key=_last_time, default=None)
            if newest is not None and now - _last_time(newest) <= patience:
                yield Idle(query, read, newest)
            continue
        # What a new query writes is not there yet.
        is_known, wrote = _newest(case, query.target, query.writes, must_exist=True)
        if is_known and (wrote is None or read - wrote > patience):
            yield Idle(query, wrote, None)


def _elsewhere(case: Case, query: Downsampling) -> Iterator[Measurement]:
    """The measurements of the same names with rows in other retention policies."""
    for m in case.profile.measurements:
        is_other = m.database != query.source and case.profile.is_within(m.database, query.database)
        if is_other and m.name in query.reads and m.last_time is not None:
            yield m


def _last_time(measurement: Measurement) -> datetime:
    assert measurement.last_time is not None
    return measurement.last_time


def _newest(
    case: Case, database: str, names: Collection[str], *, must_exist: bool = False
) -> tuple[bool, datetime | None]:
    """Whether the newest row of the measurements is known, and its time; None if there is none in the window."""
    profile = case.profile
    inside = [m for m in profile.measurements if m.database == database and m.name in names]
    is_seen = all(profile.selection.takes(database, name) for name in names) and profile.all_listed()
    is_read = not any(gap.covers(database, name) for gap in profile.gaps for name in names)
    if not names or not is_seen or not is_read or (must_exist and not inside):
        return False, None
    if any(m.rows is None and m.last_time is None for m in inside):
        return False, None
    return True, max((m.last_time for m in inside if m.last_time is not None), default=None)
