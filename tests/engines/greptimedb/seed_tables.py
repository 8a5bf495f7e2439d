"""The tables by which GreptimeDB's guide to table schemas explains itself, with rows as such tables have them.

`TABLES` are as the guide has them, `MISUSED` what it warns against, with its words.

https://docs.greptime.com/0.17/user-guide/deployments-administration/performance-tuning/design-table/
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

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


def requests(name: str, tags: tuple[str, ...] = (), rows: int = 600, **settings: Mapping[str, str]) -> Table:
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
    greptime = Greptime(**{"options": _APPEND, "time_digits": 3, **settings})
    return Table(name, tags, fields, kept, key=(*tags, "access_time"), time="access_time", greptime=greptime)


def raw_logs(name: str = "raw_logs", **settings: Mapping[str, str]) -> Table:
    noise = random.Random(1)
    rows = [
        Row(at, {}, {"message": noise.choice(_LINES).format(noise.randint(1, 10**9), noise.randint(1, 10**6))})
        for at in times(1_200, timedelta(minutes=1))
    ]
    greptime = Greptime(**{"options": _APPEND, "indexes": {"message": "fulltext"}, **settings})
    return Table(name, (), {"message": "string"}, rows, time="ts", greptime=greptime)


def system_metrics(name: str = "system_metrics", repeated: int = 0, **settings: Any) -> Table:
    """`repeated`: how many of its rows are written twice."""
    noise = random.Random(2)
    keys = ("cpu_util", "memory_util", "disk_util")
    rows = [
        Row(at, {"host": f"host-{host}"}, {key: noise.uniform(1, 99) for key in keys})
        for at in times(120, timedelta(minutes=10))
        for host in range(10)
    ]
    written = [*rows, *rows[:repeated]]
    greptime = Greptime(time_digits=3, **settings)
    return Table(
        name, ("host",), dict.fromkeys(keys, "float"), written, key=("host", "ts"), time="ts", greptime=greptime
    )


TABLES = Dataset(
    [
        requests("http_logs"),
        requests("http_logs_v2", ("application",)),
        requests("http_logs_v3", ("application",), indexes={"http_method": "inverted"}),
        requests("http_logs_v4", ("application",), indexes={"http_method": "inverted", "request_id": "skipping"}),
        raw_logs(),
        system_metrics(),
    ],
    database="seed",
)

MISUSED = {
    table.name: table
    for table in (
        # The option "ensures a log doesn't override another one with the same timestamp".
        requests("without_append_mode", options={}),
        raw_logs("lines_by_time", options={}),
        # "You must not use high cardinality column as the primary key."
        requests("id_in_the_key", ("application", "request_id")),
        requests("id_alone_in_the_key", ("request_id",), options={}),
        # "For high cardinality columns like trace_id, request_id, using a skipping index is more appropriate."
        requests("id_with_inverted_index", ("application",), indexes={"request_id": "inverted"}),
        # "It may have a lower filtering performance on low cardinality columns."
        requests("method_with_skipping_index", ("application",), indexes={"http_method": "skipping"}),
        # "It sorts logs by application": an index on it finds nothing sooner.
        requests("key_indexed_again", ("application",), indexes={"application": "inverted"}),
        # "For unstructured log messages that require tokenization and searching by terms."
        raw_logs("unsearchable_logs", indexes={}),
        # "Deduplication requires more computation": logs need none.
        requests("compared_logs", ("application",), options={}),
        # "The table removes duplicate rows by host and ts."
        system_metrics("metrics_kept_twice", repeated=200, options=_APPEND),
        # "It's meaningless to create additional index for the timestamp column", and "unnecessary and not recommended
        # for you to partition data by time".
        system_metrics(
            "metrics_by_time",
            indexes={"ts": "inverted"},
            partition_by=("ts",),
            partitions=("ts < '2026-03-31 00:00:00'", "ts >= '2026-03-31 00:00:00'"),
        ),
        # "Typically use short strings and integers for tags, avoiding FLOAT, DOUBLE, TIMESTAMP."
        Table(
            "level_in_the_key",
            ("tank", "level"),
            {"valve": "float"},
            [Row(at, {"tank": "t1", "level": str(i / 8)}, {"valve": i / 7}) for i, at in enumerate(times(60))],
            key=("tank", "level", "time"),
            greptime=Greptime(tag_types={"level": "float"}),
        ),
    )
}
