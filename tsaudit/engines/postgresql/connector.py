"""PostgreSQL through SQLAlchemy and psycopg: read-only transactions, answers streamed by a cursor on the server."""

from __future__ import annotations

import dataclasses
import functools
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import sqlalchemy as sa
from psycopg import errors
from psycopg.types.string import TextLoader
from sqlalchemy.exc import ArgumentError, DBAPIError

from tsaudit.engines import queries
from tsaudit.engines.connection import ConnectorError, FactError, Rows
from tsaudit.engines.postgresql import wire
from tsaudit.engines.postgresql.query_plan import scan_estimate
from tsaudit.model.facts import FACTS, Given, Scope
from tsaudit.model.profile import Reason
from tsaudit.net import sql_addresses
from tsaudit.net.port_probe import what_listens
from tsaudit.secrets import mask

_ENGINE: Final = "postgresql"
_DRIVERS: Final = {"postgresql", "postgres", "postgresql+psycopg"}
_FORM: Final = "postgresql://user@host:5432/database"
_GRANTS: Final = "see sql/postgresql/grants.md"
_BATCH_ROWS: Final = 10_000
_LOCK_TIMEOUT_S: Final = 2.0
"""A table that somebody changes is passed over: nobody may queue behind an audit that queues behind a change."""
_SETTINGS: Final = {
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "timezone": "UTC",
    "datestyle": "ISO",
    "intervalstyle": "iso_8601",
    "bytea_output": "hex",
    "extra_float_digits": "1",
    # Rows that a policy hides would be missed without a word: with this, the statement is refused.
    "row_security": "off",
    # An answer is read to its end, and a guest takes one process, not several.
    "cursor_tuple_fraction": "1",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    # Where an index has the newest rows first, they are read from there, not sorted out of all of them.
    "enable_sort": "off",
}
_TIMESCALEDB: Final = """
SELECT n.nspname, (SELECT e.extversion FROM pg_catalog.pg_extension AS e WHERE e.extname = 'timescaledb')
FROM pg_catalog.pg_proc AS p
JOIN pg_catalog.pg_namespace AS n ON n.oid = p.pronamespace
WHERE p.proname = 'chunks_detailed_size'
  AND pg_catalog.to_regclass('timescaledb_information.hypertables') IS NOT NULL
"""
_INHERITED: Final = """
SELECT DISTINCT n.nspname, c.relname
FROM pg_catalog.pg_inherits AS i
JOIN pg_catalog.pg_class AS c ON c.oid = i.inhparent AND c.relkind = 'r'
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
"""
_HYPERTABLES: Final = "SELECT h.hypertable_schema, h.hypertable_name FROM timescaledb_information.hypertables AS h"
_INTEGERS: Final = frozenset({20, 21, 23})
_FLOATS: Final = frozenset({700, 701})
_BOOLEAN: Final = 16
_ZONED: Final = 1184
"""Object ids of PostgreSQL's types, which never change: https://www.postgresql.org/docs/current/datatype-oid.html"""


_CANCEL_S: Final = 1.0
_GRACE_S: Final = 1.5
"""How much longer than the statement may run its end is waited for: an answer to the cancelling says more."""
_FETCHED_BYTES: Final = 8_000_000
"""What is fetched at a time, by the width of the rows before."""
_FEW_ROWS: Final = 100
"""Fetched first, while nothing is known of their width."""
_MOST_BYTES: Final = 64_000_000
"""More than this may not come at once: the driver holds all of it, twice over."""

_Reader = Callable[["psycopg.Connection[Any]"], Iterator[pa.RecordBatch]]


