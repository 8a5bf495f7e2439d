"""SRV001."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from tsaudit.model.finding import Evidence, Finding
from tsaudit.model.impact import Currency, Impact
from tsaudit.model.profile import ServerStatus
from tsaudit.model.subject import Subject
from tsaudit.rule import Case, rule
from tsaudit.text import day as written
from tsaudit.text import many, number, percent

_DROPPED, _WRITTEN = "points_dropped", "points_written"


@rule(
    code="SRV001",
    title="The server drops points",
    costs={Currency.REJECTED},
    guidelines=("A1", "C7"),
    requires={"server_status"},
)
def dropped_points(case: Case) -> Iterator[Finding]:
    """Points that the server dropped since the audit before, by its own counters.

    A server drops points if a field has another type than before in the same shard, or if they need new series beyond
    `max-series-per-database` or `max-values-per-tag`. It does not count points beyond the retention here, which nobody
    wants to keep. Counters begin at the server's start: after a restart, and on the first audit if the server has run
    for a day at most, all of them count; a longer past is a note, because nobody knows when it was. Users who are no
    administrators need the right to read `_internal`, where the server records the counters, but not its start.

    ## Why it matters

    Dropped points are lost. The writer gets an error, `partial write`, that many clients only log.

    ## Example

    A new firmware sends `status` as text instead of an integer: every point with it is dropped, with all its fields,
    until a new shard begins.

    ## Fix

    Find the reason in the writer's log or the server's: `field type conflict`, `max-series-per-database limit
    exceeded`, or `max-values-per-tag limit exceeded`. Write the new type under another name, or stop the tag that makes
    the series.

    ## References

    - Errors of the write endpoint: https://docs.influxdata.com/influxdb/v1/tools/api/#write-http-endpoint
    - `SHOW STATS`: https://docs.influxdata.com/influxdb/v1/administration/server_monitoring/#show-stats
    """
    status = case.profile.server
    if status is None:
        return
    for database in case.profile.wholes:
        lost = _lost(case, status, database.name)
        if lost is not None and lost.points > 0:
            yield _finding(case, database.name, lost)


@dataclass(frozen=True, slots=True)
class _Lost:
    points: int
    written: int
    since: str
    """In words."""
    is_recent: bool
    """Since the audit before, or within a day."""
    goes_on: bool


def _lost(case: Case, status: ServerStatus, database: str) -> _Lost | None:
    """None if the server does not tell. A shard that expires takes its counters along, so this is the least."""
    points, accepted = status.counted(_DROPPED, database), status.counted(_WRITTEN, database) or 0
    if points is None:
        return None
    past = case.timeline.of(_DROPPED, Subject(database))
    goes_on = len(past) > 1 and past[-1].value not in (0, past[-2].value)
    day = case.timeline.previous
    before = day.server if day else None
    if before and day and (before.started == status.started or None in (before.started, status.started)):
        points -= before.counted(_DROPPED, database) or 0
        accepted = max(accepted - (before.counted(_WRITTEN, database) or 0), 0)
        return _Lost(points, accepted + points, f"since the audit of {written(day.day)}", True, goes_on)
    if status.started is None:
        return _Lost(points, accepted + points, "since the server started", False, goes_on)
    is_recent = before is not None or case.profile.collected_at - status.started <= timedelta(days=1)
    since = f"since the server started on {written(status.started.date())}"
    return _Lost(points, accepted + points, since, is_recent, goes_on)


def _finding(case: Case, database: str, lost: _Lost) -> Finding:
    share = f", {percent(lost.points / lost.written)} of those written" if lost.written else ""
    how = "the server's counter writePointsDropped of its shards"
    impact = Impact(Currency.REJECTED, now=lost.points, whole=lost.written, goes_on=lost.goes_on, how=how)
    return Finding(
        subject=Subject(database),
        message=f"The server dropped {many(lost.points, 'point')} {lost.since}{share}.",
        impact=impact if lost.is_recent else None,
        fix="Look for `partial write` in the log of the server or its writers: it names the field with another type, "
        "or the limit that is reached.",
        observed=lost.points,
        unit="points",
        evidence=(
            Evidence("points dropped", number(lost.points)),
            Evidence("points written", number(lost.written)),
            *_limits(case, database),
        ),
        facts=("server_status",),
    )


def _limits(case: Case, database: str) -> Iterator[Evidence]:
    status = case.profile.server
    limit = status.settings.get("max_series_per_database") if status else None
    series = next((d.series.value for d in case.profile.databases if d.name == database and d.series), None)
    if limit and series:
        yield Evidence("series of the database", f"{number(series)}, the server's limit is {number(limit)}")
