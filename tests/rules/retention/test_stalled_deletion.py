"""RET005: a job that deletes old rows has stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pytest

from tests.builders import DAY, NOW, a_count, a_field, a_measurement, a_profile
from tests.collecting import collected
from tests.databases import Row, Table
from tests.rules.cases import Case, History, dataset, run_rule
from tests.servers import Postgresql
from tsaudit.analysis.columns.columns import names_removal
from tsaudit.config.settings import Target
from tsaudit.model.columns import TimeLag
from tsaudit.model.figures import FOREVER, Subject, TableKind
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.rows import Expiry
from tsaudit.model.server import TableStatus
from tsaudit.model.storage import Partition, Partitioning, Retention, Storage
from tsaudit.model.timeline import Episode, Point, Timeline, figures
from tsaudit.rules.retention.stalled_deletion import stalled_deletion as rule

GB: Final = 1_000_000_000
A_DAY: Final = timedelta(days=1)
AT: Final = Subject("main", "cpu")


def _begin(days: float) -> datetime:
    """So many days before the audited day began."""
    return datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC) - days * A_DAY


def _history(ages: Sequence[float | None], subject: Subject = AT) -> Timeline:
    """How old the oldest rows were on the days before, up to yesterday; None for a day without an audit."""
    days = [DAY - timedelta(days=len(ages) - i) for i in range(len(ages))]
    points = [
        Point(day, (_begin((DAY - day).days + age)).timestamp())
        for day, age in zip(days, ages, strict=True)
        if age is not None
    ]
    return Timeline(points={("oldest_time", subject): tuple(points)})


def _of_file(ages: Sequence[float]) -> History:
    return lambda profile: _history(ages, Subject(profile.databases[0].name, "cpu"))


STOPPED: Final = (21, 21, 21, 22, 23, 24, 25)
"""The oldest rows of the example: dropped after 21 days until the third day; on the audited day they are 26 days old.
"""
ROWS: Final = [Row(NOW - timedelta(hours=1 + 2 * i), {"host": "a"}, {"usage": 1.5 + i}) for i in range(12 * 26)]
DAILY: Final = dataset(Table("cpu", ["host"], {"usage": "float"}, ROWS, key=("time", "host")))
CASES: Final = (
    Case(
        breaks=DAILY,
        keeps=DAILY,
        subject=Subject("", "cpu"),
        history=_of_file(STOPPED),
        quiet_history=_of_file([26] * 7),
    ),
)


def _cpu(age: float, **changes: Any) -> Measurement:
    return a_measurement(**{"first_time": _begin(age), "storage": Storage(26 * GB, 0)} | changes)


def _found(ages: Sequence[float | None], age: float, **changes: Any) -> Finding | None:
    profile = a_profile(_cpu(age, **changes), engine="postgresql")
    findings = run_rule(rule, profile, timeline=_history(ages)).findings
    return findings[0] if findings else None


def test_warning_when_a_daily_deletion_has_stopped() -> None:
    finding = _found(STOPPED, 26)
    assert finding is not None
    assert finding.message == (
        "Old rows are no longer deleted: until 2026-03-26 they were kept for 21 days, and now the oldest are 26 days "
        "old; about 5 GB are there for too long."
    )
    assert finding.severity is Severity.WARNING
    assert finding.since == date(2026, 3, 26)
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.now, finding.impact.per_day) == (Currency.BYTES, 5 * GB, GB)
    assert '`DELETE FROM "main"."cpu" WHERE "time" < \'2026-03-10\'`' in finding.fix


@pytest.mark.parametrize(("held", "severity"), [(8_000_000, "warning"), (6_000_000, "note"), (None, "note")])
def test_severity_follows_the_bytes_of_a_year(held: int | None, severity: str) -> None:
    finding = _found(STOPPED, 26, storage=Storage(held, 0))
    assert finding is not None
    assert finding.severity == severity


WEEKLY: Final = [22 + day % 7 for day in range(28)]
MONTHLY: Final = [118, 119, *range(90, 120), *range(90, 120)]
WEEKDAYS: Final = [[21, 21, 21, 21, 21, 22, 23][day % 7] for day in range(21)]


@pytest.mark.parametrize(
    ("ages", "age"),
    [
        ([21] * 7, 21),
        # Not before several runs have failed.
        ((21, 21, 21, 22, 23), 24),
        # Once a week, once a month, and on weekdays: the next one is not due yet, or late for the first time.
        (WEEKLY, 22),
        ([*WEEKLY, *range(22, 34)], 34),
        (MONTHLY, 90),
        ([*MONTHLY, *range(90, 136)], 136),
        ([*WEEKDAYS, 21, 21, 21, 21, 21, 22, 23], 24),
        # A deletion in two parts, on Saturday and Sunday, seen for the first time.
        ((27, 27, 21, 22, 23, 24, 25, 26), 27),
        # The only deletion that anybody saw.
        ((25, 25, 26, 27, 28), 29),
        # Somebody makes room, month by month.
        ((250, 220, 190, 160, 130, 100, 101, 102, 103, 104, 105), 106),
        # Three weeks ago, nothing was written for six days: the oldest row stays until it is as old as usual.
        ((21, 21, 21, 15, 16, 17, 18, 19, 20), 21),
        # Jobs that wait: the oldest is sometimes one that fails.
        ((0.1, 0.2, 0.1, 1.1, 2.1, 3.1, 4.1, 5.1, 6.1), 7.1),
        # Old rows were loaded, and the job has not run since.
        ((21, 21, 21, 21, 40), 41),
        # A retention that nobody carries out, or that is about to become one.
        (range(20, 60), 60),
    ],
)
def test_silence_when_the_next_deletion_may_come(ages: Sequence[float], age: float) -> None:
    assert _found(ages, age, partitioning=_cut(age)) is None


@pytest.mark.parametrize(
    ("ages", "age"),
    [
        ([*WEEKLY, *range(22, 35)], 35),
        ([*MONTHLY, *range(90, 138)], 138),
        ([*WEEKDAYS, *range(21, 28)], 28),
        # What audits that are missing did not see counts as a pause.
        ((21, None, None, 21, None, 21, 22, None, 24, 25, 26, 27), 28),
    ],
)
def test_found_when_it_is_late_by_its_own_measure(ages: Sequence[float | None], age: float) -> None:
    assert _found(ages, age, partitioning=_cut(age)) is not None


def test_earlier_incident_is_no_pause() -> None:
    """It stopped before for 18 days, and somebody repaired it."""
    timeline = _history([*[21] * 5, *range(22, 40), *[21] * 9, 22, 23, 24])
    profile = a_profile(_cpu(25, partitioning=_cut(25)), engine="postgresql")
    assert not run_rule(rule, profile, timeline=timeline).findings
    known = Episode(rule.code, AT, DAY - 30 * A_DAY, DAY - 12 * A_DAY)
    assert run_rule(rule, profile, timeline=replace(timeline, episodes=(known,))).findings


def _cut(age: float) -> Partitioning:
    """A partition a day, the oldest of which is so old."""
    bounds = [(_begin(age - day), _begin(age - day - 1)) for day in range(round(age) + 2)]
    parts = [Partition(f"cpu_{a:%m%d}", f"FOR VALUES FROM ('{a}') TO ('{b}')", 10, GB) for a, b in bounds]
    return Partitioning(("time",), len(parts), tuple(parts), first_begin=bounds[0][0])


def test_partitions_that_should_have_been_dropped_are_named() -> None:
    finding = _found(STOPPED, 26, partitioning=_cut(26))
    assert finding is not None
    assert "drop cpu_0305, cpu_0306, cpu_0307, cpu_0308, and cpu_0309" in finding.fix


def test_rows_that_are_older_than_the_window_are_still_there() -> None:
    for unknown, age in ((0, 29), (3, 29.75)):
        finding = _found([*STOPPED, *range(26, 29), *[None] * unknown], age)
        assert finding is not None
        assert f"and now the oldest are at least {round(age)} days old" in finding.message
    # Later rows are the oldest: what was there before is gone.
    assert _found([*STOPPED, 26], 29.75) is None


def test_silence_when_nothing_is_written_anymore() -> None:
    assert _found(STOPPED, 26, last_time=NOW - 2 * A_DAY) is not None
    assert _found(STOPPED, 26, last_time=NOW - 3 * A_DAY) is None
    assert _found(STOPPED, 26, last_time=None) is None


def test_silence_within_the_retention_that_is_set() -> None:
    """Somebody made it longer, and the server keeps to it."""
    for kept, is_found in ((20 * 86_400, True), (30 * 86_400, False), (FOREVER, True)):
        finding = _found(STOPPED, 26, retention=Retention("drop_chunks", kept, None, default=True))
        assert (finding is not None) is is_found


def test_single_rows_that_somebody_deletes_are_no_run_of_the_job() -> None:
    assert _found(STOPPED, 25.7) is not None


def test_silence_when_the_oldest_row_is_not_known() -> None:
    assert _found(STOPPED, 26, first_time=None) is None


def test_job_of_a_server_that_drops_partitions_and_stops(postgresql: Postgresql) -> None:
    """Three days with it, and five without; on every day, a partition is added and rows are written.

    Partitions are kept for longer than the window, and what is no series for four days.
    """
    first, stopped = date(2026, 11, 22), date(2026, 11, 24)
    schema = postgresql.new_schema(
        "CREATE TABLE cpu (ts TIMESTAMPTZ NOT NULL, host TEXT NOT NULL, v FLOAT) PARTITION BY RANGE (ts)",
        "CREATE TABLE raw (ts TIMESTAMPTZ NOT NULL, host TEXT NOT NULL, v FLOAT)",
        "CREATE TABLE body (id INT PRIMARY KEY, content TEXT)",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    points: dict[tuple[str, Subject], tuple[Point, ...]] = {}
    found = {}
    for day in (first + n * A_DAY for n in range(-37, 8)):
        with postgresql.connect() as session:
            session.execute(f"SET search_path = {schema}".encode())
            session.execute(
                f"CREATE TABLE c_{day:%m%d} PARTITION OF cpu FOR VALUES FROM ('{day}') TO ('{day + A_DAY}')".encode()
            )
            for name in ("cpu", "raw"):
                hours = "generate_series(0, 5) AS i"
                session.execute(
                    f"INSERT INTO {name} SELECT '{day}'::date + i * INTERVAL '1 hour', 'h', i FROM {hours}".encode()
                )
            last = 100 * (day - first).days
            session.execute(f"INSERT INTO body SELECT i, 'x' FROM generate_series({last} - 99, {last}) AS i".encode())
            if day <= stopped:
                session.execute(f"DELETE FROM body WHERE id <= {last} - 400".encode())
                session.execute(f"DELETE FROM raw WHERE ts < '{day - 21 * A_DAY}'".encode())
                session.execute(f"DROP TABLE IF EXISTS c_{day - 36 * A_DAY:%m%d}".encode())
            session.execute("SELECT pg_stat_force_next_flush()")
        if day < first:
            continue
        now = datetime(day.year, day.month, day.day, 6, tzinfo=UTC)
        profile = collected(target, now=now, day=day)
        result = run_rule(rule, profile, timeline=Timeline(points=points))
        assert result.outcome is not Outcome.OPEN, result.gaps
        found[day] = {f.subject.measurement: f.since for f in result.findings}
        for one in figures(profile):
            if one.name in ("oldest_time", "counted_since", "rows_inserted", "rows_deleted"):
                points[one.name, one.subject] = (*points.get((one.name, one.subject), ()), Point(day, one.value))
    late, counted = dict.fromkeys(("cpu", "raw", "body"), stopped), {"body": stopped}
    by_day = {day: counted if day >= date(2026, 11, 26) else {} for day in found}
    assert found == {day: late if day >= date(2026, 11, 28) else by_day[day] for day in found}


BEGAN: Final = NOW - 300 * A_DAY
Counted = tuple[float, float]
"""Rows inserted and deleted until the end of a day."""


def _run(deletes: str, *, kept: int = 7, before: int = 10, a_day: int = 1_000) -> list[Counted]:
    """What a server has counted on each day, given a letter for each: `d` for a job that deletes what is older than
    `kept` days, `c` for one row that somebody corrects, `e` for an emptied table, `.` for none. The job has run for
    `before` days before the first one.
    """
    rows, inserted, deleted = a_day * kept, float(a_day * (kept + before)), float(a_day * before)
    found = []
    for letter in deletes:
        rows, inserted = rows + a_day, inserted + a_day
        gone = {"d": max(rows - a_day * kept, 0), "c": 1, "e": rows, ".": 0}[letter]
        rows, deleted = rows - gone, deleted + gone
        found.append((inserted, deleted))
    return found


def _by_count(
    counted: Sequence[Counted],
    *,
    live: float | None = None,
    began: Sequence[datetime] = (),
    episodes: tuple[Episode, ...] = (),
    **changes: Any,
) -> Finding | None:
    """What is found on the audited day, the last one, from the counters alone; `live`: the rows that are left."""
    days = [DAY - (len(counted) - 1 - i) * A_DAY for i in range(len(counted))]
    begins = began or [BEGAN] * len(counted)
    rows = [(day, since.timestamp(), *both) for day, since, both in zip(days, begins, counted, strict=True)]
    points = {
        (name, AT): tuple(Point(row[0], row[i]) for row in rows[:-1])
        for i, name in enumerate(("counted_since", "rows_inserted", "rows_deleted"), start=1)
    }
    inserted, deleted = counted[-1]
    status = TableStatus(
        {"rows_inserted": inserted, "rows_deleted": deleted},
        {"live_rows": inserted - deleted if live is None else live},
        counted_since=begins[-1],
    )
    job = a_measurement(
        **{"kind": TableKind.ENTITY, "storage": Storage(26 * GB, 0), "status": status, "first_time": None} | changes
    )
    timeline = Timeline(points=points, episodes=episodes)
    findings = run_rule(rule, a_profile(job, engine="postgresql"), timeline=timeline).findings
    return findings[0] if findings else None


def test_warning_when_the_server_counts_no_deletion_anymore() -> None:
    """Whatever the rows are: here, they are executions, whose times may be those of changes."""
    finding = _by_count(_run("dddddddd.."))
    assert finding is not None
    assert finding.message == (
        "Old rows are no longer deleted: 18,000 rows were deleted until 2026-03-29, and 2,000 came since; about "
        "5.78 GB are there for too long."
    )
    assert finding.severity is Severity.WARNING
    assert finding.since == date(2026, 3, 29)
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(26 * GB * 2 / 9)
    assert finding.impact.per_day == pytest.approx(26 * GB / 9)
    assert "DELETE" not in finding.fix, "no time says which rows those are"
    small = _by_count(_run("dddddddd.."), storage=Storage(1_000_000, 0))
    assert small is not None
    assert small.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("days", "found"),
    [
        ("dddddddd", False),
        # A day without one may be a server that was down.
        ("dddddddd.", False),
        ("dddddddd..", True),
        # What somebody corrects is no run of the job.
        ("ddddddddcc", True),
        # On weekdays, and a Monday off.
        ("dddd..ddddd..", False),
        ("dddd..ddddd..d..", False),
        ("dddd..ddddd..d....", False),
        ("dddd..ddddd..d.....", True),
        # Nobody knows of the weekend yet, nor how often it ran before.
        ("dd..", False),
        ("ddd...", False),
        ("ddd....", True),
        ("....", False),
        (".....", True),
    ],
)
def test_silence_until_a_deletion_is_late_by_what_the_server_counted(days: str, found: bool) -> None:
    assert (_by_count(_run(days)) is not None) is found


@pytest.mark.parametrize(("pause", "late"), [(6, 11), (29, 46)])
def test_weekly_and_monthly_deletions_are_late_by_their_own_measure(pause: int, late: int) -> None:
    runs, kept = 3 * ("d" + pause * "."), 3 * pause
    assert _by_count(_run(runs + "d" + (late - 1) * ".", kept=kept)) is None
    assert _by_count(_run(runs + "d" + late * ".", kept=kept)) is not None
    # The first audit was right after a deletion, and no other one was seen.
    assert _by_count(_run("." * (pause + 1), kept=kept)) is None


@pytest.mark.parametrize("deletes", ["." * 20, "c" * 20, 8 * "c" + 12 * "."])
def test_silence_for_tables_whose_rows_are_rarely_deleted(deletes: str) -> None:
    assert _by_count(_run(deletes, before=5)) is None


def test_silence_for_a_table_that_was_emptied_at_once() -> None:
    assert _by_count(_run("........e" + 20 * ".", before=0)) is None
    # By the audit, rows had come again.
    assert _by_count([(i, 0.0 if i < 9_000 else 6_000.0) for i in range(1_000, 30_000, 1_000)]) is None


def test_silence_for_truncate() -> None:
    """The server does not count what it removes."""
    counted = _run("dddddddd......")
    assert _by_count(counted) is not None
    assert _by_count(counted, live=1_000) is None
    assert _by_count(counted, live=6_000) is None


def test_silence_when_partitions_may_be_dropped() -> None:
    assert _by_count(_run("dddddddd..")) is not None
    assert _by_count(_run("dddddddd.."), partitioning=Partitioning(("time",), 1, ())) is None


def test_counts_from_before_a_reset_do_not_count() -> None:
    counted = _run("ddddddddd..")
    anew = [*[BEGAN] * 9, *[NOW - 2 * A_DAY] * 2]
    assert _by_count(counted) is not None
    assert _by_count(counted, began=anew) is None
    # A table that was recreated, and of which nothing was deleted since.
    assert _by_count([*counted[:8], *[(1_000.0 * day, 0.0) for day in range(1, 41)]]) is None


def test_earlier_incident_is_no_pause_of_what_is_counted() -> None:
    counted = _run("dddddddd" + "." * 9 + "dddddddd..", kept=30, before=60)
    assert _by_count(counted) is None
    known = Episode(rule.code, AT, DAY - 19 * A_DAY, DAY - 9 * A_DAY)
    assert _by_count(counted, episodes=(known,)) is not None


def test_silence_when_no_rows_come_anymore() -> None:
    counted = _run("dddddddd..")
    assert _by_count([*counted, counted[-1]]) is None


def test_silence_for_a_queue() -> None:
    """Rows stay for less than a day; that nobody takes them is no retention that has stopped."""
    assert _by_count(_run("dddddddd..", kept=0)) is None
    assert _by_count(_run("dddddddd..", kept=1)) is None


THIRTY: Final = TimeLag(1_000, 0.0, -30 * 86_400.0, 40 * 3_600.0)
"""Each row may be removed thirty days after it ended, which is up to two days after it began."""
OVERDUE: Final = Expiry("removal_time", NOW - 370 * A_DAY, NOW + 30 * A_DAY, 400_000, a_count(340_000))


@pytest.mark.parametrize(
    ("expiry", "lag", "found"),
    [
        (OVERDUE, THIRTY, True),
        # Kept for less than twice as long as meant.
        (replace(OVERDUE, first=NOW - 300 * A_DAY), replace(THIRTY, median_s=-365 * 86_400.0), False),
        # Contracts end after any time; a lease is renewed each minute; too few rows.
        (OVERDUE, replace(THIRTY, spread_s=300 * 86_400.0), False),
        (OVERDUE, replace(THIRTY, median_s=-60.0, spread_s=1.0), False),
        (OVERDUE, replace(THIRTY, rows=99), False),
        (OVERDUE, None, False),
        (None, THIRTY, False),
    ],
)
def test_rows_that_stay_beyond_the_time_at_which_they_may_be_removed(
    expiry: Expiry | None, lag: TimeLag | None, found: bool
) -> None:
    field = replace(a_field("removal_time", ("timestamp",)), lag=lag)
    for kind in (TableKind.ENTITY, None):
        activity = a_measurement("activity", fields=(field,), expiry=expiry, kind=kind, storage=Storage(400_000_000, 0))
        findings = run_rule(rule, a_profile(activity, engine="postgresql")).findings
        assert len(findings) == found
        for finding in findings:
            assert finding.severity is Severity.WARNING
            assert finding.message == (
                "Rows stay beyond removal_time, 30 days after their time: the earliest passed on 2025-03-26; 340,000 "
                "rows could have gone a month ago, about 340 MB."
            )
            assert finding.impact is not None
            assert finding.impact.now == pytest.approx(340_000_000)
            assert finding.impact.per_day == pytest.approx(340_000_000 / 339)
            assert '`DELETE FROM "main"."activity" WHERE "removal_time" < \'2026-03-31\'`' in finding.fix


def test_no_statement_compares_numbers_with_a_date() -> None:
    """In SQLite, all numbers are below all texts: it would delete every row."""
    for types, is_shown in ((("INTEGER",), False), (("TEXT",), True)):
        field = replace(a_field("removal_time", types), lag=THIRTY)
        activity = a_measurement("activity", fields=(field,), expiry=OVERDUE, storage=Storage(400_000_000, 0))
        (finding,) = run_rule(rule, a_profile(activity, engine="sqlite")).findings
        assert ("DELETE" in finding.fix) is is_shown


def test_one_row_that_nobody_can_remove_is_a_note() -> None:
    field = replace(a_field("removal_time", ("timestamp",)), lag=THIRTY)
    expiry = replace(OVERDUE, overdue=a_count(1))
    activity = a_measurement("activity", fields=(field,), expiry=expiry, storage=Storage(400_000_000, 0))
    (finding,) = run_rule(rule, a_profile(activity, engine="postgresql")).findings
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("removal", "found"),
    [
        ("ends + INTERVAL '30 days'", 1),
        # Contracts run for any time; all have ended; none has; and many end at once, as those of an exchange.
        ("ends + i * INTERVAL '9 min'", 0),
        ("LEAST(ends + INTERVAL '30 days', TIMESTAMP '2026-03-31 05:00')", 0),
        ("ends + INTERVAL '400 days'", 0),
        ("date_trunc('month', ends) + INTERVAL '160 days'", 0),
    ],
)
def test_history_of_a_program_whose_cleanup_never_runs(postgresql: Postgresql, removal: str, found: int) -> None:
    """In tables that are no series, either: each row is a process, which gets its end later."""
    schema = postgresql.new_schema(
        "CREATE TABLE process (id TEXT PRIMARY KEY, began TIMESTAMP, ends TIMESTAMP, removal_time TIMESTAMP, note "
        "TEXT)",
        "INSERT INTO process SELECT md5(i::TEXT), began, ends, " + removal + ", repeat('x', 40) || i FROM (SELECT i, "
        "TIMESTAMP '2026-03-31 06:00' - i * INTERVAL '1 h' AS began, TIMESTAMP '2026-03-31 06:00' - i * INTERVAL '1 h' "
        "+ i % 50 * INTERVAL '1 min' AS ends FROM generate_series(1, 9000) AS i) AS made",
        "CREATE INDEX ON process (began)",
        "ANALYZE process",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    findings = run_rule(rule, collected(target)).findings
    assert [finding.subject.column for finding in findings] == ["removal_time"] * found
    for finding in findings:
        assert finding.message.startswith(
            "Rows stay beyond removal_time, 30 days after their time: the earliest passed"
        )


@pytest.mark.parametrize(
    ("name", "is_one"),
    [
        *((name, True) for name in ("expires_at", "REMOVAL_TIME_", "deleteAfter", "retention_until", "ttl", "expiry")),
        *((name, False) for name in ("deleted_at", "valid_to", "ends_at", "keep_alive", "created_at", "archive")),
    ],
)
def test_names_of_columns_by_which_rows_are_removed(name: str, is_one: bool) -> None:
    assert names_removal(name) is is_one
