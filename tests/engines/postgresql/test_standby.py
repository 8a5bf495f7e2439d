"""A standby is audited as its primary is, but for what only the primary counts."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator

import pytest

from tests.collecting import collected
from tests.servers import Postgresql, run_postgresql
from tsaudit.config.settings import Target
from tsaudit.model.figures import Reason
from tsaudit.model.profile import Measurement

ROW = "TIMESTAMPTZ '2026-03-30' + i * INTERVAL '1 s', 'h' || i % 9, i / 7.0"


@pytest.fixture(scope="module")
def primary() -> Iterator[Postgresql]:
    for server in run_postgresql():
        with server.connect() as connection:
            for statement in (
                "CREATE SCHEMA plant",
                "CREATE TABLE plant.cpu (ts TIMESTAMPTZ, host TEXT, v FLOAT, PRIMARY KEY (ts, host))",
                "CREATE INDEX cpu_host ON plant.cpu (host)",
                f"INSERT INTO plant.cpu SELECT {ROW} FROM generate_series(1, 5000) AS i",
                "CREATE UNLOGGED TABLE plant.passing (ts TIMESTAMPTZ, v FLOAT)",
                "ANALYZE",
                "GRANT USAGE ON SCHEMA plant TO tsaudit",
                "GRANT SELECT ON ALL TABLES IN SCHEMA plant TO tsaudit",
            ):
                connection.execute(statement.encode())
        yield server


@pytest.fixture(scope="module")
def standby(primary: Postgresql) -> Iterator[Postgresql]:
    for server in run_postgresql(primary):
        (end,) = primary.rows("SELECT pg_current_wal_flush_lsn()")[0]
        while server.rows(f"SELECT pg_last_wal_replay_lsn() >= '{end}'") != [(True,)]:
            time.sleep(0.05)
        yield server


def _cpu(server: Postgresql) -> Measurement:
    target = Target(name="t", engine="postgresql", url=server.audit_url, databases=("plant",))
    profile = collected(target)
    assert {(g.measurement, g.reason) for g in profile.gaps} <= {("passing", Reason.FAILED)}
    return next(m for m in profile.measurements if m.name == "cpu")


def test_standby_tells_what_its_primary_does(primary: Postgresql, standby: Postgresql) -> None:
    there, here = _cpu(primary), _cpu(standby)
    assert here.fingerprint == "", "whether rows were written is not known"
    uncounted = tuple(
        dataclasses.replace(index, scans=None, scans_since=None, counted_since=own.counted_since, is_as_old=False)
        for index, own in zip(there.indexes or (), here.indexes or (), strict=True)
    )
    assert {index.scans is None for index in there.indexes or ()} == {False}
    assert there.status is not None
    assert here.status is not None
    # Its own queries are counted, and not what its primary writes.
    assert set(there.status.counters) - set(here.status.counters) == {"rows_inserted", "rows_updated", "rows_deleted"}
    assert "dead_rows" not in here.status.figures
    assert here.status.order == there.status.order
    assert here.rows is not None
    assert here == dataclasses.replace(
        there,
        fingerprint="",
        indexes=uncounted,
        status=here.status,
        retention=here.retention,
        storage=here.storage,
        # Statistics of the last ANALYZE, where its primary counts.
        rows_total=here.rows_total,
    )
    assert here.storage is not None


def test_unlogged_table_is_a_gap_on_a_standby(standby: Postgresql) -> None:
    target = Target(name="t", engine="postgresql", url=standby.audit_url, databases=("plant",))
    gaps = {g.fact: g for g in collected(target).gaps if g.measurement == "passing"}
    assert "unlogged" in gaps["row_sample"].detail
