"""Gateways, services and fleets: plugs, Micrometer, inverters, trucks, chargers, and tables per place or site."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset, Greptime, Row, Table
from tests.engines.timestream.devops import partitioned_by
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, hex_id, kept, table

_GUIDE: Final = "https://docs.influxdata.com/influxdb/v2/write-data/best-practices/schema-design/"
_ROOMS: Final = ("kitchen", "office", "garage", "cellar", "bath")
_PLUGS: Final = ("power", "energy", "voltage", "current")
_HALF_DAY: Final[dict[str, Any]] = {"instants": 2, "step": timedelta(hours=12)}


def _plugs(dirty: bool) -> Dataset:
    if dirty:
        names = [f"plug_{room}_{what}" for room in _ROOMS for what in _PLUGS]
        return kept(*(table(name, [{}], {"value": (0.0, 900.0)}, instants=30) for name in names))
    values = dict.fromkeys(_PLUGS, (0.0, 900.0))
    return kept(table("plugs", [{"room": room} for room in _ROOMS], values, instants=60))


def _micrometer(dirty: bool) -> Dataset:
    """Each meter is a measurement with the tag metric_type, as Micrometer's registry for InfluxDB names them."""

    def uri(noise: Noise) -> str:
        return f"/api/orders/{noise.randint(10**5, 10**8)}/items"

    app: dict[str, Any] = {"application": "shop", "instance": "shop-1"}
    gauges = ("jvm_threads_live", "jvm_memory_used", "process_cpu_usage", "hikaricp_connections", "logback_events")
    called = app | {"metric_type": "histogram", "uri": uri if dirty else ["/api/orders/{id}/items", "/api/cart"]}
    timed = {"count": (1, 90), "mean": (0.1, 90.0), "sum": (1.0, 900.0), "upper": (1.0, 900.0)}
    return kept(
        *(table(g, [app | {"metric_type": "gauge"}], {"value": (0.0, 1e6)}, instants=40) for g in gauges),
        table("http_server_requests", [called | {"method": "GET"}] * 3, timed, instants=800, step=timedelta(minutes=1)),
    )


def _inverters(dirty: bool) -> Dataset:
    each: dict[str, Any] = {"telegram": hex_id(32)} if dirty else {}
    inverters = [{"inverter_sn": f"30{11_000_000 + 7_919 * i}", "park": f"park{i % 6}"} | each for i in range(1_300)]
    return kept(table("yield", inverters, {"kwh": (0.0, 90.0), "volt": (220.0, 240.0)}, **_HALF_DAY))


def _trucks(dirty: bool) -> Dataset:
    trucks = [f"truck-{i:03}" for i in range(30)]
    measured = {"speed": (0.0, 90.0), "fuel": (0.0, 400.0)}
    if dirty:
        depots = [{"depot": depot} for depot in ("north", "south")] * 15
        return kept(table("positions", depots, {"truck_id": trucks} | measured, instants=400))
    sources = [{"depot": ("north", "south")[i % 2], "truck_id": truck} for i, truck in enumerate(trucks)]
    return kept(table("positions", sources, measured, instants=60))


_CONTINENTS: Final = ("africa", "asia", "europe", "oceania", "america", "antarctica")


def _weather(dirty: bool) -> Dataset:
    values = {"temperature": (-40.0, 45.0), "pressure": (900.0, 1080.0), "wind": (0.0, 40.0)}
    stations = [{"station": f"st{i}"} for i in range(5)]
    if dirty:
        return kept(*(table(name, stations, values) for name in _CONTINENTS))
    return kept(table("weather", [s | {"continent": c} for s in stations for c in _CONTINENTS], values))


