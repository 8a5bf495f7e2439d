"""Audits spread over Celery workers, with the files of deploy/celery, Redis, and PostgreSQL; one worker is killed."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final

import dagster as dg
import pytest
import yaml

from tests.alerts import slack_double
from tests.alerts.slack_double import TOKEN, SlackDouble
from tests.databases import Dataset, Row, Table, times, write
from tests.servers import PASSWORD, Postgresql, free_port, need
from tsaudit import run
from tsaudit.config import file as config_file
from tsaudit.history import lease
from tsaudit.history.store import Store

ROOT: Final = Path(__file__).parents[2]
DEPLOY: Final = ROOT / "deploy" / "celery" / "dagster.yaml"
BIN: Final = Path(sys.executable).parent
TARGETS: Final = tuple(f"t{n:02}" for n in range(40))
BOUND_S: Final = 180
"""What docs/scale.md promises: from the kill to the end of the last audit of the day."""

_LOCATION: Final = """
import time
from pathlib import Path
from dagster_tsaudit import sensors, lost_runs
from dagster_tsaudit.automation import definitions_of
from tests.dagster_tsaudit.runs import a_plan
from tsaudit import run
from tsaudit.history import lease

# Shorter than shipped, so that the test is: `test_the_shipped_times_keep_what_the_documentation_promises` has the sum.
lease.BEAT_S, lease.STALE_S = {beat_s}, {stale_s}
_audit = run.audit_target

def slow(*arguments, **options):
    time.sleep(1)
    return _audit(*arguments, **options)

run.audit_target = slow
defs = definitions_of(a_plan(Path({config!r}), shard_size=10, workers=2))
"""


def test_the_shipped_times_keep_what_the_documentation_promises() -> None:
    from dagster_tsaudit.lost_runs import GRACE_S, WATCH_S

    # Its last sign of life is seen one look later, and the end of the wait another one; then the run is queued,
    # launched, and loads the code.
    noticed = lease.STALE_S + GRACE_S + 2 * WATCH_S
    repeated_within = 60
    assert noticed + repeated_within <= BOUND_S
    assert "within 3 minutes" in " ".join((ROOT / "docs" / "scale.md").read_text().split())


@pytest.fixture
def slack() -> Iterator[SlackDouble]:
    with slack_double.running() as double:
        yield double


@pytest.fixture
def redis() -> Iterator[int]:
    """Port of a Redis of the test's own."""
    need("redis-server", "redis-server")
    port = free_port()
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until("redis", lambda: _listens(port), 20)
    yield port
    process.terminate()
    process.wait(20)


@pytest.fixture
def databases(postgresql: Postgresql) -> Iterator[tuple[str, str]]:
    """Names of two empty databases: Dagster's and that of the history."""
    names = ("celery_dagster", "celery_history")
    for name in names:
        postgresql.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        postgresql.execute(f"CREATE DATABASE {name}")
    yield names
    for name in names:
        postgresql.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


