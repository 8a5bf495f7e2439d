"""STO003: partitions that do not divide the work."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.builders import DAY, NOW, a_measurement, a_profile
from tests.collecting import collected
from tests.databases import Dataset, Greptime
from tests.engines.greptimedb.test_small_partitions import CASES as SMALL
from tests.planning.places import split
from tests.rules.cases import Case, dataset, hosts, planned, plans, run_rule, table
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.model.change import AddPartitions
from tsaudit.model.figures import Subject, Window
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Profile
from tsaudit.model.storage import Partition, Partitioning
from tsaudit.model.timeline import Point, Timeline, figures
from tsaudit.rules.storage.partition_skew import partition_skew as rule
from tsaudit.summary import of_finding

POSTGRESQL = frozenset({"postgresql"})
GREPTIMEDB = frozenset({"greptimedb"})
MONTHS = [f"FOR VALUES FROM ('2026-0{m}-01') TO ('2026-0{m + 1}-01')" for m in (1, 2, 3, 4)]
GB = 1_000_000_000
A_DAY = timedelta(days=1)


def _hashed(*hosts_of: str) -> Dataset:
    """A table by hash in four; the hash of the keys decides."""
    bounds = [f"FOR VALUES WITH (MODULUS 4, REMAINDER {i})" for i in range(4)]
    series: list[dict[str, str | None]] = [{"dc": dc} for dc in hosts_of]
    return dataset(table("cpu", series, rows=2000, partition_by="HASH (dc)", partitions=bounds, key=False))


def _monthly(*bounds: str) -> Dataset:
    return dataset(table("cpu", hosts(20), partition_by="RANGE (time)", partitions=bounds))


def _bounded(column: str, *bounds: str) -> Dataset:
    return dataset(table("cpu", hosts(20), rows=10, greptime=Greptime(partition_by=(column,), partitions=bounds)))


CASES = (
    *SMALL,
    Case(
        breaks=_hashed("eu"),
        keeps=_hashed(*(f"dc-{i}" for i in range(32))),
        subject=Subject("", "cpu"),
        engines=POSTGRESQL,
        limits={"partition-skew.max_skew": 3},
    ),
    Case(
        breaks=_monthly(*MONTHS[:2], "DEFAULT"),
        keeps=_monthly(*MONTHS, "DEFAULT"),
        subject=Subject("", "cpu"),
        engines=POSTGRESQL,
    ),
    Case(
        # The last one ends on the day after the audit; with a later one it does not.
        breaks=_monthly(*MONTHS[:3]),
        keeps=_monthly(*MONTHS),
        subject=Subject("", "cpu"),
        engines=POSTGRESQL,
    ),
    Case(
        breaks=_bounded("time", "time < '2026-03-31 05:45:00'", "time >= '2026-03-31 05:45:00'"),
        keeps=dataset(table("cpu", hosts(20))),
        subject=Subject("", "cpu"),
        engines=GREPTIMEDB,
    ),
    Case(
        breaks=_bounded("host", "host < 'web-001'", "host >= 'web-001'"),
        keeps=dataset(table("cpu", hosts(20))),
        subject=Subject("", "cpu"),
        engines=GREPTIMEDB,
    ),
)


def a_partition(name: str, bytes_: int | None = None, rows: int | None = None, bounds: str = "") -> Partition:
    return Partition(name, bounds, rows, bytes_)


def _profile(*parts: Partition, key: tuple[str, ...] = ("dc",), count: int | None = None, **changes: Any) -> Profile:
    cut = Partitioning(key, len(parts) if count is None else count, parts)
    return a_profile(a_measurement(partitioning=cut), **{"engine": "postgresql"} | changes)


def _message(*parts: Partition, **settings: Any) -> str:
    findings = run_rule(rule, _profile(*parts, **settings)).findings
    return findings[0].message if findings else ""


def test_skew_when_at_the_limit_and_over_it() -> None:
    even = [a_partition(f"p{i}", GB, 10) for i in range(3)]
    assert not _message(a_partition("big", 4 * GB), *even)
    (finding,) = run_rule(rule, _profile(a_partition("big", 4 * GB + 10_000_000, 1_000), *even)).findings
    assert finding.message == "Partition big has 4.01 GB, 4.01 times the median of the others."
    assert (finding.impact, finding.observed) == (None, 4.01)
    assert finding.fix == "Divide by a column with many values of about the same weight instead of dc."
    assert {e.label: e.value for e in finding.evidence} == {
        "partitions": "4, by dc",
        "largest": "big, about 1,000 rows, 4.01 GB of data",
    }


def test_skew_when_bytes_are_not_known() -> None:
    assert _message(a_partition("a", None, 5_000_000), a_partition("b", None, 1_000_000)).startswith(
        "Partition a has about 5,000,000 rows, 5 times"
    )
    assert not _message(a_partition("a", None, 5_000_000), a_partition("b"))
    assert not _message(a_partition("a"), a_partition("b"))


HALVES = ("host < 'm'", "host >= 'm'")


@pytest.mark.parametrize(
    ("engine", "parts", "bounds", "severity", "said"),
    [
        # Two regions were to share the writes of a big table, and one takes them all.
        ("greptimedb", [(10 * GB, 9_000), (0, 0)], HALVES, "warning", "All rows are in partition p0, and the other 1"),
        ("greptimedb", [(10 * GB, None), (0, None)], HALVES, "warning", "All rows are in partition p0, and the other"),
        # One machine is enough for so much.
        ("greptimedb", [(9 * GB, 9_000), (0, 0), (0, 0)], HALVES, "note", "All rows are in partition p0, and the oth"),
        # What is new may be in memory; and the server makes the partitions of traces.
        ("greptimedb", [(10 * GB, 9_000), (0, 80)], HALVES, "note", "Partition p0 has 10 GB, 100% of all."),
        ("greptimedb", [(40 * GB, 9_000), (GB, 80), (0, 0), (0, 0)], HALVES, "note", "Partition p0 has 98% of the d"),
        # Ranges for later IDs were made ahead of time.
        ("postgresql", [(80 * GB, 9_000), (8_192, 0)], ("FOR VALUES FROM (0) TO (9)",), "note", "All rows are in part"),
    ],
)
def test_all_rows_in_one_of_several_partitions(
    engine: str, parts: Sequence[tuple[int, int | None]], bounds: Sequence[str], severity: str, said: str
) -> None:
    made = [
        a_partition(f"p{i}", held, rows, bound)
        for i, ((held, rows), bound) in enumerate(zip(parts, itertools.cycle(bounds), strict=False))
    ]
    (finding,) = run_rule(rule, _profile(*made, engine=engine)).findings
    assert (finding.severity, finding.message[: len(said)]) == (severity, said)
    if said.startswith("All"):
        assert "Set bounds between the values that dc has, or divide by a column with many" in finding.fix
        assert "times the median" not in finding.message


def test_silence_when_partitions_are_tiny_or_alone() -> None:
    assert not _message(a_partition("a", 99_999, 99), a_partition("b", 1))
    assert _message(a_partition("a", 99_999, 100), a_partition("b", 1))
    assert not _message(a_partition("a", None, 99), a_partition("b", None, 1))
    assert _message(a_partition("a", None, 100), a_partition("b", None, 1))
    assert not _message(a_partition("a", 100 * GB))


@pytest.mark.parametrize("key", [("time",), ("time", "dc"), ("date_trunc('day', \"time\")",), ('"time"',)])
def test_silence_when_partitions_are_by_time(key: tuple[str, ...]) -> None:
    assert not _message(a_partition("a", 100 * GB), a_partition("b", GB), key=key)


def test_silence_when_partitions_are_lists_of_values() -> None:
    parts = [a_partition(f"p{n}", n * n * GB, n, f"FOR VALUES IN ('{n}')") for n in (9, 2, 1)]
    assert not _message(*parts)


def test_default_partition_when_it_collects_rows() -> None:
    def parts(rows: int) -> list[Partition]:
        return [a_partition("rest", 1, rows, "DEFAULT"), a_partition("a", 1, 50), a_partition("b", 1, 50)]

    assert not _message(*parts(100))
    assert _message(*parts(101)) == "The default partition rest contains about 101 rows, 50% of all."
    assert not _message(*parts(0), key=("time",))
    assert _message(*parts(1), key=("time",)).startswith("The default partition rest contains about 1 row, 1% of all.")
    assert not _message(a_partition("rest", 10, None, "DEFAULT"), a_partition("a", 1, 1), key=("time",))


def test_estimated_rows_are_told_as_such_with_the_same_digits_everywhere() -> None:
    parts = a_partition("rest", 9 * GB, 35_543, "DEFAULT"), a_partition("a", 1, 50)
    (finding,) = run_rule(rule, _profile(*parts, key=("time",))).findings
    said = of_finding(finding, "STO003", (), "t", DAY)
    assert said.headline == "main/cpu: The default partition rest contains about 35,500 rows, 99.9% of all"
    assert next(figure.value for figure in said.figures if figure.label == "Now") == "about 35,500 rows"
    assert [e.value for e in finding.evidence if e.label == "largest"] == [
        "rest DEFAULT, about 35,500 rows, 9 GB of data"
    ]


def test_rows_that_were_reported_after_analyze_are_not_counted_twice(postgresql: Postgresql) -> None:
    """A session reports what it has inserted some time later, here right after it had the table analyzed."""
    schema = postgresql.new_schema(
        "CREATE TABLE r (at TIMESTAMPTZ, v FLOAT) PARTITION BY RANGE (at)",
        "CREATE TABLE r_rest PARTITION OF r DEFAULT",
        "CREATE TABLE plain (at TIMESTAMPTZ, v FLOAT)",
    )
    with postgresql.connect() as session:
        for table_ in ("r", "plain"):
            session.execute(f"INSERT INTO {schema}.{table_} SELECT now(), generate_series(1, 50)".encode())
        for statement in (
            f"ANALYZE {schema}.r",
            f"ANALYZE {schema}.plain",
            "SELECT pg_stat_force_next_flush()",
            "SELECT 1",
        ):
            session.execute(statement.encode())
    counted = f"SELECT n_live_tup FROM pg_stat_all_tables WHERE schemaname = '{schema}' AND relname = 'plain'"
    assert postgresql.rows(counted) == [(100,)]
    now = datetime.now(UTC)
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    found = {m.name: m for m in collected(target, now=now, day=now.date()).measurements}
    assert found["r"].partitioning is not None
    assert [one.rows for one in found["r"].partitioning.partitions] == [50]


def test_rows_in_the_default_partition_are_a_failure_while_they_become_more() -> None:
    def found(rows: int, then: int | None, key: str = "time", ago: timedelta = A_DAY) -> Finding:
        def profile(count: int, ago: timedelta = timedelta()) -> Profile:
            parts = a_partition("rest", 1, count, "DEFAULT"), a_partition("a", 1, 50)
            return _profile(*parts, key=(key,), collected_at=NOW - ago)

        timeline = None if then is None else Timeline(previous=profile(then, ago))
        (finding,) = run_rule(rule, profile(rows), timeline=timeline).findings
        return finding

    assert [found(500, then).severity for then in (None, 499, 500)] == ["warning", "warning", "note"]
    # Yesterday, audited minutes ago, does not show how many there were a day ago.
    assert found(500, 500, ago=timedelta(minutes=9)).severity == "warning"
    impact = found(500, None).impact
    assert impact is not None
    assert (impact.currency, impact.days_left) == (Currency.MECHANISM, None)
    # What takes most rows of lists or hashes may be meant to.
    assert found(500, None, key="dc").severity == "note"


def _ranges(*days: float, default: bool = False) -> list[Partition]:
    """Ranges between days from now."""
    at = [(NOW + timedelta(days=d)).strftime("%Y-%m-%d %H:%M:%S+00") for d in days]
    parts = [
        a_partition(f"p{n}", 8_192, 10, f"FOR VALUES FROM ('{first}') TO ('{end}')")
        for n, (first, end) in enumerate(itertools.pairwise(at))
    ]
    return [*parts, a_partition("rest", 8_192, 0, "DEFAULT")] if default else parts


def _ending(*days: float, default: bool = False, history: Timeline | None = None, **changes: Any) -> Finding | None:
    cut = Partitioning(("time",), len(days), tuple(_ranges(*days, default=default)))
    profile = a_profile(a_measurement(partitioning=cut, **changes), engine="postgresql")
    found = run_rule(rule, profile, timeline=history).findings
    return found[0] if found else None


def _history(*audited: Profile) -> Timeline:
    """Earlier audits, oldest first."""
    points: dict[tuple[str, Subject], tuple[Point, ...]] = {}
    for profile in audited:
        for figure in figures(profile):
            place = (figure.name, figure.subject)
            points[place] = (*points.get(place, ()), Point(profile.day, figure.value))
    return Timeline(previous=audited[-1], points=points)


@pytest.mark.parametrize(
    ("left", "default", "severity"),
    [
        (15, False, ""),
        (14, False, "warning"),
        (0, False, "warning"),
        (-14, False, "warning"),
        (-15, False, ""),
        (15, True, ""),
        (14, True, "warning"),
        (-14, True, "warning"),
    ],
)
def test_last_partition_that_ends(left: int, default: bool, severity: str) -> None:
    finding = _ending(left - 60, left - 30, left, default=default)
    assert (finding.severity if finding else "") == severity
    if finding:
        assert finding.impact is not None
        is_enforced = False if default else None
        assert (finding.impact.days_left, finding.impact.is_enforced) == (left, is_enforced)


def test_what_the_finding_about_the_end_says() -> None:
    finding = _ending(-50, -20, 10)
    assert finding is not None
    assert finding.message == (
        "The last partition ends on 2026-04-10, and nothing takes later rows, unless the program that writes "
        "them creates partitions as it needs them."
    )
    assert finding.severity_reason == "10 days left"
    assert finding.consequence == "When it ends, rows are rejected, unless a partition for them is created."
    # Whoever makes partitions ahead of their time has not made the next one.
    finding = _ending(-9, 1, 11)
    assert finding is not None
    assert (finding.severity, finding.consequence) == ("critical", "When it ends, rows are rejected.")
    assert finding.message == "The last partition ends on 2026-04-11, and nothing takes later rows."
    finding = _ending(-50, -20, -10, default=True)
    assert finding is not None
    assert finding.message == (
        "The last partition ended on 2026-03-21, and later rows go to the default partition rest."
    )


def test_silence_when_rows_come_no_more_or_the_last_one_has_no_end() -> None:
    assert _ending(-50, -20, 10, last_time=NOW - timedelta(days=8)) is None
    open_end = a_partition("z", 1, 1, "FOR VALUES FROM ('2026-04-10') TO (MAXVALUE)")
    assert not _message(*_ranges(-20, 10), open_end, key=("time",))
    assert not _message(*_ranges(-20, 10), key=("dc",)), "a date that is not the time"


def _audited(days_ago: int, *days: float) -> Profile:
    cut = Partitioning(("time",), len(days), tuple(_ranges(*days)), NOW + timedelta(days=max(days)))
    return a_profile(a_measurement(partitioning=cut), engine="postgresql", day=DAY - timedelta(days=days_ago))


def test_an_earlier_day_audited_just_now_shows_the_partitions_of_now() -> None:
    """It has seen the same end, and not a range ago: the job that makes the next one has not run since."""
    for minutes, is_found in ((2, False), (60 * 23, True)):
        before = dataclasses.replace(_audited(1, *range(-3, 2)), collected_at=NOW - timedelta(minutes=minutes))
        assert (_ending(*range(-3, 2), history=_history(before)) is not None) is is_found
    # Rows that are rejected since the last one ended: a load that comes once a day may make it.
    bounds = [f"FOR VALUES FROM ('{NOW - 2 * A_DAY:%F %T}+00') TO ('{NOW - A_DAY / 2:%F %T}+00')"]
    cut = Partitioning(("time",), 1, (a_partition("p", 1, 10, *bounds),), NOW - A_DAY / 2)
    full = a_measurement(partitioning=cut, last_time=NOW - A_DAY / 2 - timedelta(minutes=2))
    profile = a_profile(full, engine="postgresql")
    for ago, severity in ((timedelta(minutes=2), "warning"), (A_DAY, "critical")):
        before = dataclasses.replace(profile, day=DAY - A_DAY, collected_at=NOW - ago)
        (finding,) = run_rule(rule, profile, timeline=_history(before)).findings
        assert finding.severity == severity


def test_a_job_that_makes_partitions_is_seen_at_work() -> None:
    # By the month, on the eve of the next: yesterday there was one fewer.
    assert _ending(-50, -20, 10, history=_history(_audited(1, -50, -20))) is None
    assert _ending(-50, -20, 10, history=_history(_audited(1, -50, -20, 10))) is not None


@pytest.mark.parametrize(
    ("days", "before", "is_found"),
    [
        # Four days ahead, as pg_partman makes them: a job that waits until there are fewer is no failure.
        (range(-3, 5), None, False),
        (range(-3, 5), _audited(1, *range(-3, 4)), False),
        (range(-3, 5), _audited(1, *range(-3, 5)), False),
        # The last one began, which a program may make with its first row: the first audit cannot tell; the second can.
        (range(-3, 2), None, False),
        (range(-3, 2), _audited(1, *range(-3, 1)), False),
        (range(-3, 2), _audited(1, *range(-3, 2)), True),
        # A week each: a day without another one is nothing yet, a week is.
        ((-7, 0, 6), _audited(1, -7, 0, 6), False),
        ((-7, 0, 6), _audited(7, -7, 0, 6), True),
        ((-7, 6), None, True),
    ],
)
def test_short_ranges_are_made_by_a_job(days: Sequence[int], before: Profile | None, is_found: bool) -> None:
    history = _history(before) if before else None
    assert (_ending(*days, history=history) is not None) is is_found


@pytest.mark.parametrize(
    ("ends", "audits", "severity"),
    [
        # A week each, audited daily: its successor comes within a week, or there is something wrong with the job.
        ((-8, -1, 6), range(6, 0, -1), ""),
        ((-8, -1, 6), range(7, 0, -1), "warning"),
        ((-13.5, -6.5, 0.5), range(7, 0, -1), "warning"),
        ((-13.5, -6.5, 0.5), range(8, 0, -1), "critical"),
        # A day each: the second audit in a row that sees no other, and no other audit before it ends.
        ((-1.5, -0.5, 0.5), range(1, 0, -1), "warning"),
        ((-1.5, -0.5, 0.5), range(2, 0, -1), "critical"),
        ((-0.5, 0.5, 1.5), range(2, 0, -1), "warning"),
    ],
)
def test_short_ranges_over_many_audits(ends: Sequence[float], audits: Sequence[int], severity: str) -> None:
    found = _ending(*ends, history=_history(*(_audited(ago, *ends) for ago in audits)))
    assert (found.severity if found else "") == severity
    if severity == "critical":
        assert found is not None
        assert "unless" not in found.message


@pytest.mark.parametrize(("seen", "severity"), [(19, "warning"), (21, "critical")])
def test_a_range_that_was_there_before_it_began_was_made_ahead(seen: int, severity: str) -> None:
    days = (-50, -20, 10)
    found = _ending(*days, history=_history(_audited(seen, *days), _audited(1, *days)))
    assert found is not None
    assert found.severity == severity
    # A default partition takes the rows, so that none is rejected.
    caught = _ending(*days, default=True, history=_history(_audited(seen, *days), _audited(1, *days)))
    assert caught is not None
    assert caught.severity == "warning"


def test_all_in_one_finding_when_several_are_wrong() -> None:
    parts = [a_partition("rest", 1, 500, "DEFAULT"), a_partition("a", 5 * GB, 100), a_partition("b", GB, 5)]
    (finding,) = run_rule(rule, _profile(*parts)).findings
    assert finding.message == (
        "The default partition rest contains about 500 rows, 83% of all; partition a has 5 GB, 5 times the median "
        "of the others."
    )
    assert (finding.observed, finding.unit) == (500, "rows")
    # Of two that fail, the end is on a day.
    rest = a_partition("rest", 1, 500, "DEFAULT")
    (finding,) = run_rule(rule, _profile(*_ranges(-30, 5), rest, key=("time",))).findings
    assert finding.impact is not None
    assert finding.impact.days_left == 5
    assert "500 rows" in finding.message


def test_silence_when_there_are_no_partitions() -> None:
    assert run_rule(rule, a_profile(a_measurement(), engine="postgresql")).outcome is Outcome.PASS
    assert not _message(count=0)


def test_partitions_by_a_field_when_the_table_deduplicates() -> None:
    def message(options: dict[str, str] | None, *key: str) -> str:
        cut = Partitioning(key, 2, (a_partition("a", 9 * GB), a_partition("b", 9 * GB)))
        measurement = a_measurement(partitioning=cut, options=options)
        found = run_rule(rule, a_profile(measurement, engine="greptimedb")).findings
        return found[0].message if found else ""

    cut = Partitioning(("usage",), 2, (a_partition("a", 9 * GB), a_partition("b", 9 * GB)))
    (finding,) = run_rule(rule, a_profile(a_measurement(partitioning=cut, options={}), engine="greptimedb")).findings
    assert finding.severity == "warning"
    assert message({}, "usage") == (
        "Partitions are by usage, outside the primary key: two rows with the same key and time may both stay."
    )
    assert message({}, "host", "usage", "idle").startswith("Partitions are by usage and idle, outside")
    assert not message({}, "host")
    assert not message({"append_mode": "true"}, "usage")
    assert not message(None, "usage")
    assert message({"append_mode": "false"}, "time").startswith("Partitions are by time (time)")


@pytest.mark.parametrize("version", ["1.1.4", "0.17.2"])
def test_statement_when_partitions_are_by_time(version: str) -> None:
    parts = (Partition("p1", "host >= 'm'", None, 9 * GB), Partition("p0", "host < 'm'", None, GB))
    measurement = a_measurement(partitioning=Partitioning(("time",), 2, parts), options={})
    text = planned(rule, a_profile(measurement, engine="greptimedb", server_version=version))
    # The rule that is wrong is not copied.
    assert "PARTITION" not in text.split("CREATE TABLE")[1]


def test_no_statement_where_somebody_has_to_choose_the_column() -> None:
    parts = (Partition("p1", "host >= 'm'", None, 9 * GB), Partition("p0", "host < 'm'", None, GB))
    measurement = a_measurement(partitioning=Partitioning(("host",), 2, parts), options={})
    (finding,) = run_rule(rule, a_profile(measurement, engine="greptimedb")).findings
    assert (finding.changes, finding.fix) == (
        (),
        "Divide by a column with many values of about the same weight instead of host.",
    )


def test_statement_when_the_table_is_of_the_metric_engine() -> None:
    parts = (Partition("p1", "time >= 5", None, 9 * GB), Partition("p0", "time < 5", None, GB))
    measurement = a_measurement(partitioning=Partitioning(("time",), 2, parts), options={"engine": "metric"})
    text = planned(rule, a_profile(measurement, engine="greptimedb", server_version="1.1.4"))
    assert "name it where metrics are sent (physical_table=..." in text
    assert "CREATE TABLE" not in text


def test_rows_that_stopped_where_the_last_range_ended() -> None:
    """They may be rejected since; those that stopped before it ended came no more."""
    ended = NOW.replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=10)
    bounds = f"FOR VALUES FROM ('{ended - timedelta(days=90):%F}') TO ('{ended:%F}')"
    cut = Partitioning(("time",), 1, (a_partition("p", 1, 10, bounds),))
    for hours, severity in ((5, "critical"), (72, "")):
        made = a_measurement(partitioning=cut, last_time=ended - timedelta(hours=hours))
        findings = run_rule(rule, a_profile(made, engine="postgresql")).findings
        assert "".join(f.severity for f in findings) == severity
        for finding in findings:
            assert finding.message == (
                f"The last partition ended on {ended:%F}, and since then rows are rejected: nothing takes them."
            )
            assert finding.consequence == "Since it ended, rows have been rejected."


_LENGTHS = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(30)}
_UNTIL_THE_END, _LONG_BEFORE = 0.001, 1.2
"""How long before the end of the last range, in lengths, the newest row came."""


@pytest.mark.parametrize(
    ("ahead", "rest", "rows", "expected"),
    [
        # Without a place for the rows, they are rejected, unless those of a day are loaded the day after.
        (-0.3, False, _UNTIL_THE_END, {"hour": "warning", "day": "warning", "week": "critical", "month": "critical"}),
        (-1.5, False, _UNTIL_THE_END, {"hour": "warning", "day": "warning", "week": "critical"}),
        (-2.5, False, _UNTIL_THE_END, {"hour": "warning", "day": "critical"}),
        # No row came for long before the end, either.
        (-0.1, False, _LONG_BEFORE, {}),
        # A default partition takes them: what it contains is reported, whatever the length.
        (-0.3, True, _UNTIL_THE_END, {}),
        # The last one runs: a program may make the next one with its first row.
        (0.3, False, None, {"day": "note", "month": "warning"}),
        (0.3, True, None, {"month": "warning"}),
        # No row has come for long.
        (0.3, False, 60, {}),
        # Made ahead, and the next one is not there yet: a job may always make just one.
        (1.2, False, None, {}),
        (1.2, True, None, {}),
    ],
)
def test_what_a_first_audit_says_of_the_end(
    ahead: float, rest: bool, rows: float | None, expected: dict[str, str]
) -> None:
    """`ahead`: how far the end lies ahead, in lengths; `rows`: how long before the end the newest row came, in lengths;
    None if rows come now.
    """
    found = {}
    for name, length in _LENGTHS.items():
        end = NOW + ahead * length
        at = [end - n * length for n in (3, 2, 1, 0)]
        parts = [
            a_partition(f"p{n}", 8_192, 10, f"FOR VALUES FROM ('{first}') TO ('{last}')")
            for n, (first, last) in enumerate(itertools.pairwise(at))
        ]
        parts += [a_partition("rest", 8_192, None, "DEFAULT")] if rest else []
        newest = NOW if rows is None else end - rows * length
        cut = Partitioning(("time",), len(parts), tuple(parts))
        profile = a_profile(a_measurement(partitioning=cut, last_time=newest), engine="postgresql")
        for finding in run_rule(rule, profile).findings:
            found[name] = finding.severity
    assert found == expected


@pytest.mark.parametrize(
    ("quiet", "since", "starts", "is_rejecting"),
    [
        # A job each night at half past ten is late from half past one on.
        (timedelta(hours=1.5), timedelta(hours=1), (-3, -2, -1), False),
        (timedelta(hours=1.5), timedelta(hours=1.5), (-3, -2, -1), True),
        (timedelta(hours=7), timedelta(hours=9), (-3, -2, -1), False),
        # Days without a partition: the program that writes makes them as it needs them.
        (timedelta(minutes=1), timedelta(hours=5), (-6, -4, -1), False),
    ],
)
def test_rows_that_may_just_not_have_come(
    quiet: timedelta, since: timedelta, starts: Sequence[int], is_rejecting: bool
) -> None:
    end = NOW - since
    parts = [
        a_partition(f"p{n}", 1, 1, f"FOR VALUES FROM ('{end + n * A_DAY}') TO ('{end + (n + 1) * A_DAY}')")
        for n in starts
    ]
    cut = Partitioning(("time",), len(parts), tuple(parts))
    profile = a_profile(a_measurement(partitioning=cut, last_time=end - quiet), engine="postgresql")
    assert bool(run_rule(rule, profile).findings) is is_rejecting


def test_dates_in_the_last_range_stand_for_a_day() -> None:
    day = NOW.replace(hour=0)
    bounds = f"FOR VALUES FROM ('{day - A_DAY:%F}') TO ('{day:%F}')"
    cut = Partitioning(("time",), 1, (a_partition("p", 1, 10, bounds),))
    found = {}
    for kind in ("date", "timestamp with time zone"):
        made = a_measurement(partitioning=cut, last_time=day - A_DAY, time_type=kind)
        found[kind] = bool(run_rule(rule, a_profile(made, engine="postgresql")).findings)
    assert found == {"date": True, "timestamp with time zone": False}


def test_the_next_range_where_lengths_differ() -> None:
    """A statement for one: the first rows are let in, and somebody has to say what follows."""
    finding = _ending(-30, -11, -1, last_time=NOW - timedelta(days=1, minutes=1))
    assert finding is not None
    (change,) = finding.changes
    assert isinstance(change, AddPartitions)
    assert change.partitions == (
        ("cpu_20260330", "FOR VALUES FROM ('2026-03-30 06:00:00+00') TO ('2026-04-09 06:00:00+00')"),
    )
    assert "differ in length" in finding.fix


def test_the_next_ranges_reach_beyond_today() -> None:
    finding = _ending(-12, -11, -10, -9, last_time=NOW - timedelta(days=9, minutes=1))
    assert finding is not None
    (change,) = finding.changes
    assert isinstance(change, AddPartitions)
    assert change.partitions[0][1].startswith("FOR VALUES FROM ('2026-03-22 06:00:00+00')")
    # The one of now ends on the first; three more are ahead.
    assert change.partitions[-1][1].endswith("TO ('2026-04-04 06:00:00+00')")


def test_partitions_for_the_rows_of_the_default_one_reach_ahead_as_those_of_an_end_do() -> None:
    """Those until tonight alone would leave the rows of tomorrow to the default partition again."""
    noon = datetime(2026, 3, 31, 12, tzinfo=UTC)
    days = [
        a_partition(f"cpu_202603{day}", 1, 50, f"FOR VALUES FROM ('2026-03-{day}') TO ('2026-03-{day + 1}')")
        for day in (28, 29, 30)
    ]
    profile = _profile(*days, a_partition("rest", 1, 50, "DEFAULT"), key=("time",))
    profile = dataclasses.replace(profile, window=Window(noon - timedelta(days=28), noon))
    (finding,) = run_rule(rule, profile).findings
    (change,) = finding.changes
    assert isinstance(change, AddPartitions)
    made = [name for name, _ in change.partitions]
    assert made == ["cpu_20260331", "cpu_20260401", "cpu_20260402", "cpu_20260403"]


def test_partitions_of_a_server(postgresql: Postgresql) -> None:
    """The last range ends in five days without and with a default partition, rows are in that, and all is well."""
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)

    def cut(name: str, days: int, *, default: bool) -> list[str]:
        start, end = today - timedelta(days=100), today + timedelta(days=days)
        made = [
            f"CREATE TABLE {name} (ts TIMESTAMPTZ, host TEXT, v FLOAT) PARTITION BY RANGE (ts)",
            f"CREATE TABLE {name}_p PARTITION OF {name} FOR VALUES FROM ('{start}') TO ('{end}')",
            f"INSERT INTO {name} SELECT now() - INTERVAL '1 hour' * i, 'h', i FROM generate_series(1, 50) AS i",
        ]
        return [*made, f"CREATE TABLE {name}_rest PARTITION OF {name} DEFAULT"] if default else made

    def ended(name: str, length: timedelta) -> list[str]:
        end = datetime.now(UTC) - timedelta(minutes=20)
        at = [end - n * length for n in (3, 2, 1, 0)]
        return [
            f"CREATE TABLE {name} (ts TIMESTAMPTZ, host TEXT, v FLOAT) PARTITION BY RANGE (ts)",
            *(
                f"CREATE TABLE {name}_{n} PARTITION OF {name} FOR VALUES FROM ('{first}') TO ('{to}')"
                for n, (first, to) in enumerate(itertools.pairwise(at))
            ),
            f"INSERT INTO {name} SELECT '{end}'::timestamptz - INTERVAL '1 min', 'h', 1",
        ]

    schema = postgresql.new_schema(
        *cut("ends", 5, default=False),
        *cut("caught", 5, default=True),
        *cut("fills", 60, default=True),
        "INSERT INTO fills SELECT now() - INTERVAL '400 days', 'h', 1",
        *cut("well", 60, default=True),
        *ended("by_week", timedelta(days=7)),
        *ended("by_hour", timedelta(hours=1)),
        "ANALYZE",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    now = datetime.now(UTC)
    profile = collected(target, now=now, day=now.date())
    found = {f.subject.measurement: f.severity for f in run_rule(rule, profile).findings}
    # Ended less than two days ago: rows of a day may be loaded the day after.
    rejecting = dict.fromkeys(("by_week", "by_hour"), "warning")
    assert found == {"ends": "warning", "caught": "warning", "fills": "warning"} | rejecting
    # As the server says itself.
    for name, at in (("ends", "now() + INTERVAL '6 days'"), ("by_week", "now()"), ("by_hour", "now()")):
        with pytest.raises(psycopg.errors.CheckViolation):
            postgresql.execute(f"INSERT INTO {schema}.{name} SELECT {at}, 'h', 1")
    # The statements of the plan make room.
    steps = [step for plan in plans(rule, profile) for step in plan.steps if step.kind is StepKind.SCHEMA]
    assert len(steps) == 4, "all but the one that fills"
    for statement in (line for step in steps for line in step.text.splitlines()):
        postgresql.execute(statement)
    for name, at in (("ends", "now() + INTERVAL '6 days'"), ("by_week", "now()"), ("by_hour", "now()")):
        postgresql.execute(f"INSERT INTO {schema}.{name} SELECT {at}, 'h', 1")


@pytest.mark.parametrize("weeks", [2, 9])
def test_rows_in_the_default_partition_are_moved_to_partitions(postgresql: Postgresql, weeks: int) -> None:
    """Nobody has created partitions for some weeks. One of them has its columns in another order."""
    start = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(weeks=weeks, days=11)
    middle, end = start + timedelta(weeks=1), start + timedelta(weeks=2)
    schema = postgresql.new_schema(
        "CREATE TABLE r (id INT GENERATED ALWAYS AS IDENTITY, at TIMESTAMPTZ, a TEXT, b TEXT) PARTITION BY RANGE (at)",
        f"CREATE TABLE r_1 PARTITION OF r FOR VALUES FROM ('{start}') TO ('{middle}')",
        f"CREATE TABLE r_2 PARTITION OF r FOR VALUES FROM ('{middle}') TO ('{end}')",
        'CREATE TABLE "r rest" (b TEXT, a TEXT, at TIMESTAMPTZ, id INT NOT NULL)',
        'ALTER TABLE r ATTACH PARTITION "r rest" DEFAULT',
        f"""INSERT INTO r (at, a, b) SELECT t, 'a', 'b'
          FROM generate_series('{start}'::timestamptz, now(), INTERVAL '1 hour') AS t""",
        f"INSERT INTO r (at, a, b) SELECT '{start}'::timestamptz - INTERVAL '9 days', 'a', 'b'",
        "ANALYZE",
    )
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))

    def audited() -> Profile:
        now = datetime.now(UTC)
        return collected(target, now=now, day=now.date())

    before = postgresql.rows(f"SELECT id, at, a, b FROM {schema}.r ORDER BY id")
    (finding,) = run_rule(rule, audited()).findings
    assert finding.severity is Severity.WARNING
    assert f"since the last partition ended on {end.date()}, there is none for later rows" in finding.message
    rounds = 0
    while (made := plans(rule, audited())) and rounds < 5:
        (plan,) = made
        assert len(plan.steps) <= 5
        assert sum(len(step.text.splitlines()) for step in plan.steps) <= 20
        schema_step = next(step for step in plan.steps if step.kind is StepKind.SCHEMA)
        for statement in split(schema_step.text):
            if not statement.startswith("--"):
                postgresql.execute(statement)
        rounds += 1
    assert rounds == (1 if weeks == 2 else 2)
    # One row is older than all partitions.
    assert postgresql.rows(f'SELECT count(*) FROM {schema}."r rest"') == [(1,)]
    assert postgresql.rows(f"SELECT id, at, a, b FROM {schema}.r ORDER BY id") == before


def test_the_largest_partition_is_beside_the_point_of_an_end() -> None:
    finding = _ending(-50, -20, 10)
    assert finding is not None
    assert [e.label for e in finding.evidence] == ["partitions"]
