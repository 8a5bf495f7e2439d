"""Relabeling rules of Prometheus: `relabeled` does what its package `relabel` v0.54.1 did with each of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import yaml

from tests.builders import a_field, a_measurement, a_tag
from tsaudit.engines.writers import Program, is_prometheus, prometheus_settings, setting
from tsaudit.model.change import Change, LeaveOut, MakeField, Rename
from tsaudit.model.figures import Subject

AT = Subject("main", "http_requests_total")
HERE = a_measurement(
    AT.measurement, tags=tuple(map(a_tag, ("job", "instance", "path", "zone"))), fields=(a_field("value"),)
)


def relabeled(text: str, labels: Mapping[str, str]) -> dict[str, str]:
    """What Prometheus makes of labels by the rules with `action: replace`, as its documentation says."""
    found = dict(labels)
    for rule in yaml.safe_load(text)["write_relabel_configs"]:
        joined = ";".join(found.get(label, "") for label in rule["source_labels"])
        if matched := re.fullmatch(rule["regex"], joined):
            value = matched.expand(re.sub(r"\$\{?(\d)\}?", r"\\\1", rule["replacement"]))
            found = {label: text for label, text in (found | {rule["target_label"]: value}).items() if text}
    return found


def of(*changes: Change) -> dict[str, str]:
    labels = {"__name__": AT.measurement, "job": "api", "path": "/a", "zone": "de-1a"}
    assert relabeled(prometheus_settings([HERE], changes, 10), labels | {"__name__": "up"}) == labels | {
        "__name__": "up"
    }
    return relabeled(prometheus_settings([HERE], changes, 10), labels)


def test_a_label_is_dropped_from_one_metric() -> None:
    assert of(LeaveOut(AT, "path")) == {"__name__": AT.measurement, "job": "api", "zone": "de-1a"}
    assert of(MakeField(AT, "path")) == of(LeaveOut(AT, "path"))


def test_prometheus_is_evident_from_the_labels_of_a_scrape_and_its_only_value() -> None:
    assert is_prometheus(HERE)
    assert not is_prometheus(a_measurement(tags=(a_tag("job"),), fields=(a_field("value"),)))
    two = (a_field("value"), a_field("other"))
    assert not is_prometheus(a_measurement(tags=(a_tag("job"), a_tag("instance")), fields=two))


def test_its_setting_is_shown_and_others_in_the_application() -> None:
    found = setting([HERE], [LeaveOut(AT, "path")])
    assert found is not None
    assert (found.program, found.language) == (Program.PROMETHEUS, "yaml")
    assert "prometheus.relabel" in found.words
    by_hand = setting([HERE], [Rename(AT, "value", "requests", role="field")], example="requests ...")
    assert by_hand is not None
    assert (by_hand.program, by_hand.text) == (Program.APPLICATION, "requests ...")


def test_of_many_measurements_others_keep_the_label() -> None:
    many = [replace(HERE, name=name) for name in (*(f"http_{n}_total" for n in range(80)), "up")]
    kept = replace(HERE, name="probe_path_total")
    found = setting(many, [LeaveOut(AT, "path")], beside=[*many, kept])
    assert found is not None
    assert "for all metrics" not in found.words
    for name, left in (("http_79_total", {}), ("up", {}), ("up_1", {"path": "/a"}), (kept.name, {"path": "/a"})):
        assert relabeled(found.text, {"__name__": name, "path": "/a"}) == {"__name__": name, **left}
    alike = setting(many[::2], [LeaveOut(AT, "path")], beside=many)
    assert alike is not None
    assert (alike.program, alike.text) == (Program.APPLICATION, "")
    sent = [replace(one, tags=(a_tag("otel.library.name"), a_tag("path"))) for one in many]
    by_collector = setting(sent[::2], [LeaveOut(AT, "path")], beside=sent)
    assert by_collector is not None
    assert (by_collector.program, by_collector.text) == (Program.APPLICATION, "")


def test_of_many_measurements_the_setting_is_for_all_metrics() -> None:
    many = [replace(HERE, name=f"metric_{n}") for n in range(80)]
    found = setting(many, [LeaveOut(AT, "path")])
    assert found is not None
    assert "for all metrics" in found.words
    assert relabeled(found.text, {"__name__": "metric_79", "path": "/a"}) == {"__name__": "metric_79"}
    sent = [replace(one, tags=(a_tag("otel.library.name"), a_tag("path"))) for one in many]
    found = setting(sent, [LeaveOut(AT, "path")])
    assert found is not None
    assert found.program is Program.OPENTELEMETRY
    assert "for all metrics" in found.words
    assert "metric.name" not in found.text
