"""InfluxDB 1.x: InfluxQL over HTTP, in chunks, read as they arrive."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlencode, urlsplit

import pyarrow as pa
import urllib3
from urllib3.exceptions import HTTPError

from tsaudit import queries
from tsaudit.connector import ConnectorError, FactError, Rows
from tsaudit.http import causes
from tsaudit.http.pool import BoundedPool, UnfitAnswerError
from tsaudit.influx import influxql, streaming
from tsaudit.influx.influxql import Reader, Series
from tsaudit.profile import Reason

_ENGINE: Final = "influxdb1"
_OWN_DATABASE: Final = "_internal"
_GRANT: Final = "grant READ on the database, see sql/influxdb1/grants.md"
_NOTES: Final = "grant READ on _internal, see sql/influxdb1/grants.md"
_STREAMED: Final = frozenset({"series_listing", "row_sample"})
"""Facts whose rows are used as they arrive, or come in a number that was asked for."""
_GO_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


@contextmanager
def connect(
    url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
) -> Iterator[InfluxConnection]:
    """A connection to the server, whose version has been asked for. ConnectorError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConnectorError("the URL is not of the form http://host:8086")
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    login = (username or _decoded(parts.username), password or _decoded(parts.password))
    connection = InfluxConnection(address, login, float(options.get("connect_timeout_s", 10.0)))
    try:
        yield connection
    finally:
        connection.close()


def _decoded(text: str | None) -> str | None:
    return None if text is None else unquote(text)


@dataclass(frozen=True, slots=True)
class _FileBytes:
    """What the shards of each database take, and the statement that told."""

    statement: str
    by_database: Mapping[str, int]


class InfluxConnection:
    """A pool of one HTTP connection."""

    def __init__(self, url: str, login: tuple[str | None, str | None], connect_timeout_s: float) -> None:
        self._url = url
        self._login = login
        self._connect_timeout_s = connect_timeout_s
        self._headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if login[0] is not None:
            self._headers |= urllib3.make_headers(basic_auth=f"{login[0]}:{login[1] or ''}")
        self._pool = BoundedPool()
        self._file_bytes: _FileBytes | FactError | None = None
        """Or why they are not known; None until they were asked for."""
        self.server_version = self._ping()

    def query(self, fact: str, timeout_s: float, **parameters: Any) -> Rows:
        """Run `sql/influxdb1/<fact>.influxql`; see `connector.Connection`."""
        statement = queries.render(_ENGINE, fact, **parameters)
        rows = Rows(statement, iter(()))
        if fact == "database_bytes":
            return rows.reading(self._database_bytes(timeout_s, rows, parameters["database"]))
        series = self._series(statement, timeout_s, rows, None if fact in _STREAMED else streaming.MOST_BYTES)
        return rows.reading(_READERS[fact](series, parameters))

    def reconnect(self) -> InfluxConnection:
        """A further connection to the same server."""
        return InfluxConnection(self._url, self._login, self._connect_timeout_s)

    def close(self) -> None:
        """Close the connection; a statement that runs on it is aborted by the server."""
        self._pool.clear()

    def abort(self) -> None:
        """Shut the connection down; the server aborts the statement."""
        self._pool.abort()

    def _database_bytes(self, timeout_s: float, rows: Rows, database: str) -> Iterator[pa.RecordBatch]:
        """What the shards of the database take, by statistics that are asked for once for all databases."""
        if self._file_bytes is None:
            try:
                self._file_bytes = self._ask_for_bytes(timeout_s, rows)
            except FactError as error:
                self._file_bytes = error
        else:
            rows.statements = 0
        if isinstance(self._file_bytes, FactError):
            raise FactError(self._file_bytes.reason, self._file_bytes.detail)
        rows.statement = self._file_bytes.statement
        held = self._file_bytes.by_database.get(database, 0)
        yield pa.record_batch({"data_bytes": pa.array([held], pa.int64()), "index_bytes": pa.nulls(1, pa.int64())})

    def _ask_for_bytes(self, timeout_s: float, rows: Rows) -> _FileBytes:
        """As the server has them, which it tells administrators, else as it notes them itself."""
        deadline = time.monotonic() + timeout_s
        try:
            return _FileBytes(
                rows.statement, _summed(self._series(rows.statement, timeout_s, rows, streaming.MOST_BYTES))
            )
        except FactError as error:
            if error.reason is not Reason.DENIED:
                raise
        statement = queries.render_file(queries.root() / _ENGINE / "_noted_shards.influxql")
        rows.statements += 1
        try:
            left = max(0.1, deadline - time.monotonic())
            found = _summed(self._series(statement, left, rows, streaming.MOST_BYTES))
        except FactError as error:
            if error.reason is not Reason.DENIED:
                raise
            raise FactError(Reason.DENIED, f"bytes are for administrators to see; {_NOTES}") from error
        if not found:
            # It would have noted its own database.
            raise FactError(Reason.UNSUPPORTED, "the server notes no statistics of itself: [monitor] store-enabled")
        return _FileBytes(statement, found)

    def _ping(self) -> str:
        try:
            with self._pool.until(self._connect_timeout_s):
                timeout, headers = self._connect_timeout_s, self._headers
                response = self._pool.request("GET", f"{self._url}/ping", headers=headers, timeout=timeout)
        except (HTTPError, OSError) as error:
            raise ConnectorError(f"{self._url} does not answer: {causes.words(error)}") from error
        if what := causes.what_it_is(response, "the user name or the password"):
            raise ConnectorError(f"{self._url} {what}")
        version = response.headers.get("X-Influxdb-Version")
        if version is None:
            raise ConnectorError(f"{self._url} answers, but not as InfluxDB (HTTP {response.status})")
        if not re.match(r"v?1\.", version):
            raise ConnectorError(f"{self._url} is InfluxDB {version[:40]}; this engine is for 1.x")
        return version.removeprefix("v")[:40]

    def _series(self, statement: str, timeout_s: float, rows: Rows, most: int | None = None) -> Iterator[Series]:
        """The series of the answer as they arrive. FactError unless the answer is whole and without error.

        `most`: bytes of the answer; None where it is used as it arrives.
        """
        response = None
        try:
            with self._pool.until(timeout_s):
                response = self._post(statement, timeout_s)
                if response.status != 200:
                    raise influxql.refused(response, _GRANT)
                yield from influxql.read_series(response, rows, _GRANT, most)
        except TimeoutError as error:
            raise streaming.timed_out(timeout_s) from error
        except UnfitAnswerError as error:
            raise streaming.unfit(error) from error
        except (HTTPError, OSError) as error:
            raise self._broken(error) from error
        finally:
            if response is not None:
                # Nothing is kept of a connection with an unread rest: closing it makes the server give up.
                response.close()

    def _post(self, statement: str, timeout_s: float) -> urllib3.BaseHTTPResponse:
        # A limit of the socket's own comes after that of the pool.
        timeout = urllib3.Timeout(connect=min(self._connect_timeout_s, timeout_s), read=timeout_s + 1)
        return self._pool.request(
            "POST",
            f"{self._url}/query",
            body=urlencode({"q": statement} | influxql.PARAMETERS),
            headers=self._headers,
            timeout=timeout,
            preload_content=False,
        )

    def _broken(self, error: Exception) -> FactError:
        """The connection was lost: because the server is gone, or only this answer?"""
        try:
            self._ping()
        except ConnectorError:
            return FactError(Reason.UNREACHABLE, f"the server is gone ({causes.words(error)})")
        return FactError(Reason.FAILED, f"the connection broke off ({causes.words(error)}); the server still answers")


