"""SRV002: what the server itself says is about to stop it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from tests.builders import DAY, NOW, a_count, a_measurement, a_profile
from tests.collecting import collected
from tests.rules.cases import run_rule
from tests.servers import Postgresql, run_postgresql, wait_until
from tsaudit.config.settings import Target
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import FOREVER, Subject
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.server import ServerCounter, ServerStatus, StoredQuery, TableStatus
from tsaudit.model.storage import Retention
from tsaudit.model.timeline import Timeline
from tsaudit.rules.server.near_limit import near_limit
from tsaudit.rules.server.server_in_distress import server_in_distress as rule

CASES = ()
"""A data set says nothing of its server: servers in distress are started below."""
MILLION = 1_000_000


def _profile(*measurements: Measurement, failures: tuple[ServerCounter, ...] = (), **changes: Any) -> Profile:
    return a_profile(*measurements, engine="postgresql", server=ServerStatus({}, failures=failures), **changes)


def _found(profile: Profile, timeline: Timeline | None = None) -> Finding | None:
    findings = run_rule(rule, profile, timeline=timeline).findings
    return findings[0] if findings else None


def test_what_fails_is_a_warning() -> None:
    failures = (
        ServerCounter("archiving", "", 12),
        ServerCounter("job 1000 (policy_retention of cpu)", "main", 1),
        ServerCounter("slot cdc", "", 3_600_000_000),
        ServerCounter("limited slot search", "", 900_000_000),
        ServerCounter("lost slot copy", "", 0),
        ServerCounter("backup", "", 2),
    )
    findings = run_rule(rule, _profile(failures=failures)).findings
    assert {f.message for f in findings} == {
        "Archiving of the write-ahead log fails, 12 times so far.",
        "The last run of job 1000 (policy_retention of cpu) failed.",
        "Nobody reads the replication slot cdc, and the server keeps 3.6 GB of log for it.",
        "Nobody reads the replication slot search, and the server keeps 900 MB of log for it.",
        "The replication slot copy was invalidated, so that its reader cannot go on.",
        # Of an engine that says no more of it.
        "backup fails, 2 times so far.",
    }
    assert {f.severity for f in findings} == {Severity.WARNING}
    of_slot = next(f for f in findings if f.subject.measurement == "slot cdc")
    assert "pg_drop_replication_slot('cdc')" in of_slot.fix
    assert of_slot.consequence == "The log fills the disk, and then the server stops, with all its databases."


@pytest.mark.parametrize(
    ("days", "slot", "says"),
    [
        (1, "slot cdc", "; 1.4 GB more than at the audit of 2026-03-30."),
        (0, "slot cdc", "."),
        # It was read then, and nothing tells what it kept.
        (1, "slot other", "."),
    ],
)
def test_slot_says_by_how_much_its_log_has_grown_in_a_day(days: int, slot: str, says: str) -> None:
    at_hand = (ServerCounter("slot cdc", "", 3_600_000_000),)
    before = (ServerCounter(slot, "", 2_200_000_000),)
    previous = _profile(failures=before, day=DAY - timedelta(days=1), collected_at=NOW - timedelta(days=days))
    found = _found(_profile(failures=at_hand), Timeline(previous=previous))
    assert found is not None
    assert found.message == f"Nobody reads the replication slot cdc, and the server keeps 3.6 GB of log for it{says}"


def test_long_name_is_cut_in_its_middle() -> None:
    gid = "131077_" + "QUJD" * 20
    found = _found(_profile(failures=(ServerCounter(f"prepared transaction {gid} of app", "", 800_000),)))
    assert found is not None
    assert found.message.startswith("The prepared transaction 131077_QUJDQUJDQUJ\N{HORIZONTAL ELLIPSIS}")
    assert "QUJD of app has been open for 9 days" in found.message


def test_every_failure_of_an_engine_says_what_it_costs() -> None:
    failures = {(name, what): failure for name in ENGINES for what, failure in ENGINES[name].failures.items()}
    assert failures
    assert [at for at, one in failures.items() if not (one.consequence or one.rejects_writes or one.is_note)] == []


def test_transaction_says_how_many_dead_rows_it_may_keep() -> None:
    tables = [
        a_measurement(name, status=TableStatus({}, {"dead_rows": dead, "live_rows": 10.0}))
        for name, dead in (("orders", 1_900_000.0), ("items", 100_000.0))
    ]
    profile = _profile(*tables, failures=(ServerCounter("prepared transaction order 7 of shop", "", 300_000),))
    found = _found(profile)
    assert found is not None
    assert found.message.endswith("stay; it may keep all dead rows, 2,000,000 now, most of them in orders.")


def test_engine_adds_what_to_do_about_a_counter_that_rose() -> None:
    before = a_profile(engine="influxdb1", server=ServerStatus({}, (ServerCounter("subscriptions_failed", "", 1),)))
    after = ServerStatus({}, (ServerCounter("subscriptions_failed", "", 4),))
    profile = a_profile(engine="influxdb1", server=after)
    found = _found(profile, Timeline(previous=before))
    assert found is not None
    assert found.fix.startswith("Find the reason in the server's log. `SHOW STATS FOR 'subscriber'` counts them by")
    assert found.consequence == (
        "What subscribers missed is not sent again. It can be copied to them while its points are there."
    )


def test_what_failed_can_be_repeated_while_its_points_are_there() -> None:
    """The bucket that keeps its points for the shortest time says until when: which one a task reads is not known."""
    status = ServerStatus({}, (ServerCounter("tasks_failed", "", 5),))
    kept = [
        Database(name, a_count(1), retention=(Retention("autogen", seconds, None, default=True),))
        for name, seconds in (("raw", 7 * 86_400), ("daily", FOREVER), ("weekly", 90 * 86_400))
    ]
    before = a_profile(engine="influxdb2", server=ServerStatus({}, (ServerCounter("tasks_failed", "", 1),)))
    profile = a_profile(engine="influxdb2", server=status)
    missing = (
        "What failed is not run again by itself, so what it should have written is missing. It can be run for the "
        "missed times while the points that it reads are there"
    )
    of_all = _found(dataclasses.replace(profile, databases=tuple(kept)), Timeline(previous=before))
    until = before.collected_at + timedelta(days=7)
    assert of_all is not None
    assert of_all.consequence == (
        f"{missing}: raw keeps them for 7 days, so from {until.date()} on, some of them may be gone."
    )
    # What a continuous query reads is known.
    both = tuple(Retention(name, days, None, name == "weekly") for name, days in (("weekly", FOREVER), ("raw", 86_400)))
    selected = "SELECT mean(v) INTO db.raw.sums FROM db.weekly.cpu GROUP BY time(1h)"
    query = f"CREATE CONTINUOUS QUERY q ON db BEGIN {selected} END"
    failed = ServerStatus({}, (ServerCounter("continuous_queries_failed", "", 2),))
    of_source = _found(
        a_profile(
            engine="influxdb1",
            server=failed,
            databases=(Database("db", retention=both), Database("db/raw", policy_of="db", retention=both)),
            stored_queries=(StoredQuery("q", query, None, None, database="db"),),
        ),
        Timeline(previous=a_profile(engine="influxdb1", server=ServerStatus({}, (ServerCounter("writes", "", 1),)))),
    )
    assert of_source is not None
    assert of_source.consequence == f"{missing}."
    forever = _found(dataclasses.replace(profile, databases=(kept[1],)), Timeline(previous=before))
    assert forever is not None
    assert forever.consequence == f"{missing}."


def test_silence_when_the_server_says_nothing() -> None:
    assert run_rule(rule, _profile()).outcome is Outcome.PASS
    without = dataclasses.replace(_profile(), server=None)
    assert run_rule(rule, without).outcome is Outcome.PASS


@pytest.fixture(scope="module")
def distressed() -> Iterator[Postgresql]:
    """A server whose transactions are old, with a small lock table, and an archive that takes nothing."""
    yield from run_postgresql(
        settings="-c autovacuum_freeze_max_age=2000000000 -c archive_mode=on -c archive_command=false "
        "-c max_locks_per_transaction=10 -c max_connections=20 -c max_worker_processes=0 -c max_wal_senders=2 "
        "-c max_wal_size=32MB -c min_wal_size=32MB",
        transactions=1_750 * MILLION,
    )


def _audited(server: Postgresql, schema: str, url: str = "") -> Profile:
    target = Target(name="t", engine="postgresql", url=url or server.audit_url, databases=(schema,))
    now = datetime.now(UTC)
    return collected(target, now=now, day=now.date())


def test_a_server_that_is_well(postgresql: Postgresql) -> None:
    schema = postgresql.new_schema("CREATE TABLE cpu (ts TIMESTAMPTZ, v FLOAT)", "INSERT INTO cpu VALUES (now(), 1)")
    profile = _audited(postgresql, schema)
    assert profile.gaps == ()
    assert run_rule(rule, profile).outcome is Outcome.PASS


@pytest.mark.waits
def test_a_server_in_distress(distressed: Postgresql) -> None:
    schema = distressed.new_schema(
        "CREATE TABLE cpu (ts TIMESTAMPTZ, v FLOAT) PARTITION BY RANGE (ts)",
        "CREATE INDEX ON cpu (ts)",
        "CREATE TABLE few (ts TIMESTAMPTZ, v FLOAT) PARTITION BY RANGE (ts)",
        "SELECT pg_create_physical_replication_slot('standby', true)",
    )
    with distressed.connect() as connection:
        connection.execute(f"SET search_path = {schema}".encode())
        for name, count in (("cpu", 300), ("few", 3)):
            for day in range(count):
                connection.execute(
                    f"CREATE TABLE {name}_{day} PARTITION OF {name} FOR VALUES FROM (TIMESTAMPTZ '2026-01-01' + "
                    f"INTERVAL '{day} days') TO (TIMESTAMPTZ '2026-01-01' + INTERVAL '{day + 1} days')".encode()
                )
        for _ in range(6):
            connection.execute(b"SELECT pg_logical_emit_message(false, '', '')")
            connection.execute(b"SELECT pg_switch_wal()")
        connection.execute(b"CHECKPOINT")
    wait_until(lambda: distressed.rows("SELECT failed_count > 0 FROM pg_stat_archiver") == [(True,)])
    profile = _audited(distressed, schema)
    findings = [*run_rule(rule, profile).findings, *run_rule(near_limit, profile).findings]
    found = {(f.subject.measurement, f.message.split(",")[0].rstrip(".")): f.severity for f in findings}
    assert found == {
        ("", "1"): Severity.WARNING,
        ("archiving", "Archiving of the write-ahead log fails"): Severity.WARNING,
        ("slot standby", "Nobody reads the replication slot standby"): Severity.WARNING,
        ("cpu", "602 locks for a statement on all 300 partitions"): Severity.CRITICAL,
    }
    # It uses what is left of its shared memory first: here as much again. The audit itself has met that end.
    assert {(gap.measurement, gap.detail) for gap in profile.gaps} == {("cpu", "out of shared memory")}


@pytest.mark.waits
def test_connections_of_all_programs_together(distressed: Postgresql) -> None:
    """Seventeen of the twenty need not be a superuser's; the audit is the fifteenth."""
    schema = distressed.new_schema("CREATE TABLE cpu (ts TIMESTAMPTZ, v FLOAT)", "INSERT INTO cpu VALUES (now(), 1)")
    unseen = _audited(distressed, schema)
    assert unseen.server is not None
    assert unseen.server.counted("connections", "") is None, "without the right to see other processes"
    distressed.execute("GRANT pg_read_all_stats TO tsaudit")
    with ExitStack() as stack:
        for _ in range(14):
            stack.enter_context(psycopg.connect(distressed.audit_url))
        profile = _audited(distressed, schema)
        for _ in range(3):
            stack.enter_context(psycopg.connect(distressed.audit_url))
        with pytest.raises(psycopg.OperationalError, match="connection slots"):
            psycopg.connect(distressed.audit_url)
    distressed.execute("REVOKE pg_read_all_stats FROM tsaudit")
    found = [f for f in run_rule(near_limit, profile).findings if "connections" in f.message]
    assert [(f.message, f.severity) for f in found] == [
        ("15 connections, 88% of the 17 that the server allows.", Severity.WARNING)
    ]


