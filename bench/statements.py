"""How many statements an audit needs, and how long they take compared with one listing of all series in the same run.

On a real InfluxDB 1.x: 300 and 1,500 small measurements of seven shapes, and one measurement with 200,000 series. On a
real PostgreSQL: 1,000 tables of seven shapes. Each is collected twice: the second time nothing has changed. Exits with
1 if a goal is missed.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import urllib3

from tests.databases import influxql, write_lines
from tests.servers import Influxd, Postgresql, run_influxd, run_postgresql
from tsaudit.collect import collect
from tsaudit.config.settings import Target
from tsaudit.engines.opening import open_connection
from tsaudit.model.profile import Profile

ROUNDS = 5
SHAPES = 7
SERIES = 20
MOST_AGAIN = 10
TABLES = 1_000
MOST_ON_POSTGRESQL = 60
_LISTING = "series_listing"


@dataclass(frozen=True)
class Goal:
    """What is promised for a database."""

    database: str
    measurements: int
    series: int
    """Of each measurement."""
    statements: int
    listing_ratio: float | None
    """The wall time of the statements that list series, compared with one listing of everything."""
    server_ratio: float | None
    """The processor time of the server for the whole audit, compared with one listing of everything."""


GOALS = (
    Goal("d300", 300, SERIES, 25, None, None),
    Goal("d1500", 1_500, SERIES, 40, 3.0, None),
    Goal("big", 1, 200_000, 25, 1.5, 2.0),
)


def main() -> int:
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        for server in run_influxd(Path(folder)):
            for goal in GOALS:
                missed += _meets(server, goal)
    for database in run_postgresql():
        missed += _meets_on_postgresql(database)
    return min(missed, 1)


def _meets(server: Influxd, goal: Goal) -> int:
    """Print the figures; the number of goals missed."""
    now = datetime.now(UTC).replace(microsecond=0)
    influxql(server.url, f"CREATE DATABASE {goal.database}")
    write_lines(server.url, goal.database, lines(goal, now))
    target = Target(name="t", engine="influxdb1", url=server.url, databases=(goal.database,))
    first = _collected(target, now)
    again = _collected(target, now, first)
    print(f"{goal.measurements:,} x {goal.series:,} series: {_statements(first)} statements, then {_statements(again)}")
    missed = int(_statements(first) > goal.statements) + int(_statements(again) > MOST_AGAIN) + len(first.gaps)
    walls, loads, wholes = [], [], []
    for _ in range(ROUNDS):
        load = server.processor_s
        took = _seconds(lambda: listed(server, goal))
        of_listing, load = server.processor_s - load, server.processor_s
        began = time.monotonic()
        profile = _collected(target, now)
        wholes.append((time.monotonic() - began) / took)
        of_audit = server.processor_s - load
        walls.append(sum(cost.seconds for cost in profile.costs if cost.fact == _LISTING) / took)
        loads.append(of_audit / max(of_listing, 0.01))
    for name, ratios, most in (("listing", walls, goal.listing_ratio), ("server", loads, goal.server_ratio)):
        ratio = statistics.median(ratios)
        print(f"  {name}: {ratio:.2f} of one listing" + (f" (at most {most:g})" if most else ""))
        missed += int(most is not None and ratio > most)
    print(f"  whole audit, rows and tsaudit's own work included: {statistics.median(wholes):.1f} of one listing")
    return missed


def _meets_on_postgresql(server: Postgresql) -> int:
    """The same for PostgreSQL, which has no listing to compare with."""
    now = datetime.now(UTC).replace(microsecond=0)
    with server.connect() as connection:
        for number in range(TABLES):
            fields = "".join(f", v{c} DOUBLE PRECISION" for c in range(3 + number % SHAPES))
            connection.execute(f"CREATE TABLE public.t{number:04} (time TIMESTAMPTZ, host TEXT{fields})".encode())
            values = ", ".join(["i"] * (3 + number % SHAPES))
            connection.execute(
                f"INSERT INTO public.t{number:04} SELECT '{now}'::TIMESTAMPTZ - i * '5 min'::INTERVAL, 'h' || i % 20, "
                f"{values} FROM generate_series(1, 60) AS i".encode()
            )
        connection.execute(b"SELECT pg_stat_force_next_flush()")
    target = Target(name="t", engine="postgresql", url=server.address("public"), databases=("public",))
    began = time.process_time()
    first = _collected(target, now)
    took = time.process_time() - began
    again = _collected(target, now, first)
    print(f"{TABLES:,} tables on PostgreSQL: {_statements(first)} statements, then {_statements(again)}")
    print(f"  {took / TABLES * 1000:.1f} ms of tsaudit's processor a table")
    most = _statements(first) > MOST_ON_POSTGRESQL, _statements(again) > MOST_AGAIN
    return sum(most) + len(first.gaps)


def lines(goal: Goal, now: datetime) -> Iterator[str]:
    """Three points of each series; of the big one a single one."""
    for m in range(goal.measurements):
        fields = ",".join(f"v{m % SHAPES}_{c}={m}.5" for c in range(3 + m % SHAPES))
        for s in range(goal.series):
            for point in range(3 if goal.series == SERIES else 1):
                at = round((now - timedelta(minutes=5 * (point + 1))).timestamp()) * 10**9
                yield f"m{m:05},host=h{s},dc=d{s % 3} {fields} {at}"


def _collected(target: Target, now: datetime, previous: Profile | None = None) -> Profile:
    with open_connection(target) as connection:
        return collect(target, connection, day=now.date(), previous=previous, now=now)


def _statements(profile: Profile) -> int:
    return sum(cost.statements for cost in profile.costs)


def listed(server: Influxd, goal: Goal) -> None:
    """One listing of everything, read raw to its end."""
    body = urlencode({"q": f"SHOW SERIES ON {goal.database}", "chunked": "true"})
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    urllib3.request("POST", f"{server.url}/query", body=body, headers=headers, timeout=300)


def _seconds(work: Callable[[], None]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