# --- From series to the columns of a fact ------------------------------------------------------------------------


def _databases(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    for series in answer:
        names = [name for name in influxql.column(series, "name") if name != _OWN_DATABASE]
        yield pa.record_batch({"database": pa.array(names, pa.string())})


def _retention(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    for series in answer:
        yield pa.record_batch(
            {
                "policy": pa.array(influxql.column(series, "name"), pa.string()),
                "duration_s": pa.array([duration_s(d) for d in influxql.column(series, "duration")], pa.int64()),
                "partition_s": pa.array(
                    [duration_s(d) for d in influxql.column(series, "shardGroupDuration")], pa.int64()
                ),
                "default": pa.array(influxql.column(series, "default"), pa.bool_()),
            }
        )


def duration_s(text: str) -> int:
    """Seconds in a duration as Go writes it, such as `168h0m0s`."""
    return round(sum(float(number) * _SECONDS[unit] for number, unit in _GO_DURATION.findall(text)))


def _summed(answer: Iterator[Series]) -> dict[str, int]:
    """The bytes of all shards, by database."""
    held: dict[str, int] = {}
    for series in answer:
        database = series["tags"]["database"]
        held[database] = held.get(database, 0) + sum(int(n) for n in influxql.column(series, "diskBytes") if n)
    return held


def _database_series(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    # A database without series answers nothing, or 0. The column's name differs between versions.
    total = sum(int(row[0]) for series in answer for row in series.get("values", ()))
    yield pa.record_batch({"series": pa.array([total], pa.int64()), "counts_fields": [False]})


_READERS: Final[Mapping[str, Reader]] = {
    "databases": _databases,
    "measurements": influxql.columns_of(measurement="name"),
    "tag_keys": influxql.columns_of(measurement="name of series", tag="tagKey"),
    "field_types": influxql.columns_of(measurement="name of series", field="fieldKey", data_type="fieldType"),
    "retention": _retention,
    "database_series": _database_series,
    "series_listing": influxql.listing,
    "row_sample": influxql.sample,
    "row_count": influxql.row_count,
}
