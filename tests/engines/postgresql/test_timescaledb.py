"""Hypertables: what their columns are for, their chunks as partitions, and sizes with what is compressed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import a_place
from tests.collecting import collected
from tests.engines.postgresql.timescaledb import Timescaledb
from tsaudit.engines.postgresql.advice import PostgresqlAdvice
from tsaudit.model.figures import FOREVER
from tsaudit.model.finding import Severity
from tsaudit.model.profile import Measurement, Profile
from tsaudit.model.storage import Partition, Retention, Storage
from tsaudit.rules.server.server_in_distress import server_in_distress
from tsaudit.rules.storage.missing_index import missing_index
from tsaudit.rules.storage.unused_or_redundant_index import unused_or_redundant_index

CATALOGUE = frozenset({"storage", "indexes", "partitions", "row_estimate", "retention"})


def _tables(profile: Profile) -> dict[str, Measurement]:
    return {m.name: m for m in profile.measurements}


def test_roles_when_the_hypertable_says_them(timescaledb: Timescaledb) -> None:
    profile = collected(timescaledb.target)
    assert profile.gaps == ()
    assert "TimescaleDB" in profile.server_version
    tables = _tables(profile)
    assert sorted(tables) == ["conditions", "epochs", "plain", "spread"]
    reasons = {name: {t.key: t.role_reason for t in m.tags} for name, m in tables.items()}
    assert reasons["conditions"] == {
        "device": "compressed chunks are segmented by it",
        "site": "a text column with short values",
    }
    assert reasons["spread"] == {"part": "a dimension of the hypertable"}
    assert {name: m.time_column for name, m in tables.items()} == {
        "conditions": "time",
        "epochs": "at",  # no name of a time, and numbers
        "plain": "time",
        "spread": "time",
    }
    conditions, epochs = tables["conditions"], tables["epochs"]
    assert (conditions.series and conditions.series.value, conditions.rows and conditions.rows.value) == (6, 3456)
    assert (epochs.series and epochs.series.value, epochs.rows and epochs.rows.value) == (2, 48)
    assert str(epochs.last_time) == "2026-03-30 23:00:00+00:00"


def test_chunks_when_some_are_compressed(timescaledb: Timescaledb) -> None:
    profile = collected(timescaledb.target, wanted=CATALOGUE)
    assert profile.gaps == ()
    tables = _tables(profile)
    cut = tables["conditions"].partitioning
    assert cut is not None
    assert (cut.key, cut.count) == (("time",), 4)
    days = sorted(cut.partitions, key=lambda p: p.bounds)
    assert days[0].bounds == "FROM 2026-03-27 00:00:00+00 TO 2026-03-28 00:00:00+00"
    assert [p.rows for p in days] == [864] * 4
    assert [p.bytes for p in days] == [_bytes(timescaledb, p) for p in days]
    assert sum(_bytes(timescaledb, p) for p in days[:2]) < sum(_bytes(timescaledb, p) for p in days[2:])
    assert tables["epochs"].partitioning is not None
    assert all(p.bounds.startswith("FROM 17") for p in tables["epochs"].partitioning.partitions)
    assert tables["spread"].partitioning is None, "no chunk yet"
    assert tables["plain"].partitioning is None
    storage = tables["conditions"].storage
    assert storage is not None
    assert storage.data_bytes == sum(p.bytes or 0 for p in days) + _own(timescaledb, "pg_table_size")
    assert storage.index_bytes is not None


def _bytes(timescaledb: Timescaledb, partition: Partition) -> int:
    with timescaledb.connect() as connection:
        found = connection.execute(
            "SELECT table_bytes + toast_bytes FROM public.chunks_detailed_size('metrics.conditions') "
            "WHERE chunk_name = %s",
            [partition.name],
        ).fetchone()
    assert found is not None
    return int(found[0])


def _own(timescaledb: Timescaledb, function: str) -> int:
    with timescaledb.connect() as connection:
        found = connection.execute(f"SELECT {function}('metrics.conditions')").fetchone()
    assert found is not None
    return int(found[0])


def test_indexes_when_those_of_the_chunks_are_added_up(timescaledb: Timescaledb) -> None:
    with timescaledb.connect() as connection:
        connection.execute("SET enable_seqscan = off")
        for _ in range(3):
            connection.execute("SELECT * FROM metrics.epochs WHERE at = 1774915200000 - 3600000").fetchall()
        connection.execute("SELECT pg_stat_force_next_flush()")
    tables = _tables(collected(timescaledb.target, wanted=CATALOGUE))
    found = {i.name: i for m in tables.values() for i in m.indexes or ()}
    by_site, long_name = found["by_site"], found["x" * 60]
    assert (by_site.columns, by_site.constraint) == (("site", "time"), False)
    assert by_site.size_bytes is not None
    assert by_site.size_bytes >= 5 * 8192, "its own and those of four chunks"
    assert by_site.scans == 0
    assert (found["epochs_at_idx"].scans or 0) >= 3
    assert (long_name.size_bytes or 0) >= 5 * 8192, "those of the chunks have names that were cut off"
    assert [(i.size_bytes, i.scans) for name, i in found.items() if name.startswith("y")] == [(None, None)] * 2, (
        "which of the chunks' is which, only their names would tell"
    )


def test_lifetimes_when_only_some_have_a_policy(timescaledb: Timescaledb) -> None:
    tables = _tables(collected(timescaledb.target, wanted=CATALOGUE))
    assert {name: m.retention for name, m in tables.items()} == {
        "conditions": Retention("drop_after", 3650 * 86_400, 86_400, default=True),
        "epochs": Retention("drop_after", FOREVER, None, default=True),
        "plain": Retention("", FOREVER, None, default=True),
        "spread": Retention("drop_after", FOREVER, 86_400, default=True),
    }


def test_options_tell_what_is_compressed_and_when(timescaledb: Timescaledb) -> None:
    tables = _tables(collected(timescaledb.target, wanted=CATALOGUE | {"options"}))
    assert {name: m.options for name, m in tables.items()} == {
        "conditions": {
            "timescaledb.compress": "true",
            "timescaledb.compress_segmentby": "device",
            "compress_after": "3650 days",
        },
        "epochs": {"timescaledb.compress": "false"},
        "plain": {"fillfactor": "70"},
        "spread": {"timescaledb.compress": "true", "timescaledb.compress_segmentby": "part"},
    }


def test_nothing_is_waited_for_when_a_chunk_is_locked(timescaledb: Timescaledb) -> None:
    before = _tables(collected(timescaledb.target, wanted=CATALOGUE))
    chunk = before["conditions"].partitioning.partitions[0].name
    with timescaledb.connect() as connection, connection.transaction():
        connection.execute(f"LOCK TABLE _timescaledb_internal.{chunk} IN ACCESS EXCLUSIVE MODE".encode())
        profile = collected(timescaledb.target, wanted=CATALOGUE)
    assert {g.measurement for g in profile.gaps} == {"conditions"}
    assert {"storage"} <= {g.fact for g in profile.gaps} <= {"storage", "row_sample", "columns"}
    tables = _tables(profile)
    cut = tables["conditions"].partitioning
    assert cut is not None
    assert [(p.rows, p.bytes) for p in cut.partitions] == [(864, None)] * 4
    assert tables["conditions"].storage == Storage(None, None)
    assert tables["epochs"].storage == before["epochs"].storage


def test_rules_when_the_table_is_divided_by_time(timescaledb: Timescaledb) -> None:
    from tests.rules.cases import run_rule

    profile = collected(timescaledb.target, wanted=CATALOGUE)
    big = replace(profile, measurements=tuple(replace(m, indexes=()) for m in profile.measurements))
    found = run_rule(missing_index, big).findings
    assert {f.subject.measurement for f in found} <= {"plain", "spread"}
    (twins,) = (
        f for f in run_rule(unused_or_redundant_index, profile).findings if f.subject.measurement == "conditions"
    )
    conditions = _tables(profile)["conditions"]
    schema = PostgresqlAdvice(a_place(profile, "metrics", conditions), twins.changes).schema()
    # It has the columns that another one starts with; and CONCURRENTLY is refused for it.
    assert schema is not None
    assert f'DROP INDEX "metrics"."{"y" * 60}0";' in schema.text
    assert "CONCURRENTLY" not in schema.text


def test_newest_rows_when_older_chunks_are_compressed(timescaledb: Timescaledb) -> None:
    budget = timescaledb.target.budget.model_copy(update={"max_scan_rows": 1000, "max_rows": 500})
    profile = collected(timescaledb.target.model_copy(update={"budget": budget}))
    conditions = _tables(profile)["conditions"]
    (temperature,) = conditions.fields
    assert temperature.distinct is not None
    assert temperature.distinct.source.scope.startswith("the newest 500 rows from 2026-03-01")
    assert "TABLESAMPLE" not in conditions.statements["row_sample"]
    assert str(conditions.last_time) == "2026-03-30 23:50:00+00:00"


def test_job_whose_last_run_failed(timescaledb: Timescaledb) -> None:
    from tests.rules.cases import run_rule

    wanted = CATALOGUE | {"server_status"}
    assert run_rule(server_in_distress, collected(timescaledb.target, wanted=wanted)).findings == ()
    if timescaledb.is_real:
        pytest.skip("no job of a real server fails when it is told to")
    view = "timescaledb_information.job_stats"
    with timescaledb.connect() as connection:
        connection.execute(
            f"UPDATE {view} SET last_run_status = 'Failed', total_failures = 3 WHERE job_id = 1000".encode()
        )
        profile = collected(timescaledb.target, wanted=wanted)
        connection.execute(f"UPDATE {view} SET last_run_status = NULL, total_failures = 0".encode())
    (finding,) = run_rule(server_in_distress, profile).findings
    assert finding.message == "The last run of job 1000 (policy_retention of conditions) failed, 3 times so far."
    assert finding.severity is Severity.WARNING
