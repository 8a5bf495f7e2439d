"""InfluxDB 2.x over HTTP: REST, Flux, and InfluxQL, sent through influxdb-client.

The client's own parsing of responses is not used: it prints, treats '' as null, and gives up after 10 s.

Buckets, too: their IDs, their names in InfluxQL, and the metrics that the server has of them. One lookup serves all
connections to a server.
"""

from __future__ import annotations

import csv
import json
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode

import urllib3
from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.rest import ApiException
from urllib3.exceptions import HTTPError

from tsaudit.engines import http_client, queries
from tsaudit.engines.connection import Access, FactError, FactQuery
from tsaudit.engines.http_client import HttpClient, metric_samples
from tsaudit.engines.influx import influxql
from tsaudit.model.figures import Reason
from tsaudit.net.http import TooBigAnswerError, whole

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
_CLOUD: Final = "Cloud"


class StatusError(FactError):
    """The server responded with an HTTP status other than success."""

    def __init__(self, status: int, reason: Reason, detail: str) -> None:
        super().__init__(reason, detail)
        self.status = status


class Client(HttpClient):
    """A client of one server. Raises ConnectorError if it is not InfluxDB 2.x. Only inside `translated`, all errors are
    of tsaudit's own kinds.
    """

    def __init__(self, access: Access) -> None:
        """`access`: with the token as `password`, and a URL without login and query."""
        super().__init__(access.url, {"Authorization": f"Token {access.password}"}, access.connect_timeout_s)
        self._api: Any = InfluxDBClient(access.url, access.password or "").api_client
        # The client's own pool would follow redirects, and read the bodies of errors completely.
        transport: Any = self._api.rest_client
        transport.pool_manager = self._pool
        self.version = self.greet(self._version)
        """The server's version; that of InfluxDB Cloud is `_CLOUD`."""

    @property
    def is_cloud(self) -> bool:
        return self.version == _CLOUD

    def rest(self, request: Mapping[str, Any], ask: FactQuery) -> dict[str, Any]:
        """The decoded response, an object, to a request of the REST API: `method`, `path`, and `query`."""
        with closing(self._asked(request, ask)) as response:
            body = whole(response, _REST_BYTES)
        ask.rows.bytes = (ask.rows.bytes or 0) + len(body)
        if ask.rows.bytes > http_client.MOST_BYTES:
            raise TooBigAnswerError(f"the pages of the response have more than {http_client.MOST_BYTES >> 20} MiB")
        return http_client.json_object(body)

    def lines(self, request: Mapping[str, Any], ask: FactQuery) -> Iterator[bytes]:
        """The raw response to a request of the REST API."""
        with closing(self._asked(request, ask)) as response:
            yield from http_client.lines(response, ask.rows, http_client.MOST_BYTES)

    def _asked(self, request: Mapping[str, Any], ask: FactQuery) -> urllib3.BaseHTTPResponse:
        query = [(key, str(value)) for key, value in request["query"].items()]
        return self._send(request["method"], request["path"], ask, query_params=query)

    def records(self, statement: str, org_id: str, ask: FactQuery, most: int | None = None) -> Iterator[Record]:
        """The rows that a Flux statement returns. `most`: maximum size in bytes; None if they are used on arrival."""
        content = {
            "query_params": [("orgID", org_id)],
            "body": {"query": statement, "type": "flux", "dialect": DIALECT},
        }
        with closing(self._send("POST", "/api/v2/query", ask, **content)) as response:
            yield from read_records(http_client.lines(response, ask.rows, most))

    def series(self, statement: str, ask: FactQuery, policy: str = "") -> Iterator[influxql.Series]:
        """The series that an InfluxQL statement returns. `policy`: the policy for statements that name none."""
        form = {"q": statement} | ({"rp": policy} if policy else {}) | influxql.PARAMETERS
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        with closing(self._send("POST", "/query", ask, post_params=form, header_params=headers)) as response:
            yield from influxql.read_series(response, ask.rows, _GRANT)

    def _send(self, method: str, path: str, ask: FactQuery, **content: Any) -> urllib3.BaseHTTPResponse:
        """The response, whose body has not been read yet. Retries if the server asks to wait and there is enough time.

        Raises StatusError for any status other than success.
        """
        while True:
            left = ask.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ask.rows.statements += 1
            response = self.send(method, path, left, **content)
            if 200 <= response.status < 300:
                return response
            if response.status not in _BUSY:
                raise _refused(response)
            _wait(response, ask.deadline)

    def send(self, method: str, path: str, timeout_s: float, **content: Any) -> urllib3.BaseHTTPResponse:
        """The same through influxdb-client. `content`: as for its `ApiClient.call_api`."""
        try:
            response: urllib3.BaseHTTPResponse = self._api.call_api(
                path,
                method,
                **content,
                _preload_content=False,
                _return_http_data_only=True,
                # In milliseconds. The socket's own timeout must come after that of the pool.
                _request_timeout=(1000 * min(self._connect_timeout_s, timeout_s), 1000 * (timeout_s + 1)),
            )
        except ApiException as error:
            if error.response is None:
                raise HTTPError(error.reason) from error
            return error.response
        return response

    def _version(self, greeting: urllib3.BaseHTTPResponse) -> str:
        if greeting.status < 300 and greeting.headers.get("X-Influxdb-Build", "").lower().startswith("cloud"):
            return _CLOUD
        return influxql.server_version(self.url, greeting, "the token", 2)


