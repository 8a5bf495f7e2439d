"""Opens the history database: addresses, drivers, migrations, locks, and readable errors."""

from __future__ import annotations

import hashlib
import math
import os
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    String,
    Table,
    create_engine,
    event,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from tsaudit import secrets
from tsaudit.errors import TsauditError
from tsaudit.history.schema import metadata
from tsaudit.net import addresses

HEAD: Final = "0001"
"""The newest revision under `migrations/versions`; a history with this revision is opened without loading Alembic."""

VERSION_TABLE: Final = "tsaudit_history"
"""The table in which Alembic stores the revision. Not Alembic's usual name, which Dagster uses in its own databases."""
_version: Final = Table(
    VERSION_TABLE,
    MetaData(naming_convention={"pk": "%(table_name)s_pkc"}),
    Column("version_num", String(32), primary_key=True),
)
"""The same as Alembic would create it."""

_DRIVERS: Final = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_BUSY_S: Final = 60
"""Seconds that a writer waits for another one."""
_LEAST_WAIT_S: Final = 0.5
"""Minimum seconds that a writer waits, even if the audit has used up its waiting time."""
_CONNECT_S: Final = 10
_ANSWER_S: Final = 30
"""Time limit of one statement on PostgreSQL, in seconds; then the server cancels it."""
_GRACE_S: Final = 5
"""Additional seconds that the client waits, because the server's error is more specific."""
_PING_S: Final = 5
"""Seconds to wait for a response from an idle connection."""
_TRANSACTION_S: Final = 600
"""Time limit of a transaction, in seconds, including migrations."""
_TCP: Final = {
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}
"""With these settings, a dead network is noticed after 30 to 60 seconds. The address can override them."""
_LIMITS: Final = {
    "statement_timeout": f"{_ANSWER_S}s",
    # A lock must not remain for hours if its holder is disconnected.
    "idle_in_transaction_session_timeout": f"{_TRANSACTION_S}s",
}
_PAGE_BYTES: Final = 16384
"""Page size of a SQLite file."""
_READING: Final = "tsaudit_reading"

_HINTS: Final = (
    (re.compile("locked"), "find out which one, and end it, or wait for it"),
    (re.compile("not a database"), "that is another file: check `history` in tsaudit.yaml"),
    (
        re.compile("malformed|no such (table|column)"),
        "restore it from a backup, or move it away: then the next audit makes a new one",
    ),
    # Nothing says that the file is damaged: usually it is intact, and the disk is full, or a quota is used up.
    (re.compile("disk I/O"), "make room on its disk, or check the disk and its quota; the file itself may be intact"),
    (re.compile("unable to open|readonly|denied"), "let tsaudit's user write to it, and to its folder if it is a file"),
    (re.compile("is full|No space"), "make room on its disk"),
)
"""Patterns of error messages, each with what to do."""
_HINT: Final = "check `history` in tsaudit.yaml, and the server that it names"


_patience: Final[ContextVar[Patience | None]] = ContextVar("tsaudit_history_patience", default=None)


class Patience:
    """How much longer one audit may wait for other writers of the history, over all of its transactions."""

    def __init__(self, seconds: float) -> None:
        self.seconds = self.left_s = seconds


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Limits the waiting time for the history's locks inside the `with` block, in this thread."""
    token = _patience.set(Patience(seconds))
    try:
        yield
    finally:
        _patience.reset(token)


def _longest_wait_s() -> float:
    """Seconds that the next transaction may wait for other writers."""
    limit = _patience.get()
    return float(_BUSY_S) if limit is None else min(float(_BUSY_S), max(_LEAST_WAIT_S, limit.left_s))


@contextmanager
def _waiting() -> Iterator[None]:
    """Counts the time inside the `with` block as waiting time."""
    began = time.monotonic()
    try:
        yield
    finally:
        if (limit := _patience.get()) is not None:
            limit.left_s -= time.monotonic() - began


class HistoryError(TsauditError):
    """The history cannot be opened, read, or written. The error's text is one line, with what to do; it never contains
    a password.

    An instance of this class itself, not a subclass, means that somebody first has to change the address, or what is
    stored there.
    """


class HistoryFailedError(HistoryError):
    """The history does not respond, rejects the connection, or disconnected; the configuration is not the problem."""


def open_engine(address: str) -> Engine:
    """An engine for the address, with its folder created and its schema up to date. Raises HistoryError.

    Any number of processes may open the same new history at once.
    """
    url = _checked(address)
    with readable_errors(url):
        engine = _sqlite(url) if url.get_backend_name() == "sqlite" else _postgresql(url)
    try:
        with readable_errors(url):
            migrate(engine)
    except BaseException:
        engine.dispose()
        raise
    return engine


def migrate(engine: Engine) -> None:
    """Migrate the schema to `HEAD`. Several processes may do this at the same time."""
    with engine.connect() as connection:
        connection.execution_options(**{_READING: True})
        if _revision(connection) == HEAD:
            return
    with engine.begin() as connection:
        lock(connection, "migrate")
        found = _revision(connection)
        if found == HEAD:
            return
        if found is None:
            _refuse_other_tables(connection)
        with _patient(connection, _TRANSACTION_S):
            if found is None:
                _create(connection)
            else:
                _upgrade(connection, found)


