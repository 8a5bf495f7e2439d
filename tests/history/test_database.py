"""Opening a history: made, brought up to date, refused; by one process or by many at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import func, insert, inspect, select, text

import tsaudit.history
from tests.builders import NOW
from tests.servers import PASSWORD, Postgresql
from tsaudit.history import database
from tsaudit.history.database import HEAD, VERSION_TABLE, HistoryError
from tsaudit.history.schema import decision, metadata
from tsaudit.history.store import Store

A_DECISION: Final[dict[str, Any]] = {
    "fingerprint": "f",
    "kind": "ack",
    "owner": "ann",
    "reason": "why",
    "made_at": NOW.replace(tzinfo=None),
    "severity": "warning",
}

_OPENER = """
import sys
from tsaudit.history.store import Store
import alembic.command, tsaudit.history.schema
print("ready", flush=True)
sys.stdin.readline()
Store.open(sys.argv[1]).close()
"""


def test_open_makes_the_folder_and_all_tables(address: str) -> None:
    with Store.open(address) as store:
        tables = set(inspect(store.engine).get_table_names())
        assert tables == {*metadata.tables, VERSION_TABLE}
        assert store.targets() == []


def test_open_when_the_history_is_there_changes_nothing(address: str) -> None:
    Store.open(address).close()
    with Store.open(address) as store, store.reading() as connection:
        assert connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalars().all() == [HEAD]


def test_head_is_the_newest_migration() -> None:
    folder = Path(tsaudit.history.__file__).parent / "migrations"
    assert ScriptDirectory(str(folder)).get_current_head() == HEAD


@pytest.mark.full
def test_open_by_several_processes_at_once_when_it_is_fresh(address: str) -> None:
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", _OPENER, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.readline() == "ready\n"
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write("go\n")
        opener.stdin.flush()
    for opener in openers:
        _, errors = opener.communicate(timeout=60)
        assert (opener.returncode, errors) == (0, "")


def test_open_refuses_a_newer_schema(address: str) -> None:
    with Store.open(address) as store, store.writing("test") as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(HistoryError, match=r"newer tsaudit \(its revision is 9999, .*; upgrade tsaudit$"):
        Store.open(address)


def test_open_refuses_a_database_of_somebody_else(address: str) -> None:
    if address.startswith("sqlite"):
        Path(address.removeprefix("sqlite:///")).parent.mkdir()
    engine = (database._sqlite if address.startswith("sqlite") else database._postgresql)(database._checked(address))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE cpu (host TEXT)"))
    with pytest.raises(HistoryError, match=r"contains tables that are not tsaudit's \(cpu\)"):
        Store.open(address)
    assert inspect(engine).get_table_names() == ["cpu"]
    engine.dispose()


def test_open_refuses_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database at all, only text" * 100)
    with pytest.raises(
        HistoryError,
        match=r"^history .*notes.txt: file is not a database; that is another file: check `history` in tsaudit.yaml$",
    ):
        Store.open(f"sqlite:///{tmp_path}/notes.txt")


def test_open_names_the_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match=r"cannot create the folder .*/file"):
        Store.open(f"sqlite:///{tmp_path}/file/history.db")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nonsense", "not an address"),
        ("mysql://root@localhost/db", "cannot be stored in `mysql`"),
        ("postgresql+psycopg2://localhost/db", r"cannot be stored in `postgresql\+psycopg2`"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
    ],
)
def test_open_refuses_an_address_with_one_clear_line(address: str, message: str) -> None:
    with pytest.raises(HistoryError, match=message) as caught:
        Store.open(address)
    assert "\n" not in str(caught.value)


def test_open_names_the_extra_when_the_driver_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(HistoryError, match=r"pip install 'tsaudit\[postgresql\]'"):
        Store.open("postgresql://user:hidden@localhost/db")


def test_error_never_holds_the_password_when_the_login_fails(postgresql: Postgresql) -> None:
    with pytest.raises(HistoryError, match="password authentication failed") as caught:
        Store.open(postgresql.address("public", password="tester"))  # also the user's name, so it would show
    assert "tester" not in str(caught.value)
    assert str(postgresql.port) in str(caught.value)


def test_error_never_holds_a_password_given_as_an_option() -> None:
    url = database._checked(f"postgresql://h/db?password={PASSWORD}")
    with pytest.raises(HistoryError) as caught, database.readable_errors(url):
        raise sqlite3.OperationalError(f"cannot log in with {PASSWORD}\nsecond line")
    assert str(caught.value).startswith("history postgresql://h/db: cannot log in with ***; ")


def test_error_says_when_there_is_no_server() -> None:
    with pytest.raises(HistoryError, match=r"^history postgresql://127.0.0.1:1/db: .*refused"):
        Store.open("postgresql://127.0.0.1:1/db")


def test_reading_keeps_no_writer_waiting(store: Store) -> None:
    with store.reading() as reader:
        reader.execute(text("SELECT count(*) FROM snapshot")).scalar()
        with store.writing("other") as writer:
            writer.execute(text("DELETE FROM figure"))


def test_reading_sees_one_state_throughout(store: Store) -> None:
    query = select(func.count()).select_from(decision)
    with store.reading() as reader:
        before = reader.execute(query).scalar()
        with store.writing("other") as writer:
            writer.execute(insert(decision).values(**A_DECISION))
        assert reader.execute(query).scalar() == before == 0
    with store.reading() as reader:
        assert reader.execute(query).scalar() == 1


def test_open_while_somebody_writes_does_not_wait(store: Store, address: str) -> None:
    with store.writing("other") as writer:
        writer.execute(insert(decision).values(**A_DECISION))
        Store.open(address).close()


@pytest.mark.parametrize("held_s", [0.3, 60])
def test_open_waits_for_whoever_has_the_fresh_file_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held_s: float
) -> None:
    monkeypatch.setattr(database, "_BUSY_S", 1)
    with closing(sqlite3.connect(tmp_path / "h.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(held_s, other.rollback)
        release.start()
        try:
            if held_s < 1:
                Store.open(f"sqlite:///{tmp_path}/h.db").close()
            else:
                with pytest.raises(HistoryError, match="is kept locked by another process"):
                    Store.open(f"sqlite:///{tmp_path}/h.db")
        finally:
            release.cancel()
            release.join()


def test_sqlite_is_set_up_for_many_users(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store, store.reading() as connection:
        settings = [
            connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "foreign_keys", "busy_timeout")
        ]
    assert settings == ["wal", 1, 60_000]


_ON_A_FULL_DISK = """
import resource, signal, sys
from tsaudit.history.database import HistoryError
from tsaudit.history.store import Store
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    with Store.open(sys.argv[1]) as store:
        print(store.targets())
        with store.writing("x"):
            pass
