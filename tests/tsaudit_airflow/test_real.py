"""A real Airflow on loopback: database, scheduler, and API server; and the same audit by the command and by Dagster."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import select

from tests.dagster_tsaudit.runs import a_plan, execute
from tests.tsaudit_airflow.conftest import project
from tsaudit.history import incidents
from tsaudit.history.schema import delivery
from tsaudit.history.store import Store

BIN = Path(sys.executable).parent
DAG = Path(__file__).parents[2] / "tsaudit_airflow/example_dags/audits.py"


@dataclass
class Airflow:
    """One that audits the databases of a folder by the example DAG."""

    folder: Path
    port: int
    environment: dict[str, str]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)
    token: str = ""
    day: date = date.min
    """Of the first audit; with `left`, what that left behind. It may be over when the other tests run."""
    left: dict[str, Any] = field(default_factory=dict)

    def call(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [BIN / "airflow", *arguments], env=self.environment, capture_output=True, text=True, check=False
        )

    def start(self, *arguments: str) -> None:
        log = (self.folder / f"{arguments[0]}.log").open("wb")
        self.running.append(
            subprocess.Popen(
                [BIN / "airflow", *arguments], env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        )

    def stop(self) -> None:
        """Kill them with their children: a scheduler that is only asked waits for its idle workers."""
        for one in self.running:
            os.killpg(one.pid, signal.SIGKILL)
            one.wait(30)

    def request(
        self,
        path: str,
        data: Any = None,
        *,
        token: str | None = None,
        headers: Mapping[str, str] = MappingProxyType({}),
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers, and body; `token` None: that of the user who is logged in."""
        headers = {"Content-Type": "application/json", **headers}
        if bearer := self.token if token is None else token:
            headers["Authorization"] = f"Bearer {bearer}"
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", json.dumps(data).encode() if data is not None else None, headers
        )
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            return error.code, dict(error.headers), error.read()

    def get(self, path: str) -> Any:
        status, _, body = self.request(path)
        assert status == 200, body
        return json.loads(body)


