"""SRV001."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import inf
from typing import Final

from tsaudit.analysis.cardinality.contributions import remedies
from tsaudit.analysis.significance import ENOUGH
from tsaudit.engines.engine import ServerLimit
from tsaudit.model.change import Change, Diagnose
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Database, Measurement
from tsaudit.model.server import KeptPoints, ServerStatus
from tsaudit.rule import Case, declared_limit, rule, subject_of
from tsaudit.rules.downsampling import regular_interval
from tsaudit.rules.series_estimate import main_tags, series_limit, stopgap, values_limit
from tsaudit.text import day as written
from tsaudit.text import instant, listed, many, number, percent

_DROPPED, _FAILED, _WRITTEN = "points_dropped", "points_failed", "points_written"


@rule(
    code="SRV001",
    title="The server drops points, or they overwrite each other",
    costs={Currency.REJECTED, Currency.OVERWRITTEN},
    guidelines=("A1", "C7", "H5"),
    requires={"server_counters"},
    uses={"kept_points"},
    shows={"series_listing", "tag_values", "field_types"},
    not_applicable={
        "postgresql": "it rejects a whole statement, which its client sees, and counts none",
        "mongodb": "a write that fails is an error of its client, and the server does not count its documents",
        "greptimedb": "it does not report over SQL, for all nodes, what it rejected",
    },
)
def dropped_points(case: Case) -> Iterator[Finding]:
    """Points that the server dropped or refused since the audit before, by its own counters, and accepted points that
    others with the same tags and time replaced.

    A server drops points if a field has another type than before in the same shard, or if they need new series beyond
    `max-series-per-database` or `max-values-per-tag`. It refuses all points of a write if the cache or the disk is
    full, or no more files can be opened; what clients then send again is counted each time. It does not count points
    beyond the retention here, which nobody wants to keep. In InfluxDB 1.8, points beyond a limit are only counted for
    the whole server: they are those of the one database that has reached one. InfluxDB 2 and 3 count on the page
    `/metrics`; recent versions of InfluxDB 3 do not say of which database. Counters begin at the server's start: after
    a restart, and on the first audit if the server has run for a day at most, all of them count; a longer past is a
    note, because nobody knows when it was. Users who are no administrators need the right to read `_internal`, where
    the server records the counters, but not its start.

    The server does not say why it dropped a point. The finding names what it can see: a tag that has all the values
    that the server allows, a database that is near its limit of series with the tag that most of them are due to, or
    fields with several types, in shards of one retention policy or in different ones. If all limits and all that they
    count are known, also of what the target leaves out, and none is near, a type is the likeliest reason. Measurements
    that most others have outlived by a day, or by an hour and 100 of their regular intervals, are evidence. They are
    named if that is a day, or most of the time in which points were dropped: all of their points may be among these.
    Where their figures are reused, that is what an earlier audit saw that also found dropped points.

    Points with the same tags and time are one row. If the server accepted more points for a shard than it has rows,
    the rest was overwritten, sent again, or deleted since; the counters do not tell which. Where the audit before
    counted the same shard, only what was lost since counts, and nothing if series were deleted. It is never critical,
    and a note if it is less than 1 % of the points, as clients repeat after errors, or about half of them, as two
    agents write that are meant to be doubled. InfluxDB 1.8.3 and later count values, so this is what is missing. On
    others, it is a minimum: a row may consist of up to four points, or of one for each field, and these are not
    counted as lost. The newest shard of at most 50 MB and 5,000 series is counted, on InfluxDB 1 and for
    administrators, who alone see when a shard begins. What a continuous query with RESAMPLE writes is left out: it
    writes its results several times.

    ## Why it matters

    Dropped points are lost. The writer gets an error, `partial write`, that many clients only log.

    ## Example

    A new firmware sends `status` as text instead of an integer: every point with it is dropped, with all its fields,
    until a new shard begins. A collector writes 20 flows with the same three tags in the same second: one is left.

    ## Fix

    Find the reason in the writer's log or the server's: `field type conflict`, `max-series-per-database limit
    exceeded`, or `max-values-per-tag limit exceeded`. Write the new type under another name, or stop the tag that makes
    the series. Raising the limit is the quick way, and the right one if all sources are honest.

    If points overwrite each other, add the tag that tells them apart, or write times as precisely as they are known.

    ## References

    - Errors of the write endpoint: https://docs.influxdata.com/influxdb/v1/tools/api/#write-http-endpoint
    - Metrics of InfluxDB 2: https://docs.influxdata.com/influxdb/v2/reference/internals/metrics/
    - Metrics of InfluxDB 3: https://docs.influxdata.com/influxdb3/core/admin/monitor-metrics/
    - `SHOW STATS`: https://docs.influxdata.com/influxdb/v1/administration/server_monitoring/#show-stats
    """
    status = case.profile.server
    if status is None:
        return
    losses = {d.name: lost for d in case.profile.wholes if (lost := _lost(case, status, d.name)) and lost.points}
    if (rest := _lost(case, status, "")) and rest.points:
        # The server does not show to which database these points belong. If only one database has reached a limit, it
        # is that one.
        full = [d.name for d in case.profile.wholes if any(_limits_reached(case, d))]
        name = full[0] if len(full) == 1 else ""
        losses[name] = losses[name].with_more(rest) if name in losses else rest
    known = {database.name: database for database in case.profile.wholes}
    yield from (_finding(case, known.get(name, Database("")), lost) for name, lost in losses.items())
    for database in case.profile.databases:
        kept, is_reported = _kept(case, status, database), database.name in losses
        if kept is None or kept.overwritten <= _REPEATED * kept.accepted:
            continue
        if case.engine.writes_again(case.profile, database, kept.measurement):
            continue
        if kept.measurement or not is_reported:
            yield _overwritten(database, kept)


def _kept(case: Case, status: ServerStatus, database: Database) -> KeptPoints | None:
    """The points accepted and overwritten since the previous audit, or since the server's start. None if series were
    deleted since then, because their points are gone, too.
    """
    kept, day = database.kept, case.timeline.previous
    before = next((one for one in day.databases if one.name == database.name), None) if day else None
    if kept is None or before is None:
        return kept
    if before.series and database.series and database.series.value < before.series.value:
        return None
    past = before.kept
    # A minimum says nothing about an exact number.
    if past is not None and past.counted != kept.counted:
        return None
    if past is None or past.first != kept.first or (day and day.server and status.is_same_start(day.server) is False):
        return kept
    accepted = kept.accepted - past.accepted
    if accepted <= 0:
        return None
    # If a writer only resends points that already exist, all of them were overwritten.
    lost = min(max(kept.overwritten - past.overwritten, 0), accepted)
    return replace(kept, accepted=accepted, overwritten=lost)


def _overwritten(database: Database, kept: KeptPoints) -> Finding:
    """A finding that there are fewer rows than accepted points."""
    left = kept.accepted - kept.overwritten
    is_doubled = left > 0 and abs(kept.accepted / left - 2) <= _DOUBLED
    impact = Impact(
        Currency.OVERWRITTEN,
        now=kept.overwritten,
        whole=kept.accepted,
        is_enforced=None,
        how=f"the server's counter {'writeValuesOk' if kept.counted else 'writePointsOk'} of the shard, and the values "
        "in it",
    )
    about = "About" if kept.counted else "At least"
    did = f"{about} {number(kept.overwritten)} of {many(kept.accepted, 'accepted point')}"
    share = percent(kept.overwritten / kept.accepted, is_least=not kept.counted)
    return Finding(
        subject=Subject(database.name, kept.measurement),
        message=f"{did} ({share}) are not in the shard that begins on "
        f"{written(kept.first.date())}: others with the same tags and time overwrote them"
        f"{', or two agents write the same' if is_doubled else ', or they were sent again'}.",
        headline=f"{did} were overwritten or sent again",
        impact=None if is_doubled else impact,
        fix="Have the writer send a copy to a file, such as with Telegraf's outputs.file, and look for lines with the "
        "same tags and time. If their fields differ, add the tag that tells the points apart, or write times as "
        "precisely as they are known. If the lines are equal, find what sends them again, or leave it.",
        observed=kept.overwritten,
        unit="points",
        evidence=(
            Evidence("shard", f"from {instant(kept.first)} to {instant(kept.last)}"),
            Evidence("points accepted", number(kept.accepted)),
            Evidence(
                "points of which the values are there" if kept.counted else "rows that they can be, at most",
                number(left),
            ),
        ),
        facts=("server_counters", "kept_points"),
    )


_REPEATED: Final = 0.001
"""Share of the points below which overwriting is not reported: clients resend some points."""
_DOUBLED: Final = 0.1
"""How far the number of points per row may be from two for the conclusion that two agents write each of them."""


@dataclass(frozen=True, slots=True)
class _Lost:
    dropped: int
    failed: int
    """Number of points in writes that were refused as a whole."""
    accepted: int
    since: str
    """The start of the period, in words."""
    took: timedelta | None
    """The length of the period; None if the server does not say when it started."""
    is_recent: bool
    """Whether the period began with the previous audit, or less than a day ago."""
    goes_on: bool

    @property
    def points(self) -> int:
        return self.dropped + self.failed

    def with_more(self, rest: _Lost) -> _Lost:
        """The same, plus points for which the server does not show the database."""
        return replace(self, dropped=self.dropped + rest.dropped, goes_on=self.goes_on or rest.goes_on)

    @property
    def sent(self) -> int:
        return self.points + self.accepted


def _lost(case: Case, status: ServerStatus, database: str) -> _Lost | None:
    """The points lost; None if the server does not report them. The counters of an expired shard are gone, so this is a
    lower bound.

    `database`: empty for points that the server only counts as a whole, not for a database.
    """
    from tsaudit.rules.counter_period import counter_period

    if status.counted(_DROPPED, database) is None:
        return None
    past = case.timeline.of(_DROPPED, Subject(database))
    goes_on = len(past) > 1 and past[-1].value not in (0, past[-2].value)
    period = counter_period(case, status)
    goes_on = goes_on and period.is_recent

    def of_others(name: str) -> int:
        return sum(period.risen(name, one.database) for one in status.counters if one.name == name and one.database)

    dropped, failed, accepted = (period.risen(name, database) for name in (_DROPPED, _FAILED, _WRITTEN))
    if not database:
        dropped, accepted = max(dropped - of_others(_DROPPED), 0), accepted + of_others(_WRITTEN)
        goes_on = goes_on and dropped > 0
    took = case.profile.collected_at - period.began if period.began else None
    return _Lost(dropped, failed, accepted, period.since, took, period.is_recent, goes_on)


def _finding(case: Case, database: Database, lost: _Lost) -> Finding:
    share = f", {percent(lost.points / lost.sent)} of those sent" if lost.sent else ""
    how = "the server's counters of points, or lines, that it dropped or refused"
    impact = Impact(Currency.REJECTED, now=lost.points, whole=lost.sent, goes_on=lost.goes_on, how=how)
    did = " and ".join(
        f"{verb} {many(points, 'point')}"
        for verb, points in (("dropped", lost.dropped), ("refused", lost.failed))
        if points
    )
    did = f"The server {did}{f' of {database.name}' if database.name else ''}"
    reasons, named, others = list(_reasons(case, database)) if lost.dropped else [], "", ""
    words = [one.words for one in reasons[:_MOST_NAMED]]
    if more := len(reasons) - len(words):
        words.append(f"{number(more)} more like these")
    if lost.dropped and not reasons:
        inside = case.profile.inside(database)
        named, others = _without_new_points(_looked_at(case, database, inside), lost, case.profile.window.end)
        words.append(_by_exclusion(case, database) + _of_other_policies(inside) + named)
    if lost.failed:
        words.append("a write is refused if the cache or the disk is full, or no more files can be opened")
    quick = list(dict.fromkeys(one.stopgap for one in reasons if one.stopgap))
    look = (
        "Look for `partial write` in the log of the server or its writers: it names the field with another type, or "
        "the limit that is reached."
        if lost.dropped
        else "Look for `engine:` in the log of the server: it names what is full."
    )
    return Finding(
        subject=Subject(database.name),
        message=f"{did} {lost.since}{share}: {'; '.join(words)}.",
        # With a reason, or what is near to one, there is no room for more.
        headline=f"{did}: {reasons[0].words}" if reasons else f"{did}{named or f' {lost.since}'}",
        impact=impact if lost.is_recent else None,
        fix=" ".join([*quick, look]),
        stopgap=" ".join(quick),
        changes=tuple(change for one in reasons for change in one.changes),
        observed=lost.points,
        unit="points",
        main_contributor=next((one.column for one in reasons), None),
        evidence=(
            Evidence("points sent", number(lost.sent)),
            Evidence("points written", number(lost.accepted)),
            Evidence("points dropped", number(lost.dropped)),
            *([Evidence("points refused", number(lost.failed))] if lost.failed else []),
            *([Evidence("without new points", others)] if others else []),
        ),
        facts=("server_counters",),
    )


_MOST_NAMED: Final = 3
"""Reasons that the message names."""
_SEEN_BY: Final = frozenset({"measurements", "tag_keys", "tag_values", "field_types", "database_series"})
"""Facts that show which limits are reached, and which fields have several types."""


def _by_exclusion(case: Case, database: Database) -> str:
    """The reason, if none was seen: a conclusion only if the audit would have seen each of the others."""
    profile, inside = case.profile, case.profile.inside(database)
    of_product = {one.name: declared_limit(profile, one.name) for one in case.engine.limits}
    rejecting = [one for one in of_product.values() if one and _is_enforced(case, one)]
    if not rejecting and all(of_product.values()):
        return "this server enforces no limit, so a field most likely has another type than before"
    names = {one.name: len(profile.names(one.name)) for one in profile.databases}
    used = {
        "near-limit.columns": max((len(one.columns) for one in inside), default=0),
        "near-limit.measurements": names.get(database.name, 0),
    }
    left_out = [one.database for one in profile.listed if one.left_out]
    if not profile.selection.databases and not left_out:
        used["near-limit.server_measurements"] = sum(names.values())
        used["near-limit.databases"] = len(profile.wholes)
    counted = profile.server.settings if profile.server and database.series else {}
    counted = counted if all(tag.values for one in inside for tag in one.tags) else {}
    unseen = [*left_out, *(gap.database for gap in profile.gaps if gap.fact in _SEEN_BY)]
    is_hidden = any(name is None or profile.is_within(name, database.name) for name in unseen)
    # What the server's settings limit, `_limits_reached` has compared.
    is_far = (
        one.setting in counted if one.setting else used.get(one.name, inf) < case.harm.limit_warning * (one.value or 0)
        for one in rejecting
    )
    if rejecting and all(is_far) and not is_hidden:
        return "no limit of the server is near, so a field most likely has another type than before"
    return "the audit does not see why; a field may have another type than before, or a limit may be reached"


def _is_enforced(case: Case, limit: ServerLimit) -> bool:
    """Whether the server may reject what exceeds the limit."""
    is_enforced = case.engine.enforces_limits(case.profile) if limit.is_enforced is None else limit.is_enforced
    return is_enforced is not False


@dataclass(frozen=True, slots=True)
class _Reason:
    words: str
    column: str | None
    changes: tuple[Change, ...]
    stopgap: str = ""
    """What ends it until the cause is gone, in complete sentences; empty if there is no such way."""


def _reasons(case: Case, database: Database) -> Iterator[_Reason]:
    """Possible reasons for the server to drop points, as far as the audit can see, most likely first."""
    yield from _limits_reached(case, database)
    yield from _conflicts(case.profile.inside(database))


def _limits_reached(case: Case, database: Database) -> Iterator[_Reason]:
    inside, enforced = case.profile.inside(database), case.engine.enforces_limits(case.profile)
    if enforced is False:
        return
    unless = "" if enforced else ", if this server enforces that limit"
    for measurement in inside:
        limit = values_limit(case, measurement)
        for tag in measurement.tags:
            if limit.value and tag.values and tag.values.value >= case.harm.limit_critical * limit.value:
                used = f"{number(tag.values.value)} of the {number(limit.value)} values that one tag may have"
                words = f"tag {tag.key} of {measurement.name} has {used}{unless}"
                changes = remedies(measurement, tag.key, keeps_rows=case.engine.infers_roles)
                yield _Reason(words, tag.key, changes, stopgap(case, limit))
    series, limit = database.series.value if database.series else 0, series_limit(case)
    # A batch is dropped with all its new series, so the limit itself is seldom reached.
    if series >= case.harm.limit_warning * limit.value and limit.origin != "default":
        cause = main_tags(inside, keeps_rows=case.engine.infers_roles)
        words = f"the database has {number(series)} of the {number(limit.value)} series that it may have{unless}"
        if cause is not None:
            words += f", and {cause.causes(case.engine.words, min(cause.series / series, 1.0))}"
        changes = cause.changes if cause else ()
        yield _Reason(words, cause.tags[0] if cause else None, changes, stopgap(case, limit))


def _conflicts(inside: Sequence[Measurement]) -> Iterator[_Reason]:
    """Fields that have several types in the shards of one retention policy; those of one name and the same types of
    several measurements together.
    """
    found = defaultdict[tuple[str, tuple[str, ...]], list[Measurement]](list)
    for measurement in inside:
        for field in measurement.fields:
            if len(field.types) > 1:
                found[field.key, field.types].append(measurement)
    for (key, types), those in found.items():
        words = f"field {key} of {listed([one.name for one in those], _MOST_NAMED)} has several types: {listed(types)}"
        yield _Reason(words, key, tuple(Diagnose(subject_of(one), "types", key, types) for one in those))


_SILENT: Final = timedelta(days=1)
"""For so long, a measurement has had no point while others have; less if so many intervals are over sooner."""
_PAUSE: Final = timedelta(hours=1)
"""For so long, a sender may collect points before it sends them, however often they are measured."""


def _looked_at(case: Case, database: Database, inside: Sequence[Measurement]) -> list[tuple[datetime, Measurement]]:
    """The measurements with when their rows were read: in this audit, or in an earlier one that found dropped points.
    If figures are reused from any other one, points may have come since.
    """
    now = case.profile.window.end
    dropping = {point.day for point in case.timeline.of(_DROPPED, Subject(database.name)) if point.value}
    read = [(one.fingerprint_as_of or now, one) for one in inside]
    return [(at, one) for at, one in read if at == now or at.date() in dropping]


def _without_new_points(
    looked_at: Sequence[tuple[datetime, Measurement]], lost: _Lost, now: datetime
) -> tuple[str, str]:
    """The measurements that have had no point for a day, or 100 of their intervals, while most others have, in words;
    empty if there are none. First those that have had none for most of the time in which points were dropped: all of
    theirs may be among these. Then the others. `looked_at`: as from `_looked_at`.
    """
    ends = [(at, one.last_time, one) for at, one in looked_at if one.last_time is not None]
    newest = max((end for _, end, _ in ends), default=now)
    # Others that have points now had some when rows were read before.
    ages = [(newest - end if at == now else min(newest, at) - end, end, at, one) for at, end, one in ends]
    silent = sorted((end, one.name, age, at) for age, end, at, one in ages if age > _silence(one))
    if not silent or 2 * len(silent) > len(ends):
        return "", ""
    most = _SILENT if lost.took is None else min(lost.took / 2, _SILENT)
    named = [(end, name, at) for end, name, age, at in reversed(silent) if age > most]
    rest = [f"{name} since {instant(end)}" for end, name, age, _ in reversed(silent) if age <= most]
    others = listed(rest, _MOST_NAMED) if rest else ""
    if not named:
        return "", others
    names = listed([name for _, name, _ in named], _MOST_NAMED)
    verb = "has" if len(named) == 1 else "have"
    earlier = [at for _, _, at in named if at < now]
    saw = f", as the audit of {written(min(earlier).date())} saw" if earlier else ""
    return f"; {names} {verb} had no point since {instant(named[0][0])}, and others have{saw}", others


def _silence(measurement: Measurement) -> timedelta:
    """From how long on it is silent."""
    interval = regular_interval(measurement)
    return _SILENT if interval is None else min(max(ENOUGH * interval, _PAUSE), _SILENT)


def _of_other_policies(inside: Sequence[Measurement]) -> str:
    """The fields whose type in one retention policy is not that in another one, in words; empty if there are none. That
    is no conflict, and normal for averages of whole numbers, unless a writer sends the one type to the other policy.
    """
    types: dict[tuple[str, str], set[str]] = defaultdict(set)
    for measurement in inside:
        for field in measurement.fields:
            types[measurement.name, field.key].update(field.types)
    found = [f"{key} of {name} ({listed(sorted(kinds))})" for (name, key), kinds in types.items() if len(kinds) > 1]
    return f"; the types of {listed(found, _MOST_NAMED)} differ between its retention policies" if found else ""
