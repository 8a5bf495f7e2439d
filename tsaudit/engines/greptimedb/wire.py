"""Sends text statements to GreptimeDB over the MySQL protocol and streams their rows, within a time limit for each
statement, with limits on bytes, and converts them to Arrow arrays.
"""

from __future__ import annotations

import math
import re
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
import pymysql.converters
import sqlalchemy as sa
from pymysql.connections import Connection
from pymysql.constants import CR, ER, FIELD_TYPE
from pymysql.cursors import SSCursor
from pymysql.err import OperationalError
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from tsaudit.engines.connection import AddressError, ConnectorError, FactError, TooManyFilesError
from tsaudit.errors import TsauditError
from tsaudit.model.figures import Reason
from tsaudit.net.addresses import IN_CLEAR, is_loopback, sql_url
from tsaudit.net.port_probe import what_listens
from tsaudit.net.watchdog import shut_down

HEADER_BYTES: Final = 2_000_000
"""Maximum bytes of everything before the rows: PyMySQL makes a kilobyte of a column description of 25 bytes."""
_CLOCK_S: Final = 0.05
"""Seconds between two updates of the socket's timeout by a busy reader: each update is a system call."""

_IN_CLEAR: Final = frozenset({b"mysql_clear_password", b"dialog"})
"""Authentication methods in which the server receives the password itself."""

_UNKNOWN: Final = -1.0
"""A timeout value that never occurs, so that PyMySQL sets the timeout of the socket again."""


class ResultTooBigError(TsauditError, OperationalError):  # type: ignore[misc]  # PyMySQL has no types
    """More data arrived than allowed. The connection is closed."""


class TimedMysqlConnection(Connection):  # type: ignore[misc]
    """A connection with limits on time and bytes, instead of timeouts per read; it closes itself beyond them."""

    deadline: float = math.inf
    """Time by `time.monotonic()` at which everything on this connection must end."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        self.received = 0
        """Total number of bytes received."""
        self._most = math.inf
        self._reported_at = -math.inf
        super().__init__(*arguments, **settings)

    def connect(self, sock: Any = None) -> None:
        """Connect and log in, within the connect timeout for both together."""
        self.deadline = time.monotonic() + self.connect_timeout
        self.allow(HEADER_BYTES)
        super().connect(sock)

    def _process_auth(self, plugin_name: bytes, *arguments: Any) -> Any:
        if plugin_name in _IN_CLEAR and not self._secure and not is_loopback(self.host or ""):
            self._force_close()
            raise OperationalError(CR.CR_AUTH_PLUGIN_ERR, IN_CLEAR)
        return super()._process_auth(plugin_name, *arguments)

    def allow(self, more_bytes: int) -> None:
        """Allow this many bytes from now on, and raise ResultTooBigError after that."""
        self._most = self.received + more_bytes

    def _write_bytes(self, data: bytes) -> None:
        # The remaining time limits everything that is sent.
        self._write_timeout, self._current_timeout = self._left(), _UNKNOWN
        super()._write_bytes(data)
        self._reported_at = -math.inf

    def _read_bytes(self, num_bytes: int) -> bytes:
        self.received += num_bytes
        if self.received > self._most:
            self._force_close()
            raise ResultTooBigError(CR.CR_NET_PACKET_TOO_LARGE, "more data arrived at once than can be read")
        try:
            data = self._read(num_bytes)
        except OSError as error:
            self._force_close()
            raise OperationalError(
                CR.CR_SERVER_LOST, f"Lost connection to MySQL server during query ({error})"
            ) from error
        if len(data) < num_bytes:
            self._force_close()
            raise OperationalError(CR.CR_SERVER_LOST, "Lost connection to MySQL server during query")
        return data

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            now = time.monotonic()
            if now - self._reported_at > _CLOCK_S or data:
                self._sock.settimeout(self._left())
                # PyMySQL must not set the timeout again before the next packet.
                self._reported_at, self._current_timeout = now, self._read_timeout
            piece = self._rfile.read1(size - len(data))
            if not piece:
                break
            data = data + piece if data else piece
        return data

    def _left(self) -> float | None:
        """Seconds left, always positive, because sockets treat 0 differently. None: no limit."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return None if math.isinf(left) else left


