"""Settings of an OpenTelemetry collector: what is shown is what its transform processor v0.143 was run with.

`opentelemetry.json` holds settings, what was sent, and what the processor and the InfluxDB exporter's converter v0.5.12
made of it, as points: measurement and tags, fields, time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_field, a_measurement, a_place, a_profile, a_tag
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.writers.opentelemetry import Signal, signal_of
from tsaudit.model.change import Change, LeaveOut, MakeField
from tsaudit.model.figures import Subject
from tsaudit.model.plan import Step
from tsaudit.model.profile import Measurement

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "opentelemetry.json").read_text(encoding="utf-8"))
ODD = 'a "b"\\ it\'s ${HOME} $1 é\n\x7f'
"""A name of what strings of OTTL, YAML, or the collector's configuration take for something else."""


def measured(name: str, tags: Iterable[str], fields: Iterable[str]) -> Measurement:
    return a_measurement(name, tags=tuple(map(a_tag, tags)), fields=tuple(map(a_field, fields)))


DURATION = measured(
    "http.server.duration",
    ("service.name", "host.name", "process.pid", "otel.library.version", "url.path", "a-b", "sensor"),
    ("count", "sum"),
)
LOGS = measured("logs", ("service.name", "trace_id", "span_id", "user.id"), ("body", "severity_number", "attributes"))
SPANS = measured("spans", ("service.name", "trace_id", "span_id", "thread.id"), ("duration_nano", "kind", "attributes"))
SUMS = measured("requests_1_sum", ("service.name", "client.port"), ("value_cumulative_monotonic_double",))
ALL = measured("prometheus", ("otel_scope_name", "service.name", "client.port"), ("up", "requests"))
STRANGE = measured(ODD, ("otel.library.name", ODD, "x"), ("gauge",))
UNDERSCORED = measured("http_server_duration_seconds", ("service_name", "service_version", "url_path"), ("gauge",))


def writer(measurement: Measurement, *changes: Change) -> Step:
    """The step of a plan of InfluxDB 2 for the changes."""
    place = a_place(a_profile(measurement, engine="influxdb2"), "main", measurement)
    step = ENGINES["influxdb2"].advice()(place, changes).writer()
    assert step is not None
    return step


def at(measurement: Measurement) -> Subject:
    return Subject("main", measurement.name)


def rendered() -> dict[str, str]:
    duration, logs = at(DURATION), at(LOGS)
    steps = {
        "attributes of points and of their resource": writer(
            DURATION, MakeField(duration, "url.path"), MakeField(duration, "process.pid", "integer")
        ),
        "attributes of the scope": writer(DURATION, LeaveOut(duration, "otel.library.version")),
        "odd names": writer(STRANGE, MakeField(at(STRANGE), ODD)),
        "names with _ for dots": writer(UNDERSCORED, MakeField(at(UNDERSCORED), "url_path")),
        "log": writer(LOGS, MakeField(logs, "trace_id"), MakeField(logs, "user.id")),
        "log without other tags": writer(LOGS, MakeField(logs, "user.id")),
        "span": writer(SPANS, LeaveOut(at(SPANS), "thread.id")),
        "type in the name": writer(SUMS, LeaveOut(at(SUMS), "client.port")),
        "one measurement of all metrics": writer(ALL, LeaveOut(at(ALL), "client.port")),
    }
    assert {step.language for step in steps.values()} == {"yaml"}
    return {name: step.text for name, step in steps.items()}


def test_settings_are_those_that_were_run() -> None:
    assert rendered() == {name: run["settings"] for name, run in RECORDED.items()}


def test_nothing_was_warned_of() -> None:
    assert [name for name, run in RECORDED.items() if run.get("warnings") or run.get("error")] == []


def test_settings_are_short() -> None:
    lines = {name: len(text.splitlines()) for name, text in rendered().items()}
    # Both ids of logs are kept, as attributes.
    assert {name: count for name, count in lines.items() if count > 12} == {"log": 13}


