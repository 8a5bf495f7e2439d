"""InfluxDB 2.x and InfluxDB Cloud (TSM): which of REST, Flux, InfluxQL, and /metrics is used for each fact."""

from __future__ import annotations

import functools
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

import pyarrow as pa

from tsaudit.engines import http_client, queries
from tsaudit.engines.connection import (
    Access,
    AddressError,
    ConnectorError,
    FactError,
    FactQuery,
    Rows,
    RowsOfSeveral,
    fact_batch,
)
from tsaudit.engines.http_client import MOST_BYTES
from tsaudit.engines.influx import influxql
from tsaudit.engines.influxdb2 import client
from tsaudit.model.facts import Given, OfMeasurement
from tsaudit.model.figures import Reason

_ENGINE: Final = "influxdb2"
_PAGE: Final = 100
_GAUGES_S: Final = 10.0
"""Seconds between two updates of the server's metrics."""
_NOT_COLUMNS: Final = frozenset({"_start", "_stop", "_field", "_measurement", "_time", "_value"})
_TYPES: Final = {"double": "float", "long": "integer", "unsignedLong": "unsigned"}
"""Flux type names to those of InfluxQL, if they differ."""


@contextmanager
def connect(access: Access) -> Iterator[InfluxConnection]:
    """An open connection to the server, whose version is known. Raises ConnectorError."""
    parts = urlsplit(access.url)
    settings = parse_qs(parts.query)
    if parts.scheme not in ("http", "https") or not parts.hostname or settings.keys() - {"org"}:
        raise AddressError("http://host:8086?org=NAME (`?org=` is optional)", access.url)
    token = access.password or (unquote(parts.password) if parts.password else "")
    if access.username or not re.fullmatch(r"[!-~]+", token):
        raise ConnectorError("InfluxDB 2 requires an API token: set it as `password`, without `username`")
    server = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
    org = settings.get("org", [""])[0]
    connection = InfluxConnection(client.Known(replace(access, url=server, password=token), org))
    try:
        yield connection
    finally:
        connection.close()


