"""Opening a connection: one clear line for all that can be wrong, and never a file created."""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import subprocess
import sys
import threading
import time
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import pytest
from pydantic import ValidationError

from tests.builders import NOW
from tests.collecting import file_with
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.traits import ARE_FILES, HAVE_FILES_OF_THEIR_OWN, url_of
from tests.query_parameters import filled
from tsaudit.config.settings import Budget, Target
from tsaudit.engines.connection import Access, Connection, ConnectorError, FactError
from tsaudit.engines.opening import open_connection
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import Reason

pytestmark = pytest.mark.wall_clock


def _message(engine: str, url: str, **settings: Any) -> str:
    target = Target(name="t", engine=engine, url=url, **settings)
    with pytest.raises(ConnectorError) as raised, open_connection(target):
        pass
    text = str(raised.value)
    assert "\n" not in text
    return text


def test_every_engine_has_queries() -> None:
    assert all(query_files(engine) for engine in ENGINES)


def test_engine_is_unknown() -> None:
    with pytest.raises(ValidationError, match="engine"):
        Target(name="t", engine="oracle", url="oracle://x")


def test_driver_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    target = write(Dataset([]), "duckdb", tmp_path / "x.duckdb")

    def no_module(access: Access) -> Any:
        raise ModuleNotFoundError(name="driver")

    for engine in ("duckdb", "influxdb1"):
        monkeypatch.setattr(ENGINES[engine], "connect", no_module)
    with pytest.raises(ConnectorError, match=r"pip install 'tsaudit\[duckdb\]'"), open_connection(target):
        pass
    with pytest.raises(ConnectorError, match="pip install --upgrade tsaudit"):
        open_connection(target.model_copy(update={"engine": "influxdb1"}))


def test_sqlalchemy_dialect_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sqlalchemy
    from sqlalchemy.exc import NoSuchModuleError

    target = write(Dataset([]), "duckdb", tmp_path / "x.duckdb")

    def no_dialect(*_: Any, **__: Any) -> Any:
        raise NoSuchModuleError("duckdb")

    monkeypatch.setattr(sqlalchemy, "create_engine", no_dialect)
    with pytest.raises(ConnectorError, match=r"pip install 'tsaudit\[duckdb\]'"), open_connection(target):
        pass


