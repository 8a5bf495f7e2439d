"""The pictures: well formed, described in words, and true to the figures."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from xml.etree import ElementTree

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.builders import DAY, a_finding, a_measurement, a_profile, a_result, a_rule_result, a_tag
from tests.examples import examples
from tests.report import sample
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Forecast, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Point, Timeline
from tsaudit.report import charts, findings
from tsaudit.report.charts import Trend

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


FORECAST = Forecast(100_000, 9.0, 7.0, 13.0, 0.08, DAY - timedelta(days=18), "exponential", False, "series")
GROWING = (*sample.growing(21_000, 76_000), Point(DAY, 81_000.0))
TREND = Trend("series", sample.HTTP, GROWING, 100_000, FORECAST, FORECAST.onset, "abc")


def parsed(trend: Trend) -> ElementTree.Element:
    return ElementTree.fromstring(str(charts.trend(trend, 1)))


def words_of(trend: Trend) -> list[str]:
    return ["".join(e.itertext()) for e in parsed(trend).iter("text")]


def test_trend_is_named_and_described() -> None:
    svg = parsed(TREND).findall("svg")[1]
    assert svg.get("role") == "img"
    assert svg.get("aria-labelledby") == "ct1 cd1"
    assert svg.findtext("title") == "Series of telegraf/http_requests over time"
    assert svg.findtext("desc") == (
        "From 21,000 on 2026-03-01 to 81,000 on 2026-03-31. The limit is 100,000. Growth began on 2026-03-13. "
        "At this rate the limit of 100,000 series is reached in about 9 days (80% range 7 to 13)."
    )


def test_trend_marks_limit_onset_today_and_the_day_the_limit_is_reached() -> None:
    assert words_of(TREND)[3:] == [
        "2026-03-01",
        "today",
        "2026-04-15",
        "limit 100k",
        "began 2026-03-13",
        "≈ 2026-04-09",
    ]
    classes = [e.get("class") for e in parsed(TREND).iter() if e.get("class")]
    assert {"band", "ahead", "limit", "onset", "curve", "dot"} <= set(classes)


def test_trend_without_limit_or_forecast_ends_today() -> None:
    plain = Trend("series", Subject(), GROWING)
    assert words_of(plain)[3:] == ["2026-03-01", "2026-03-31"]
    assert "band" not in str(charts.trend(plain, 1))


def test_limit_far_above_is_named_but_not_drawn() -> None:
    far = replace(TREND, limit=10_000_000, forecast=None)
    assert "limit" not in "".join(words_of(far))
    assert "too high to be drawn" in str(charts.trend(far, 1))


def test_days_not_measured_leave_a_hole() -> None:
    path = next(e.get("d") or "" for e in parsed(TREND).iter("path"))
    assert path.count("M") == 2


def test_share_is_drawn_in_percent() -> None:
    trend = Trend("null_ratio", Subject("a", "b", "c"), (Point(DAY - timedelta(days=1), 0.2), Point(DAY, 0.9)), 0.5)
    assert words_of(trend)[:3] == ["0%", "50%", "100%"]


def test_hostile_names_stay_text() -> None:
    trend = replace(TREND, subject=Subject("a", sample.HOSTILE))
    assert parsed(trend).findall("svg")[1].findtext("title") is not None
    assert "<img" not in str(charts.trend(trend, 1))


@pytest.mark.parametrize("high", [None, 13.0, 4_000.0])
@pytest.mark.parametrize("shape", ["linear", "exponential", "undecided"])
@pytest.mark.parametrize("days", [0.4, 9.0, 300.0])
def test_forecast_of_any_shape_and_reach_stays_inside(high: float | None, shape: str, days: float) -> None:
    forecast = replace(FORECAST, days=days, days_low=days / 2, days_high=high, shape=shape)
    chart = parsed(replace(TREND, forecast=forecast))
    bands, lines = list(chart.iter("polygon")), list(chart.iter("polyline"))
    assert len(bands) == (1 if forecast.has_interval else 0)
    drawn = " ".join(e.get("points") or "" for e in (*bands, *lines))
    numbers = [tuple(map(float, p.split(","))) for p in drawn.split()]
    assert len(numbers) > 2
    assert all(0 <= x <= 1000 and -0.1 <= y <= 150 for x, y in numbers)


@given(
    values=st.lists(st.floats(0, 1e15, allow_nan=False), min_size=2, max_size=12),
    gaps=st.lists(st.integers(1, 40), min_size=11, max_size=11),
    limit=st.none() | st.floats(1e-6, 1e16),
    days=st.none() | st.floats(0, 4_000),
)
@example(values=[0.0, 5e-324], gaps=[1] * 11, limit=None, days=None)
@settings(deadline=None, max_examples=examples(80))
def test_trend_of_any_figures_is_well_formed(
    values: list[float], gaps: list[int], limit: float | None, days: float | None
) -> None:
    day, points = DAY - timedelta(days=500), []
    for value, gap in zip(values, gaps, strict=False):
        day += timedelta(days=gap)
        points.append(Point(day, value))
    forecast = replace(FORECAST, limit=limit or 1.0, days=days, days_low=None)
    root = parsed(Trend("rows", Subject("d"), tuple(points), limit, forecast, DAY))
    text = ElementTree.tostring(root, encoding="unicode")
    assert not re.search(r"\b(nan|inf)\b", text)


def test_bar_is_as_wide_as_its_share() -> None:
    widths = [re.findall(r'width="([\d.]+)%"', str(charts.bar(share)))[1] for share in (-1, 0, 0.375, 1, 7)]
    assert widths == ["0.0", "0.0", "37.5", "100.0", "100.0"]
