"""What queries of the server write by themselves, and which summaries get nothing: a new default retention policy left
the queries behind, their source ended, they fail, or they are gone.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from tsaudit.engines.engine import Downsampling
from tsaudit.engines.quoting import Qualified
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
_MISSED: Final = 3
"""A summary has the time when its interval begins, and is written when it is over: after so many intervals without a
row, two are missing for certain. Our default.
"""
_GIVEN_UP: Final = timedelta(days=14)
"""For so long after the first rows were deleted without a summary, somebody may still want it: our default."""
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


def without_input(case: Case) -> Iterator[Finding]:
    """Summaries that get nothing anymore, and the queries that write nothing: one finding for each cause."""
    stopped = _stopped(case)
    known = {(one.place.name, one.summary.name) for one in stopped}
    queries = [
        query
        for query in case.engine.downsamplings(case.profile)
        if not any((query.source, name) in known for name in query.reads)
    ]
    yield from _left_behind(case, queries)
    yield from _dried_up(case, queries)
    for database in case.profile.databases:
        if found := [one for one in stopped if one.place.server_name == database.name]:
            yield _without_query(case, found)


def _left_behind(case: Case, queries: Sequence[Downsampling]) -> Iterator[Finding]:
    """Queries whose retention policy was written until another one became the default: one finding for each policy."""
    found: dict[tuple[str, str], list[_Since]] = {}
    written = results(case)
    for query in queries:
        until = _newest(case, query.source, query.reads)
        if until is not None and _is_taken_over(case, query, until, written):
            found.setdefault((query.database, query.policy), []).append((query, until))
    for since in found.values():
        yield _of_another_policy(case, since)


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


def _dried_up(case: Case, queries: Sequence[Downsampling]) -> Iterator[Finding]:
    """Queries whose source ended while other measurements of the database are written: one finding for each database,
    and one for each source that goes on under another name.
    """
    found: dict[tuple[str, str], list[_Since]] = {}
    written, now = results(case), case.profile.window.end
    for query in queries:
        until, patience = _newest(case, query.source, query.reads), max(_INTERVALS * query.every, _ENDED)
        if until is None or now - until <= patience or _is_taken_over(case, query, until, written):
            continue
        result = _newest(case, query.target, query.writes)
        is_result = any((query.source, name) in written for name in query.reads)
        if not is_result and (result is None or result - until <= patience) and _goes_on(case, query, written):
            found.setdefault((query.database, _successor(case, query, until)), []).append((query, until))
    for (_, successor), since in found.items():
        yield _without_source(case, since, successor)


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


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A summary that gets nothing anymore, although what it sums up goes on, and is deleted sooner."""

    summary: Measurement
    place: Database
    """The database of the summary, or the retention policy that is audited as one."""
    source: Measurement
    kept: Retention
    """The retention policy of the source."""
    until: datetime
    """The newest row of the summary."""
    every: timedelta
    query: Downsampling | None
    """What writes it, or wrote it when an audit of an earlier day listed it; None if nothing is known of that."""
    is_there: bool
    """Whether that query is still there."""
    is_wanted: bool
    """Whether another query reads the summary, or nothing else in its policy is written."""

    @property
    def label(self) -> str:
        return _label(self.place, self.summary.name)

    @property
    def ends(self) -> datetime:
        """From when on what was not summed up is deleted."""
        return self.until + timedelta(seconds=float(self.kept.duration_s))


def _label(place: Database, name: str) -> str:
    kept = _policy(place)
    return f"{kept.policy if kept and kept.policy else place.own_name}.{name}"