def until(what: str, done: Callable[[], Any], timeout_s: float = 240.0) -> Any:
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        try:
            if found := done():
                return found
        except OSError:
            pass
        time.sleep(0.5)
    raise AssertionError(f"after {timeout_s:.0f} s, not yet: {what}")


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Airflow]:
    folder = project(tmp_path_factory.mktemp("airflow"))
    (folder / "dags").mkdir()
    shutil.copy(DAG, folder / "dags")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    with sqlite3.connect(folder / "quiet.db") as database:
        database.execute("create table cpu (time text, host text, usage real)")
        rows = [(f"-{30 * i} minutes", f"h{i % 3}", i / 7) for i in range(90)]
        database.executemany("insert into cpu values (datetime('now', ?), ?, ?)", rows)
    database.close()
    config = (folder / "tsaudit.yaml").read_text()
    config = config.replace("https://reports.example/tsaudit", f"{base}/tsaudit/reports")
    (folder / "tsaudit.yaml").write_text(config.replace("name: lost", "name: quiet").replace("nowhere/lost", "quiet"))
    connection = {"conn_type": "sqlite", "host": f"{folder}/metrics.db"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")}
    environment |= {
        "AIRFLOW_HOME": str(folder / "home"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{base}/execution/",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": "ada:user",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__API__BASE_URL": base,
        "AIRFLOW__API_AUTH__JWT_SECRET": "only-of-this-test-" * 4,
        "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
        # How often the scheduler lists assets that are new.
        "AIRFLOW__SCHEDULER__PARSING_CLEANUP_INTERVAL": "2",
        "AIRFLOW__TSAUDIT__REPORT_FOLDER": str(folder / ".tsaudit/reports"),
        "AIRFLOW_CONN_SHOP": json.dumps(connection),
        "AUDIT_CONFIG": str(folder / "tsaudit.yaml"),
        "AUDIT_CONNECTIONS": "shop",
        "PATH": f"{BIN}:{os.environ['PATH']}",
    }
    started = Airflow(folder, port, environment)
    migrated = started.call("db", "migrate")
    assert migrated.returncode == 0, migrated.stdout + migrated.stderr
    # It starts while `airflow dags test` runs: both take many seconds, mostly of one processor.
    started.start("api-server", "--port", str(port), "--host", "127.0.0.1", "--workers", "1")
    yield started
    started.stop()


@pytest.fixture(scope="module")
def tested(airflow: Airflow) -> Airflow:
    """After `airflow dags test`."""
    done = airflow.call("dags", "test", "tsaudit")
    assert done.returncode == 0, done.stdout + done.stderr
    with Store.open(f"sqlite:///{airflow.folder}/.tsaudit/history.db") as store:
        (airflow.day,) = store.days("metrics")
    airflow.left = outcome(airflow.folder, airflow.day)
    return airflow


@pytest.fixture(scope="module")
def served(tested: Airflow) -> Airflow:
    """With scheduler and API server, and a user who is logged in."""
    until("the API server answers", lambda: tested.request("/api/v2/monitor/health")[0] == 200)
    # Only now: a task that cannot reach the API server fails.
    tested.start("scheduler")
    passwords = json.loads((tested.folder / "home/simple_auth_manager_passwords.json.generated").read_text())
    _, _, body = tested.request("/auth/token", {"username": "ada", "password": passwords["ada"]})
    tested.token = json.loads(body)["access_token"]
    return tested


def test_run_when_scheduled_leaves_assets_with_figures_and_a_link_to_the_report(served: Airflow) -> None:
    def scheduled() -> list[dict[str, Any]]:
        runs = served.get("/api/v2/dags/tsaudit/dagRuns?run_type=scheduled")["dag_runs"]
        return [one for one in runs if one["state"] in ("success", "failed")]

    (ended,) = until("the scheduled run has ended", scheduled)
    assert ended["state"] == "success", (served.folder / "scheduler.log").read_text()[-5000:]
    day, run = ended["logical_date"][:10], f"/api/v2/dags/tsaudit/dagRuns/{ended['dag_run_id']}"

    tasks = served.get(f"{run}/taskInstances/audit/listMapped")["task_instances"]
    assert sorted(one["rendered_map_index"] for one in tasks) == ["metrics: warning", "quiet: ok"]
    (task,) = [one for one in tasks if one["rendered_map_index"] == "metrics: warning"]
    events = served.get("/api/v2/assets/events?order_by=-timestamp")["asset_events"]
    extra = {one["name"]: one["extra"] for one in reversed(events)}
    assert {one["day"] for one in extra.values()} == {day}
    assert {name: one["verdict"] for name, one in extra.items()} == {
        "tsaudit/metrics": "warning",
        "tsaudit/quiet": "ok",
    }
    assert extra["tsaudit/metrics"]["series"] == 3
    assert extra["tsaudit/metrics"]["findings"]["warning"] >= 1

    index = task["map_index"]
    link = served.get(f"{run}/taskInstances/audit/links?map_index={index}")["extra_links"]["Audit report"]
    assert link == f"http://127.0.0.1:{served.port}/tsaudit/reports/metrics/{day}.html"
    page = link.removeprefix(f"http://127.0.0.1:{served.port}")
    status, headers, body = served.request(page)
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"CPUUSE" in body
    assert headers["content-security-policy"].startswith("sandbox allow-scripts")

    def listed() -> set[str]:
        return {one["name"] for one in served.get("/api/v2/assets")["assets"]}

    until("the scheduler lists the assets", lambda: listed() == {"tsaudit/metrics", "tsaudit/quiet"}, 60)


def test_report_when_nobody_is_logged_in_is_not_shown(served: Airflow) -> None:
    page = f"/tsaudit/reports/metrics/{served.day}.html"
    assert [served.request(page, token=token)[0] for token in ("", "not.a.token")] == [401, 403]
    assert served.request("/tsaudit/reports/", token="")[0] == 401
    reports = served.folder / ".tsaudit/reports"
    (reports / "link.html").symlink_to(served.folder / "tsaudit.yaml")
    (reports / ".hidden.html").touch()
    outside = (
        "../history.db",
        "..%2fhistory.db",
        "%2e%2e/%2e%2e/tsaudit.yaml",
        "/etc/passwd",
        "metrics/..%5cindex.html",
    )
    for path in (*outside, "metrics/none.html", "index.html%00", ".hidden.html", "link.html", "a" * 300 + ".html"):
        assert served.request(f"/tsaudit/reports/{path}")[0] == 404, path
    assert served.request("/tsaudit/openapi.json")[0] == 404
    status, _, missing = served.request("/tsaudit/reports/metrics/none.html", headers={"Accept": "text/html"})
    assert status == 404
    assert b'there is no such report</p><p><a href="/tsaudit/reports/index.html">' in missing
    assert b"metrics" in served.request("/tsaudit/reports/index.html")[2]


def test_report_when_a_browser_is_not_logged_in_is_shown_after_the_login(served: Airflow) -> None:
    page = f"/tsaudit/reports/metrics/{served.day}.html"
    browser = {"Accept": "text/html,application/xhtml+xml"}
    for cookie in ({}, {"Cookie": "_token=not.a.token"}):
        asked = urllib.request.Request(f"http://127.0.0.1:{served.port}{page}", headers=browser | cookie)
        with urllib.request.urlopen(asked, timeout=60) as answer:
            assert answer.url == f"http://127.0.0.1:{served.port}/auth/login?next={quote(page, safe='')}"
    assert served.request(page, token="", headers=browser | {"Cookie": f"_token={served.token}"})[0] == 200


def test_audit_when_run_by_command_dagster_and_airflow_is_the_same(
    tested: Airflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_HOST", "metrics.db")
    folders = {}
    for name in ("command", "dagster"):
        folders[name] = tmp_path / name
        folders[name].mkdir()
        for file in ("metrics.db", "quiet.db", "tsaudit.yaml"):
            shutil.copy(tested.folder / file, folders[name])
    by_the_command(folders["command"], tested.day)
    by_dagster(folders["dagster"], tested.day, monkeypatch)

    expected = tested.left
    assert [outcome(folder, tested.day) for folder in folders.values()] == [expected, expected]
    assert expected["verdicts"] == {"metrics": "warning", "quiet": "ok"}
    assert len(expected["incidents"]) >= 1
    assert len(expected["messages"]) == 1


def by_the_command(folder: Path, day: date) -> None:
    command = [sys.executable, "-m", "tsaudit", "audit", "--fail-on", "never", "--day", day.isoformat()]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def by_dagster(folder: Path, day: date, monkeypatch: pytest.MonkeyPatch) -> None:
    import dagster as dg

    with dg.DagsterInstance.ephemeral() as instance:
        assert execute(a_plan(folder / "tsaudit.yaml"), instance, day=day.isoformat()).success


def outcome(folder: Path, day: date) -> dict[str, Any]:
    """What an audit leaves behind, apart from links to the run."""
    with Store.open(f"sqlite:///{folder}/.tsaudit/history.db") as store:
        results = {name: store.result(name, day) for name in ("metrics", "quiet")}
        with store.engine.connect() as connection:
            sent = connection.execute(select(delivery.c.kind, delivery.c.payload).order_by(delivery.c.position)).all()
        return {
            "verdicts": {name: str(result.verdict) for name, result in results.items() if result},
            "incidents": [(one.fingerprint, str(one.state), one.finding.message) for one in incidents.current(store)],
            "messages": [(kind, without_run(payload)) for kind, payload in sent],
        }


def without_run(payload: str) -> str:
    text = json.dumps(json.loads(payload), ensure_ascii=False)
    return re.sub(r" · (<[^|>]*\|run>|run: [^\s\"]+)", "", text)
