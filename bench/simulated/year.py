"""A year of audits of three small databases, and the time each audit spends on the history."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

from tsaudit import alerts, report, run
from tsaudit.config.file import load_mapping
from tsaudit.history import clock, incidents
from tsaudit.history.store import Store
from tsaudit.history.value_sets import RememberedValues

KINDS: Final = ("steady", "pods", "requests")
ROWS_A_DAY: Final = 48
Array = np.ndarray
BEFORE: Final = timedelta(days=30)
"""How long the databases have been written when the first audit comes."""

_TABLES: Final = {
    "cpu": (("host", "region"), ("usage_idle", "usage_user", "temperature")),
    "http_requests": (("path", "status"), ("duration_ms", "response_bytes")),
    "disk": (("host", "device", "mode"), ("used_bytes", "free_bytes")),
}
_COUNTED: Final[dict[str, tuple[Any, ...]]] = {
    "history": (
        (Store, ("timeline", "save", "days", "result", "rule_outcomes", "published", "took")),
        (incidents, ("update", "current")),
        (RememberedValues, ("expect", "of", "keep")),
        (run, ("compact",)),
        (alerts, ("queue",)),
    )
}


class HistoryTime:
    """What audits spent in the functions that read and write the history, by day: ms, and ms of the processor."""

    def __init__(self) -> None:
        self._days: list[list[dict[str, Array]]] = []
        self._own = threading.local()
        for owner, names in _COUNTED["history"]:
            for name in names:
                if hasattr(owner, name):
                    self._wrap(owner, name)

    def begin_day(self) -> None:
        self._days.append([])

    @contextmanager
    def audit(self) -> Iterator[None]:
        """Everything until the end of the context belongs to one audit."""
        self._spent: dict[str, Array] = defaultdict(lambda: np.zeros(2))
        yield
        self._days[-1].append(dict(self._spent))

    def median(self, days: slice) -> Array:
        """Of an audit in these days, in all functions together."""
        return np.asarray(np.median(self._sums(days), axis=0))

    def mean(self, days: slice) -> Array:
        """The same; includes the days on which more has to be done than usual."""
        return np.asarray(np.mean(self._sums(days), axis=0))

    def parts(self, days: slice) -> list[tuple[str, Array]]:
        """The mean of each function."""
        audits = [audit for day in self._days[days] for audit in day]
        names = sorted({name for audit in audits for name in audit})
        return [(name, np.mean([audit.get(name, np.zeros(2)) for audit in audits], axis=0)) for name in names]

    def _sums(self, days: slice) -> list[Array]:
        return [np.sum(list(audit.values()), axis=0) for day in self._days[days] for audit in day]

    def _wrap(self, owner: Any, name: str) -> None:
        inner: Callable[..., Any] = getattr(owner, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            if getattr(self._own, "inside", False) or not hasattr(self, "_spent"):
                return inner(*arguments, **named)
            self._own.inside, began = True, _clocks()
            try:
                return inner(*arguments, **named)
            finally:
                self._own.inside = False
                self._spent[name] += _clocks() - began

        setattr(owner, name, counted)


def _clocks() -> Array:
    """Milliseconds of time, and of this thread on a processor."""
    return np.array([time.perf_counter(), time.thread_time()]) * 1000


class Year:
    """The databases with all their rows, and the settings to audit them."""

    def __init__(self, folder: Path, first: date, days: int, history: str) -> None:
        for kind in KINDS:
            _write(folder / f"{kind}.db", kind, first - BEFORE, days + BEFORE.days)
        targets = [
            {"name": kind, "engine": "sqlite", "url": f"sqlite:///{kind}.db", "budget": {"concurrency": 1}}
            for kind in KINDS
        ]
        settings = {"history": history, "owners": {"default": {"channel": "C0TEAM"}}, "targets": targets}
        self.settings = load_mapping(settings, label="bench", folder=folder)
        report.write = lambda *_, **__: report.ReportLocation("file:///reports/latest.html", "latest.html")

    def audit(self, store: Store, day: date, spent: HistoryTime) -> None:
        """Audit all targets on the day, as if it were today."""
        clock.today = lambda: day
        spent.begin_day()
        for target in self.settings.targets:
            with spent.audit():
                done = run.audit_target(target, self.settings, store, day=day)
            assert done.error is None, done.error


def configurations(targets: int) -> dict[str, str]:
    """Configurations with that many targets, by what is special about them."""
    teams = 20
    owners = ["owners:", "  default: {channel: C0DEFAULT}"]
    owners += [f"  team{n}: {{channel: C0TEAM{n}}}" for n in range(teams)]
    routes = ["routes:", *(f"  - {{owner: team{n % teams}, targets: [target-{n}]}}" for n in range(targets))]

    def with_each(*lines: str) -> str:
        each = "\n    ".join(["  - name: target-{n}", "owner: team{team}", *lines])
        body = [each.format(n=n, team=n % teams, hour=n % 24) for n in range(targets)]
        return "\n".join(["history: sqlite:///history.db", *owners, "targets:", *body]) + "\n"

    server = ("engine: influxdb1", "url: http://host{n}:8086/db", "username: reader", "password: secret-{n}-word")
    files = with_each("engine: sqlite", "url: sqlite:///data/{n}.db", 'schedule: "0 {hour} * * *"')
    servers = with_each(*server)
    return {"files": files, "servers with passwords": servers, "a route for each": files + "\n".join(routes) + "\n"}


def _write(file: Path, kind: str, first: date, days: int) -> None:
    chance = random.Random(kind)
    with closing(sqlite3.connect(file)) as connection, connection:
        for table, (tags, fields) in _TABLES.items():
            tags = (*tags, *_more_tags(kind, table))
            columns = ", ".join([*(f"{tag} text" for tag in tags), *(f"{field} real" for field in fields)])
            connection.execute(f"create table {table} (time timestamp, {columns})")
            marks = ", ".join("?" * (1 + len(tags) + len(fields)))
            connection.executemany(
                f"insert into {table} values ({marks})",
                (_row(chance, first, number, tags, fields) for number in range(days * ROWS_A_DAY)),
            )


def _more_tags(kind: str, table: str) -> tuple[str, ...]:
    if table != "http_requests":
        return ()
    return {"steady": (), "pods": ("pod",), "requests": ("request_id",)}[kind]


def _row(chance: random.Random, first: date, number: int, tags: tuple[str, ...], fields: tuple[str, ...]) -> list[Any]:
    at = datetime.combine(first, datetime.min.time()) + timedelta(seconds=86400 / ROWS_A_DAY * number)
    values: dict[str, Callable[[], str]] = {
        "request_id": lambda: f"{chance.getrandbits(64):016x}",
        "pod": lambda: f"api-{number // ROWS_A_DAY // 3:04x}-{chance.randrange(5)}",
    }
    found = [values[t]() if t in values else f"{t}-{chance.randrange(8)}" for t in tags]
    return [f"{at:%Y-%m-%d %H:%M:%S}", *found, *(_figure(chance) for _ in fields)]


def _figure(chance: random.Random) -> float | None:
    """With two decimals, and one in fifty missing."""
    return round(chance.uniform(0, 100), 2) if chance.random() > 0.02 else None