def _stopped(case: Case) -> list[_Stopped]:
    """The summaries of each database that ended last, about together. Others ended before, while these went on, so
    somebody may have wanted that.
    """
    profile = case.profile
    if profile.stored_queries is None:
        return []
    queries = case.engine.downsamplings(profile)
    ended = case.engine.downsamplings(replace(profile, stored_queries=profile.ended_queries))
    known = {query.statement for query in queries}
    unknown = [query.statement for query in profile.stored_queries if query.statement not in known]
    named: dict[str, list[Measurement]] = defaultdict(list)
    for measurement in profile.measurements:
        named[measurement.name].append(measurement)
    found: dict[str, list[_Stopped]] = defaultdict(list)
    for place in profile.databases:
        policy = _policy(place)
        if policy is None or any(place.server_name in one and policy.policy in one for one in unknown):
            continue
        for one in (m for m in profile.measurements if m.database == place.name):
            if (stop := _stop(case, place, one, queries, ended, named)) is not None:
                found[place.server_name].append(stop)
    last = {name: max(one.until for one in stops) for name, stops in found.items()}
    together = (one for name, stops in found.items() for one in stops if last[name] - one.until <= _PAUSE + one.every)
    return sorted(together, key=lambda one: one.every)


def _stop(
    case: Case,
    place: Database,
    summary: Measurement,
    queries: Sequence[Downsampling],
    ended: Sequence[Downsampling],
    named: Mapping[str, Sequence[Measurement]],
) -> _Stopped | None:
    """How the measurement ended, if it had a row per interval before, and what it sums up goes on in another policy,
    which keeps points for a shorter time. `named`: the measurements by name.
    """
    from tsaudit.analysis.rows.column_groups import is_same_but_for_affix

    now, until, every = case.profile.window.end, _newest(case, place.name, [summary.name]), regular_interval(summary)
    if until is None or every is None or now - until <= _MISSED * every + _PAUSE:
        return None
    writers = [one for one in queries if one.target == place.name and summary.name in one.writes]
    query = next((one for one in (*writers, *ended) if one.target == place.name and summary.name in one.writes), None)
    # A query may run less often than it has rows to write.
    run = max(every, query.every) if query else every
    if now - until <= _MISSED * run + _PAUSE:
        return None
    is_read = any(one.source == place.name and summary.name in one.reads for one in queries)
    places = {d.name: d for d in case.profile.databases if d.server_name == place.server_name and d != place}
    if query is not None:
        names = [summary.name] if query.reads == query.writes else query.reads
        sources = [m for name in names for m in named[name] if m.database == query.source]
    elif (until - datetime(1970, 1, 1, tzinfo=UTC)) % min(every, timedelta(hours=1)):
        return None  # Queries of the server write whole intervals.
    else:
        finer = [
            m
            for m in named[summary.name]
            if m.database in places and (often := regular_interval(m)) is not None and 2 * often <= every
        ]
        # What is summed up in steps may have only fields of the step before.
        keys = {field.key for m in finer for field in m.fields}
        is_known = is_read or any(
            key == f.key or is_same_but_for_affix(key, f.key) for key in keys for f in summary.fields
        )
        sources = [m for m in finer if is_known and _is_summed_up(case, m, summary, until)]
    sources = [m for m in sources if m.database in places and _is_recent(case, m)]
    source = max(sources, key=lambda m: _kept_s(places[m.database]), default=None)
    if source is None or _kept_s(places[source.database]) >= _kept_s(place):
        return None
    if writers and (" WHERE " in writers[0].statement or not _went_on(case, writers[0], source, until, run)):
        return None  # It may have found nothing.
    kept = _policy(places[source.database])
    assert kept is not None
    beside = (m for m in case.profile.measurements if m.database == place.name)
    is_wanted = bool(is_read or writers) or not any(m.last_time and m.last_time - until > _PAUSE for m in beside)
    return _Stopped(summary, place, source, kept, until, every, query, bool(writers), is_wanted)


def _is_recent(case: Case, measurement: Measurement) -> bool:
    newest = _newest(case, measurement.database, [measurement.name])
    return newest is not None and case.profile.window.end - newest <= _PAUSE


