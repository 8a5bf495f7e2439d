"""How large the history of 500 targets becomes in a year, and how long an audit reads and writes it.

Three SQLite databases of different kinds are audited on each of 365 days: one whose series stay the same, one whose
pods are replaced, and one with a new request ID in every row. Their year is then copied in the history to 500 targets,
and audited for some more days: so its size is that of the file, and the last audits work on the full history. Only the
report is left out. Also: a target with 10,000 open incidents, and a configuration of 20,000 targets.

The goal for the time is one of the processor: by the clock, an audit also waits for other processes of the machine, and
for its disk. Exits with 1 if a goal is missed.

With `--month`, 10,000 targets of handmade profiles have 29 days, and some of them are audited on the next one by
several processes at once: throughput, bytes, and locks waited for (bench.simulated.month). This has no goal.

    python -m bench.history_size [--postgresql] [--days 365] [--targets 500]
    python -m bench.history_size --month [--targets 10000] [--days 30] [--audits 1500] [--workers 2]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path

from bench.simulated import copies, year
from bench.simulated.year import HistoryTime, Year
from tests.builders import a_finding, a_result, a_rule_result
from tests.servers import run_postgresql
from tsaudit.config.file import load
from tsaudit.config.settings import Incidents
from tsaudit.history import clock, incidents
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject

MOST_BYTES = 600e6
"""For 500 targets and a year."""
MOST_MS, MOST_LOAD_S, OPEN, CONFIGURED = 60.0, 10.0, 10_000, 20_000
MOST_OPEN_S = 5.0
"""To update that many open incidents of one target, or to read all of them."""
MORE_DAYS = 5
FIRST = date(2025, 3, 3)


class Goals:
    """Prints each figure with its goal and counts those that are missed."""

    def __init__(self) -> None:
        self.missed = 0

    def check(self, what: str, value: float, most: float, unit: str) -> None:
        self.missed += value > most
        print(
            f"{what:58} {value:10,.1f} {unit:3} at most {most:,.0f}  {'MISSED' if value > most else 'ok'}", flush=True
        )


@contextmanager
def history(*, postgresql: bool) -> Iterator[str]:
    """The address of an empty history."""
    with tempfile.TemporaryDirectory() as folder:
        if not postgresql:
            yield f"sqlite:///{folder}/history.db"
            return
        for server in run_postgresql():
            server.execute("CREATE SCHEMA history")
            yield server.address("history")


def measure_year(goals: Goals, address: str, days: int, targets: int) -> None:
    with tempfile.TemporaryDirectory() as folder, Store.open(address) as store:
        simulated = Year(Path(folder), FIRST, days + MORE_DAYS, address)
        spent = HistoryTime()
        for day in range(days):
            simulated.audit(store, FIRST + timedelta(days=day), spent)
        audits = len(year.KINDS) * days
        began = time.monotonic()
        copies.multiply(store, [target.name for target in simulated.settings.targets], targets)
        size = copies.size(store)
        print(f"{audits:,} audits; copied to {targets} targets in {time.monotonic() - began:.0f} s", flush=True)
        for table, rows, bytes_ in copies.tables(store):
            print(f"  {table:14} {rows:12,} rows {bytes_ / 1e6:10,.1f} MB")
        for day in range(days, days + MORE_DAYS):
            simulated.audit(store, FIRST + timedelta(days=day), spent)
    (start_wall, start), (end_wall, end) = spent.median(slice(0, 10)), spent.median(slice(-MORE_DAYS, None))
    middle = spent.median(slice(min(days, 100) - 10, min(days, 100)))[1]
    usual = spent.mean(slice(-MORE_DAYS - 30, -MORE_DAYS))
    goals.check(f"history of {targets} targets after {days} days", size / 1e6, MOST_BYTES / 1e6 * targets / 500, "MB")
    goals.check("reading and writing of an audit, first 10 days, processor", start, MOST_MS, "ms")
    goals.check("the same, last days, whole history", end, MOST_MS, "ms")
    goals.check("mean of the 30 days before: with days of full value sets", usual[1], MOST_MS, "ms")
    walls = f"{start_wall:.1f}, {end_wall:.1f}, {usual[0]:.1f}"
    print(f"{'by the clock: first days, last days, and that mean':58} {walls} ms")
    print(f"{'last days / first 10 days':58} {end / start:10.2f}")
    print(f"{'last days / days 90 to 100, as many earlier days read':58} {end / middle:10.2f}")
    for name, (wall, processor) in spent.parts(slice(-MORE_DAYS, None)):
        print(f"  {name:30} {processor:8.1f} ms of the processor, {wall:8.1f} by the clock")


def measure_open_incidents(goals: Goals, address: str) -> None:
    day = FIRST
    places = [Subject("main", f"table{n % 100:03}", f"column{n // 100:03}") for n in range(OPEN)]
    policy = Incidents(open_after=1)
    with Store.open(address) as store:
        for _ in range(3):
            day += timedelta(days=1)
            clock.today = lambda day=day: day
            result = a_result(a_rule_result(*map(a_finding, places)), target="large", day=day)
            began = time.monotonic()
            found = incidents.update(store, result, policy, lambda _finding, _rule: "team")
            updated = time.monotonic() - began
            assert len(found) == OPEN, len(found)
        began = time.monotonic()
        assert len(incidents.current(store, "large")) == OPEN
        goals.check(f"update of {OPEN:,} open incidents", updated, MOST_OPEN_S, "s")
        goals.check(f"reading {OPEN:,} open incidents", time.monotonic() - began, MOST_OPEN_S, "s")


def measure_configuration(goals: Goals) -> None:
    """In seconds of the processor, because other processes delay what allocates much memory several times over."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tsaudit.yaml"
        for kind, text in year.configurations(CONFIGURED).items():
            file.write_text(text)
            began = time.process_time()
            assert len(load(file).targets) == CONFIGURED
            goals.check(f"loading {CONFIGURED:,} targets, {kind}", time.process_time() - began, MOST_LOAD_S, "s")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--postgresql", action="store_true", help="keep the history on PostgreSQL")
    parser.add_argument("--days", type=int)
    parser.add_argument("--targets", type=int)
    parser.add_argument("--month", action="store_true", help="10,000 targets for a month, on PostgreSQL")
    parser.add_argument("--audits", type=int, default=1_500, help="number of targets audited on the month's last day")
    parser.add_argument("--workers", type=int, default=2, help="processes for the month")
    given = parser.parse_args()
    if given.month:
        from bench.simulated import month

        with history(postgresql=True) as address:
            month.simulate(address, given.targets or 10_000, given.days or 30, given.audits, given.workers)
        return 0
    goals = Goals()
    with history(postgresql=given.postgresql) as address:
        measure_year(goals, address, given.days or 365, given.targets or 500)
    with history(postgresql=given.postgresql) as address:
        measure_open_incidents(goals, address)
    measure_configuration(goals)
    return 1 if goals.missed else 0


if __name__ == "__main__":
    sys.exit(main())
