"""The tables by which GreptimeDB's guide to table schemas explains itself, with rows as such tables have them.

`TABLES` are as the guide has them, `MISUSED` what it warns against.

https://docs.greptime.com/0.17/user-guide/deployments-administration/performance-tuning/design-table/
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from datetime import timedelta

from tests.databases import Dataset, Greptime, Row, Table, times

_APPEND = {"append_mode": "true"}
_APPLICATIONS = ("greptimedb", "shop", "search", "login")
_METHODS = ("GET", "GET", "GET", "POST", "DELETE")
_STATUS = ("200", "200", "200", "304", "404", "500")
_REQUEST = (
    "remote_addr",
    "http_status",
    "http_method",
    "http_refer",
    "user_agent",
    "request_id",
    "request",
)
_LINES = (
    "WARN connection to {} was reset by its peer, trying once more in {} ms",
    "INFO compaction of region {} took {} ms, files were merged as planned",
    "ERROR the session of user {} ended after {} ms of waiting for an answer",
)


def _requests(name: str, tags: tuple[str, ...] = (), rows: int = 1_200, **settings: Mapping[str, str]) -> Table:
    noise = random.Random(name)
    kept = []
    for at in times(rows, timedelta(minutes=1)):
        # Several requests within one millisecond: what an append-only table keeps apart.
        for _ in range(2):
            values = {
                "application": noise.choice(_APPLICATIONS),
                "remote_addr": f"10.{noise.randint(0, 9)}.{noise.randint(0, 255)}.{noise.randint(1, 254)}",
                "http_status": noise.choice(_STATUS),
                "http_method": noise.choice(_METHODS),
                "http_refer": f"https://example.com/{noise.choice(_APPLICATIONS)}/{noise.randint(1, 400)}",
                "user_agent": f"Mozilla/5.0 (X11; Linux x86_64; rv:{noise.randint(90, 140)}.0) Gecko/20100101 Firefox",
                "request_id": f"{noise.getrandbits(128):032x}",
                "request": f"/{noise.choice(_APPLICATIONS)}/{noise.randint(1, 90_000)}?page={noise.randint(1, 60)}",
            }
            fields = {key: value for key, value in values.items() if key not in tags}
            kept.append(Row(at, {tag: values[tag] for tag in tags}, fields))
    columns = dict.fromkeys(("application", *_REQUEST), "string")
    fields = {key: kind for key, kind in columns.items() if key not in tags}
    greptime = Greptime(**{"options": _APPEND, "time_digits": 3, **settings})  # type: ignore[arg-type]
    return Table(name, tags, fields, kept, time="access_time", greptime=greptime)


def _raw_logs() -> Table:
    noise = random.Random(1)
    rows = [
        Row(at, {}, {"message": noise.choice(_LINES).format(noise.randint(1, 10**9), noise.randint(1, 10**6))})
        for at in times(1_200, timedelta(minutes=1))
    ]
    greptime = Greptime(options=_APPEND, indexes={"message": "fulltext"})
    return Table("raw_logs", (), {"message": "string"}, rows, time="ts", greptime=greptime)


def _system_metrics() -> Table:
    noise = random.Random(2)
    keys = ("cpu_util", "memory_util", "disk_util")
    rows = [
        Row(at, {"host": f"host-{host}"}, {key: noise.uniform(1, 99) for key in keys})
        for at in times(120, timedelta(minutes=10))
        for host in range(10)
    ]
    greptime = Greptime(time_digits=3)
    return Table("system_metrics", ("host",), dict.fromkeys(keys, "float"), rows, time="ts", greptime=greptime)


TABLES = Dataset(
    [
        _requests("http_logs"),
        _requests("http_logs_v2", ("application",)),
        _requests("http_logs_v3", ("application",), indexes={"http_method": "inverted"}),
        _requests("http_logs_v4", ("application",), indexes={"http_method": "inverted", "request_id": "skipping"}),
        _raw_logs(),
        _system_metrics(),
    ],
    database="seed",
)

MISUSED = Dataset(
    [
        # Requests of one millisecond overwrite each other.
        _requests("without_append_mode", options={}),
        _requests("id_in_the_key", ("application", "request_id")),
        _requests("id_with_inverted_index", ("application",), indexes={"request_id": "inverted"}),
        _requests("method_with_skipping_index", ("application",), indexes={"http_method": "skipping"}),
        _requests("key_indexed_again", ("application",), indexes={"application": "inverted"}),
        dataclasses.replace(_raw_logs(), name="unsearchable_logs", greptime=Greptime(options=_APPEND)),
        dataclasses.replace(
            _system_metrics(),
            name="metrics_by_time",
            greptime=Greptime(
                time_digits=3,
                indexes={"ts": "inverted"},
                partition_by=("ts",),
                partitions=("ts < '2026-03-31 00:00:00'", "ts >= '2026-03-31 00:00:00'"),
            ),
        ),
    ],
    database="misused",
)
