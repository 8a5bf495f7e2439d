"""What an audit of a PostgreSQL database costs beside other tools that look at the same tables, and who finds what.

The database has many tables of 10,000 rows and 12 columns, and six faults. Each tool runs once as a process of its own:
seconds of its processor, and of the server's, with statements and blocks as `pg_stat_statements` counts them. Tools
that check what a person wrote down are asked whether each column has values.

PgHero is a program in Ruby: from a checkout of it, the statements of its checks are read that take no argument.

    python -m bench.peers [number of tables] [checkout of PgHero]
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg

from tests.servers import PASSWORD, Postgresql, run_postgresql

TABLES: Final = 100
DATABASE: Final = "fleet"
_TICK: Final = os.sysconf("SC_CLK_TCK")
_TABLE: Final = """CREATE TABLE {name} AS SELECT
    now() - interval '1 min' - i * interval '6 s' AS ts, 'host-' || i % {hosts} AS host,
    (ARRAY['eu-west', 'eu-central', 'us-east'])[1 + i % 3] AS region, 'rack ' || i % 7 AS rack,
    (ARRAY['ok', 'warn', 'error timeout', 'retry'])[1 + i * 7919 % 4] AS state,
    'the request ' || md5(i::text) || ' was answered after ' || i % 977 || ' milliseconds' AS message,
    sin(i) AS heat, cos(i / 100.0) + 20 AS load, (hashint4(i + 7) % 100000) / 7.0::float8 AS latency,
    1.5 * (i % 40)::float8 AS v, hashint4(i) % 500 AS requests, CASE WHEN i % 2 = 0 THEN i / 3.0::float8 END AS extra
FROM generate_series(0, 9999) AS i"""
_FAULTS: Final = {
    "index that repeats another": (
        "CREATE INDEX repeats_ts ON t00000 (ts)",
        "CREATE INDEX repeats_both ON t00000 (ts, host)",
    ),
    "IDs that run out": (
        "ALTER TABLE t00001 ADD id serial",
        "SELECT setval('t00001_id_seq', 2130000000)",
    ),
    "numbers as text": ("ALTER TABLE t00002 ALTER v TYPE text USING v::text",),
    "column without values": ("UPDATE t00003 SET extra = NULL",),
    "default partition that takes all rows": (
        "CREATE TABLE parted (ts timestamptz NOT NULL, host text, v float8) PARTITION BY RANGE (ts)",
        "CREATE TABLE parted_old PARTITION OF parted FOR VALUES FROM ('2020-01-01') TO ('2020-02-01')",
        "CREATE TABLE parted_rest PARTITION OF parted DEFAULT",
        "INSERT INTO parted SELECT ts, host, heat FROM t00004",
    ),
    "dead rows": (
        "UPDATE t00005 SET requests = requests + 1",
        "UPDATE t00005 SET requests = requests + 1",
        "SELECT pg_stat_force_next_flush()",
    ),
}
SUMMARY: Final = """SELECT s.*, c.reltuples, c.relpages FROM pg_stats AS s JOIN pg_class AS c
    ON c.relname = s.tablename AND c.relnamespace = s.schemaname::regnamespace WHERE s.schemaname = 'public'"""


@dataclass(frozen=True)
class Bill:
    """What one tool cost. Seconds are those of processors."""

    client_s: float
    server_s: float
    statements: int
    blocks: int


def main() -> int:
    """Print a line for each tool, and for each what it reports of the faults."""
    if sys.argv[1:2] == ["--tool"]:
        _TOOLS[sys.argv[2]](*sys.argv[3:])
        return 0
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else TABLES
    checkout = sys.argv[2:3]
    with contextlib.contextmanager(run_postgresql)() as server, tempfile.TemporaryDirectory() as folder:
        fill(server, tables)
        for name in _TOOLS:
            arguments = [*checkout] if name == "PgHero" else [folder]
            if not arguments:
                print(f"{name:20} not run: no checkout")
                continue
            bill, said = _measured(server, name, arguments)
            print(
                f"{name:20} client {bill.client_s:6.2f} s, server {bill.server_s:6.2f} s, "
                f"{bill.client_s * 1000 / tables:5.1f} ms a table, {bill.statements:6,} statements, "
                f"{bill.blocks:9,} blocks"
            )
            print("\n".join(f"    {line}" for line in said))
    return 0


def fill(server: Postgresql, tables: int) -> None:
    with server.connect() as connection:
        connection.autocommit = True
        connection.execute(f"CREATE DATABASE {DATABASE}")
        connection.execute("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
    with server.connect(DATABASE) as connection:
        connection.autocommit = True
        for number in range(tables):
            connection.execute(_TABLE.format(name=f"t{number:05}", hosts=20 + number % 13))
            connection.execute(f"CREATE INDEX ON t{number:05} (ts)")
        connection.execute("VACUUM ANALYZE")
        for statements in _FAULTS.values():
            for statement in statements:
                connection.execute(statement)
        connection.execute("ANALYZE")


def _measured(server: Postgresql, name: str, arguments: list[str]) -> tuple[Bill, list[str]]:
    """What the tool cost, as a process of its own, and what it printed."""
    with server.connect() as connection:
        connection.autocommit = True
        connection.execute("SELECT pg_stat_statements_reset()")
        (postmaster,) = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone() or ("",)
    of_server, of_children = server_seconds(int(postmaster.split()[0])), _child_seconds()
    done = subprocess.run(
        [sys.executable, __file__, "--tool", name, *arguments],
        env=os.environ | {"PEERS_PORT": str(server.port), "HOME": _home(), "GX_ANALYTICS_ENABLED": "false"},
        capture_output=True,
        text=True,
        check=False,
    )
    client = _child_seconds() - of_children
    with server.connect() as connection:
        row = connection.execute(
            "SELECT sum(calls), sum(shared_blks_hit + shared_blks_read) FROM pg_stat_statements AS s "
            f"JOIN pg_database AS d ON d.oid = s.dbid WHERE d.datname = '{DATABASE}'"
        ).fetchone()
    served = server_seconds(int(postmaster.split()[0])) - of_server
    statements, blocks = row or (0, 0)
    said = done.stdout.splitlines() if not done.returncode else ["failed: " + (done.stderr.splitlines() or [""])[-1]]
    return Bill(client, served, int(statements or 0), int(blocks or 0)), said


def _child_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def server_seconds(postmaster: int) -> float:
    """Of the server, with its processes that run and those that have ended."""
    total = 0
    for file in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            own, _, rest = file.read_text().rpartition(")")
            fields = rest.split()
            if int(fields[1]) == postmaster or int(own.split()[0]) == postmaster:
                total += sum(map(int, fields[11:15]))
    return total / _TICK


def _home() -> str:
    """A home in which tools that send statistics about their users are told not to."""
    folder = Path(tempfile.gettempdir()) / "tsaudit-peers-home"
    (folder / ".soda").mkdir(parents=True, exist_ok=True)
    (folder / ".soda" / "config.yml").write_text("send_anonymous_usage_stats: false\nuser_cookie_id: none\n")
    return str(folder)


# --- The tools --------------------------------------------------------------------------------------------------------


def _connect() -> psycopg.Connection[Any]:
    port = os.environ["PEERS_PORT"]
    return psycopg.connect(f"postgresql://tester:{PASSWORD}@127.0.0.1:{port}/{DATABASE}", autocommit=True)


def _columns() -> dict[str, list[str]]:
    with _connect() as connection:
        rows = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        ).fetchall()
    found: dict[str, list[str]] = {}
    for table, column in rows:
        found.setdefault(table, []).append(column)
    return found


def _pg_stats(_folder: str) -> None:
    """The catalog's statistics of all columns in one query: what costs least that shows anything."""
    with _connect() as connection:
        rows = connection.execute(SUMMARY).fetchall()
    print(f"{len(rows)} columns; whoever reads the rows sees a column without values")


