"""Programs that test under load and write what they measured to InfluxDB 1.x."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, kept, table

_STEP: Final = timedelta(seconds=5)
_PAGES: Final = ("home", "search", "product", "cart", "checkout", "login")
_TIMES: Final = {
    "avg": (20.0, 900.0),
    "min": (1.0, 20.0),
    "max": (900.0, 9000.0),
    "count": (1, 90),
    "countError": (0, 3),
    "hit": (1, 90),
    "pct90.0": (100.0, 900.0),
    "pct95.0": (200.0, 1900.0),
    "pct99.0": (300.0, 2900.0),
    "rb": (0, 10**6),
    "sb": (0, 10**5),
}


# --- JMeter ----------------------------------------------------------------------------------------------------------


def _jmeter(transactions: list[dict[str, Any]], instants: int) -> Dataset:
    application = {"application": "shop"}
    threads = {"maxAT": (10, 50), "meanAT": (10, 50), "minAT": (1, 10), "startedT": (0, 50), "endedT": (0, 50)}
    started = {"text": ["Test Cycle1 started", "Test Cycle1 ended"]}
    return kept(
        table("jmeter", [application | t for t in transactions], _TIMES, instants=instants, step=_STEP),
        table("jmeter_threads", [application | {"transaction": "internal"}], threads, instants=200, step=_STEP),
        table("events", [application | {"title": "ApacheJMeter"}], started, instants=6),
    )


def _jmeter_dirty() -> Dataset:
    def visited(noise: Noise) -> str:
        return f"GET /{noise.choice(('orders', 'users'))}/{noise.randint(10_000, 9_999_999)}"

    return _jmeter([{"transaction": visited, "statut": "ok", "responseCode": ["200", "201", "404"]}] * 8, 200)


def _jmeter_clean() -> Dataset:
    ok = [{"transaction": page, "statut": statut} for page in (*_PAGES, "all") for statut in ("ok", "all")]
    failed = [
        {"transaction": page, "statut": "ko", "responseCode": "503", "responseMessage": "Service Unavailable"}
        for page in _PAGES[:2]
    ]
    return _jmeter([*ok, *failed], 60)


# --- k6 --------------------------------------------------------------------------------------------------------------

_K6_TRENDS: Final = ("http_req_duration", "http_req_waiting")


def _k6(requests: list[dict[str, Any]], fields: dict[str, Any], instants: int) -> Dataset:
    about = {
        "method": ["GET", "POST"],
        "proto": "HTTP/2.0",
        "scenario": "default",
        "status": ["200", "200", "200", "503"],
    }
    about |= {"expected_response": "true", "tls_version": "tls1.3", "group": ""}
    sources = [{k: v for k, v in (about | r).items() if v} for r in requests]
    many: dict[str, Any] = {"instants": instants, "step": _STEP}
    checks = [{"check": f"{page} answers", "scenario": "default"} for page in _PAGES]
    return kept(
        *(table(name, sources, {"value": (0.0, 900.0)} | fields, **many) for name in _K6_TRENDS),
        table("http_reqs", sources, {"value": 1.0} | fields, **many),
        table("checks", checks, {"value": [0.0, 1.0]}, **many),
        *(table(name, [{}], {"value": (1.0, 50.0)}, **many) for name in ("vus", "vus_max")),
        *(
            table(name, [{"scenario": "default"}], {"value": (1.0, 1e6)}, **many)
            for name in ("data_sent", "data_received")
        ),
    )


def _k6_dirty() -> Dataset:
    # K6_INFLUXDB_TAGS_AS_FIELDS is empty, `systemTags` has iter and vu, and requests have no name.
    noise = Noise(5)
    urls = [f"https://shop.example.com/orders/{noise.randint(10**5, 10**7)}" for _ in range(1_300)]
    return _k6([{"url": u, "name": u, "iter": str(i), "vu": str(i % 20)} for i, u in enumerate(urls)], {}, 1)


def _k6_clean() -> Dataset:
    # As documented: `vu:int,iter:int,url` are fields, and each request has a name.
    def url(noise: Noise) -> str:
        return f"https://shop.example.com/orders/{noise.randint(10**5, 10**7)}"

    fields = {"url": url, "vu": (1, 20), "iter": (1, 9_000)}
    return _k6([{"name": f"https://shop.example.com/{page}"} for page in _PAGES], fields, 60)


# --- Locust ----------------------------------------------------------------------------------------------------------

_LOCUST: Final = {"response_time": (2.0, 900.0), "response_length": (10, 90_000), "counter": 1}


def _locust(requests: list[dict[str, Any]], instants: int) -> Dataset:
    node = {"node_id": "locust-1", "testplan": "shop"}
    about = {"request_type": ["GET", "POST"], "result": "success"}
    users = {"value": (1, 500)}
    return kept(
        table("locust_requests", [node | about | r for r in requests], _LOCUST, instants=instants, step=_STEP),
        table("locust_users", [node], users, instants=120, step=_STEP),
        table("locust_events", [node | {"event": "test_started"}], {"text": "Test started"}, instants=3),
    )


def _locust_dirty() -> Dataset:
    def failed(noise: Noise) -> str:
        path = f"/orders/{noise.randint(10**5, 10**7)}"
        return (
            "ConnectionError(MaxRetryError(\"HTTPSConnectionPool(host='shop.example.com', port=443): Max retries "
            f'exceeded with url: {path} (Caused by NewConnectionError: [Errno 111] Connection refused)"))'
        )

    def named(noise: Noise) -> str:
        return f"/orders/{noise.randint(10**5, 10**7)}"

    ok = [{"name": named}] * 6
    return _locust([*ok, *[{"name": "/orders/[id]", "exception": failed, "result": "failure"}] * 2], 220)


def _locust_clean() -> Dataset:
    failed = {
        "name": "/orders/[id]",
        "result": "failure",
        "exception": "HTTPError('503 Server Error: Service Unavailable')",
    }
    return _locust([*({"name": f"/{page}/[id]"} for page in _PAGES), failed], 120)


# --- Gatling ---------------------------------------------------------------------------------------------------------

_GATLING: Final = ("count", "min", "max", "mean", "stdDev", "percentiles50", "percentiles95", "percentiles99")
_RESULTS: Final = ("all", "ok", "ko")


def _gatling_dirty() -> Dataset:
    names = [f"gatling.shopsimulation.{p}.{r}.{f}" for p in _PAGES for r in _RESULTS for f in _GATLING[:4]]
    return kept(*(table(name, [{}], {"value": (1.0, 900.0)}, instants=10, step=_STEP) for name in names))


def _gatling_clean() -> Dataset:
    # `templates = ["gatling.*.*.*.* measurement.simulation.request.status.field"]`.
    sources = [
        {"simulation": "shopsimulation", "request": p, "status": r} for p in (*_PAGES, "allRequests") for r in _RESULTS
    ]
    users = [{"simulation": "shopsimulation", "request": "users", "status": "allUsers"}]
    return kept(
        table("gatling", sources, dict.fromkeys(_GATLING, (1.0, 900.0)), instants=50, step=_STEP),
        table(
            "gatling_users", users, dict.fromkeys(("active", "waiting", "done"), (0.0, 90.0)), instants=50, step=_STEP
        ),
    )


LAYOUTS: Final = (
    Layout(
        name="jmeter",
        engine="influxdb1",
        source="https://jmeter.apache.org/usermanual/realtime-results.html",
        dirty=_jmeter_dirty,
        clean=_jmeter_clean,
        wanted=(
            Wanted(
                "TAG002|TAG003",
                "jmeter.transaction",
                "samplers named by their path: each order is a new series",
            ),
        ),
    ),
    Layout(
        name="k6",
        engine="influxdb1",
        source="https://k6.io/docs/results-output/real-time/influxdb/",
        dirty=_k6_dirty,
        clean=_k6_clean,
        wanted=(
            Wanted("TAG002", "http_req*.iter", "a tag that counts: TAGS_AS_FIELDS has iter by default"),
            Wanted(
                "TAG002|TAG003",
                "http_req*.[un]*",
                "url, and name for want of one, hold an order's id each time",
            ),
        ),
    ),
    Layout(
        name="locust",
        engine="influxdb1",
        source="https://github.com/hoodoo-digital/locust-influxdb-listener",
        dirty=_locust_dirty,
        clean=_locust_clean,
        wanted=(
            Wanted("TAG002", "locust_requests.exception", "the text of an exception, with the path it met"),
            Wanted("TAG002|TAG003", "locust_requests.name", "paths with ids, for want of name= in the test"),
        ),
    ),
    Layout(
        name="gatling",
        engine="influxdb1",
        source="https://gatling.io/docs/gatling/reference/current/stats/realtime_monitoring/",
        dirty=_gatling_dirty,
        clean=_gatling_clean,
        wanted=(
            Wanted(
                "NAM002",
                "*",
                "simulation, request and field in 72 names: one template makes tags and fields of them",
            ),
        ),
    ),
)
