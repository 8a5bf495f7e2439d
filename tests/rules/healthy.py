"""A database as a careful team runs it: on it, no rule has more to say than information."""

from __future__ import annotations

import random
from datetime import timedelta

from tests.databases import Dataset, Row, Table, times

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


HEALTHY = Dataset([_cpu(), _air(), _requests()], retention=timedelta(days=90_00))
