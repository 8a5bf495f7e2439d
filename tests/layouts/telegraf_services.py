"""Telegraf's plugins for what services tell of themselves, written to InfluxDB 1.x: kept well, and gone wrong."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, kept, table

_DOCS: Final = "https://docs.influxdata.com/telegraf/v1/input-plugins/"
_NUMBER: Final = (1, 10**9)


def _on(*tags: dict[str, Any]) -> list[dict[str, Any]]:
    """Each of six hosts with each of the tag sets."""
    return [{"host": f"web{i:02}", **one} for i in range(6) for one in tags]


# --- statsd ----------------------------------------------------------------------------------------------------------


def _statsd_dirty() -> Dataset:
    host = {"host": "web01", "metric_type": "counter"}
    names = [f"checkout_customer_{1000 + 37 * i}_orders" for i in range(60)]
    return kept(*(table(name, [host], {"value": (1, 90)}, instants=12) for name in names))


def _statsd_clean() -> Dataset:
    parts = [{"region": r, "service": s, "metric_type": "counter"} for r in ("eu", "us") for s in ("cart", "search")]
    timing: dict[str, Any] = dict.fromkeys(("mean", "lower", "upper", "stddev", "sum", "90_percentile"), (0.1, 90.0))
    timed = [part | {"metric_type": "timing"} for part in parts]
    return kept(
        table("orders", _on(*parts), {"value": (1, 90)}),
        table("logins", _on(*parts), {"value": (1, 90)}),
        table("latency", _on(*timed), timing | {"count": (1, 99)}),
    )


# --- nginx: its status page, and its access log ----------------------------------------------------------------------

_STATUS: Final = ("accepts", "active", "handled", "reading", "requests", "waiting", "writing")
_LOGGED: Final = {"resp_bytes": (200, 90_000), "http_version": 1.1, "ident": "-", "auth": "-"}
_LINE: Final = {
    "host": "web01",
    "path": "/var/log/nginx/access.log",
    "verb": ["GET", "POST"],
    "resp_code": ["200", "404"],
}


def _visit(noise: Noise) -> str:
    kind = noise.choice(("orders", "users", "products"))
    return f"/{kind}/{noise.randint(10_000, 9_999_999)}?session={noise.getrandbits(64):016x}"


def _client(noise: Noise) -> str:
    return f"{noise.randint(11, 200)}.{noise.randint(0, 255)}.{noise.randint(0, 255)}.{noise.randint(1, 254)}"


def _nginx_dirty() -> Dataset:
    # The pattern has `%{NOTSPACE:request:tag}` and `%{CLIENT:client_ip:tag}`.
    lines = [_LINE | {"request": _visit, "client_ip": _client}]
    return kept(table("nginx_access_log", lines, _LOGGED, instants=2_500, step=timedelta(seconds=20)))


def _nginx_clean() -> Dataset:
    servers = _on({"server": "127.0.0.1", "port": "80"})
    logged = _LOGGED | {"request": _visit, "client_ip": _client, "agent": "Mozilla/5.0 (X11; Linux x86_64)"}
    return kept(
        table("nginx", servers, dict.fromkeys(_STATUS, (0, 10**6))),
        table("nginx_access_log", [_LINE], logged, instants=1_500, step=timedelta(seconds=20)),
    )


# --- prometheus ------------------------------------------------------------------------------------------------------


def _scraped(urls: list[str], alive: int | None) -> Dataset:
    targets = [{"url": url, "host": "telegraf-0"} for url in urls]
    requests = [{**t, "method": m, "code": c} for t in targets for m, c in (("get", "200"), ("post", "500"))]
    buckets: dict[str, Any] = dict.fromkeys(("0.005", "0.05", "0.5", "1", "5", "+Inf"), _NUMBER)
    twice: dict[str, Any] = {"alive": alive and 2 * alive, "instants": 25}
    many: dict[str, Any] = {"alive": alive, "instants": 25}
    return kept(
        table("go_goroutines", targets, {"gauge": (5.0, 90.0)}, **many),
        table("process_resident_memory_bytes", targets, {"gauge": (1e7, 1e9)}, **many),
        table("http_requests_total", requests, {"counter": (1.0, 1e6)}, **twice),
        table("http_request_duration_seconds", targets, buckets | {"sum": (1.0, 1e5), "count": _NUMBER}, **many),
    )


def _scraped_dirty() -> Dataset:
    # Pods found by annotation: each has an address of its own for as long as it lives.
    noise = Noise(3)
    pods = [f"10.{noise.randint(0, 15)}.{noise.randint(0, 255)}.{noise.randint(1, 254)}" for _ in range(1_200)]
    return _scraped([f"http://{pod}:9102/metrics" for pod in pods], 30)


def _scraped_clean() -> Dataset:
    return _scraped([f"http://{name}:9100/metrics" for name in ("db1", "db2", "web1", "web2", "cache", "mail")], None)


# --- jolokia2 --------------------------------------------------------------------------------------------------------

_AGENTS: Final = [{"jolokia_agent_url": f"http://kafka{i}:8778/jolokia", "host": f"kafka{i}"} for i in range(3)]
_HEAP: Final = {f"HeapMemoryUsage.{key}": (1.0, 1e9) for key in ("init", "used", "committed", "max")}
_TOPICS: Final = [
    f"{what}-{kind}"
    for what in ("orders", "payments", "emails", "clicks")
    for kind in ("v1", "v2", "dead", "retry", "raw")
]


def _jolokia(topics: Any) -> Dataset:
    generations = [{**a, "name": name} for a in _AGENTS for name in ("G1 Young Generation", "G1 Old Generation")]
    threads = {"ThreadCount": (20.0, 90.0), "PeakThreadCount": (90.0, 99.0), "DaemonThreadCount": (1.0, 20.0)}
    return kept(
        table("java_memory", _AGENTS, _HEAP),
        table("java_garbage_collector", generations, {"CollectionCount": (0.0, 1e4), "CollectionTime": (0.0, 1e6)}),
        table("java_threading", _AGENTS, threads),
        topics,
    )


def _jolokia_dirty() -> Dataset:
    # `field_prefix = "$1."` where `tag_keys = ["topic"]` was meant.
    rates = {f"{topic}.{what}.Count": (0.0, 1e6) for topic in _TOPICS for what in ("BytesInPerSec", "BytesOutPerSec")}
    return _jolokia(table("kafka_topics", _AGENTS, rates))


def _jolokia_clean() -> Dataset:
    topics = [{**agent, "topic": topic} for agent in _AGENTS for topic in _TOPICS]
    rates = {"BytesInPerSec.Count": (0.0, 1e6), "BytesOutPerSec.Count": (0.0, 1e6)}
    return _jolokia(table("kafka_topics", topics, rates))


# --- mqtt_consumer ---------------------------------------------------------------------------------------------------

_PLACES: Final = [(p, line, f"dev{p}{line}{d:02}") for p in range(3) for line in range(4) for d in range(4)]


def _mqtt_dirty() -> Dataset:
    topics = [
        {"host": "gw", "topic": f"plant{p}/line{line}/{device}/{what}"}
        for p, line, device in _PLACES
        for what in ("temperature", "vibration", "current")
    ]
    return kept(table("mqtt_consumer", topics, {"value": (1.0, 90.0)}))


def _mqtt_clean() -> Dataset:
    # `topic_tag = ""`, and `topic_parsing` takes site, line and device out of the topic.
    devices = [{"site": f"plant{p}", "line": f"line{line}", "device": device} for p, line, device in _PLACES]
    return kept(
        table("machines", devices, {"temperature": (1.0, 90.0), "vibration": (0.0, 9.0), "current": (0.0, 16.0)})
    )


LAYOUTS: Final = (
    Layout(
        name="telegraf-statsd",
        engine="influxdb1",
        source=_DOCS + "statsd/",
        dirty=_statsd_dirty,
        clean=_statsd_clean,
        wanted=(Wanted("NAM002", "*", "customers in names: one measurement, a template, a tag or none"),),
    ),
    Layout(
        name="telegraf-nginx",
        engine="influxdb1",
        source=_DOCS + "tail/",
        dirty=_nginx_dirty,
        clean=_nginx_clean,
        wanted=(
            Wanted(
                "TAG002|TAG003",
                "nginx_access_log.request",
                "paths with ids and sessions: each a new series",
            ),
            Wanted("TAG002", "nginx_access_log.client_ip", "visitors are without end, and so are their addresses"),
        ),
    ),
    Layout(
        name="telegraf-prometheus",
        engine="influxdb1",
        source=_DOCS + "prometheus/",
        dirty=_scraped_dirty,
        clean=_scraped_clean,
        wanted=(
            Wanted(
                "TAG002|TAG003",
                "*.url",
                "a pod's address lives as long as the pod: drop url (tagexclude), keep the pod's app",
            ),
        ),
    ),
    Layout(
        name="telegraf-jolokia",
        engine="influxdb1",
        source=_DOCS + "jolokia2_agent/",
        dirty=_jolokia_dirty,
        clean=_jolokia_clean,
        wanted=(Wanted("NAM005", "kafka_topics*", "topics in names of fields: tag_keys makes them a tag"),),
        fine=(Wanted("SRV003|LAY003", "kafka_topics", "forty fields where two would do"),),
    ),
    Layout(
        name="telegraf-mqtt-topics",
        engine="influxdb1",
        source=_DOCS + "mqtt_consumer/",
        dirty=_mqtt_dirty,
        clean=_mqtt_clean,
        wanted=(Wanted("TAG003", "mqtt_consumer.topic", "four attributes in one tag: topic_parsing splits it"),),
        fine=(
            Wanted(
                "LAY005|LAY007", "mqtt_consumer*", "what a device measures at once is in one field under three tags"
            ),
        ),
    ),
)
