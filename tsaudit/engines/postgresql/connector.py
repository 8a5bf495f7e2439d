"""PostgreSQL through SQLAlchemy and psycopg: read-only transactions, responses streamed by `COPY`, and how much a
statement would read according to the planner, from `EXPLAIN (FORMAT JSON)`.
"""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, Final, cast

import psycopg
import pyarrow as pa
import sqlalchemy as sa
from psycopg import errors, generators
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Wait
from pyarrow import csv
from sqlalchemy.exc import ArgumentError, DBAPIError

from tsaudit.engines import queries
from tsaudit.engines.connection import Access, AddressError, ConnectorError, FactError, Rows, RowsOfSeveral
from tsaudit.engines.sql import batching
from tsaudit.model.facts import FACTS, Given, OfMeasurement, Scope
from tsaudit.model.figures import Reason
from tsaudit.net import postgresql as wire
from tsaudit.net.addresses import IN_CLEAR, sql_url
from tsaudit.net.port_probe import what_listens
from tsaudit.secrets import mask

Plan = Mapping[str, Any]
"""A node of a plan, with its child nodes."""
_WHOLE: Final = frozenset({"Seq Scan", "Sample Scan"})
"""Nodes that read all rows of a relation, however few they return."""
_SORTS: Final = frozenset({"Sort", "Incremental Sort"})
_OVER_CHUNKS: Final = frozenset({"ChunkAppend", "ConstraintAwareAppend"})
"""TimescaleDB's own nodes for a hypertable, whose child nodes read the chunks."""


def scan_estimate(inside: Plan, every: Plan, newest: Plan | None) -> dict[str, int | None]:
    """The row of the fact `scan_estimate`, from the plans for reading the rows in the window, every row, and the newest
    rows in the window, in order: as the planner knows the size of the files now, and the last ANALYZE.

    `newest`: a plan with a limit; None for a table without a time, which has no newest rows.
    """
    sizes: dict[str, int] = {}
    for scan in _scans(every):
        sizes[scan["Relation Name"]] = sizes.get(scan["Relation Name"], 0) + scan["Plan Rows"]
    scans = list(_scans(inside))
    return {
        "rows": sum(scan["Plan Rows"] for scan in scans),
        "rows_read": _read(scans, sizes),
        "rows_all": sum(sizes.values()),
        "rows_sorted": None if newest is None else _sorted_for_newest(newest, sizes),
    }


def _read(scans: Iterable[Plan], sizes: Mapping[str, int]) -> int:
    """The number of rows that the nodes read. `sizes`: relation to its total number of rows."""
    return sum(
        sizes.get(scan["Relation Name"], 0) if scan["Node Type"] in _WHOLE else scan["Plan Rows"] for scan in scans
    )


def _sorted_for_newest(newest: Plan, sizes: Mapping[str, int]) -> int:
    """The number of rows that are sorted for the newest rows. Chunks are read in time order until there are enough."""
    top, wanted = newest, newest["Plan Rows"]
    while top["Node Type"] == "Limit":
        top = top["Plans"][0]
    chunks = top.get("Custom Plan Provider") in _OVER_CHUNKS and "Order" in top
    handed = found = 0
    for part in top["Plans"] if chunks else [top]:
        scans = list(_scans(part))
        found += _read(scans, sizes) if _is_sorted(part) else 0
        handed += sum(scan["Plan Rows"] for scan in scans)
        if handed >= wanted:
            break
    return found


def _is_sorted(plan: Plan) -> bool:
    """Whether rows are sorted above the nodes that read them. Below, sorting is ignored: TimescaleDB sorts batches."""
    if plan["Node Type"] in _SORTS:
        return True
    return not _is_scan(plan) and any(map(_is_sorted, plan.get("Plans", ())))


def _is_scan(plan: Plan) -> bool:
    return "Relation Name" in plan and plan.get("Custom Plan Provider") not in _OVER_CHUNKS


def _scans(plan: Plan) -> Iterator[Plan]:
    """The nodes that read a relation. Nodes below such a node, such as its index scan, are part of it."""
    if _is_scan(plan):
        yield plan
        return
    for below in plan.get("Plans", ()):
        yield from _scans(below)