def _aged(view: str, column: str) -> str:
    """A statement after which the view of the server shows the times of the column two days ago."""
    return (
        f"DO $$ BEGIN EXECUTE format('CREATE OR REPLACE VIEW pg_catalog.{view} AS %s', regexp_replace("
        f"pg_get_viewdef('pg_catalog.{view}'::regclass), '(\\w+\\.{column})\\M', "
        f"'\\1 - interval ''2 days'' AS {column}')); END $$"
    )


@pytest.fixture
def neglected() -> Iterator[Postgresql]:
    """A server that allows prepared transactions, and runs no worker for a subscription."""
    yield from run_postgresql(settings="-c max_prepared_transactions=2 -c max_logical_replication_workers=0")


@pytest.mark.waits
def test_what_others_left_open_or_what_the_server_found_broken(neglected: Postgresql) -> None:
    server = neglected
    schema = server.new_schema("CREATE TABLE cpu (ts TIMESTAMPTZ, v FLOAT)", "INSERT INTO cpu VALUES (now(), 1)")
    server.execute("GRANT pg_read_all_stats TO tsaudit")
    server.execute("CREATE SUBSCRIPTION copy CONNECTION 'dbname=none' PUBLICATION p WITH (connect=false)")
    server.execute("CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'")
    with server.connect("sorted") as other:
        other.execute(b"CREATE TABLE t (ts TIMESTAMPTZ, v FLOAT)")
        other.execute(b"GRANT SELECT ON t TO tsaudit")
    sorted_url = server.audit_url.replace("/postgres", "/sorted")
    with (
        server.connect() as forgotten,
        server.connect() as harmless,
        server.connect() as reading,
        server.connect() as connection,
    ):
        forgotten.execute(b"BEGIN")
        forgotten.execute(b"SELECT pg_current_xact_id()")
        harmless.execute(b"BEGIN")
        harmless.execute(b"SELECT 1")
        reading.execute(b"BEGIN")
        reading.execute(f"SELECT FROM {schema}.cpu".encode())
        for statement in ("BEGIN", "CREATE TABLE x ()", "PREPARE TRANSACTION 'order 7'"):
            connection.execute(statement.encode())
        assert run_rule(rule, _audited(server, schema)).findings == (), "nothing is old, or another version"
        for statement in (
            "ALTER SUBSCRIPTION copy ENABLE",
            "SET allow_system_table_mods = on",
            _aged("pg_prepared_xacts", "prepared"),
            _aged("pg_stat_activity", "xact_start"),
            "UPDATE pg_database SET datcollversion = '1' WHERE datname = 'sorted'",
        ):
            connection.execute(statement.encode())
        findings = run_rule(rule, _audited(server, schema)).findings
        of_sorted = run_rule(rule, _audited(server, "public", sorted_url)).findings
        process, reader = forgotten.info.backend_pid, reading.info.backend_pid
    assert {f.subject.measurement: f.message.split(",")[0].split(";")[0] for f in findings} == {
        "subscription copy": "The subscription copy is enabled",
        f"transaction of tester in process {process}": f"A transaction of tester in process {process} has been open "
        "for 2 days",
        f"idle transaction of tester in process {reader}": f"An idle transaction of tester in process {reader} has "
        "been open for 2 days",
        "prepared transaction order 7 of postgres": "The prepared transaction order 7 of postgres has been open for 2 "
        "days",
    }
    # What is open in another database holds nothing up here.
    assert {f.subject.measurement: f.message.split(",")[0] for f in of_sorted} == {
        "subscription copy": "The subscription copy is enabled",
        "collation of sorted": "The collation of sorted has another version in the operating system than the one its "
        "indexes were built with",
    }
    notes = [f for f in findings if f.severity is Severity.NOTE]
    assert [f.subject.measurement for f in notes] == [f"idle transaction of tester in process {reader}"]
    kept = [f.message for f in findings if "vacuum frees" in f.message]
    assert [message.split("; ")[-1] for message in kept] == ["the tables that are audited have no dead rows yet."] * 2
    # That it is one failure says nothing, and its message says for how long.
    assert {f.subject.measurement: f.observed for f in findings if f.observed is not None} == {"subscription copy": 1}