def _pghero(checkout: str) -> None:
    """The statements of its checks, each once."""
    sources = sorted(Path(checkout).glob("lib/pghero/methods/*.rb"))
    statements = [s for file in sources for s in re.findall(r"<<~SQL\s*\n(.*?)\n\s*SQL\n", file.read_text(), re.DOTALL)]
    run = 0
    with _connect() as connection:
        for statement in statements:
            # What is filled in by Ruby, or changes something, is no check.
            if "#{" in statement or not statement.lstrip().upper().startswith(("SELECT", "WITH")):
                continue
            with contextlib.suppress(psycopg.Error):
                connection.execute(statement).fetchall()
                run += 1
    print(f"{run} statements; what its rules in Ruby would make of the rows was not tried")


def _soda(_folder: str) -> None:
    from soda.scan import Scan

    scan = Scan()
    scan.set_data_source_name("fleet")
    scan.add_configuration_yaml_str(
        f"data_source fleet:\n  type: postgres\n  host: 127.0.0.1\n  port: '{os.environ['PEERS_PORT']}'\n"
        f"  username: tester\n  password: {PASSWORD}\n  database: {DATABASE}\n  schema: public\n"
    )
    for table, columns in _columns().items():
        checks = [f"  - missing_percent({column}) < 95" for column in columns]
        scan.add_sodacl_yaml_str(f"checks for {table}:\n" + "\n".join(checks))
    scan.set_verbose(False)
    scan.execute()
    failed = [check.name for check in scan.get_checks_fail()]
    print(f"{len(failed)} checks failed: {', '.join(failed)}")


def _great_expectations(_folder: str) -> None:
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    port = os.environ["PEERS_PORT"]
    source = context.data_sources.add_postgres(
        "fleet", connection_string=f"postgresql+psycopg2://tester:{PASSWORD}@127.0.0.1:{port}/{DATABASE}"
    )
    failed = []
    for table, columns in _columns().items():
        batch = source.add_table_asset(table, table_name=table).add_batch_definition_whole_table("whole").get_batch()
        suite = gx.ExpectationSuite(
            name=table,
            expectations=[gx.expectations.ExpectColumnValuesToNotBeNull(column=c, mostly=0.05) for c in columns],
        )
        result = batch.validate(suite)
        failed += [f"{table}.{r.expectation_config.kwargs['column']}" for r in result.results if not r.success]
    print(f"{len(failed)} expectations failed: {', '.join(failed)}")


def _tsaudit(folder: str) -> None:
    configuration = Path(folder) / "tsaudit.yaml"
    url = f"postgresql://tester:{PASSWORD}@127.0.0.1:{os.environ['PEERS_PORT']}/{DATABASE}"
    configuration.write_text(
        json.dumps({"report": {"folder": folder}, "targets": [{"name": "fleet", "engine": "postgresql", "url": url}]})
    )
    command = [sys.executable, "-m", "tsaudit", "audit", "-c", str(configuration), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    if done.returncode not in (0, 1):
        raise SystemExit(done.stderr)
    for finding in json.loads(done.stdout)[0]["findings"]:
        print(f"{finding['severity']:8} {finding['code']} {finding['headline'][:110]}")


_TOOLS: Final[dict[str, Callable[[str], None]]] = {
    "pg_stats": _pg_stats,
    "PgHero": _pghero,
    "tsaudit": _tsaudit,
    "soda-core": _soda,
    "great_expectations": _great_expectations,
}


if __name__ == "__main__":
    sys.exit(main())