_ENGINE: Final = "postgresql"
_DRIVERS: Final = {"postgresql", "postgresql+psycopg"}
_FORM: Final = "postgresql://user@host:5432/database"
_GRANTS: Final = "see sql/postgresql/grants.md"
_ADDRESS: Final = re.compile(r'^(connection failed: )?connection to server at "[^"]*"( \([^)]*\))?, port \d+ failed: ')
_LOCK_TIMEOUT_S: Final = 2.0
"""Seconds to wait for a lock before a table is skipped: other sessions would wait behind an audit that waits."""
_LOCK_TIMEOUT_TOGETHER_S: Final = 0.1
"""The timeout for a statement about several tables, which already holds locks on some of them while it waits for the
next one. A session that wants to lock these tables, too, would be in a deadlock with it, and the server checks for
deadlocks after a second.
"""
_SETTINGS: Final = {
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "iso_8601",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    # Rows hidden by a policy would be missing without notice. With this setting, the statement is refused instead.
    "row_security": "off",
    # An audit should use one process, not several.
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    # If an index returns the newest rows first, use it instead of sorting all rows.
    "enable_sort": "off",
}
_TIMESCALEDB: Final = """
SELECT n.nspname, (SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'timescaledb')
FROM pg_catalog.pg_proc AS p
JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
WHERE p.proname = 'chunks_detailed_size'
  AND pg_catalog.to_regclass('timescaledb_information.hypertables') IS NOT NULL
"""
_PARENTS: Final = """
SELECT DISTINCT n.nspname, c.relname, c.relkind
FROM pg_catalog.pg_inherits AS i
JOIN pg_catalog.pg_class AS c ON c.oid = i.inhparent AND c.relkind IN ('r', 'p')
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
"""
_NAMES: Final = """
SELECT n.nspname FROM pg_catalog.pg_namespace AS n
UNION SELECT c.relname FROM pg_catalog.pg_class AS c
UNION SELECT a.attname FROM pg_catalog.pg_attribute AS a
"""
_HYPERTABLES: Final = "SELECT h.hypertable_schema, h.hypertable_name FROM timescaledb_information.hypertables AS h"
_TYPES: Final = dict.fromkeys((20, 21, 23), pa.int64()) | dict.fromkeys((700, 701), pa.float64()) | {16: pa.bool_()}
_TIMES: Final = {1184: pa.timestamp("us", "UTC")}
"""Object IDs of PostgreSQL's types, which never change, to what their values are read as, times only of the catalog.
Others are read as PostgreSQL prints them: https://www.postgresql.org/docs/current/datatype-oid.html
"""


_GRACE_S: Final = 1.5
"""How many seconds longer than the statement's timeout to wait, because the server's error about it says more."""
_BATCH_ROWS: Final = 10_000
_BATCH_BYTES: Final = 4_000_000
"""Most bytes of text from which a batch is made, before its last row."""
_MOST_BYTES: Final = 64_000_000
"""Maximum size of a response in memory, in bytes; the driver keeps two copies of it."""

_Reader = Callable[["psycopg.Connection[Any]"], Generator[pa.RecordBatch]]


@contextmanager
def connect(access: Access) -> Iterator[PostgresqlConnection]:
    """An open connection to the database that the SQLAlchemy URL names. Raises ConnectorError."""
    address = _address(access.url, access.username, access.password)
    connect_s = access.connect_timeout_s
    engine = sa.create_engine(
        address,
        poolclass=sa.NullPool,
        use_native_hstore=False,
        connect_args={
            "connect_timeout": max(2, round(connect_s)),
            "application_name": "tsaudit",
            "client_encoding": "utf8",
        },
    )
    wire.keep_time(engine, connect_s, _MOST_BYTES)
    connection = PostgresqlConnection(engine)
    try:
        yield connection
    finally:
        connection.close()
        engine.dispose()


