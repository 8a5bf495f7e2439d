"""InfluxDB 1.x: InfluxQL over HTTP, in chunks, read as they arrive."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import unquote, urlencode, urlsplit

import pyarrow as pa
import urllib3
from urllib3.exceptions import HTTPError, IncompleteRead, ProtocolError, ReadTimeoutError

from tsaudit import queries
from tsaudit.analysis.series_keys import parse
from tsaudit.connector import ConnectorError, FactError, Rows
from tsaudit.profile import Reason

CHUNK_ROWS: Final = 10_000
_ENGINE: Final = "influxdb1"
_READ_BYTES: Final = 1 << 16
_OWN_DATABASE: Final = "_internal"
_DENIED: Final = re.compile(
    r"not authorized|authorization|authenticat|requires? admin|unable to parse auth", re.IGNORECASE
)
_TIMED_OUT: Final = re.compile(r"timeout|interrupted|timed out", re.IGNORECASE)
_GO_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|us|µs|ns|s)")
_SECONDS: Final = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}

Series = Mapping[str, Any]
"""One series of an answer: `name`, `columns` and `values`, as the server sends them."""


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


class InfluxConnection:
    """A pool of one HTTP connection."""

    def __init__(self, url: str, login: tuple[str | None, str | None], connect_timeout_s: float) -> None:
        self._url = url
        self._login = login
        self._connect_timeout_s = connect_timeout_s
        self._headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if login[0] is not None:
            self._headers |= urllib3.make_headers(basic_auth=f"{login[0]}:{login[1] or ''}")
        self._pool = urllib3.PoolManager(num_pools=1, retries=False)
        self.server_version = self._ping()

    def query(self, fact: str, timeout_s: float, **parameters: Any) -> Rows:
        """Run `sql/influxdb1/<fact>.influxql`; see `connector.Connection`."""
        statement = queries.render(_ENGINE, fact, **parameters)
        rows = Rows(statement, iter(()))
        series = self._series(statement, timeout_s, rows)
        return rows.reading(_READERS[fact](series, parameters))

    def reconnect(self) -> InfluxConnection:
        """A further connection to the same server."""
        return InfluxConnection(self._url, self._login, self._connect_timeout_s)

    def close(self) -> None:
        """Close the connection; a statement that runs on it is aborted by the server."""
        self._pool.clear()

    def _ping(self) -> str:
        try:
            response = self._pool.request("GET", f"{self._url}/ping", timeout=self._connect_timeout_s)
        except HTTPError as error:
            raise ConnectorError(f"{self._url} does not answer ({_words(error)}); is it the right address?") from error
        version = response.headers.get("X-Influxdb-Version")
        if version is None:
            raise ConnectorError(f"{self._url} answers, but not as InfluxDB (HTTP {response.status})")
        if not re.match(r"v?1\.", version):
            raise ConnectorError(f"{self._url} is InfluxDB {version}; this engine is for 1.x")
        return version.removeprefix("v")

    def _series(self, statement: str, timeout_s: float, rows: Rows) -> Iterator[Series]:
        """The series of the answer as they arrive. FactError unless the answer is whole and without error."""
        deadline = time.monotonic() + timeout_s
        response = None
        try:
            response = self._post(statement, timeout_s)
            if response.status != 200:
                raise _refused(response.status, response.data)
            complete = False
            for document in _documents(response, deadline, rows):
                complete = not any(_partial(result) for result in _results(document))
                for result in _results(document):
                    yield from result.get("series", ())
            if not complete:
                raise FactError(Reason.FAILED, "the answer broke off before its last part")
        except (ReadTimeoutError, TimeoutError) as error:
            raise _timed_out(timeout_s) from error
        except (HTTPError, OSError) as error:
            raise self._broken(error) from error
        finally:
            if response is not None:
                # Nothing is kept of a connection with an unread rest: closing it makes the server give up.
                response.close()

    def _post(self, statement: str, timeout_s: float) -> urllib3.BaseHTTPResponse:
        query = {"q": statement, "epoch": "ns", "chunked": "true", "chunk_size": str(CHUNK_ROWS)}
        timeout = urllib3.Timeout(connect=min(self._connect_timeout_s, timeout_s), read=timeout_s)
        return self._pool.request(
            "POST",
            f"{self._url}/query",
            body=urlencode(query),
            headers=self._headers,
            timeout=timeout,
            preload_content=False,
        )

    def _broken(self, error: Exception) -> FactError:
        """The connection was lost: because the server is gone, or only this answer?"""
        try:
            self._ping()
        except ConnectorError:
            return FactError(Reason.UNREACHABLE, f"the server is gone ({_words(error)})")
        return FactError(Reason.FAILED, f"the connection broke off ({_words(error)}); the server still answers")


# --- Reading the answer ------------------------------------------------------------------------------------------


def _documents(response: urllib3.BaseHTTPResponse, deadline: float, rows: Rows) -> Iterator[dict[str, Any]]:
    """The JSON documents of a chunked answer, one line each, as they arrive."""
    parts: list[bytes] = []
    data = b"..."
    while data:
        _wait_at_most(response, deadline)
        # What is there, and no waiting until the buffer is full: the deadline holds for a server that drips, too.
        data = response.read1(_READ_BYTES)
        rows.bytes = (rows.bytes or 0) + len(data)
        *ends, rest = data.split(b"\n")
        for end in ends:
            yield from _documents_in(b"".join([*parts, end]))
            parts.clear()
        parts.append(rest)
    yield from _documents_in(b"".join(parts))


def _wait_at_most(response: urllib3.BaseHTTPResponse, deadline: float) -> None:
    """Let the next read end at the deadline, however little the server sends at a time."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    socket = getattr(getattr(response, "connection", None), "sock", None)
    if socket is not None:
        socket.settimeout(left)


