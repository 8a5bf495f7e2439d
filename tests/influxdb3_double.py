"""A stand-in for InfluxDB 3: runs the SQL it is sent on DataFusion, over Arrow Flight and HTTP on one port.

Copied from the product's source and documentation (github.com/influxdata/influxdb, branch main, 3.x) are the tables
of the catalogue (`system.influxdb_schema`, `system.databases`), the types of columns (tags are Dictionary(Int32,
Utf8)), the ticket of a Flight call, the headers of `/ping`, that rows of one tag set and time are merged field by
field, that JSON leaves nulls out, and the refusal of a query that would read too many files. Nothing else is canned.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import datafusion
import pyarrow as pa
import pyarrow.flight as flight

from tests.databases import Dataset, Row, Table, Value

ADMIN: Final = "apiv3-admin"
READER: Final = "apiv3-reader"
"""A token that reads every database but `_internal`."""

_TAG: Final = pa.dictionary(pa.int32(), pa.string())
_TIME: Final = pa.timestamp("ns")
_TYPES: Final = {"float": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_()}
_NAMES: Final = {pa.float64(): "float", pa.int64(): "integer", pa.bool_(): "boolean", pa.string(): "string"}
_FILE: Final = timedelta(minutes=10)
_BOUND: Final = re.compile(r"time (>=|<) TimestampNanosecond\((\d+), None\)")
_READS: Final = datafusion.SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
_numbers = itertools.count()


class RefusedError(Exception):
    """What the server says instead of an answer, and how Flight and HTTP classify it."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class _Database:
    context: datafusion.SessionContext
    files: dict[str, frozenset[int]] = field(default_factory=dict)
    """Table to the ten minutes in which it has rows: each is a Parquet file."""