START = datetime(2026, 3, 1, tzinfo=UTC)


def _influxdb(started: datetime = START, **counted: int) -> Profile:
    counters = tuple(ServerCounter(name, "", value) for name, value in counted.items())
    return a_profile(engine="influxdb1", server=ServerStatus(counters=counters, started=started))


def _since(before: Profile, today: Profile) -> Finding | None:
    yesterday = dataclasses.replace(before, day=DAY - timedelta(days=1), collected_at=NOW - timedelta(days=1))
    return _found(today, Timeline(previous=yesterday))


def test_what_failed_since_the_audit_before_is_one_finding() -> None:
    before = _influxdb(continuous_queries_failed=3, subscriptions_failed=1, server_errors=5)
    assert _since(before, before) is None
    finding = _since(before, _influxdb(continuous_queries_failed=5, subscriptions_failed=2, server_errors=9))
    assert finding is not None
    assert (finding.severity, finding.subject) == (Severity.WARNING, Subject())
    assert finding.message == (
        "Since the audit of 2026-03-30, 2 continuous queries failed, 1 write to a subscriber failed, and 4 requests "
        "failed."
    )


def test_first_audit_counts_from_the_start_of_the_server() -> None:
    """All that failed is new if the server started today. Else nobody knows when it was, and only what is lost is worth
    a line.
    """
    finding = _found(_influxdb(NOW - timedelta(hours=5), subscriptions_failed=12, server_errors=1))
    assert finding is not None
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "Since the server started on 2026-03-31, 12 writes to subscribers failed and 1 request failed."
    )
    finding = _found(_influxdb(subscriptions_failed=12, server_errors=1))
    assert finding is not None
    assert (finding.severity, finding.impact) == (Severity.NOTE, None)
    assert finding.message == "Since the server started on 2026-03-01, 12 writes to subscribers failed."
    assert _found(_influxdb(server_errors=5)) is None