def _went_on(case: Case, query: Downsampling, source: Measurement, until: datetime, run: timedelta) -> bool:
    """Whether an earlier audit found the query, and rows that it should have summed up in a `run`: it is not new, and
    the source did not just come back from a pause.
    """
    previous, earlier = case.timeline.previous, case.timeline.earlier(source)
    if previous is None or earlier is None or earlier.last_time is None:
        return False
    is_listed = any(query.statement == one.statement for one in previous.stored_queries or ())
    # Where audits are daily, none is older than the run of a weekly query.
    return is_listed and case.timeline.is_older(case.profile, min(run, _PAUSE)) and earlier.last_time > until + run


def _kept_s(database: Database) -> float:
    """How long the database keeps its points, in seconds; infinite if it does not delete them, or that is not known."""
    kept = _policy(database)
    return math.inf if kept is None or kept.duration_s == FOREVER else kept.duration_s


def regular_interval(measurement: Measurement) -> timedelta | None:
    """The longest interval at which its fields arrive; None unless all of them arrive regularly."""
    fields = measurement.rhythms.fields if measurement.rhythms else ()
    regular = [one.interval_s for one in fields if one.interval_s is not None and one.regular > one.irregular]
    return timedelta(seconds=max(regular)) if regular and len(regular) == len(fields) else None


def _is_summed_up(case: Case, source: Measurement, summary: Measurement, until: datetime) -> bool:
    """Whether the summary may be one of the source. Unless a field has a name like `mean_amps`, it is one only if the
    source was there before the summary ended: otherwise, somebody may write to another policy since then, and more
    often.
    """
    from tsaudit.analysis.rows.column_groups import is_same_but_for_affix

    if not {tag.key for tag in summary.tags} <= {tag.key for tag in source.tags}:
        return False
    keys = {field.key for field in source.fields}
    own = {field.key for field in summary.fields} - keys
    if any(is_same_but_for_affix(key, one) for key in keys for one in own):
        return True
    days = [point.day for point in case.timeline.of("fields", Subject(source.database, source.name))]
    if any(one < until.date() for one in days):
        return True
    began = _PAUSE + case.profile.window.end - until
    return any(one >= began for one in _spans(case, source))


def _spans(case: Case, source: Measurement) -> Iterator[timedelta]:
    """For how long the source has rows, at least: since the oldest row that was read, and as many as there are."""
    if source.first_time is not None:
        yield case.profile.window.end - source.first_time
    often, rows, series = regular_interval(source), source.rows, source.series
    if often is not None and rows is not None and series is not None and series.value:
        yield often * (rows.value / series.value)


def _built_on(case: Case, stopped: Sequence[_Stopped]) -> tuple[list[str], list[str]]:
    """The queries that read these summaries, or each other, and what they write."""
    queries = case.engine.downsamplings(case.profile)
    places = {one.name: one for one in case.profile.databases}
    reached = {(one.place.name, one.summary.name) for one in stopped}
    named, written = list[str](), list[str]()
    while found := [
        query
        for query in queries
        if query.name not in named and any((query.source, name) in reached for name in query.reads)
    ]:
        for query in found:
            new = [name for name in query.writes if (query.target, name) not in reached and query.target in places]
            named.append(query.name)
            written += [_label(places[query.target], name) for name in new]
            reached |= {(query.target, name) for name in new}
    return named, written