EXPECTED: dict[str, list[str]] = {
    "attributes of points and of their resource": [
        "http.server.duration,a-b=q,host.name=n1,sensor=loc-kitchen.model-A612,service.name=cart count=2,sum=2 1",
        "http.server.duration,a-b=r,host.name=n1,sensor=odd,service.name=cart count=3,sum=3 2",
        "up,host.name=n1,process.pid=7,service.name=cart,url.path=/b gauge=1 1",
        "up,host.name=n1,process.pid=8,service.name=cart gauge=1 2",
    ],
    "attributes of the scope": [
        "http.server.duration,host.name=n1,otel.library.name=lib,process.pid=7,service.name=cart count=2,sum=2 1",
        "up,host.name=n1,otel.library.name=lib,otel.library.version=1.2,process.pid=7,service.name=cart gauge=1 1",
    ],
    "odd names": [
        'a "b"\\ it\'s ${HOME} $1 é\n\x7f,otel.library.name=lib,x=2 gauge=1 1',
        'other,a "b"\\ it\'s ${HOME} $1 é\n\x7f=1,otel.library.name=lib,x=2 gauge=1 1',
    ],
    "names with _ for dots": [
        "http.server.duration,service.name=cart,service.version=1 gauge=1 1",
        "http.server.durations,service.name=cart,service.version=1,url.path=/a gauge=1 1",
        "http_server_duration_seconds,service.name=cart,service.version=1 gauge=1 1",
    ],
    "log": [
        'logs,service.name=cart attributes={"user.id":"u2"},body=no trace 2',
        (
            "logs,service.name=cart,span_id=bbbbbbbbbbbbbbbb "
            'attributes={"trace_id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","user.id":"u1"},body=hello 1'
        ),
    ],
    "log without other tags": [
        'logs,service.name=cart attributes={"user.id":"u2"},body=no trace 2',
        (
            "logs,service.name=cart,span_id=bbbbbbbbbbbbbbbb,trace_id=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
            'attributes={"user.id":"u1"},body=hello 1'
        ),
    ],
    "span": [
        (
            "spans,service.name=cart,span_id=bbbbbbbbbbbbbbbb,trace_id=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa "
            'attributes={"thread.id":3,"x":1},duration_nano=-1,end_time_unix_nano=0,span.name=GET 1'
        )
    ],
    "type in the name": [
        "others_1_sum,client.port=9,service.name=cart value_cumulative_monotonic_double=1 1",
        "requests_1_sum,service.name=cart value_cumulative_monotonic_double=1 1",
    ],
    "one measurement of all metrics": ["prometheus,otel.library.name=lib,service.name=cart up=1 1"],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_came_out_is_what_was_meant(name: str) -> None:
    assert RECORDED[name]["out"] == EXPECTED[name]


def test_a_collector_is_shown_only_where_its_layout_is_evident() -> None:
    assert [signal_of(one) for one in (DURATION, LOGS, SPANS, SUMS, ALL)] == [
        Signal.METRIC,
        Signal.LOG,
        Signal.SPAN,
        Signal.METRIC,
        Signal.METRIC,
    ]
    others = [
        measured("cpu", ("host", "cpu"), ("usage_user", "count")),
        measured("sensors", ("host.name", "service_name"), ("value",)),
        measured("jobs", ("service_name", "host"), ("count", "sum")),
        measured("mail", ("host",), ("body", "subject")),
        measured("calls", ("trace_id", "span_id"), ("duration_ms",)),
    ]
    assert not any(map(signal_of, others))
    assert {writer(one, MakeField(at(one), one.tags[0].key)).language for one in others} == {"toml"}


def test_spans_keep_the_ids_without_which_the_exporter_refuses_them() -> None:
    step = writer(SPANS, LeaveOut(at(SPANS), "trace_id"))
    assert "refuses spans without trace_id and span_id" in step.words


def test_a_metric_has_no_fields_so_a_tag_that_would_be_one_goes() -> None:
    step = writer(DURATION, MakeField(at(DURATION), "url.path"))
    assert step.words.startswith("Stop writing url.path to http.server.duration.")
    assert "from then on, the values of url.path" in step.loses
    # Its exporter names the measurement.
    assert "replaces" not in step.words


def test_what_becomes_of_ids_of_logs_that_are_left_out() -> None:
    step = writer(LOGS, LeaveOut(at(LOGS), "trace_id"))
    assert 'log_record_dimensions: ["service.name", "span_id", "user.id"]' in step.text
