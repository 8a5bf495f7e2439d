"""InfluxDB 3: SQL over Arrow Flight, and over HTTP where only that comes through."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.flight as flight
import urllib3
from influxdb_client_3 import InfluxDBClient3, InfluxDBError
from influxdb_client_3.exceptions import InfluxDB3ClientError
from urllib3.exceptions import HTTPError, NewConnectionError, ReadTimeoutError

from tsaudit import queries
from tsaudit.connector import ConnectorError, FactError, Rows
from tsaudit.facts import FACTS
from tsaudit.influx import jsonl, streaming
from tsaudit.profile import Reason

_ENGINE: Final = "influxdb3"
_CATALOGUE: Final = "_internal"
"""The database whose system tables list the others; only administrators may read it."""
_OF_CATALOGUE: Final = frozenset({"databases", "retention"})
_GRANT: Final = "grant the token read on the database, see sql/influxdb3/grants.md"
_ADMIN: Final = "this takes an admin token, see sql/influxdb3/grants.md"
_SHORTEST: Final = timedelta(minutes=10)
"""The span of one file as InfluxDB 3 Core writes them by default: a shorter window reads no fewer."""
_TOO_MANY_FILES: Final = re.compile(r"exceed\w* (the |partition or )?file limit", re.IGNORECASE)
_EXHAUSTED: Final = re.compile(r"resources? ?exhausted|limit exceeded|too many requests", re.IGNORECASE)
_HOSTED: Final = {".cloud2.influxdata.com": "Cloud Serverless", ".influxdb.io": "Cloud Dedicated"}
"""Products that do not tell their version, by the end of their hosts' names.

