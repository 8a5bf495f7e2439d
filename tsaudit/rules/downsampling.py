"""What queries of the server write by themselves, and which of them write nothing: a new default retention policy left
them behind, their source ended, or they are gone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.engine import Downsampling
from tsaudit.model.figures import FOREVER, Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Database, Measurement
from tsaudit.model.storage import Retention
from tsaudit.rule import Case
from tsaudit.text import day, duration, instant, listed, many

_INTERVALS: Final = 10
"""For so many of its intervals in a row, a query must have found nothing: our default."""
_PAUSE: Final = timedelta(days=1)
"""Writers may stop for less than that, such as for the night: our default."""
_ENDED: Final = timedelta(days=4)
"""A source may pause for a long weekend: our default."""
_FACTS: Final = frozenset({"measurements", "row_count", "row_sample", "time_extents"})
"""Facts without which the newest rows of a measurement are not known."""
_Since = tuple[Downsampling, datetime]
"""A query, and the newest row of what it reads."""


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
    kept = [(_kept_s(one), one.name) for one in case.profile.databases if one.name in read or not read]
    shortest, name = min(kept, default=(math.inf, ""))
    return None if shortest == math.inf else (name, timedelta(seconds=shortest))


def _policy(database: Database) -> Retention | None:
    """The retention policy that is audited as this database; None if it is not known."""
    policies = database.retention or ()
    return next((p for p in policies if (p.policy == database.own_name if database.policy_of else p.default)), None)


def left_behind(case: Case) -> Iterator[Finding]:
    """Queries whose retention policy was written until another one became the default: one finding for each policy."""
    found: dict[tuple[str, str], list[_Since]] = {}
    written = results(case)
    for query in case.engine.downsamplings(case.profile):
        until = _newest(case, query.source, query.reads)
        if until is not None and _is_taken_over(case, query, until, written):
            found.setdefault((query.database, query.policy), []).append((query, until))
    for queries in found.values():
        yield _of_another_policy(case, queries)


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


def dried_up(case: Case) -> Iterator[Finding]:
    """Queries whose source ended while other measurements of the database are written: one finding for each database,
    and one for each source that goes on under another name.
    """
    found: dict[tuple[str, str], list[_Since]] = {}
    written, now = results(case), case.profile.window.end
    for query in case.engine.downsamplings(case.profile):
        until, patience = _newest(case, query.source, query.reads), max(_INTERVALS * query.every, _ENDED)
        if until is None or now - until <= patience or _is_taken_over(case, query, until, written):
            continue
        result = _newest(case, query.target, query.writes)
        is_result = any((query.source, name) in written for name in query.reads)
        if not is_result and (result is None or result - until <= patience) and _goes_on(case, query, written):
            found.setdefault((query.database, _successor(case, query, until)), []).append((query, until))
    for (_, successor), queries in found.items():
        yield _without_source(case, queries, successor)


def _goes_on(case: Case, query: Downsampling, written: Collection[tuple[str, str]]) -> bool:
    """Whether anything else in the query's database is written, other than what queries write."""
    database = next(one for one in case.profile.databases if one.name == query.database)
    others = (m for m in case.profile.inside(database) if (m.database, m.name) not in written)
    return any(m.last_time is not None and case.profile.window.end - m.last_time <= _PAUSE for m in others)


def _successor(case: Case, query: Downsampling, until: datetime) -> str:
    """The measurement that has been there, with the same fields, since the first audit after the source ended; empty if
    there is none, or more than one.
    """
    inside = {m.name: m for m in case.profile.measurements if m.database == query.source}
    fields = {field.key for name in query.reads if name in inside for field in inside[name].fields}
    days = [point.day for point in case.timeline.of("fields", Subject(query.source, query.reads[0]))]
    first = next((one for one in days if one >= until.date()), None)
    if first is None or days[0] == first or not fields:
        return ""
    found = [
        name
        for name, one in inside.items()
        if name not in query.reads and fields <= {field.key for field in one.fields}
        if (known := case.timeline.of("fields", Subject(query.source, name))) and first <= known[0].day
        if known[0].day - first <= _PAUSE
    ]
    return found[0] if len(found) == 1 else ""


_Ended = tuple[Measurement, Database, datetime]
"""A summary, the longest-kept database that still has what it sums up, and the newest row of the summary."""