def _wait(response: urllib3.BaseHTTPResponse, deadline: float) -> None:
    """Wait as long as the server asks for. Raises FactError if it does not say, or if that is too long."""
    asked = response.headers.get("Retry-After", "")
    said = f"the server is busy or its quota is used up (HTTP {response.status})"
    if not asked.isdecimal():
        raise FactError(Reason.TIMED_OUT, said, cheaper_helps=False)
    if int(asked) >= deadline - time.monotonic():
        too_long = f"{said}; it asks to wait {asked} s, longer than the audit may wait"
        raise FactError(Reason.TIMED_OUT, too_long, cheaper_helps=False)
    time.sleep(int(asked))


def _refused(response: urllib3.BaseHTTPResponse) -> StatusError:
    text, status = _line(response), response.status
    if status in (401, 403):
        # An unknown token gets the same status as one without the right, and other words.
        is_unknown = text == "unauthorized access"
        what_to_do = "the token is wrong, or was revoked" if is_unknown else _GRANT
        return StatusError(status, Reason.DENIED, f"{text} (HTTP {status}); {what_to_do}")
    if status in (408, 504):
        return StatusError(status, Reason.TIMED_OUT, f"the server gave up: {text}")
    if "could not find bucket" in text:
        text = f"{text}: it does not exist, or the token has no permission to read it"
    return StatusError(status, Reason.FAILED, f"{text} (HTTP {status})")


