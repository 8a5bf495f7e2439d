"""What the demo says at its end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from dagster_project.demo import day_line, ending, worst_message
from tests.alerts import builders
from tests.alerts.builders import History
from tests.builders import DAY, a_finding, a_result, a_rule_result
from tsaudit.history.store import Store
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Forecast, Severity

REQUEST_ID = Subject("main", "http_requests", "request_id")
FORECAST = Forecast(100_000, 21.3, 18.2, 26.8, 0.1, DAY, "linear", False, "series")


def lines(*findings: Finding, report: str | None = "/r/demo.html") -> list[str]:
    return list(ending(a_result(a_rule_result(*findings)), report))


def test_the_end_names_verdict_tag_day_days_left_and_report() -> None:
    finding = a_finding(
        REQUEST_ID,
        Severity.CRITICAL,
        main_contributor="request_id",
        share=0.994,
        since=DAY,
        forecast=FORECAST,
        observed=34e3,
    )
    assert lines(finding) == [
        "Verdict        critical",
        "Contributor    request_id of http_requests (99.4%)",
        "Growing since  2026-03-31",
        "Forecast       at this rate the limit of 100,000 series is reached in about 21 days (80% range 18 to 27)",
        "Report         /r/demo.html",
    ]


def test_the_worst_finding_that_knows_since_when_is_told() -> None:
    mild = a_finding(main_contributor="path", since=DAY)
    vague = a_finding(REQUEST_ID, Severity.CRITICAL, main_contributor="host", share=1.0)
    dated = a_finding(REQUEST_ID, Severity.CRITICAL, main_contributor="request_id", since=DAY)
    assert lines(mild, vague, dated)[1] == "Contributor    request_id of http_requests"


def test_notes_blame_nobody_and_a_missing_report_is_said() -> None:
    note = a_finding(severity=Severity.NOTE, main_contributor="region", share=0.0)
    assert lines(note, report=None) == ["Verdict        ok", "Report         could not be written"]


def test_a_forecast_without_interval_or_beyond_the_horizon() -> None:
    bare = Forecast(100, 5.0, None, None, 0.1, None, "linear", True)
    never = Forecast(100, None, None, None, 0.0, None, "linear", True)
    assert "Forecast       at this rate the limit of 100 is reached in about 5 days" in lines(a_finding(forecast=bare))
    assert not any(line.startswith("Forecast") for line in lines(a_finding(forecast=never)))


def test_a_day_is_one_line_with_its_worst_finding() -> None:
    result = a_result(a_rule_result(a_finding(message="Series grow. " * 20)))
    line = day_line(DAY, result, 1234)
    assert line.startswith("2026-03-31  warning   1,234 series in all  CAR001 Series grow.")
    assert line.endswith("…")
    assert len(line) < 160
    assert day_line(DAY, a_result(), None) == "2026-03-31  ok        series not measured  nothing found"


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        yield History(store, builders.settings())


def test_the_message_is_told_as_it_stands_after_its_edits(history: History) -> None:
    growing = a_finding(REQUEST_ID, Severity.WARNING, message="Series grew to 2,000.")
    history.audit([growing])
    history.send(lambda _: None)
    history.next_day([a_finding(REQUEST_ID, Severity.CRITICAL, message="Series grew to 9,000.")])
    history.send(lambda _: None)
    first, *text = worst_message(history.store, "demo")
    tomorrow = DAY + timedelta(days=1)
    assert first == f"Message to default: opened {DAY}, notified again {tomorrow}, edited once, {tomorrow}"
    assert text[0] == "  🔴 Critical: demo, 1 open incident"
    assert any(line.endswith("Series grew to 9,000") for line in text)
    assert not any("2,000" in line for line in text)


def test_of_several_messages_the_worst_is_told(history: History) -> None:
    history.audit([a_finding(severity=Severity.CRITICAL)], target="demo")
    history.audit([a_finding(severity=Severity.CRITICAL)], target="other")
    history.send(lambda _: None)
    assert next(worst_message(history.store, "demo")) == f"Message to default: opened {DAY}"


def test_where_nobody_was_told_anything_no_message_is_told(history: History) -> None:
    assert list(worst_message(history.store, "demo")) == []
