"""TimescaleDB for the tests: a real server where TSAUDIT_TIMESCALEDB_URL names one (a superuser's), else a stand-in.

No Debian package has the extension. The stand-in is a plain PostgreSQL in which tables stand for TimescaleDB's views
and two functions for its own: names, types and contents are those that a real server gave for the same data
(`tests/recordings/timescaledb.json`, which says what version it was). Chunks are real children of their table; what a
compressed one holds stays in it. `job_stats` was not recorded: its columns are those of the documentation. With
TSAUDIT_REBASELINE=1 and a real server the recording is written anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest
from psycopg import sql

from tests.servers import PASSWORD, Postgresql
from tsaudit.config.settings import Target

RECORDING: Final = Path(__file__).parents[2] / "recordings" / "timescaledb.json"
VIEWS: Final = ("hypertables", "dimensions", "chunks", "compression_settings", "jobs", "job_stats")
_DATABASE: Final = "tsaudit_timescaledb"

_TABLES: Final = (
    "CREATE SCHEMA metrics",
    "CREATE TABLE metrics.conditions (time TIMESTAMPTZ NOT NULL, device TEXT NOT NULL, site TEXT, temperature FLOAT)",
    "CREATE TABLE metrics.epochs (at BIGINT NOT NULL, device TEXT, v FLOAT)",
    "CREATE TABLE metrics.spread (time TIMESTAMPTZ NOT NULL, part INTEGER NOT NULL, v FLOAT)",
    "CREATE TABLE metrics.plain (time TIMESTAMPTZ NOT NULL, device TEXT, v FLOAT) WITH (fillfactor = 70)",
)
_HYPERTABLES: Final = (
    "SELECT create_hypertable('metrics.conditions', by_range('time', INTERVAL '1 day'))",
    "SELECT create_hypertable('metrics.epochs', by_range('at', 86400000))",
    "SELECT create_hypertable('metrics.spread', by_range('time', INTERVAL '1 day'))",
    "SELECT add_dimension('metrics.spread', by_hash('part', 2))",
    "SELECT add_retention_policy('metrics.conditions', INTERVAL '3650 days')",
    "ALTER TABLE metrics.conditions SET (timescaledb.compress, timescaledb.compress_segmentby = 'device')",
    "SELECT add_compression_policy('metrics.conditions', INTERVAL '3650 days')",
    "ALTER TABLE metrics.spread SET (timescaledb.compress, timescaledb.compress_segmentby = 'part')",
)
_INDEXES: Final = (
    "CREATE INDEX by_site ON metrics.conditions (site, time DESC)",
    f"CREATE INDEX {'x' * 60} ON metrics.conditions (temperature)",
    *(f"CREATE INDEX {'y' * 60}{i} ON metrics.conditions (site)" for i in range(2)),
)
_ROWS: Final = (
    """INSERT INTO metrics.conditions SELECT t, 'd' || d, 's' || d % 2, d + extract(hour FROM t) / 7
      FROM generate_series(TIMESTAMPTZ '2026-03-27 00:00Z', '2026-03-30 23:50Z', INTERVAL '10 min') AS t,
        generate_series(1, 6) AS d""",
    """INSERT INTO metrics.epochs SELECT 1774915200000 - i * 3600000, 'd' || i % 2, i / 7.0
      FROM generate_series(1, 48) AS i""",
)
_COMPRESS: Final = (
    "SELECT compress_chunk(c) FROM show_chunks('metrics.conditions', older_than => '2026-03-29'::DATE) AS c"
)
_LAST: Final = (
    "SELECT pg_stat_force_next_flush()",  # what is counted late would be added to what ANALYZE finds
    "ANALYZE",
    "GRANT USAGE ON SCHEMA metrics TO tsaudit",
    "GRANT SELECT ON ALL TABLES IN SCHEMA metrics TO tsaudit",
)
_STAND_IN: Final = (
    "CREATE SCHEMA timescaledb_information",
    "CREATE SCHEMA _timescaledb_internal",
    """CREATE TABLE timescaledb_information.chunk_sizes
      (hypertable TEXT, chunk_schema NAME, chunk_name NAME, table_bytes BIGINT, index_bytes BIGINT,
      toast_bytes BIGINT)""",
    "CREATE TABLE timescaledb_information.row_counts (chunk_name NAME, rows BIGINT)",
    """CREATE FUNCTION public.chunks_detailed_size(hypertable REGCLASS) RETURNS TABLE (
      chunk_schema NAME, chunk_name NAME, table_bytes BIGINT, index_bytes BIGINT, toast_bytes BIGINT,
      total_bytes BIGINT, node_name NAME
    ) LANGUAGE SQL AS $$
      SELECT s.chunk_schema, s.chunk_name, s.table_bytes, s.index_bytes, s.toast_bytes,
        s.table_bytes + s.index_bytes + s.toast_bytes, NULL::NAME
      FROM timescaledb_information.chunk_sizes AS s
      JOIN pg_class AS c ON c.oid = $1 AND c.relname = s.hypertable
    $$""",
    """CREATE FUNCTION public.approximate_row_count(relation REGCLASS) RETURNS BIGINT LANGUAGE SQL AS $$
      SELECT r.rows FROM timescaledb_information.row_counts AS r JOIN pg_class AS c ON c.relname = r.chunk_name
      WHERE c.oid = $1
    $$""",
)
_MADE_BY_ITSELF: Final = (
    "CREATE INDEX conditions_time_idx ON metrics.conditions (time DESC)",
    "CREATE INDEX epochs_at_idx ON metrics.epochs (at DESC)",
    "CREATE INDEX spread_time_idx ON metrics.spread (time DESC)",
)
_GRANTS: Final = (
    "GRANT USAGE ON SCHEMA timescaledb_information TO PUBLIC",
    "GRANT SELECT ON ALL TABLES IN SCHEMA timescaledb_information TO PUBLIC",
)


class Timescaledb:
    """A database with the hypertables above, and a role `tsaudit` that may read them."""

    def __init__(self, url: str, *, is_real: bool) -> None:
        self.url = url
        self.is_real = is_real

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=True)

    @property
    def target(self) -> Target:
        """A target for schema `metrics`, read with the shipped grants only."""
        with self.connect() as connection:
            info = connection.info
            url = f"postgresql://tsaudit@{info.host}:{info.port}/{info.dbname}"
        settings: dict[str, Any] = {"name": "t", "engine": "postgresql", "url": url, "password": PASSWORD}
        return Target(databases=("metrics",), **settings)


@pytest.fixture(scope="session")
def timescaledb(request: pytest.FixtureRequest) -> Iterator[Timescaledb]:
    """The real one or the stand-in; what is told of both is the same."""
    address = os.environ.get("TSAUDIT_TIMESCALEDB_URL")
    server: Postgresql | None = None if address else request.getfixturevalue("postgresql")
    administrator = server.admin_url if server else str(address)
    with psycopg.connect(administrator, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {_DATABASE} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {_DATABASE}")
        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'tsaudit'").fetchone():
            connection.execute(f"CREATE ROLE tsaudit LOGIN PASSWORD '{PASSWORD}'")
    made = Timescaledb(psycopg.conninfo.make_conninfo(administrator, dbname=_DATABASE), is_real=server is None)
    with made.connect() as connection:
        _build(connection, real=server is None)
        if server is None and os.environ.get("TSAUDIT_REBASELINE"):
            RECORDING.write_text(json.dumps(_recorded(connection), indent=1) + "\n", encoding="utf-8")
    yield made
    with psycopg.connect(administrator, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {_DATABASE} WITH (FORCE)")


def _build(connection: psycopg.Connection[Any], *, real: bool) -> None:
    first = ("CREATE EXTENSION timescaledb", *_TABLES, *_HYPERTABLES) if real else _TABLES
    recording = {} if real else json.loads(RECORDING.read_text(encoding="utf-8"))
    for statement in (*first, *_INDEXES, *_ROWS):
        connection.execute(statement.encode())
    if real:
        connection.execute(_COMPRESS.encode())
    else:
        _stand_in(connection, recording)
    for statement in _LAST:
        connection.execute(statement.encode())


def _recorded(connection: psycopg.Connection[Any]) -> dict[str, Any]:
    """What the views and functions say of schema `metrics`, as text."""
    version = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'").fetchone()
    made: dict[str, Any] = {"version": version[0] if version else ""}
    for view in VIEWS:
        columns = connection.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attnum > 0 AND attrelid = %s"
            "::regclass ORDER BY attnum",
            [f"timescaledb_information.{view}"],
        ).fetchall()
        texts = ", ".join(f"CAST({name} AS TEXT)" for name, _ in columns)
        rows = connection.execute(
            f"SELECT {texts} FROM timescaledb_information.{view} WHERE hypertable_schema = 'metrics' ORDER BY 1, 2, 3"
        ).fetchall()
        hidden = [i for i, (name, _) in enumerate(columns) if name == "owner"]
        made[view] = {
            "columns": [list(c) for c in columns],
            "rows": [[None if i in hidden else v for i, v in enumerate(row)] for row in rows],
        }
    made["chunk_sizes"] = connection.execute(
        "SELECT h.hypertable_name, s.chunk_schema, s.chunk_name, s.table_bytes, s.index_bytes, s.toast_bytes "
        "FROM timescaledb_information.hypertables AS h, "
        "chunks_detailed_size(format('%I.%I', h.hypertable_schema, h.hypertable_name)::REGCLASS) AS s ORDER BY 1, 2, 3"
    ).fetchall()
    made["row_counts"] = connection.execute(
        "SELECT chunk_name, approximate_row_count(format('%I.%I', chunk_schema, chunk_name)::REGCLASS) "
        "FROM timescaledb_information.chunks ORDER BY 1"
    ).fetchall()
    return made


def _stand_in(connection: psycopg.Connection[Any], recording: dict[str, Any]) -> None:
    for statement in _STAND_IN:
        connection.execute(statement.encode())
    for view in VIEWS:
        columns = ", ".join(f"{name} {kind}" for name, kind in recording[view]["columns"])
        connection.execute(f"CREATE TABLE timescaledb_information.{view} ({columns})".encode())
    for name, rows in {v: recording[v]["rows"] for v in VIEWS}.items():
        _insert(connection, name, rows)
    for name in ("chunk_sizes", "row_counts"):
        _insert(connection, name, recording[name])
    for statement in (*_MADE_BY_ITSELF, *_GRANTS):
        connection.execute(statement.encode())
    names = [name for name, _ in recording["chunks"]["columns"]]
    for row in recording["chunks"]["rows"]:
        _chunk(connection, dict(zip(names, row, strict=True)))


def _insert(connection: psycopg.Connection[Any], table: str, rows: list[list[Any]]) -> None:
    for row in rows:
        places = ", ".join(["%s"] * len(row))
        connection.execute(f"INSERT INTO timescaledb_information.{table} VALUES ({places})".encode(), row)


def _chunk(connection: psycopg.Connection[Any], row: dict[str, str]) -> None:
    """A child of the table, with its indexes and its rows."""
    table = sql.Identifier(row["hypertable_schema"], row["hypertable_name"])
    chunk = sql.Identifier(row["chunk_schema"], row["chunk_name"])
    bounds = [row["range_start"] or row["range_start_integer"], row["range_end"] or row["range_end_integer"]]
    connection.execute(sql.SQL("CREATE TABLE {} () INHERITS ({})").format(chunk, table))
    moved = sql.SQL(
        "WITH moved AS (DELETE FROM ONLY {table} WHERE {time} >= {start} AND {time} < {end} RETURNING *) "
        "INSERT INTO {chunk} SELECT * FROM moved"
    )
    time = sql.Identifier(row["primary_dimension"])
    start, end = (sql.Literal(b) for b in bounds)
    connection.execute(moved.format(table=table, time=time, start=start, end=end, chunk=chunk))
    indexes = connection.execute(
        "SELECT indexname, substring(indexdef FROM ' USING .*') FROM pg_indexes "
        "WHERE schemaname = %s AND tablename = %s",
        [row["hypertable_schema"], row["hypertable_name"]],
    ).fetchall()
    names: set[str] = set()
    for name, definition in indexes:
        own = f"{row['chunk_name']}_{name}"[:63]
        own = f"{own[:61]}_1" if own in names else own
        names.add(own)
        connection.execute(sql.SQL("CREATE INDEX {} ON {}" + definition).format(sql.Identifier(own), chunk))