class PostgresqlConnection:
    """One connection, which runs one statement at a time, each in its own transaction."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._open()
        self._timescaledb, version = next(iter(self._look_up(_TIMESCALEDB)), ("", ""))
        parents = self._look_up(_PARENTS)
        hypertables = self._look_up(_HYPERTABLES) if parents and self._timescaledb else set()
        self._divided = {parent[:2] for parent in parents if parent[2] == "p"} | hypertables
        """(schema, table) of the tables with partitions or chunks."""
        self._inherited = {parent[:2] for parent in parents} - self._divided
        """(schema, table) of the tables from which others inherit, with rows of their own: queries only read these."""
        # A connection that was closed meanwhile would not say it anymore.
        self._server = self._raw.info.server_version // 10_000
        self.server_version = self._raw.info.parameter_status("server_version") or ""
        self.server_version += f", TimescaleDB {version or ''}".rstrip() if self._timescaledb else ""

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/postgresql/<fact>.sql`; see `connection.Connection`."""
        if fact == "scan_estimate":
            parts = ("inside", "every", *(["newest"] if given.variables()["time"] else []))
            plans = [self._statement(fact, given, part=part) for part in parts]
            rows = Rows("\n".join(plans), self._stream(functools.partial(_read_plans, statements=plans), timeout_s))
            rows.statements = len(plans)
            return rows
        statement, as_text = self._statement(fact, given), FACTS[fact].scope is Scope.MEASUREMENT
        if fact == "partitions" and all(schema != given.subject[0] for schema, _ in self._divided):
            nothing = Rows(statement)
            nothing.statements = 0
            return nothing
        read = functools.partial(_read_rows, statement=statement, as_text=as_text)
        return Rows(statement, self._stream(read, timeout_s))

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """The same as `query`, for several tables; see `connection.QueriesBatches`.

        Tables with partitions are left out: the server locks all partitions at once, and there may be thousands.
        """
        given = [one for one in given if one.subject not in self._divided]
        alone = {one.measurement: self._statement(fact, one) for one in given}
        rows = RowsOfSeveral(batching.united(alone.values()), alone)
        if not given:
            rows.statements = 0
            return rows
        read = functools.partial(_read_rows, statement=rows.statement, as_text=True)
        batches = self._stream(read, timeout_s, _LOCK_TIMEOUT_TOGETHER_S)
        return rows.reading(batching.divided(batches, given, rows))

    def reconnect(self) -> PostgresqlConnection:
        """Another connection to the same database."""
        return PostgresqlConnection(self._engine)

    def close(self) -> None:
        """Close the connection; the server stops its current statement."""
        self._raw.close()

    def abort(self) -> None:
        """Stop waiting. The server stops the statement at its own timeout, or when it cannot send the response."""
        self._raw.abort()

    def _open(self) -> None:
        try:
            pooled = self._engine.raw_connection()
        except (DBAPIError, psycopg.Error) as error:
            raise ConnectorError(_no_session(self._engine.url, error)) from None
        self._raw = cast("wire.TimedConnection", pooled.driver_connection)
        pooled.detach()
        self._raw.rollback()
        if self._raw.info.parameter_status("server_encoding") == "SQL_ASCII":
            self._choose_encoding()
        self._raw.read_only = True
        self._raw.prepare_threshold = None

    def _choose_encoding(self) -> None:
        """Reads as Latin-1, in which every byte is a character, a database with a name that is not UTF-8: it would end
        each statement that reads it.
        """
        self._raw.execute("SET client_encoding TO 'LATIN1'")
        names = [name for (name,) in self._raw.execute(_NAMES)]
        with suppress(UnicodeDecodeError):
            "".join(names).encode("latin-1").decode()
            self._raw.execute("SET client_encoding TO 'UTF8'")
        self._raw.commit()

    def _statement(self, fact: str, given: Given, **parameters: str) -> str:
        inherited = given.subject in self._inherited
        about = {**given.variables(), "timescaledb": self._timescaledb, "server": self._server, "inherited": inherited}
        about |= parameters
        return queries.render(_ENGINE, fact, **about)

    def _look_up(self, statement: str) -> set[tuple[str, ...]]:
        try:
            found = self._raw.execute(_encoded(statement, self._raw)).fetchall()
            self._raw.rollback()
        except psycopg.Error as error:
            self.close()
            raise ConnectorError(_cannot_connect(self._engine.url, error)) from None
        return set(found)

    def _stream(self, read: _Reader, timeout_s: float, lock_s: float = _LOCK_TIMEOUT_S) -> Iterator[pa.RecordBatch]:
        if self._raw.closed:
            self._open()  # raises ConnectorError if the server is gone
        raw = self._raw
        deadline = time.monotonic() + timeout_s
        # For a server that ignores its own timeout.
        raw.deadline = deadline + _GRACE_S
        try:
            raw.execute(_settings(timeout_s, lock_s))
            with closing(read(raw)) as batches:
                for batch in batches:
                    if time.monotonic() >= deadline:  # it passed while no statement was running
                        raise FactError(Reason.TIMED_OUT, f"canceled after {timeout_s:g} s")
                    yield batch
        except psycopg.Error as error:
            raise _failed(error, raw, timeout_s, lock_s, time.monotonic() >= deadline) from error
        finally:
            if not raw.closed:
                with suppress(wire.NoResponseError):  # it closed itself; the next statement creates a new one
                    raw.rollback()