def orphaned(case: Case) -> Iterator[Finding]:
    """Summaries that ended while what they sum up goes on, and that no query writes: one finding for each retention
    policy, about those that ended last. Others ended before, while these went on, so somebody may have wanted that.
    """
    written, stored = results(case), case.profile.stored_queries
    known = {query.statement for query in case.engine.downsamplings(case.profile)}
    unknown = [query.statement for query in stored or () if query.statement not in known]
    for database in case.profile.databases if stored is not None else ():
        if any(database.server_name in one and database.own_name in one for one in unknown):
            continue
        inside = [m for m in case.profile.measurements if m.database == database.name]
        found = [end for m in inside if (m.database, m.name) not in written and (end := _ended(case, database, m))]
        last = max((until for _, _, until in found), default=None)
        if last is not None:
            goes_on = any(m.last_time and m.last_time - last > _PAUSE for m in inside)
            yield _without_query(database, [one for one in found if last - one[2] <= _PAUSE], goes_on=goes_on)


def _ended(case: Case, database: Database, summary: Measurement) -> _Ended | None:
    """The measurement, if it has ended, had a row per interval before, at whole intervals, as queries of the server
    write them, and another policy that keeps points for a shorter time has the same fields more often, up to now.
    """
    now, until, every = case.profile.window.end, _newest(case, database.name, [summary.name]), regular_interval(summary)
    if until is None or every is None or now - until <= _INTERVALS * every + _PAUSE:
        return None
    if (until - datetime(1970, 1, 1, tzinfo=UTC)) % min(every, timedelta(hours=1)):
        return None
    places = {d.name: d for d in case.profile.databases if d.server_name == database.server_name and d != database}
    going_on = (m for m in case.profile.measurements if m.database in places and _is_summed_up(m, summary, every))
    newest = ((places[m.database], _newest(case, m.database, [m.name])) for m in going_on)
    sources = [place for place, time in newest if time is not None and now - time <= _PAUSE]
    longest = max(sources, key=_kept_s, default=database)
    return (summary, longest, until) if _kept_s(longest) < _kept_s(database) else None


def _kept_s(database: Database) -> float:
    """How long the database keeps its points, in seconds; infinite if it does not delete them, or that is not known."""
    kept = _policy(database)
    return math.inf if kept is None or kept.duration_s == FOREVER else kept.duration_s


def regular_interval(measurement: Measurement) -> timedelta | None:
    """The longest interval at which its fields arrive; None unless all of them arrive regularly."""
    fields = measurement.rhythms.fields if measurement.rhythms else ()
    regular = [one.interval_s for one in fields if one.interval_s is not None and one.regular > one.irregular]
    return timedelta(seconds=max(regular)) if regular and len(regular) == len(fields) else None


def _is_summed_up(source: Measurement, summary: Measurement, every: timedelta) -> bool:
    """Whether the summary, with a row per `every`, may be one of the source: `mean_amps` of `amps`."""
    from tsaudit.analysis.rows.column_groups import is_same_but_for_affix

    often, keys = regular_interval(source), [field.key for field in source.fields]
    if source.name != summary.name or often is None or 2 * often > every:
        return False
    is_known = (any(key == f.key or is_same_but_for_affix(key, f.key) for key in keys) for f in summary.fields)
    return all(is_known) and {tag.key for tag in summary.tags} <= {tag.key for tag in source.tags}


def _without_query(database: Database, ended: Sequence[_Ended], *, goes_on: bool) -> Finding:
    """`goes_on`: whether something else is still written there."""
    names, source, until = [m.name for m, _, _ in ended], ended[0][1], min(time for _, _, time in ended)
    kept, them = _policy(source), "them" if ended[1:] else "it"
    assert kept is not None
    what = f"{many(len(names), 'summary')} of {listed(names, 4)}"
    how = "the list of continuous queries, and the newest row of each measurement"
    lost = _lost(kept, until)
    return Finding(
        subject=Subject(database.name),
        message=f"{what} w{'ere' if names[1:] else 'as'} not written since {instant(until)}, although the same "
        f"measurements of {kept.policy} are, and no continuous query writes {them}.",
        headline=f"{what} ended on {instant(until)}, while {kept.policy} is still written",
        impact=None if goes_on else Impact(Currency.MECHANISM, is_enforced=None, consequence=lost, how=how),
        severity_reason="somebody may have ended it on purpose: others of the policy are written" if goes_on else "",
        fix=f"Create the continuous queries that wrote {them} again: a restored database has none. Write what is "
        f"missing since then with SELECT ... INTO before {kept.policy} deletes it. If another program wrote {them}, "
        "start it again.",
        observed=float(len(names)),
        unit="measurements",
        evidence=tuple(Evidence(m.name, f"newest row {instant(time)}") for m, _, time in ended[:8]),
        since=until.date(),
        facts=("scheduled_queries", "row_sample"),
    )