BLOCK_ROWS: Final = 5_000
_FEW_ROWS: Final = 100
"""Number of rows in the first fetch, while the size of rows is unknown."""
_BLOCK_BYTES: Final = 4_000_000
_MOST_BYTES: Final = 16_000_000
"""Bytes per block of rows. Python objects take up to eight times that."""
_GRACE_S: Final = 0.5
"""Seconds that the client waits longer than a server with a time limit, whose error is more specific."""
_PORT: Final = 4002
_HTTP_PORT: Final = 4000
_SCHEMES: Final = ("mysql", "mysql+pymysql", "greptimedb")
_FORM: Final = (
    "mysql+pymysql://host:4002/public (tsaudit uses GreptimeDB's MySQL protocol, not HTTP or the PostgreSQL protocol)"
)
_AS_TEXT: Final = frozenset(
    {
        FIELD_TYPE.TIMESTAMP,
        FIELD_TYPE.DATETIME,
        FIELD_TYPE.TIME,
        FIELD_TYPE.DATE,
        FIELD_TYPE.DECIMAL,
        FIELD_TYPE.NEWDECIMAL,
    }
)
"""Types read as text: the result of PyMySQL's conversion depends on the value, a datetime or a string."""
_CONVERSIONS: Final = {k: v for k, v in pymysql.converters.conversions.items() if k not in _AS_TEXT}
_LOST: Final = frozenset({CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR, CR.CR_CONN_HOST_ERROR, 0})
_DENIED: Final = frozenset({ER.ACCESS_DENIED_ERROR, ER.DBACCESS_DENIED_ERROR})
_TOO_MANY_FILES: Final = "Too many files to read"
"""https://docs.greptime.com/faq-and-others/faq/"""

Block = tuple[tuple[str, ...], Sequence[Sequence[Any]]]
"""The names of the columns, and some rows of a response."""


class _Cursor(SSCursor):  # type: ignore[misc]  # PyMySQL has no types
    """Streams rows; closing it reads the rest of a response only if the connection still exists."""

    def close(self) -> None:
        if self._result is not None and self.connection is not None and not self.connection.open:
            self._result.unbuffered_active = False
        super().close()

    __del__ = close


@dataclass(slots=True)
class _Server:
    """What all connections to one server have in common."""

    engine: sa.Engine
    may_limit: bool = True
    """Whether the server lets this user set a time limit; True until it refuses."""


def address(url: str, username: str | None, password: str | None) -> sa.URL:
    """The URL for SQLAlchemy, with default port and database. Raises ConnectorError."""
    try:
        parsed = sql_url(url)
    except (ArgumentError, ValueError) as error:
        raise AddressError(_FORM, url) from error
    if parsed.drivername not in _SCHEMES or not parsed.host:
        raise AddressError(_FORM, url)
    return parsed.set(
        drivername="mysql+pymysql",
        # Without a user name, PyMySQL would send that of the operating system's user.
        username=username or parsed.username or "tsaudit",
        password=password or parsed.password,
        port=parsed.port or _PORT,
        database=parsed.database or "public",
    )


def metrics_url(address: sa.URL) -> str:
    """The address of the server's metrics page if its ports are the usual ones; otherwise empty."""
    return f"http://{address.host}:{_HTTP_PORT}/metrics" if address.port == _PORT else ""