https://docs.influxdata.com/platform/identify-version/
"""


class TooManyFilesError(FactError):
    """The statement would read more files than the server reads for one; a shorter window may do."""


@contextmanager
def connect(
    url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
) -> Iterator[InfluxConnection]:
    """A connection to the server, which has answered. ConnectorError."""
    del username  # a token says who asks
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        raise ConnectorError("the URL is not of the form https://host:8181")
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    token = password or (unquote(parts.password) if parts.password else "")
    databases = tuple(options.get("databases", ()))
    timeout_s = float(options.get("connect_timeout_s", 10.0))
    version = _version(address, parts.hostname, token, timeout_s)
    connection = InfluxConnection(_Flight(address, token), databases, version)
    if not connection.answers(timeout_s):
        connection.close()
        connection = InfluxConnection(_Http(address, token, timeout_s), databases, f"{version}, over HTTP")
    try:
        yield connection
    finally:
        connection.close()


class InfluxConnection:
    """Statements sent one of two ways, and what is known of the databases so far."""

    def __init__(self, way: _Way, databases: Sequence[str], server_version: str) -> None:
        self.server_version = server_version
        self._way = way
        self._databases = tuple(databases)
        self._without_schema_table: set[str] = set()
        self._since: dict[tuple[str, str], datetime] = {}
        """(database, measurement) to the start of the longest window within the limit of files."""

    def query(self, fact: str, timeout_s: float, **parameters: Any) -> Rows:
        """Run `sql/influxdb3/<fact>.sql`; see `connector.Connection`."""
        rows = Rows("", iter(()))
        deadline = time.monotonic() + timeout_s
        if fact == "databases":
            return rows.reading(self._listed(rows, deadline, parameters))
        if fact == "columns":
            return rows.reading(self._columns(rows, deadline, parameters))
        if parameters.get("measurement") is None:
            return rows.reading(self._send(fact, rows, deadline, parameters))
        return rows.reading(self._within_limit(fact, rows, deadline, parameters))

    def reconnect(self) -> InfluxConnection:
        """A further connection to the same server, by the same way."""
        return InfluxConnection(self._way.again(), self._databases, self.server_version)

    def close(self) -> None:
        """Release it."""
        self._way.close()

    def answers(self, timeout_s: float) -> bool:
        """Whether anything comes back by this way at all, be it a refusal."""
        database = self._databases[0] if self._databases else _CATALOGUE
        try:
            for _ in self._way.run(
                database, "SELECT 1", time.monotonic() + timeout_s, Rows("", iter(())), Columns(("one",))
            ):
                pass
        except FactError as error:
            return error.reason not in (Reason.UNREACHABLE, Reason.TIMED_OUT)
        return True

    def _listed(self, rows: Rows, deadline: float, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """All databases; those that the target names where the token may not list them."""
        try:
            yield from self._send("databases", rows, deadline, parameters)
        except FactError as error:
            if error.reason not in (Reason.DENIED, Reason.FAILED):
                raise
            if not self._databases:
                raise FactError(error.reason, f"{error.detail}; or name the databases in `databases:`") from error
            rows.scope = "those that tsaudit.yaml names: the token may not list databases"
            yield pa.record_batch({"database": pa.array(self._databases, pa.string())})

    def _columns(self, rows: Rows, deadline: float, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        """By the engine's own table of tags and fields; by their Arrow types where it has none."""
        database = parameters["database"]
        if database not in self._without_schema_table:
            try:
                yield from self._send("columns", rows, deadline, {**parameters, "catalog": "influxdb_schema"})
                return
            except FactError as error:
                if error.reason is not Reason.FAILED:
                    raise
            self._without_schema_table.add(database)
            rows.statements += 1
        rows.scope = "told by the columns' Arrow types: the server has no system.influxdb_schema"
        yield from self._send("columns", rows, deadline, {**parameters, "catalog": "information_schema"})

    def _within_limit(
        self, fact: str, rows: Rows, deadline: float, parameters: Mapping[str, Any]
    ) -> Iterator[pa.RecordBatch]:
        """The answer for the window, or for the longest part up to its end that the server reads at once."""
        table = parameters["database"], parameters["measurement"]
        asked, end = parameters["start"], parameters["end"]
        start = max(asked, self._since.get(table, asked))
        while True:
            rows.since = start if start > asked else None
            try:
                yield from self._send(fact, rows, deadline, {**parameters, "start": start})
                return
            except TooManyFilesError as error:
                if (end - start) / 2 < _SHORTEST:
                    detail = f"even {end - start} of data are in more files than the server reads at once"
                    raise FactError(Reason.OVER_BUDGET, f"{detail} ({error.detail})") from error
            start = end - (end - start) / 2
            self._since[table] = start
            rows.statements += 1

    def _send(self, fact: str, rows: Rows, deadline: float, parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        rows.statement = queries.render(_ENGINE, fact, **parameters)
        database = _CATALOGUE if fact in _OF_CATALOGUE else parameters["database"]
        try:
            yield from self._way.run(database, rows.statement, deadline, rows, _expected(fact, parameters))
        except FactError as error:
            if error.reason is Reason.DENIED:
                grant = _ADMIN if fact in _OF_CATALOGUE else _GRANT
                raise FactError(Reason.DENIED, f"{error.detail}; {grant}") from error
            raise


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of an answer, which JSON does not tell."""

    names: Sequence[str]
    as_text: bool = False


def _expected(fact: str, parameters: Mapping[str, Any]) -> Columns:
    if fact == "series_listing":
        return Columns(parameters["tags"], as_text=True)
    if fact == "row_sample":
        return Columns(parameters["columns"])
    if fact == "null_counts":
        counts = [f"count_{i}" for i in range(1, len(parameters["fields"]) + 1)]
        return Columns(("rows", "first_time", "last_time", *counts))
    return Columns((*FACTS[fact].columns, *(("role",) if fact == "columns" else ())))


def _version(address: str, host: str, token: str, timeout_s: float) -> str:
    """Product and version as far as the server tells them, such as `Core 3.4.1`."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        answer = urllib3.request("GET", f"{address}/ping", headers=headers, timeout=timeout_s, retries=False)
    except HTTPError as error:
        raise ConnectorError(
            f"{address} does not answer ({streaming.words(error)}); is it the right address?"
        ) from error
    if answer.status in (401, 403):
        raise ConnectorError(f"{address} refuses the token" if token else f"{address} asks for a token as `password`")
    version = answer.headers.get("X-Influxdb-Version", "").removeprefix("v")
    if re.match(r"[12]\.", version):
        raise ConnectorError(f"{address} is InfluxDB {version}; this engine is for 3.x")
    product = answer.headers.get("X-Influxdb-Build", "").strip()
    product = product or next((name for end, name in _HOSTED.items() if host.endswith(end)), "")
    if not product and not version:
        raise ConnectorError(f"{address} answers, but not as InfluxDB 3 (HTTP {answer.status})")
    return f"{product} {version}".strip()


# --- Two ways to send a statement --------------------------------------------------------------------------------


class _Way(Protocol):
    """How statements reach the server."""

    def run(
        self, database: str, statement: str, deadline: float, rows: Rows, columns: Columns
    ) -> Iterator[pa.RecordBatch]:
        """The answer as it arrives, with the named columns; FactError unless it comes whole."""
        ...

    def again(self) -> _Way:
        """The same way once more, for another thread."""
        ...

    def close(self) -> None: ...


class _Flight:
    """Arrow Flight: batches come as the server makes them."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = address, token
        self._client = InfluxDBClient3(host=address, token=token, database="", auth_scheme="Bearer")

    def run(
        self, database: str, statement: str, deadline: float, rows: Rows, columns: Columns
    ) -> Iterator[pa.RecordBatch]:
        del rows, columns  # Flight tells no bytes, and sends a schema
        left = deadline - time.monotonic()
        reader = None
        try:
            # Its unit is seconds; the deadline travels with the call, and the server cancels the query, too.
            reader = self._client.query(statement, "sql", "chunk", database, timeout=max(left, 0.001))
            for chunk in reader:
                yield plain(chunk.data)
        except (InfluxDB3ClientError, InfluxDBError, pa.ArrowException, flight.FlightError, OSError) as error:
            raise _flight_error(error, left) from error
        finally:
            if reader is not None:
                reader.cancel()

    def again(self) -> _Flight:
        return _Flight(self._address, self._token)

    def close(self) -> None:
        self._client.close()


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch without encodings that differ from one batch to the next: dictionaries and views become text."""
    arrays = [
        column.cast(pa.string())
        if pa.types.is_dictionary(column.type) or pa.types.is_string_view(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def _flight_error(error: BaseException, timeout_s: float) -> FactError:
    # The client hides what was raised behind an exception of its own.
    cause = error.__context__ if isinstance(error, InfluxDB3ClientError) and error.__context__ else error
    text = _first_line(cause)
    if isinstance(cause, flight.FlightTimedOutError):
        return streaming.timed_out(timeout_s)
    if isinstance(cause, flight.FlightUnauthenticatedError | flight.FlightUnauthorizedError):
        return FactError(Reason.DENIED, text)
    if isinstance(cause, flight.FlightUnavailableError):
        return FactError(Reason.UNREACHABLE, text)
    return _refused(text)


class _Http:
    """A JSON object per line, for where HTTP/2 does not come through."""

    def __init__(self, address: str, token: str, connect_timeout_s: float) -> None:
        self._address, self._token, self._connect_timeout_s = address, token, connect_timeout_s
        self._pool = urllib3.PoolManager(num_pools=1, retries=False)

    def run(
        self, database: str, statement: str, deadline: float, rows: Rows, columns: Columns
    ) -> Iterator[pa.RecordBatch]:
        left = max(deadline - time.monotonic(), 0.001)
        response = None
        try:
            response = self._pool.request(
                "POST",
                f"{self._address}/api/v3/query_sql",
                json={"db": database, "q": statement, "format": "jsonl"},
                headers={"Authorization": f"Bearer {self._token}"} if self._token else {},
                timeout=urllib3.Timeout(connect=min(self._connect_timeout_s, left), read=left),
                preload_content=False,
            )
            if response.status != 200:
                raise _http_error(response.status, response.data)
            lines = streaming.lines(response, deadline, rows)
            yield from jsonl.batches(lines, columns.names, as_text=columns.as_text)
        except (ReadTimeoutError, TimeoutError) as error:
            raise streaming.timed_out(left) from error
        except NewConnectionError as error:
            raise FactError(Reason.UNREACHABLE, streaming.words(error)) from error
        except (HTTPError, OSError, ValueError) as error:
            raise FactError(Reason.FAILED, f"the answer broke off ({streaming.words(error)})") from error
        finally:
            if response is not None:
                # Nothing is kept of a connection with an unread rest: closing it makes the server give up.
                response.close()

    def again(self) -> _Http:
        return _Http(self._address, self._token, self._connect_timeout_s)

    def close(self) -> None:
        self._pool.clear()


def _http_error(status: int, body: bytes) -> FactError:
    text = body.decode("utf-8", "replace").strip().splitlines()
    detail = (text[0] if text else f"HTTP {status}")[:300]
    if status in (401, 403):
        return FactError(Reason.DENIED, detail)
    if status == 429:
        return FactError(Reason.OVER_BUDGET, detail)
    return FactError(Reason.UNREACHABLE, detail) if status in (502, 503, 504) else _refused(detail)


def _refused(text: str) -> FactError:
    if _TOO_MANY_FILES.search(text):
        return TooManyFilesError(Reason.OVER_BUDGET, text)
    return FactError(Reason.OVER_BUDGET if _EXHAUSTED.search(text) else Reason.FAILED, text)


def _first_line(error: BaseException) -> str:
    """The server's own words, without gRPC's frame around them."""
    text = re.sub(
        r"^Flight returned .*?with message: |\. gRPC client debug context:.*|\. Client context:.*",
        "",
        str(error),
        flags=re.DOTALL,
    )
    return (text.strip().splitlines() or [type(error).__name__])[0][:300]
