"""The tables that GreptimeDB makes itself, for traces and for Prometheus's metrics: nothing is wrong with them."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final

import pytest

from tests.builders import DAY, NOW
from tests.databases import Dataset, Greptime, Row, Table, write
from tests.engines.greptimedb.double import GreptimeDB
from tsaudit.collect import collect
from tsaudit.engines.opening import open_connection
from tsaudit.evaluation import evaluate
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.policy import LimitPolicy

ROWS: Final = 3000
SERVICES: Final = ("shop", "search", "billing", "login")
SPANS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "GET /items": {
        "http.route": ("/items", "/cart"),
        "http.request.method": ("GET", "POST"),
        "client.address": ("10.0.0.4", "10.0.0.5"),
        "user_agent.original": ("python-requests/2.32.3", "curl/8.5.0"),
    },
    "SELECT items": {
        "db.system": ("postgresql",),
        "db.name": ("shop", "stock"),
        "db.statement": ("SELECT 1", "SELECT 2"),
    },
    "charge": {"messaging.system": ("kafka",), "messaging.destination": ("payments", "refunds")},
}
"""Spans to the attributes that they have, each of which is a column."""


@pytest.fixture(scope="module")
def server() -> Iterator[GreptimeDB]:
    own = GreptimeDB()
    yield own
    own.stop()


def said(server: GreptimeDB, *tables: Table, limits: Mapping[str, float] | None = None) -> dict[str, Finding]:
    """`code measurement.column` to the finding, of all rules together."""
    target = write(Dataset(tables, database="public"), "greptimedb", server)
    with open_connection(target) as connection:
        profile = collect(target, connection, day=DAY, now=NOW)
    assert profile.gaps == ()
    result = evaluate(profile, policy=LimitPolicy(target=limits or {}))
    assert not [r.reason for r in result.results if r.outcome is Outcome.ERROR]
    return {
        f"{r.code} {f.subject.measurement}{'.' if f.subject.column else ''}{f.subject.column}": f
        for r, f in result.findings()
    }


def test_nothing_is_said_of_the_table_for_traces(server: GreptimeDB) -> None:
    """Made by the server: in 16 parts by trace, append-only, with the service as its key."""
    by_chance = random.Random(7)
    rows = []
    for i in range(ROWS):
        trace = f"{by_chance.getrandbits(128):032x}"
        fields: dict[str, str | int] = {
            "trace_id": trace,
            "span_id": trace[:16],
            "parent_span_id": trace[16:],
            "duration_nano": by_chance.randint(10**5, 10**9),
            "scope_name": "opentelemetry.instrumentation",
        }
        kind = by_chance.choice(tuple(SPANS))
        fields |= {"span_name": kind} | {
            f"span_attributes.{key}": by_chance.choice(v) for key, v in SPANS[kind].items()
        }
        rows.append(Row(NOW - timedelta(milliseconds=900 * (ROWS - i)), {"service_name": SERVICES[i % 4]}, fields))
    bounds = [f"{n:x}" for n in range(1, 16)]
    parts = [
        f"trace_id < '{bounds[0]}'",
        *(f"trace_id >= '{a}' AND trace_id < '{b}'" for a, b in itertools.pairwise(bounds)),
        f"trace_id >= '{bounds[-1]}'",
    ]
    table = Table(
        "opentelemetry_traces",
        ("service_name",),
        dict.fromkeys(("trace_id", "span_id", "parent_span_id", "scope_name", "span_name"), "string")
        | {f"span_attributes.{key}": "string" for attributes in SPANS.values() for key in attributes}
        | {"duration_nano": "integer"},
        rows,
        key=("service_name", "timestamp"),
        time="timestamp",
        greptime=Greptime(
            options={"append_mode": "true", "table_data_model": "greptime_trace_v1"},
            indexes=dict.fromkeys(("trace_id", "parent_span_id", "service_name"), "skipping"),
            partition_by=("trace_id",),
            partitions=parts,
        ),
    )
    found = said(server, table)
    assert {k: v for k, v in found.items() if v.severity is not Severity.NOTE} == {}
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
    assert {k: v for k, v in found.items() if v.severity is not Severity.NOTE} == {}
    assert not {k for k in found if k.startswith("STO")}


def test_label_of_ids_is_left_out_by_its_sender(server: GreptimeDB) -> None:
    """No statement takes it out of a table that the server makes out of what is written."""
    by_chance = random.Random(8)
    rows = [
        Row(
            NOW - timedelta(seconds=600 - i),
            {"job": f"job-{i % 3}", "trace_id": f"{by_chance.getrandbits(128):032x}"},
            {"greptime_value": i * 0.37},
        )
        for i in range(600)
    ]
    metric = Table(
        "requests",
        ("job", "trace_id"),
        {"greptime_value": "float"},
        rows,
        key=("job", "trace_id", "greptime_timestamp"),
        time="greptime_timestamp",
        greptime=Greptime(physical="greptime_physical_table", time_digits=3),
    )
    low = {"unbounded-tag.max_values": 500, "high-series-cardinality.max_series": 500}
    found = said(server, metric, limits=low)
    fixes = {k.split()[0]: f.fix for k, f in found.items() if f.main_contributor == "trace_id" and f.changes}
    assert {"CAR001", "TAG002"} <= set(fixes)
    for code, fix in fixes.items():
        assert fix.startswith("Stop writing trace_id to greptime_physical_table."), code
        assert "TABLE" not in fix, code
