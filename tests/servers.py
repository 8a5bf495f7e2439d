"""Real servers for the tests: started on free loopback ports with their own data, stopped afterwards.

Tests ask for the fixtures `influxd` (everybody may do anything), `influxd_auth` (users must log in; the
administrator is ADMIN) and `postgresql`. A server that is not installed skips its tests; in CI it fails them.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import psycopg
import pytest
import urllib3

from tests import postgresql_programs
from tests.databases import influxql
from tests.engines.greptimedb.double import GreptimeDB
from tests.engines.greptimedb.tables import REAL, RealGreptimeDB
from tests.engines.influxdb3.double import InfluxDB3
from tests.engines.influxdb3.server import RealInfluxDB3, influxdb3_server
from tests.engines.mongodb.double import MongoDB
from tests.engines.timestream.double import AUDITOR, Timestream
from tests.examples import IS_FIRST_TIER
from tsaudit.model.figures import Reason
from tsaudit.model.profile import Profile

ADMIN: Final = ("admin", "admin-secret")

_CONFIG: Final = """
reporting-enabled = false
bind-address = "127.0.0.1:{rpc_port}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
  index-version = "{index}"
  query-log-enabled = false
  max-values-per-tag = {max_values}
  max-series-per-database = {max_series}
[coordinator]
  {coordinator}
[monitor]
  store-enabled = {auth}
  store-interval = "1s"
[subscriber]
  enabled = false
[http]
  bind-address = "127.0.0.1:{port}"
  bind-socket = "{folder}/influxdb.sock"
  auth-enabled = {auth}
  log-enabled = false
  pprof-enabled = {pprof}
[ifql]
  enabled = false
[logging]
  level = "error"
