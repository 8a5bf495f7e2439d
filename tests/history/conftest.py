"""Both databases a history can be kept in: a fresh SQLite file, and a PostgreSQL server of our own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg
import pytest

from tsaudit.history.store import Store

PASSWORD: Final = "pg-secret-9"


@dataclass(frozen=True)
class Server:
    """A running PostgreSQL; each test gets a schema of its own in it."""

    port: int

    def address(self, schema: str, password: str = PASSWORD) -> str:
        return f"postgresql://tester:{password}@127.0.0.1:{self.port}/postgres?options=-csearch_path%3D{schema}"

    def execute(self, statement: str) -> None:
        where = f"postgresql://tester:{PASSWORD}@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(statement.encode())


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server with its own data, stopped afterwards. Not installed: skipped, in CI failed."""
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="tsaudit-postgresql-"))
    try:
        yield from _serve(programs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _serve(programs: Path, folder: Path) -> Iterator[Server]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    user = _unprivileged(folder)
    data, password = folder / "data", folder / "password"
    password.write_text(PASSWORD)
    if user:
        shutil.chown(password, **user)
    options = {**user, "check": True, "capture_output": True, "cwd": folder, "timeout": 120}
    initdb = [programs / "initdb", "-D", data, "-U", "tester", f"--pwfile={password}", "-A", "scram-sha-256", "-N"]
    subprocess.run([*initdb, "-E", "UTF8", "--locale=C"], **options)
    settings = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
    start = [programs / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-o", settings, "start"]
    # pg_ctl's child inherits its output; a pipe would never end.
    subprocess.run(start, **{**options, "capture_output": False, "stdout": subprocess.DEVNULL})
    try:
        yield Server(port)
    finally:
        subprocess.run([programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"], **options)


def _programs() -> Path:
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if installed:
        return installed[-1].parent
    reason = "PostgreSQL is not installed (Debian package postgresql)"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def _unprivileged(folder: Path) -> dict[str, Any]:
    """Whom to run the server as: PostgreSQL refuses root."""
    if os.geteuid() != 0:
        return {}
    user = {"user": "postgres", "group": "postgres"}
    shutil.chown(folder, **user)
    return user


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a history can be made; there is none yet."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/folder/history.db"
        return
    server: Server = request.getfixturevalue("postgresql")
    schema = f"t{uuid.uuid4().hex}"
    server.execute(f"CREATE SCHEMA {schema}")
    yield server.address(schema)
    server.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    """An empty history."""
    with Store.open(address) as opened:
        yield opened
