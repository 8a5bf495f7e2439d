"""Real servers for the tests: started on free loopback ports with their own data, stopped afterwards.

Tests ask for the fixtures `influxd` (everybody may do anything) and `influxd_auth` (users must log in; the
administrator is ADMIN). A server that is not installed skips its tests; in CI it fails them.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import urllib3

from tests.databases import influxql
from tests.influxdb3_double import InfluxDB3

ADMIN: Final = ("admin", "admin-secret")

_CONFIG: Final = """
reporting-enabled = false
bind-address = "127.0.0.1:{rpc_port}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
  index-version = "tsi1"
  query-log-enabled = false
  max-values-per-tag = 0
  max-series-per-database = 0
[coordinator]
  {coordinator}
[monitor]
  store-enabled = false
[subscriber]
  enabled = false
[http]
  bind-address = "127.0.0.1:{port}"
  bind-socket = "{folder}/influxdb.sock"
  auth-enabled = {auth}
  log-enabled = false
[ifql]
  enabled = false
[logging]
  level = "error"
"""


class Influxd:
    """An InfluxDB 1.x server of our own."""

    def __init__(self, folder: Path, *, auth: bool = False, coordinator: str = "") -> None:
        self.folder = folder
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        settings = {"folder": folder, "port": self.port, "rpc_port": _free_port(), "coordinator": coordinator}
        (folder / "influxdb.conf").write_text(_CONFIG.format(**settings, auth="true" if auth else "false"))

    def start(self) -> None:
        """Start it, or start it again, and wait until it answers."""
        command = ["influxd", "run", "-config", str(self.folder / "influxdb.conf")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            try:
                if urllib3.request("GET", f"{self.url}/ping", timeout=2, retries=False).status == 204:
                    return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.1)
        raise AssertionError("influxd does not answer: " + (self.folder / "log").read_text())

    def kill(self) -> None:
        """End it the way a crash does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()

    @property
    def memory_bytes(self) -> int:
        """The server's peak resident memory so far."""
        assert self._process is not None
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(peak.split()[1]) * 1024


def need(program: str, package: str) -> None:
    """Skip the test when the program is not installed; in CI, fail it."""
    if shutil.which(program):
        return
    reason = f"{program} is not installed (Debian package {package})"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def run_influxd(folder: Path, *, auth: bool = False, coordinator: str = "") -> Iterator[Influxd]:
    """A running server; stopped when the generator is closed."""
    need("influxd", "influxdb")
    server = Influxd(folder, auth=auth, coordinator=coordinator)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def influxd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Influxd]:
    """A server in which everybody may do anything; shared, so each test writes a database of its own."""
    yield from run_influxd(tmp_path_factory.mktemp("influxd"))


@pytest.fixture
def own_influxd(tmp_path: Path) -> Iterator[Influxd]:
    """A server for one test alone, which may kill it."""
    yield from run_influxd(tmp_path)


@pytest.fixture(scope="session")
def influxd_auth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Influxd]:
    """A server that asks for a login."""
    for server in run_influxd(tmp_path_factory.mktemp("influxd_auth"), auth=True):
        user, password = ADMIN
        influxql(server.url, f"CREATE USER {user} WITH PASSWORD '{password}' WITH ALL PRIVILEGES")
        yield server


@pytest.fixture(scope="session")
def influxdb3() -> Iterator[InfluxDB3]:
    """A stand-in for an InfluxDB 3 Core; shared, so each test writes a database of its own."""
    server = InfluxDB3()
    yield server
    server.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