def _line(response: urllib3.BaseHTTPResponse) -> str:
    """The server's message, in one line."""
    try:
        text = str(json.loads(response.data)["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        text = str(response.reason or "no reason given")
    return " ".join(text.split())[:300]


_ENGINE: Final = "influxdb2"


@dataclass(frozen=True, slots=True)
class Bucket:
    """What requests need to know about a bucket in addition to its name."""

    id: str
    org_id: str


@dataclass(frozen=True, slots=True)
class Dbrp:
    """The names of a bucket in InfluxQL."""

    database: str
    policy: str
    default: bool
    """Whether the bucket is used if a statement names only the database."""


class BucketList:
    """Looks up buckets by name, each only once. Methods raise FactError, and the errors of `Client`."""

    def __init__(self, client: Client, known: Known) -> None:
        self._client = client
        self._known = known

    def remember(self, buckets: Sequence[Mapping[str, Any]]) -> None:
        """Store the buckets that the server lists. Raises FactError if two buckets share a name."""
        for bucket in buckets:
            known = self._known.buckets.get(bucket["name"])
            if known and known.org_id != bucket["orgID"]:
                detail = f"two organizations have a bucket {bucket['name']}; name one in the URL: ?org=NAME"
                raise FactError(Reason.FAILED, detail)
            self._known.buckets[bucket["name"]] = Bucket(bucket["id"], bucket["orgID"])

    def look_up(self, ask: FactQuery) -> dict[str, Any]:
        """The bucket as described by the server. Raises FactError if there is none with this name."""
        request = json.loads(queries.render(_ENGINE, "retention", **ask.about))
        ask.rows.statement = shown(request)
        buckets = self._client.rest(request, ask)["buckets"]
        if not buckets:
            name = ask.about["database"]
            detail = f"no bucket {name} is visible: it does not exist, or the token has no permission to read it"
            raise FactError(Reason.FAILED, detail)
        self.remember(buckets)
        found: dict[str, Any] = buckets[0]
        return found

    def of(self, ask: FactQuery) -> Bucket:
        """The bucket that the query is about."""
        name = ask.about["database"]
        if name not in self._known.buckets:
            self.look_up(ask)
        return self._known.buckets[name]

    def dbrp(self, ask: FactQuery) -> Dbrp | None:
        """The names of the bucket in InfluxQL: the default mapping of its own database, otherwise a user-defined
        mapping, otherwise a virtual one. None if there is none.
        """
        known, name = self._known.mappings, ask.about["database"]
        if name not in known:
            bucket = self.of(ask)
            text = queries.render_file(_ENGINE, "_dbrp.json", org_id=bucket.org_id, bucket_id=bucket.id)
            request = json.loads(text)
            try:
                listed = self._client.rest(request, ask).get("content") or []
            except StatusError:
                listed = []
            listed.sort(key=lambda m: (not m["default"], bool(m.get("virtual"))))
            mappings = (Dbrp(m["database"], m["retention_policy"], m["default"]) for m in listed)
            names = [one for one in mappings if isinstance(one.database, str) and isinstance(one.policy, str)]
            known[name] = names[0] if names else None
        return known[name]


def shown(request: Mapping[str, Any]) -> str:
    """A request of the REST API in one line, for display."""
    query = urlencode(request["query"])
    return f"{request['method']} {request['path']}{'?' + query if query else ''}"


_SERIES: Final = "storage_bucket_series_num"
_LIVE: Final = ("storage_tsm_files_total", "storage_tsm_files_disk_bytes", "storage_wal_size")
_SHARD_SERIES: Final = "storage_shard_series"
_UPTIME: Final = "influxdb_uptime_seconds"
_COMPACTIONS_FAILED: Final = "storage_compactions_failed"
_TASK_RUNS: Final = "task_executor_total_runs_complete"
_POINTS_FAILED: Final = "storage_writer_err_points_sum"
_WRITES: Final = ("storage_shard_write_sum", "storage_shard_write_count")
"""Points and requests, which 2.7 has the wrong way round; there are never more requests."""
_WRITES_FAILED: Final = ("storage_shard_write_err_sum", "storage_shard_write_err_count")
"""The same of requests that were refused, and of those of which some points were dropped: with the other points."""
_DROPPED: Final = "storage_shard_write_dropped_sum"
_REFUSED: Final = ("storage_cache_writes_err", "storage_wal_writes_err")
"""Requests that were refused."""
_OF_WRITES: Final = frozenset((*_WRITES, *_WRITES_FAILED, _DROPPED, *_REFUSED))


@dataclass(frozen=True, slots=True)
class Gauges:
    """Metrics by bucket ID."""

    series: Mapping[str, int]
    """Number of tag sets. A bucket is missing until 10 s after its first point, and as long as it has no points."""
    file_bytes: Mapping[str, int]
    """Bytes of the data files and logs of its shards, without their index. A bucket without shards is missing."""
    shards: Mapping[str, int] = field(default_factory=dict)
    shard_series: Mapping[str, int] = field(default_factory=dict)
    """Sum of the series in each shard; a series counts once in each shard that contains it. A bucket is missing if the
    server does not report it.
    """
    counters: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(name, bucket) to the counter since the server started, as in `server_status`; without a bucket, the server's."""
    uptime_s: float | None = None
    """Seconds since the server started; None if the server does not report it."""


@dataclass(slots=True)
class Known:
    """What is known about the server; shared by all connections to it."""

    access: Access
    org: str
    """Name of the organization; empty for all organizations whose buckets the token may read."""
    buckets: dict[str, Bucket] = field(default_factory=dict)
    """The buckets by name."""
    mappings: dict[str, Dbrp | None] = field(default_factory=dict)
    """Name of the bucket to its names in InfluxQL; None if InfluxQL cannot access it."""
    has_influxql: bool = True
    """Whether the server supports InfluxQL; True until proven otherwise."""
    metrics: tuple[float, Gauges | StatusError] = (-math.inf, Gauges({}, {}))
    """The time when /metrics was read, with its contents, or with the error that prevented reading them."""


def read_gauges(lines: Iterable[bytes]) -> Gauges:
    """The metrics about buckets on the page /metrics."""
    series: dict[str, int] = {}
    shards: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(_LIVE, 0))
    writes: dict[tuple[str, str], dict[str, float]] = defaultdict(lambda: dict.fromkeys(_OF_WRITES, 0.0))
    counters, uptime_s = defaultdict[tuple[str, str], float](float), None
    others = {_UPTIME, _COMPACTIONS_FAILED, _TASK_RUNS, _POINTS_FAILED}
    for sample in metric_samples(lines, {_SERIES, *_LIVE, _SHARD_SERIES, *_OF_WRITES, *others}):
        metric, value = sample.metric, sample.value
        bucket, shard = sample.labels.get("bucket", ""), sample.labels.get("id", "")
        if metric == _UPTIME:
            uptime_s = value
        elif metric == _COMPACTIONS_FAILED:
            counters["compactions_failed", ""] += value
        elif metric == _TASK_RUNS:
            counters["tasks_failed", ""] += value if sample.labels.get("status") == "failed" else 0.0
        elif metric == _POINTS_FAILED:
            counters["points_failed", ""] += value
        elif not bucket:
            continue
        elif metric == _SERIES:
            series[bucket] = int(value)
        elif metric in _OF_WRITES:
            writes[bucket, shard][metric] = value
        else:
            shards[bucket, shard][metric] = int(value)
    if writes:
        counters.setdefault(("compactions_failed", ""), 0.0)
        _count_points(writes, counters)
    held, count, inside = defaultdict[str, int](int), defaultdict[str, int](int), defaultdict[str, int](int)
    for (bucket, _), files in shards.items():
        held[bucket] += _held(files)
        if not _is_gone(files):
            count[bucket] += 1
            if _SHARD_SERIES in files:
                inside[bucket] += files[_SHARD_SERIES]
    return Gauges(series, dict(held), dict(count), dict(inside), dict(counters), uptime_s)


def _count_points(
    writes: Mapping[tuple[str, str], Mapping[str, float]], counters: defaultdict[tuple[str, str], float]
) -> None:
    """Add the points of all shards by bucket, and leave them out of those that the whole server failed to write."""
    for (bucket, _), shard in writes.items():
        for name, points in _points(shard).items():
            counters[name, bucket] += points
        if ("points_failed", "") in counters:
            # A shard that cannot be opened counts nothing.
            known = max(shard[metric] for metric in _WRITES_FAILED) + shard[_DROPPED]
            counters["points_failed", ""] = max(counters["points_failed", ""] - known, 0.0)


def _points(shard: Mapping[str, float]) -> dict[str, float]:
    """The points sent to the shard, by what became of them. Where it refused some requests, and dropped points of
    others, all that failed are taken to be of the same size.
    """
    sent = max(shard[metric] for metric in _WRITES)
    requests, points = sorted(shard[metric] for metric in _WRITES_FAILED)
    refused = sum(shard[metric] for metric in _REFUSED)
    failed, dropped = points * min(refused / requests, 1.0) if requests else 0.0, shard[_DROPPED]
    return {
        "points_written": max(sent - failed - dropped, 0.0),
        "points_dropped": dropped,
        "points_failed": float(round(failed)),
    }


def _held(shard: Mapping[str, int]) -> int:
    """Bytes of the shard; 0 for a dropped one."""
    return 0 if _is_gone(shard) else sum(shard[name] for name in _LIVE[1:])


def _is_gone(shard: Mapping[str, int]) -> bool:
    """Whether it was dropped.

    After a shard is dropped, its metrics keep their values until the server is restarted, except for the number of
    files: it has bytes but no files (observed on 2.7.12). A shard that never had a file has its rows in the log.
    """
    files, size, _ = (shard[name] for name in _LIVE)
    return size > 0 and files == 0
