"""STO017: rows that were deleted or updated, and take space."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_measurement, a_profile
from tests.collecting import collected
from tests.rules.cases import run_rule
from tests.servers import Postgresql
from tsaudit.config.settings import Target
from tsaudit.engines.postgresql.rules.dead_rows import dead_rows as rule
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.server import ServerCounter, ServerStatus, TableStatus
from tsaudit.model.storage import Index, Partitioning, Storage
from tsaudit.model.timeline import Timeline
from tsaudit.text import size

CASES = ()
"""A data set only adds rows: what deletes them is written to a real server below."""
GB = 1_000_000_000


def _profile(dead: float, live: float = 1e6, **changes: Any) -> Profile:
    days = changes.pop("vacuumed_days", 3)
    figures = {"dead_rows": dead, "live_rows": live, "heap_bytes": changes.pop("heap", 0)}
    widths, since = changes.pop("widths", {}), changes.pop("since", None)
    if days is not None:
        figures["vacuumed"] = (NOW - timedelta(days=days)).timestamp()
    counters = changes.pop("counters", {"rows_deleted": 0.0, "rows_updated": 1e6})
    failures = changes.pop("failures", ())
    server = ServerStatus(settings=changes.pop("settings", {"autovacuum": 1.0}), failures=failures)
    settings = {"status": TableStatus(counters, figures, {}, since, widths), "storage": Storage(GB, 0)}
    settings |= {"first_time": NOW - timedelta(days=3_000)} | changes
    return a_profile(a_measurement(**settings), engine="postgresql", server=server, collected_at=NOW)


def _found(profile: Profile) -> Finding:
    (finding,) = run_rule(rule, profile).findings
    return finding


@pytest.mark.parametrize("dead", [0, 200_050, 400_100])
def test_what_autovacuum_lets_there_be_is_no_finding(dead: float) -> None:
    assert run_rule(rule, _profile(dead)).outcome is Outcome.PASS


def test_cost_is_what_is_beyond() -> None:
    finding = _found(_profile(1e6))
    assert finding.message == "1,000,000 dead rows, 50% of all: the last vacuum ended on 2026-03-28."
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(GB * (1e6 - 200_050) / 2e6)
    assert finding.severity is Severity.WARNING
    small = _found(_profile(1e6, storage=Storage(200_000_000, 0)))
    assert small.severity is Severity.NOTE
    assert _found(_profile(1e6, storage=None)).impact is None


def test_settings_of_the_server_and_of_the_table() -> None:
    wide = {"autovacuum": 1.0, "autovacuum_vacuum_scale_factor": 0.6, "autovacuum_vacuum_threshold": 50.0}
    assert run_rule(rule, _profile(1e6, settings=wide)).outcome is Outcome.PASS
    narrow = {"autovacuum_vacuum_scale_factor": "0.01"}
    assert _found(_profile(30_000, settings=wide, options=narrow)).severity is Severity.NOTE, "2% of the table"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"options": {"autovacuum_enabled": "false"}}, "autovacuum is off for the table; they take 400 MB."),
        ({"settings": {"autovacuum": 0.0}}, "autovacuum is off for the server; they take 400 MB."),
        ({"vacuumed_days": None}, "nothing has vacuumed the table since the counters began."),
        ({"vacuumed_days": 0.1}, "so they are newer, or something may still read them."),
    ],
)
def test_why_nothing_frees_them(changes: dict[str, Any], why: str) -> None:
    assert _found(_profile(1e6, **changes)).message.endswith(why)


def test_what_a_recent_vacuum_left_may_stay_or_not() -> None:
    finding = _found(_profile(1e6, vacuumed_days=0.1))
    assert "which of the two is not known yet" in finding.consequence
    assert "pg_prepared_xacts" in finding.fix
    # The audit knows which transaction is open.
    failures = (ServerCounter("slot cdc", "", 9), ServerCounter("prepared transaction order 7 of shop", "", 90_000))
    finding = _found(_profile(1e6, vacuumed_days=0.1, failures=failures))
    assert finding.message.endswith("newer, or the prepared transaction order 7 of shop may still read them.")
    assert finding.fix == "If they stay, end this transaction."


@pytest.mark.parametrize("days", [None, 0.1, 3])
@pytest.mark.parametrize("value", ["false", "off", "FALSE", "no", "f", "0"])
def test_autovacuum_that_is_off_is_said_first(value: str, days: float | None) -> None:
    """Somebody who vacuums an event log by hand each night, or vacuumed it an hour ago, learns that nothing else does,
    and how to switch it on; only then what may hold the rows.
    """
    finding = _found(_profile(1e6, options={"autovacuum_enabled": value}, vacuumed_days=days))
    assert "dead rows, 50% of all: autovacuum is off for the table" in finding.message
    assert finding.fix.startswith("Switch autovacuum on: ALTER TABLE")
    assert ("; a vacuum ended on 2026-03-31, so they are" in finding.message) is (days == 0.1)
    assert ("If they stay, end what may read them" in finding.fix) is (days == 0.1)


@pytest.mark.parametrize("value", ["true", "on", "yes", "1", "t"])
def test_autovacuum_that_is_on_is_not_said_to_be_off(value: str) -> None:
    assert "is off" not in _found(_profile(1e6, options={"autovacuum_enabled": value})).message


def test_autovacuum_that_is_off_for_the_server_as_well() -> None:
    """To switch on one of them changes nothing."""
    both = {"options": {"autovacuum_enabled": "off"}, "settings": {"autovacuum": 0.0}}
    finding = _found(_profile(1e6, vacuumed_days=0.1, **both))
    assert "autovacuum is off for the table; autovacuum is off for the server; a vacuum ended on" in finding.message
    assert "RESET (autovacuum_enabled, toast.autovacuum_enabled)" in finding.fix
    assert "Turn autovacuum on for the server" in finding.fix


@pytest.mark.parametrize(
    ("changes", "severity"),
    [
        ({}, Severity.NOTE),
        # 2.3 MB a day of 50-byte rows: 850 MB in a year.
        ({"counters": {"rows_deleted": 1e6, "rows_updated": 0.0}}, Severity.WARNING),
        ({"counters": {"rows_deleted": 1e6, "rows_updated": 0.0}, "vacuumed_days": 0.5}, Severity.NOTE),
        ({"counters": {"rows_deleted": 1e6, "rows_updated": 0.0}, "vacuumed_days": None}, Severity.WARNING),
    ],
)
def test_what_nothing_frees_grows_as_rows_are_deleted(changes: dict[str, Any], severity: Severity) -> None:
    quiet = {"counters": {"rows_deleted": 100.0, "rows_updated": 0.0}} | changes
    finding = _found(_profile(1e6, storage=Storage(90_000_000, 0), since=NOW - timedelta(days=20), **quiet))
    assert finding.severity is severity


@pytest.mark.parametrize(
    ("dead", "changes", "fails"),
    [
        (20_000, {}, True),
        (9_999, {}, False),
        # Deleted for the last time before the previous audit, or vacuumed by a job of its own.
        (20_000, {"before": 70_000.0}, False),
        (20_000, {"before": 69_000.0}, True),
        (20_000, {"vacuumed_days": 0.5}, False),
        (20_000, {"options": {}}, False),
        (20_000, {"options": {}, "settings": {"autovacuum": 0.0}}, True),
    ],
)
def test_autovacuum_that_is_off_fails_where_rows_are_deleted(dead: float, changes: dict[str, Any], fails: bool) -> None:
    counters = {"rows_deleted": 70_000.0, "rows_updated": 0.0}
    small = {"storage": Storage(1_000, 3_000), "options": {"autovacuum_enabled": "false"}}
    then = changes.pop("before", None)
    profile = _profile(dead, 90, counters=counters, since=NOW - timedelta(hours=1), **small | changes)
    earlier = {"rows_deleted": then, "rows_updated": 0.0}
    before = None if then is None else _profile(dead, 90, counters=earlier, since=NOW - timedelta(hours=1), **small)
    if before is not None:
        before = dataclasses.replace(before, collected_at=NOW - timedelta(minutes=30))
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=before)).findings
    assert finding.severity is (Severity.WARNING if fails else Severity.NOTE)
    assert ("; they take 3.9" in finding.message) is fails


def test_what_few_live_rows_of_a_queue_leave() -> None:
    """The indexes keep their size, too; partitions are no help to rows that live for minutes."""
    indexes = tuple(
        Index(name, (column,), False, False, "btree", False) for name, column in (("a", "host"), ("b", "v"))
    )
    counters, off = {"rows_deleted": 5e5, "rows_updated": 0.0}, {"autovacuum_enabled": "off"}
    held = Storage(30_000_000, 50_000_000)
    finding = _found(_profile(5e5, 40, counters=counters, options=off, storage=held, indexes=indexes))
    assert finding.fix == (
        'Switch autovacuum on: ALTER TABLE "main"."cpu" RESET (autovacuum_enabled, toast.autovacuum_enabled); and '
        'vacuum it once: VACUUM "main"."cpu". A vacuum does not shrink the indexes: REINDEX INDEX CONCURRENTLY for a '
        "and b. A vacuum leaves the table its size for new rows: VACUUM FULL, which locks it, or pg_repack shrinks it."
    )
    assert finding.message.endswith("autovacuum is off for the table; they take 80 MB.")
    # Half of them were updated, which may have made no entry.
    updated = {"rows_deleted": 25e4, "rows_updated": 25e4}
    finding = _found(_profile(5e5, 40, counters=updated, storage=held, indexes=indexes))
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(55e6, rel=0.01)
    # It is too early to say whether there will be more.
    young = _found(_profile(5e5, 40, counters=counters, vacuumed_days=None, since=NOW - timedelta(hours=2)))
    assert young.impact is not None
    assert young.impact.per_day is None


@pytest.mark.parametrize(
    ("live", "changes", "found"),
    [
        (1e6, {}, 1),
        # 100 bytes for each of them, and a fifth that may be dead.
        (4.4e6, {}, 1),
        (5.1e6, {}, 0),
        (1e6, {"heap": 0}, 0),
        (1e6, {"widths": {}}, 0),
        (0, {"widths": {}}, 1),
        (4e6, {"options": {"fillfactor": "70"}}, 0),
        (1e6, {"options": {"timescaledb.compress": "true"}}, 0),
        # New rows need 370 MB in a year, or 880 MB.
        (1e6, {"first_time": NOW - timedelta(days=100)}, 1),
        (1e6, {"first_time": NOW - timedelta(days=42)}, 0),
    ],
)
def test_a_table_that_deletes_have_emptied(live: float, changes: dict[str, Any], found: int) -> None:
    settings = {"heap": GB, "widths": {"time": 8.0, "note": 60.0}, "storage": Storage(GB, GB // 10)} | changes
    findings = run_rule(rule, _profile(0, live, **settings)).findings
    assert len(findings) == found
    for finding in findings:
        assert finding.severity is Severity.WARNING
        assert finding.impact is not None
        assert finding.impact.now == pytest.approx(GB - (1.2 * live + 50) * sum((32, *settings["widths"].values())))
        assert "VACUUM FULL" in finding.fix


@pytest.mark.parametrize(("deleted", "updated", "found"), [(1.3e6, 0.0, True), (0.0, 1.3e6, False)])
def test_only_what_deletes_have_emptied_is_to_be_partitioned(deleted: float, updated: float, found: bool) -> None:
    """Jobs that are updated each time they run are not removed by their age."""
    settings = {"heap": GB, "widths": {"time": 8.0, "note": 60.0}, "storage": Storage(GB, GB // 10)}
    counters = {"rows_deleted": deleted, "rows_updated": updated}
    fix = _found(_profile(0, 1e6, counters=counters, **settings)).fix
    assert ("Partition the table by time" in fix) is found


def test_rows_deleted_by_their_age() -> None:
    deleted = {"rows_deleted": 3e6, "rows_updated": 1e3}
    assert "Partition the table by time" in _found(_profile(1e6, counters=deleted)).fix
    assert (
        "Drop whole partitions"
        in _found(_profile(1e6, counters=deleted, partitioning=Partitioning(("time",), 3, ()))).fix
    )
    assert "partition" not in _found(_profile(1e6)).fix.lower()
    assert "partition" not in _found(_profile(1e6, counters=deleted, time_column=None)).fix.lower()


def test_a_queue_without_autovacuum_on_a_server(postgresql: Postgresql) -> None:
    schema = postgresql.new_schema(
        "CREATE TABLE outbox (id BIGINT PRIMARY KEY, ts TIMESTAMPTZ, body TEXT) WITH (autovacuum_enabled = off)",
        "CREATE INDEX outbox_ts ON outbox (ts)",
        "INSERT INTO outbox SELECT i, now() - i * INTERVAL '1 s', 'x' FROM generate_series(1, 30000) AS i",
        "DELETE FROM outbox WHERE id > 25",
        "SELECT pg_stat_force_next_flush()",
    )
    now = datetime.now(UTC)
    target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
    profile = collected(target, now=now, day=now.date())
    (finding,) = run_rule(rule, profile).findings
    assert finding.severity is Severity.WARNING
    held = next(m.storage for m in profile.measurements if m.storage)
    bytes_ = (held.data_bytes or 0) + (held.index_bytes or 0)
    assert bytes_ > 3_000_000
    assert f"they take {size(round(bytes_ * (29_975 - 55) / 30_000))}" in finding.message
    # What it says works, and the next audit finds nothing.
    for statement in (
        f"ALTER TABLE {schema}.outbox RESET (autovacuum_enabled)",
        f"VACUUM {schema}.outbox",
        f"REINDEX INDEX CONCURRENTLY {schema}.outbox_ts",
        "SELECT pg_stat_force_next_flush()",
    ):
        postgresql.execute(statement)
    profile = collected(target, now=now, day=now.date())
    assert run_rule(rule, profile).outcome is Outcome.PASS


def test_silence_when_nothing_is_counted() -> None:
    for status in (None, TableStatus({}, {"live_rows": 5.0})):
        assert run_rule(rule, _profile(1e6, status=status)).outcome is Outcome.PASS
    empty = dataclasses.replace(_profile(1e6), measurements=())
    assert run_rule(rule, empty).outcome is Outcome.PASS


def test_rows_that_a_server_counted(postgresql: Postgresql) -> None:
    """After the same deletes: nothing was vacuumed, it was, few were deleted, and another transaction reads them."""
    names = ("left", "vacuumed", "few", "held")
    # Of 20,000 rows, 4,000 are left.
    schema = postgresql.new_schema(
        *(f'CREATE TABLE "{name}" (ts TIMESTAMPTZ, host TEXT, v FLOAT)' for name in names),
        *(
            f"""INSERT INTO "{name}" SELECT now() - INTERVAL '1 min' * i, 'h' || i % 9, i
            FROM generate_series(1, 20000) AS i"""
            for name in names
        ),
        "VACUUM ANALYZE",
    )
    with postgresql.connect() as reader, postgresql.connect() as writer:
        reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM pg_class")
        for name in names:
            kept = 19_000 if name == "few" else 4_000
            writer.execute(f'DELETE FROM {schema}."{name}" WHERE v > {kept}'.encode())
            # What is counted after a vacuum would be added to what it left.
            writer.execute(b"SELECT pg_stat_force_next_flush()")
            if name == "vacuumed":
                reader.execute("COMMIT")
                writer.execute(f'VACUUM {schema}."{name}"'.encode())
                reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
                reader.execute("SELECT count(*) FROM pg_class")
        writer.execute(f"VACUUM {schema}.held".encode())
        writer.execute(b"SELECT pg_stat_force_next_flush()")
        writer.execute(b"SELECT 1")
        now = datetime.now(UTC)
        target = Target(name="t", engine="postgresql", url=postgresql.audit_url, databases=(schema,))
        profile = collected(target, now=now, day=now.date())
    assert profile.gaps == ()
    found = {f.subject.measurement: f for f in run_rule(rule, profile).findings}
    # What a vacuum has freed is at the end of the file, which it gives back.
    assert set(found) == {"left", "held"}
    figures = {m.name: m.status.figures for m in profile.measurements if m.status}
    assert {name: of["live_rows"] for name, of in figures.items()} == {**dict.fromkeys(names, 4_000), "few": 19_000}
    assert figures["vacuumed"]["heap_bytes"] < figures["left"]["heap_bytes"] / 3
    assert {f.observed for f in found.values()} == {16_000}
    assert all("Partition the table by time" in f.fix for f in found.values())
    assert "something may still read them" in found["held"].message
