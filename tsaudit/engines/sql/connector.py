"""DuckDB and SQLite through SQLAlchemy: files opened read-only, statements interrupted at the time limit."""

from __future__ import annotations

import re
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from tsaudit.engines import queries
from tsaudit.engines.connection import ConnectorError, FactError, Rows, RowsOfSeveral
from tsaudit.engines.opening import missing_driver
from tsaudit.engines.sql import batching
from tsaudit.engines.sql.file_kinds import HEAD_BYTES, what_else
from tsaudit.model.facts import Given
from tsaudit.model.facts.given import OfMeasurement
from tsaudit.model.profile import Reason
from tsaudit.net import sql_addresses
from tsaudit.net.watchdog import OutOfTimeError, bounded

BATCH_ROWS: Final = 10_000
_LOCK_S: Final = 5.0
"""How long to wait for a writer, at most."""
_TEXT_FACTS: Final = frozenset({"series_listing"})
"""Facts whose columns are read as strings, so that all batches of one response have the same schema."""


@dataclass(frozen=True, slots=True)
class _Dialect:
    """Differences between the engines that SQLAlchemy does not cover."""

    opening: str
    """The statement that returns the server's version and the catalog's name; fails for other kinds of files."""
    read_only: Callable[[Path, float], tuple[sa.URL, dict[str, Any]]]
    """(file, seconds to wait for a writer) to the URL and arguments of the driver that open the file read-only."""
    batches: Callable[[Any, str, bool], Iterator[pa.RecordBatch]]
    """(driver's connection, statement, as text) to the response."""


@contextmanager
def connect(
    url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
) -> Iterator[SqlConnection]:
    """A read-only connection to the file that the SQLAlchemy URL names. Never creates a file. ConnectorError."""
    del username, password  # files have no logins
    engine_name, path = _file(url, options.get("engine"))
    dialect = _DIALECTS[engine_name]
    address, arguments = dialect.read_only(path, min(_LOCK_S, options.get("connect_timeout_s", 10.0) / 2))
    try:
        engine = sa.create_engine(address, connect_args=arguments)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise missing_driver(engine_name, engine_name) from error
    try:
        connection = SqlConnection(engine_name, engine, path)
        try:
            yield connection
        finally:
            connection.close()
    finally:
        engine.dispose()


