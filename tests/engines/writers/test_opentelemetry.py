"""What an OpenTelemetry collector writes is recognized by its columns."""

from __future__ import annotations

from collections.abc import Iterable

from tests.builders import a_field, a_measurement, a_place, a_profile, a_tag
from tsaudit.engines.registry import ENGINES
from tsaudit.engines.writers import is_opentelemetry
from tsaudit.model.change import LeaveOut, MakeField
from tsaudit.model.figures import Subject
from tsaudit.model.plan import Step
from tsaudit.model.profile import Measurement


def measured(name: str, tags: Iterable[str], fields: Iterable[str]) -> Measurement:
    return a_measurement(name, tags=tuple(map(a_tag, tags)), fields=tuple(map(a_field, fields)))


DURATION = measured("http.server.duration", ("otel.library.version", "url.path"), ("count", "sum"))
LOGS = measured("logs", ("service.name", "trace_id", "user.id"), ("body", "severity_number", "attributes"))
SPANS = measured("spans", ("service.name", "trace_id", "span_id", "thread.id"), ("duration_nano", "kind"))
SUMS = measured("requests_1_sum", ("service.name", "client.port"), ("value_cumulative_monotonic_double",))
UNDERSCORED = measured("http_server_duration_seconds", ("service_name", "service_version", "url_path"), ("gauge",))


def writer(measurement: Measurement, change: LeaveOut | MakeField) -> Step:
    """The step of a plan of InfluxDB 2 for the change."""
    place = a_place(a_profile(measurement, engine="influxdb2"), "main", measurement)
    step = ENGINES["influxdb2"].advice()(place, [change]).writer()
    assert step is not None
    return step


def at(measurement: Measurement) -> Subject:
    return Subject("main", measurement.name)


def test_a_collector_is_named_only_where_its_layout_is_evident() -> None:
    assert all(map(is_opentelemetry, (DURATION, LOGS, SPANS, SUMS, UNDERSCORED)))
    others = [
        measured("cpu", ("host", "cpu"), ("usage_user", "count")),
        measured("sensors", ("host.name", "service_name"), ("value",)),
        measured("jobs", ("service_name", "host"), ("count", "sum")),
        measured("mail", ("host",), ("body", "subject")),
        measured("calls", ("trace_id", "span_id"), ("duration_ms",)),
    ]
    assert not any(map(is_opentelemetry, others))
    assert {writer(one, MakeField(at(one), one.tags[0].key)).language for one in others} == {"toml"}


def test_a_metric_has_no_fields_so_a_tag_that_would_be_one_goes() -> None:
    step = writer(DURATION, MakeField(at(DURATION), "url.path"))
    assert step.words.startswith("Stop writing url.path to http.server.duration.")
    assert "transform processor" in step.words
    assert "from then on, the values of url.path" in step.loses
    # Its exporter names the measurement.
    assert "replaces" not in step.words
