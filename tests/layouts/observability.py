"""Traces, logs and metrics in GreptimeDB: as its own receivers lay them out, and with ids where they do harm."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset, Greptime, Table
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, hex_id, kept, table

_DOCS: Final = "https://docs.greptime.com/user-guide/"
_STEP: Final = timedelta(seconds=20)
_APPEND: Final = {"append_mode": "true", "ttl": "30days"}


def _stored(**settings: Any) -> Greptime:
    return Greptime(**({"options": _APPEND} | settings))


# --- Traces ----------------------------------------------------------------------------------------------------------

_SERVICES: Final = ("cart", "checkout", "search", "login")
_PARTS: Final = (
    "trace_id < '4'",
    "trace_id >= '4' AND trace_id < '8'",
    "trace_id >= '8' AND trace_id < 'c'",
    "trace_id >= 'c'",
)
_IDS: Final = {"trace_id": hex_id(32), "span_id": hex_id(16)}
_SPAN: Final = {
    "timestamp_end": lambda noise: 1_774_930_000_000_000_000 + noise.randint(0, 10**12),
    "duration_nano": (10**5, 10**9),
    "parent_span_id": hex_id(16),
    "span_kind": ["SPAN_KIND_SERVER", "SPAN_KIND_CLIENT", "SPAN_KIND_INTERNAL"],
    "span_name": ["GET /cart", "POST /orders", "SELECT orders", "GET /search"],
    "span_status_code": ["STATUS_CODE_UNSET", "STATUS_CODE_UNSET", "STATUS_CODE_ERROR"],
    "scope_name": "opentelemetry.instrumentation.django",
    "scope_version": "0.51b0",
    "span_attributes.http.request.method": ["GET", "POST", None],
    "span_attributes.http.response.status_code": [200, 201, 404, None],
    "span_attributes.url.path": lambda noise: f"/orders/{noise.randint(1, 10**6)}",
    "span_attributes.server.port": [8000, None],
    "resource_attributes.telemetry.sdk.language": "python",
    "resource_attributes.telemetry.sdk.version": "1.30.0",
}


def _traces_clean() -> Dataset:
    indexes = dict.fromkeys(("trace_id", "parent_span_id", "service_name"), "skipping")
    greptime = _stored(
        options=_APPEND | {"table_data_model": "greptime_trace_v1"},
        indexes=indexes,
        partition_by=("trace_id",),
        partitions=_PARTS,
    )
    services = [{"service_name": service} for service in _SERVICES]
    return kept(
        table(
            "opentelemetry_traces",
            services,
            _IDS | _SPAN,
            instants=300,
            step=_STEP,
            apart=timedelta(milliseconds=41),
            key=("service_name", "timestamp"),
            time="timestamp",
            greptime=greptime,
        )
    )


def _traces_dirty() -> Dataset:
    sources = [{"service_name": service} | _IDS for service in _SERVICES]
    return kept(
        table(
            "opentelemetry_traces",
            sources,
            _SPAN,
            instants=500,
            step=_STEP,
            key=("service_name", "trace_id", "span_id", "timestamp"),
            time="timestamp",
            greptime=Greptime(options={"ttl": "30days"}),
        )
    )


# --- Logs ------------------------------------------------------------------------------------------------------------


def _said(noise: Noise) -> str:
    return noise.choice(
        (
            f"order {noise.randint(1, 10**6)} was paid after {noise.randint(1, 900)} ms, a mail is on its way",
            f"connection to 10.0.{noise.randint(0, 9)}.{noise.randint(1, 250)} was reset, now {noise.randint(1, 9)} s",
            f"user {noise.randint(1, 10**6)} was refused: the password is wrong for the {noise.randint(1, 5)}th time",
        )
    )


_LINE: Final = {
    "severity_text": ["INFO", "INFO", "WARN", "ERROR"],
    "severity_number": [9, 13, 17],
    "body": _said,
    "trace_flags": 1,
    "scope_version": "1.0.0",
}
_JSON: Final = {"log_attributes": "json", "resource_attributes": "json"}


def _logs(sources: list[dict[str, Any]], ids: dict[str, Any], **settings: Any) -> Dataset:
    made = table(
        "opentelemetry_logs",
        sources,
        ids
        | _LINE
        | {"log_attributes": '{"log.file.name":"app.log"}', "resource_attributes": '{"service.name":"cart"}'},
        instants=900,
        step=_STEP,
        time="timestamp",
        **settings,
    )
    return kept(
        Table(
            made.name, made.tags, {**made.fields, **_JSON}, made.rows, made.key, time=made.time, greptime=made.greptime
        )
    )


def _logs_clean() -> Dataset:
    scopes = [{"scope_name": scope} for scope in ("shop.orders", "shop.login")]
    greptime = _stored(indexes={"body": "fulltext", "trace_id": "skipping"})
    return _logs(scopes, _IDS, key=("scope_name", "timestamp"), greptime=greptime)


def _logs_dirty() -> Dataset:
    scopes = [{"scope_name": scope, "trace_id": hex_id(32)} for scope in ("shop.orders", "shop.login")]
    greptime = Greptime(options={"ttl": "30days"}, indexes={"body": "fulltext"})
    return _logs(scopes, {"span_id": hex_id(16)}, key=("scope_name", "trace_id", "timestamp"), greptime=greptime)


# --- Lines that a pipeline has taken apart ---------------------------------------------------------------------------

_PATHS: Final = ("orders", "users", "products")


def _request(noise: Noise) -> str:
    return (
        f"GET /{noise.choice(_PATHS)}/{noise.randint(10_000, 9_999_999)}?session={noise.getrandbits(64):016x} HTTP/1.1"
    )


def _client(noise: Noise) -> str:
    return f"{noise.randint(11, 200)}.{noise.randint(0, 255)}.{noise.randint(0, 255)}.{noise.randint(1, 254)}"


_AGENTS: Final = [f"Mozilla/5.0 (X11; Linux x86_64; rv:{i}.0) Gecko/20100101 Firefox/{i}.0" for i in range(100, 130)]
_SIZE: Final = {"response_size": (200, 90_000)}


def _nginx(sources: list[dict[str, Any]], values: dict[str, Any], key: tuple[str, ...], greptime: Greptime) -> Dataset:
    many: dict[str, Any] = {"instants": 2_400, "step": _STEP, "time": "timestamp"}
    return kept(table("nginx_access", sources, values | _SIZE, key=(*key, "timestamp"), greptime=greptime, **many))


def _nginx_clean() -> Dataset:
    values = {"ip_address": _client, "request_line": _request, "user_agent": _AGENTS}
    indexes = {"ip_address": "skipping", "request_line": "fulltext", "user_agent": "fulltext"}
    return _nginx([{"status_code": ["200", "304", "404"]}], values, ("status_code",), _stored(indexes=indexes))


def _nginx_dirty() -> Dataset:
    sources = [{"status_code": ["200", "304", "404"], "ip_address": _client, "request_line": _request}]
    return _nginx(sources, {"user_agent": _AGENTS}, ("status_code", "ip_address", "request_line"), _stored())


# --- Prometheus, on the metric engine --------------------------------------------------------------------------------

_METRIC: Final = Greptime(physical="greptime_physical_table", time_digits=3)


def _metric(name: str, labels: list[dict[str, Any]], instants: int = 30) -> Table:
    many: dict[str, Any] = {"instants": instants, "time": "greptime_timestamp", "key": None, "greptime": _METRIC}
    return table(name, labels, {"greptime_value": (0.0, 1e6)}, step=timedelta(minutes=1), **many)


def _prometheus(*more: Table) -> Dataset:
    nodes = [{"instance": f"node{i}:9100", "job": "node"} for i in range(4)]
    modes = [{**n, "cpu": str(c), "mode": m} for n in nodes for c in range(2) for m in ("idle", "user", "system")]
    return kept(
        _metric("node_cpu_seconds_total", modes),
        _metric("node_memory_MemAvailable_bytes", nodes),
        _metric("up", nodes),
        *more,
    )


def _prometheus_clean() -> Dataset:
    buckets = [
        {"instance": f"api{i}:8080", "job": "api", "handler": h, "le": le}
        for i in range(2)
        for h in ("/cart", "/orders")
        for le in ("0.1", "0.5", "1", "5", "+Inf")
    ]
    return _prometheus(_metric("http_request_duration_seconds_bucket", buckets))


def _prometheus_dirty() -> Dataset:
    labels = [{"instance": f"api{i}:8080", "job": "api", "request_id": hex_id(32)} for i in range(8)]
    return _prometheus(_metric("http_requests_total", labels, 250))


# --- TSBS ------------------------------------------------------------------------------------------------------------


def _wide() -> Dataset:
    """TSBS for GreptimeDB: tables of its own, made by the first line of InfluxDB's protocol, with all tags as key."""
    hosts = [
        {
            "hostname": f"host_{i}",
            "region": ("eu", "us")[i % 2],
            "rack": str(i * 37 % 100),
            "os": "Ubuntu16.10",
            "team": "SF",
        }
        for i in range(12)
    ]
    values = dict.fromkeys((f"usage_{x}" for x in ("user", "system", "idle", "nice", "iowait", "irq")), (0.0, 100.0))
    greptime = Greptime(options={"merge_mode": "last_non_null", "ttl": "30days"})
    return kept(
        table("cpu", hosts, values, time="greptime_timestamp", greptime=greptime),
        table(
            "mem",
            hosts,
            dict.fromkeys(("total", "used", "free"), (1, 10**9)),
            time="greptime_timestamp",
            greptime=greptime,
        ),
    )


