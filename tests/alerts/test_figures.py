from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import pytest

from tests.alerts.builders import an_incident
from tests.builders import DAY, a_finding
from tsaudit.alerts.figures import details, quantity
from tsaudit.model.finding import Forecast, Limit

LIMIT = Limit("x.y", 100.0, "", "house", "default")


def lines(**changes: Any) -> list[str]:
    incident = an_incident(a_finding(**changes), first_seen=DAY)
    return details(incident, DAY, full_values=False)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0.0, "series", "0 series"),
        (1_234_567.0, "series", "1,234,567 series"),
        (1234.5, "", "1,234"),
        (0.12345, "s", "0.123 s"),
        (0.985, "ratio", "98 %"),
        (0.25, "share of null cells", "25 %"),
        (math.inf, "values", "inf values"),
        (math.nan, "", "nan"),
    ],
)
def test_quantity_is_for_people(value: float, unit: str, expected: str) -> None:
    assert quantity(value, unit) == expected


def test_what_a_finding_does_not_know_is_left_out() -> None:
    assert lines() == ["Tag host has too many values.", "Since 2026-03-31", "Fix: Make host a field."]


@pytest.mark.parametrize(
    ("observed", "ending"), [(99.0, "(default)"), (199.0, "(default)"), (200.0, "(default), 2 times as much")]
)
def test_times_as_much_is_said_from_twice_on(observed: float, ending: str) -> None:
    assert lines(observed=observed, limit=LIMIT)[1].endswith(ending)


def test_a_limit_of_zero_divides_nothing() -> None:
    limit = Limit("x.y", 0.0, "conflicts", "house", "default")
    assert lines(observed=3.0, limit=limit, unit="conflicts")[1] == "Measured 3 conflicts, limit 0 (default)"


def test_figures_of_different_units_are_not_divided() -> None:
    limit = Limit("x.y", 10.0, "times the series before", "house", "default")
    said = lines(observed=5_000.0, baseline=400.0, unit="series", limit=limit)[1]
    assert said == "Measured 5,000 series (400 before), limit 10 times the series before (default)"


@pytest.mark.parametrize(
    ("days", "low", "high", "said"),
    [
        (12.0, 8.0, 20.0, "in about 12 days (8 to 20), growing 5 % a day"),
        (12.0, 8.0, None, "in about 12 days (8 or more), growing 5 % a day"),
        (12.0, None, None, "in about 12 days, growing 5 % a day"),
    ],
)
def test_days_to_the_limit_come_with_their_interval(
    days: float, low: float | None, high: float | None, said: str
) -> None:
    forecast = Forecast(100.0, days, low, high, 0.05, None, "linear", provisional=False)
    assert lines(forecast=forecast)[2] == f"Reaches 100 {said}"


@pytest.mark.parametrize("days", [None, 0.0])
def test_a_limit_not_in_sight_or_passed_is_no_forecast(days: float | None) -> None:
    forecast = Forecast(100.0, days, None, None, 0.0, None, "linear", provisional=False)
    assert len(lines(forecast=forecast)) == 3


def test_a_forecast_that_the_message_gives_is_not_given_again() -> None:
    forecast = Forecast(100.0, 21.4, 21.0, 22.0, 0.05, None, "linear", provisional=False)
    assert len(lines(message="The limit of 100 is reached in 21 days (21 to 22).", forecast=forecast)) == 3
    assert len(lines(message="The limit of 100 is reached in 21 days (9 to 22).", forecast=forecast)) == 4


@pytest.mark.parametrize(
    ("guilty", "share", "said"),
    [("host", None, []), ("host", 0.5, ["Guilty: host, 50 % of it"]), ("path", None, ["Guilty: path"])],
)
def test_the_guilty_one_is_not_named_twice(guilty: str, share: float | None, said: list[str]) -> None:
    assert lines(guilty=guilty, share=share)[1:-2] == said


def test_a_ratio_keeps_its_per_cent() -> None:
    limit = Limit("x.y", 0.5, "ratio", "house", "default")
    assert lines(observed=0.9, limit=limit, unit="ratio")[1] == "Measured 90 %, limit 50 % (default)"


def test_since_counts_days() -> None:
    assert lines(since=DAY - timedelta(days=1))[1] == "Since 2026-03-30 (1 day)"


def test_the_lines_of_any_incident_fit_one_section() -> None:
    long = "x" * 5_000
    limit = Limit(long, 1.0, long, long, long)
    forecast = Forecast(1.0, 1.0, 1.0, 1.0, 1.0, DAY, "linear", provisional=True)
    said = lines(
        message=long,
        fix=long,
        observed=9.0,
        limit=limit,
        unit=long,
        guilty=long,
        share=1.0,
        samples=(long, long, long),
        forecast=forecast,
    )
    assert sum(len(line) + 1 for line in said) <= 3_000
