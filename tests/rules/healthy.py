"""A database as a careful team runs it: on it, no rule has more to say than information."""

from __future__ import annotations

import random
from datetime import timedelta

from tests.databases import Collection, Dataset, Row, Table, times

_REGIONS = ("eu-central", "us-east", "us-west")
_HOSTS = [(f"web-{i:02}", _REGIONS[i % 3]) for i in range(24)]
_SENSORS = ("TLM0100", "TLM0101", "TLM0102", "TLM0103", "TLM0200", "TLM0201", "TLM0202", "TLM0203")


def _cpu() -> Table:
    noise = random.Random(1)
    rows = [
        Row(
            time,
            {"host": host, "region": region},
            {
                "usage_user": noise.uniform(1, 90),
                "usage_system": noise.uniform(1, 20),
                "processes": noise.randint(90, 120),
            },
        )
        for time in times(30, timedelta(minutes=5))
        for host, region in _HOSTS
    ]
    fields = {"usage_user": "float", "usage_system": "float", "processes": "integer"}
    return Table("cpu", ("host", "region"), fields, rows, key=("time", "host", "region"))


def _air() -> Table:
    noise = random.Random(2)
    rows = [
        Row(
            time,
            {"sensor_id": sensor},
            {"co": noise.uniform(0, 1), "humidity": noise.uniform(30, 40), "temperature": noise.uniform(70, 75)},
        )
        for time in times(60, timedelta(minutes=10))
        for sensor in _SENSORS
    ]
    fields = {"co": "float", "humidity": "float", "temperature": "float"}
    return Table("air_sensors", ("sensor_id",), fields, rows, key=("time", "sensor_id"))


def _requests() -> Table:
    noise = random.Random(3)
    rows = [
        Row(
            time,
            {"endpoint": endpoint, "method": method, "region": region},
            {
                "latency_ms": noise.uniform(3, 300),
                "failures": noise.randint(0, 3),
                "trace": f"{noise.getrandbits(128):032x}",
            },
        )
        for time in times(20, timedelta(minutes=7))
        for endpoint in ("cart", "checkout", "search", "login")
        for method in ("GET", "POST")
        for region in _REGIONS
    ]
    fields = {"latency_ms": "float", "failures": "integer", "trace": "string"}
    return Table(
        "http_requests", ("endpoint", "method", "region"), fields, rows, key=("time", "endpoint", "method", "region")
    )


def _documents() -> list[Collection]:
    """What only a document store keeps: own ids, a validator, a time series, and counts of what is over."""
    series = {"timeField": "at", "metaField": "source", "granularity": "minutes"}
    readings = [
        {"at": at, "source": {"sensor": sensor}, "celsius": 20 + i / 7}
        for i, at in enumerate(times(60, timedelta(minutes=10)))
        for sensor in _SENSORS
    ]
    orders = [{"_id": i, "total": i / 4, "items": [{"sku": k} for k in range(i % 5)]} for i in range(150)]
    return [
        Collection("users", [{"_id": i, "name": f"n{i}", "city": f"c{i % 9}"} for i in range(150)]),
        Collection("orders", orders, options={"validator": {"$jsonSchema": {"required": ["total", "items"]}}}),
        Collection("readings", readings, options={"timeseries": series}),
        Collection("visits_counts", [{"_id": f"visits_2026_{m:02}", "n": 100 * m} for m in range(1, 4)]),
        Collection("visits_2026_03", [{"_id": i} for i in range(150)]),
    ]


HEALTHY = Dataset([_cpu(), _air(), _requests()], collections=_documents(), retention=timedelta(days=90_00))