def _without_query(case: Case, stopped: Sequence[_Stopped]) -> Finding:
    """Of summaries of one database that ended about together."""
    queries, built = _built_on(case, stopped)
    first, until = min(stopped, key=lambda one: one.ends), max(one.until for one in stopped)
    names, source = [one.label for one in stopped], f"{first.kept.policy}.{first.source.name}"
    has, them = ("have" if names[1:] else "has"), ("them" if names[1:] else "it")
    failing = list(dict.fromkeys(one.query.name for one in stopped if one.query and one.is_there))
    why = f"{listed(failing, 4)} write{'' if failing[1:] else 's'} nothing" if failing else ""
    why = why or f"no continuous query writes {them}"
    further = (
        f" {listed(queries, 4)} read{'' if queries[1:] else 's'} {them}, so that {listed(built, 4)} "
        f"get{'' if built[1:] else 's'} nothing, either."
        if built
        else ""
    )
    impact = _cost(case, first.kept, [first.until])
    is_wanted = impact is not None and any(one.is_wanted for one in stopped)
    doubt = "others of the policy are written" if impact else _given_up(first.kept)
    return Finding(
        subject=Subject(stopped[0].place.name),
        message=f"{listed(names, 4)} {has} had no row since {instant(until)}, although {source} has, and "
        f"{why}.{further}",
        headline=f"{listed([*names, *built], 4)} {'have' if (*names, *built)[1:] else 'has'} had no row since "
        f"{instant(until)}, and {source} is kept for only {duration(float(first.kept.duration_s))}",
        impact=impact if is_wanted else None,
        severity_reason="" if is_wanted else f"somebody may have ended {them} on purpose: {doubt}",
        fix=" ".join(_fixes(case, stopped, queries)),
        observed=float(len(names)),
        unit="measurements",
        evidence=tuple(Evidence(one.label, f"newest row {instant(one.until)}") for one in stopped[:8]),
        since=until.date(),
        facts=("scheduled_queries", "row_sample"),
    )


_MOST_STATEMENTS: Final = 2
"""A finding has room for so many: the others are alike."""


def _fixes(case: Case, stopped: Sequence[_Stopped], queries: Sequence[str]) -> Iterator[str]:
    """What to do, in sentences."""
    quoted, first = case.engine.quoted, min(stopped, key=lambda one: one.ends)
    is_left = case.profile.window.end < first.ends
    for one in stopped[:_MOST_STATEMENTS]:
        times = _missing(case, one)
        if one.query is None:
            tags = ", ".join([f"time({_literal(one.every)})", *(quoted(tag.key) for tag in one.summary.tags)])
            target, source = (quoted(Qualified(m.database, m.name, m.path)) for m in (one.summary, one.source))
            again = f"SELECT ... INTO {target} FROM {source} WHERE {times} GROUP BY {tags}"  # noqa: S608 -- only shown
            yield (
                f"Create the continuous query that wrote {one.label} again: a restored database has none. If another "
                "program wrote it, start it again."
            )
        else:
            again = case.engine.repetition(one.query, times)
            yield (
                f"Find out why {one.query.name} writes nothing: run what it runs, and read the server's log."
                if one.is_there
                else f"Create {one.query.name} again, unless somebody dropped it on purpose: `{one.query.statement}`."
            )
        before = f"before {day(first.ends)}, or raise the duration of {one.kept.policy} first" if is_left else "now"
        yield f"Write what is missing {before}: `{again}`."
    if stopped[_MOST_STATEMENTS:]:
        yield f"Likewise {listed([one.label for one in stopped[_MOST_STATEMENTS:]], 4)}."
    step = "a day" if all(not timedelta(days=1) % one.every for one in stopped) else "one interval"
    yield f"Write {step} at a time, up to the last interval that is over by then."
    if queries:
        yield f"Then run what {listed(queries, 4)} should have written since then in the same way."


def _missing(case: Case, stopped: _Stopped) -> str:
    """The condition on the time, in InfluxQL: the whole intervals that have no row, and whose points may be there."""
    oldest, until, every = stopped.until, stopped.until, stopped.every
    if _deletes(case):
        # Points are deleted by shard, when the newest of the shard is old enough.
        kept_s = float(stopped.kept.duration_s) + (stopped.kept.partition_s or 0)
        oldest = max(until, case.profile.window.end - timedelta(seconds=kept_s))
    over = (case.profile.window.end - until) // every
    first = max(1, min(-((until - oldest) // every), over - 1))
    begin, end = ((until + n * every).replace(tzinfo=None).isoformat() for n in (first, over))
    return f"time >= '{begin}Z' AND time < '{end}Z'"


def _literal(every: timedelta) -> str:
    """As InfluxQL writes it: `1m`, `90s`, `250ms`."""
    units = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))
    all_ms = max(1, round(every / timedelta(milliseconds=1)))
    return next(f"{all_ms // ms}{unit}" for unit, ms in units if all_ms % ms == 0)


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
        impact=_cost(case, kept, [newest for _, newest in queries]),
        doubt=_given_up(kept),
    )


