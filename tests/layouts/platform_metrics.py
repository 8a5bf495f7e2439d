"""What platforms write to InfluxDB, GreptimeDB, Timestream, and MongoDB."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any, Final

from tests.builders import DAY
from tests.databases import Collection, Dataset, Greptime, Row, Table, times
from tests.engines.timestream.devops import partitioned_by
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import Noise, hex_id, kept, table

_NUMBER: Final = (1, 10**9)


# --- Telegraf's http_response, with a token in the address -----------------------------------------------------------


def _checked(servers: list[dict[str, Any]], instants: int) -> Dataset:
    values: dict[str, Any] = {
        "response_time": (0.01, 2.0),
        "http_response_code": [200, 200, 503],
        "content_length": (10, 90_000),
    }
    values |= {"result_code": [0, 0, 3], "result_type": ["success", "success", "response_status_code_mismatch"]}
    about = {
        "method": "GET",
        "status_code": ["200", "200", "503"],
        "result": ["success", "response_status_code_mismatch"],
    }
    pinged = [{"host": "probe1", "url": f"10.0.0.{i}"} for i in range(1, 9)]
    return kept(
        table("http_response", [about | s for s in servers], values, instants=instants),
        table(
            "ping", pinged, {"average_response_ms": (0.1, 90.0), "packets_transmitted": 1, "percent_packet_loss": 0.0}
        ),
    )


def _checked_dirty() -> Dataset:
    def address(noise: Noise) -> str:
        return f"https://shop.example.com/health?nonce={noise.getrandbits(96):024x}"

    return _checked([{"host": "probe1", "server": address}] * 8, 180)


def _checked_clean() -> Dataset:
    return _checked(
        [{"host": "probe1", "server": f"https://{name}.example.com/health"} for name in ("shop", "api", "www")], 60
    )


# --- The Things Stack: positions as tags on InfluxDB 1.x -------------------------------------------------------------


def _trackers(place: dict[str, Any], fields: dict[str, Any], instants: int) -> Dataset:
    noise = Noise(21)
    trackers = [
        {
            "application_id": "bikes",
            "device_id": f"eui-70b3d57ed0{noise.getrandbits(24):06x}",
            "gateway_id": f"gw-{i % 4}",
        }
        for i in range(40)
    ]
    values = {"rssi": (-120, -60), "snr": (-12.0, 9.0), "battery": (2.9, 3.6)}
    hours: dict[str, Any] = {"step": timedelta(hours=1), "apart": timedelta(seconds=17)}
    return kept(table("uplink", [t | place for t in trackers], values | fields, instants=instants, **hours))


def _trackers_dirty() -> Dataset:
    here = {
        key: lambda noise, at=at: f"{at + noise.random():.5f}" for key, at in (("latitude", 52.0), ("longitude", 13.0))
    }
    return _trackers(here, {}, 40)


def _trackers_clean() -> Dataset:
    return _trackers({}, {"latitude": (52.0, 53.0), "longitude": (13.0, 14.0)}, 40)


# --- Loki's lines in GreptimeDB --------------------------------------------------------------------------------------


def _loki(labels: list[dict[str, Any]], append: dict[str, str]) -> Dataset:
    def line(noise: Noise) -> str:
        return f'level=info msg="request done" id={noise.getrandbits(64):016x} took={noise.randint(1, 900)}ms'

    greptime = Greptime(options=append | {"ttl": "30days"}, indexes={"line": "fulltext"})
    many: dict[str, Any] = {"instants": 500, "step": timedelta(seconds=30), "time": "greptime_timestamp"}
    return kept(table("loki_logs", labels, {"line": line}, greptime=greptime, **many))


def _loki_dirty() -> Dataset:
    return _loki([{"app": app, "stream": "stdout", "pod_uid": hex_id(32)} for app in ("cart", "search", "login")], {})


def _loki_clean() -> Dataset:
    return _loki([{"app": app, "stream": "stdout"} for app in ("cart", "search", "login")], {"append_mode": "true"})


# --- Timestream: a table for each continent --------------------------------------------------------------------------

_CONTINENTS: Final = ("africa", "antarctica", "asia", "europe", "north_america", "oceania", "south_america")


def _stations(continent: str) -> list[dict[str, Any]]:
    return [{"station": f"{continent[:2]}-{i:02}", "country": f"{continent[:2]}{i % 3}"} for i in range(8)]


def _weather(name: str, stations: list[dict[str, Any]]) -> Table:
    made = table(name, stations, {"temperature": (-30.0, 40.0), "wind": (0.0, 30.0), "pressure": (950.0, 1050.0)})
    rows = [Row(row.time, row.tags, row.fields, "weather") for row in made.rows]
    return Table(name, made.tags, made.fields, rows, made.key, timestream=partitioned_by("station"))


def _continents_dirty() -> Dataset:
    return kept(*(_weather(f"weather_{c}", _stations(c)) for c in _CONTINENTS), database="climate")


def _continents_clean() -> Dataset:
    stations = [station | {"continent": c} for c in _CONTINENTS for station in _stations(c)]
    return kept(_weather("weather", stations), database="climate")


# --- MongoDB: a collection for each day, as Germans write a day ------------------------------------------------------


def _days() -> list[date]:
    return [DAY - timedelta(days=i) for i in range(45)]


def _log(count: int, end: date) -> list[dict[str, Any]]:
    noise = Noise(str(end))
    stop = times(1)[0] - (DAY - end)
    return [
        {
            "at": at,
            "level": noise.choice(("info", "warn")),
            "service": noise.choice(("cart", "search")),
            "ms": noise.randint(1, 900),
        }
        for at in times(count, timedelta(minutes=15), stop)
    ]


def _log_dirty() -> Dataset:
    return Dataset(collections=[Collection(f"log_{day:%d%m%Y}", _log(30, day)) for day in _days()])


def _log_clean() -> Dataset:
    return Dataset(collections=[Collection("log", _log(1_000, DAY), expire={"at": 7_776_000})])


# --- InfluxDB 3: four kinds of rows in one table, told apart by a tag ------------------------------------------------


def _kinds_dirty() -> Dataset:
    sources = (
        (
            [{"kind": "pump", "pump": f"p{i}"} for i in range(6)],
            {"flow": (1.0, 9.0), "pressure": (1.0, 4.0), "rpm": _NUMBER},
        ),
        (
            [{"kind": "tank", "tank": f"t{i}"} for i in range(6)],
            {"level": (0.0, 9.0), "ph": (6.0, 8.0), "turbidity": (0.0, 1.0)},
        ),
        (
            [{"kind": "valve", "valve": f"v{i}"} for i in range(6)],
            {"open_share": (0.0, 1.0), "moves": (0, 90), "torque": (1.0, 9.0)},
        ),
        (
            [{"kind": "grid", "meter": f"m{i}"} for i in range(6)],
            {"kwh": (0.0, 900.0), "volt": (220.0, 240.0), "ampere": (0.0, 16.0)},
        ),
    )
    parts = [table(f"part{i}", tags, values) for i, (tags, values) in enumerate(sources)]
    tags = list(dict.fromkeys(tag for part in parts for tag in part.tags))
    fields = {key: kind for part in parts for key, kind in part.fields.items()}
    return kept(Table("plant", tags, fields, [row for part in parts for row in part.rows], ("time", *tags)))


def _kinds_clean() -> Dataset:
    pumps = table("pumps", [{"pump": f"p{i}"} for i in range(6)], {"flow": (1.0, 9.0), "pressure": (1.0, 4.0)})
    tanks = table(
        "tanks",
        [{"tank": f"t{i}"} for i in range(6)],
        {"level": (0.0, 9.0), "ph": (6.0, 8.0)},
        step=timedelta(minutes=7),
    )
    return kept(pumps, tanks)


LAYOUTS: Final = (
    Layout(
        name="telegraf-http-response",
        engine="influxdb1",
        source="https://docs.influxdata.com/telegraf/v1/input-plugins/http_response/",
        dirty=_checked_dirty,
        clean=_checked_clean,
        wanted=(
            Wanted(
                "TAG002|TAG003",
                "http_response.server",
                "a nonce against caches makes each check a series",
            ),
        ),
    ),
    Layout(
        name="things-stack-positions",
        engine="influxdb1",
        source="https://www.thethingsindustries.com/docs/integrations/",
        dirty=_trackers_dirty,
        clean=_trackers_clean,
        wanted=(
            Wanted("TAG002", "uplink.latitude", "where a bicycle is, is measured: fields"),
            Wanted("TAG002", "uplink.longitude", "the same"),
        ),
    ),
    Layout(
        name="greptimedb-loki",
        engine="greptimedb",
        source="https://docs.greptime.com/user-guide/ingest-data/for-observability/loki/",
        dirty=_loki_dirty,
        clean=_loki_clean,
        wanted=(
            Wanted("TAG002", "loki_logs.pod_uid", "a new id for each line in the key"),
            Wanted("STO006", "loki_logs", "lines are compared with each other for nothing"),
        ),
    ),
    Layout(
        name="timestream-table-per-continent",
        engine="timestream",
        source="https://docs.aws.amazon.com/timestream/latest/developerguide/data-modeling.html",
        dirty=_continents_dirty,
        clean=_continents_clean,
        wanted=(
            Wanted("NAM002|LAY007|LAY008", "*", "seven tables of one schema: one, with the continent as a dimension"),
        ),
    ),
    Layout(
        name="mongodb-collection-per-day",
        engine="mongodb",
        source="https://www.mongodb.com/docs/manual/core/timeseries-collections/",
        dirty=_log_dirty,
        clean=_log_clean,
        wanted=(Wanted("NAM002", "*", "a collection per day, with the day first: one, and a TTL index"),),
        fine=(Wanted("DOC003", "*", "closed days are kept document by document"),),
    ),
    Layout(
        name="influxdb3-four-kinds",
        engine="influxdb3",
        source="https://docs.influxdata.com/influxdb3/core/write-data/best-practices/schema-design/",
        dirty=_kinds_dirty,
        clean=_kinds_clean,
        wanted=(
            Wanted("LAY004|LAY003", "plant*", "four kinds of machines in one table: three of four cells are empty"),
        ),
    ),
)