def _address(url: str, username: str | None, password: str | None) -> sa.URL:
    try:
        parsed = sql_url(url)
    except (ArgumentError, ValueError):
        raise AddressError(_FORM, url) from None
    if parsed.drivername not in _DRIVERS:
        raise AddressError(_FORM, url)
    if parsed.password and "@" in f"{parsed.host}{parsed.database}":
        raise ConnectorError(
            "the password in the URL contains characters with a special meaning: set it under `password`"
        )
    if not parsed.database:
        raise ConnectorError(f"the URL names no database; expected {_FORM}")
    parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed.set(username=username or parsed.username, password=password or parsed.password)


def _settings(timeout_s: float, lock_s: float) -> str:
    """One statement whose settings only apply to the transaction, so that a pooler's connection is not changed."""
    timeouts = {"statement_timeout": timeout_s, "lock_timeout": min(timeout_s, lock_s)}
    milliseconds = {name: f"{max(1, round(seconds * 1000))}ms" for name, seconds in timeouts.items()}
    pairs = (_SETTINGS | milliseconds).items()
    return "SELECT " + ", ".join(f"pg_catalog.set_config('{name}', '{value}', true)" for name, value in pairs)


def _encoded(statement: str, raw: psycopg.Connection[Any]) -> bytes:
    """As the session sends texts. A character that it has no byte for is in no name there."""
    return statement.encode(raw.info.encoding, "replace")


def _read_rows(raw: psycopg.Connection[Any], statement: str, as_text: bool) -> Generator[pa.RecordBatch]:
    """The response, which Arrow makes from text: as objects of Python, values would take twice as long."""
    encoded, encoding = _encoded(statement, raw), raw.info.encoding
    about = raw.wait(_described(raw.pgconn, encoded))
    places, kinds = range(about.nfields), _TYPES if as_text else _TYPES | _TIMES
    schema = pa.schema([(str(place), kinds.get(about.ftype(place), pa.string())) for place in places])
    names = [(about.fname(place) or b"").decode(encoding) for place in places]
    with raw.cursor() as cursor, cursor.copy(b"COPY (\n" + encoded + b"\n) TO STDOUT (FORMAT csv)"):
        is_whole = False
        while not is_whole:
            text, is_whole = raw.wait(_copied(raw.pgconn))
            yield _parsed(text, schema, encoding).rename_columns(names)


def _described(pgconn: PGconn, statement: bytes) -> Generator[Any, Any, PGresult]:
    """The columns of the response, which `COPY` does not describe."""
    pgconn.send_prepare(b"", statement)
    result: PGresult
    (result,) = yield from generators.execute(pgconn)
    if result.status == ExecStatus.COMMAND_OK:
        pgconn.send_describe_prepared(b"")
        (result,) = yield from generators.execute(pgconn)
    if result.status != ExecStatus.COMMAND_OK:
        raise errors.error_from_result(result)
    return result


def _copied(pgconn: PGconn) -> Generator[Any, Any, tuple[bytes, bool]]:
    """The next rows as text, and whether they are the last ones."""
    rows: list[memoryview] = []
    size = 0
    while size < _BATCH_BYTES and len(rows) < _BATCH_ROWS:
        read, row = pgconn.get_copy_data(1)
        if read > 0:
            rows.append(row)
            size += read
        elif read == 0:
            yield Wait.R
            pgconn.consume_input()
        else:
            (result,) = yield from generators.fetch_many(pgconn)
            if result.status != ExecStatus.COMMAND_OK:
                raise errors.error_from_result(result)
            return b"".join(rows), True
    return b"".join(rows), False


