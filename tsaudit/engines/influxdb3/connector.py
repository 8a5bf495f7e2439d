"""InfluxDB 3: SQL over Arrow Flight, or over HTTP if Flight does not work."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from tsaudit.engines import http_client, queries
from tsaudit.engines.connection import (
    Access,
    AddressError,
    FactError,
    FactQuery,
    FileLimit,
    Rows,
    fact_batch,
)
from tsaudit.engines.influxdb3 import client as client3
from tsaudit.model.facts import FACTS, Given
from tsaudit.model.figures import Reason

_ENGINE: Final = "influxdb3"
_CATALOG: Final = "_internal"
"""The database whose system tables list all other databases; only administrators may read it."""
_OF_CATALOG: Final = frozenset({"databases", "retention"})
_NAMED: Final = frozenset({"databases", "measurements", "columns"})
"""Facts whose rows start with a name."""
_COUNTERS: Final = {
    "influxdb3_write_lines_total": "points_written",
    "influxdb3_write_lines_rejected_total": "points_dropped",
    "query_datafusion_query_execution_ooms_total": "queries_out_of_memory",
}
_GRANT: Final = "grant the token read on the database, see sql/influxdb3/grants.md"
_ADMIN: Final = "this needs an admin token, see sql/influxdb3/grants.md"


@contextmanager
def connect(access: Access) -> Iterator[InfluxConnection]:
    """An open connection to the server, which has responded. The token identifies the user. Raises ConnectorError."""
    parts = urlsplit(access.url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise AddressError("https://host:8181", access.url)
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    token = access.password or (unquote(parts.password) if parts.password else "")
    http = client3.Http(address, token, access.connect_timeout_s)
    version = http.version()
    http.close()  # it is only needed again if Flight does not work
    connection = InfluxConnection(client3.Flight(address, token), http, access.databases, version)
    if not connection.answers(access.connect_timeout_s):
        connection.close()
        connection = InfluxConnection(http, http, access.databases, f"{version}, over HTTP")
    try:
        yield connection
    finally:
        connection.close()


class InfluxConnection:
    """Sends statements over one of the two transports, and caches what is known about the databases."""

    def __init__(
        self, transport: client3.Transport, http: client3.Http, databases: Sequence[str], server_version: str
    ) -> None:
        """`http`: for the page of metrics, whichever transport is used."""
        self.server_version = server_version
        self._transport, self._http = transport, http
        self._databases = tuple(databases)
        self._without_schema_table: set[str] = set()
        self._knows_deleted = True
        self._limit = FileLimit()

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/influxdb3/<fact>.sql`; see `connection.Connection`."""
        rows = Rows()
        ask = FactQuery(fact, given.variables(), rows, timeout_s)
        if fact == "databases":
            return rows.reading(self._listed(ask))
        if fact == "measurements":
            return rows.reading(self._tables(ask))
        if fact == "columns":
            return rows.reading(self._columns(ask))
        if fact == "database_bytes" and self.server_version.startswith("Cloud"):
            raise FactError(Reason.UNSUPPORTED, "InfluxDB Cloud has no table of files that tsaudit can read")
        if fact == "server_counters":
            return rows.reading(self._counters(ask))
        if ask.about.get("measurement") is None:
            return rows.reading(self._send(ask))
        return rows.reading(self._limit.read(rows, ask.about, lambda within: self._send(ask, **within)))

    def reconnect(self) -> InfluxConnection:
        """Another connection to the same server, over the same transport."""
        return InfluxConnection(self._transport.again(), self._http, self._databases, self.server_version)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def abort(self) -> None:
        """Abort the current statement."""
        self._transport.abort()

    def answers(self, timeout_s: float) -> bool:
        """Whether the server responds over this transport at all, even if it refuses."""
        database = self._databases[0] if self._databases else _CATALOG
        try:
            for _ in self._transport.run(
                database, "SELECT 1", time.monotonic() + timeout_s, Rows(), client3.ListedColumns(("one",))
            ):
                pass
        except FactError as error:
            return error.reason not in (Reason.UNREACHABLE, Reason.TIMED_OUT)
        return True

    def _counters(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        """The server's counters since its start, from its metrics page. Raises FactError."""
        if self.server_version.startswith("Cloud"):
            raise FactError(Reason.UNSUPPORTED, "InfluxDB Cloud has no page of metrics")
        request = json.loads(queries.render(_ENGINE, "server_counters"))
        ask.rows.statement = f"{request['method']} {request['path']}"
        page = http_client.read_page(f"{self._http.url}{request['path']}", self._http.headers, ask.timeout_s)
        ask.rows.bytes = sum(map(len, page))
        yield http_client.status_batch(http_client.counted_metrics(page, _COUNTERS, "db"))

    def _listed(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        """All databases; if the token may not list them, those that the target names."""
        try:
            yield from self._send(ask)
        except FactError as error:
            if error.reason not in (Reason.DENIED, Reason.FAILED):
                raise
            if not self._databases:
                fix = ", or ".join(filter(None, (error.fix, "list the databases in `databases:`")))
                raise FactError(error.reason, error.cause, fix) from error
            ask.rows.scope = "those listed in tsaudit.yaml: the token has no permission to list databases"
            yield fact_batch(ask.fact, [{"database": name} for name in self._databases])

    def _tables(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        """Tables from the catalog of all databases, which also lists deleted ones; if the catalog cannot be read, from
        the database itself, by name.
        """
        if self._knows_deleted:
            try:
                found = list(self._send(ask, catalog="system"))
            except FactError as error:
                if error.reason not in (Reason.DENIED, Reason.FAILED):
                    raise
                self._knows_deleted = False
                ask.rows.statements += 1
            else:
                if any(batch.num_rows for batch in found):
                    yield from found
                    return
                # If the database does not exist, only a query of the database itself reports that.
                ask.rows.statements += 1
        yield from self._send(ask, catalog="information_schema")

    def _columns(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        """Columns from the engine's own table of tags and fields; without it, roles follow from the Arrow types."""
        database = ask.about["database"]
        if database not in self._without_schema_table:
            try:
                # All rows or none: rows from before a failure must not be returned twice.
                yield from list(self._send(ask, catalog="influxdb_schema"))
                return
            except FactError as error:
                if error.reason is not Reason.FAILED:
                    raise
            self._without_schema_table.add(database)
            ask.rows.statements += 1
        ask.rows.scope = "according to the columns' Arrow types: the server has no system.influxdb_schema"
        yield from self._send(ask, catalog="information_schema")

    def _send(self, ask: FactQuery, **changed: Any) -> Iterator[pa.RecordBatch]:
        """The response to the fact's statement. `changed`: parameters that differ from those of the query."""
        fact, rows, parameters = ask.fact, ask.rows, {**ask.about, **changed}
        rows.statement = queries.render(_ENGINE, fact, **parameters)
        of_all = fact in _OF_CATALOG or parameters.get("catalog") == "system"
        database = _CATALOG if of_all else parameters["database"]
        try:
            for batch in self._transport.run(database, rows.statement, ask.deadline, rows, _expected(fact, parameters)):
                if fact in _NAMED and batch.num_columns and batch.column(0).null_count:
                    raise FactError(Reason.FAILED, "the response has rows without a name; does it come from InfluxDB?")
                yield batch
        except FactError as error:
            if error.reason is Reason.DENIED:
                grant = _ADMIN if of_all else _GRANT
                raise FactError(Reason.DENIED, error.cause, grant) from error
            raise


def _expected(fact: str, parameters: Mapping[str, Any]) -> client3.ListedColumns:
    if fact == "series_listing":
        return client3.ListedColumns(parameters["tags"], as_text=True)
    if fact == "row_sample":
        return client3.ListedColumns(parameters["columns"])
    if fact == "null_counts":
        counts = [f"count_{i}" for i in range(1, len(parameters["fields"]) + 1)]
        return client3.ListedColumns(("rows", "first_time", "last_time", *counts))
    return client3.ListedColumns((*FACTS[fact].columns, *(("role",) if fact == "columns" else ())))
