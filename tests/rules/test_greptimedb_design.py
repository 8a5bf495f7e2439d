"""The tables of GreptimeDB's own guide to schema design, and those that the product makes itself: what is said of each.

https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Final

import pytest

from tests.builders import DAY, NOW
from tests.databases import Dataset, Greptime, Row, Table, write
from tests.greptimedb_double import GreptimeDB
from tests.rules.greptime import IDS, LINES
from tsaudit.audit import audit
from tsaudit.collect import collect
from tsaudit.connectors import open_connection
from tsaudit.finding import Outcome
from tsaudit.rule import LimitPolicy

ROWS: Final = 3000
APPLICATIONS: Final = ("shop", "search", "billing", "login")
METHODS: Final = ("GET", "GET", "GET", "POST", "PUT")
PAGES: Final = ("items", "cart", "checkout", "help")
AGENTS: Final = ("Mozilla/5.0 (X11; Linux x86_64)", "curl/8.5.0", "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4)")
LOG_FIELDS: Final = (
    "application",
    "remote_addr",
    "http_status",
    "http_method",
    "http_refer",
    "user_agent",
    "request_id",
    "request",
)


def _logs(
    name: str, key: tuple[str, ...] = (), indexes: Mapping[str, str] | None = None, append_mode: str = "true"
) -> Table:
    """Requests as web servers see them, some within one millisecond."""
    by_chance = random.Random(5)
    rows = []
    for i in range(ROWS):
        method, page = by_chance.choice(METHODS), by_chance.choice(PAGES)
        values: dict[str, str | int] = {
            "application": by_chance.choice(APPLICATIONS),
            "remote_addr": ".".join(str(by_chance.randint(1, 254)) for _ in range(4)),
            "http_status": by_chance.choice(("200", "200", "304", "404", "500")),
            "http_method": method,
            "http_refer": f"https://shop.example.com/{by_chance.choice(PAGES)}/{by_chance.randint(1, 900)}",
            "user_agent": by_chance.choice(AGENTS),
            "request_id": IDS[i],
            "request": f"{method} /{page}/{by_chance.randint(1, 90_000)} HTTP/1.1",
        }
        tags = {tag: str(values.pop(tag)) for tag in key}
        rows.append(Row(NOW - timedelta(milliseconds=700 * (ROWS - i // 2)), tags, values))
    fields = {field: "string" for field in LOG_FIELDS if field not in key}
    settings = Greptime(options={"append_mode": append_mode}, indexes=indexes or {}, time_digits=3)
    return Table(name, key, fields, rows, key=(*key, "access_time"), time="access_time", greptime=settings)


def _raw_logs(indexes: Mapping[str, str], append_mode: str = "true") -> Table:
    rows = [Row(NOW - timedelta(seconds=ROWS - i), {}, {"message": LINES[i]}) for i in range(ROWS)]
    settings = Greptime(options={"append_mode": append_mode}, indexes=indexes, time_digits=9)
    return Table("raw_logs", (), {"message": "string"}, rows, key=("ts",), time="ts", greptime=settings)


def _system_metrics() -> Table:
    by_chance = random.Random(6)
    fields = dict.fromkeys(("cpu_util", "memory_util", "disk_util"), "float")
    rows = [
        Row(NOW - timedelta(minutes=300 - i), {"host": f"host-{h}"}, {f: by_chance.uniform(0, 100) for f in fields})
        for i in range(300)
        for h in range(8)
    ]
    return Table(
        "system_metrics", ("host",), fields, rows, key=("host", "ts"), time="ts", greptime=Greptime(time_digits=3)
    )


TABLES: Final = {
    "http_logs": _logs("http_logs"),
    "http_logs_v2": _logs("http_logs_v2", ("application",)),
    "http_logs_v3": _logs("http_logs_v3", ("application",), {"http_method": "inverted"}),
    "http_logs_v4": _logs("http_logs_v4", ("application",), {"http_method": "inverted", "request_id": "skipping"}),
    "raw_logs": _raw_logs({"message": "fulltext"}),
    "system_metrics": _system_metrics(),
}


@pytest.fixture(scope="module")
def server() -> Iterator[GreptimeDB]:
    own = GreptimeDB()
    yield own
    own.stop()


def said(server: GreptimeDB, *tables: Table, limits: Mapping[str, float] | None = None) -> dict[str, str]:
    """`code measurement.column` to the severity of each finding, all rules together."""
    target = write(Dataset(tables, database="public"), "greptimedb", server)
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW)
    assert profile.gaps == ()
    result = audit(profile, policy=LimitPolicy(target=limits or {}))
    assert not [r.reason for r in result.results if r.outcome is Outcome.ERROR]
    return {
        f"{r.code} {f.subject.measurement}{'.' if f.subject.column else ''}{f.subject.column}": str(f.severity)
        for r, f in result.findings()
    }


# Advice that the guide does not give, all of it information: a column with few values may be filtered by, and
# nothing says how long rows are kept.
FILTERED = {f"FLD001 {{}}.{column}": "info" for column in ("http_method", "user_agent")}
KEPT = {"RET001 {}": "info"}
SAID: Final[Mapping[str, Mapping[str, str]]] = {
    "http_logs": {"FLD001 {}.application": "info"} | FILTERED | KEPT,
    "http_logs_v2": FILTERED | KEPT,
    "http_logs_v3": FILTERED | KEPT,
    "http_logs_v4": FILTERED | KEPT,
    "raw_logs": KEPT,
    "system_metrics": KEPT,
}


@pytest.mark.parametrize("name", TABLES)
def test_what_is_said_of_the_tables_of_the_guide(server: GreptimeDB, name: str) -> None:
    assert said(server, TABLES[name]) == {key.format(name): severity for key, severity in SAID[name].items()}


LIMITS: Final = {
    "unfitting-index.max_low_values": 1_000,
    "unfitting-full-text-index.min_rows": 1_000,
    "needless-deduplication.min_rows": 1_000,
    "identifier-tag.max_ids": 500,
}
"""For tables of a few thousand rows."""
AGAINST: Final = {
    # The option "ensures a log doesn't override another one with the same timestamp".
    "no key and not append-only": (
        _logs("http_logs", append_mode="false"),
        {"STO006 http_logs": "critical"},
    ),
    # "You must not use high cardinality column as the primary key."
    "an id in the key": (
        _logs("http_logs_v2", ("request_id",)),
        {
            "STO005 http_logs_v2": "warn",
            "TAG002 http_logs_v2.request_id": "warn",
            "CAR006 http_logs_v2.request_id": "info",
        },
    ),
    # "For high cardinality columns like trace_id, request_id, using a skipping index is more appropriate."
    "an inverted index on ids": (
        _logs("http_logs_v3", ("application",), {"request_id": "inverted"}),
        {"STO007 http_logs_v3.request_id": "warn"},
    ),
    # "It may have a lower filtering performance on low cardinality columns."
    "a skipping index on few values": (
        _logs("http_logs_v4", ("application",), {"http_method": "skipping"}),
        {"STO007 http_logs_v4.http_method": "warn"},
    ),
    # "For unstructured log messages that require tokenization and searching by terms."
    "log text without an index": (_raw_logs({}), {"STO008 raw_logs.message": "warn"}),
    "log text that is deduplicated by time alone": (
        _raw_logs({"message": "fulltext"}, append_mode="false"),
        {"STO006 raw_logs": "critical"},
    ),
    # "Deduplication requires more computation": logs need none.
    "logs that are deduplicated": (
        _logs("http_logs_v2", ("application",), append_mode="false"),
        {"STO009 http_logs_v2": "warn"},
    ),
    # The table "removes duplicate rows by host and ts".
    "metrics that are kept twice": (
        dataclasses.replace(
            _system_metrics(),
            rows=[*_system_metrics().rows, *_system_metrics().rows[:200]],
            greptime=Greptime(options={"append_mode": "true"}, time_digits=3),
        ),
        {"STO010 system_metrics": "warn"},
    ),
    # "Typically use short strings and integers for tags, avoiding FLOAT, DOUBLE, TIMESTAMP."
    "a float in the key": (
        Table(
            "tanks",
            ("tank", "level"),
            {"valve": "float"},
            [
                Row(NOW - timedelta(minutes=60 - i), {"tank": "t1", "level": str(i / 8)}, {"valve": i / 7})
                for i in range(60)
            ],
            key=("tank", "level", "time"),
            greptime=Greptime(tag_types={"level": "float"}),
        ),
        {"STO013 tanks.level": "warn", "TAG006 tanks.level": "warn"},
    ),
}


@pytest.mark.parametrize("name", AGAINST)
def test_what_is_said_of_tables_made_against_the_guide(server: GreptimeDB, name: str) -> None:
    table, expected = AGAINST[name]
    found = said(server, table, limits=LIMITS)
    assert {k: v for k, v in found.items() if v != "info"} == {k: v for k, v in expected.items() if v != "info"}


def test_nothing_is_said_of_the_table_for_traces(server: GreptimeDB) -> None:
    """Made by the server: in 16 parts by trace, append-only, with the service as its key."""
    by_chance = random.Random(7)
    rows = []
    for i in range(ROWS):
        trace = f"{by_chance.getrandbits(128):032x}"
        fields: dict[str, str | int] = {
            "trace_id": trace,
            "span_id": trace[:16],
            "span_name": by_chance.choice(("GET /items", "SELECT items", "charge")),
            "duration_nano": by_chance.randint(10**5, 10**9),
            "span_attributes.http.route": by_chance.choice(("/items", "/cart")),
        }
        rows.append(Row(NOW - timedelta(milliseconds=900 * (ROWS - i)), {"service_name": APPLICATIONS[i % 4]}, fields))
    bounds = [f"{n:x}" for n in range(1, 16)]
    parts = [
        f"trace_id < '{bounds[0]}'",
        *(f"trace_id >= '{a}' AND trace_id < '{b}'" for a, b in itertools.pairwise(bounds)),
        f"trace_id >= '{bounds[-1]}'",
    ]
    table = Table(
        "opentelemetry_traces",
        ("service_name",),
        dict.fromkeys(("trace_id", "span_id", "span_name", "span_attributes.http.route"), "string")
        | {"duration_nano": "integer"},
        rows,
        key=("service_name", "timestamp"),
        time="timestamp",
        greptime=Greptime(
            options={"append_mode": "true", "table_data_model": "greptime_trace_v1"},
            indexes={"trace_id": "skipping"},
            partition_by=("trace_id",),
            partitions=parts,
        ),
    )
    found = said(server, table)
    assert {k: v for k, v in found.items() if v != "info"} == {}
    assert not {k for k in found if k.startswith(("STO", "TAG", "CAR"))}


def test_nothing_is_said_of_tables_of_prometheus(server: GreptimeDB) -> None:
    labels = ("cluster", "container", "endpoint", "instance", "job", "namespace", "pod", "service")
    metrics = [
        Table(
            name,
            labels,
            {"greptime_value": "float"},
            [
                Row(
                    NOW - timedelta(seconds=30 * (100 - i)),
                    {label: f"{label}-{n % (k + 2)}" for k, label in enumerate(labels)},
                    {"greptime_value": i * 0.37 + n},
                )
                for i in range(100)
                for n in range(6)
            ],
            key=(*labels, "greptime_timestamp"),
            time="greptime_timestamp",
            greptime=Greptime(physical="greptime_physical_table", time_digits=3),
        )
        for name in ("container_cpu_usage", "container_memory_usage")
    ]
    found = said(server, *metrics)
    assert {k: v for k, v in found.items() if v != "info"} == {}
    assert not {k for k in found if k.startswith("STO")}