def test_counters_that_could_not_be_read_before_did_not_rise_since() -> None:
    finding = _since(_influxdb(), _influxdb(subscriptions_failed=12))
    assert finding is not None
    assert finding.severity is Severity.NOTE
    assert finding.message.startswith("Since the server started on 2026-03-01, 12 writes")


def test_what_loses_nothing_is_a_note() -> None:
    before = _influxdb(server_errors=5, subscriptions_failed=1)
    finding = _since(before, _influxdb(server_errors=7, subscriptions_failed=1))
    assert finding is not None
    assert (finding.severity, finding.observed) == (Severity.NOTE, 2)
    finding = _since(before, _influxdb(START + timedelta(days=30), server_errors=2, subscriptions_failed=0))
    assert finding is not None
    assert finding.severity is Severity.NOTE
    # Counters begin anew with the server.
    assert finding.message.endswith("2 requests failed and the server was restarted.")
    finding = _since(before, _influxdb(START + timedelta(days=30), server_errors=0, subscriptions_failed=0))
    assert finding is not None
    assert finding.message.endswith(", the server was restarted.")
    assert finding.observed is None, "a restart is no number of failures"
    assert _since(before, _influxdb(server_errors=5)) is None, "what is not told has not risen"


HOURS = timedelta(hours=1)


