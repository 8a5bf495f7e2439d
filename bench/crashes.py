"""Kills, crowds and restarts against the history: nothing may be lost, nothing doubled.

Three targets are audited day by day by the `tsaudit` command, with a Slack that keeps every message. The same days are
gone through four times: undisturbed; with audits killed by SIGKILL at random moments, several a day before one is let
through; by a crowd of processes that all audit the same day at once; and with the history's PostgreSQL restarted in
mid-audit. Each time the snapshots, figures, incidents and messages have to be those of the undisturbed run.

Exits with 1 when anything was lost or doubled.

Usage: python -m bench.crashes [--kills 150] [--processes 36] [--restarts 12] [--seed 1]
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import select

from tests.alerts import slack_double
from tests.alerts.slack_double import SlackDouble
from tests.servers import Postgresql, run_postgresql
from tsaudit.history import incidents
from tsaudit.history.schema import figure, snapshot
from tsaudit.history.store import Store

ROOT = Path(__file__).parent.parent
TARGETS = ("shop", "plant", "fleet")
CHANNELS = ("#alerts", "#dba", "#default")
FIRST = date(2026, 3, 1)
DAYS = 8
TRIES = 4
"""Audits for each that is to be hit: some have ended before."""
PATIENCE_S = 3_600
"""How long an audit may take beside 35 others on a busy machine."""
SETTLED = (0, 1)
"""Exit codes of an audit that did all it had to: without and with findings."""


@dataclass
class Outcome:
    """What one way through the days left behind."""

    snapshots: Counter[Any] = field(default_factory=Counter)
    figures: Counter[Any] = field(default_factory=Counter)
    incidents: Counter[Any] = field(default_factory=Counter)
    messages: Counter[Any] = field(default_factory=Counter)
    deliveries: Counter[Any] = field(default_factory=Counter)
    """Messages by the delivery they were sent for: more than one each is a double."""


@dataclass
class Course:
    """One way through the days: its folder, its history and its Slack."""

    folder: Path
    history: str
    slack: SlackDouble

    def command(self, day: date) -> subprocess.Popen[bytes]:
        """An audit of all targets for the day, under way."""
        arguments = [sys.executable, "-m", "tsaudit", "audit", "--config", "tsaudit.yaml", "--day", str(day)]
        environment = os.environ | {"PYTHONPATH": str(ROOT), "SLACK_TOKEN": slack_double.TOKEN}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(arguments, cwd=self.folder, env=environment, stdout=log, stderr=log)

    def audit(self, day: date) -> int:
        """Exit code of a whole audit."""
        return self.command(day).wait(300)

    def settle(self, day: date, tries: int = 5) -> None:
        """Audit the day until one audit went through."""
        codes = []
        for _ in range(tries):
            codes.append(self.audit(day))
            if codes[-1] in SETTLED:
                return
        raise SystemExit(f"{self.folder.name}: {day} was never audited whole, exit codes {codes}; see its log")

    def outcome(self) -> Outcome:
        found = Outcome()
        with Store.open(self.history) as store:
            with store.reading() as connection:
                days = {r.id: (r.target, r.day) for r in connection.execute(select(snapshot))}
                verdicts = connection.execute(select(snapshot.c.target, snapshot.c.day, snapshot.c.verdict))
                found.snapshots.update(tuple(row) for row in verdicts)
                for row in connection.execute(select(figure)):
                    found.figures[(*days[row.snapshot_id], row.name, row.subject, row.value, row.how)] += 1
            for one in incidents.current(store):
                found.incidents[
                    (one.fingerprint, one.state, one.severity, one.first_seen, one.opened, one.resolved)
                ] += 1
        found.messages.update((m.channel, m.thread_ts is not None, m.text) for m in self.slack.messages)
        found.deliveries.update(m.delivery for m in self.slack.messages)
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", 1)[0] if __doc__ else None)
    parser.add_argument("--kills", type=int, default=150)
    parser.add_argument("--processes", type=int, default=36)
    parser.add_argument("--restarts", type=int, default=12)
    parser.add_argument("--history", choices=("sqlite", "postgresql"), nargs="*", default=("sqlite", "postgresql"))
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    dice = random.Random(chosen.seed)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="tsaudit-crashes-") as name, contextmanager(run_postgresql)() as server:
        folder = Path(name)
        write_targets(folder)
        with course(folder, "undisturbed") as one:
            seconds = [timed(one, day) for day in days()]
            wanted = one.outcome()
        usual = statistics.median(seconds)
        print(f"undisturbed: {sizes(wanted)}; {usual:.1f} s a day")
        for kind in chosen.history:
            history = postgresql_history(server, f"kills_{kind}") if kind == "postgresql" else None
            with course(folder, f"kills-{kind}", history) as one:
                killed = kill(one, (chosen.kills + 1) // 2, usual, dice)
                failures += report(f"{killed} kills, {kind}", wanted, one.outcome())
            history = postgresql_history(server, f"crowd_{kind}") if kind == "postgresql" else None
            with course(folder, f"crowd-{kind}", history) as one:
                crowd(one, chosen.processes)
                failures += report(f"{chosen.processes} processes at once, {kind}", wanted, one.outcome())
        with course(folder, "restarts", postgresql_history(server, "restarts")) as one:
            restarted = restart(one, server, chosen.restarts, usual, dice)
            failures += report(f"{restarted} restarts of the history in mid-audit", wanted, one.outcome())
    return 1 if failures else 0


def kill(one: Course, kills: int, usual: float, dice: random.Random) -> int:
    """Kill audits of each day at random moments, then let one through; how many were alive when they were killed."""
    hit = 0
    for number, day in enumerate(days()):
        aim = hit + share(kills, number)
        for _ in range(TRIES * share(kills, number)):
            if hit == aim:
                break
            process = one.command(day)
            try:
                process.wait(dice.uniform(0.2, usual * 1.2))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                hit += 1
        one.settle(day)
    return hit


def crowd(one: Course, processes: int) -> None:
    """Audit each day by several processes at once: all on the last day, fewer on those before."""
    for day in days():
        many = processes if day == days()[-1] else 2
        running = [one.command(day) for _ in range(many)]
        codes = Counter(process.wait(PATIENCE_S) for process in running)
        if set(codes) - set(SETTLED):
            raise SystemExit(f"{one.folder.name}: {day}: exit codes {dict(codes)}; see its log")


def restart(one: Course, server: Postgresql, restarts: int, usual: float, dice: random.Random) -> int:
    """Restart the history's server during audits, as a crash does, then let one through; how many were under way."""
    hit = 0
    for number, day in enumerate(days()):
        aim = hit + share(restarts, number)
        for _ in range(TRIES * share(restarts, number)):
            if hit == aim:
                break
            process = one.command(day)
            time.sleep(dice.uniform(0.2, usual))
            hit += process.poll() is None
            server.restart()
            process.wait(300)
        one.settle(day)
    return hit