except HistoryError as error:
    print(error)
"""


def test_what_is_there_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    """On a full disk, SQLite cannot make the file beside it that it needs, even to read."""
    address = f"sqlite:///{tmp_path}/a b.db"
    Store.open(address).close()

    def told() -> list[str]:
        done = subprocess.run([sys.executable, "-c", _ON_A_FULL_DISK, address], capture_output=True, text=True)
        return done.stdout.splitlines()

    read, error = told()
    assert read == "[]"
    assert "disk I/O error; make room on its disk" in error
    # What has not reached the file yet must not be missed silently.
    Path(f"{tmp_path}/a b.db-wal").write_bytes(b"rows")
    (error,) = told()
    assert "disk I/O error; make room on its disk" in error


def test_writing_leaves_nothing_when_it_breaks_off(store: Store) -> None:
    def half_done() -> None:
        with store.writing("x") as connection:
            connection.execute(insert(decision).values(**A_DECISION))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half_done()
    with store.reading() as connection:
        assert connection.execute(select(func.count()).select_from(decision)).scalar() == 0


def test_open_that_is_interrupted_creates_nothing(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    complete = database._create

    def interrupted(*arguments: Any) -> None:
        complete(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(database, "_create", interrupted)
        with pytest.raises(KeyboardInterrupt):
            Store.open(address)
        patch.setattr(database, "_create", lambda *_: None)
        with Store.open(address) as store:
            assert inspect(store.engine).get_table_names() == []
    with Store.open(address) as store:
        assert store.targets() == []
