from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.alerts.builders import an_incident
from tests.builders import DAY, a_finding
from tsaudit.alerts.figures import details
from tsaudit.model.finding import Forecast, Limit


def lines(**changes: Any) -> list[str]:
    incident = an_incident(a_finding(**changes), first_seen=DAY)
    return details(incident, DAY, full_values=False)


def test_what_a_finding_does_not_know_is_left_out() -> None:
    assert lines() == ["Tag host has too many values.", "Since 2026-03-31", "Fix: Make host a field."]


@pytest.mark.parametrize(
    ("days", "low", "high", "said"),
    [
        (12.0, 8.0, 20.0, "in about 12 days (80% range 8 to 20), growing 5% a day"),
        (12.0, 8.0, None, "in about 12 days (80% range 8 or more), growing 5% a day"),
        (12.0, None, None, "in about 12 days, growing 5% a day"),
    ],
)
def test_days_to_the_limit_come_with_their_interval(
    days: float, low: float | None, high: float | None, said: str
) -> None:
    forecast = Forecast(100.0, days, low, high, 0.05, None, "linear", provisional=False)
    assert lines(forecast=forecast)[2] == f"At this rate the limit of 100 is reached {said}"


@pytest.mark.parametrize("days", [None, 0.0])
def test_a_limit_not_in_sight_or_passed_is_no_forecast(days: float | None) -> None:
    forecast = Forecast(100.0, days, None, None, 0.0, None, "linear", provisional=False)
    assert len(lines(forecast=forecast)) == 3


def test_a_forecast_that_the_message_gives_is_not_given_again() -> None:
    forecast = Forecast(100.0, 21.4, 21.0, 22.0, 0.05, None, "linear", provisional=False)
    message = "Cpus grow; at this rate the limit of 100 is reached in about 21 days (80% range {} to 22)."
    assert len(lines(message=message.format(21), forecast=forecast)) == 3
    assert len(lines(message=message.format(9), forecast=forecast)) == 4


@pytest.mark.parametrize(
    ("guilty", "share", "said"),
    [("host", None, []), ("host", 0.5, ["Main contributor host (50%)"]), ("path", None, ["Main contributor path"])],
)
def test_the_guilty_one_is_not_named_twice(guilty: str, share: float | None, said: list[str]) -> None:
    assert lines(guilty=guilty, share=share)[1:-2] == said


def test_what_was_measured_stands_beside_its_limit() -> None:
    limit = Limit("x.y", 0.5, "ratio", "house", "default")
    assert lines(observed=0.9, limit=limit, unit="ratio")[1] == "Measured 90%, limit 50% (default)"


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
