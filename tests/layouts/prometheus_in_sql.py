"""Prometheus' samples in PostgreSQL: Promscale's tables of a metric each, and pg_prometheus' table of all samples."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.layouts.layout import Layout, Script, Wanted
from tests.layouts.making import ANALYZE, Tables, an_id, evenly

_PROMSCALE = (
    """CREATE TABLE label (id serial PRIMARY KEY, key text NOT NULL, value text NOT NULL, UNIQUE (key, value))""",
    """CREATE TABLE metric (id serial PRIMARY KEY, metric_name text NOT NULL UNIQUE, table_name text NOT NULL,
        creation_completed boolean NOT NULL DEFAULT true, default_chunk_interval boolean NOT NULL DEFAULT true,
        retention_period interval DEFAULT NULL)""",
    """CREATE TABLE series (id bigint PRIMARY KEY, metric_id integer NOT NULL REFERENCES metric,
        labels integer[] NOT NULL,
        delete_epoch bigint, mark_for_deletion_epoch bigint, UNIQUE (metric_id, labels))""",
    *(
        statement
        for name in ("node_cpu_seconds_total", "node_load1", "http_requests_total")
        for statement in (
            f"""CREATE TABLE {name} (time timestamptz NOT NULL, value double precision NOT NULL,
                series_id bigint NOT NULL)""",
            f"CREATE UNIQUE INDEX data_series_id_time_{name} ON {name} (series_id, time) INCLUDE (value)",
        )
    ),
)


def _promscale(ids: int) -> Script:
    noise = random.Random(7)
    labels: dict[tuple[str, str], int] = {}

    def number(key: str, value: str) -> int:
        return labels.setdefault((key, value), len(labels) + 1)

    metrics = ["node_cpu_seconds_total", "node_load1", "http_requests_total"]
    sizes = [96, 12, 24]
    series: list[tuple[Any, ...]] = []
    rows: Tables = {}
    for metric_id, (metric, size) in enumerate(zip(metrics, sizes, strict=True), 1):
        own = []
        for i in range(size):
            named = [number("__name__", metric), number("instance", f"10.0.0.{i % 12}:9100"), number("job", "node")]
            named += [number("code" if size == 24 else "cpu", str(i // 12))]
            own.append(len(series) + 1)
            series.append((own[-1], metric_id, named, None, None))
        rows[metric] = []
        for step, at in enumerate(evenly(5_000 // size, 3)):
            rows[metric] += [(at, step + noise.random(), one) for one in own]
    for one in range(ids):
        named = [number("__name__", metrics[2]), number("job", "shop"), number("request_id", an_id(noise))]
        series.append((len(series) + 1, 3, named, None, None))
        rows[metrics[2]].append((next(evenly(1, 3 * (one + 1) / ids)), 1.0, len(series)))
    known = [(i, *pair) for pair, i in labels.items()]
    catalogue = [(i, name, name, True, True, None) for i, name in enumerate(metrics, 1)]
    tables: Tables = {"label": known, "metric": catalogue, "series": series}
    return Script(_PROMSCALE, tables | rows, (ANALYZE,))


_SAMPLES = (
    """CREATE TABLE metrics_labels (id serial PRIMARY KEY, metric_name text NOT NULL, labels jsonb,
        UNIQUE (metric_name, labels))""",
    "CREATE INDEX metrics_labels_labels_idx ON metrics_labels USING gin (labels)",
    "CREATE TABLE metrics_values (time timestamptz, value float8, labels_id integer REFERENCES metrics_labels(id))",
    "CREATE INDEX metrics_values_labels_id_idx ON metrics_values (labels_id, time DESC)",
    "CREATE INDEX metrics_values_time_idx ON metrics_values (time DESC)",
)
_FLAT = (
    "CREATE TABLE metrics (time timestamptz NOT NULL, name text NOT NULL, value float8, labels jsonb NOT NULL)",
    "CREATE INDEX metrics_time_idx ON metrics (time DESC)",
    "CREATE INDEX metrics_name_time_idx ON metrics (name, time DESC)",
)


def _label_sets(ids: int) -> list[tuple[str, dict[str, str]]]:
    noise = random.Random(3)
    sets = [
        (name, {"instance": f"app-{i}:8080", "job": "app", "code": code})
        for name in ("http_requests_total", "http_request_seconds_sum")
        for i in range(8)
        for code in ("200", "404", "500")
    ]
    path = "/api/orders/{}"
    return sets + [
        ("http_requests_total", {"instance": f"app-{n % 8}:8080", "job": "app", "path": path.format(an_id(noise))})
        for n in range(ids)
    ]


def _pg_prometheus(ids: int) -> Script:
    sets = _label_sets(ids)
    regular = len(sets) - ids
    labels = [(i, name, json.dumps(one)) for i, (name, one) in enumerate(sets, 1)]
    values = [(at, float(n), 1 + n % regular) for n, at in enumerate(evenly(9_600, 4))]
    values += [(at, 1.0, regular + 1 + n // 2) for n, at in enumerate(evenly(2 * ids, 4))]
    return Script(_SAMPLES, {"metrics_labels": labels, "metrics_values": values}, (ANALYZE,))


def _flat(ids: int) -> Script:
    sets = _label_sets(ids)
    regular = len(sets) - ids
    chosen = [sets[n % regular] for n in range(9_600)]
    rows = [
        (at, name, float(n), json.dumps(one))
        for n, (at, (name, one)) in enumerate(zip(evenly(9_600, 4), chosen, strict=True))
    ]
    rows += [(at, name, 1.0, json.dumps(one)) for at, (name, one) in zip(evenly(ids, 4), sets[regular:], strict=True)]
    return Script(_FLAT, {"metrics": rows}, (ANALYZE,))


LAYOUTS = (
    Layout(
        name="promscale-postgresql",
        engine="postgresql",
        source="https://github.com/timescale/promscale/blob/master/docs/sql_schema.md",
        clean=lambda: _promscale(0),
        dirty=lambda: _promscale(4_000),
        wanted=(Wanted("TAG002|CAR004", "http_requests_total*", "a label with request ids: a series of each request"),),
        fine=(
            Wanted("TAG002|CAR004", "label.value", "the same ids, where labels are kept"),
            Wanted("TAG002|CAR004", "series*", "the same ids, where series are kept"),
        ),
    ),
    Layout(
        name="pg-prometheus-postgresql",
        engine="postgresql",
        source="https://github.com/timescale/pg_prometheus/blob/master/README.md",
        clean=lambda: _pg_prometheus(0),
        dirty=lambda: _pg_prometheus(3_000),
        wanted=(Wanted("TAG002|CAR004", "metrics_*", "paths with order ids: a series of each order"),),
    ),
    Layout(
        name="prometheus-jsonb-postgresql",
        engine="postgresql",
        source="https://github.com/timescale/pg_prometheus/blob/master/README.md",
        clean=lambda: _flat(0),
        dirty=lambda: _flat(4_000),
        wanted=(Wanted("TAG002|CAR004", "metrics*", "paths with order ids in the labels"),),
    ),
)