@pytest.mark.waits
def test_two_workers_of_which_one_is_killed(
    postgresql: Postgresql,
    databases: tuple[str, str],
    redis: int,
    slack: SlackDouble,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    due = datetime.now(UTC).replace(second=0, microsecond=0) + timedelta(minutes=2 if _seconds() > 30 else 1)
    history = f"postgresql://tester:{PASSWORD}@127.0.0.1:{postgresql.port}/{databases[1]}"
    config = _project(tmp_path, history, slack, due)
    for name, value in _environment(postgresql, databases[0], redis).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with ExitStack() as stack:
        workers = [stack.enter_context(_process(tmp_path, f"worker{n}", *_worker(n))) for n in range(2)]
        stack.enter_context(_process(tmp_path, "daemon", "dagster-daemon", "run", "-m", "location"))
        store = stack.enter_context(Store.open(history))
        until("audits begin", lambda: len(_audited(store, due.date())) >= 6, 180)
        until("a worker has a run", lambda: any(_has_a_run(tmp_path, n) for n in range(2)), 180)
        os.killpg(workers[0 if _has_a_run(tmp_path, 0) else 1].pid, signal.SIGKILL)
        killed = time.monotonic()
        until("every target is audited", lambda: _audited(store, due.date()) == set(TARGETS), BOUND_S)
        instance = stack.enter_context(dg.DagsterInstance.get())
        until("every run has ended", lambda: _all_ended(instance), BOUND_S)
        took = time.monotonic() - killed
        runs = instance.get_runs()
        until("every message is sent", lambda: len(slack.messages) >= len(TARGETS), 60)
        found = {target: _incidents(store, target) for target in TARGETS}
    print(f"{took:.0f} s from the kill to the end")
    statuses = sorted(run.status.value for run in runs)
    assert statuses.count("FAILURE") >= 1, "the killed worker had a run"
    assert all(run.tags["dagster/root_run_id"] for run in runs if run.parent_run_id)
    assert len(slack.messages) == len(TARGETS), "lost or doubled"
    assert len({message.text for message in slack.messages}) == len(TARGETS)
    assert found == _in_one_process(tmp_path, config, due.date())


def _seconds() -> int:
    return datetime.now(UTC).second


def _project(folder: Path, history: str, slack: SlackDouble, due: datetime) -> Path:
    """Forty SQLite databases with a tag of IDs, audited once, at `due`; a channel for each ten of them."""
    rows = [Row(at, {"request_id": f"{n:08x}-aaaa-4aaa-8aaa-{n:012x}"}, {"v": 1.0}) for n, at in enumerate(times(60))]
    write(Dataset([Table("requests", ("request_id",), {"v": "float"}, rows)]), "sqlite", folder / "first.db")
    for name in TARGETS:
        shutil.copy(folder / "first.db", folder / f"{name}.db")
    channels = sorted(slack.joined)
    targets = [
        {
            "name": name,
            "engine": "sqlite",
            "url": f"sqlite:///{folder}/{name}.db",
            "schedule": f"{due.minute} {due.hour} {due.day} {due.month} *",
            "owner": f"team{n % len(channels)}",
            "limits": {"high-series-cardinality.max_series": 10},
            "columns": {"requests": {"kind": "series", "tags": ["request_id"]}},
        }
        for n, name in enumerate(TARGETS)
    ]
    settings = {
        "history": history,
        "report": {"folder": str(folder / "reports")},
        "slack": {"token": TOKEN, "base_url": slack.base_url, "digest_weekday": "never"},
        "owners": {"default": {}} | {f"team{n}": {"channel": channel} for n, channel in enumerate(channels)},
        "targets": targets,
    }
    config = folder / "tsaudit.yaml"
    config.write_text(yaml.safe_dump(settings))
    shutil.copy(DEPLOY, folder / "dagster.yaml")
    (folder / "location.py").write_text(_LOCATION.format(config=str(config), beat_s=2, stale_s=10))
    return config


def _environment(postgresql: Postgresql, database: str, redis: int) -> dict[str, str]:
    broker = f"redis://127.0.0.1:{redis}"
    return {
        "DAGSTER_PG_USER": "tester",
        "DAGSTER_PG_PASSWORD": PASSWORD,
        "DAGSTER_PG_HOST": "127.0.0.1",
        "DAGSTER_PG_PORT": str(postgresql.port),
        "DAGSTER_PG_DB": database,
        "DAGSTER_CELERY_BROKER": f"{broker}/0",
        "DAGSTER_CELERY_BACKEND": f"{broker}/1",
        "DAGSTER_DISABLE_TELEMETRY": "1",
    }


def _worker(number: int) -> list[str]:
    places = ["-b", os.environ["DAGSTER_CELERY_BROKER"], "--result-backend", os.environ["DAGSTER_CELERY_BACKEND"]]
    own = ["-l", "info", "-Q", "dagster", "-c", "2", "--disable-prefetch", "-n", f"worker{number}@%h"]
    return ["celery", "-A", "dagster_celery.app", *places, "worker", *own]


def _has_a_run(home: Path, number: int) -> bool:
    log = (home / f"worker{number}.log").read_text()
    return log.count("] received") > log.count("] succeeded in") + log.count("] raised")


@contextmanager
def _process(home: Path, name: str, program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(home), str(ROOT)])}
    with (home / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [BIN / program, *arguments], cwd=home, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield process
    finally:
        for sign in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(process.pid, sign)
                process.wait(20)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _audited(store: Store, day: date) -> set[str]:
    return {target for target, newest in store.newest_days().items() if newest == day}


def _all_ended(instance: dg.DagsterInstance) -> bool:
    """Also those that repeat others: each failed run that was cut off has one."""
    runs = instance.get_runs()
    parents = {run.parent_run_id for run in runs}
    cut_off = [run for run in runs if run.status is dg.DagsterRunStatus.FAILURE and not run.parent_run_id]
    return all(run.is_finished for run in runs) and all(run.run_id in parents for run in cut_off)


def _incidents(store: Store, target: str) -> set[tuple[str, str]]:
    from tsaudit.history import incidents

    return {(found.fingerprint, str(found.state)) for found in incidents.current(store, target)}


def _in_one_process(folder: Path, config: Path, day: date) -> dict[str, set[tuple[str, str]]]:
    text = yaml.safe_load(config.read_text())
    text |= {"history": f"sqlite:///{folder}/alone.db", "report": {"folder": str(folder / "alone")}}
    del text["slack"]
    config.write_text(yaml.safe_dump(text))
    settings = config_file.load(config)
    with Store.open(settings.history.get_secret_value()) as store:
        assert all(one.error is None for one in run.audit_targets(settings.targets, settings, store, day=day))
        return {target: _incidents(store, target) for target in TARGETS}


def until(what: str, holds: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.5)
