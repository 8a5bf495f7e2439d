"""Connects to GreptimeDB with SQLAlchemy and PyMySQL. Statements are text; facts about the catalog are assembled in
Python.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tsaudit.engines import queries
from tsaudit.engines.connection import Access, Rows, RowsOfSeveral
from tsaudit.engines.greptimedb import facts, wire
from tsaudit.engines.greptimedb.facts import CatalogQueries, Known
from tsaudit.model.facts import FACTS
from tsaudit.model.query_parameters import Given, OfMeasurement


@contextmanager
def connect(access: Access) -> Iterator[GreptimeConnection]:
    """An open connection to the server, which has responded. Raises ConnectorError."""
    address = wire.address(access.url, access.username, access.password)
    timeout_s = access.connect_timeout_s
    transport = wire.Wire.to(address, timeout_s)
    try:
        known = Known(metrics_url=wire.metrics_url(address))
        yield GreptimeConnection(transport, wire.server_version(transport, address, timeout_s), known)
    finally:
        transport.close()


class GreptimeConnection:
    """One connection, with the parts of the catalog read so far."""

    def __init__(self, transport: wire.Wire, server_version: str, known: Known) -> None:
        self.server_version = server_version
        self._transport = transport
        self._known = known

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/greptimedb/<fact>.sql`, or assemble the response from the catalog; see `connection.Connection`."""
        parameters = given.variables()
        rows = Rows()
        asked = CatalogQueries(self._transport, self._known, rows, time.monotonic() + timeout_s)
        if fact == "databases":
            return rows.reading(asked.stream(queries.render("greptimedb", fact), FACTS[fact].columns, [pa.string()]))
        if fact == "server_status":
            rows.statements = 0
            return rows.reading(facts.server_status(asked, timeout_s))
        if parameters.get("measurement") is None:
            rows.statements = 0  # statements are counted when sent: most responses are already known from another fact
            return rows.reading(facts.answer_by_catalog(fact, asked, parameters))

        def send(within: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
            return facts.answer_by_rows(fact, asked, within)

        return rows.reading(self._known.limit.read(rows, parameters, send))

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """The same for several tables at once; see `connection.QueriesBatches`.

        If they have more files than the server reads for one statement, it refuses, and each table is queried
        separately.
        """
        rows = RowsOfSeveral("", {})
        given = [one for one in given if not self._known.limit.is_known(one.database, one.measurement)]
        asked = CatalogQueries(self._transport, self._known, rows, time.monotonic() + timeout_s)
        return rows.reading(facts.answer_together(fact, asked, given, rows))

    def reconnect(self) -> GreptimeConnection:
        """Another connection to the same server, which shares what this one knows about the catalog."""
        return GreptimeConnection(self._transport.again(), self.server_version, self._known)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def abort(self) -> None:
        """Shut the socket down."""
        self._transport.abort()
