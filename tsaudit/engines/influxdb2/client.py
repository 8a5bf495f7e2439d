"""InfluxDB 2.x over HTTP: REST, Flux, and InfluxQL, sent through influxdb-client.

The client's own parsing of responses is not used: it prints, treats '' as null, and gives up after 10 s. Of its four
families of exceptions, ApiException and urllib3's can still occur; `translated` handles both.
"""

from __future__ import annotations

import csv
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import urllib3
from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.rest import ApiException
from urllib3.exceptions import HTTPError

from tsaudit.engines.connection import ConnectorError, FactError, FactQuery
from tsaudit.engines.influx import influxql, streaming
from tsaudit.model.profile import Reason
from tsaudit.net import http
from tsaudit.net.http import BoundedPool, TooBigAnswerError, UnfitAnswerError, whole

DIALECT: Final = {"annotations": ["datatype"], "header": True, "delimiter": ","}
"""Request parameters that give the response the format read here."""
_ERROR: Final = ["error", "reference"]


@dataclass(frozen=True, slots=True)
class Record:
    """One row of a table. Tables of one response may have different columns."""

    types: Mapping[str, str]
    """Column to data type: `string`, `double`, `long`, `unsignedLong`, `boolean`, `dateTime:RFC3339`, ..."""
    values: Mapping[str, str]
    """Column to value, as a string. Null and the empty string cannot be distinguished."""


def read_records(lines: Iterator[bytes]) -> Iterator[Record]:
    """The rows of all tables. Raises FactError for an error table, which may also follow regular rows.

    https://docs.influxdata.com/influxdb/v2/reference/syntax/annotated-csv/
    """
    types: list[str] = []
    names: list[str] | None = None
    # A quoted value may contain line breaks, so the CSV reader requests as many lines as it needs.
    for cells in csv.reader(line.decode() + "\n" for line in lines):
        if not cells:
            names, types = None, []
        elif cells[0].startswith("#"):
            names, types = None, cells[1:] if cells[0] == "#datatype" else types
        elif names is None:
            names = cells[1:]
        elif names == _ERROR:
            raise FactError(Reason.FAILED, f"the response broke off: {' '.join(cells[1].split())[:300]}")
        elif len(cells) != len(names) + 1:
            raise FactError(Reason.FAILED, "the response is not annotated CSV; is there a proxy in between?")
        else:
            yield Record(dict(zip(names, types, strict=False)), dict(zip(names, cells[1:], strict=True)))