@pytest.mark.parametrize("engine", sorted(ARE_FILES))
def test_file_does_not_exist(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "nowhere.db"
    assert f"there is no file {path}" in _message(engine, url_of(engine, path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", sorted(ARE_FILES))
def test_place_of_the_file_is_taken_by_something_else(engine: str, tmp_path: Path) -> None:
    folder, pipe, circle = (tmp_path / name for name in ("folder", "pipe", "circle"))
    folder.mkdir()
    os.mkfifo(pipe)
    circle.symlink_to(circle)
    # Opening the pipe would wait for somebody who writes to it.
    assert _message(engine, url_of(engine, folder)) == f"{folder} is a directory; give the path of the file"
    assert _message(engine, url_of(engine, pipe)) == f"{pipe} is not a regular file"
    assert f"cannot open {circle}: Too many levels" in _message(engine, url_of(engine, circle))


@pytest.mark.parametrize(("engine", "other"), list(itertools.permutations(sorted(HAVE_FILES_OF_THEIR_OWN), 2)))
def test_file_is_the_other_engines(engine: str, other: str, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    write(Dataset([Table("cpu", (), {"v": "float"}, [Row(NOW, {}, {"v": 1.0})])]), other, path)
    said = _message(engine, url_of(engine, path))
    assert said == f"{path} is a {other} database; set `engine: {other}` and start the URL with `{other}:`"


@pytest.mark.wall_clock
def test_sqlite_file_is_locked_for_longer_than_it_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    write(Dataset([Table("cpu", (), {"v": "float"}, [Row(NOW, {}, {"v": 1.0})])]), "sqlite", path)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN EXCLUSIVE")
        target = Target(name="t", engine="sqlite", url=f"sqlite:///{path}", budget=Budget(deadline_s=2))
        with pytest.raises(ConnectorError, match="is locked by another process"), open_connection(target):
            pass


def test_duckdb_file_is_damaged_in_a_block_and_not_locked(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    write(Dataset([Table("cpu", (), {"v": "float"}, [Row(NOW, {}, {"v": 1.0})])]), "duckdb", path)
    whole = path.read_bytes()
    path.write_bytes(whole[:12] + b"cc" + whole[14:])
    assert "checksum" in _message("duckdb", f"duckdb:///{path}")


def test_driver_breaks_over_the_greeting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    write(Dataset([]), "sqlite", path)

    def broken(*_: Any, **__: Any) -> Any:
        raise TypeError("expected string or bytes-like object, got 'NoneType'\nand more")

    monkeypatch.setattr("tsaudit.engines.sql.connector.FileConnection.__init__", broken)
    said = _message("sqlite", f"sqlite:///{path}")
    assert said == (
        "tsaudit does not understand the server's greeting "
        "(TypeError: expected string or bytes-like object, got 'NoneType')"
    )


@pytest.mark.parametrize("engine", sorted(ARE_FILES))
def test_file_is_something_else(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database " * 1000)
    assert "is not a " in _message(engine, url_of(engine, path))
    assert path.read_text() == "no database " * 1000


@pytest.mark.parametrize(
    ("engine", "url", "expected"),
    [
        ("duckdb", "sqlite:///x.db", "the URL is not of the form duckdb:///path: it starts with `sqlite://`"),
        ("sqlite", "postgresql://host/db", "not of the form sqlite:///path: it starts with `postgresql://`"),
        ("sqlite", "sqlite://", "names no file"),
        ("duckdb", "duckdb:///:memory:", "names no file"),
        ("duckdb", "just words", "not of the form"),
        (
            "postgresql",
            "mysql://host/db",
            "not of the form postgresql://user@host:5432/database: it starts with `mysql://`",
        ),
        ("postgresql", "postgresql+asyncpg://host/db", "it starts with `postgresql+asyncpg://`"),
        ("postgresql", "postgresql://host", "the URL names no database"),
        ("postgresql", "just words", "not of the form postgresql://"),
        ("postgresql", "postgresql://host:port/db", "not of the form postgresql://"),
        ("postgresql", "postgresql://u:pw-9@127.0.0.1:9/db", "nothing listens on 127.0.0.1:9 (connection refused)"),
        (
            "postgresql",
            "postgresql://u@127.0.0.1:9/db?sslmode=odd",
            "cannot connect to 127.0.0.1:9/db: connection is bad: invalid sslmode",
        ),
        ("influxdb1", "postgresql://me:pw-9@host/db", "beside it): it starts with `postgresql://`"),
        ("influxdb1", "me:pw-9@host:8086/db?proxy=http://x", "beside it)"),
        ("influxdb1", "localhost:8086", "not of the form http://host:8086"),
        ("influxdb1", "http://localhost:8086?db=telegraf&u=me&p=hunter22", "`password` are set beside it"),
        ("influxdb1", "http://127.0.0.1:9", "does not respond"),
        ("influxdb2", "localhost:8086", "not of the form http://host:8086?org=NAME"),
        ("influxdb2", "http://localhost:8086?bucket=x", "not of the form"),
        ("influxdb2", "http://127.0.0.1:9", "requires an API token"),
        ("influxdb2", "http://:token@127.0.0.1:9", "does not respond"),
    ],
)
def test_url_is_wrong(engine: str, url: str, expected: str) -> None:
    message = _message(engine, url)
    assert expected in message
    assert "pw-9" not in message


def test_duckdb_is_open_for_writing_in_this_process(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)):
        assert "open for writing in this process" in _message("duckdb", f"duckdb:///{path}")


def test_duckdb_is_locked_by_another_process(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    script = f"import duckdb, sys; c = duckdb.connect({str(path)!r}); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"open\n"
        assert "locked by another process" in _message("duckdb", f"duckdb:///{path}")
        writer.communicate()
    with open_connection(Target(name="t", engine="duckdb", url=f"duckdb:///{path}")) as connection:
        assert connection.server_version


@pytest.mark.parametrize("engine", sorted(ARE_FILES))
def test_files_are_opened_read_only(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "odd name?#%.db"
    table = Table("t", ("host",), {"v": "float"}, [Row(t, {"host": "a"}, {"v": 1.0}) for t in times(3)])
    write(Dataset([table]), engine, path)
    address = url_of(engine, quote(str(path)))
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with open_connection(Target(name="t", engine=engine, url=address)) as connection:
        raw: Any = vars(connection)["_raw"]
        list(connection.query("measurements", 60, filled("measurements", database="main")))
        for statement in ("CREATE TABLE u (a INTEGER)", "DELETE FROM t", "INSERT INTO t (host) VALUES ('x')"):
            with pytest.raises((duckdb.Error, sqlite3.Error), match=r"(?i)read.?only"):
                raw.execute(statement)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.fixture(params=sorted(ARE_FILES))
def many_hosts(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    """A table `t` of which nobody lists all hosts within a moment."""
    engine, path = request.param, tmp_path / "x.db"
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT i FROM n"
    source = "SELECT i FROM range(3000000) r(i)" if engine == "duckdb" else numbers.format(400_000)
    statements = "CREATE TABLE t (host VARCHAR)", f"INSERT INTO t SELECT 'host ' || i FROM ({source})"
    return file_with(engine, path, *statements)


_LISTING = {"database": "main", "measurement": "t", "tags": ["host"], "time": None, "limit": 10_000_000}


@pytest.mark.wall_clock
def test_statement_that_takes_too_long_is_interrupted(many_hosts: Target) -> None:
    with open_connection(many_hosts) as opened:
        with pytest.raises(FactError) as raised:
            list(opened.query("series_listing", 0.05, filled("series_listing", **_LISTING)))
        assert (raised.value.reason, raised.value.detail) == (Reason.TIMED_OUT, "canceled after 0.05 s")
        # The connection is still good, and so is one whose answer was left early.
        for batch in opened.query("series_listing", 60, filled("series_listing", **_LISTING)):
            assert batch.num_rows
            break
        assert [b.to_pylist() for b in opened.query("measurements", 60, filled("measurements", database="main"))] == [
            [{"measurement": "t"}]
        ]


@pytest.mark.wall_clock
def test_time_that_passes_between_two_batches_counts(many_hosts: Target) -> None:
    def read_slowly(opened: Connection) -> None:
        for _ in opened.query("series_listing", 1.0, filled("series_listing", **_LISTING)):
            time.sleep(1.1)

    with open_connection(many_hosts) as opened, pytest.raises(FactError) as raised:
        read_slowly(opened)
    assert raised.value.reason is Reason.TIMED_OUT


def test_abort_ends_the_statement_and_those_after_it(many_hosts: Target) -> None:
    with open_connection(many_hosts) as opened:
        threading.Timer(0.1, opened.abort).start()
        for _ in range(2):
            with pytest.raises(FactError):
                list(opened.query("series_listing", 60, filled("series_listing", **_LISTING)))
        again = opened.reconnect()
        assert list(again.query("measurements", 60, filled("measurements", database="main")))
        again.close()


def test_abort_of_what_is_closed_does_nothing(many_hosts: Target) -> None:
    with open_connection(many_hosts) as opened:
        pass
    opened.abort()


@pytest.mark.parametrize("engine", sorted(ARE_FILES))
def test_statement_fails(engine: str, tmp_path: Path) -> None:
    target = write(Dataset([]), engine, tmp_path / "x.db")
    with open_connection(target) as connection:
        about = {"database": "main", "measurement": "gone", "tags": ["a"], "time": None, "limit": 1}
        with pytest.raises(FactError, match="gone") as raised:
            list(connection.query("series_listing", 60, filled("series_listing", **about)))
    assert raised.value.reason is Reason.FAILED
    assert "\n" not in raised.value.detail


def test_driver_of_every_engine_is_an_extra_and_comes_with_all_of_them() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = {about.extra for about in ENGINES.values() if about.extra}
    assert needed <= extras.keys()
    (all_of_them,) = extras["engines"]
    assert all_of_them == f"tsaudit[{','.join(sorted(needed))}]"
