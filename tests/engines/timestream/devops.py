"""Data in the shape of AWS's DevOps example for Timestream: regular metrics and irregular events of hosts.

The names are those of its data generator (github.com/awslabs/amazon-timestream-tools, perf-scale-workload, MIT-0); the
values are our own and the same each time. Ten dimensions, of which metrics and events have eight each.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

from tests.builders import NOW
from tests.databases import Dataset, Row, Table, Value

Mode = Literal["multi", "single", "one_name", "hashed"]

HOST_TAGS = ("region", "cell", "silo", "availability_zone", "microservice_name", "instance_name")
METRIC_TAGS = ("instance_type", "os_version")
EVENT_TAGS = ("process_name", "jdk_version")
METRICS = (
    *("cpu_user", "cpu_system", "cpu_idle", "cpu_iowait", "cpu_steal", "cpu_nice", "cpu_si", "cpu_hi"),
    *("memory_free", "memory_used", "memory_cached", "disk_io_reads", "disk_io_writes", "latency_per_read"),
    *("latency_per_write", "network_bytes_in", "network_bytes_out", "disk_used", "disk_free"),
    "file_descriptors_in_use",
)
EVENTS = {"task_completed": "integer", "task_end_state": "string", "gc_reclaimed": "float", "gc_pause": "float"}
_SERVICES = ("apollo", "athena", "demeter", "hercules", "zeus")
_STATES = ("SUCCESS_WITH_NO_RESULT", "SUCCESS_WITH_RESULT", "INTERNAL_ERROR", "USER_ERROR", "UNKNOWN", "THROTTLED")


def devops(
    mode: Mode = "multi",
    *,
    hosts: int = 12,
    instants: int = 20,
    request_id: Literal["dimension", "measure"] | None = None,
    table: Mapping[str, Any] | None = None,
    account: Mapping[str, Any] | None = None,
) -> Dataset:
    """One table `devops` in `shop`, and what Timestream's API tells of both.

    `multi`: a record of all metrics and one of all events; `single`: a record per value; `one_name`: as `multi`, with
    one measure name for both; `hashed`: with a number made from the host as the measure name.
    """
    noise = random.Random(11)
    rows: list[Row] = []
    for number in range(hosts):
        tags = _host(number)
        metrics = tags | {"instance_type": "m5.8xlarge" if number % 3 else "r5.4xlarge", "os_version": "AL2"}
        events = tags | {"process_name": f"{tags['microservice_name']}_server", "jdk_version": "JDK_11"}
        for instant in range(instants):
            at = NOW - timedelta(minutes=instants - instant)
            rows += _records(
                mode, "metrics", at, metrics, {m: noise.uniform(0, 100) for m in METRICS}, request_id, noise
            )
            if noise.random() < 0.5:
                at -= timedelta(seconds=noise.uniform(0, 59))
                rows += _records(mode, "events", at, events, _event(noise), request_id, noise)
    tags_used = (*HOST_TAGS, *METRIC_TAGS, *EVENT_TAGS)
    fields = dict.fromkeys(METRICS, "float") | EVENTS
    if mode == "single":
        fields = {
            f"measure_value::{kind}": as_
            for kind, as_ in (("double", "float"), ("bigint", "integer"), ("varchar", "string"))
        }
    if request_id == "dimension":
        tags_used = (*tags_used, "request_id")
    elif request_id == "measure" and mode != "single":
        fields["request_id"] = "string"
    devops = Table("devops", tags_used, fields, rows, key=("time", *tags_used), timestream=table or {})
    return Dataset([devops], retention=timedelta(days=365), database="shop", timestream=account or {})


def partitioned_by(dimension: str, enforcement: str = "REQUIRED") -> dict[str, Any]:
    """What the API tells of a table with a customer-defined partition key."""
    key = {"Type": "DIMENSION", "Name": dimension, "EnforcementInRecord": enforcement}
    return {"Schema": {"CompositePartitionKey": [key]}}


def _host(number: int) -> dict[str, str | None]:
    region = ("us-east-1", "us-west-2", "eu-west-1")[number % 3]
    cell, silo = f"{region}-cell-{number % 6}", f"{region}-cell-{number % 6}-silo-{number % 12}"
    service = _SERVICES[number % 5]
    return {
        "region": region,
        "cell": cell,
        "silo": silo,
        "availability_zone": f"{region}-{number % 2}",
        "microservice_name": service,
        "instance_name": f"i-{hashlib.md5(str(number).encode()).hexdigest()[:8]}-{service}-{silo}.amazonaws.com",
    }


def _event(noise: random.Random) -> dict[str, Value]:
    return {
        "task_completed": noise.randint(0, 500),
        "task_end_state": noise.choices(_STATES, weights=(8, 80, 4, 4, 2, 2))[0],
        "gc_reclaimed": noise.uniform(0, 100),
        "gc_pause": noise.uniform(0, 100),
        "memory_free": noise.uniform(0, 100),
    }


def _records(
    mode: Mode,
    name: str,
    at: Any,
    tags: Mapping[str, str | None],
    values: Mapping[str, Value],
    request_id: str | None,
    noise: random.Random,
) -> list[Row]:
    own = f"{noise.getrandbits(128):032x}"
    if request_id == "dimension":
        tags = {**tags, "request_id": own}
    if mode == "single":
        return [Row(at, tags, {f"measure_value::{_type(value)}": value}, key) for key, value in values.items()]
    if request_id == "measure":
        values = {**values, "request_id": own}
    if mode == "hashed":
        name = str(int(hashlib.md5(str(tags["instance_name"]).encode()).hexdigest(), 16) % 8192)
    return [Row(at, tags, values, "metrics" if mode == "one_name" else name)]


def _type(value: Value) -> str:
    return {float: "double", int: "bigint"}.get(type(value), "varchar")
