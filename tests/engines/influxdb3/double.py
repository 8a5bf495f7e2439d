"""A stand-in for InfluxDB 3: runs the SQL it is sent on DataFusion, over Arrow Flight and HTTP on one port.

As InfluxDB 3 Core 3.6.0 was seen to answer are the tables of the catalogue (`system.influxdb_schema`,
`system.parquet_files`, and in `_internal` `system.databases` and `system.tables`), the types of columns (tags are
Dictionary(Int32, Utf8)), the ticket of a Flight call, the batches without rows while a statement runs, the headers of
`/ping`, words and codes of errors, that rows of one tag set and time are merged field by field, that a deleted table
stays under another name, that JSON leaves nulls out, and the refusal of a query that would read too many files. Large
batches are sent in several messages, as its Flight library documents. A file's size is what its rows take in memory.
Nothing else is canned.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import datafusion
import pyarrow as pa
import pyarrow.flight as flight

from tests.builders import NOW
from tests.databases import Dataset, Row, Table, Value
from tests.serving import Handler

ADMIN: Final = "apiv3-admin"
READER: Final = "apiv3-reader"
"""A token that reads every database but `_internal`."""

METRICS: Final = """\
# HELP influxdb3_write_lines_total track total number of lines written to the database
# TYPE influxdb3_write_lines_total counter
influxdb3_write_lines_total{{db="{database}"}} {lines}
# HELP influxdb3_write_lines_rejected_total track total number of lines written to the database that were rejected
# TYPE influxdb3_write_lines_rejected_total counter
influxdb3_write_lines_rejected_total{{db="{database}"}} {rejected}
# HELP process_start_time_seconds Start time of the process since unix epoch in seconds.
# TYPE process_start_time_seconds gauge
process_start_time_seconds{{git_hash="4f2e",product_name="InfluxDB 3 Core",uuid="c1",version="3.6.0"}} {started}
# HELP query_datafusion_query_execution_ooms_total Number of OOMs encountered by the query engine
# TYPE query_datafusion_query_execution_ooms_total counter
query_datafusion_query_execution_ooms_total {ooms}
"""
"""By the exporter in the source of 3.6: names, suffixes, and labels."""


def metrics(database: str = "test", *, lines: int = 5_000, rejected: int = 0, ooms: int = 0) -> bytes:
    """The page of metrics."""
    numbers = {"lines": lines, "rejected": rejected, "ooms": ooms, "started": 1.7e9}
    return METRICS.format(database=database, **numbers).encode()


_TAG: Final = pa.dictionary(pa.int32(), pa.string())
_TIME: Final = pa.timestamp("ns")
_TYPES: Final = {"float": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_()}
_NAMES: Final = {pa.float64(): "float", pa.int64(): "integer", pa.bool_(): "boolean", pa.string(): "string"}
_FILE: Final = timedelta(minutes=10)
_BOUND: Final = re.compile(r"time (>=|<) TimestampNanosecond\((\d+), None\)")
_READS: Final = datafusion.SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
_numbers = itertools.count()


class RefusedError(Exception):
    """What the server says instead of an answer: over HTTP with a status, over Flight in words of its own."""

    def __init__(self, status: int, over_http: bytes, over_flight: Exception) -> None:
        super().__init__(str(over_flight))
        self.status, self.over_http, self.over_flight = status, over_http, over_flight


def _failed_to_plan(why: object) -> RefusedError:
    words = f"rror while planning query: {why}"
    return RefusedError(500, f"query error: e{words}".encode(), pa.ArrowInvalid(f"E{words}"))


def _no_database(name: str) -> RefusedError:
    words = f"database not found: {name}"
    over_http = json.dumps({"error": f"query error: {words}"}).encode()
    return RefusedError(
        404, over_http, flight.FlightInternalError(f"Cannot retrieve database: External error: {words}")
    )


def _invalid_column(name: str, kind: str) -> RefusedError:
    words = f"partial write of line protocol occurred: invalid column type for column '{name}', got {kind}"
    return RefusedError(400, words.encode(), flight.FlightInternalError(words))


@dataclass(slots=True)
class _Database:
    context: datafusion.SessionContext
    files: dict[str, frozenset[int]] = field(default_factory=dict)
    """Table to the ten minutes in which it has rows: each is a Parquet file."""
    schema: list[tuple[str, str, str]] = field(default_factory=list)
    """Table, column, and what the column is, as `system.influxdb_schema` has them."""
    deleted: set[str] = field(default_factory=set)
    """The names that deleted tables have now."""
    bytes: dict[str, int] = field(default_factory=dict)
    """Table to what its rows take. In this order the tables are numbered."""
    tables: dict[str, Table] = field(default_factory=dict)
    """As they were written, by name."""
    unread: set[str] = field(default_factory=set)
    """Tables to which points were appended since somebody asked for them."""


class InfluxDB3:
    """One server with its databases. `flight=False`: behind a proxy that speaks HTTP/1 only."""

    def __init__(
        self,
        *,
        build: str = "Core",
        version: str = "3.6.0",
        with_flight: bool = True,
        with_schema_table: bool = True,
        with_internal_tables: bool = True,
        file_limit: int = 1_000_000,
    ) -> None:
        self.build, self.version = build, version
        self.with_schema_table = with_schema_table
        self.with_internal_tables = with_internal_tables
        self.file_limit = file_limit
        self.hides_columns = False
        """Whether it answers that tables have no columns."""
        self.metrics = metrics()
        """The page of metrics; empty if it refuses it."""
        self.delay_s = 0.0
        """How long a statement takes before its first row."""
        self.statements: list[str] = []
        """Those that were sent, oldest first."""
        self._databases: dict[str, _Database] = {}
        self._retention: dict[str, timedelta | None] = {}
        self._flight = _Flight(self)
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        behind = ("127.0.0.1", self._flight.port) if with_flight else None
        self._door = Door(behind, ("127.0.0.1", self._http.server_port))
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
        for table in dataset.tables:
            assert "\n" not in "".join((table.name, *table.tags, *table.fields)), "line protocol has no such names"
            data = _merged(table)
            if data is not None:
                _keep(database, table.name, data)
                database.tables[table.name] = table
        self._describe(database)
        self._databases[name] = database
        rejected = sum(len(table.rows) for table in dataset.rejected)
        self.metrics = metrics(name, lines=sum(len(table.rows) for table in dataset.tables), rejected=rejected)
        self._retention[name] = dataset.retention
        return name

    def has(self, database: str) -> bool:
        """Whether there is a database of that name."""
        return database in self._databases

    def append(self, database: str, table: Table) -> None:
        """Write more points. RefusedError where a column is there with another role or type."""
        found = self._databases[database]
        old = found.tables.get(table.name)
        if old is not None:
            for key, kind in table.fields.items():
                if key in old.tags or old.fields.get(key, kind) not in (kind, "any"):
                    raise _invalid_column(key, kind)
            for key in set(table.tags) & old.fields.keys():
                raise _invalid_column(key, "tag")
            tags = tuple(dict.fromkeys((*old.tags, *table.tags)))
            table = Table(table.name, tags, {**old.fields, **table.fields}, [*old.rows, *table.rows])
        if any(row.fields for row in table.rows):
            found.tables[table.name] = table
            found.unread.add(table.name)

    def _read_in(self, found: _Database, statement: str) -> None:
        """Put what was appended where the statement finds it: in its tables, or in all if it is about the catalog."""
        is_of_catalog = re.search(r"\b(system\.|information_schema|SHOW )", statement)
        wanted = {name for name in found.unread if is_of_catalog or name in statement}
        for name in wanted:
            found.schema = [column for column in found.schema if column[0] != name]
            data = _merged(found.tables[name])
            assert data is not None
            _keep(found, name, data)
        found.unread -= wanted
        if wanted:
            self._describe(found)

    def delete_table(self, database: str, table: str) -> None:
        """Hide it, as the server does for days: it keeps its rows under another name."""
        if database not in self._databases:
            raise _no_database(database)
        found = self._databases[database]
        self._read_in(found, table)
        if found.tables.pop(table, None) is None:
            words = f"table not found: {table}"
            raise RefusedError(404, words.encode(), flight.FlightInternalError(words))
        name = f"{table}-{NOW:%Y%m%dT%H%M%S}"
        found.context.register_table(_quoted(name), found.context.table(_quoted(table)))
        found.context.deregister_table(_quoted(table))
        found.schema = [(name if of == table else of, key, kind) for of, key, kind in found.schema]
        found.files[name] = found.files.pop(table, frozenset())
        found.bytes = {name if of == table else of: size for of, size in found.bytes.items()}
        found.deleted.add(name)
        self._describe(found)

    def _describe(self, database: _Database) -> None:
        tables = {"parquet_files": self._files_of(database)}
        if self.with_schema_table:
            columns = zip(*database.schema, strict=True) if database.schema else ((), (), ())
            names = ("measurement", "key", "data_type")
            tables["influxdb_schema"] = pa.table([_views(c) for c in columns], names=names)
        _register(database.context, tables)

    def _files_of(self, database: _Database) -> pa.Table:
        """Its files, once for each table of any database that has the number of theirs, under that one's name."""
        own = list(database.bytes)
        rows = [
            (name, f"n1/dbs/{id(database)}/{number}/{span}.parquet", database.bytes[own[number]] // len(spans))
            for other in (*(one for one in self._databases.values() if one is not database), database)
            for number, name in enumerate(other.bytes)
            if number < len(own)
            for spans in (database.files.get(own[number], frozenset()),)
            for span in sorted(spans)
        ]
        names, paths, sizes = zip(*rows, strict=True) if rows else ((), (), ())
        return pa.table({"table_name": names, "path": paths, "size_bytes": pa.array(sizes, pa.uint64())})

    def rows(self, database: str, statement: str) -> list[dict[str, Any]]:
        """What an administrator is answered."""
        _, batches = self.run(database, statement, ADMIN)
        return [row for batch in batches for row in batch.to_pylist()]

    def run(self, database: str, statement: str, token: str) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """The answer, or RefusedError."""
        self.statements.append(statement)
        self.authorize(database, token)
        if database == "_internal":
            found = _Database(self._catalogue())
        elif database in self._databases:
            found = self._databases[database]
        else:
            raise _no_database(database)
        try:
            self._read_in(found, statement)
            if "parquet_files" in statement:
                self._describe(found)
            frame = found.context.sql_with_options(statement, _READS)
            self._count_files(found, str(frame.optimized_logical_plan().display_indent()))
            is_hidden = self.hides_columns and ("influxdb_schema" in statement or ".columns" in statement)
            stream = iter(()) if is_hidden else frame.execute_stream()
        except RefusedError:
            raise
        except Exception as error:
            raise _failed_to_plan(error) from error

        def answer() -> Iterator[pa.RecordBatch]:
            # That it is at work it says without rows, and over HTTP not at all.
            yield _no_rows(schema)
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
            raise RefusedError(401, b"", flight.FlightUnauthenticatedError("Unauthenticated"))
        if token == READER and database == "_internal":
            raise RefusedError(403, b"", flight.FlightUnauthorizedError("Permission denied"))

    def _catalogue(self) -> datafusion.SessionContext:
        if not self.with_internal_tables:
            return _context()
        for found in self._databases.values():
            self._read_in(found, "SHOW TABLES")
        names = ["_internal", *sorted(self._databases)]
        periods = [None, *(self._retention[name] for name in names[1:])]
        databases = {
            "database_name": _views(names),
            "retention_period_ns": pa.array(
                [p and round(p.total_seconds()) * 1_000_000_000 for p in periods], pa.uint64()
            ),
            "deleted": pa.array([False] * len(names)),
            "hard_deletion_time": pa.nulls(len(names), pa.timestamp("s", "UTC")),
        }
        listed = [
            (name, table, table in found.deleted)
            for name, found in self._databases.items()
            for table in sorted(found.context.catalog("public").schema("iox").table_names())
        ]
        tables = {
            "database_name": _views([name for name, _, _ in listed]),
            "table_name": _views([table for _, table, _ in listed]),
            "deleted": pa.array([deleted for _, _, deleted in listed], pa.bool_()),
        }
        context = _context()
        _register(context, {"databases": pa.table(databases), "tables": pa.table(tables)})
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
                    raise _failed_to_plan(
                        f"External error: Query would exceed file limit of {self.file_limit} parquet files. "
                        "Please specify a smaller time range for your query. You can increase the file limit"
                    )


def _hydrated(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()) if column.type == _TAG else column


def _context() -> datafusion.SessionContext:
    config = datafusion.SessionConfig().with_default_catalog_and_schema("public", "iox").with_information_schema(True)
    return datafusion.SessionContext(config.with_create_default_catalog_and_schema(True))


def _register(context: datafusion.SessionContext, tables: Mapping[str, pa.Table]) -> None:
    """As the only tables of the schema `system`."""
    schema = datafusion.catalog.Schema.memory_schema()
    context.catalog("public").register_schema("system", schema)
    for name, table in tables.items():
        schema.register_table(name, datafusion.Table(datafusion.SessionContext().from_arrow(table)))


def _views(texts: Sequence[str]) -> pa.Array:
    return pa.array(texts, pa.string_view())


def _keep(database: _Database, name: str, data: pa.Table) -> None:
    if database.context.table_exist(_quoted(name)):
        database.context.deregister_table(_quoted(name))
    database.context.register_record_batches(_quoted(name), [data.to_batches() or [_no_rows(data.schema)]])
    database.bytes[name] = data.nbytes
    for column in data.schema:
        kind = "time" if column.type == _TIME else "tag" if column.type == _TAG else _NAMES[column.type]
        database.schema.append((name, column.name, kind))
    if data.num_rows:
        nanoseconds = data.column("time").cast(pa.int64()).to_pylist()
        span = int(_FILE / timedelta(microseconds=1) * 1000)
        database.files[name] = frozenset(ns // span for ns in nanoseconds)


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _merged(table: Table) -> pa.Table | None:
    """The rows as the server keeps them: one per tag set and time, of each field the value written last.

    None when nothing was written. The first point makes the table: where it is refused for a field with the name of a
    tag, what came before that field stays, a table of tags without a time.
    """
    if table.rows and table.fields.keys() & set(table.tags):
        return pa.table({tag: pa.nulls(0, _TAG) for tag in table.tags})
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
    if not rows:
        return None
    # A column exists once something was written to it.
    return pa.table({name: column for name, column in columns.items() if column.null_count < len(column)})


def _kind(value: Value) -> str:
    return {bool: "boolean", int: "integer", float: "float"}.get(type(value), "string")


def _identity(table: Table, row: Row) -> tuple[Any, ...]:
    nanoseconds = (row.time - datetime.fromtimestamp(0, UTC)) // timedelta(microseconds=1) * 1000
    return (nanoseconds, *(row.tags.get(tag) for tag in table.tags))


def _kept(value: Any, kind: str) -> Any:
    if value is None or kind in ("integer", "boolean"):
        return value
    if kind == "float":
        return float(value)
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
            raise error.over_flight from error
        return flight.GeneratorStream(schema, (message for batch in batches for message in in_messages(batch)))


_MESSAGE: Final = 2_097_152
"""Bytes that a message is to have at most: https://docs.rs/arrow-flight/latest/arrow_flight/encode/"""


def in_messages(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The batch in as many equal parts as servers send: a single row may be larger, and is never divided."""
    # `nbytes` of views of strings is not known to all versions.
    held = sum(buffer.size for column in batch.columns for buffer in column.buffers() if buffer)
    parts = max(-(-held // _MESSAGE), 1)
    rows = max(batch.num_rows // parts, 1)
    yield from (batch.slice(first, rows) for first in range(0, max(batch.num_rows, 1), rows))


# --- HTTP --------------------------------------------------------------------------------------------------------


def _handler(server: InfluxDB3) -> type[BaseHTTPRequestHandler]:
    class Api(Handler):
        def do_GET(self) -> None:
            if self.path not in ("/ping", "/metrics"):
                return self._say(404, b"not found")
            if self._token() not in (ADMIN, READER):
                return self._say(401, b"", told=False)
            if self.path == "/metrics":
                return self._say(200 if server.metrics else 403, server.metrics)
            return self._say(200, json.dumps({"version": server.version}).encode())

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert (self.path, asked["format"]) == ("/api/v3/query_sql", "jsonl")
            try:
                _, batches = server.run(asked["db"], asked["q"], self._token())
            except RefusedError as error:
                return self._say(error.status, error.over_http)
            self.send_response(200)
            self.end_headers()
            for batch in batches:
                for row in pa.Table.from_batches([batch]).to_pylist():
                    kept = {key: _json(value) for key, value in row.items() if value is not None}
                    self.wfile.write(json.dumps(kept).encode() + b"\n")
            return None

        def _token(self) -> str:
            return (self.headers.get("Authorization") or "").removeprefix("Bearer ")

        def _say(self, status: int, body: bytes, *, told: bool = True) -> None:
            self.send_response(status)
            if server.build and told:
                self.send_header("x-influxdb-build", server.build)
                self.send_header("x-influxdb-version", server.version)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Api


def _json(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


class Door:
    """One port, as InfluxDB has it: what begins like HTTP/2 goes to Flight, the rest to HTTP.

    Without an address for Flight it is a proxy that speaks HTTP/1 only.
    """

    def __init__(self, flight: tuple[str, int] | None, http: tuple[str, int]) -> None:
        self._behind = flight, http
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
        address = self._behind[beginning != b"PRI"]
        try:
            if address is None:
                guest.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                raise ConnectionRefusedError
            host = socket.create_connection(address)
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
