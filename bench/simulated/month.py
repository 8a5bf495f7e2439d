"""A month of audits of thousands of targets by several processes, with one history on PostgreSQL and no servers.

The profiles are made by hand: three tables each, whose figures grow. A process judges, stores, and compacts as an audit
does; it only measures nothing and writes no report. The days before the last one are copied inside the history from a
few targets that are audited on all of them.
"""

from __future__ import annotations

import multiprocessing
import random
import statistics
import threading
import time
from collections import Counter
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from sqlalchemy import text

from bench.simulated import copies
from tests.builders import a_count, a_field, a_measurement, a_profile, a_tag
from tsaudit.config.settings import Incidents
from tsaudit.evaluation import evaluate as judged
from tsaudit.history import clock, incidents
from tsaudit.history.removal import compact, is_due
from tsaudit.history.store import Store
from tsaudit.model.profile import Profile

FIRST = date(2025, 3, 3)
TABLES = ("cpu", "disk", "http_requests")
AUDITED = 12
"""Targets that are audited on each day; the others are copies of them until the last day."""
DIAGNOSTIC_QUERIES = (
    "SELECT count(*) FILTER (WHERE wait_event_type = 'Lock'), coalesce(min(wait_event) FILTER "
    "(WHERE wait_event_type = 'Lock'), '') FROM pg_stat_activity WHERE datname = current_database()"
)


def profile_of(target: str, day: date) -> Profile:
    """Its tables, with other values and figures on each day."""
    chance = random.Random(f"{target}{day}")
    number = (day - FIRST).days

    def table(name: str) -> Any:
        hosts = 40 + number // 3
        tags = (a_tag("host", hosts), a_tag("region", 3), a_tag("service", 12))
        fields = tuple(a_field(f"value_{n}", null_ratio=round(chance.random() * 0.2, 3)) for n in range(3))
        rows = a_count(100_000 + 5_000 * number + chance.randrange(1_000))
        return a_measurement(name, hosts * 30 + chance.randrange(5), tags=tags, fields=fields, rows=rows)

    return a_profile(*map(table, TABLES), target=target, day=day)


def audit(store: Store, target: str, day: date) -> None:
    """What `tsaudit.run` does with the history, and the rules."""
    timeline = store.timeline(target, before=day)
    profile = profile_of(target, day)
    result = replace(judged(profile, timeline), target=target)
    store.rule_outcomes(target, before=day)
    store.save(profile, result, None)
    incidents.update(store, result, Incidents(), lambda _finding, _rule: "team")
    incidents.current(store, target, day=day)
    store.published(target, day, "https://reports.example.com/latest.html")
    days = store.days(target)
    if is_due(target, days, day):
        compact(store, target, clock.reference_date(days, day))


def simulate(address: str, targets: int, days: int, audits: int, workers: int) -> None:
    """Print throughput, bytes, and locks waited for."""
    names = [f"first{n:02}" for n in range(AUDITED)]
    with Store.open(address) as store:
        for number in range(days - 1):
            for name in names:
                audit(store, name, _today(number))
        began = time.monotonic()
        copies.multiply(store, names, targets)
        with store.writing("analyze") as connection:
            connection.execute(text("ANALYZE"))
        print(f"{targets:,} targets with {days - 1} days in {time.monotonic() - began:.0f} s", flush=True)
        size = copies.size(store)
        everything = [*names, *(f"target-{n:05}" for n in range(AUDITED, targets))]
        chosen = everything[-audits:]
        _measure_day(store, address, chosen, days - 1, workers)
        grown = copies.size(store) - size
        print(f"history: {copies.size(store) / 1e6:,.0f} MB; {grown / len(chosen) / 1e3:.1f} kB an audit")
        for table, rows, bytes_ in copies.tables(store):
            print(f"  {table:14} {rows:12,} rows {bytes_ / 1e6:10,.1f} MB")


def _measure_day(store: Store, address: str, names: list[str], number: int, workers: int) -> None:
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    shares = [(address, names[n::workers], number, results) for n in range(workers)]
    processes = [context.Process(target=_work, args=share) for share in shares]
    ended = threading.Event()
    waits: list[tuple[int, str]] = []
    watcher = threading.Thread(target=_watch, args=(store, ended, waits))
    began = time.monotonic()
    watcher.start()
    for process in processes:
        process.start()
    spent = [results.get() for _ in processes]
    for process in processes:
        process.join()
    ended.set()
    watcher.join()
    wall = time.monotonic() - began
    seconds = [each for _, one in spent for each in one]
    waiting = [found for found in waits if found[0]]
    rate, cpu = len(names) / wall, sum(cpu for cpu, _ in spent) / len(names)
    slowest = statistics.quantiles(seconds, n=100)[-1]
    print(f"day {number + 1}: {len(names):,} audits in {wall:.0f} s by {workers} workers")
    print(f"  {rate:.1f} a second, {rate / workers:.1f} per worker; {cpu * 1e3:.1f} ms of a worker's processor each")
    print(f"  median {statistics.median(seconds) * 1e3:.1f} ms, 99th percentile {slowest * 1e3:.0f} ms")
    kinds = dict(Counter(kind for _, kind in waiting))
    print(f"  somebody waited for a lock in {len(waiting)} of {len(waits)} looks {kinds or ''}", flush=True)


def _work(address: str, names: list[str], number: int, results: Any) -> None:
    _today(number)
    seconds = []
    with Store.open(address) as store:
        audit(store, names[0], _today(number))
        began = time.process_time()
        for name in names:
            at = time.perf_counter()
            audit(store, name, _today(number))
            seconds.append(time.perf_counter() - at)
        results.put((time.process_time() - began, seconds))


def _watch(store: Store, ended: threading.Event, waits: list[tuple[int, str]]) -> None:
    while not ended.wait(0.05):
        with store.reading() as connection:
            count, kind = connection.execute(text(DIAGNOSTIC_QUERIES)).one()
        waits.append((count, kind))


def _today(number: int) -> date:
    """The day is today from now on."""
    day = FIRST + timedelta(days=number)
    clock.today = lambda: day
    return day