def _documents_in(line: bytes) -> Iterator[dict[str, Any]]:
    """The document in one line; none in an empty one."""
    if not line.strip():
        return
    try:
        document = json.loads(line)
    except ValueError as error:
        raise FactError(Reason.FAILED, "the answer is not JSON; is a proxy in between?") from error
    if not isinstance(document, dict):
        raise FactError(Reason.FAILED, "the answer is not an object; is a proxy in between?")
    if "error" in document:
        raise _said(str(document["error"]))
    yield document


def _results(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The results of one document. Errors stand here too, whatever the HTTP status was."""
    results = document.get("results", [])
    for result in results:
        if "error" in result:
            raise _said(str(result["error"]))
    return list(results)


def _partial(result: Mapping[str, Any]) -> bool:
    """Whether more of this result follows."""
    return bool(result.get("partial")) or any(series.get("partial") for series in result.get("series", ()))


def _refused(status: int, body: bytes) -> FactError:
    try:
        text = str(json.loads(body)["error"])
    except (ValueError, KeyError, TypeError):
        text = f"HTTP {status}"
    if status in (401, 403):
        return FactError(Reason.DENIED, f"{text}; grant READ on the database, see sql/influxdb1/grants.md")
    return _said(text)


def _said(text: str) -> FactError:
    """The server's own error message, with the reason it amounts to."""
    line = text.strip().splitlines()[0][:300] if text.strip() else "error without a message"
    if _DENIED.search(line):
        return FactError(Reason.DENIED, f"{line}; grant READ on the database, see sql/influxdb1/grants.md")
    if _TIMED_OUT.search(line):
        return FactError(Reason.TIMED_OUT, f"the server gave up: {line}")
    return FactError(Reason.FAILED, line)


def _timed_out(timeout_s: float) -> FactError:
    return FactError(Reason.TIMED_OUT, f"cancelled after {timeout_s:g} s")


def _words(error: BaseException) -> str:
    """What went wrong with a connection, in few words and without addresses of objects."""
    if isinstance(error, IncompleteRead | ProtocolError):
        return "connection lost"
    reason = error.args[-1] if error.args else error
    return re.sub(r"<[^>]*>[:,]?\s*", "", str(reason)).strip()[:200] or type(error).__name__


# --- From series to the columns of a fact ------------------------------------------------------------------------

Reader = Callable[[Iterator[Series], Mapping[str, Any]], Iterator[pa.RecordBatch]]


def _columns(**columns: str) -> Reader:
    """A reader that renames columns; `name` stands for the name of the series, which is the measurement's."""

    def read(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
        for series in answer:
            values = series.get("values", ())
            arrays = [
                pa.array([series["name"]] * len(values), pa.string())
                if source == "name of series"
                else pa.array(_column(series, source))
                for source in columns.values()
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=list(columns))

    return read


def _column(series: Series, name: str) -> list[Any]:
    place = series["columns"].index(name)
    return [row[place] for row in series.get("values", ())]


def _databases(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    for series in answer:
        names = [name for name in _column(series, "name") if name != _OWN_DATABASE]
        yield pa.record_batch({"database": pa.array(names, pa.string())})


def _retention(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    for series in answer:
        yield pa.record_batch(
            {
                "policy": pa.array(_column(series, "name"), pa.string()),
                "duration_s": pa.array([duration_s(d) for d in _column(series, "duration")], pa.int64()),
                "partition_s": pa.array([duration_s(d) for d in _column(series, "shardGroupDuration")], pa.int64()),
                "default": pa.array(_column(series, "default"), pa.bool_()),
            }
        )


def duration_s(text: str) -> int:
    """Seconds in a duration as Go writes it, such as `168h0m0s`."""
    return round(sum(float(number) * _SECONDS[unit] for number, unit in _GO_DURATION.findall(text)))


def _database_series(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    # A database without series answers nothing, or 0. The column's name differs between versions.
    total = sum(int(row[0]) for series in answer for row in series.get("values", ()))
    yield pa.record_batch({"series": pa.array([total], pa.int64())})


def _listing(answer: Iterator[Series], parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    tags: Sequence[str] = parameters["tags"]
    for series in answer:
        try:
            found = parse(pa.array(_column(series, "key"), pa.string()))
        except ValueError as error:
            raise FactError(Reason.FAILED, str(error)) from error
        unknown = set(found.schema.names) - set(tags)
        if unknown:
            raise FactError(Reason.FAILED, f"tag {min(unknown)} appeared while the schema was being read")
        nothing = pa.nulls(found.num_rows, pa.string())
        arrays = [found.column(tag) if tag in found.schema.names else nothing for tag in tags]
        yield pa.RecordBatch.from_arrays(arrays, names=list(tags))


def _sample(answer: Iterator[Series], parameters: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """Time, fields, tags. By position: a tag and a field of one name are both called after it."""
    names = ["time", *parameters["fields"], *parameters["tags"]]
    for series in answer:
        columns = list(zip(*series.get("values", ()), strict=True)) or [()] * len(names)
        arrays = [pa.array(columns[0], pa.timestamp("ns", "UTC")), *(_values(c) for c in columns[1:])]
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def _values(values: Sequence[Any]) -> pa.Array:
    """JSON knows no integers: a float field with whole values arrives as such. Mixed types become text."""
    kinds = {type(v) for v in values if v is not None}
    if not kinds:
        return pa.nulls(len(values))
    if kinds <= {int, float}:
        return pa.array(values, pa.int64()) if kinds == {int} else pa.array([_float(v) for v in values], pa.float64())
    if len(kinds) == 1:
        return pa.array(values)
    return pa.array([None if v is None else str(v) for v in values], pa.string())


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)


def _row_count(answer: Iterator[Series], _: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """One row per series: the values of its fullest field."""
    counts = [max((v or 0 for v in row[1:]), default=0) for s in answer for row in s.get("values", ())]
    yield pa.record_batch({"rows": pa.array(counts, pa.int64())})


_READERS: Final[Mapping[str, Reader]] = {
    "databases": _databases,
    "measurements": _columns(measurement="name"),
    "tag_keys": _columns(measurement="name of series", tag="tagKey"),
    "field_types": _columns(measurement="name of series", field="fieldKey", data_type="fieldType"),
    "retention": _retention,
    "database_series": _database_series,
    "series_listing": _listing,
    "row_sample": _sample,
    "row_count": _row_count,
}