"""


_INDEX: Final = "inmem" if IS_FIRST_TIER else "tsi1"
"""How it finds series: by default in memory, which takes half the time of the tests; that of many series is the other.
"""


class Influxd:
    """An InfluxDB 1.x server of our own. `auth`: users must log in, and it notes statistics of itself.

    `index`: `tsi1` or `inmem`. `max_series`, `max_values`: its limits; 0 for none. `pprof`: whether it serves profiles.
    """

    def __init__(
        self,
        folder: Path,
        *,
        auth: bool = False,
        coordinator: str = "",
        index: str = _INDEX,
        max_series: int = 0,
        max_values: int = 0,
        pprof: str = "true",
    ) -> None:
        self.folder = folder
        self.index = index
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        settings = {"folder": folder, "port": self.port, "rpc_port": free_port(), "coordinator": coordinator}
        settings |= {"index": index, "max_series": max_series, "max_values": max_values, "pprof": pprof}
        (folder / "influxdb.conf").write_text(_CONFIG.format(**settings, auth="true" if auth else "false"))

    def start(self) -> None:
        """Start it, or start it again, and wait until it answers."""
        command = ["influxd", "run", "-config", str(self.folder / "influxdb.conf")]
        with (self.folder / "log").open("ab") as log:
            # Collecting garbage less often saves an eighth of its processor time; one thread at a time, a fifth.
            frugal = os.environ | {"GOGC": "400", "GOMAXPROCS": "1"}
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=frugal)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            assert self._process.poll() is None, (self.folder / "log").read_text()
            try:
                if urllib3.request("GET", f"{self.url}/ping", timeout=2, retries=False).status == 204:
                    return
            except urllib3.exceptions.HTTPError:
                time.sleep(0.1)
        raise AssertionError("influxd does not respond: " + (self.folder / "log").read_text())

    @property
    def processor_s(self) -> float:
        """Processor time that it has used so far, in seconds."""
        assert self._process is not None
        user, system = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

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


def need(program: str, package: str) -> None:
    """Skip the test when the program is not installed; in CI, fail it."""
    if not shutil.which(program):
        missing(f"{program} is not installed (Debian package {package})")


def missing(reason: str) -> NoReturn:
    """Skip the test for want of something that CI has; in CI, fail it."""
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for a server that does something by itself; fails after a minute."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def run_influxd(folder: Path, **settings: Any) -> Iterator[Influxd]:
    """A running server with these settings; stopped when the generator is closed."""
    need("influxd", "influxdb")
    server = Influxd(folder, **settings)
    try:
        server.start()
    except AssertionError as error:
        # Somebody else took the port since it was found to be free.
        if "address already in use" not in str(error):
            raise
        server = Influxd(folder, **settings)
        server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def influxd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Influxd]:
    """A server in which everybody may do anything; shared, so each test writes a database of its own.

    A test that lets a server drop points needs one of its own: they are counted, and the others would find them.
    """
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
def influxdb3() -> Iterator[InfluxDB3 | RealInfluxDB3]:
    """A stand-in for an InfluxDB 3 Core, or a real one; shared, so each test writes a database of its own."""
    server = influxdb3_server()
    yield server
    server.stop()


MONGODB_URL: Final = os.environ.get("TSAUDIT_MONGODB_URL", "")
"""A server, MongoDB or one compatible with it, that the tests are to talk to instead of the stand-in."""


def without_unsupported(profile: Profile) -> Profile:
    """Without the gaps for commands that a compatible server lacks; the stand-in lacks none."""
    if not MONGODB_URL:
        return profile
    return dataclasses.replace(profile, gaps=tuple(g for g in profile.gaps if g.reason is not Reason.UNSUPPORTED))


@pytest.fixture(scope="session")
def mongodb() -> Iterator[str]:
    """The address of a MongoDB that tests may write to: TSAUDIT_MONGODB_URL, else a stand-in."""
    if MONGODB_URL:
        yield MONGODB_URL
        return
    server = MongoDB()
    yield server.url
    server.stop()


PASSWORD: Final = "pg-secret-9"


_schemas = itertools.count()


@dataclass(frozen=True, slots=True)
class Postgresql:
    """A running PostgreSQL. `tester` may do anything; `tsaudit` has what is granted to it, and nothing at first."""

    port: int
    restart: Callable[[], None]
    """Stop it without a word to its clients, as a crash does, and start it on the same port and data."""

    def address(self, schema: str, password: str = PASSWORD) -> str:
        """Where to keep a history in a schema of its own."""
        return f"{self._url('tester', password)}?options=-csearch_path%3D{schema}"

    @property
    def audit_url(self) -> str:
        """The address that an audit is given."""
        return self._url("tsaudit", PASSWORD)

    def connect(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """A connection that may do anything, each statement a transaction of its own."""
        return psycopg.connect(self._url("tester", PASSWORD, database), autocommit=True)

    def execute(self, statement: str) -> None:
        with self.connect() as connection:
            connection.execute(statement.encode())

    def rows(self, statement: str) -> list[Any]:
        with self.connect() as connection:
            return connection.execute(statement.encode()).fetchall()

    def new_schema(self, *statements: str, grant: bool = True) -> str:
        """The name of a schema in which the statements were run. `grant`: the audit may read its tables."""
        schema = f"made_{next(_schemas)}"
        grants = (
            f"GRANT USAGE ON SCHEMA {schema} TO tsaudit",
            f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO tsaudit",
        )
        # What a session wrote is counted when it has ended, which may be after an ANALYZE has counted it.
        flush = "SELECT pg_stat_force_next_flush()"
        with self.connect() as connection:
            for statement in (f"CREATE SCHEMA {schema}", f"SET search_path = {schema}, public", *statements):
                if "ANALYZE" in statement:
                    connection.execute(flush.encode())
                connection.execute(statement.encode())
            for statement in (*(grants if grant else ()), flush):
                connection.execute(statement.encode())
        return schema

    @property
    def admin_url(self) -> str:
        """The address of `tester`."""
        return self._url("tester", PASSWORD)

    def _url(self, user: str, password: str, database: str = "postgres") -> str:
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Postgresql]:
    """A server, shared; each test writes a schema of its own."""
    yield from run_postgresql()


def run_postgresql(
    primary: Postgresql | None = None, *, settings: str = "", transactions: int = 0
) -> Iterator[Postgresql]:
    """A running server with its own data, in whose background nothing runs; stopped when the generator is closed.

    With `primary`: a standby of it. `settings`: further ones, as its command takes them. `transactions`: how many it
    seems to have had since it was made; 0 for the few that it has.
    """
    programs = _postgresql_programs()
    folder = Path(tempfile.mkdtemp(prefix="tsaudit-postgresql-"))
    try:
        yield from _serve(programs, folder, primary, settings, transactions)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _serve(
    programs: Path, folder: Path, primary: Postgresql | None, further: str, transactions: int
) -> Iterator[Postgresql]:
    port = free_port()
    user = postgresql_programs.unprivileged(folder)
    data, password = folder / "data", folder / "password"
    password.write_text(PASSWORD)
    if user:
        os.chown(password, user["user"], user["group"])
    options = {**user, "check": True, "capture_output": True, "cwd": folder, "timeout": 120}
    initdb = [programs / "initdb", "-D", data, "-U", "tester", f"--pwfile={password}", "-A", "scram-sha-256", "-N"]
    copy = [programs / "pg_basebackup", "-D", data, "-R", "-X", "stream", "-c", "fast", "-N"]
    made = [*copy, "-d", primary.admin_url] if primary else [*initdb, "-E", "UTF8", "--locale=C"]
    subprocess.run(made, **options)
    settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c autovacuum=off"
    settings += f" -c shared_preload_libraries=pg_stat_statements {further}"
    if transactions:
        # The file with the states of the next ones has to be there: 1,048,576 in each.
        states = data / "pg_xact" / f"{transactions // 2**20:04X}"
        states.write_bytes(bytes(2**18))
        if user:
            os.chown(states, user["user"], user["group"])
        subprocess.run([programs / "pg_resetwal", "-x", str(transactions), "-D", data], **options)
    start = [programs / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-o", settings, "start"]
    # pg_ctl's child inherits its output; a pipe would never end.
    subprocess.run(start, **{**options, "capture_output": False, "stdout": subprocess.DEVNULL})
    stop = [programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"]

    def restart() -> None:
        subprocess.run(stop, **options)
        subprocess.run(start, **{**options, "capture_output": False, "stdout": subprocess.DEVNULL})

    server = Postgresql(port, restart)
    try:
        if not primary:
            server.execute(f"CREATE ROLE tsaudit LOGIN PASSWORD '{PASSWORD}'")
        yield server
    finally:
        subprocess.run(stop, **options)


def _postgresql_programs() -> Path:
    try:
        return postgresql_programs.programs()
    except LookupError as error:
        missing(str(error))


@pytest.fixture
def greptimedb() -> Iterator[GreptimeDB | RealGreptimeDB]:
    """A stand-in for a GreptimeDB, for one test alone, as its metadata views tell of all databases; or a real one."""
    server = RealGreptimeDB(REAL) if REAL else GreptimeDB()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def aws_credentials() -> Iterator[None]:
    """Those of the stand-in's auditor in the environment, and nothing of the machine's own."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            patch.delenv(name)
        patch.setenv("AWS_ACCESS_KEY_ID", AUDITOR)
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patch.setenv("AWS_CONFIG_FILE", os.devnull)
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        yield


@pytest.fixture(scope="session")
def timestream(aws_credentials: None) -> Iterator[Timestream]:
    """A stand-in for an account of Timestream; shared, so each test writes a database of its own.

    Its quota of calls was raised, as AWS does for who asks: no test has to wait for those before it.
    """
    server = Timestream()
    yield server
    server.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
