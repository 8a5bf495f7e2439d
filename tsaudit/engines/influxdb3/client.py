"""Sends SQL to InfluxDB 3: over Arrow Flight, which a process of its own reads, or over HTTP."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from typing import Any, Final
from urllib.parse import urlsplit

import pyarrow as pa
import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError

from tsaudit.engines import http_client
from tsaudit.engines.connection import ConnectorError, FactError, Rows, TooManyFilesError
from tsaudit.engines.http_client import HttpClient
from tsaudit.engines.influx import influxql
from tsaudit.engines.influxdb3 import flight_process
from tsaudit.engines.influxdb3.flight_process import DONE
from tsaudit.errors import TsauditError
from tsaudit.model.figures import Reason
from tsaudit.net import http
from tsaudit.net.http import UnfitAnswerError

_CODE: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from tsaudit.engines.influxdb3.flight_process import serve; serve(int(sys.argv[2]))"
)


class EndedError(TsauditError):
    """The process ended instead of responding."""

    def __init__(self, code: int) -> None:
        super().__init__(f"the process that reads Arrow Flight ended with code {code}")
        self.code = code


class FlightReader:
    """A process that reads one response at a time."""

    def __init__(self) -> None:
        """Start the process without waiting until it is ready. Raises OSError."""
        self._pipe, other = Pipe()
        # The command line contains no secrets: addresses, tokens, and statements go through the pipe.
        with other:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _CODE, json.dumps(sys.path), str(other.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[other.fileno()],
                start_new_session=True,  # only this process handles keyboard interrupts
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        return self._process.poll() is None

    def answer(self, request: dict[str, Any], until: float) -> Iterator[tuple[bytes, bytes]]:
        """The kind and the contents of each part of the response, up to the one that ends it; see `flight_process`.
        Raises TimeoutError at that time, and EndedError.
        """
        try:
            self._pipe.send_bytes(json.dumps(request).encode())
            kind = b""
            while kind != DONE:
                kind, body = self._read(until), self._read(until)
                yield kind, body
        except (EOFError, ConnectionError) as error:
            raise self._ended() from error

    def kill(self) -> None:
        """End the process, from any thread; a thread that is waiting for its response gets EndedError."""
        self._process.kill()

    def end(self) -> None:
        """End the process, and release its resources."""
        self._process.kill()
        self._pipe.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)

    def _read(self, until: float) -> bytes:
        if not self._pipe.poll(max(0.0, until - time.monotonic())):
            raise TimeoutError
        return self._pipe.recv_bytes()

    def _ended(self) -> EndedError:
        try:
            return EndedError(self._process.wait(5))
        except subprocess.TimeoutExpired:
            return EndedError(-1)


_TOO_MANY_FILES: Final = re.compile(r"exceed\w* (the |partition or )?file limit", re.IGNORECASE)
_EXHAUSTED: Final = re.compile(r"resources? ?exhausted|limit exceeded|too many requests", re.IGNORECASE)
_LAYERS: Final = re.compile(
    r"^\s*((query error|error while planning query|error during planning|external error|cannot retrieve database): )+",
    re.IGNORECASE,
)
"""Prefixes before the cause in error messages, which differ between Flight and HTTP."""
_AT_WORK: Final = pa.record_batch([], names=[])
_LIMIT: Final = f"messages of more than {flight_process.MOST_MESSAGE // 1_000_000} MB are not read"
_GRACE_S: Final = 1.0
_HOSTED: Final = {".cloud2.influxdata.com": "Cloud Serverless", ".influxdb.io": "Cloud Dedicated"}
"""Suffix of host names to the product, for products that report no version, or only the name of a service.
https://docs.influxdata.com/platform/identify-version/
"""


@dataclass(frozen=True, slots=True)
class ListedColumns:
    """The columns of a response, which a JSON response does not list."""

    names: Sequence[str]
    as_text: bool = False


def server_version(url: str, token: str, greeting: urllib3.BaseHTTPResponse) -> str:
    """The product and its version, as far as the server reports them, such as `Core 3.4.1`, from its response to
    `/ping`. Raises ConnectorError if it is not InfluxDB 3.
    """
    if greeting.status in (401, 403):
        raise ConnectorError(f"{url} rejects the token" if token else f"{url} requires a token as `password`")
    if what := http.what_it_is(greeting, "the token"):
        raise ConnectorError(f"{url} {what}")
    version = greeting.headers.get("X-Influxdb-Version", "").removeprefix("v")[:40]
    if re.match(r"[12]\.", version):
        raise influxql.of_another_version(url, version, 3)
    product = greeting.headers.get("X-Influxdb-Build", "").strip()[:40]
    # A service may report only "Cloud", but its products have different limits.
    host = urlsplit(url).hostname or ""
    hosted = next((name for end, name in _HOSTED.items() if host.endswith(end)), "")
    product = product if product.startswith(hosted) else hosted
    if not product and not version:
        raise ConnectorError(f"{url} responds, but not like InfluxDB 3 (HTTP {greeting.status})")
    return f"{product} {version}".strip()


class Flight:
    """Arrow Flight: batches arrive as the server creates them, and another process reads them; see `flight_process`."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self._token = address, token
        self._aborted = False
        self._reader: FlightReader | None = None
        with contextlib.suppress(OSError):  # the first statement reports errors
            self._reader = FlightReader()

    def run(
        self, database: str, statement: str, deadline: float, rows: Rows, columns: ListedColumns
    ) -> Iterator[pa.RecordBatch]:
        """The response as it arrives, with the named columns. Raises FactError unless it is complete."""
        del rows, columns  # Flight does not report bytes, and sends a schema
        left = max(deadline - time.monotonic(), 0.001)
        reader = self._living()
        is_reusable = False
        try:
            if self._aborted:
                reader.kill()
            request = {
                "address": self._address,
                "token": self._token,
                "database": database,
                "statement": statement,
                "timeout_s": left,
            }
            error = None
            # The server's own timeout comes first, and does not affect the process.
            for kind, body in reader.answer(request, deadline + _GRACE_S):
                if kind == flight_process.BATCH:
                    yield pa.ipc.open_stream(pa.py_buffer(body)).read_next_batch()
                elif kind == flight_process.AT_WORK:
                    # While working, a server sends batches without rows, so that no proxy closes the connection.
                    yield _AT_WORK
                elif kind == flight_process.ERROR:
                    cause, words = json.loads(body)
                    error = _flight_error(cause, words, left)
                else:
                    is_reusable = not body
            if self._aborted:  # a canceled statement may look as if it were complete
                raise FactError(Reason.TIMED_OUT, "broken off")
            if error is not None:
                raise error
        except TimeoutError as late:
            raise http_client.timed_out(left) from late
        except EndedError as ended:
            raise self._ended(ended) from ended
        finally:
            if not is_reusable:
                reader.end()

    def _living(self) -> FlightReader:
        """The process, or a new one if it has ended."""
        if self._reader is None or not self._reader.alive():
            self.close()
            try:
                self._reader = FlightReader()
            except OSError as error:
                raise FactError(Reason.UNREACHABLE, f"cannot start a process for Arrow Flight: {error}") from error
        return self._reader

    def _ended(self, error: EndedError) -> FactError:
        if self._aborted:
            return FactError(Reason.TIMED_OUT, "broken off")
        if error.code == flight_process.TOO_MUCH:
            most = flight_process.MOST_TAKEN // 1_000_000
            return FactError(Reason.FAILED, f"stopped, because reading it took more than {most} MB of memory; {_LIMIT}")
        return FactError(Reason.FAILED, str(error))

    def again(self) -> Flight:
        """Another transport of the same kind, for another thread."""
        return Flight(self._address, self._token)

    def abort(self) -> None:
        """Abort the current statement, from any thread."""
        self._aborted = True
        if (reader := self._reader) is not None:
            reader.kill()

    def close(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.end()


def _flight_error(kind: str, words: str, timeout_s: float) -> FactError:
    text = _words(words)
    if kind == flight_process.TIMED_OUT:
        return http_client.timed_out(timeout_s)
    if kind == flight_process.DENIED:
        return FactError(Reason.DENIED, text)
    if kind == flight_process.CANCELLED:
        # gRPC gives no details about a message that it refuses.
        return FactError(Reason.FAILED, f"stopped; {_LIMIT}")
    if kind == flight_process.UNAVAILABLE:
        return FactError(Reason.UNREACHABLE, text)
    return _refused(text)


class Http(HttpClient):
    """One JSON object per line, for networks that do not support HTTP/2."""

    def __init__(self, url: str, token: str, connect_timeout_s: float) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        super().__init__(url, headers, connect_timeout_s)
        self._token = token

    def version(self) -> str:
        """See `server_version`."""
        return self.greet(lambda greeting: server_version(self.url, self._token, greeting))

    def run(
        self, database: str, statement: str, deadline: float, rows: Rows, columns: ListedColumns
    ) -> Iterator[pa.RecordBatch]:
        """The response as it arrives, with the named columns. Raises FactError unless it is complete."""
        left = max(deadline - time.monotonic(), 0.001)
        query = {"db": database, "q": statement, "format": "jsonl"}
        try:
            # A connection with unread data is not reused: closing it makes the server stop.
            with (
                self._pool.until(left),
                contextlib.closing(self.send("POST", "/api/v3/query_sql", left, json=query)) as response,
            ):
                if response.status != 200:
                    raise _http_error(response)
                lines = http_client.lines(response, rows, None if columns.as_text else http_client.MOST_BYTES)
                yield from batches(lines, columns.names, as_text=columns.as_text)
        except TimeoutError as error:
            raise http_client.timed_out(left) from error
        except UnfitAnswerError as error:
            raise http_client.unfit(error) from error
        except NewConnectionError as error:
            raise FactError(Reason.UNREACHABLE, http.cause_of(error)) from error
        except (HTTPError, OSError, ValueError, RecursionError) as error:
            raise FactError(Reason.FAILED, f"the response broke off ({http.cause_of(error)})") from error

    def again(self) -> Http:
        return Http(self.url, self._token, self._connect_timeout_s)


Transport = Flight | Http
"""A way to send statements to the server."""


def _http_error(response: urllib3.BaseHTTPResponse) -> FactError:
    status, body = response.status, response.data
    text = body.decode("utf-8", "replace")
    if http.is_page(response.headers, body):
        text = f"the server {http.what_it_is(response, 'the token')}"
    with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
        text = str(json.loads(text)["error"])
    detail = _own_words(text) or f"HTTP {status}"
    if status in (401, 403):
        return FactError(Reason.DENIED, detail)
    if status == 429:
        return FactError(Reason.TIMED_OUT, detail, cheaper_helps=False)
    return FactError(Reason.UNREACHABLE, detail) if status in (502, 503, 504) else _refused(detail)


def _refused(text: str) -> FactError:
    if _TOO_MANY_FILES.search(text):
        return TooManyFilesError(Reason.OVER_BUDGET, text)
    return FactError(Reason.OVER_BUDGET if _EXHAUSTED.search(text) else Reason.FAILED, text)


def _words(text: str) -> str:
    """The server's own message in one line, without the text that gRPC and Flight add."""
    text = re.sub(r"^Flight returned .*?with message: ", "", text, flags=re.DOTALL)
    text = re.split(r"\. (?:Detail: |gRPC client debug context: |Client context: )", text)[0]
    return _own_words(text) or "no reason given"


def _own_words(text: str) -> str:
    """The cause of the error, without the layers above it and without locations in the server's code."""
    text = _LAYERS.sub("", text.split("Stack backtrace:")[0])
    return " ".join(text.split())[:300]


LISTED_ROWS: Final = 10_000
WHOLE_ROWS: Final = 1_000_000
"""Rows per batch if one batch is to contain the whole response, so that the inferred types hold for all rows."""


def batches(lines: Iterable[bytes], columns: Sequence[str], *, as_text: bool) -> Iterator[pa.RecordBatch]:
    """The rows as record batches with the given columns, because JSON shows neither missing columns nor types.

    `as_text`: every column is a string, and batches are small. Otherwise, types are inferred from the values; times
    remain strings. Raises ValueError for anything other than JSON objects.
    """
    rows = (_row(line, columns) for line in lines if line.strip())
    while some := list(itertools.islice(rows, LISTED_ROWS if as_text else WHOLE_ROWS)):
        arrays = [_array([row.get(column) for row in some], as_text) for column in columns]
        yield pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _row(line: bytes, columns: Sequence[str]) -> dict[str, Any]:
    row = None
    with contextlib.suppress(ValueError):  # the library's messages are for programmers
        row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError("a line is not a JSON object; is there a proxy in between?")
    # Nulls are left out of a row. It may even be empty, but it must not have other columns.
    if row and row.keys().isdisjoint(columns):
        raise ValueError("a row has none of the requested columns")
    return row


def _array(values: list[Any], as_text: bool) -> pa.Array:
    if as_text:
        return pa.array([None if v is None else str(v) for v in values], pa.string())
    kinds = {type(v) for v in values if v is not None}
    if kinds == {int, float}:
        return pa.array([None if v is None else float(v) for v in values], pa.float64())
    return pa.array(values) if kinds else pa.array(values, pa.string())
