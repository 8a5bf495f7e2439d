"""An audit of a PostgreSQL table of very many rows against one of two million: the time must not grow with the rows.

Both tables are alike, have an index on the time and were analysed; their audits run in turn, and the quickest of
several rounds are compared. Exits with 1 when the audit of the big table takes more than 1.5 times as long, or when the
server has counted so many rows in scans that one was of a whole table: those of pages chosen at random count, too.

Usage: python -m bench.postgresql [rows of the big table, 50000000]
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager

from tests.builders import DAY, NOW
from tests.servers import Postgresql, run_postgresql
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection

SMALL = 2_000_000
ROUNDS = 7
MOST = 1.5


def main() -> int:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 50_000_000
    with contextmanager(run_postgresql)() as server:
        targets = {size: _write(server, size) for size in (SMALL, rows)}
        seconds: dict[int, list[float]] = {size: [] for size in targets}
        for _ in range(ROUNDS):
            for size, target in targets.items():
                began = time.perf_counter()
                _audit(target)
                seconds[size].append(time.perf_counter() - began)
        scanned = {size: _rows_scanned(server, target) for size, target in targets.items()}
    quickest = {size: min(times) for size, times in seconds.items()}
    ratio = quickest[rows] / quickest[SMALL]
    for size, took in quickest.items():
        print(f"{size:>12,} rows: audited in {took:.2f} s, {scanned[size]:,} rows read by scans")
    print(f"{ratio:.2f} times as long for {rows / SMALL:g} times the rows, at most {MOST:g}")
    return 1 if ratio > MOST or any(scanned[size] >= size for size in scanned) else 0


def _write(server: Postgresql, rows: int) -> Target:
    """Requests a tenth of a second apart, of 50 hosts, each with an id of its own."""
    schema = f"rows_{rows}"
    began = time.perf_counter()
    select = f"""
        SELECT '{NOW.isoformat()}'::TIMESTAMPTZ - i * '0.1 s'::INTERVAL AS ts, 'h' || i % 50 AS host,
            md5(i::TEXT)::UUID AS request_id, i / 7.0::FLOAT AS ms, CASE WHEN i % 10 = 0 THEN 'timeout' END AS error
        FROM generate_series(1, {rows}) AS i"""
    with server.connect() as connection:
        for statement in (
            f"CREATE SCHEMA {schema}",
            f"CREATE UNLOGGED TABLE {schema}.requests AS {select}",
            f"CREATE INDEX ON {schema}.requests (ts)",
            f"GRANT USAGE ON SCHEMA {schema} TO tsaudit",
            f"GRANT SELECT ON {schema}.requests TO tsaudit",
        ):
            connection.execute(statement.encode())
    server.execute(f"VACUUM ANALYZE {schema}.requests")
    server.execute("SELECT pg_stat_reset()")
    print(f"wrote {rows:,} rows in {time.perf_counter() - began:.0f} s", flush=True)
    return Target(name=schema, engine="postgresql", url=server.audit_url, databases=(schema,))


def _audit(target: Target) -> None:
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW)
    (requests,) = profile.measurements
    assert requests.rows is not None
    assert {gap.fact for gap in profile.gaps} == {"series_listing"}, profile.gaps
    assert requests.series is not None


def _rows_scanned(server: Postgresql, target: Target) -> int:
    server.execute("SELECT pg_stat_force_next_flush()")
    ((read,),) = server.rows(
        f"SELECT sum(seq_tup_read)::BIGINT FROM pg_stat_user_tables WHERE schemaname = '{target.databases[0]}'"
    )
    return int(read)


if __name__ == "__main__":
    sys.exit(main())