class SqlConnection:
    """One connection of a SQLAlchemy engine."""

    def __init__(self, engine_name: str, engine: sa.Engine, path: Path) -> None:
        self._name = engine_name
        self._dialect = _DIALECTS[engine_name]
        self._engine = engine
        self._path = path
        self._aborted = False
        try:
            self._connection = engine.connect()
            self._raw: Any = self._connection.connection.driver_connection
            (batch,) = self._dialect.batches(self._raw, self._dialect.opening, True)
        except _errors() as error:
            raise ConnectorError(_cannot_open(path, error)) from error
        version, self._catalog = (str(column[0].as_py()) for column in batch.columns)
        self.server_version = version.removeprefix("v")

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/<engine>/<fact>.sql`; see `connection.Connection`."""
        statement = self._statement(fact, given)
        return Rows(statement, self._stream(statement, fact in _TEXT_FACTS, timeout_s))

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """The same for several tables; see `connection.QueriesBatches`. Not on SQLite, whose columns have no types."""
        alone = {one.measurement: self._statement(fact, one) for one in given}
        rows = RowsOfSeveral(batching.united(alone.values()), alone)
        batches = self._stream(rows.statement, fact in _TEXT_FACTS, timeout_s)
        return rows.reading(batching.divided(batches, given, rows))

    def _statement(self, fact: str, given: Given) -> str:
        return queries.render(self._name, fact, catalog=self._catalog, **given.variables())

    def reconnect(self) -> SqlConnection:
        """Another connection to the same file."""
        return SqlConnection(self._name, self._engine, self._path)

    def close(self) -> None:
        """Return the connection to the pool."""
        self._connection.close()

    def abort(self) -> None:
        """Interrupt the current statement, and any later one."""
        self._aborted = True
        with suppress(*_errors()):  # it is closed
            self._raw.interrupt()

    def _stream(self, statement: str, as_text: bool, timeout_s: float) -> Iterator[pa.RecordBatch]:
        timed_out = FactError(Reason.TIMED_OUT, f"canceled after {timeout_s:g} s")
        try:
            with bounded(timeout_s, self._raw.interrupt) as limit:
                for batch in self._dialect.batches(self._raw, statement, as_text):
                    # The time may pass while nothing is running that could be interrupted.
                    if self._aborted or limit.fired:
                        raise timed_out
                    yield batch
        except OutOfTimeError as error:
            raise timed_out from error
        except _errors() as error:
            raise FactError(Reason.FAILED, _one_line(error)) from error


def _file(url: str, expected: str | None) -> tuple[str, Path]:
    try:
        parsed = sql_addresses.parse(url)
    except ArgumentError as error:
        raise ConnectorError("the URL is not of the form duckdb:///path or sqlite:///path") from error
    engine_name = parsed.get_backend_name()
    if engine_name not in _DIALECTS or expected not in (None, engine_name):
        wanted = f"{expected}:///path" if expected else "duckdb:///path or sqlite:///path"
        raise ConnectorError(f"the URL starts with `{engine_name}:`; expected {wanted}")
    if not parsed.database or parsed.database == ":memory:":
        raise ConnectorError(f"the URL names no file; expected {engine_name}:///path")
    path = Path(parsed.database)
    if wrong := _unusable(path, engine_name):
        raise ConnectorError(wrong)
    return engine_name, path


def _unusable(path: Path, engine_name: str) -> str:
    """Why the path cannot be a database of the engine, in one line; empty if only its driver can find out."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return f"{path} is a directory; give the path of the file"
        if not stat.S_ISREG(mode):
            # Opening a pipe would wait for a writer.
            return f"{path} is not a regular file"
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no file {path}; tsaudit does not create one"
    except OSError as error:
        return f"cannot open {path}: {error.strerror or type(error).__name__}"
    wrong = what_else(head, engine_name)
    return f"{path} {wrong}" if wrong else ""


def _cannot_open(path: Path, error: BaseException) -> str:
    text = _one_line(error)
    if "different configuration" in text:
        return f"{path} is open for writing in this process; close that connection first"
    if re.search(r"\block(ed)?\b", text):
        return f"{path} is locked by another process that writes to it; audit a copy, or wait until the writer is done"
    with suppress(OSError):
        if path.stat().st_size == 0:
            return f"{path} is empty, so it is not a database; check the path, and whether anything was ever written"
    return f"cannot open {path}: {text}"


def _one_line(error: BaseException) -> str:
    """The driver's own message, without SQLAlchemy's wrapping and without the statement."""
    origin = getattr(error, "orig", None) or error
    return str(origin).strip().splitlines()[0][:300] if str(origin).strip() else type(origin).__name__


def _errors() -> tuple[type[Exception], ...]:
    """The errors that a driver may raise; DuckDB's record batch reader raises Arrow's and the system's errors."""
    common = (DBAPIError, sqlite3.Error, pa.ArrowException, OSError)
    try:
        import duckdb
    except ModuleNotFoundError:
        return common
    return (*common, duckdb.Error)


# --- DuckDB ------------------------------------------------------------------------------------------------------


def _duckdb_read_only(path: Path, lock_s: float) -> tuple[sa.URL, dict[str, Any]]:
    del lock_s  # it does not wait at all
    config = {
        # An audit neither downloads extensions nor leaves temporary files next to the database.
        "autoinstall_known_extensions": "false",
        "temp_directory": str(Path(tempfile.gettempdir(), "tsaudit-duckdb")),
        # By default, DuckDB takes all processors, and keeps what it has read until that is most of the memory.
        "threads": 2,
        "memory_limit": "256MB",
    }
    return sa.URL.create("duckdb", database=str(path)), {"read_only": True, "config": config}


def _duckdb_batches(raw: Any, statement: str, as_text: bool) -> Iterator[pa.RecordBatch]:
    # The relation streams; a cursor's Arrow output would keep the whole response in memory.
    del as_text  # columns have one type here, and query files cast to text if needed
    found = raw.sql(statement)
    # DuckDB before 1.5 has another name for it.
    read = found.to_arrow_reader if hasattr(found, "to_arrow_reader") else found.fetch_arrow_reader
    reader, first = read(BATCH_ROWS), True
    try:
        for batch in reader:
            first = False
            yield batch
        if first:
            yield pa.RecordBatch.from_pylist([], schema=reader.schema)
    finally:
        reader.close()


# --- SQLite ------------------------------------------------------------------------------------------------------


def _sqlite_read_only(path: Path, lock_s: float) -> tuple[sa.URL, dict[str, Any]]:
    query = {"mode": "ro", "uri": "true"}
    return sa.URL.create("sqlite", database=path.absolute().as_uri(), query=query), {"timeout": lock_s}


def _sqlite_batches(raw: sqlite3.Connection, statement: str, as_text: bool) -> Iterator[pa.RecordBatch]:
    raw.execute("PRAGMA query_only = ON")
    raw.text_factory = _lenient_text
    cursor = raw.execute(statement)
    try:
        names = [column[0] for column in cursor.description]
        first = True
        # Sized for facts that are read completely, so that the inferred types hold for the response; listings are
        # strings anyway.
        while (rows := cursor.fetchmany(BATCH_ROWS if as_text else _WHOLE)) or first:
            first = False
            columns = list(zip(*rows, strict=True)) or [()] * len(names)
            yield pa.RecordBatch.from_arrays([_array(column, as_text) for column in columns], names=names)
    finally:
        cursor.close()


_WHOLE: Final = 1_000_000


def _lenient_text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _array(values: tuple[Any, ...], as_text: bool) -> pa.Array:
    """Converts SQLite's values, which have types row by row: a column with mixed types becomes strings."""
    kinds = {type(v) for v in values if v is not None}
    if not as_text and kinds <= {int}:
        return pa.array(values, pa.int64() if kinds else pa.string())
    if not as_text and kinds <= {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array([_text(v) for v in values], pa.string())


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.hex()
    return value if value is None or isinstance(value, str) else str(value)


_DIALECTS: Final = {
    "duckdb": _Dialect(
        opening="SELECT version(), current_database()",
        read_only=_duckdb_read_only,
        batches=_duckdb_batches,
    ),
    "sqlite": _Dialect(
        opening="SELECT sqlite_version(), 'main' FROM (SELECT count(*) FROM sqlite_master)",
        read_only=_sqlite_read_only,
        batches=_sqlite_batches,
    ),
}
