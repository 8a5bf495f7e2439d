"""RET003: shards that are too short or too long for the retention, or outlive it."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_measurement, a_profile
from tests.databases import Dataset, Row, Table
from tests.rules.cases import Case, run_rule
from tsaudit.model.figures import FOREVER, Subject
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.profile import Database, Profile
from tsaudit.model.server import ServerStatus
from tsaudit.model.storage import DatabaseStorage, Retention
from tsaudit.model.timeline import Timeline
from tsaudit.rules.retention.unfit_shard_duration import unfit_shard_duration as rule

HOUR, DAY = 3_600, 86_400
MB = 1_000_000

_HOURLY = [Row(NOW - timedelta(hours=i), {"host": "a"}, {"usage": i / 7}) for i in range(20)]

CASES = (
    Case(
        breaks=Dataset([Table("cpu", ("host",), {"usage": "float"}, _HOURLY)], partition=timedelta(hours=1)),
        keeps=Dataset([Table("cpu", ("host",), {"usage": "float"}, _HOURLY)]),
        subject=Subject(""),
        engines=frozenset({"influxdb1"}),
    ),
)


def _profile(
    shards: int,
    partition_s: int = DAY,
    kept_s: int | None = None,
    series: int = 10,
    own: int = 10,
    index: bool | None = None,
    engine: str = "influxdb1",
    data_bytes: int = 10_000 * MB,
    days: float = 1_000,
) -> Profile:
    """A database of which the server says how many shards it has; `series` of them in each shard, `own` in all."""
    storage = DatabaseStorage(data_bytes, None, None, None, shards, series * shards)
    retention = Retention("autogen", FOREVER if kept_s is None else kept_s, partition_s, default=True)
    settings = {} if index is None else {"index_in_memory": float(index)}
    return a_profile(
        a_measurement(first_time=NOW - timedelta(days=days)),
        engine=engine,
        databases=(Database("main", a_count(own), (retention,), storage=storage),),
        server=ServerStatus(settings) if engine == "influxdb1" else None,
    )


def _found(*about: Any, **settings: Any) -> list[Finding]:
    return list(run_rule(rule, _profile(*about, **settings)).findings)


def _severities(*about: Any, **settings: Any) -> list[Severity]:
    return [finding.severity for finding in _found(*about, **settings)]


NOTE, WARNING = [Severity.NOTE], [Severity.WARNING]


@pytest.mark.parametrize(
    ("partition_s", "kept_s"),
    [(7 * DAY, None), (7 * DAY, 365 * DAY), (30 * DAY, None), (DAY, 30 * DAY), (HOUR, DAY), (7 * DAY, 30 * DAY)],
)
def test_durations_that_fit(partition_s: int, kept_s: int | None) -> None:
    assert not _found(1_000, partition_s, kept_s, index=False)


def test_a_thousand_shards_of_a_day() -> None:
    (finding,) = _found(1_000, index=False)
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "autogen keeps data forever in shards of 1 day: 1,000 shards, of which 7 days each would leave 143, and save "
        "about 424 MB of memory."
    )
    assert finding.fix.startswith(
        'Set a shard duration of 7 days: `ALTER RETENTION POLICY "autogen" ON "main" SHARD DURATION 168h`.'
    )
    assert finding.severity_reason.startswith("424 MB of avoidable memory, ")
    # A year more is 365 shards more.
    assert finding.consequence.startswith("It grows to 578 MB")
    assert _severities(1_000, engine="influxdb2") == WARNING


def test_what_the_server_does_not_say_is_priced_as_the_cheaper_index() -> None:
    assert _severities(1_000) == NOTE
    assert _severities(1_000, index=True) == NOTE
    # Ten thousand series in each of them are another matter: 84 B each, and one shard of seven is left.
    assert _severities(1_000, series=10_000, own=10_000) == WARNING
    # Those that are in one shard only would be in one longer shard as well.
    assert _severities(1_000, series=10_000, own=10_000_000) == NOTE


def test_few_shards_are_judged_by_what_a_year_adds() -> None:
    assert _severities(10, HOUR, days=10 / 24, index=False) == WARNING
    assert _severities(10, DAY, kept_s=200 * DAY, days=10, index=False) == NOTE


def test_nothing_is_added_to_what_nobody_writes() -> None:
    (finding,) = _found(300, index=False)
    assert finding.impact is not None
    assert finding.impact.per_day > 0
    old = _profile(300, index=False)
    (quiet,) = old.measurements
    import dataclasses

    quiet = dataclasses.replace(quiet, last_time=NOW - timedelta(days=100))
    (finding,) = run_rule(rule, dataclasses.replace(old, measurements=(quiet,))).findings
    assert finding.impact is not None
    assert finding.impact.per_day == 0


def test_shards_longer_than_the_retention_keep_bytes_beyond_it() -> None:
    (finding,) = _found(2, 7 * DAY, kept_s=DAY)
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "autogen keeps data for 1 day in shards of 7 days, so it keeps points for up to 8 days: about 7.73 GB of "
        "10 GB are older than they should be."
    )
    assert finding.fix.startswith("Set a shard duration of 1 hour: ")
    assert _severities(2, 7 * DAY, kept_s=DAY, data_bytes=100 * MB) == NOTE


@pytest.mark.parametrize(
    ("shards", "index", "expected"),
    [(5_242, False, []), (5_243, False, WARNING), (6_500, False, WARNING), (6_500, True, []), (26_300, True, WARNING)],
)
def test_files_that_shards_keep_open(shards: int, index: bool, expected: list[Severity]) -> None:
    # It is not read from the server, so it is never critical by itself.
    assert _severities(shards, 7 * DAY, kept_s=shards * 7 * DAY, index=index) == expected


def test_files_when_the_owner_says_how_many_there_may_be() -> None:
    profile = _profile(960, 7 * DAY, index=False)
    (finding,) = run_rule(rule, profile, {"open_files": 10_000}).findings
    assert (finding.severity, finding.subject) == (Severity.CRITICAL, Subject())


def test_files_run_out_in_weeks() -> None:
    found = _found(5_000, HOUR, days=208, index=False)
    assert {(f.subject, f.severity) for f in found} == {
        (Subject("main"), Severity.WARNING),
        (Subject(), Severity.WARNING),
    }
    (files,) = [finding for finding in found if not finding.subject.database]
    assert files.impact is not None
    assert files.impact.days_left == pytest.approx((65_536 - 50_000) / 240)


def _expiring(kept_s: int, enabled: float | None) -> Profile:
    profile = _profile(30, DAY, kept_s, index=True)
    (database,) = profile.databases
    assert database.storage is not None
    since = int(datetime(2026, 2, 3, 10, tzinfo=UTC).timestamp())
    storage = dataclasses.replace(
        database.storage, expired_shards=12, expired_bytes=3_400 * MB, expired_since=since, data_bytes=9_000 * MB
    )
    settings = {} if enabled is None else {"retention_enabled": enabled}
    databases = (dataclasses.replace(database, storage=storage),)
    return dataclasses.replace(profile, databases=databases, server=ServerStatus(settings))


def _expired(kept_s: int, enabled: float | None) -> list[Finding]:
    return list(run_rule(rule, _expiring(kept_s, enabled)).findings)


@pytest.mark.parametrize(
    ("enabled", "why", "fix"),
    [
        (0.0, ": the retention service is switched off.", "Set `enabled = true`"),
        (1.0, ", although the retention service is on.", "The next audit shows"),
        (None, ".", "The next audit shows"),
    ],
)
def test_a_retention_that_is_not_carried_out(enabled: float | None, why: str, fix: str) -> None:
    (finding,) = _expired(14 * DAY, enabled)
    assert finding.severity is (Severity.WARNING if enabled == 0 else Severity.NOTE)
    assert finding.message == (
        "autogen keeps data for 14 days, but 12 of 30 shards should have been deleted, the oldest on 2026-02-03" + why
    )
    assert finding.fix.startswith(fix)
    assert ("3.4 GB" in finding.fix) is (enabled == 0)


@pytest.mark.parametrize(
    ("kept_before", "ago", "severity"),
    [
        (14, timedelta(days=1), Severity.WARNING),
        (14, timedelta(minutes=5), Severity.NOTE),
        (30, timedelta(days=1), Severity.NOTE),
    ],
)
def test_shards_that_the_audit_before_saw_too_will_stay(kept_before: int, ago: timedelta, severity: Severity) -> None:
    """Not those of a retention that was shortened since, nor those that an audit of yesterday saw minutes ago."""
    timeline = Timeline(previous=dataclasses.replace(_expiring(kept_before * DAY, 1.0), collected_at=NOW - ago))
    (finding,) = run_rule(rule, _expiring(14 * DAY, 1.0), timeline=timeline).findings
    assert finding.severity is severity
    assert ("in the log of the server" in finding.fix) is (severity is Severity.WARNING)


def test_nothing_expires_where_everything_is_kept() -> None:
    assert all("should have been deleted" not in finding.message for finding in _expired(FOREVER, 0.0))