def lock(connection: Connection, name: str) -> None:
    """Wait until no other transaction holds the lock with that name; held until this one ends.

    SQLite needs none: its transactions begin IMMEDIATE, so there is only one writer at a time.
    """
    if connection.dialect.name == "postgresql":
        wait_s = _longest_wait_s()
        digest = hashlib.sha256(f"tsaudit {name}".encode()).digest()
        key = {"key": int.from_bytes(digest[:8], signed=True)}
        if not connection.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), key).scalar():
            with _waiting(), _patient(connection, wait_s):
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), key)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that reads a consistent snapshot and, on SQLite, blocks no writer."""
    with readable_errors(engine.url), engine.connect() as connection:
        connection.execution_options(**{_READING: True})
        if connection.dialect.name == "postgresql":
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


@contextmanager
def writing(engine: Engine, name: str) -> Iterator[Connection]:
    """One transaction, all or nothing; transactions with the same name run one at a time."""
    with readable_errors(engine.url), engine.begin() as connection:
        lock(connection, name)
        yield connection


@contextmanager
def readable_errors(url: URL) -> Iterator[None]:
    """Turns the exceptions of SQLAlchemy and the driver into a HistoryError of one line."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        cause = getattr(error, "orig", None) or error
        line = next(iter(str(cause).strip().splitlines()), type(cause).__name__)
        if type(cause).__name__ == "LockNotAvailable" or line == "database is locked":
            line = "is kept locked by another process"
            if limit := _patience.get():
                limit.left_s = 0.0  # The rest of this audit does not wait that long again.
        hint = next((hint for words, hint in _HINTS if words.search(line)), _HINT)
        raise HistoryFailedError(f"history {_label(url)}: {line}; {hint}") from None


def _checked(address: str) -> URL:
    secrets.remember(*addresses.secrets_in(address))
    if addresses.is_ambiguous(address):
        raise HistoryError(f"history: the address {addresses.AMBIGUOUS}{addresses.OTHER_HINT}")
    try:
        url = addresses.sql_url(address)
    except (ArgumentError, ValueError):
        raise HistoryError(
            "history: not an address; expected sqlite:///path/to/history.db or postgresql://user@host/database"
        ) from None
    driver = _DRIVERS.get(url.drivername)
    if driver is None:
        raise HistoryError(f"history: cannot be stored in `{url.drivername}`; expected sqlite:/// or postgresql://")
    if driver == "sqlite" and (not url.database or url.database == ":memory:" or "mode=memory" in address):
        raise HistoryError("history: needs a file, because memory would lose it; expected sqlite:///path/to/file")
    return url.set(drivername=driver)


def _sqlite(url: URL) -> Engine:
    folder = Path(url.database or "").parent
    if not (url.database or "").startswith("file:"):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise HistoryError(f"history {_label(url)}: cannot create the folder {folder}: {error.strerror}") from None
        keep_private(Path(url.database or ""))
    engine = _sqlite_engine(url)
    try:
        _write_ahead(engine)
    except sqlite3.OperationalError as error:
        file = Path(url.database or "")
        if not file.is_file() or not file.stat().st_size or _size(Path(f"{file}-wal")) or "locked" in str(error):
            raise
        # On a full disk or in a read-only folder, what was checkpointed can still be read.
        engine.dispose()
        return _sqlite_engine(url, unwritable=error)
    return engine


def _size(file: Path) -> int:
    """In bytes; 0 if there is no such file."""
    return file.stat().st_size if file.exists() else 0


def _sqlite_engine(url: URL, unwritable: sqlite3.Error | None = None) -> Engine:
    """`unwritable`: why the file can only be read; raised by each transaction that is to write."""
    connected_to: dict[str, Any] = {"connect_args": {"timeout": _longest_wait_s()}}
    if unwritable is not None:
        file = f"file:{quote(url.database or '')}?immutable=1"
        connected_to = {"creator": lambda: sqlite3.connect(file, uri=True, check_same_thread=False)}
    engine = create_engine(url, **connected_to)

    def connected(connection: Any, _record: object) -> None:
        # Python's driver would begin and commit implicitly; the handler below begins explicitly.
        connection.isolation_level = None
        # Has an effect only on a new file. A day's texts take 2 to 3 kB, a base 5 to 6 kB: larger than usual pages
        # waste less space.
        connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        connection.execute("PRAGMA foreign_keys = ON")

    def begun(connection: Connection) -> None:
        # A transaction that reads first and writes later fails if there is another writer, instead of waiting. So every
        # transaction that is not declared read-only takes the write lock at its beginning.
        only_reads = connection.get_execution_options().get(_READING, False)
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {_longest_wait_s() * 1000:.0f}")
        if only_reads:
            connection.exec_driver_sql("BEGIN")
            return
        if unwritable is not None:
            raise unwritable
        with _waiting():
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)
    return engine