class Wire:
    """One connection, which is reopened after it breaks. No transactions; only requested statements are sent."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._connection: sa.Connection | None = None
        self._limit_s = 0.0
        """The time limit set on this connection, in seconds; 0 before it was set."""

    @classmethod
    def to(cls, url: sa.URL, connect_timeout_s: float) -> Wire:
        """A connection to the server, which is not opened yet."""
        arguments = {
            "connect_timeout": max(1, math.ceil(connect_timeout_s)),
            "conv": _CONVERSIONS,
            "cursorclass": _Cursor,
        }
        engine = sa.create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT", connect_args=arguments)

        def connect(
            _dialect: object, _record: object, _positional: object, settings: dict[str, Any]
        ) -> TimedMysqlConnection:
            return TimedMysqlConnection(**settings)

        sa.event.listen(engine, "do_connect", connect)
        return cls(_Server(engine))

    def again(self) -> Wire:
        """Another connection to the same server, for another thread."""
        return Wire(self._server)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def abort(self) -> None:
        """Wake up the thread that waits for the server; called from another thread."""
        if (connection := self._connection) is not None:
            raw: Any = connection.connection.driver_connection
            if (found := getattr(raw, "_sock", None)) is not None:
                shut_down(found.fileno())

    def run(self, statement: str, deadline: float) -> Iterator[Block]:
        """The response as it arrives, in at least one block. Raises FactError unless it is complete."""
        left = deadline - time.monotonic()
        result: sa.CursorResult[Any] | None = None
        whole = False
        try:
            connection = self._open(deadline)
            _raw(connection).allow(HEADER_BYTES)
            # Without parameters, a percent sign has no special meaning.
            result = connection.exec_driver_sql(statement, execution_options={"no_parameters": True})
            names = tuple(result.keys())
            size, raw = _FEW_ROWS, _raw(connection)
            while not whole:
                before = raw.received
                raw.allow(_MOST_BYTES)
                rows = result.fetchmany(size)
                whole = len(rows) < size
                yield names, rows
                size = max(1, min(BLOCK_ROWS, _BLOCK_BYTES * size // max(1, raw.received - before)))
                self._keep_time(connection, deadline)
        except DBAPIError as error:
            raise _refused(error, left, deadline) from error
        finally:
            if whole and result is not None:
                result.close()
            else:
                self._hang_up()

    def _open(self, deadline: float) -> sa.Connection:
        if self._connection is None:
            self._connection, self._limit_s = self._server.engine.connect(), 0.0
            _raw(self._connection).allow(HEADER_BYTES)
        left = max(deadline - time.monotonic(), 0.001)
        # Set again only if it differs much, because an extra statement for each statement would be too many.
        if self._server.may_limit and not 0.8 <= self._limit_s / left <= 1.25:
            self._limit(self._connection, left)
        self._keep_time(self._connection, deadline)
        return self._connection

    def _limit(self, connection: sa.Connection, left_s: float) -> None:
        try:
            connection.exec_driver_sql(f"SET max_execution_time = {math.ceil(left_s * 1000)}")
            self._limit_s = left_s
        except DBAPIError as error:
            if error.connection_invalidated:
                raise
            # Read-only users cannot change any setting.
            self._server.may_limit = False

    def _keep_time(self, connection: sa.Connection, deadline: float) -> None:
        """Limit all waiting to the deadline."""
        left = deadline - time.monotonic() + (_GRACE_S if self._limit_s else 0.0)
        _raw(connection).deadline = time.monotonic() + left

    def _hang_up(self) -> None:
        """Close the connection: the rest of a response cannot be skipped, and read-only users cannot use KILL."""
        connection, self._connection = self._connection, None
        if connection is not None:
            if not connection.invalidated:
                connection.invalidate()
            connection.close()


def _raw(connection: sa.Connection) -> TimedMysqlConnection:
    return cast("TimedMysqlConnection", connection.connection.driver_connection)


def server_version(wire: Wire, url: sa.URL, timeout_s: float) -> str:
    """The version of the GreptimeDB server. Raises ConnectorError if there is none, or it denies access."""
    place = f"{url.host}:{url.port}"
    try:
        ((_, rows),) = wire.run("SELECT pkg_version FROM information_schema.build_info", time.monotonic() + timeout_s)
        return str(rows[0][0])
    except FactError as error:
        if error.reason is Reason.DENIED:
            hint = "set username and password of the target, see sql/greptimedb/grants.md"
            raise ConnectorError(f"{place} rejects the user or the password ({error.detail}); {hint}") from error
        _name_another(url)
        if error.reason in (Reason.UNREACHABLE, Reason.TIMED_OUT):
            raise ConnectorError(f"{place} does not respond ({error.detail}); is the address correct?") from error
        what = f"has MySQL's protocol, but is not GreptimeDB ({error.detail})"
        raise ConnectorError(f"{place} {what}; tsaudit cannot audit MySQL and MariaDB") from error
    except (IndexError, TypeError, ValueError, AssertionError, RuntimeError, struct.error) as error:
        _name_another(url)
        raise ConnectorError(f"{place} responds, but not like GreptimeDB") from error


def _name_another(url: sa.URL) -> None:
    """Raises ConnectorError if another product is recognized at the address."""
    other = what_listens(str(url.host), int(url.port or _PORT))
    if other and "MySQL" not in other:
        hint = "; its MySQL protocol uses a separate port, 4002" if "HTTP" in other or other == "PostgreSQL" else ""
        raise ConnectorError(f"{url.host}:{url.port}: {other} responds, not GreptimeDB{hint}")


def _refused(error: DBAPIError, timeout_s: float, deadline: float) -> FactError:
    code, text = _words(error)
    if isinstance(error.orig, ResultTooBigError):
        return FactError(Reason.OVER_BUDGET, f"{text}: the rows or columns are too wide, or this is not GreptimeDB")
    if code in _LOST:
        if time.monotonic() >= deadline:
            return FactError(Reason.TIMED_OUT, f"given up after {max(timeout_s, 0):.3g} s")
        return FactError(Reason.UNREACHABLE, text)
    if code in _DENIED:
        return FactError(Reason.DENIED, text)
    if code == ER.QUERY_INTERRUPTED:
        return FactError(Reason.TIMED_OUT, text)
    if _TOO_MANY_FILES in text:
        return TooManyFilesError(Reason.OVER_BUDGET, text)
    exhausted = code == ER.OUT_OF_RESOURCES or text.startswith(("(RateLimited)", "(RuntimeResourcesExhausted)"))
    return FactError(Reason.OVER_BUDGET if exhausted else Reason.FAILED, text)


def _words(error: DBAPIError) -> tuple[int, str]:
    """The server's error code and the first line of its message, without the statement and SQLAlchemy's additions."""
    arguments: tuple[Any, ...] = getattr(error.orig, "args", ())
    code = arguments[0] if len(arguments) == 2 and isinstance(arguments[0], int) else -1
    text = str(arguments[-1] if arguments else error.orig).strip()
    return code, " ".join(text.split())[:300] or type(error.orig).__name__


_UNITS: Final = {"0": "s", "3": "ms", "6": "us", "9": "ns"}
_TYPES: Final = {
    "boolean": pa.bool_(),
    "float": pa.float64(),
    "double": pa.float64(),
    "bigint unsigned": pa.uint64(),
    "varbinary": pa.binary(),
}


def arrow_type(data_type: str) -> pa.DataType:
    """The Arrow type for a column's values: for times, with the column's unit; a string for types sent as text."""
    if found := re.fullmatch(r"timestamp\((\d)\)", data_type):
        return pa.timestamp(_UNITS.get(found[1], "ns"))
    if re.fullmatch(r"(tiny|small|big)?int( unsigned)?", data_type):
        return _TYPES.get(data_type, pa.int64())
    return _TYPES.get(data_type, pa.string())


def rounded_up(time: datetime, data_type: str) -> datetime:
    """The first instant at or after `time` that the column type can represent: as a bound, it selects the same rows.

    With a bound of finer precision, the server would convert each value instead of skipping files.
    """
    step = timedelta(microseconds={"s": 1_000_000, "ms": 1_000}.get(getattr(arrow_type(data_type), "unit", ""), 1))
    past = (time - datetime.fromtimestamp(0, UTC)) % step
    return time if not past else time + step - past


def array(values: Sequence[Any], kind: pa.DataType, longest: int | None = None) -> pa.Array:
    """The values as an array of that type, or as strings. `longest`: maximum number of characters kept of a string."""
    try:
        if kind == pa.bool_():
            return pa.array([None if v is None else bool(v) for v in values], kind)
        found = pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        found = pa.array([None if v is None else _text(v) for v in values], pa.string())
    return (
        found if longest is None or not pa.types.is_string(found.type) else pc.utf8_slice_codeunits(found, 0, longest)
    )


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
