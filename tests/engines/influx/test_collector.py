"""What an OpenTelemetry collector is told: what is shown is what its transform processor v0.143 was run with.

`collector.json` holds settings, what was sent, and what the processor and the InfluxDB exporter's converter v0.5.12
made of it, as points: measurement and tags, fields, time.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tsaudit.analysis.shapes.shapes import name_families
from tsaudit.engines.influx.collector import signal_of
from tsaudit.engines.otel import Signal
from tsaudit.engines.rendering import Place, renderers_of
from tsaudit.model.change import Change, LeaveOut, MakeField, MergeMeasurements, Part, Rename, SplitColumn
from tsaudit.model.plan import Step
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject
from tsaudit.rules.merged_families import merged

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "collector.json").read_text(encoding="utf-8"))
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
SWAPPED = measured("m", ("service.name", "service.version", "a", "b", "c"), ("gauge",))
STRANGE = measured(ODD, ("otel.library.name", ODD, "x"), ("gauge",))
NAMED = [measured(f"cpu_server_{n}_load", ("service.name", "host.name"), ("gauge",)) for n in (1, 2, 14)]


def steps(measurement: Measurement, *changes: Change, beside: Iterable[Measurement] = ()) -> list[Step]:
    """The steps of plans of InfluxDB 2 for the changes."""
    is_merge = isinstance(changes[0], MergeMeasurements)
    profile = a_profile(*(measurement, *beside), engine="influxdb2")
    place = Place(profile, "main", None if is_merge else measurement)
    renderers = renderers_of("influxdb2")
    found = {
        renderers[type(change)]: [c for c in changes if renderers[type(c)] is renderers[type(change)]]
        for change in changes
    }
    return [step for render, given in found.items() for step in render(place, given)]


def told(measurement: Measurement, *changes: Change, beside: Iterable[Measurement] = ()) -> str:
    [step] = [step for step in steps(measurement, *changes, beside=beside) if step.language == "yaml"]
    return step.text


def merge() -> MergeMeasurements:
    [family] = name_families([one.name for one in NAMED])
    return merged("main", family)


def at(measurement: Measurement) -> Subject:
    return Subject("main", measurement.name)


def rendered() -> dict[str, str]:
    duration, logs, spans, sums, every = map(at, (DURATION, LOGS, SPANS, SUMS, ALL))
    parts = (Part("location", "baxx"), Part("model", "A0"))
    return {
        "metric": told(
            DURATION,
            MakeField(duration, "url.path"),
            MakeField(duration, "process.pid", "integer"),
            Rename(duration, "a-b", "a_b"),
            Rename(duration, "host.name", "host"),
            Rename(duration, "", "http_server_duration"),
            SplitColumn(duration, "sensor", ".", parts, "loc-baxx.model-A0"),
        ),
        "tags left out": told(DURATION, LeaveOut(duration, "otel.library.version"), LeaveOut(duration, "process.pid")),
        "names in a circle": told(
            SWAPPED, *(Rename(at(SWAPPED), *pair) for pair in (("a", "b"), ("b", "c"), ("c", "a")))
        ),
        "odd names": told(STRANGE, MakeField(at(STRANGE), ODD), Rename(at(STRANGE), "x", f"{ODD}x")),
        "log": told(LOGS, MakeField(logs, "trace_id"), MakeField(logs, "user.id")),
        "log without a trace's id": told(LOGS, LeaveOut(logs, "trace_id")),
        "span": told(SPANS, LeaveOut(spans, "thread.id")),
        "type in the name": told(SUMS, LeaveOut(sums, "client.port")),
        "one measurement of all metrics": told(ALL, LeaveOut(every, "client.port")),
        "merged": told(NAMED[0], merge(), beside=[*NAMED[1:], measured("cpu_server_load", ("host.name",), ("gauge",))]),
    }


def test_settings_are_those_that_were_run() -> None:
    assert rendered() == {name: run["settings"] for name, run in RECORDED.items()}


def test_nothing_was_warned_of() -> None:
    assert [name for name, run in RECORDED.items() if run.get("warnings")] == []


EXPECTED: dict[str, list[str]] = {
    "metric": [
        "http_server_duration,a_b=q,host=n1,location=kitchen,model=A612,service.name=cart count=2,sum=2 1",
        # What has not two attributes stays whole.
        "http_server_duration,a_b=r,host=n1,sensor=odd,service.name=cart count=3,sum=3 2",
        # Another metric of the same resource keeps all of its tags.
        "up,host.name=n1,process.pid=7,service.name=cart,url.path=/b gauge=1 1",
        # The attribute of a point comes before that of its resource, as it did.
        "up,host.name=n1,process.pid=8,service.name=cart gauge=1 2",
    ],
    "tags left out": [
        "http.server.duration,otel.library.name=lib,service.name=cart count=2,sum=2 1",
        "up,otel.library.name=lib,otel.library.version=1.2,process.pid=7,service.name=cart gauge=1 1",
    ],
    "names in a circle": [
        "m_new,a=3,b=1,c=2,service.name=cart gauge=1 1",
        "other,a=1,b=2,c=3,service.name=cart gauge=1 1",
    ],
    "odd names": [
        f"{ODD}_new,{ODD}x=2,otel.library.name=lib gauge=1 1",
        f"other,{ODD}=1,otel.library.name=lib,x=2 gauge=1 1",
    ],
    "log": [
        f'logs,service.name=cart,span_id={"b" * 16} attributes={{"trace_id":"{"a" * 32}","user.id":"u1"}},body=hello 1',
        'logs,service.name=cart attributes={"user.id":"u2"},body=no trace 2',
    ],
    "log without a trace's id": [
        f"logs,service.name=cart,span_id={'b' * 16},user.id=u1 body=hello 1",
        "logs,service.name=cart,user.id=u2 body=no trace 2",
    ],
    "span": [
        (
            f"spans,service.name=cart,span_id={'b' * 16},trace_id={'a' * 32} "
            'attributes={"x":1},duration_nano=-1,end_time_unix_nano=0,span.name=GET 1'
        )
    ],
    "type in the name": [
        "requests_1_sum,service.name=cart value_cumulative_monotonic_double=1 1",
        "others_1_sum,client.port=9,service.name=cart value_cumulative_monotonic_double=1 1",
    ],
    "one measurement of all metrics": ["prometheus,otel.library.name=lib,service.name=cart up=1 1"],
    "merged": [
        "cpu_load,host=server_1,host.name=n1,service.name=cart gauge=1 1",
        "cpu_load,host=server_14,host.name=n1,service.name=cart gauge=1 1",
        "cpu_server_load,host.name=n1,service.name=cart gauge=1 1",
    ],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_came_out_is_what_was_meant(name: str) -> None:
    assert RECORDED[name]["out"] == EXPECTED[name]


def test_a_collector_is_told_only_where_its_layout_is_evident() -> None:
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
    for one in others:
        change = MakeField(at(one), one.tags[0].key)
        assert {step.language for step in steps(one, change)} >= {"toml"}
        assert "yaml" not in {step.language for step in steps(one, change)}


def test_telegraf_is_told_beside_it_unless_it_has_no_such_layout() -> None:
    said = {
        one.name: {step.language for step in steps(one, LeaveOut(at(one), one.tags[1].key))} for one in (DURATION, SUMS)
    }
    assert said == {DURATION.name: {"", "yaml", "toml"}, SUMS.name: {"", "yaml"}}


def test_spans_keep_the_ids_without_which_the_exporter_refuses_them() -> None:
    found = steps(SPANS, LeaveOut(at(SPANS), "trace_id"))
    assert any("refuses spans without trace_id and span_id" in step.words for step in found)
    assert not any(step.language == "yaml" for step in found)


def test_quantities_in_names_stay_apart() -> None:
    names = [f"cpu.web{n}.{what}" for n in range(1, 4) for what in ("usage_idle", "usage_user")]
    measurements = [measured(name, ("service.name", "host.name"), ("gauge",)) for name in names]
    (family,) = name_families(names)
    found = steps(measurements[0], merged("main", family), beside=measurements[1:])
    assert any("must keep names of their own" in step.words for step in found)
    assert not any(step.language == "yaml" for step in found)


def test_what_a_metric_no_longer_says_is_named() -> None:
    [step] = [one for one in steps(DURATION, MakeField(at(DURATION), "url.path")) if one.language == "yaml"]
    assert "the values of url.path" in step.loses


def test_what_the_exporter_writes_to_still_is_not_to_be_deleted() -> None:
    every = {one.name: [MakeField(at(one), one.tags[-1].key)] for one in (DURATION, LOGS, SPANS, SUMS, ALL)}
    said = {}
    for one in (DURATION, LOGS, SPANS, SUMS, ALL):
        [step] = [step for step in steps(one, *every[one.name]) if step.language == "yaml"]
        said[one.name] = "leave out the steps that copy" in step.words
    # Of metrics that have a measurement each, the transform processor changes the name.
    assert said == {DURATION.name: False, "logs": True, "spans": True, SUMS.name: True, "prometheus": True}
