"""Connections to databases in files through SQLAlchemy: read-only, and statements end at the time limit."""

from __future__ import annotations

import re
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from tsaudit.engines import queries
from tsaudit.engines.connection import Access, AddressError, ConnectorError, FactError, Rows, RowsOfSeveral
from tsaudit.engines.engine import Engine
from tsaudit.engines.opening import missing_driver
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.sql import batching
from tsaudit.model.facts import Given, OfMeasurement
from tsaudit.model.figures import Reason
from tsaudit.net.addresses import sql_url
from tsaudit.net.watchdog import OutOfTimeError, bounded

BATCH_ROWS: Final = 10_000
_LOCK_S: Final = 5.0
"""Maximum number of seconds to wait for a writer."""
_TEXT_FACTS: Final = frozenset({"series_listing"})
"""Facts whose columns are read as strings, so that all batches of one response have the same schema."""


@dataclass(frozen=True, slots=True)
class FileDriver:
    """Parts of an engine with databases in files that SQLAlchemy does not cover."""

    opening: str
    """The statement that returns the server's version and the catalog's name; fails for other kinds of files."""
    read_only: Callable[[Path, float], tuple[sa.URL, dict[str, Any]]]
    """(file, seconds to wait for a writer) to the URL and arguments of the driver that open the file read-only."""
    batches: Callable[[Any, str, bool], Iterator[pa.RecordBatch]]
    """(driver's connection, statement, as text) to the response."""
    errors: tuple[type[Exception], ...]
    """Exceptions of the driver itself, in addition to those of SQLAlchemy and the operating system."""
    too_much: str = ""
    """How the error message begins if a statement needs more memory, and more space in temporary files, than it may
    use; empty if there is no such message.
    """


@contextmanager
def connect(engine: Engine, driver_of: Callable[[], FileDriver], access: Access) -> Iterator[FileConnection]:
    """A read-only connection to the file that the SQLAlchemy URL names. Never creates a file. Raises ConnectorError.

    `driver_of`: a function that loads the driver, which may not be installed.
    """
    path = _file(engine, access.url)
    try:
        driver = driver_of()
        address, arguments = driver.read_only(path, min(_LOCK_S, access.connect_timeout_s / 2))
        alchemy = sa.create_engine(address, connect_args=arguments)
    except (NoSuchModuleError, ModuleNotFoundError) as error:
        raise missing_driver(engine.name, engine.extra) from error
    try:
        connection = FileConnection(engine.name, driver, alchemy, path)
        try:
            yield connection
        finally:
            connection.close()
    finally:
        alchemy.dispose()


class FileConnection:
    """One connection of a SQLAlchemy engine."""

    def __init__(self, engine: str, driver: FileDriver, alchemy: sa.Engine, path: Path) -> None:
        self._name = engine
        self._driver = driver
        self._errors: tuple[type[Exception], ...] = (*driver.errors, DBAPIError, OSError)
        self._alchemy = alchemy
        self._path = path
        self._aborted = False
        try:
            self._connection = alchemy.connect()
            self._raw: Any = self._connection.connection.driver_connection
            (batch,) = driver.batches(self._raw, driver.opening, True)
        except self._errors as error:
            raise ConnectorError(_cannot_open(path, error)) from error
        version, self._catalog = (str(column[0].as_py()) for column in batch.columns)
        self.server_version = version.removeprefix("v")

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/<engine>/<fact>.sql`; see `connection.Connection`."""
        statement = self._statement(fact, given)
        return Rows(statement, self._stream(statement, fact in _TEXT_FACTS, timeout_s))

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """The same as `query`, for several tables; see `connection.QueriesBatches`. SQLite cannot do this, because its
        columns have no types.
        """
        alone = {one.measurement: self._statement(fact, one) for one in given}
        rows = RowsOfSeveral(batching.united(alone.values()), alone)
        batches = self._stream(rows.statement, fact in _TEXT_FACTS, timeout_s)
        return rows.reading(batching.divided(batches, given, rows))

    def _statement(self, fact: str, given: Given) -> str:
        return queries.render(self._name, fact, catalog=self._catalog, **given.variables())

    def reconnect(self) -> FileConnection:
        """Another connection to the same file."""
        return FileConnection(self._name, self._driver, self._alchemy, self._path)

    def close(self) -> None:
        """Return the connection to the pool."""
        self._connection.close()

    def abort(self) -> None:
        """Interrupt the current statement, and any later one."""
        self._aborted = True
        with suppress(*self._errors):  # it is closed
            self._raw.interrupt()

    def _stream(self, statement: str, as_text: bool, timeout_s: float) -> Iterator[pa.RecordBatch]:
        timed_out = FactError(Reason.TIMED_OUT, f"canceled after {timeout_s:g} s")
        try:
            with bounded(timeout_s, self._raw.interrupt) as limit:
                for batch in self._driver.batches(self._raw, statement, as_text):
                    # The time may pass while nothing is running that could be interrupted.
                    if self._aborted or limit.fired:
                        raise timed_out
                    yield batch
        except OutOfTimeError as error:
            raise timed_out from error
        except self._errors as error:
            text, words = _one_line(error), self._driver.too_much
            is_too_much = bool(words) and text.startswith(words)
            raise FactError(Reason.OVER_BUDGET if is_too_much else Reason.FAILED, text) from error


def _file(engine: Engine, url: str) -> Path:
    scheme = engine.example_url.partition(":")[0]
    wanted = f"{scheme}:///path"
    try:
        parsed = sql_url(url)
    except ArgumentError as error:
        raise AddressError(wanted, url) from error
    if parsed.get_backend_name() != scheme:
        raise AddressError(wanted, url)
    if not parsed.database or parsed.database == ":memory:":
        raise ConnectorError(f"the URL names no file; expected {wanted}")
    path = Path(parsed.database)
    if wrong := _unusable(path, engine.name):
        raise ConnectorError(wrong)
    return path


def _unusable(path: Path, engine: str) -> str:
    """Why the path cannot be a database of the engine, in one line; empty if only the driver can find out."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return f"{path} is a directory; give the path of the file"
        if not stat.S_ISREG(mode):
            # Opening a pipe would block until there is a writer.
            return f"{path} is not a regular file"
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return f"there is no file {path}; correct `url`, or create the file"
    except OSError as error:
        return f"cannot open {path}: {error.strerror or type(error).__name__}"
    wrong = what_else(head, engine)
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


HEAD_BYTES: Final = 512
"""Enough of a file for the signatures of all engines."""


def what_else(head: bytes, engine: str) -> str:
    """What else has these first bytes, and what to do, if it is not a database of the engine; otherwise empty.

    `head`: up to `HEAD_BYTES` bytes. For an empty file, only the driver can find out, so the result is empty.
    """
    own = ENGINES[engine]
    if own.file_magic is None or own.has_magic(head):
        return ""
    if other := next((other for other in ENGINES.values() if other.has_magic(head)), None):
        # An engine that extends another may read its files, too.
        if isinstance(own, type(other)):
            return ""
        return f"is a {other.name} database; set `engine: {other.name}` and start the URL with `{other.name}:`"
    if not head:
        return ""  # For some engines, an empty file is a database without tables.
    return (
        f"is not a {engine} database; check the path. Load Parquet, CSV, or JSON into a DuckDB file, unpack an "
        "archive, or audit a decrypted copy"
    )