_GRANT: Final = "grant the token read on the bucket, see sql/influxdb2/grants.md"
_REST_BYTES: Final = 8 << 20
"""Maximum size in bytes of a page of 100 buckets, or of the schema of one bucket."""
_BUSY: Final = frozenset({429, 503})


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server, and the login."""

    url: str
    token: str = field(repr=False)
    org: str
    """Name of the organization; empty for all organizations whose buckets the token may read."""
    connect_timeout_s: float


class Client:
    """A pool of HTTP connections, used by one thread. Errors are raised unchanged, except inside `translated`."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client: Any = InfluxDBClient(address.url, address.token, org=address.org)
        # The client's own pool would follow redirects, and read the bodies of errors completely.
        self._pool = BoundedPool()
        transport: Any = self._client.api_client.rest_client
        transport.pool_manager = self._pool
        try:
            self.version, self.is_cloud = self._ping()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections; the server aborts their current statements."""
        self._client.close()
        self._pool.clear()

    def abort(self) -> None:
        """Shut the connections down, from any thread."""
        self._pool.abort()

    def rest(self, request: Mapping[str, Any], ask: FactQuery) -> dict[str, Any]:
        """The decoded response to a request of the REST API, which consists of `method`, `path`, and `query`. It must
        be an object.
        """
        with closing(self._asked(request, ask)) as response:
            body = whole(response, _REST_BYTES)
        ask.rows.bytes = (ask.rows.bytes or 0) + len(body)
        if ask.rows.bytes > streaming.MOST_BYTES:
            raise TooBigAnswerError(f"the pages of the response have more than {streaming.MOST_BYTES >> 20} MiB")
        try:
            found = json.loads(body)
        except (ValueError, RecursionError) as error:
            what = "is a web page, not JSON" if http.is_page({}, body) else "is not JSON"
            raise FactError(Reason.FAILED, f"the response {what}; is there a proxy in between?") from error
        if not isinstance(found, dict):
            raise FactError(Reason.FAILED, "the response is not an object; is there a proxy in between?")
        return found

    def lines(self, request: Mapping[str, Any], ask: FactQuery) -> Iterator[bytes]:
        """The raw response to a request of the REST API."""
        with closing(self._asked(request, ask)) as response:
            yield from streaming.lines(response, ask.rows, streaming.MOST_BYTES)

    def _asked(self, request: Mapping[str, Any], ask: FactQuery) -> urllib3.BaseHTTPResponse:
        query = [(key, str(value)) for key, value in request["query"].items()]
        return self._send(request["path"], ask, method=request["method"], query_params=query)

    def records(self, statement: str, org_id: str, ask: FactQuery, most: int | None = None) -> Iterator[Record]:
        """The rows that a Flux statement returns. `most`: maximum size in bytes; None if they are used as
        they arrive.
        """
        body = {"query": statement, "type": "flux", "dialect": DIALECT}
        with closing(self._send("/api/v2/query", ask, query_params=[("orgID", org_id)], body=body)) as response:
            yield from read_records(streaming.lines(response, ask.rows, most))

    def series(self, statement: str, ask: FactQuery, policy: str = "") -> Iterator[influxql.Series]:
        """The series that an InfluxQL statement returns. `policy`: the retention policy for statements that
        name none.
        """
        form = {"q": statement} | ({"rp": policy} if policy else {}) | influxql.PARAMETERS
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        with closing(self._send("/query", ask, post_params=form, header_params=headers)) as response:
            yield from influxql.read_series(response, ask.rows, _GRANT)

    def _send(self, path: str, ask: FactQuery, *, method: str = "POST", **content: Any) -> urllib3.BaseHTTPResponse:
        """The response, whose body has not been read yet. Retries if the server asks to wait and there is enough time.

        Raises ApiException for any status other than success.
        """
        while True:
            left = ask.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ask.rows.statements += 1
            # The socket's own timeout must come after that of the pool.
            timeout_ms = (1000 * min(self._address.connect_timeout_s, left), 1000 * (left + 1))
            try:
                response: urllib3.BaseHTTPResponse = self._client.api_client.call_api(
                    path,
                    method,
                    **content,
                    _preload_content=False,
                    _return_http_data_only=True,
                    _request_timeout=timeout_ms,
                )
                return response
            except ApiException as error:
                if error.status not in _BUSY:
                    raise
                self._wait(error, ask.deadline)

    def _wait(self, error: ApiException, deadline: float) -> None:
        headers: Mapping[str, str] = error.headers or {}
        asked = headers.get("Retry-After", "")
        said = f"the server is busy or its quota is used up (HTTP {error.status})"
        if not asked.isdecimal():
            raise FactError(Reason.OVER_BUDGET, said, cheaper_helps=False)
        if int(asked) >= deadline - time.monotonic():
            too_long = f"{said}; it asks to wait {asked} s, longer than the audit may wait"
            raise FactError(Reason.OVER_BUDGET, too_long, cheaper_helps=False)
        time.sleep(int(asked))

    def _ping(self) -> tuple[str, bool]:
        """The server's version, and whether it is InfluxDB Cloud. Raises ConnectorError."""
        url, limit = self._address.url, self._address.connect_timeout_s
        try:
            with self._pool.until(limit):
                response = self._pool.beginning(
                    self._client.api_client.call_api(
                        "/ping",
                        "GET",
                        _preload_content=False,
                        _return_http_data_only=True,
                        _request_timeout=round(1000 * limit),
                    )
                )
        except ApiException as error:
            if error.response is None:
                raise ConnectorError(f"{url} does not respond: {http.cause_of(error)}") from error
            response = error.response
        except (HTTPError, OSError) as error:
            raise ConnectorError(f"{url} does not respond: {http.cause_of(error)}") from error
        if what := http.what_it_is(response, "the token"):
            raise ConnectorError(f"{url} {what}")
        headers = response.headers
        version, build = headers.get("X-Influxdb-Version"), headers.get("X-Influxdb-Build", "")
        if version is None:
            raise ConnectorError(f"{url} responds, but not like InfluxDB (HTTP {response.status})")
        if build.lower().startswith("cloud"):
            return "Cloud", True
        if not streaming.is_major(version, 2):
            raise ConnectorError(f"{url} is InfluxDB {version[:40]}; this engine is for 2.x")
        return version.removeprefix("v")[:40], False

    @contextmanager
    def translated(self, timeout_s: float) -> Iterator[None]:
        """Converts errors inside the `with` block to FactError, and aborts the work when the time is up."""
        try:
            with self._pool.until(timeout_s):
                yield
        except TimeoutError as error:
            raise streaming.timed_out(timeout_s) from error
        except ApiException as error:
            raise _refused(error) from error
        except UnfitAnswerError as error:
            raise streaming.unfit(error) from error
        except (HTTPError, OSError) as error:
            raise FactError(Reason.UNREACHABLE, f"the connection broke ({http.cause_of(error)})") from error


def _refused(error: ApiException) -> FactError:
    """The error for an HTTP status other than success."""
    text = _line(error)
    if error.status in (401, 403):
        return FactError(Reason.DENIED, f"{text} (HTTP {error.status}); {_GRANT}")
    if error.status in (408, 504):
        return FactError(Reason.TIMED_OUT, f"the server gave up: {text}")
    if not error.status:
        return FactError(Reason.UNREACHABLE, text)
    if "could not find bucket" in text:
        text = f"{text}: it does not exist, or the token has no permission to read it"
    return FactError(Reason.FAILED, f"{text} (HTTP {error.status})")


def _line(error: ApiException) -> str:
    """The server's message, in one line."""
    try:
        text = str(json.loads(error.body)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        text = str(error.reason or "no reason given")
    return " ".join(text.split())[:300]