@contextmanager
def connect(
    url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
) -> Iterator[PostgresqlConnection]:
    """A connection to the database that the SQLAlchemy URL names. ConnectorError."""
    address = _address(url, username, password)
    connect_s = float(options.get("connect_timeout_s", 10.0))
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
    """One connection, on which one statement runs at a time, each in a transaction of its own."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._open()
        self._timescaledb, version = next(iter(self._look_up(_TIMESCALEDB)), ("", ""))
        parents = self._look_up(_INHERITED)
        self._inherited = parents - self._look_up(_HYPERTABLES) if parents and self._timescaledb else parents
        """(schema, table) that others inherit from and that have rows of their own: they are what is meant."""
        self.server_version = self._raw.info.parameter_status("server_version") or ""
        self.server_version += f", TimescaleDB {version or ''}".rstrip() if self._timescaledb else ""

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/postgresql/<fact>.sql`; see `connector.Connection`."""
        inherited, parameters = given.subject in self._inherited, given.variables()
        settings: dict[str, Any] = {"timescaledb": self._timescaledb, "inherited": inherited}
        render = functools.partial(queries.render, _ENGINE, fact, **settings, **parameters)
        if fact == "scan_estimate":
            plans = [render(part=part) for part in ("inside", "every", *(["newest"] if parameters["time"] else []))]
            rows = Rows("\n".join(plans), self._stream(functools.partial(_read_plans, statements=plans), timeout_s))
            rows.statements = len(plans)
            return rows
        statement, as_text = render(), FACTS[fact].scope is Scope.MEASUREMENT
        read = functools.partial(_read_rows, statement=statement, as_text=as_text)
        return Rows(statement, self._stream(read, timeout_s))

    def reconnect(self) -> PostgresqlConnection:
        """A further connection to the same database."""
        return PostgresqlConnection(self._engine)

    def close(self) -> None:
        """Close the connection; the server ends what runs on it."""
        self._raw.close()

    def abort(self) -> None:
        """Wait no longer; the server ends the statement at its own timeout, or when it cannot send."""
        self._raw.abort()

    def _open(self) -> None:
        try:
            pooled = self._engine.raw_connection()
        except (DBAPIError, psycopg.Error) as error:
            raise ConnectorError(_no_session(self._engine.url, error)) from None
        self._raw = cast("wire.TimedConnection", pooled.driver_connection)
        pooled.detach()
        self._raw.rollback()
        self._raw.read_only = True
        self._raw.prepare_threshold = None
        # Values come as PostgreSQL prints them: it knows times and numbers that Python has no types for.
        for kind in (None, *psycopg.postgres.types):
            for oid in (0,) if kind is None else (kind.oid, kind.array_oid):
                self._raw.adapters.register_loader(oid, TextLoader)

    def _look_up(self, statement: str) -> set[tuple[str, str]]:
        try:
            found = self._raw.execute(statement.encode()).fetchall()
            self._raw.rollback()
        except psycopg.Error as error:
            self.close()
            raise ConnectorError(_cannot_connect(self._engine.url, error)) from None
        return set(found)

    def _stream(self, read: _Reader, timeout_s: float) -> Iterator[pa.RecordBatch]:
        if self._raw.closed:
            self._open()  # ConnectorError when the server is gone
        raw = self._raw
        deadline = time.monotonic() + timeout_s
        # For a server that heeds neither its own timeout nor the cancelling.
        raw.deadline = deadline + _GRACE_S
        # The server's own timeout is for each part that is fetched; this one is for the whole answer.
        timer = threading.Timer(timeout_s, _cancel, [raw])
        timer.daemon = True
        timer.start()
        try:
            raw.execute(_settings(timeout_s))
            for batch in read(raw):
                if time.monotonic() >= deadline:  # it passed while nothing ran that could be cancelled
                    raise FactError(Reason.TIMED_OUT, f"cancelled after {timeout_s:g} s")
                yield batch
        except psycopg.Error as error:
            raise _failed(error, raw, timeout_s, time.monotonic() >= deadline) from error
        finally:
            timer.cancel()
            timer.join()
            if not raw.closed:
                with suppress(wire.OutOfTimeError):  # it closed itself; a new one is made for the next statement
                    raw.rollback()


def _address(url: str, username: str | None, password: str | None) -> sa.URL:
    try:
        parsed = sql_addresses.parse(url)
    except (ArgumentError, ValueError):
        raise ConnectorError(f"the URL is not of the form {_FORM}") from None
    if parsed.drivername not in _DRIVERS:
        raise ConnectorError(f"the URL starts with `{parsed.drivername}:`; expected {_FORM}")
    if parsed.password and "@" in f"{parsed.host}{parsed.database}":
        raise ConnectorError("the password in the URL has characters of its own meaning there: put it under `password`")
    if not parsed.database:
        raise ConnectorError(f"the URL names no database; expected {_FORM}")
    parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed.set(username=username or parsed.username, password=password or parsed.password)


def _settings(timeout_s: float) -> str:
    """One statement that holds for the transaction only, so that a pooler's connection is left as it was."""
    timeouts = {"statement_timeout": timeout_s, "lock_timeout": min(timeout_s, _LOCK_TIMEOUT_S)}
    milliseconds = {name: f"{max(1, round(seconds * 1000))}ms" for name, seconds in timeouts.items()}
    pairs = (_SETTINGS | milliseconds).items()
    return "SELECT " + ", ".join(f"pg_catalog.set_config('{name}', '{value}', true)" for name, value in pairs)


