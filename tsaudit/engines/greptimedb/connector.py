"""GreptimeDB through SQLAlchemy and PyMySQL: text statements; the catalogue is read once and put together here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tsaudit.engines import queries
from tsaudit.engines.connection import Rows
from tsaudit.engines.greptimedb import of_database, of_measurement, wire
from tsaudit.engines.greptimedb.asked import Asked, Known
from tsaudit.model.facts import FACTS, Given


@contextmanager
def connect(
    url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
) -> Iterator[GreptimeConnection]:
    """A connection to the server, which has answered. ConnectorError."""
    address = wire.address(url, username, password)
    timeout_s = float(options.get("connect_timeout_s", 10.0))
    way = wire.Wire.to(address, timeout_s)
    try:
        yield GreptimeConnection(way, wire.server_version(way, address, timeout_s))
    finally:
        way.close()


class GreptimeConnection:
    """Statements on one wire, and the catalogue as far as it was read."""

    def __init__(self, way: wire.Wire, server_version: str, known: Known | None = None) -> None:
        self.server_version = server_version
        self._way = way
        self._known = known or Known()

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/greptimedb/<fact>.sql`, or put its answer together; see `connector.Connection`."""
        parameters = given.variables()
        rows = Rows("", iter(()))
        asked = Asked(self._way, self._known, rows, time.monotonic() + timeout_s)
        if fact == "databases":
            return rows.reading(asked.stream(queries.render("greptimedb", fact), FACTS[fact].columns, [pa.string()]))
        if parameters.get("measurement") is None:
            rows.statements = 0  # each is counted when it is sent: most answers are known from another fact
            return rows.reading(of_database.answer(fact, asked, parameters))

        def send(within: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
            return of_measurement.answer(fact, asked, within)

        return rows.reading(self._known.limit.read(rows, parameters, send))

    def reconnect(self) -> GreptimeConnection:
        """A further connection to the same server, which knows what this one knows."""
        return GreptimeConnection(self._way.again(), self.server_version, self._known)

    def close(self) -> None:
        """Release it."""
        self._way.close()

    def abort(self) -> None:
        """Shut the socket down."""
        self._way.abort()
