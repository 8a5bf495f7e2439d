"""What a whole audit of very many small tables costs, beside the one statement that lists them.

A real InfluxDB 1.x with 1,500 measurements of 20 series, and a real PostgreSQL with tables of 10,000 rows and 12
columns, without any fault. Each is audited as a process of its own, with an empty history and the report. Seconds are
those of processors, the lowest of three. Exits with 1 if a goal is missed.

    python -m bench.whole_audits [number of PostgreSQL tables]
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench.peers import DATABASE, SUMMARY, fill, server_seconds
from bench.statements import GOALS, lines, listed
from bench.tables import audited
from tests.databases import influxql, write_lines
from tests.servers import run_influxd, run_postgresql

ROUNDS = 3
TABLES = 1_000
MOST_S = {"influxdb1": 10.0, "postgresql": 60.0}
_CONFIGURATION = """history: sqlite:///{folder}/history.sqlite
report: {{folder: {folder}/reports}}
targets:
  - {{name: fleet, engine: {engine}, url: "{url}"}}
"""


def main() -> int:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else TABLES
    missed = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.contextmanager(run_influxd)(Path(folder)) as influxd:
        goal = next(goal for goal in GOALS if goal.database == "d1500")
        influxql(influxd.url, f"CREATE DATABASE {goal.database}")
        write_lines(influxd.url, goal.database, lines(goal, datetime.now(UTC).replace(microsecond=0)))
        missed += _measured(
            "influxdb1", influxd.url, lambda: influxd.processor_s, lambda: listed(influxd, goal), goal.measurements
        )
    with contextlib.contextmanager(run_postgresql)() as server:
        fill(server, tables)

        def summarized() -> None:
            with server.connect(DATABASE) as connection:
                connection.execute(SUMMARY).fetchall()

        with server.connect() as connection:
            (file,) = connection.execute("SELECT pg_read_file('postmaster.pid')").fetchone() or ("",)
        postmaster = int(file.split()[0])
        url = server.admin_url.rpartition("/")[0] + f"/{DATABASE}"
        missed += _measured("postgresql", url, lambda: server_seconds(postmaster), summarized, tables)
    return min(missed, 1)


def _measured(engine: str, url: str, served: Callable[[], float], listing: Callable[[], None], tables: int) -> int:
    """Print what one target costs; 1 if that is more than the goal."""
    clients, servers, listings = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tsaudit.yaml").write_text(_CONFIGURATION.format(folder=folder, engine=engine, url=url))
        for _ in range(ROUNDS):
            began = served()
            listing()
            listings.append(served() - began)
            began = served()
            clients.append(audited(folder)[0])
            servers.append(served() - began)
    client = min(clients)
    print(
        f"{engine}, {tables:,} tables: {client:.1f} s, {client / tables * 1000:.1f} ms a table "
        f"(at most {MOST_S[engine]:g} s); the server {min(servers):.2f} s, for one listing {min(listings):.2f} s"
    )
    return int(client > MOST_S[engine])


if __name__ == "__main__":
    sys.exit(main())
