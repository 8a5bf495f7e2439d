"""InfluxDB 2.x and InfluxDB Cloud (TSM): REST, Flux and InfluxQL, sent through influxdb-client.

The client's own reading of answers is not used: it prints, takes '' for null, and gives up after 10 s. Of its four
families of exceptions, ApiException and urllib3's can still occur; both are dealt with in `_translated`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import pyarrow as pa
import urllib3
from influxdb_client.client.influxdb_client import InfluxDBClient
from influxdb_client.rest import ApiException
from urllib3.exceptions import HTTPError, ReadTimeoutError

from tsaudit import queries
from tsaudit.connector import ConnectorError, FactError, Rows
from tsaudit.influx import annotated_csv, influxql, streaming
from tsaudit.influx.annotated_csv import Record
from tsaudit.profile import Reason

_ENGINE: Final = "influxdb2"
_GRANT: Final = "give the token read on the bucket, see sql/influxdb2/grants.md"
_PAGE: Final = 100
_GAUGES_S: Final = 10.0
"""How often the server brings its metrics up to date."""
_GAUGE: Final = re.compile(rb'storage_bucket_series_num\{bucket="([0-9a-f]+)"\} ([0-9.e+]+)')
_NOT_COLUMNS: Final = frozenset({"_start", "_stop", "_field", "_measurement", "_time", "_value"})
_TYPES: Final = {"double": "float", "long": "integer", "unsignedLong": "unsigned"}
"""Flux's names of types to InfluxQL's, where they differ."""
_BUSY: Final = frozenset({429, 503})


@contextmanager
def connect(
    url: str, *, username: str | None, password: str | None, options: Mapping[str, Any]
) -> Iterator[InfluxConnection]:
    """A connection to the server, whose version has been asked for. ConnectorError."""
    parts = urlsplit(url)
    settings = parse_qs(parts.query)
    if parts.scheme not in ("http", "https") or not parts.hostname or settings.keys() - {"org"}:
        raise ConnectorError("the URL is not of the form http://host:8086?org=NAME (`?org=` may be left out)")
    token = password or (unquote(parts.password) if parts.password else "")
    if username or not re.fullmatch(r"[!-~]+", token):
        raise ConnectorError("InfluxDB 2 takes an API token: give it as `password`, and no `username`")
    address = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    server = _Server(address, token, settings.get("org", [""])[0], float(options.get("connect_timeout_s", 10.0)))
    connection = InfluxConnection(server)
    try:
        yield connection
    finally:
        connection.close()


@dataclass(frozen=True, slots=True)
class _Bucket:
    id: str
    org_id: str


@dataclass(frozen=True, slots=True)
class _Dbrp:
    """What InfluxQL calls a bucket."""

    database: str
    policy: str
    default: bool
    """Whether the bucket is the one that is meant when only the database is named."""


@dataclass(slots=True)
class _Server:
    """What all connections to it share."""

    url: str
    token: str
    org: str
    """Empty for all whose buckets the token may read."""
    connect_timeout_s: float
    buckets: dict[str, _Bucket] = field(default_factory=dict)
    mappings: dict[str, _Dbrp | None] = field(default_factory=dict)
    """Name of the bucket to what InfluxQL calls it; None where it does not know it."""
    has_influxql: bool = True
    """Until it turns out otherwise."""
    gauges: tuple[float, dict[str, int]] = (-_GAUGES_S, {})
    """When /metrics was read, and the series it shows, by id of the bucket."""


@dataclass(slots=True)
class _Ask:
    """One question to the connection: what is asked about, until when, and where the bill goes."""

    fact: str
    about: Mapping[str, Any]
    deadline: float
    rows: Rows

    @property
    def bucket(self) -> str:
        return str(self.about["database"])


class InfluxConnection:
    """A pool of HTTP connections, used by one thread."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._client: Any = InfluxDBClient(server.url, server.token, org=server.org)
        self.server_version, self._is_cloud = self._ping()

    def query(self, fact: str, timeout_s: float, **parameters: Any) -> Rows:
        """Run `sql/influxdb2/<fact>.*`, in the way that this server offers; see `connector.Connection`."""
        rows = Rows("", iter(()))
        rows.statements = 0
        about = parameters | {"org": self._server.org}
        ask = _Ask(fact, about, time.monotonic() + timeout_s, rows)
        return rows.reading(self._answered(ask, timeout_s))

    def reconnect(self) -> InfluxConnection:
        """A further connection to the same server."""
        return InfluxConnection(self._server)

    def close(self) -> None:
        """Close the connections; a statement that runs on one of them is aborted by the server."""
        self._client.close()

    # --- The ways to a fact --------------------------------------------------------------------------------------

    def _answered(self, ask: _Ask, timeout_s: float) -> Iterator[pa.RecordBatch]:
        own: dict[str, Callable[[_Ask], Iterator[pa.RecordBatch]]] = {
            "databases": self._databases,
            "retention": self._retention,
            "database_series": self._database_series,
            "measurements": self._measurements,
        }
        with self._translated(timeout_s):
            yield from own.get(ask.fact, self._by_influxql_or_flux)(ask)

    def _databases(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        request = json.loads(queries.render(_ENGINE, ask.fact, **ask.about))
        ask.rows.statement = _shown(request)
        page: list[Any] = [{}] * _PAGE
        while len(page) == _PAGE:
            page = self._json(request, ask)["buckets"]
            names = [bucket["name"] for bucket in page if bucket.get("type") != "system"]
            self._remember(page)
            yield pa.record_batch({"database": pa.array(names, pa.string())})
            if page:
                request["query"]["after"] = page[-1]["id"]

    def _retention(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        bucket = self._look_up(ask)
        rules = [rule for rule in bucket.get("retentionRules") or () if rule.get("type", "expire") == "expire"]
        rule = rules[0] if rules else {}
        yield pa.record_batch(
            {
                "policy": [ask.bucket],
                "duration_s": pa.array([rule.get("everySeconds", 0)], pa.int64()),
                "partition_s": pa.array([rule.get("shardGroupDurationSeconds")], pa.int64()),
                "default": [True],
            }
        )

    def _database_series(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        count = None if self._is_cloud else self._gauge(ask)
        if count is None:
            definition = "tag sets with their fields" if self._is_cloud else "tag sets"
            ask.rows.query = queries.query_name(_ENGINE, ask.fact, "flux")
            ask.rows.scope = f"{definition} of all time, counted by influxdb.cardinality"
            count = self._cardinality(queries.render(_ENGINE, ask.fact, "flux", **ask.about), ask)
        series = pa.array([count], pa.int64())
        yield pa.record_batch({"series": series, "counts_fields": pa.array([self._is_cloud])})

    def _gauge(self, ask: _Ask) -> int | None:
        """The series of the bucket by the server's metrics; None where they cannot be read, or not yet."""
        bucket = self._bucket(ask)
        request = json.loads(queries.render(_ENGINE, ask.fact, "json", **ask.about))
        if time.monotonic() - self._server.gauges[0] >= _GAUGES_S:
            self._server.gauges = (time.monotonic(), self._read_gauges(request, ask))
        count = self._server.gauges[1].get(bucket.id)
        if count is not None:
            ask.rows.statement = _shown(request)
            ask.rows.query = queries.query_name(_ENGINE, ask.fact, "json")
            ask.rows.scope = "tag sets of all time, as /metrics has them"
        return count

    def _read_gauges(self, request: Mapping[str, Any], ask: _Ask) -> dict[str, int]:
        try:
            found = [_GAUGE.match(line) for line in self._received(request, ask)]
        except ApiException:
            return {}
        return {match[1].decode(): int(float(match[2])) for match in found if match}

    def _measurements(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        ask.rows.statement = queries.render(_ENGINE, "measurements", **ask.about)
        names = [record.values["_value"] for record in self._flux(ask.rows.statement, ask)]
        yield pa.record_batch({"measurement": pa.array(names, pa.string())})

    def _by_influxql_or_flux(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        dbrp = self._dbrp(ask) if self._server.has_influxql else None
        if dbrp and (dbrp.default or ask.fact != "tag_keys"):
            ask.rows.statement = queries.render(_ENGINE, ask.fact, **ask.about, dbrp=dbrp)
            try:
                yield from _INFLUXQL[ask.fact](self._influxql(ask.rows.statement, ask), ask.about)
                return
            except ApiException as error:
                if error.status not in (404, 405):
                    raise
                self._server.has_influxql = False
        if ask.fact not in _FLUX:
            raise FactError(Reason.UNSUPPORTED, "rows are read by InfluxQL (/query), which does not know this bucket")
        ask.rows.query = queries.query_name(_ENGINE, ask.fact, "flux")
        yield from _FLUX[ask.fact](self, ask)

    # --- Flux, where InfluxQL does not reach the bucket ----------------------------------------------------------

    def _tag_keys(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        listed = queries.render(_ENGINE, "measurements", **ask.about)
        for measurement in [record.values["_value"] for record in self._flux(listed, ask)]:
            ask.rows.statement = queries.render(
                _ENGINE, "tag_keys", "flux", **dict(ask.about) | {"measurement": measurement}
            )
            keys = [record.values["_value"] for record in self._flux(ask.rows.statement, ask)]
            tags = [key for key in keys if key not in _NOT_COLUMNS]
            yield pa.record_batch(
                {"measurement": pa.array([measurement] * len(tags), pa.string()), "tag": pa.array(tags, pa.string())}
            )

    def _field_types(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        ask.rows.statement = queries.render(_ENGINE, "field_types", "flux", **ask.about)
        found = dict.fromkeys(
            (record.values["_measurement"], record.values["_field"], record.types["_value"])
            for record in self._flux(ask.rows.statement, ask)
        )
        rows = [(measurement, key, _TYPES.get(kind, kind)) for measurement, key, kind in found]
        names = ("measurement", "field", "data_type")
        yield pa.record_batch({name: pa.array([r[i] for r in rows], pa.string()) for i, name in enumerate(names)})

    def _series_listing(self, ask: _Ask) -> Iterator[pa.RecordBatch]:
        tags = list(ask.about["tags"])
        ask.rows.statement = queries.render(_ENGINE, "series_listing", "flux", **ask.about)
        listed = 0
        batch: list[Mapping[str, str]] = []
        for record in self._flux(ask.rows.statement, ask):
            batch.append(record.values)
            if len(batch) == influxql.CHUNK_ROWS:
                listed += len(batch)
                yield _tag_sets(batch, tags)
                batch = []
        yield _tag_sets(batch, tags)
        listed += len(batch)
        if self._is_cloud:
            ask.rows.scope = "as Flux shows them; a series whose field has another type elsewhere is missing"
            return
        path = queries.root() / _ENGINE / "_measurement_series.flux"
        known = self._cardinality(queries.render_file(path, **ask.about), ask, noted=False)
        if listed != known:
            detail = f"Flux shows {listed} of {known} series, as it reads one type of a field only"
            raise FactError(Reason.FAILED, f"{detail}; map the bucket to a database (DBRP) for InfluxQL")

    # --- What is known of buckets --------------------------------------------------------------------------------

    def _remember(self, buckets: list[Any]) -> None:
        for bucket in buckets:
            known = self._server.buckets.get(bucket["name"])
            if known and known.org_id != bucket["orgID"]:
                detail = f"two organizations have a bucket {bucket['name']}; name one in the URL: ?org=NAME"
                raise FactError(Reason.FAILED, detail)
            self._server.buckets[bucket["name"]] = _Bucket(bucket["id"], bucket["orgID"])

    def _look_up(self, ask: _Ask) -> dict[str, Any]:
        """The bucket as the server describes it. FactError when it lists none of that name."""
        request = json.loads(queries.render(_ENGINE, "retention", **ask.about))
        ask.rows.statement = _shown(request)
        buckets = self._json(request, ask)["buckets"]
        if not buckets:
            detail = f"no bucket {ask.bucket} is visible: there is none, or the token may not read it"
            raise FactError(Reason.FAILED, detail)
        self._remember(buckets)
        found: dict[str, Any] = buckets[0]
        return found

    def _bucket(self, ask: _Ask) -> _Bucket:
        if ask.bucket not in self._server.buckets:
            self._look_up(ask)
        return self._server.buckets[ask.bucket]

    def _dbrp(self, ask: _Ask) -> _Dbrp | None:
        """What InfluxQL calls the bucket: a default of its own database, else made by somebody, else virtual."""
        known = self._server.mappings
        if ask.bucket not in known:
            bucket = self._bucket(ask)
            path = queries.root() / _ENGINE / "_dbrp.json"
            request = json.loads(queries.render_file(path, org_id=bucket.org_id, bucket_id=bucket.id))
            try:
                listed = self._json(request, ask).get("content") or []
            except ApiException:
                listed = []
            listed.sort(key=lambda m: (not m["default"], bool(m.get("virtual"))))
            names = [_Dbrp(m["database"], m["retention_policy"], m["default"]) for m in listed]
            known[ask.bucket] = names[0] if names else None
        return known[ask.bucket]

    # --- Sending and receiving -----------------------------------------------------------------------------------

    def _json(self, request: Mapping[str, Any], ask: _Ask) -> Any:
        body = b"\n".join(self._received(request, ask))
        try:
            return json.loads(body)
        except ValueError as error:
            raise FactError(Reason.FAILED, "the answer is not JSON; is a proxy in between?") from error

    def _received(self, request: Mapping[str, Any], ask: _Ask) -> Iterator[bytes]:
        query = [(key, str(value)) for key, value in request["query"].items()]
        with closing(self._send(request["path"], ask, method=request["method"], query_params=query)) as response:
            yield from streaming.lines(response, ask.deadline, ask.rows)

    def _cardinality(self, statement: str, ask: _Ask, noted: bool = True) -> int:
        if noted:
            ask.rows.statement = statement
        counts = [int(record.values["_value"]) for record in self._flux(statement, ask)]
        if len(counts) != 1:
            raise FactError(Reason.FAILED, "the server does not say how many series there are")
        return counts[0]

    def _flux(self, statement: str, ask: _Ask) -> Iterator[Record]:
        body = {"query": statement, "type": "flux", "dialect": annotated_csv.DIALECT}
        org = [("orgID", self._bucket(ask).org_id)]
        with closing(self._send("/api/v2/query", ask, query_params=org, body=body)) as response:
            yield from annotated_csv.records(streaming.lines(response, ask.deadline, ask.rows))

    def _influxql(self, statement: str, ask: _Ask) -> Iterator[influxql.Series]:
        form = {"q": statement} | influxql.PARAMETERS
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        with closing(self._send("/query", ask, post_params=form, header_params=headers)) as response:
            yield from influxql.read_series(response, ask.deadline, ask.rows, _GRANT)

    def _send(self, path: str, ask: _Ask, *, method: str = "POST", **content: Any) -> urllib3.BaseHTTPResponse:
        """The answer, its body not yet read. A server that asks to wait is asked again then, if there is time.

        ApiException for any status that is not a success.
        """
        while True:
            left = ask.deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ask.rows.statements += 1
            timeout_ms = (1000 * min(self._server.connect_timeout_s, left), 1000 * left)
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
        said = f"the server is busy or its quota used up (HTTP {error.status})"
        if not asked.isdecimal():
            raise FactError(Reason.OVER_BUDGET, said)
        if int(asked) >= deadline - time.monotonic():
            raise FactError(Reason.OVER_BUDGET, f"{said}; it asks to wait {asked} s, longer than the audit may")
        time.sleep(int(asked))

    def _ping(self) -> tuple[str, bool]:
        """The server's version, and whether it is InfluxDB Cloud. ConnectorError."""
        url, timeout_ms = self._server.url, round(1000 * self._server.connect_timeout_s)
        try:
            response = self._client.api_client.call_api(
                "/ping", "GET", _preload_content=False, _return_http_data_only=True, _request_timeout=timeout_ms
            )
            headers = response.headers
        except ApiException as error:
            headers = error.headers or {}
            if not error.status:
                raise ConnectorError(f"{url} does not answer ({_line(error)}); is it the right address?") from error
        except (HTTPError, OSError) as error:
            raise ConnectorError(
                f"{url} does not answer ({streaming.words(error)}); is it the right address?"
            ) from error
        version, build = headers.get("X-Influxdb-Version"), headers.get("X-Influxdb-Build", "")
        if version is None:
            raise ConnectorError(f"{url} answers, but not as InfluxDB")
        if build.lower().startswith("cloud"):
            return "Cloud", True
        if not re.match(r"v?2\.", version):
            raise ConnectorError(f"{url} is InfluxDB {version}; this engine is for 2.x")
        return version.removeprefix("v"), False

    @contextmanager
    def _translated(self, timeout_s: float) -> Iterator[None]:
        """What goes wrong inside comes out as a FactError."""
        try:
            yield
        except (ReadTimeoutError, TimeoutError) as error:
            raise streaming.timed_out(timeout_s) from error
        except ApiException as error:
            raise _refused(error) from error
        except (HTTPError, OSError) as error:
            try:
                self._ping()
            except ConnectorError:
                raise FactError(Reason.UNREACHABLE, f"the server is gone ({streaming.words(error)})") from error
            detail = f"the connection broke off ({streaming.words(error)}); the server still answers"
            raise FactError(Reason.FAILED, detail) from error


def _tag_sets(records: list[Mapping[str, str]], tags: list[str]) -> pa.RecordBatch:
    arrays = [pa.array([record.get(tag) or None for record in records], pa.string()) for tag in tags]
    return pa.RecordBatch.from_arrays(arrays, names=tags)


def _shown(request: Mapping[str, Any]) -> str:
    query = urlencode(request["query"])
    return f"{request['method']} {request['path']}{'?' + query if query else ''}"


def _refused(error: ApiException) -> FactError:
    """What an HTTP status other than a success means."""
    text = _line(error)
    if error.status in (401, 403):
        return FactError(Reason.DENIED, f"{text} (HTTP {error.status}); {_GRANT}")
    if error.status in (408, 504):
        return FactError(Reason.TIMED_OUT, f"the server gave up: {text}")
    if not error.status:
        return FactError(Reason.UNREACHABLE, text)
    if "could not find bucket" in text:
        text = f"{text}: there is none, or the token may not read it"
    return FactError(Reason.FAILED, f"{text} (HTTP {error.status})")


def _line(error: ApiException) -> str:
    """What the server says, in a line."""
    try:
        text = str(json.loads(error.body)["message"])
    except (ValueError, KeyError, TypeError):
        text = str(error.reason or "no reason given")
    return " ".join(text.split())[:300]


_INFLUXQL: Final[Mapping[str, influxql.Reader]] = {
    "tag_keys": influxql.columns_of(measurement="name of series", tag="tagKey"),
    "field_types": influxql.columns_of(measurement="name of series", field="fieldKey", data_type="fieldType"),
    "series_listing": influxql.listing,
    "row_sample": influxql.sample,
    "row_count": influxql.row_count,
}
_FLUX: Final[Mapping[str, Callable[[InfluxConnection, _Ask], Iterator[pa.RecordBatch]]]] = {
    "tag_keys": InfluxConnection._tag_keys,
    "field_types": InfluxConnection._field_types,
    "series_listing": InfluxConnection._series_listing,
}