def _newest(case: Case, database: str, names: Collection[str]) -> datetime | None:
    """The newest row of the measurements in the window; None if there is none, or if it is not known."""
    gaps = [gap for gap in case.profile.gaps if gap.fact in _FACTS]
    if any(gap.covers(database, name) for gap in gaps for name in names):
        return None
    inside = [m for m in case.profile.measurements if m.database == database and m.name in names]
    return max((m.last_time for m in inside if m.last_time is not None), default=None)


def _of_another_policy(case: Case, queries: Sequence[_Since]) -> Finding:
    query, others, until = queries[0][0], [one.name for one, _ in queries[1:]], min(newest for _, newest in queries)
    kept = next(policy for d in case.profile.databases if d.name == query.database and (policy := _policy(d)))
    return _finding(
        queries,
        f"what is read in retention policy {query.policy} was not written since {instant(until)}; its points go to "
        f"{kept.policy}, the default one now",
        headline=f"the points go to retention policy {kept.policy}, no longer to {query.policy}",
        group=query.policy,
        fix=case.engine.redirection(query, kept.policy) + (f" Likewise {listed(others, 4)}." if others else ""),
        lost=_lost(kept, until),
    )


def _without_source(case: Case, queries: Sequence[_Since], successor: str) -> Finding:
    query, them = queries[0][0], ("them" if queries[1:] else "it")
    sources = list(dict.fromkeys(name for one, _ in queries for name in one.reads))
    until = instant(min(newest for _, newest in queries))
    ended = f"{listed(sources, 4)} w{'ere' if sources[1:] else 'as'} not written since {until}"
    kept = next((_policy(one) for one in case.profile.databases if one.name == query.source), None)
    fix = "Find what wrote the source, and whether it writes under another name now. If nobody needs it anymore, drop "
    return _finding(
        queries,
        f"{ended}, although others are{f'; {successor} with the same fields is, since then' if successor else ''}",
        headline=ended,
        group=successor or "ended sources",
        fix=f"Let {them} read {successor}, and write what was not summed up meanwhile with SELECT ... INTO, whole "
        "intervals only."
        if successor
        else f"{fix}{them}.",
        lost=_lost(kept, queries[0][1]) if successor else "",
    )


def _finding(queries: Sequence[_Since], why: str, *, headline: str, group: str, fix: str, lost: str) -> Finding:
    """`lost`: the consequence; empty for a note."""
    names = [one.name for one, _ in queries]
    writes = f"{many(len(names), 'continuous query')} write{'' if names[1:] else 's'} nothing ({listed(names, 4)})"
    how = "the list of continuous queries, and the newest row of each measurement"
    return Finding(
        subject=Subject(queries[0][0].database, f"continuous queries of {group}"),
        message=f"{writes}: {why}.",
        headline=f"{writes}: {headline}",
        impact=Impact(Currency.MECHANISM, is_enforced=None, consequence=lost, how=how) if lost else None,
        severity_reason="" if lost else "somebody may have ended the source on purpose",
        fix=fix,
        observed=float(len(queries)),
        unit="continuous queries",
        evidence=tuple(
            Evidence(one.name, f"reads {listed(one.reads, 3)} of {one.policy}, newest row {instant(newest)}")
            for one, newest in queries[:8]
        ),
        since=min(newest for _, newest in queries).date(),
        facts=("scheduled_queries", "row_sample"),
    )


def _lost(kept: Retention | None, until: datetime) -> str:
    """What is lost because nobody has summed it up. `kept`: None if it is not known."""
    if kept is None or kept.duration_s == FOREVER:
        return "What they should have written is missing."
    ends = day(until + timedelta(seconds=float(kept.duration_s)))
    return (
        f"{kept.policy} keeps points for {duration(kept.duration_s)}: from {ends} on, they are deleted, and nothing is "
        "left of them."
    )
