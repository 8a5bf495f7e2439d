"""Which figures are drawn, with which limit."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from tests.builders import DAY, a_finding, a_measurement, a_profile, a_result, a_rule_result, a_tag
from tests.report import sample
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Forecast, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, Timeline
from tsaudit.report import charts, findings

CPU = Subject("main", "cpu")
HOST = Subject("main", "cpu", "host")


def before(value: float, days: int = 3) -> tuple[Point, ...]:
    return tuple(Point(DAY - timedelta(days=back), value) for back in range(days, 0, -1))


def drawn(*found: Finding, profile: Profile | None = None, **points: tuple[Point, ...]) -> list[charts.Trend]:
    subjects = {"series": CPU, "tag_values": HOST, "whole": Subject(), "rows": CPU}
    timeline = Timeline(points={("series" if n == "whole" else n, subjects[n]): p for n, p in points.items()})
    today = profile or a_profile(a_measurement(series=10, tags=(a_tag(values=8),)))
    items = findings.items_of(a_result(a_rule_result(*found)), today, ())
    return charts.trends(today, timeline, items)


def test_nothing_is_drawn_without_history() -> None:
    assert drawn(a_finding(CPU)) == []


def test_whole_target_comes_first_with_todays_value_last() -> None:
    found = drawn(a_finding(CPU, observed=10.0), series=before(9), whole=before(7))
    assert [(t.figure, t.subject) for t in found] == [("series", Subject()), ("series", CPU)]
    assert found[0].points[-1] == Point(DAY, 10.0)
    assert found[0].fingerprint == ""


def test_figure_judged_is_drawn_with_its_limit_and_forecast() -> None:
    forecast = Forecast(20, 5.0, 4.0, 6.0, 0.1, DAY, "linear", False)
    (found,) = drawn(a_finding(HOST, observed=8.0, unit="series", limit=sample.a_limit(12)), tag_values=before(6))
    assert (found.figure, found.limit, found.forecast) == ("tag_values", 12, None)
    (found,) = drawn(a_finding(CPU, observed=10.0, forecast=forecast), series=before(6))
    assert (found.limit, found.forecast, found.onset) == (20, forecast, DAY)


def test_related_figure_is_drawn_without_the_limit_of_another() -> None:
    forecast = Forecast(1.0, 5.0, 4.0, 6.0, 0.1, DAY, "linear", False)
    found = drawn(a_finding(CPU, observed=0.7, limit=sample.a_limit(0.5), forecast=forecast), series=before(6))
    assert [(t.limit, t.forecast, t.onset) for t in found] == [(None, None, DAY)]


def test_one_figure_of_two_findings_is_drawn_once_with_the_forecast() -> None:
    forecast = Forecast(20, 5.0, 4.0, 6.0, 0.1, DAY, "linear", False)
    worse = a_finding(CPU, Severity.CRITICAL, observed=10.0)
    found = drawn(worse, a_finding(CPU, observed=10.0, forecast=forecast), series=before(6))
    assert [t.forecast for t in found] == [forecast]


def test_figure_that_never_moved_is_not_drawn() -> None:
    assert drawn(a_finding(CPU, observed=10.0, limit=sample.a_limit(5)), series=before(10)) == []


def test_no_more_than_a_few_are_drawn() -> None:
    names = [f"m{n:02}" for n in range(40)]
    profile = a_profile(*(a_measurement(name) for name in names))
    timeline = Timeline(points={("series", Subject("main", name)): before(2) for name in names})
    many = (a_finding(Subject("main", name), observed=3.0) for name in names)
    items = findings.items_of(a_result(a_rule_result(*many)), profile, ())
    assert len(charts.trends(profile, timeline, items)) == charts.MOST


def test_target_not_audited_today_still_shows_its_past() -> None:
    timeline = Timeline(points={("series", Subject()): before(7)})
    found = charts.trends(None, timeline, ())
    assert [len(t.points) for t in found] == [3]
    assert charts.whole(None, timeline) == before(7)


def test_number_of_measurements_is_drawn_where_there_are_no_series() -> None:
    collections = [replace(a_measurement(name), series=None) for name in "ab"]
    timeline = Timeline(points={("measurements", Subject()): before(1)})
    (found,) = charts.trends(a_profile(*collections, engine="mongodb"), timeline, [])
    assert (found.figure, found.points[-1].value) == ("measurements", 2)


def small(finding: Finding, profile: Profile | None, *points: Point) -> list[tuple[str, Subject, float]]:
    items = findings.items_of(a_result(a_rule_result(finding)), profile, ())
    timeline = Timeline(points={("series", CPU): points})
    return [(t.figure, t.subject, t.points[-1].value) for t in charts.of_findings(profile, timeline, items).values()]


def test_small_trend_is_of_the_very_figure_of_the_finding() -> None:
    today = a_profile(a_measurement(series=10))
    assert small(a_finding(CPU, observed=10.0), today, *before(6)) == [("series", CPU, 10.0)]
    assert small(a_finding(CPU, observed=0.7), today, *before(6)) == []
    assert small(a_finding(CPU), today, *before(6)) == []
    assert small(a_finding(CPU, observed=10.0), today, *before(10)) == []
    assert small(a_finding(CPU, observed=10.0), today) == []


def test_small_trend_of_a_figure_not_measured_today_is_left_out() -> None:
    assert small(a_finding(CPU, observed=6.0), None, *before(6), *before(5, days=1)) == []