def _without_source(case: Case, queries: Sequence[_Since], successor: str) -> Finding:
    query, them = queries[0][0], ("them" if queries[1:] else "it")
    sources = list(dict.fromkeys(name for one, _ in queries for name in one.reads))
    until = instant(min(newest for _, newest in queries))
    ended = f"{listed(sources, 4)} w{'ere' if sources[1:] else 'as'} not written since {until}"
    kept = next((_policy(one) for one in case.profile.databases if one.name == query.source), None)
    places = {d.name: d for d in case.profile.databases if d.server_name == query.database and d.name != query.source}
    elsewhere = sorted(
        _label(places[m.database], m.name)
        for m in case.profile.measurements
        if m.name in sources and m.database in places and _is_recent(case, m)
    )
    fix = "Find what wrote the source, and whether it writes under another name now."
    fix += f" {listed(elsewhere, 4)} {'are' if elsewhere[1:] else 'is'} still written." if elsewhere else ""
    fix += "" if elsewhere else f" If nobody needs it anymore, drop {them}."
    return _finding(
        queries,
        f"{ended}, although others are{f'; {successor} with the same fields is, since then' if successor else ''}",
        headline=ended,
        group=successor or "ended sources",
        fix=f"Let {them} read {successor}, and write what was not summed up meanwhile with SELECT ... INTO, whole "
        "intervals only."
        if successor
        else fix,
        impact=_cost(case, kept, [newest for _, newest in queries]) if successor else None,
        doubt=_given_up(kept) if successor and kept else "somebody may have ended the source on purpose",
    )


def _finding(
    queries: Sequence[_Since], why: str, *, headline: str, group: str, fix: str, impact: Impact | None, doubt: str
) -> Finding:
    """`impact`: None for a note. `doubt`: the reason for a note."""
    names = [one.name for one, _ in queries]
    writes = f"{many(len(names), 'continuous query')} write{'' if names[1:] else 's'} nothing ({listed(names, 4)})"
    return Finding(
        subject=Subject(queries[0][0].database, f"continuous queries of {group}"),
        message=f"{writes}: {why}.",
        headline=f"{writes}: {headline}",
        impact=impact,
        severity_reason="" if impact else doubt,
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


def _deletes(case: Case) -> bool:
    """Whether the server deletes points after their retention; also if that is not known."""
    server = case.profile.server
    return server is None or server.settings.get("retention_enabled") != 0


def _given_up(kept: Retention) -> str:
    """Why something has no `_cost`."""
    return f"{kept.policy} has deleted what was not summed up first more than {_GIVEN_UP.days} days ago"


def _cost(case: Case, kept: Retention | None, ended: Collection[datetime]) -> Impact | None:
    """That nobody has summed up what came after summaries or sources `ended`; None if the first of that was deleted so
    long ago that somebody would have noticed. `kept`: the policy of what came; None if it is not known.
    """
    how = "the list of continuous queries, and the newest row of each measurement"
    if kept is None or kept.duration_s == FOREVER:
        lost = "What they should have written is missing."
        return Impact(Currency.MECHANISM, is_enforced=None, consequence=lost, how=how)
    now, keeps, is_deleted = case.profile.window.end, timedelta(seconds=float(kept.duration_s)), _deletes(case)
    wanted = [until + keeps for until in ended if not is_deleted or now - (until + keeps) <= _GIVEN_UP]
    if not wanted:
        return None
    ends = min(wanted)
    return Impact(
        Currency.MECHANISM,
        days_left=(ends - now) / timedelta(days=1),
        is_enforced=True if is_deleted else None,
        consequence=f"{kept.policy} keeps points for {duration(kept.duration_s)}: from {day(ends)} on, they are "
        "deleted, and nothing is left of them.",
        how=how,
    )