def _cancel(raw: wire.TimedConnection) -> None:
    try:
        raw.cancel_safe(timeout=_CANCEL_S)
    except psycopg.Error:
        raw.abort()  # whoever waits for the answer is told, and the server sees that nobody reads it


def _read_rows(raw: psycopg.Connection[Any], statement: str, as_text: bool) -> Iterator[pa.RecordBatch]:
    with raw.cursor("tsaudit") as cursor:
        cursor.execute(statement.encode())
        size, first = _FEW_ROWS, True
        while (rows := cursor.fetchmany(size)) or first:
            first = False
            batch = _batch(rows, cursor.description or (), as_text)
            yield batch
            if len(rows) < size:
                return
            size = max(1, min(_BATCH_ROWS, _FETCHED_BYTES * len(rows) // max(1, batch.nbytes)))


def _read_plans(raw: psycopg.Connection[Any], statements: list[str]) -> Iterator[pa.RecordBatch]:
    # No cursor can be declared for a plan.
    answers = [json.loads(raw.execute(statement.encode()).fetchall()[0][0]) for statement in statements]
    inside, every, *newest = (plan["Plan"] for (plan,) in answers)
    found = scan_estimate(inside, every, newest[0] if newest else None)
    yield pa.RecordBatch.from_pylist([dataclasses.asdict(found)])


def _batch(rows: list[tuple[str | None, ...]], description: Any, as_text: bool) -> pa.RecordBatch:
    columns = list(zip(*rows, strict=True)) or [()] * len(description)
    arrays = [
        _array(pa.array(column, pa.string()), about.type_code, as_text)
        for column, about in zip(columns, description, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=[about.name for about in description])


def _array(texts: pa.Array, oid: int, as_text: bool) -> pa.Array:
    """Numbers and booleans as such, all else as text; in answers about the catalogue, times as times."""
    if oid in _INTEGERS:
        return texts.cast(pa.int64())
    if oid in _FLOATS:
        return texts.cast(pa.float64())
    if oid == _BOOLEAN:
        return pc.equal(texts, "t")
    return texts if as_text or oid != _ZONED else texts.cast(pa.timestamp("us", "UTC"))


def _failed(error: psycopg.Error, raw: psycopg.Connection[Any], timeout_s: float, late: bool) -> FactError:
    text = _first_line(error)
    if isinstance(error, wire.TooBigError):
        return FactError(Reason.OVER_BUDGET, f"{text}: rows too wide to be read, or not a PostgreSQL")
    if isinstance(error, errors.InsufficientPrivilege):
        return FactError(Reason.DENIED, f"{text}; {_GRANTS}")
    if isinstance(error, errors.LockNotAvailable):
        seconds = min(timeout_s, _LOCK_TIMEOUT_S)
        return FactError(Reason.TIMED_OUT, f"locked by another session for more than {seconds:g} s")
    if late or isinstance(error, errors.QueryCanceled):
        return FactError(Reason.TIMED_OUT, f"cancelled after {timeout_s:g} s")
    if raw.closed:
        return FactError(Reason.UNREACHABLE, f"the connection was lost ({text})")
    return FactError(Reason.FAILED, text)


def _no_session(url: sa.URL, error: Exception) -> str:
    """What is wrong, and what listens there if it is not PostgreSQL."""
    said = _cannot_connect(url, error)
    host, port = url.host, url.port or 5432
    if "FATAL:" in str(error) or not host or "refused" in said or "resolve" in said:
        return said
    other = what_listens(host, port)
    return said if other in ("", "PostgreSQL") else f"cannot connect to {host}:{port}: {other} answers, not PostgreSQL"


def _cannot_connect(url: sa.URL, error: Exception) -> str:
    """What is wrong, in one line."""
    text = str(getattr(error, "orig", None) or error).strip()
    refusal = next((line.partition("FATAL:")[2] for line in text.splitlines() if "FATAL:" in line), "")
    words = (refusal or _first_line(error)).strip()
    return f"cannot connect to {url.host or 'localhost'}:{url.port or 5432}/{url.database}: {words}"


def _first_line(error: Exception) -> str:
    origin = getattr(error, "orig", None) or error
    lines = str(origin).strip().splitlines()
    # Masked before it is cut: of a password cut in half, the rest would not be known again.
    return mask(lines[0])[:300] if lines else type(origin).__name__