LAYOUTS: Final = (
    Layout(
        name="greptimedb-traces",
        engine="greptimedb",
        source=_DOCS + "traces/data-model/",
        dirty=_traces_dirty,
        clean=_traces_clean,
        wanted=(
            Wanted(
                "TAG002",
                "opentelemetry_traces.trace_id",
                "each span has a key of its own; a field with a skipping index is found as soon",
            ),
            Wanted("TAG002", "opentelemetry_traces.span_id", "the same, of each span"),
        ),
        fine=(Wanted("STO006|STO007|CAR001", "opentelemetry_traces*", "spans need no deduplication"),),
    ),
    Layout(
        name="greptimedb-logs",
        engine="greptimedb",
        source=_DOCS + "ingest-data/for-observability/opentelemetry/",
        dirty=_logs_dirty,
        clean=_logs_clean,
        wanted=(
            Wanted("TAG002", "opentelemetry_logs.trace_id", "a trace's id in the key of its lines"),
            Wanted("STO006", "opentelemetry_logs", "lines are never written twice, yet all are compared"),
        ),
    ),
    Layout(
        name="greptimedb-pipeline",
        engine="greptimedb",
        source=_DOCS + "logs/use-custom-pipelines/",
        dirty=_nginx_dirty,
        clean=_nginx_clean,
        wanted=(
            Wanted(
                "TAG002|TAG003",
                "nginx_access.request_line",
                "a line with ids and sessions in the key",
            ),
            Wanted("TAG002", "nginx_access.ip_address", "visitors without end in the key"),
        ),
        fine=(Wanted("TAG002|CAR001", "nginx_access", "each row has a key of its own"),),
    ),
    Layout(
        name="greptimedb-prometheus",
        engine="greptimedb",
        source=_DOCS + "ingest-data/for-observability/prometheus/",
        dirty=_prometheus_dirty,
        clean=_prometheus_clean,
        wanted=(
            Wanted(
                "TAG002",
                "http_requests_total.request_id",
                "a label with a new value each time; the metric is named",
            ),
        ),
    ),
    Layout(
        name="greptimedb-influxdb-lines",
        engine="greptimedb",
        source=_DOCS + "ingest-data/for-iot/influxdb-line-protocol/",
        clean=_wide,
    ),
)