def _parsed(text: bytes, schema: pa.Schema, encoding: str) -> pa.RecordBatch:
    if not text:
        return pa.RecordBatch.from_pylist([], schema)
    table = csv.read_csv(
        pa.BufferReader(text),
        csv.ReadOptions(use_threads=False, block_size=len(text), column_names=schema.names, encoding=encoding),
        # A row of one column that is null is an empty line.
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=schema,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["t"],
            false_values=["f"],
        ),
    )
    return table.combine_chunks().to_batches()[0]


def _read_plans(raw: psycopg.Connection[Any], statements: list[str]) -> Generator[pa.RecordBatch]:
    # `COPY` cannot return what EXPLAIN does.
    answers = [raw.execute(_encoded(statement, raw)).fetchall()[0][0] for statement in statements]
    inside, every, *newest = (plan["Plan"] for (plan,) in answers)
    yield pa.RecordBatch.from_pylist([scan_estimate(inside, every, newest[0] if newest else None)])


def _failed(
    error: psycopg.Error, raw: psycopg.Connection[Any], timeout_s: float, lock_s: float, late: bool
) -> FactError:
    text = _first_line(error)
    if isinstance(error, wire.TooBigError):
        return FactError(Reason.OVER_BUDGET, f"{text}: the rows are too wide to be read, or this is not PostgreSQL")
    if isinstance(error, errors.InsufficientPrivilege):
        return FactError(Reason.DENIED, text, _GRANTS)
    if isinstance(error, errors.LockNotAvailable):
        seconds = min(timeout_s, lock_s)
        return FactError(
            Reason.TIMED_OUT, f"locked by another session for more than {seconds:g} s", cheaper_helps=False
        )
    if late or isinstance(error, errors.QueryCanceled):
        return FactError(Reason.TIMED_OUT, f"canceled after {timeout_s:g} s")
    if raw.closed:
        return FactError(Reason.UNREACHABLE, f"the connection was lost ({text})")
    # There is not enough room, not even in temporary files, or the server limits their size.
    too_much = isinstance(error, errors.OutOfMemory | errors.ConfigurationLimitExceeded | errors.DiskFull)
    return FactError(Reason.OVER_BUDGET if too_much else Reason.FAILED, text)


def _no_session(url: sa.URL, error: Exception) -> str:
    """What is wrong; if another server listens on that port, which one."""
    said = _cannot_connect(url, error)
    host, port = url.host, url.port or 5432
    if "FATAL:" in str(error) or not host or "refused" in said or "resolve" in said:
        return said
    other = what_listens(host, port)
    return said if other in ("", "PostgreSQL") else f"cannot connect to {host}:{port}: {other} responds, not PostgreSQL"


def _cannot_connect(url: sa.URL, error: Exception) -> str:
    """What is wrong, in one line."""
    text = str(getattr(error, "orig", None) or error).strip()
    refusal = next((line.partition("FATAL:")[2] for line in text.splitlines() if "FATAL:" in line), "")
    # libpq repeats the address.
    words = IN_CLEAR if wire.asks_in_clear(text) else (refusal or _ADDRESS.sub("", _first_line(error))).strip()
    if url.host and "Connection refused" in text and not refusal:
        return f"nothing listens on {url.host}:{url.port or 5432} (connection refused): is PostgreSQL running there?"
    if "no password supplied" in text:
        words = "no password supplied: add `password: ${NAME}` to the target in tsaudit.yaml, and export NAME"
    return f"cannot connect to {url.host or 'localhost'}:{url.port or 5432}/{url.database}: {words}"


def _first_line(error: Exception) -> str:
    origin = getattr(error, "orig", None) or error
    lines = str(origin).strip().splitlines()
    # Mask passwords before cutting the line: a part of a password would not be recognized.
    return mask(lines[0])[:300] if lines else type(origin).__name__
