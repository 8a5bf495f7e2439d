"""Opening a connection: one clear line for all that can be wrong, and never a file created."""

from __future__ import annotations

import importlib
import sqlite3
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pydantic import ValidationError

from tests.databases import Dataset, Row, Table, times, write
from tsaudit.config import Target
from tsaudit.connector import ConnectorError, FactError
from tsaudit.connectors import open_connection
from tsaudit.dialect import ENGINES
from tsaudit.profile import Reason
from tsaudit.queries import query_files


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

    def no_module(name: str, package: str | None = None) -> Any:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(importlib, "import_module", no_module)
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


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_file_does_not_exist(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "nowhere.db"
    assert f"there is no file {path}" in _message(engine, f"{engine}:///{path}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_file_is_something_else(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database " * 1000)
    assert "cannot open" in _message(engine, f"{engine}:///{path}")
    assert path.read_text() == "no database " * 1000


@pytest.mark.parametrize(
    ("engine", "url", "expected"),
    [
        ("duckdb", "sqlite:///x.db", "the URL starts with `sqlite:`; expected duckdb:///path"),
        ("sqlite", "postgresql://host/db", "the URL starts with `postgresql:`; expected sqlite:///path"),
        ("sqlite", "sqlite://", "names no file"),
        ("duckdb", "duckdb:///:memory:", "names no file"),
        ("duckdb", "just words", "not of the form"),
        (
            "postgresql",
            "mysql://host/db",
            "the URL starts with `mysql:`; expected postgresql://user@host:5432/database",
        ),
        ("postgresql", "postgresql+asyncpg://host/db", "the URL starts with `postgresql+asyncpg:`"),
        ("postgresql", "postgresql://host", "the URL names no database"),
        ("postgresql", "just words", "not of the form postgresql://"),
        ("postgresql", "postgresql://host:port/db", "not of the form postgresql://"),
        ("postgresql", "postgresql://u:pw-9@127.0.0.1:9/db", "cannot connect to 127.0.0.1:9/db: connection failed"),
        (
            "postgresql",
            "postgresql://u@127.0.0.1:9/db?sslmode=odd",
            "cannot connect to 127.0.0.1:9/db: connection is bad: invalid sslmode",
        ),
        ("influxdb1", "localhost:8086", "not of the form http://host:8086"),
        ("influxdb1", "http://127.0.0.1:9", "does not answer"),
        ("influxdb2", "localhost:8086", "not of the form http://host:8086?org=NAME"),
        ("influxdb2", "http://localhost:8086?bucket=x", "not of the form"),
        ("influxdb2", "http://127.0.0.1:9", "takes an API token"),
        ("influxdb2", "http://:token@127.0.0.1:9", "does not answer"),
    ],
)
def test_url_is_wrong(engine: str, url: str, expected: str) -> None:
    assert expected in _message(engine, url)


def test_duckdb_is_open_for_writing_in_this_process(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    with duckdb.connect(str(path)):
        assert "open for writing in this very process" in _message("duckdb", f"duckdb:///{path}")


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


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_files_are_opened_read_only(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "odd name?#%.db"
    table = Table("t", ("host",), {"v": "float"}, [Row(t, {"host": "a"}, {"v": 1.0}) for t in times(3)])
    write(Dataset([table]), engine, path)
    import sqlalchemy as sa

    address = sa.URL.create(engine, database=str(path)).render_as_string(hide_password=False)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with open_connection(Target(name="t", engine=engine, url=address)) as connection:
        raw: Any = connection._raw  # type: ignore[attr-defined]
        list(connection.query("measurements", 5, database="main"))
        for statement in ("CREATE TABLE u (a INTEGER)", "DELETE FROM t", "INSERT INTO t (host) VALUES ('x')"):
            with pytest.raises((duckdb.Error, sqlite3.Error), match=r"(?i)read.?only"):
                raw.execute(statement)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_statement_that_takes_too_long_is_interrupted(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    connection: Any = duckdb.connect(str(path)) if engine == "duckdb" else sqlite3.connect(path)
    connection.execute("CREATE TABLE t (host VARCHAR)")
    numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT i FROM n"
    source = "SELECT i FROM range(3000000) r(i)" if engine == "duckdb" else numbers.format(400_000)
    connection.execute(f"INSERT INTO t SELECT 'host ' || i FROM ({source})")
    connection.commit()
    connection.close()
    about = {"database": "main", "measurement": "t", "tags": ["host"], "time": None, "limit": 10_000_000}
    with open_connection(Target(name="t", engine=engine, url=f"{engine}:///{path}")) as opened:
        with pytest.raises(FactError) as raised:
            list(opened.query("series_listing", 0.05, **about))
        assert (raised.value.reason, raised.value.detail) == (Reason.TIMED_OUT, "cancelled after 0.05 s")
        # The connection is still good, and so is one whose answer was left early.
        for batch in opened.query("series_listing", 60, **about):
            assert batch.num_rows
            break
        assert [b.to_pylist() for b in opened.query("measurements", 5, database="main")] == [[{"measurement": "t"}]]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_statement_fails(engine: str, tmp_path: Path) -> None:
    target = write(Dataset([]), engine, tmp_path / "x.db")
    with open_connection(target) as connection:
        about = {"database": "main", "measurement": "gone", "tags": ["a"], "time": None, "limit": 1}
        with pytest.raises(FactError, match="gone") as raised:
            list(connection.query("series_listing", 5, **about))
    assert raised.value.reason is Reason.FAILED
    assert "\n" not in raised.value.detail


def test_driver_of_every_engine_is_an_extra_and_comes_with_all_of_them() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = {about.extra for about in ENGINES.values() if about.extra}
    assert needed <= extras.keys()
    (all_of_them,) = extras["engines"]
    assert all_of_them == f"tsaudit[{','.join(sorted(needed))}]"