class InfluxDB3:
    """One server with its databases. `flight=False`: behind a proxy that speaks HTTP/1 only."""

    def __init__(
        self,
        *,
        build: str = "Core",
        version: str = "3.4.1",
        with_flight: bool = True,
        with_schema_table: bool = True,
        file_limit: int = 1_000_000,
    ) -> None:
        self.build, self.version = build, version
        self.with_schema_table = with_schema_table
        self.file_limit = file_limit
        self.delay_s = 0.0
        """How long a statement takes before its first row."""
        self.statements: list[str] = []
        """Those that were sent, oldest first."""
        self._databases: dict[str, _Database] = {}
        self._retention: dict[str, timedelta | None] = {}
        self._flight = _Flight(self)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        ports = (self._flight.port if with_flight else self._http.server_port, self._http.server_port)
        self._door = _Door(*ports)
        self.url = f"http://127.0.0.1:{self._door.port}"
        self.login = {"password": ADMIN}

    def stop(self) -> None:
        self._door.close()
        self._http.shutdown()
        self._http.server_close()
        self._flight.shutdown()

    def write(self, dataset: Dataset) -> str:
        """The name of the database that holds it now; one of that name is replaced."""
        name = dataset.database or f"test_{next(_numbers)}"
        database = _Database(_context())
        schema: dict[str, list[str]] = {"measurement": [], "key": [], "data_type": []}
        for table in dataset.tables:
            data = _merged(table)
            if not data.num_rows:
                continue
            database.context.register_record_batches(_quoted(table.name), [data.to_batches()])
            nanoseconds = data.column("time").cast(pa.int64()).to_pylist()
            database.files[table.name] = frozenset(
                ns // int(_FILE / timedelta(microseconds=1) * 1000) for ns in nanoseconds
            )
            for column in data.schema:
                schema["measurement"].append(table.name)
                schema["key"].append(column.name)
                schema["data_type"].append(
                    "time" if column.type == _TIME else "tag" if column.type == _TAG else _NAMES[column.type]
                )
        if self.with_schema_table:
            _register(
                database.context,
                "influxdb_schema",
                pa.table(schema, schema=_of_text("measurement", "key", "data_type")),
            )
        self._databases[name] = database
        self._retention[name] = dataset.retention
        return name

    def run(self, database: str, statement: str, token: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The answer, or RefusedError."""
        self.statements.append(statement)
        self.authorize(database, token)
        if database == "_internal":
            found = _Database(self._catalogue())
        elif database in self._databases:
            found = self._databases[database]
        else:
            raise RefusedError(404, f"database not found: {database}")
        try:
            frame = found.context.sql_with_options(statement, _READS)
            self._count_files(found, str(frame.optimized_logical_plan().display_indent()))
            stream = frame.execute_stream()
        except RefusedError:
            raise
        except Exception as error:
            raise RefusedError(400, f"Error while planning query: {error}") from error

        def answer() -> Iterator[pa.RecordBatch]:
            time.sleep(self.delay_s)
            for batch in stream:
                columns = [_hydrated(column) for column in batch.to_pyarrow().columns]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

        # The server sends no dictionaries: it makes texts of them first.
        fields = [pa.field(f.name, pa.string() if f.type == _TAG else f.type) for f in frame.schema()]
        schema = pa.schema(fields)
        return schema, answer()

    def authorize(self, database: str, token: str) -> None:
        if token not in (ADMIN, READER):
            raise RefusedError(401, "the request was not authenticated")
        if token == READER and database == "_internal":
            raise RefusedError(403, "the request was not authorized")

    def _catalogue(self) -> datafusion.SessionContext:
        names = ["_internal", *sorted(self._databases)]
        periods = [None, *(self._retention[name] for name in names[1:])]
        columns = {
            "database_name": pa.array(names, pa.string()),
            "retention_period_ns": pa.array(
                [p and round(p.total_seconds()) * 1_000_000_000 for p in periods], pa.uint64()
            ),
            "deleted": pa.array([False] * len(names)),
        }
        context = _context()
        _register(context, "databases", pa.table(columns))
        return context

    def _count_files(self, database: _Database, plan: str) -> None:
        """Refuse what would read more files than allowed, by the bounds of time that are left in the plan."""
        bounds = {sign: int(ns) for sign, ns in _BOUND.findall(plan)}
        span = int(_FILE / timedelta(microseconds=1)) * 1000
        first, last = bounds.get(">=", 0) // span, bounds.get("<", 1 << 62) // span
        for table, files in database.files.items():
            if re.search(rf"TableScan: {re.escape(table)}\b", plan):
                read = sum(first <= number <= last for number in files)
                if read > self.file_limit:
                    raise RefusedError(
                        400,
                        f"External error: Query would scan {read} Parquet files, exceeding the file limit. "
                        "Please specify a smaller time range for your query.",
                    )


def _hydrated(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()) if column.type == _TAG else column


def _context() -> datafusion.SessionContext:
    config = datafusion.SessionConfig().with_default_catalog_and_schema("public", "iox").with_information_schema(True)
    return datafusion.SessionContext(config.with_create_default_catalog_and_schema(True))


def _register(context: datafusion.SessionContext, name: str, table: pa.Table) -> None:
    schema = datafusion.catalog.Schema.memory_schema()
    context.catalog("public").register_schema("system", schema)
    schema.register_table(name, datafusion.Table(datafusion.SessionContext().from_arrow(table)))


def _of_text(*names: str) -> pa.Schema:
    return pa.schema([pa.field(name, pa.string(), nullable=False) for name in names])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _merged(table: Table) -> pa.Table:
    """The rows as the server keeps them: one per tag set and time, of each field the value written last."""
    rows: dict[tuple[Any, ...], dict[str, Value]] = {}
    types: dict[str, str] = {key: kind for key, kind in table.fields.items() if kind != "any"}
    for row in table.rows:
        values = {key: row.fields[key] for key in table.fields if row.fields.get(key) is not None}
        # A column has the type of the first value written; a point that brings another one is refused.
        brought = {key: types.setdefault(key, _kind(value)) for key, value in values.items()}
        if values and all(table.fields[key] != "any" or _kind(values[key]) == kind for key, kind in brought.items()):
            rows.setdefault(_identity(table, row), {}).update(values)
    columns: dict[str, pa.Array] = {}
    for i, tag in enumerate(table.tags):
        columns[tag] = pa.array([identity[i + 1] for identity in rows], pa.string()).dictionary_encode().cast(_TAG)
    columns["time"] = pa.array([identity[0] for identity in rows], pa.int64()).cast(_TIME)
    for key, kind in types.items():
        kept = [_kept(values.get(key), kind) for values in rows.values()]
        columns[key] = pa.array(kept, _TYPES.get(kind, pa.string()))
    # A column exists once something was written to it.
    return pa.table({name: column for name, column in columns.items() if column.null_count < len(column)})


def _kind(value: Value) -> str:
    return {bool: "boolean", int: "integer", float: "float"}.get(type(value), "string")


def _identity(table: Table, row: Row) -> tuple[Any, ...]:
    nanoseconds = (row.time - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1000
    return (nanoseconds, *(row.tags.get(tag) for tag in table.tags))


def _kept(value: Value, kind: str) -> Value:
    if value is None or kind in ("integer", "boolean"):
        return value
    if kind == "float":
        return float(value)  # type: ignore[arg-type]
    return value.isoformat() if isinstance(value, datetime) else str(value)


# --- Arrow Flight ------------------------------------------------------------------------------------------------


class _Token(flight.ServerMiddleware):
    def __init__(self, token: str) -> None:
        self.token = token


class _Authentication(flight.ServerMiddlewareFactory):
    def start_call(self, info: Any, headers: Mapping[str, list[str]]) -> _Token:
        del info
        scheme, _, token = headers.get("authorization", [""])[0].partition(" ")
        return _Token(token if scheme == "Bearer" else "")


class _Flight(flight.FlightServerBase):
    def __init__(self, server: InfluxDB3) -> None:
        super().__init__("grpc+tcp://127.0.0.1:0", middleware={"token": _Authentication()})
        self._server = server

    def do_get(self, context: flight.ServerCallContext, ticket: flight.Ticket) -> flight.FlightDataStream:
        asked = json.loads(ticket.ticket)
        assert asked["query_type"] == "sql"
        try:
            token = context.get_middleware("token").token
            schema, batches = self._server.run(asked["database"], asked["sql_query"], token)
        except RefusedError as error:
            kind = {401: flight.FlightUnauthenticatedError, 403: flight.FlightUnauthorizedError, 404: pa.ArrowKeyError}
            raise kind.get(error.status, pa.ArrowInvalid)(str(error)) from error
        return flight.GeneratorStream(schema, batches)


# --- HTTP --------------------------------------------------------------------------------------------------------


def _handler(server: InfluxDB3) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/ping":
                return self._say(404, b"not found")
            if self._token() not in (ADMIN, READER):
                return self._say(401, b"")
            return self._say(200, json.dumps({"version": server.version}).encode())

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert (self.path, asked["format"]) == ("/api/v3/query_sql", "jsonl")
            try:
                _, batches = server.run(asked["db"], asked["q"], self._token())
            except RefusedError as error:
                return self._say(error.status, str(error).encode())
            self.send_response(200)
            self.end_headers()
            for batch in batches:
                for row in pa.Table.from_batches([batch]).to_pylist():
                    kept = {key: _json(value) for key, value in row.items() if value is not None}
                    self.wfile.write(json.dumps(kept).encode() + b"\n")
            return None

        def _token(self) -> str:
            return (self.headers.get("Authorization") or "").removeprefix("Bearer ")

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            if server.build:
                self.send_header("x-influxdb-build", server.build)
                self.send_header("x-influxdb-version", server.version)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: Any) -> None:
            del arguments

    return Handler


def _json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


class _Door:
    """One port, as InfluxDB has it: what begins like HTTP/2 goes to Flight, the rest to HTTP."""

    def __init__(self, http2_port: int, http1_port: int) -> None:
        self._ports = http2_port, http1_port
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            # Wakes the thread that waits for a guest, who would hold the port open.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                guest, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._lead, args=(guest,), daemon=True).start()

    def _lead(self, guest: socket.socket) -> None:
        beginning = guest.recv(3, socket.MSG_PEEK)
        try:
            host = socket.create_connection(("127.0.0.1", self._ports[beginning != b"PRI"]))
        except OSError:
            guest.close()
            return
        threading.Thread(target=_pipe, args=(host, guest), daemon=True).start()
        _pipe(guest, host)


def _pipe(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            sink.sendall(data)
    except OSError:
        pass
    finally:
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