def _audit_lines(dirty: bool) -> Dataset:
    key: dict[str, Any] = {"stream": ["api", "worker"]}
    lines: dict[str, Any] = {
        "line": lambda noise: f"user {noise.randint(1, 10**6)} changed order {noise.randint(1, 10**7)} in step 4",
    }
    made: dict[str, Any] = {"instants": 2_000, "step": timedelta(seconds=20), "time": "timestamp"}
    if dirty:
        stored = Greptime(options={"ttl": "30days"}, indexes={"line": "fulltext"})
        ids = {"request_id": hex_id(32)}
        columns = ("stream", "request_id", "timestamp")
        return kept(table("audit", [key | ids], lines, key=columns, greptime=stored, **made))
    stored = Greptime(options={"append_mode": "true", "ttl": "30days"}, indexes={"line": "fulltext"})
    return kept(table("audit", [key], lines, key=("stream", "timestamp"), greptime=stored, **made))


def _chargers(**settings: Any) -> Dataset:
    chargers = [{"charger_id": f"DE*ABC*E{10_000 + 13 * i}", "city": ("ulm", "bonn")[i % 2]} for i in range(1_200)]
    made = table("sessions", chargers, {"kwh": (0.0, 90.0), "minutes": (1.0, 90.0)}, **_HALF_DAY)
    rows = [Row(row.time, row.tags, row.fields, "charging") for row in made.rows]
    return kept(Table(made.name, made.tags, made.fields, rows, made.key, timestream=settings), database="charging")


def _zones(dirty: bool) -> Dataset:
    zones, what = ("north", "south", "attic", "hall", "lab"), ("temp", "co2", "lux")
    if dirty:
        return kept(table("building", [{"site": "hq"}], {f"{z}.{w}": (0.0, 900.0) for z in zones for w in what}))
    return kept(table("building", [{"site": "hq", "zone": z} for z in zones], dict.fromkeys(what, (0.0, 900.0))))


def _pair(name: str, engine: str, source: str, made: Any, *wanted: Wanted) -> Layout:
    return Layout(name, engine, source, dirty=lambda: made(True), clean=lambda: made(False), wanted=wanted)


LAYOUTS: Final = (
    _pair("plugs", "influxdb1", _GUIDE, _plugs, Wanted("NAM002", "*", "room and quantity in 20 names")),
    _pair(
        "micrometer",
        "influxdb1",
        "https://docs.micrometer.io/micrometer/reference/implementations/influx.html",
        _micrometer,
        Wanted("TAG002|TAG003", "http_server_requests.uri", "paths with an order's number"),
    ),
    _pair(
        "inverters",
        "influxdb1",
        _GUIDE,
        _inverters,
        Wanted("TAG002", "yield.telegram", "an id of each one"),
    ),
    _pair(
        "influxdb3-trucks",
        "influxdb3",
        "https://docs.influxdata.com/influxdb3/core/write-data/best-practices/schema-design/",
        _trucks,
        Wanted("FLD001|STO006", "positions.truck_id", "trucks of a depot overwrite each other"),
    ),
    _pair(
        "influxdb3-table-per-continent",
        "influxdb3",
        "https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html",
        _weather,
        Wanted("NAM002", "*", "six tables of one schema: a tag continent"),
    ),
    _pair(
        "greptimedb-audit-lines",
        "greptimedb",
        "https://docs.greptime.com/user-guide/logs/overview/",
        _audit_lines,
        Wanted("TAG002", "audit.request_id", "each line has a key of its own"),
        Wanted("STO006", "audit", "lines are compared for duplicates that cannot be"),
    ),
    Layout(
        "timestream-chargers",
        "timestream",
        "https://docs.aws.amazon.com/timestream/latest/developerguide/customer-defined-partition-keys.html",
        dirty=_chargers,
        clean=lambda: _chargers(**partitioned_by("charger_id")),
        wanted=(Wanted("STO015", "sessions", "1,200 chargers, and no key to find one of them by"),),
    ),
    _pair("zones-in-fields", "influxdb1", _GUIDE, _zones, Wanted("NAM005", "building*", "zones in names of 15 fields")),
)