def keep_private(file: Path) -> None:
    """Create the file with access for its owner only, and restrict an existing one in the same way.

    Write access of a group is kept, because somebody granted it on purpose. SQLite gives the files next to it the same
    permissions.
    """
    with suppress(OSError):  # If this fails, opening the file reports the error.
        os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        for suffix in ("", "-wal", "-shm"):
            one = Path(f"{file}{suffix}")
            with suppress(OSError):
                mode = one.stat().st_mode & 0o777
                kept = mode & (0o660 if mode & 0o020 else 0o600)
                if mode != kept:
                    one.chmod(kept)


def _write_ahead(engine: Engine) -> None:
    """Switch the file to a write-ahead log, so that readers and the writer do not wait for each other.

    The switch ignores the busy timeout, so this waits here for another process that is switching.
    """
    deadline = time.monotonic() + _longest_wait_s()
    while True:
        pooled = engine.raw_connection()
        try:
            pooled.cursor().execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        finally:
            pooled.close()
        time.sleep(0.02)


def _postgresql(url: URL) -> Engine:
    limits = {"connect_timeout": _CONNECT_S, **_TCP}
    try:
        from tsaudit.net import postgresql as wire

        engine = create_engine(
            url,
            pool_pre_ping=True,
            pool_size=1,  # Others are closed after use: idle ones of one audit would take the slots of another.
            max_overflow=14,
            pool_timeout=_ANSWER_S,
            connect_args={name: value for name, value in limits.items() if name not in url.query},
        )
    except ImportError:
        raise HistoryError(
            f"history {_label(url)}: the PostgreSQL driver is not installed; run pip install 'tsaudit[postgresql]'"
        ) from None
    wire.keep_time(engine, float(str(url.query.get("connect_timeout", _CONNECT_S))), crowded_s=_BUSY_S)

    def begun(connection: Connection) -> None:
        raw = _raw(connection)
        raw.answer_s, raw.deadline = _ANSWER_S + _GRACE_S, time.monotonic() + _TRANSACTION_S
        # Set for the transaction only: a pooler may give the same session to another client next.
        connection.exec_driver_sql(_settings(_limits()))

    def returned(connection: Any, _record: object) -> None:
        if connection is not None:  # None if the connection broke and was closed.
            connection.answer_s, connection.deadline = _PING_S, math.inf

    event.listen(engine, "begin", begun)
    event.listen(engine, "checkin", returned)
    return engine


def _raw(connection: Connection) -> Any:
    """The driver's own connection: a `TimedConnection` on PostgreSQL."""
    return connection.connection.driver_connection


def _limits() -> dict[str, str]:
    """The PostgreSQL settings for a transaction, with no longer lock timeout than the audit may still wait."""
    return _LIMITS | {"lock_timeout": f"{min(_ANSWER_S, _longest_wait_s()) * 1000:.0f}ms"}


def _settings(values: Mapping[str, str]) -> str:
    return "SELECT " + ", ".join(f"set_config('{name}', '{value}', true)" for name, value in values.items())


@contextmanager
def _patient(connection: Connection, seconds: float) -> Iterator[None]:
    """Allow a statement more time than usual, because it normally takes longer."""
    if connection.dialect.name != "postgresql":
        yield
        return
    raw = _raw(connection)
    longer = {"lock_timeout": f"{seconds * 1000:.0f}ms", "statement_timeout": f"{seconds * 1000 + 1000:.0f}ms"}
    connection.exec_driver_sql(_settings(longer))
    before, raw.answer_s = raw.answer_s, seconds + _GRACE_S
    yield
    raw.answer_s = before
    connection.exec_driver_sql(_settings(_limits()))


def _revision(connection: Connection) -> str | None:
    """The revision of the database; None if it is not a history."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.execute(select(_version.c.version_num)).scalar()
    return str(found) if found else None


def _refuse_other_tables(connection: Connection) -> None:
    """A mistyped address must not create the history in someone's database, least of all an audited one."""
    tables = sorted(inspect(connection).get_table_names())
    if tables:
        named = ", ".join(tables[:3]) + (", ..." if len(tables) > 3 else "")
        raise HistoryError(
            f"history {_label(connection.engine.url)}: contains tables that are not tsaudit's ({named}); give "
            "the history its own database"
        )


def _create(connection: Connection) -> None:
    """Create the tables of a new history."""
    metadata.create_all(connection, checkfirst=False)
    _version.create(connection, checkfirst=False)
    connection.execute(insert(_version).values(version_num=HEAD))


def _upgrade(connection: Connection, found: str) -> None:
    """Migrate the tables of an older history."""
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if found not in known:
        raise HistoryError(
            f"history {_label(connection.engine.url)}: was written by a newer tsaudit (its revision is "
            f"{found}, this one knows up to {HEAD}); upgrade tsaudit"
        )
    command.upgrade(config, HEAD)


def _label(url: URL) -> str:
    """The address for messages, without user, password, and options."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    port = f":{url.port}" if url.port else ""
    return f"{url.get_backend_name()}://{url.host or 'localhost'}{port}/{url.database or ''}"
