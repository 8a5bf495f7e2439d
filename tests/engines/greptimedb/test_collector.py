"""What an OpenTelemetry collector is told: what is shown is what its transform processor v0.143 was run with.

`collector.json` holds settings, what was sent, and what the processor made of it: kind, name, attributes of the
resource, those of the scope for logs and spans, and those of the record.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tsaudit.engines.rendering import Place, renderers_of
from tsaudit.model.change import Change, LeaveOut, MakeField, Rename
from tsaudit.model.plan import Step
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "collector.json").read_text(encoding="utf-8"))


def measured(name: str, tags: Iterable[str], fields: Iterable[str], **options: str) -> Measurement:
    return a_measurement(
        name, tags=tuple(map(a_tag, tags)), fields=tuple(map(a_field, fields)), options=options, time_column="timestamp"
    )


_LABELS = ("service_name", "service_instance_id", "http_route", "url_path", "le")
SIZES = measured("http_request_size_bytes_bucket", _LABELS, ("greptime_value",), engine="metric")
PLAIN = measured("up", ("instance", "job", "url_path"), ("greptime_value",), engine="metric")
SPANS = measured(
    "opentelemetry_traces",
    ("service_name",),
    ("trace_id", "span_id", "duration_nano", "span_attributes.url.full", "resource_attributes.process.pid", "x"),
    table_data_model="greptime_trace_v1",
)
LOGS = measured("opentelemetry_logs", ("scope_name", "pod", "request"), ("body", "severity_number", "log_attributes"))


def steps(measurement: Measurement, *changes: Change, beside: Iterable[Measurement] = ()) -> list[Step]:
    place = Place(a_profile(measurement, *beside, engine="greptimedb"), "main", measurement)
    renderers = renderers_of("greptimedb")
    return [step for render in {renderers[type(c)]: None for c in changes} for step in render(place, changes)]


def told(measurement: Measurement, *changes: Change, beside: Iterable[Measurement] = ()) -> str:
    return "".join(step.text for step in steps(measurement, *changes, beside=beside) if step.language == "yaml")


def rendered() -> dict[str, str]:
    sizes, spans = Subject("main", SIZES.name), Subject("main", SPANS.name)
    left_out = LeaveOut(spans, "span_attributes.url.full"), LeaveOut(spans, "resource_attributes.process.pid")
    return {
        "labels": told(SIZES, MakeField(sizes, "url_path"), Rename(sizes, "http_route", "route")),
        "columns of spans": told(SPANS, *left_out, LeaveOut(spans, "x")),
    }


def test_settings_are_those_that_were_run() -> None:
    assert rendered() == {name: run["settings"] for name, run in RECORDED.items()}


EXPECTED: dict[str, list[str]] = {
    "labels": [
        'metric http.request.size {"service.name":"cart"} {"route":"/a/:id"}',
        'metric http_request_size_bytes {"service.name":"cart"} {"route":"/a/:id"}',
        # Other metrics keep what they have.
        'metric http.request.size.limit {"service.name":"cart"} {"http.route":"/a/:id","url.path":"/a/1"}',
    ],
    "columns of spans": ['span GET {"service.name":"cart"} lib {} {"url.path":"/a/1"} ' + "a" * 32],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_came_out_is_what_was_meant(name: str) -> None:
    assert RECORDED[name]["out"] == EXPECTED[name]
    assert not RECORDED[name].get("warnings")


def test_no_collector_is_told_where_none_is_evident() -> None:
    assert not told(PLAIN, MakeField(Subject("main", "up"), "url_path"))


def test_attributes_of_a_resource_are_promoted_by_a_header() -> None:
    change = MakeField(Subject("main", SIZES.name), "service_instance_id")
    words = " ".join(step.words for step in steps(SIZES, change))
    assert "x-greptime-otlp-metric-promote-resource-attrs" in words
    assert not told(SIZES, change)


def test_a_unit_that_tells_two_tables_apart_is_not_taken_off() -> None:
    change = MakeField(Subject("main", SIZES.name), "url_path")
    other = measured("http_request_size", _LABELS, ("greptime_value",), engine="metric")
    assert "size[^a-zA-Z0-9]+bytes([^" in told(SIZES, change, beside=[other])


def test_keys_of_logs_are_taken_out_of_the_header_that_makes_tags_of_them() -> None:
    logs = Subject("main", LOGS.name)
    assert "X-Greptime-Log-Extract-Keys: 'pod'" in told(LOGS, MakeField(logs, "request"))
    assert not told(LOGS, MakeField(logs, "scope_name"))
