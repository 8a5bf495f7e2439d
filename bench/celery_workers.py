"""How much sooner 40 targets are audited by two Celery workers than by `tsaudit audit`: deploy/celery, on this machine.

Audits mostly wait for their databases: each target is a small SQLite database, and its audit waits for ten seconds. A
process audits four targets at a time. Both ways use PostgreSQL for the history. With Celery, launching the runs takes
time of its own, which is printed. From the start of the first audit to the last result in the history, two workers need
half the time at least; exits with 1 if they need much more.

    python -m bench.celery_workers
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from tests.dagster_tsaudit import test_celery as shipped
from tests.databases import Dataset, Row, Table, times, write
from tests.servers import PASSWORD, Postgresql, free_port, run_postgresql
from tsaudit.history.store import Store

TARGETS, SHARD, AT_ONCE, WAIT_S, MOST_RATIO = 40, 20, 4, 10, 0.75
_SLOW = f"""
import time
from tsaudit import run
audit = run.audit_target

def slow(*arguments, **options):
    time.sleep({WAIT_S})
    return audit(*arguments, **options)

run.audit_target = slow
"""
_LOCATION = """
from pathlib import Path
from dagster_tsaudit.automation import definitions_of
from tests.dagster_tsaudit.runs import a_plan
{slow}
defs = definitions_of(a_plan(Path({config!r}), shard_size={shard}, workers={at_once}))
"""
_COMMAND = f"""
from tsaudit.cli import main
{_SLOW}
main(["audit", "-q", "--fail-on", "never", "--workers", "{AT_ONCE}"])
"""


def a_project(folder: Path, history: str, due: datetime) -> None:
    """Databases with one table, each due once."""
    folder.mkdir()
    rows = [Row(at, {"host": f"web-{n % 10}"}, {"v": float(n)}) for n, at in enumerate(times(200))]
    write(Dataset([Table("requests", ("host",), {"v": "float"}, rows)]), "sqlite", folder / "first.db")
    names = [f"t{n:02}" for n in range(TARGETS)]
    for name in names:
        shutil.copy(folder / "first.db", folder / f"{name}.db")
    when = f"{due.minute} {due.hour} {due.day} {due.month} *"
    targets = [{"name": n, "engine": "sqlite", "url": f"sqlite:///{folder}/{n}.db", "schedule": when} for n in names]
    settings = {"history": history, "report": {"folder": str(folder / "reports")}, "targets": targets}
    (folder / "tsaudit.yaml").write_text(yaml.safe_dump(settings))
    shutil.copy(shipped.DEPLOY, folder / "dagster.yaml")
    (folder / "location.py").write_text(
        _LOCATION.format(config=str(folder / "tsaudit.yaml"), shard=SHARD, at_once=AT_ONCE, slow=_SLOW)
    )


@contextmanager
def redis() -> Iterator[int]:
    """Port of a Redis."""
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL)
    try:
        shipped.until("redis", lambda: _listens(port), 20)
        yield port
    finally:
        process.terminate()
        process.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def address(server: Postgresql, database: str) -> str:
    """Of a new database."""
    server.execute(f"CREATE DATABASE {database}")
    return f"postgresql://tester:{PASSWORD}@127.0.0.1:{server.port}/{database}"


def two_workers_s(folder: Path, server: Postgresql) -> tuple[float, float]:
    """Seconds from the tick to the start of the first audit, and to the last result."""
    history = address(server, "history_celery")
    server.execute("CREATE DATABASE dagster_celery")
    due = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=2)
    a_project(folder, history, due)
    with ExitStack() as stack:
        port = stack.enter_context(redis())
        os.environ |= shipped._environment(server, "dagster_celery", port) | {"DAGSTER_HOME": str(folder)}
        for number in range(2):
            program, *rest = shipped._worker(number)
            rest[rest.index("-c") + 1] = "1"
            stack.enter_context(shipped._process(folder, f"worker{number}", program, *rest))
        stack.enter_context(shipped._process(folder, "daemon", "dagster-daemon", "run", "-m", "location"))
        store = stack.enter_context(Store.open(history))
        shipped.until("one is audited", lambda: len(shipped._audited(store, due.date())) > 0, 900)
        launched = (datetime.now(UTC) - due).total_seconds() - WAIT_S
        shipped.until("all are audited", lambda: len(shipped._audited(store, due.date())) == TARGETS, 900)
        return launched, (datetime.now(UTC) - due).total_seconds()


def one_process_s(folder: Path, server: Postgresql) -> float:
    """Seconds of `tsaudit audit`."""
    a_project(folder, address(server, "history_alone"), datetime.now(UTC))
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", _COMMAND], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def main() -> int:
    """Print both times and their ratio."""
    with tempfile.TemporaryDirectory() as name:
        for server in run_postgresql():
            alone = one_process_s(Path(name) / "alone", server)
            print(f"one process: {alone:.0f} s for {TARGETS} targets", flush=True)
            launched, both = two_workers_s(Path(name) / "celery", server)
            ratio, cpus = (both - launched) / alone, os.cpu_count()
            print(f"two workers: {both:.0f} s, of which {launched:.0f} s to launch the runs, on {cpus} processors")
            print(f"audits alone: {ratio:.2f} (limit {MOST_RATIO})")
    return 0 if ratio < MOST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
