"""A PostgreSQL that stops answering: one clear line in bounded time, nothing half written, then on it goes."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from sqlalchemy import func, insert, select, text

from tests.command import CliRunner
from tests.databases import Dataset, Row, Table, times, write
from tests.faults import proxy
from tests.faults.proxy import FaultyProxy, Moment, Strike
from tests.history.test_database import A_DECISION
from tests.servers import PASSWORD, Postgresql
from tsaudit.cli import main
from tsaudit.history import database, lease
from tsaudit.history.database import HistoryError, HistoryFailedError
from tsaudit.history.schema import decision
from tsaudit.history.store import Store

pytestmark = pytest.mark.wall_clock

ANSWER_S = 0.6
"""What the tests give a statement and its grace, together."""
CONNECT_S = 0.5


@pytest.fixture(autouse=True)
def _short_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_ANSWER_S", 0.4)
    monkeypatch.setattr(database, "_GRACE_S", 0.2)
    monkeypatch.setattr(database, "_PING_S", 0.3)
    monkeypatch.setattr(database, "_CONNECT_S", CONNECT_S)


@pytest.fixture
def address(postgresql: Postgresql) -> Iterator[str]:
    schema = f"t{uuid.uuid4().hex}"
    postgresql.execute(f"CREATE SCHEMA {schema}")
    Store.open(postgresql.address(schema)).close()
    yield postgresql.address(schema)
    postgresql.execute(f"DROP SCHEMA {schema} CASCADE")


def _through(address: str, server: Postgresql, strike: Strike, when: Callable[[bytes], bool] | None) -> Any:
    faulty = FaultyProxy(("127.0.0.1", server.port), strike, Moment(when))
    return faulty, address.replace(f":{server.port}/", f":{faulty.port}/")


def _insert(store: Store) -> None:
    with store.writing("x") as connection:
        connection.execute(insert(decision).values(**A_DECISION))


def _count(store: Store) -> int:
    with store.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(decision)).scalar_one())


def _one_line(error: HistoryError) -> str:
    text = str(error)
    assert isinstance(error, HistoryFailedError)
    assert "\n" not in text
    assert PASSWORD not in text
    assert text.startswith("history postgresql://127.0.0.1:")
    return text


NOT_ANSWERING = {
    "silent": proxy.silent,
    "dripping": partial(proxy.dripping, pauses=10),
    "stalled": partial(proxy.stalled, after=3),
}


@pytest.mark.wall_clock
@pytest.mark.parametrize("strike", NOT_ANSWERING.values(), ids=NOT_ANSWERING)
def test_does_not_answer_from_the_start(postgresql: Postgresql, address: str, strike: Strike) -> None:
    faulty, through = _through(address, postgresql, strike, None)
    began = time.monotonic()
    with pytest.raises(HistoryError) as raised:
        Store.open(through)
    assert time.monotonic() - began < CONNECT_S + 1
    faulty.close()
    assert "no response within " in _one_line(raised.value) or "timeout expired" in _one_line(raised.value)


@pytest.mark.wall_clock
@pytest.mark.parametrize("phase", [b"pg_try_advisory", b"INSERT INTO decision", b"COMMIT"])
@pytest.mark.parametrize("strike", NOT_ANSWERING.values(), ids=NOT_ANSWERING)
def test_stops_answering_in_the_middle(postgresql: Postgresql, address: str, strike: Strike, phase: bytes) -> None:
    armed: list[int] = []
    faulty, through = _through(address, postgresql, strike, lambda piece: bool(armed) and phase in piece)
    with Store.open(through) as store:
        _insert(store)
        armed.append(1)
        began = time.monotonic()
        with pytest.raises(HistoryError, match=r"no response within \d") as raised:
            _insert(store)
        assert ANSWER_S - 0.1 < time.monotonic() - began < ANSWER_S + 1
        _one_line(raised.value)
        # The next one finds out by connecting anew.
        began = time.monotonic()
        with pytest.raises(HistoryError):
            _insert(store)
        assert time.monotonic() - began < CONNECT_S + 1
        # The server is well again: the same store works, and holds what was told to be written, once.
        faulty.strike = proxy.healthy
        written = 2 if phase == b"COMMIT" else 1  # the server had it; only the response was lost
        assert _count(store) == written
        _insert(store)
        assert _count(store) == written + 1
    faulty.close()


@pytest.mark.wall_clock
def test_pooled_connection_went_dead_while_nobody_used_it(postgresql: Postgresql, address: str) -> None:
    armed: list[int] = []
    faulty, through = _through(address, postgresql, proxy.silent, lambda piece: bool(armed))
    with Store.open(through) as store:
        assert _count(store) == 0
        armed.append(1)
        began = time.monotonic()
        with pytest.raises(HistoryError):
            _count(store)
        assert time.monotonic() - began < 0.3 + CONNECT_S + 1
    faulty.close()


@pytest.mark.wall_clock
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc to tell which processes are the server's")
def test_server_is_stopped_by_a_signal(postgresql: Postgresql, address: str) -> None:
    with Store.open(address) as store:
        with store.reading() as connection:
            backend = int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())
        postmaster = int(Path(f"/proc/{backend}/stat").read_text().rsplit(")", 1)[1].split()[1])
        for process in (postmaster, backend):
            os.kill(process, signal.SIGSTOP)
        try:
            began = time.monotonic()
            with pytest.raises(HistoryError) as raised:
                _insert(store)
            assert time.monotonic() - began < 0.3 + CONNECT_S + 1
            assert "no response" in _one_line(raised.value)
        finally:
            for process in (postmaster, backend):
                os.kill(process, signal.SIGCONT)
        assert _count(store) == 0


@pytest.mark.wall_clock
def test_lock_that_another_one_keeps(postgresql: Postgresql, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_BUSY_S", 1)
    with Store.open(address) as one, Store.open(address) as other:
        with one.writing("x"):
            began = time.monotonic()
            with pytest.raises(HistoryError, match="is kept locked by another process; find out which one"):
                _insert(other)
            # Longer than other statements may take, since to wait for one's turn is no fault.
            assert 0.9 < time.monotonic() - began < 2
        _insert(other)
        assert _count(other) == 1


def test_statement_is_cancelled_on_the_server_too(postgresql: Postgresql, address: str) -> None:
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)' AND state = 'active'"

    def sleep(store: Store) -> None:
        with store.writing("x") as connection:
            connection.exec_driver_sql("SET LOCAL statement_timeout = 200")
            connection.execute(text("SELECT pg_sleep(60)"))

    with Store.open(address) as store, pytest.raises(HistoryError, match="statement timeout"):
        sleep(store)
    assert postgresql.rows(sleeping) == [(0,)]


def test_settings_hold_for_the_transaction_only(postgresql: Postgresql, address: str) -> None:
    with Store.open(address) as store:
        with store.writing("x") as connection:
            inside = connection.exec_driver_sql("SHOW statement_timeout").scalar()
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "0"
    assert inside == "30s"


CONFIG = """
history: {address}
targets: [{{name: shop, engine: sqlite, url: "sqlite:///shop.db", budget: {budget}}}]
"""


def _command(folder: Path, address: str, *arguments: str, budget: object = None) -> Result:
    text = CONFIG.format(address=json.dumps(address), budget=json.dumps(budget or {}))
    (folder / "tsaudit.yaml").write_text(text)
    return CliRunner().invoke(main, list(arguments), prog_name="tsaudit")


@pytest.mark.wall_clock
def test_command_when_the_history_freezes_in_mid_audit(
    postgresql: Postgresql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(lease, "STALE_S", 0.5)
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(9)]
    write(Dataset([Table("t", ("host",), {"v": "float"}, rows)]), "sqlite", tmp_path / "shop.db")
    faulty, through = _through(address, postgresql, proxy.silent, lambda piece: b"INSERT INTO snapshot" in piece)
    began = time.monotonic()
    frozen = _command(tmp_path, through, "audit")
    assert time.monotonic() - began < 10
    # Nothing is wrong with how it was called: an audit that is not remembered did not take place.
    assert frozen.exit_code == 3
    assert "history postgresql://127.0.0.1" in frozen.output
    assert "no response within " in frozen.output
    assert "Traceback" not in frozen.output
    assert PASSWORD not in frozen.output
    gone = _command(tmp_path, through, "incidents")
    assert (gone.exit_code, gone.stderr.count("error:")) == (3, 1)
    faulty.strike = proxy.healthy
    assert _command(tmp_path, through, "audit").exit_code in (0, 1)
    faulty.close()


@pytest.mark.wall_clock
@pytest.mark.parametrize("table", ["snapshot", "lease", "delivery"])
def test_command_when_a_table_is_locked_forever_ends_soon_after_its_deadline(
    postgresql: Postgresql, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    """Each statement would wait half a minute, and an audit sends dozens."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(database, "_ANSWER_S", 30)
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(9)]
    write(Dataset([Table("t", ("host",), {"v": "float"}, rows)]), "sqlite", tmp_path / "shop.db")
    with Store.open(address) as other, other.reading() as connection:
        connection.exec_driver_sql(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        done = _command(tmp_path, address, "audit", budget={"deadline_s": 1})
        assert time.monotonic() - began < 15
    assert done.exit_code == 3
    assert "history postgresql://127.0.0.1" in done.output
    assert "is kept locked by another process; find out which one" in done.output
    assert "Traceback" not in done.output
    assert _command(tmp_path, address, "audit").exit_code in (0, 1)


@pytest.mark.wall_clock
def test_command_when_the_file_of_the_history_is_locked_forever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [Row(at, {"host": "a"}, {"v": 1.0}) for at in times(9)]
    write(Dataset([Table("t", ("host",), {"v": "float"}, rows)]), "sqlite", tmp_path / "shop.db")
    assert _command(tmp_path, "sqlite:///h.db", "audit").exit_code in (0, 1)
    with closing(sqlite3.connect(tmp_path / "h.db", isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        other.execute("DELETE FROM snapshot")
        began = time.monotonic()
        done = _command(tmp_path, "sqlite:///h.db", "audit", budget={"deadline_s": 1})
        assert time.monotonic() - began < 10
        other.execute("ROLLBACK")
    assert done.exit_code == 3
    assert "h.db: is kept locked by another process" in done.output
    assert _command(tmp_path, "sqlite:///h.db", "audit").exit_code in (0, 1)


def test_address_that_is_wrong_is_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _command(tmp_path, "mysql://root@localhost/db", "incidents").exit_code == 2
