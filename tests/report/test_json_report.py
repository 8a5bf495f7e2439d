"""The JSON twin."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.builders import DAY, a_finding, a_result, a_rule_result
from tests.report import sample
from tsaudit import report
from tsaudit.config import settings as config
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding
from tsaudit.model.jsonfile import from_json
from tsaudit.report import json_report as reports
from tsaudit.report.json_report import SCHEMA_VERSION, json_report


def written(tmp_path: Any, **changes: Any) -> tuple[str, dict[str, Any]]:
    sample.write_rich(config.Report(folder=str(tmp_path), **changes))
    text = (tmp_path / sample.TARGET / f"{DAY}.json").read_text()
    return text, json.loads(text)


def test_twin_holds_result_figures_gaps_costs_and_incidents(tmp_path: Any) -> None:
    _, twin = written(tmp_path)
    assert twin["schema_version"] == SCHEMA_VERSION == 3
    assert (twin["target"], twin["day"], twin["verdict"]) == (sample.TARGET, "2026-03-31", "critical")
    assert twin["counts"] == {"critical": 1, "warning": 2, "note": 1}
    assert twin["report"] == "2026-03-31.html"
    assert twin["run_url"] == "https://dagster.example/runs/1"
    assert ["series", "telegraf", "http_requests", "", 81412.0, "exact", None] in twin["figures"]
    assert [g["reason"] for g in twin["gaps"]] == ["timed out", "timed out", "denied"]
    assert sum(c["statements"] for c in twin["costs"]) == 14
    decisions = (f["incident"]["decision"] for f in twin["findings"] if "incident" in f)
    assert [decision["kind"] for decision in decisions if decision] == ["ack", "mute"]
    assert twin["changes"]["day_before"] == "2026-03-30"
    assert len(twin["changes"]["new"]) == 3
    assert twin["left_out"] == {}


def test_twin_shows_the_summary_of_the_page(tmp_path: Any) -> None:
    _, twin = written(tmp_path)
    summary = sample.the_contents().summary
    assert twin["summary"] == {
        "headline": summary.headline,
        "figures": [{"label": f.label, "value": f.value, "note": f.note} for f in summary.figures],
        "first_step": summary.first_step,
        "statement": summary.statement,
        "fingerprint": summary.fingerprint,
    }
    assert len(summary.figures) == 3
    assert (twin["findings"][0]["fingerprint"], twin["findings"][0]["headline"]) == (
        summary.fingerprint,
        summary.headline,
    )


def test_twin_has_worst_case_and_actual_series_without_any_finding(tmp_path: Any) -> None:
    _, twin = written(tmp_path)
    (series,) = twin["series"]
    assert (series["measurement"], series["series"]) == ("http_requests", 81_412)
    assert series["worst_case"] == 8 * series["without_determined"]
    assert series["determined"] == {"host": ["rack"], "request_id": ["path"]}
    assert series["left_without"]["request_id"] == 1_904


def test_twin_has_what_moved(tmp_path: Any) -> None:
    _, twin = written(tmp_path)
    moved = {one["figure"]: one for one in twin["moved"]["figures"]}
    assert twin["moved"]["day_before"] == "2026-03-30"
    assert moved["rows"]["movers"][0] == {
        "database": "telegraf", "measurement": "cpu", "column": "", "before": 17_000_000.0, "now": 18_400_000.0,
    }  # fmt: skip
    assert moved["rows"]["not_compared"] == 1


def whole(twin: dict[str, Any]) -> Iterator[tuple[str, Finding]]:
    """The findings with their codes."""
    for fields in twin["findings"]:
        subject = {name: fields.get(name, "") for name in ("database", "measurement", "column")}
        known = {f.name for f in dataclasses.fields(Finding)} - {"headline"}
        told = {name: value for name, value in fields.items() if name in known}
        yield fields["rule"], from_json(Finding, json.dumps(told | {"subject": subject}))


def test_twins_findings_can_be_read_back(tmp_path: Any) -> None:
    _, twin = written(tmp_path, values="full")
    assert list(whole(twin)) == [(rule.code, finding) for rule, finding in sample.the_result().findings()]


def many(count: int) -> dict[str, Any]:
    """The twin of findings that differ in where they are."""
    shared: dict[str, Any] = {"observed": 9.0, "limit": sample.a_limit(), "fix": "x", "samples": ("v1", "v12")}
    found = [a_finding(Subject("main", f"m{n:03}"), **shared) for n in range(count)]
    result = a_result(a_rule_result(*found))
    contents = sample.the_contents(result=result, profile=None, incidents=(), previous=None)
    twin: dict[str, Any] = json.loads(json_report(contents))
    shown = list(whole(twin))
    assert shown == [(rule.code, finding) for rule, finding in result.findings()][: len(shown)]
    return twin


def test_twin_without_room_has_the_rest_in_brief_and_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "_LEAST_FULL_BYTES", 0)
    monkeypatch.setattr(reports, "FINDINGS_BYTES", 4_000)
    twin = many(60)
    (brief,) = twin["brief"]
    assert 0 < len(twin["findings"]) < 60
    assert len(twin["findings"]) + len(brief["findings"]) == 60
    assert (brief["rule"], brief["severity"], brief["database"]) == ("CAR001", "warning", "main")
    assert twin["left_out"] == {}
    marks = {finding["fingerprint"] for finding in twin["findings"]} | {mark for mark, _, _ in brief["findings"]}
    assert len(marks) == 60
    monkeypatch.setattr(reports, "FINDINGS_BYTES", 1_000)
    twin = many(60)
    assert twin["left_out"] == {"findings": 60 - len(twin["brief"][0]["findings"])}


def test_twin_is_valid_where_a_name_is_not() -> None:
    finding = a_finding(Subject("main", "a\ud800"))
    contents = sample.the_contents(result=a_result(a_rule_result(finding)), profile=None, incidents=())
    (found,) = json.loads(json_report(contents).decode())["findings"]
    assert found["measurement"] == "a\ufffd"


def test_twin_counts_what_is_left_out_of_other_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = sample.the_contents()
    every = json.loads(json_report(contents))["gaps"]
    monkeypatch.setattr(reports, "LIST_BYTES", len(json.dumps(every[:2], separators=(",", ":"))))
    twin = json.loads(json_report(contents))
    assert twin["gaps"] == every[:2]
    assert twin["left_out"]["gaps"] == 1


def test_twin_redacts_sample_values_unless_asked_for_in_full(tmp_path: Any) -> None:
    assert sample.FULL_KEY not in written(tmp_path)[0]
    assert sample.FULL_KEY in written(tmp_path, values="full")[0]


def test_twin_of_a_target_not_audited_says_so(tmp_path: Any) -> None:
    settings = config.Report(folder=str(tmp_path))
    report.write(sample.unreachable(), None, sample.empty_timeline(), (), settings)
    twin = json.loads((tmp_path / "lost" / f"{DAY}.json").read_text())
    assert (twin["verdict"], twin["figures"], twin["changes"], twin["moved"]) == ("unknown", [], None, None)
    assert [rule["reason"] for rule in twin["rules"].values()] == ["connection refused"]


def test_twin_is_the_same_for_the_same_input(tmp_path: Any) -> None:
    assert written(tmp_path / "a")[0] == written(tmp_path / "b")[0]
