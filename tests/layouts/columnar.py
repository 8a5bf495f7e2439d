"""Layouts on InfluxDB 3, which needs no bound on the values of a tag, and loses rows that have none."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from tests.databases import Dataset
from tests.layouts.layout import Layout, Wanted
from tests.layouts.series import hex_id, kept, table

_SCHEMA: Final = "https://docs.influxdata.com/influxdb3/core/write-data/best-practices/schema-design/"
_SENSORS: Final = [f"sensor-{i:02}" for i in range(12)]
_AIR: Final = {"temperature": (15.0, 25.0), "humidity": (30.0, 60.0), "co2": (400, 1200)}


def _without_tags() -> Dataset:
    # Twelve sensors report on the minute; eleven of their twelve rows are gone.
    return kept(table("air", [{} for _ in _SENSORS], {"sensor_id": list(_SENSORS)} | _AIR, instants=120))


def _with_tags() -> Dataset:
    return kept(table("air", [{"sensor_id": sensor} for sensor in _SENSORS], _AIR, instants=60))


_MACS: Final = [f"a4c138{(7_919 * i * i + 104_729) % 16**6:06x}" for i in range(36)]


def _table_per_mac() -> Dataset:
    return kept(*(table(f"dev_{mac}", [{}], _AIR, instants=12) for mac in _MACS))


def _mac_as_tag() -> Dataset:
    return kept(table("devices", [{"mac": mac} for mac in _MACS], _AIR))


def _table_per_reading() -> Dataset:
    names = [
        f"{site}_{machine}_{what}"
        for site in ("berlin", "munich", "linz")
        for machine in ("press", "lathe", "mill", "robot")
        for what in ("temperature", "power", "speed")
    ]
    return kept(*(table(name, [{}], {"value": (0.0, 90.0)}, instants=12) for name in names))


def _machines() -> Dataset:
    machines = [
        {"site": s, "machine": m} for s in ("berlin", "munich", "linz") for m in ("press", "lathe", "mill", "robot")
    ]
    return kept(table("machines", machines, {"temperature": (20.0, 90.0), "power": (0.0, 9.0), "speed": (0.0, 3000.0)}))


def _telemetry() -> Dataset:
    """Spans, logs and metrics by the exporter's schema telegraf-prometheus-v1: ids are tags there, names have dots."""
    span = {
        "trace_id": hex_id(32),
        "span_id": hex_id(16),
        "service.name": ["cart", "search", "checkout"],
        "span.name": ["GET /cart", "POST /orders", "SELECT orders"],
    }
    ended = {
        "duration_nano": (10**5, 10**9),
        "end_time_unix_nano": (10**18, 2 * 10**18),
        "kind": ["SPAN_KIND_SERVER", "SPAN_KIND_CLIENT"],
        "otel.library.name": "io.opentelemetry.http",
        "otel.library.version": "1.32.0",
        "attributes": lambda noise: (
            f'{{"http.status_code":{noise.choice((200, 404, 500))},"thread.id":{noise.randint(1, 90)}}}'
        ),
    }
    line = {"service.name": ["cart", "search"], "span_id": hex_id(16), "trace_id": hex_id(32)}
    said = {
        "severity_number": [9, 13, 17],
        "severity_text": ["INFO", "WARN", "ERROR"],
        "body": lambda noise: f"order {noise.randint(1, 10**6)} was paid after {noise.randint(1, 900)} ms",
        "attributes": '{"log.file.name":"app.log"}',
    }
    services = [
        {"service.name": s, "host.name": f"node-{i}", "container.name": s} for i, s in enumerate(("cart", "search"))
    ]
    many: dict[str, Any] = {"instants": 900, "step": timedelta(seconds=9)}
    return kept(
        table("spans", [span], ended, **many),
        table("logs", [line], said, **many),
        table(
            "system.memory.usage", [s | {"state": t} for s in services for t in ("used", "free")], {"gauge": (1e8, 1e9)}
        ),
        table(
            "http.server.duration",
            services,
            {"count": (1, 900), "sum": (1.0, 1e5), "0.5": (0.0, 9e3), "+Inf": (0.0, 9e3)},
        ),
    )


def _db_rp() -> Dataset:
    """A database that answers queries of InfluxDB 1.x has its policy in its name."""
    hosts = [{"host": f"web{i:02}"} for i in range(6)]
    return kept(
        table("cpu", hosts, {"usage_user": (0.0, 90.0), "usage_system": (0.0, 90.0)}),
        table("mem", hosts, {"used": (1, 10**9), "free": (1, 10**9)}),
        database="telegraf/autogen",
    )


LAYOUTS: Final = (
    Layout(
        name="influxdb3-ids-as-fields",
        engine="influxdb3",
        source=_SCHEMA,
        dirty=_without_tags,
        clean=_with_tags,
        wanted=(
            Wanted(
                "STO006|FLD001|LAY004",
                "air*",
                "rows of one instant overwrite each other, as only time tells them apart: sensor_id must be a tag",
            ),
        ),
    ),
    Layout(
        name="influxdb3-table-per-mac",
        engine="influxdb3",
        source=_SCHEMA,
        dirty=_table_per_mac,
        clean=_mac_as_tag,
        wanted=(Wanted("NAM002", "*", "36 tables of one schema that differ in a MAC address: a tag"),),
    ),
    Layout(
        name="influxdb3-table-per-reading",
        engine="influxdb3",
        source=_SCHEMA,
        dirty=_table_per_reading,
        clean=_machines,
        wanted=(
            Wanted(
                "NAM002|LAY007",
                "*",
                "site, machine and quantity in 36 names, a value each: two tags and three fields",
            ),
        ),
    ),
    Layout(
        name="opentelemetry-influxdb3",
        engine="influxdb3",
        source="https://github.com/influxdata/influxdb-observability/blob/main/docs/index.md",
        clean=_telemetry,
    ),
    Layout(
        name="influxdb3-database-and-policy",
        engine="influxdb3",
        source="https://docs.influxdata.com/influxdb3/cloud-serverless/write-data/api/v1-http/",
        clean=_db_rp,
    ),
)