@pytest.mark.parametrize(
    ("moved", "errors", "expected"),
    [
        (timedelta(milliseconds=730), 900, None),
        (timedelta(seconds=-40), 903, "3 requests failed."),
        # A machine was suspended for a night, or another member of the group answered, which has counters of its own.
        (8 * HOURS, 903, None),
        (-8 * HOURS, 5_000, None),
        (timedelta(days=30) - 2 * HOURS, 2, "2 requests failed and the server was restarted."),
    ],
)
def test_a_restart_is_a_start_after_the_audit_before(moved: timedelta, errors: int, expected: str | None) -> None:
    """An expert asks when the server started. A start is often told as an uptime, which is rounded and is subtracted
    from a clock, so that it is another one each day without any restart.
    """
    started = NOW - timedelta(days=30)
    finding = _since(_influxdb(started, server_errors=900), _influxdb(started + moved, server_errors=errors))
    assert (finding and finding.message) == (expected and f"Since the audit of 2026-03-30, {expected}")


def _mongod(**changes: Any) -> Profile:
    return a_profile(engine="mongodb", server=ServerStatus(**changes))


@pytest.mark.parametrize(("name", "said"), [("cache", "The cache is full"), ("expiry", "TTL indexes remove nothing")])
def test_mechanism_of_mongodb_that_fails(name: str, said: str) -> None:
    found = _found(_mongod(failures=(ServerCounter(name, "", 1),)))
    assert found is not None
    assert (found.severity, said in found.message) == (Severity.WARNING, True)
