"""RET005."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from statistics import median_high
from typing import Final, NamedTuple

from tsaudit import costs
from tsaudit.analysis.columns.columns import is_number
from tsaudit.analysis.partition_ranges import range_of
from tsaudit.analysis.significance import ENOUGH
from tsaudit.model.figures import READ_BY_TIME
from tsaudit.model.finding import Currency, Evidence, Finding
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import EXPIRY_GRACE
from tsaudit.model.timeline import Point
from tsaudit.rule import Case, rule, subject_of, table_of
from tsaudit.text import day as written
from tsaudit.text import listed, many, number, size

_A_DAY: Final = timedelta(days=1)
_PATIENCE_DAYS: Final = 4
"""A job may miss a weekend and the day after it: our default."""
_LEAST_S: Final = 43_200
"""By less than this, the oldest time moves if somebody deletes single rows: jobs delete as much as is added."""
_PATIENCE_COUNTED: Final = 2
"""The same where the server counts what is deleted, so that every deletion is seen: our default."""
_CORRECTIONS: Final = 0.1
"""Fewer rows than this for each one that came are what somebody corrects by hand: our default."""
_MANY: Final = 0.5
"""From this share of the rows that ever came on, rows are deleted as a rule. If a single deletion removed this share of
all that were deleted, the table was emptied once: our default.
"""
_A_WEEK: Final = 7
_LATE: Final = 1.5
"""How many times as long as ever before nothing was deleted: our default."""
_ABOUT: Final = 0.2
"""How much the time for which rows are to be kept may differ from row to row, as a share: it runs from the beginning or
from the end of what they are about. What differs more is a date of something else, such as the end of a contract.
"""


@rule(
    code="RET005",
    title="Old rows are not deleted",
    costs={Currency.BYTES},
    guidelines=("F1", "H5"),
    requires={"null_counts"},
    uses={"partitions", "row_sample", "table_status", "time_extents"},
    shows={"storage"},
    engines=lambda engine: engine.infers_roles,
)
def stalled_deletion(case: Case) -> Iterator[Finding]:
    """Tables whose old rows, or partitions, were deleted regularly until a day, and have not been since, although new
    rows come; and tables whose rows say themselves when they may be removed, and stay.

    The audits of earlier days show how old the oldest row, or the oldest partition by time, was. Two deletions have to
    be known. Since the last one, more time than usual has to have passed: four days, and one and a half times as long
    as nothing was deleted before, which is a week or a month for a job that runs so rarely; and the oldest rows have to
    be older, by as much, than they were after any deletion. Without partitions, only rows within the window are seen,
    so a table that is kept for longer than that is not judged.

    PostgreSQL counts rows inserted and deleted, of tables of any kind. There, it is enough that half of the rows that
    came were deleted, and that hardly any have been for two days, and one and a half times as long as ever before,
    while new rows come and stay. Until a week of deletions was seen, half of the time for which rows were kept has to
    pass as well, because nobody knows how often the job runs. What was counted before a reset is left out, and so are
    tables that were emptied at once, and those with partitions.

    The cost is the bytes that would be gone, and those that come on each further day. Databases with a retention of
    their own are the subject of other rules.

    A column such as `expires_at` or `removal_time` says when a row may be removed if new rows get a time that is a day
    or more after their own, about the same number of days in all, and few of them the same. It is reported if the
    earliest such time was longer ago than rows are to be kept. What counts are rows whose time passed more than a month
    ago.

    ## Why it matters

    Nobody misses a job that does not run. The table grows on until the disk is full, or until somebody deletes months
    of rows at once, which is slow, and leaves dead rows.

    ## Example

    A job drops daily partitions after 21 days. Its server was replaced on Tuesday: five days later, 26 days are kept.

    ## Fix

    Find the job, have it run again, and let somebody know when it fails. It will delete what is left. If rows are kept
    longer on purpose, mute the finding: it ends once deletions go on.

    ## References

    - Partition maintenance, PostgreSQL:
      https://www.postgresql.org/docs/current/ddl-partitioning.html#DDL-PARTITIONING-DECLARATIVE-MAINTENANCE
    - Jobs by pg_cron: https://github.com/citusdata/pg_cron
    """
    for measurement in case.measurements:
        is_read_by_time = measurement.kind is None or measurement.kind in READ_BY_TIME
        stalled = _stalled(case, measurement) if is_read_by_time else None
        stalled = stalled or _stalled_by_count(case, measurement)
        if stalled is not None:
            yield _finding(case, measurement, stalled)
        elif (kept := _meant_to_be_kept(case, measurement)) is not None:
            yield _outlived(case, measurement, kept)


def _meant_to_be_kept(case: Case, measurement: Measurement) -> float | None:
    """For how many days rows are to be kept, as they say themselves, of a table that keeps them for too long; None for
    others.
    """
    expiry, now = measurement.expiry, case.profile.window.end
    lag = next((field.lag for field in measurement.fields if expiry and field.key == expiry.column), None)
    if expiry is None or lag is None or lag.rows < ENOUGH:
        return None
    kept = -lag.median_s / _A_DAY.total_seconds()
    is_period = kept >= 1 and lag.spread_s <= -_ABOUT * lag.median_s
    return kept if is_period and (now - expiry.first) / _A_DAY > kept else None


def _outlived(case: Case, measurement: Measurement, kept: float) -> Finding:
    expiry, now = measurement.expiry, case.profile.window.end
    assert expiry is not None
    statement, types = "", next(field.types for field in measurement.fields if field.key == expiry.column)
    # A date is below no number, or above all of them.
    if not any(map(is_number, types)):
        table, column = case.engine.quoted(table_of(measurement)), case.engine.quoted(expiry.column)
        statement = f": `DELETE FROM {table} WHERE {column} < '{written(now)}'`"  # noqa: S608 -- shown, never run
    overdue, late = expiry.overdue.value, (now - expiry.first) / _A_DAY
    priced = costs.of_bytes(case, measurement, 0, how=f"the rows whose {expiry.column} passed a month ago")
    held = (priced.whole or 0.0) * min(overdue / max(expiry.rows, 1), 1.0)
    since = max(late - EXPIRY_GRACE / _A_DAY, 1.0)
    impact = replace(priced, now=held, per_day=held / since, kept_days=None, ahead_days=None)
    first, after = written(expiry.first), many(round(kept), "day")
    said = f"Rows stay beyond {expiry.column}, {after} after their time: the earliest passed on {first}"
    return Finding(
        subject=subject_of(measurement, expiry.column),
        impact=impact if held else None,
        severity_reason="" if held else "the bytes of the table are not known",
        message=f"{said}; {many(overdue, 'row')} could have gone a month ago, about {size(held)}."
        if held
        else f"{said}; {many(overdue, 'row')} could have gone a month ago.",
        headline=f"Rows stay up to {many(round(late), 'day')} beyond {expiry.column}",
        fix="Find the job, or the setting of the program, that is to remove them, and why it does not. If there is "
        f"none, remove them regularly, a part at a time{statement}. If they are kept on purpose, mute the finding.",
        observed=round(late),
        unit="days",
        evidence=(
            Evidence("to be kept for", after),
            Evidence("rows that could have gone a month ago", number(overdue)),
            Evidence("earliest time of removal", first),
            Evidence("latest time of removal", written(expiry.last)),
        ),
        facts=("time_extents", "null_counts", "row_sample"),
        source=expiry.overdue.source,
    )


@dataclass(frozen=True, slots=True)
class _Stalled:
    since: date
    """The day of the audit that saw the last deletion."""
    kept: float
    """How many days old the oldest rows were after a deletion, at most."""
    age: float
    """How many days old they are now, or are at least."""
    said: str
    """What shows it, as a part of a sentence."""
    is_by_time: bool = True


def _stalled(case: Case, measurement: Measurement) -> _Stalled | None:
    points, day = case.usual("oldest_time", subject_of(measurement)), case.profile.day
    oldest, first = case.profile.oldest_time(measurement), measurement.first_time
    is_least = oldest is None
    if oldest is None and first is not None and measurement.own_window is None:
        # There are rows from before the window: all that was kept within it before is still there.
        oldest = first if points and points[-1].value <= first.timestamp() else None
    last = measurement.last_time
    if oldest is None or last is None:
        return None
    now = points[-1].value if is_least else oldest.timestamp()
    moves = [(a, b) for a, b in pairwise((*points, Point(day, now))) if b.value - a.value > _LEAST_S]
    if len(moves) < 2:
        return None
    since = moves[-1][1].day
    pauses = [(after.day - before.day).days for (_, before), (after, _) in pairwise(moves)]
    # Where no pause was seen, what is deleted at once shows it.
    pause = max(*pauses, median_high((b.value - a.value) / _A_DAY.total_seconds() for a, b in moves) - 1)
    kept, age = max(_age(moved) for _, moved in moves), _age(Point(day, oldest.timestamp()))
    late = _PATIENCE_DAYS + _LATE * pause
    is_stalled = min((day - since).days, age - kept + 1) >= late and 2 * (case.profile.window.end - last) <= day - since
    if not is_stalled or not _is_too_long(case, measurement, kept, age, pause):
        return None
    said = f"until {written(since)} they were kept for {many(round(kept), 'day')}, and now the oldest are "
    return _Stalled(since, kept, age, f"{said}{'at least ' if is_least else ''}{many(round(age), 'day')} old")


def _is_too_long(case: Case, measurement: Measurement, kept: float, age: float, pause: float) -> bool:
    """Whether a job that pauses for so many days made room regularly, and rows are older than the retention allows."""
    declared = costs.kept_days(case, measurement)
    return kept >= 2 * (pause + 1) and (declared is None or age > declared + pause + 1)


def _stalled_by_count(case: Case, measurement: Measurement) -> _Stalled | None:
    points = _counted(case, measurement)
    live = measurement.status.figures.get("live_rows") if measurement.status else None
    if live is None or len(points) < 2 or points[-1].inserted == points[-2].inserted:
        return None
    moves = [
        (a, b) for a, b in pairwise(points) if b.deleted - a.deleted > max(_CORRECTIONS * (b.inserted - a.inserted), 0)
    ]
    last, now = moves[-1][1] if moves else points[0], points[-1]
    silent, came = (now.day - last.day).days, now.inserted - last.inserted
    is_usual = last.deleted >= _MANY * last.inserted
    if not silent or not is_usual or any(b.deleted - a.deleted >= _MANY * last.deleted for a, b in moves):
        return None
    pause = max(((after.day - before.day).days for (_, before), (after, _) in pairwise(moves)), default=0)
    kept, age = (live - came) / came * silent, live / came * silent
    is_known = bool(moves) and (last.day - moves[0][0].day).days >= _A_WEEK
    late = max(_PATIENCE_COUNTED + _LATE * pause, 0 if is_known else kept / 2)
    if silent < late or not _is_too_long(case, measurement, kept, age, pause):
        return None
    said = f"{many(round(last.deleted), 'row')} were deleted until {written(last.day)}, and {number(round(came))} came"
    return _Stalled(last.day, kept, age, f"{said} since", is_by_time=False)


class _Counts(NamedTuple):
    day: date
    inserted: float
    deleted: float


def _counted(case: Case, measurement: Measurement) -> list[_Counts]:
    """What the server had counted at each audit, up to this one, since the counters began, or since the table was
    recreated. Empty for partitions: what is dropped with one is no longer counted.
    """
    status, at = measurement.status, subject_of(measurement)
    if status is None or status.counted_since is None or measurement.partitioning is not None:
        return []
    names, began = ("rows_inserted", "rows_deleted"), status.counted_since.timestamp()
    inserted, deleted = ({point.day: point.value for point in case.timeline.of(name, at)} for name in names)
    days = [point.day for point in case.usual("counted_since", at) if point.value == began]
    found = [_Counts(day, inserted[day], deleted[day]) for day in days if day in inserted and day in deleted]
    found.append(_Counts(case.profile.day, *(status.counters.get(name, 0.0) for name in names)))
    lower = [i for i, (a, b) in enumerate(pairwise(found), start=1) if b.inserted < a.inserted or b.deleted < a.deleted]
    return found[lower[-1] if lower else 0 :]


def _age(point: Point) -> float:
    """How old what it shows was when its day began, in days."""
    begin = datetime(point.day.year, point.day.month, point.day.day, tzinfo=UTC)
    return (begin.timestamp() - point.value) / _A_DAY.total_seconds()


def _finding(case: Case, measurement: Measurement, stalled: _Stalled) -> Finding:
    since, kept, age = written(stalled.since), round(stalled.kept), round(stalled.age)
    priced = costs.of_bytes(case, measurement, 0, how="the part of the days for which rows are kept too long")
    held = priced.whole or 0.0
    impact = replace(priced, now=held * (age - kept) / age, per_day=held / age, kept_days=None, ahead_days=None)
    message = f"Old rows are no longer deleted: {stalled.said}"
    until = datetime(case.profile.day.year, case.profile.day.month, case.profile.day.day, tzinfo=UTC) - kept * _A_DAY
    meanwhile = f"Until it runs again, {_deletion(case, measurement, until)}. " if stalled.is_by_time else ""
    return Finding(
        subject=subject_of(measurement),
        impact=impact if held else None,
        severity_reason="" if held else "the bytes of the table are not known",
        message=f"{message}; about {size(impact.now)} are there for too long." if held else f"{message}.",
        headline=f"Old rows are no longer deleted since {since}",
        fix=f"Find the job that deleted them, and why it has not since {since}. {meanwhile}If they are kept longer on "
        "purpose, mute the finding.",
        observed=float(age),
        unit="days",
        baseline=float(kept),
        evidence=(
            Evidence("kept until then", many(kept, "day")),
            Evidence("kept now", many(age, "day")),
            Evidence("last deletion seen", since),
        ),
        since=stalled.since,
        facts=("null_counts", "partitions") if stalled.is_by_time else ("table_status", "storage"),
    )


def _deletion(case: Case, measurement: Measurement, until: datetime) -> str:
    """What removes the rows that should be gone, as a part of a sentence."""
    parts: Sequence[str] = ()
    if measurement.partitioning is not None:
        ranges = [
            (found, part.name) for part in measurement.partitioning.partitions if (found := range_of(part.bounds))
        ]
        parts = [name for (_, end), name in sorted(ranges, key=lambda one: one[0][1]) if end <= until]
    if parts:
        return f"drop {listed(parts)}"
    if measurement.time_column is None or is_number(measurement.time_type or ""):
        return f"delete the rows from before {written(until)}"
    table, time = case.engine.quoted(table_of(measurement)), case.engine.quoted(measurement.time_column)
    return f"`DELETE FROM {table} WHERE {time} < '{written(until)}'`"  # noqa: S608 -- shown, never run