class InfluxConnection:
    """A pool of HTTP connections, used by one thread."""

    def __init__(self, known: client.Known) -> None:
        self._known = known
        self._client = client.Client(known.access)
        self._buckets = client.BucketList(self._client, known)
        self.server_version = self._client.version

    def query(self, fact: str, timeout_s: float, given: Given) -> Rows:
        """Run `sql/influxdb2/<fact>.*` in a language that this server supports; see `connection.Connection`."""
        rows = Rows()
        ask = self._ask(fact, timeout_s, rows, given.variables())
        return rows.reading(self._answered(ask))

    def query_together(self, fact: str, timeout_s: float, given: Sequence[OfMeasurement]) -> RowsOfSeveral:
        """The same for several measurements, if InfluxQL can access the bucket; see `connection.QueriesBatches`."""
        rows = RowsOfSeveral("", {})
        ask = self._ask(fact, timeout_s, rows, influxql.united(given))
        return rows.reading(self._answered_together(ask, given, rows))

    def reconnect(self) -> InfluxConnection:
        """Another connection to the same server."""
        return InfluxConnection(self._known)

    def close(self) -> None:
        """Close the connections; the server aborts their current statements."""
        self._client.close()

    def abort(self) -> None:
        """Shut the connections down; the server aborts the statement."""
        self._client.abort()

    def _ask(self, fact: str, timeout_s: float, rows: Rows, parameters: Mapping[str, Any]) -> FactQuery:
        rows.statements = 0
        about = {"several": [], **parameters, "org": self._known.org}
        return FactQuery(fact, about, rows, timeout_s)

    # --- How each fact is measured -------------------------------------------------------------------------------

    def _answered(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        own: dict[str, Callable[[FactQuery], Iterator[pa.RecordBatch]]] = {
            "databases": self._databases,
            "retention": self._retention,
            "database_bytes": self._database_bytes,
            "server_counters": self._server_counters,
            "database_series": self._database_series,
            "measurements": self._measurements,
        }
        with self._client.translated(ask.timeout_s):
            yield from own.get(ask.fact, self._by_influxql_or_flux)(ask)

    def _answered_together(
        self, ask: FactQuery, given: Sequence[OfMeasurement], rows: RowsOfSeveral
    ) -> Iterator[pa.RecordBatch]:
        with self._client.translated(ask.timeout_s):
            if not (self._known.has_influxql and (dbrp := self._buckets.dbrp(ask))):
                return
            render = functools.partial(queries.render, _ENGINE, ask.fact, dbrp=dbrp)
            rows.alone = {one.measurement: render(**{**ask.about, **one.variables(), "several": []}) for one in given}
            rows.statement = render(**ask.about)
            policy = dbrp.policy if ask.fact == "series_listing" else ""
            yield from influxql.TOGETHER[ask.fact](self._client.series(rows.statement, ask, policy), given, rows)

    def _databases(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        request = json.loads(queries.render(_ENGINE, ask.fact, **ask.about))
        ask.rows.statement = client.shown(request)
        page: list[Any] = [{}] * _PAGE
        while len(page) == _PAGE:
            page = self._client.rest(request, ask)["buckets"]
            self._buckets.remember(page)
            yield fact_batch(ask.fact, [{"database": one["name"]} for one in page if one.get("type") != "system"])
            if page:
                request["query"]["after"] = page[-1]["id"]

    def _retention(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        bucket = self._buckets.look_up(ask)
        rule: Mapping[str, Any] = next(iter(bucket.get("retentionRules") or ()), {})
        duration_s, partition_s = rule.get("everySeconds", 0), rule.get("shardGroupDurationSeconds")
        row = {"policy": ask.about["database"], "duration_s": duration_s, "partition_s": partition_s, "default": True}
        yield fact_batch(ask.fact, [row])

    def _database_series(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        count = None if self._client.is_cloud else self._gauge(ask)
        if count is None:
            definition = "tag sets with their fields" if self._client.is_cloud else "tag sets"
            ask.rows.query = queries.query_name(_ENGINE, ask.fact, "flux")
            ask.rows.scope = f"{definition} of all time, counted by influxdb.cardinality"
            count = self._cardinality(queries.render(_ENGINE, ask.fact, "flux", **ask.about), ask)
        yield fact_batch(ask.fact, [{"series": count, "counts_fields": self._client.is_cloud}])

    def _gauge(self, ask: FactQuery) -> int | None:
        """The number of series of the bucket from the server's metrics; None if they cannot be read, or lack it."""
        bucket = self._buckets.of(ask)
        request = json.loads(queries.render(_ENGINE, ask.fact, "json", **ask.about))
        found = self._read_gauges(request, ask)
        count = None if isinstance(found, client.StatusError) else found.series.get(bucket.id)
        if count is not None:
            ask.rows.statement = client.shown(request)
            ask.rows.query = queries.query_name(_ENGINE, ask.fact, "json")
            ask.rows.scope = "tag sets of all time, from /metrics"
        return count

    def _read_gauges(self, request: Mapping[str, Any], ask: FactQuery) -> client.Gauges | client.StatusError:
        """The contents of /metrics, at most 10 s old, or the server's error."""
        if time.monotonic() - self._known.metrics[0] >= _GAUGES_S:
            try:
                found: client.Gauges | client.StatusError = client.read_gauges(self._client.lines(request, ask))
            except client.StatusError as error:
                found = error
            self._known.metrics = (time.monotonic(), found)
        return self._known.metrics[1]

    def _needed_gauges(self, ask: FactQuery, what: str) -> client.Gauges:
        """The contents of /metrics, which nothing else reports. Raises FactError if they cannot be read."""
        request = json.loads(queries.render(_ENGINE, ask.fact, **ask.about))
        ask.rows.statement = client.shown(request)
        found = self._read_gauges(request, ask)
        if isinstance(found, client.StatusError):
            cause = f"only /metrics reports {what}, and it cannot be read (HTTP {found.status})"
            raise FactError(Reason.UNSUPPORTED, cause, "see sql/influxdb2/grants.md")
        return found

    def _server_counters(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        """The server's counters since its start, for the buckets that the token can see."""
        if self._client.is_cloud:
            raise FactError(Reason.UNSUPPORTED, "InfluxDB Cloud has no page of metrics")
        found = self._needed_gauges(ask, "dropped points")
        names = {"": ""} | {bucket.id: name for name, bucket in self._known.buckets.items()}
        rows: list[http_client.StatusRow] = []
        if found.uptime_s is not None:
            up_s = found.uptime_s + time.monotonic() - self._known.metrics[0]
            rows.append(("started", "", "", (time.time() - up_s) // 60 * 60))
        rows += [("counter", name, names[at], value) for (name, at), value in found.counters.items() if at in names]
        if ("points_failed", "") in found.counters:
            dropped = sum(value for _, name, _, value in rows if name == "points_dropped")
            rows.append(("counter", "points_dropped", "", dropped))
        yield http_client.status_batch(rows)

    def _database_bytes(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        if self._client.is_cloud:
            raise FactError(Reason.UNSUPPORTED, "InfluxDB Cloud does not report bytes of a bucket")
        bucket = self._buckets.of(ask)
        found = self._needed_gauges(ask, "bytes")
        if not found.series and not found.file_bytes:
            raise FactError(Reason.UNSUPPORTED, "/metrics reports no bucket; InfluxDB 2.2 and later do")
        figures = {
            "data_bytes": found.file_bytes.get(bucket.id, 0),
            "shards": found.shards.get(bucket.id, 0),
            "shard_series": found.shard_series.get(bucket.id),
        }
        yield fact_batch(ask.fact, [figures], "shards", "shard_series")

    def _measurements(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        ask.rows.statement = queries.render(_ENGINE, "measurements", **ask.about)
        listed = self._records(ask.rows.statement, ask, MOST_BYTES)
        yield fact_batch(ask.fact, ({"measurement": record.values["_value"]} for record in listed))

    def _by_influxql_or_flux(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        dbrp = self._buckets.dbrp(ask) if self._known.has_influxql else None
        if ask.about.get("singly"):
            yield from self._tag_values(ask, dbrp)
            return
        if dbrp and (dbrp.default or ask.fact != "tag_keys"):
            ask.rows.statement = queries.render(_ENGINE, ask.fact, **ask.about, dbrp=dbrp)
            try:
                yield from influxql.READERS[ask.fact](self._client.series(ask.rows.statement, ask), ask.about)
                ask.rows.path = (dbrp.database, dbrp.policy)
                return
            except client.StatusError as error:
                if error.status not in (404, 405):
                    raise
                self._known.has_influxql = False
        if ask.fact not in _FLUX:
            cause = "rows are read by InfluxQL (/query), which does not know this bucket"
            raise FactError(Reason.UNSUPPORTED, cause, "map it: `influx v1 dbrp create`")
        ask.rows.query = queries.query_name(_ENGINE, ask.fact, "flux")
        yield from _FLUX[ask.fact](self, ask)

    def _tag_values(self, ask: FactQuery, dbrp: client.Dbrp | None) -> Iterator[pa.RecordBatch]:
        """The values of each tag, with one statement per tag."""
        file = f"_tag_values.{'influxql' if dbrp else 'flux'}"
        for tag in ask.about["tags"]:
            ask.rows.statement = queries.render_file(_ENGINE, file, **ask.about, tag=tag, dbrp=dbrp)
            if dbrp:
                found = (influxql.column(one, "value") for one in self._client.series(ask.rows.statement, ask))
            else:
                found = ([record.values["_value"]] for record in self._records(ask.rows.statement, ask, MOST_BYTES))
            values = [value for part in found for value in part if value]
            yield pa.record_batch({tag: pa.array(values, pa.string())})

    # --- Flux, for buckets that InfluxQL cannot access -----------------------------------------------------------

    def _records(self, statement: str, ask: FactQuery, most: int | None = None) -> Iterator[client.Record]:
        return self._client.records(statement, self._buckets.of(ask).org_id, ask, most)

    def _tag_keys(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        listed = queries.render(_ENGINE, "measurements", **ask.about)
        for measurement in [record.values["_value"] for record in self._records(listed, ask, MOST_BYTES)]:
            ask.rows.statement = queries.render(
                _ENGINE, "tag_keys", "flux", **dict(ask.about) | {"measurement": measurement}
            )
            keys = [record.values["_value"] for record in self._records(ask.rows.statement, ask, MOST_BYTES)]
            tags = [{"measurement": measurement, "tag": key} for key in keys if key not in _NOT_COLUMNS]
            yield fact_batch(ask.fact, tags)

    def _field_types(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        ask.rows.statement = queries.render(_ENGINE, "field_types", "flux", **ask.about)
        found = dict.fromkeys(
            (record.values["_measurement"], record.values["_field"], record.types["_value"])
            for record in self._records(ask.rows.statement, ask, MOST_BYTES)
        )
        yield fact_batch(
            ask.fact,
            (
                {"measurement": measurement, "field": key, "data_type": _TYPES.get(kind, kind)}
                for measurement, key, kind in found
            ),
        )

    def _series_listing(self, ask: FactQuery) -> Iterator[pa.RecordBatch]:
        tags = list(ask.about["tags"])
        ask.rows.statement = queries.render(_ENGINE, "series_listing", "flux", **ask.about)
        listed = 0
        batch: list[Mapping[str, str]] = []
        for record in self._records(ask.rows.statement, ask):
            batch.append(record.values)
            if len(batch) == influxql.CHUNK_ROWS:
                listed += len(batch)
                yield _tag_sets(batch, tags)
                batch = []
        yield _tag_sets(batch, tags)
        listed += len(batch)
        if self._client.is_cloud:
            ask.rows.scope = "as shown by Flux; a series whose field has another type elsewhere is missing"
            return
        counted = queries.render_file(_ENGINE, "_measurement_series.flux", **ask.about)
        known = self._cardinality(counted, ask, noted=False)
        if listed != known:
            detail = f"Flux shows {listed} of {known} series, because it reads only one type per field"
            raise FactError(Reason.FAILED, f"{detail}; map the bucket to a database (DBRP) for InfluxQL")

    def _cardinality(self, statement: str, ask: FactQuery, noted: bool = True) -> int:
        if noted:
            ask.rows.statement = statement
        counts = [int(record.values["_value"]) for record in self._records(statement, ask, MOST_BYTES)]
        if len(counts) != 1:
            raise FactError(Reason.FAILED, "the server does not report the number of series")
        return counts[0]


def _tag_sets(records: list[Mapping[str, str]], tags: list[str]) -> pa.RecordBatch:
    arrays = [pa.array([record.get(tag) or None for record in records], pa.string()) for tag in tags]
    return pa.RecordBatch.from_arrays(arrays, names=tags)


_FLUX: Final[Mapping[str, Callable[[InfluxConnection, FactQuery], Iterator[pa.RecordBatch]]]] = {
    "tag_keys": InfluxConnection._tag_keys,
    "field_types": InfluxConnection._field_types,
    "series_listing": InfluxConnection._series_listing,
}