def share(total: int, number: int) -> int:
    """How many of so many come on the day of that number."""
    return total // DAYS + (number < total % DAYS)


def report(what: str, wanted: Outcome, found: Outcome) -> int:
    """Print what was lost and doubled; how much that is."""
    lost = doubled = 0
    for kind in ("snapshots", "figures", "incidents", "messages"):
        before, after = getattr(wanted, kind), getattr(found, kind)
        for key in list(before - after)[:3]:
            print(f"  lost: {kind}: {key}")
        for key in list(after - before)[:3]:
            print(f"  more: {kind}: {key}")
        lost += (before - after).total()
        doubled += (after - before).total()
    doubled += sum(n - 1 for n in found.deliveries.values())
    print(f"{what}: {sizes(found)}; {lost} lost, {doubled} doubled")
    return lost + doubled


def sizes(found: Outcome) -> str:
    counted = {kind: getattr(found, kind).total() for kind in ("snapshots", "figures", "incidents", "messages")}
    return ", ".join(f"{number} {kind}" for kind, number in counted.items())


def days() -> list[date]:
    return [FIRST + timedelta(days=n) for n in range(DAYS)]


def timed(one: Course, day: date) -> float:
    began = time.monotonic()
    one.settle(day)
    return time.monotonic() - began


@contextmanager
def course(folder: Path, name: str, history: str | None = None) -> Iterator[Course]:
    """A folder with a configuration for the shared targets, and a Slack."""
    own = folder / name
    own.mkdir()
    url = history or f"sqlite:///{own}/history.db"
    with slack_double.running() as slack:
        (own / "tsaudit.yaml").write_text(configuration(folder, url, slack.base_url))
        yield Course(own, url, slack)


def configuration(folder: Path, history: str, slack: str) -> str:
    owners = "".join(f'  {t}: {{channel: "{c}"}}\n' for t, c in zip(TARGETS, CHANNELS, strict=True))
    targets = "".join(
        f"  - name: {t}\n    engine: sqlite\n    url: sqlite:///{folder}/{t}.db\n    owner: {t}\n"
        "    limits: {high-series-cardinality.max_series: 400}\n"
        for t in TARGETS
    )
    return (
        f"history: {history}\nreport: {{folder: reports}}\n"
        f"slack: {{token: '${{SLACK_TOKEN}}', base_url: '{slack}'}}\n"
        f'owners:\n  default: {{channel: "#default"}}\n{owners}targets:\n{targets}'
    )


def postgresql_history(server: Postgresql, schema: str) -> str:
    server.execute(f"CREATE SCHEMA {schema}")
    return server.address(schema)


def write_targets(folder: Path) -> None:
    """Requests with an id among their tags: more series every day, past the limit after a few days, then fixed."""
    for number, target in enumerate(TARGETS):
        with sqlite3.connect(folder / f"{target}.db") as connection:
            connection.execute("CREATE TABLE requests (time TIMESTAMP, host TEXT, request_id TEXT, ms REAL)")
            connection.execute("CREATE INDEX by_source ON requests (host, request_id, time)")
            for day in days():
                at = datetime.combine(day, datetime.min.time(), UTC)
                ids = 50 * (number + 1) if day < FIRST + timedelta(days=4) else 0
                rows = [
                    (str(at + timedelta(minutes=n % 1400))[:19], f"h{n % 5}", f"{day:%m%d}-{n // 4:05d}", n / 7)
                    for n in range(ids * 4)
                ] + [(str(at + timedelta(minutes=n))[:19], f"h{n % 5}", "none", n / 7) for n in range(50)]
                connection.executemany("INSERT INTO requests VALUES (?, ?, ?, ?)", rows)


if __name__ == "__main__":
    sys.exit(main())
