"""The JSON twin."""

from __future__ import annotations

import json
from typing import Any

from tests.builders import DAY
from tests.report import sample
from tsaudit import report
from tsaudit.config import settings as config
from tsaudit.model.finding import AuditResult
from tsaudit.model.jsonfile import from_json
from tsaudit.report.json_report import SCHEMA_VERSION


def written(tmp_path: Any, **changes: Any) -> tuple[str, dict[str, Any]]:
    sample.write_rich(config.Report(folder=str(tmp_path), **changes))
    text = (tmp_path / sample.TARGET / f"{DAY}.json").read_text()
    return text, json.loads(text)


def test_twin_holds_result_figures_gaps_costs_and_incidents(tmp_path: Any) -> None:
    _, twin = written(tmp_path)
    assert twin["schema_version"] == SCHEMA_VERSION == 1
    assert (twin["target"], twin["day"], twin["verdict"]) == (sample.TARGET, "2026-03-31", "critical")
    assert twin["counts"] == {"critical": 1, "warning": 2, "note": 1}
    assert twin["report"] == "2026-03-31.html"
    assert twin["run_url"] == "https://dagster.example/runs/1"
    assert {"name": "series", "database": "telegraf", "measurement": "http_requests", "column": "", "value": 81412.0,
            "how": "exact", "standard_error": None} in twin["figures"]  # fmt: skip
    assert [g["reason"] for g in twin["gaps"]] == ["timed out", "timed out", "denied"]
    assert sum(c["statements"] for c in twin["costs"]) == 14
    assert [i["decision"]["kind"] for i in twin["incidents"] if i["decision"]] == ["mute", "ack"]
    assert twin["changes"]["day_before"] == "2026-03-30"
    assert len(twin["changes"]["new"]) == 3
    assert set(twin["fingerprints"]) == set(sample.the_findings())


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
    assert summary.fingerprint in twin["fingerprints"]["CAR001"]
    assert twin["headlines"]["CAR001"] == [summary.headline]
    lengths = {code: len(marks) for code, marks in twin["fingerprints"].items()}
    assert {code: len(texts) for code, texts in twin["headlines"].items()} == lengths


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


def test_twins_result_can_be_read_back(tmp_path: Any) -> None:
    _, twin = written(tmp_path, values="full")
    assert from_json(AuditResult, json.dumps(twin["result"])) == sample.the_result()


def test_twin_redacts_sample_values_unless_asked_for_in_full(tmp_path: Any) -> None:
    assert sample.FULL_KEY not in written(tmp_path)[0]
    assert sample.FULL_KEY in written(tmp_path, values="full")[0]


def test_twin_of_a_target_not_audited_says_so(tmp_path: Any) -> None:
    settings = config.Report(folder=str(tmp_path))
    report.write(sample.unreachable(), None, sample.empty_timeline(), (), settings)
    twin = json.loads((tmp_path / "lost" / f"{DAY}.json").read_text())
    assert (twin["verdict"], twin["figures"], twin["changes"], twin["moved"]) == ("unknown", [], None, None)
    assert twin["result"]["results"][0]["reason"] == "connection refused"


def test_twin_is_the_same_for_the_same_input(tmp_path: Any) -> None:
    assert written(tmp_path / "a")[0] == written(tmp_path / "b")[0]
