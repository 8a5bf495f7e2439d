"""When a limit is reached, in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.model.finding import Forecast, Jump
from tsaudit.text.findings import about, interval, limit_reached, pace, time_left

FORECAST = Forecast(10_000, 9.2, 6.8, 13.1, 0.05, date(2026, 3, 13), "linear", provisional=False, unit="series")
ENDS = st.none() | st.floats(0, 4_000)


def test_forecast_says_which_limit_and_in_how_many_days() -> None:
    assert limit_reached(FORECAST) == (
        "at this rate the limit of 10,000 series is reached in about 9 days (80% range 7 to 13)"
    )
    assert limit_reached(replace(FORECAST, limit=5e9, unit="bytes", days_high=None)) == (
        "at this rate the limit of 5 GB is reached in about 9 days (80% range 7 or more)"
    )
    assert limit_reached(replace(FORECAST, days=0.0)) == "the limit of 10,000 series is reached"
    assert limit_reached(replace(FORECAST, days=None)) == ""


def test_a_limit_beyond_the_time_for_which_intervals_hold_has_a_date_and_no_interval() -> None:
    far = replace(FORECAST, days=90.4, days_low=40.0, days_high=200.0, from_day=date(2026, 3, 20))
    assert limit_reached(far) == "at this rate the limit of 10,000 series is reached around 2026-06-18"
    assert interval(far) == ""
    assert "80%" in limit_reached(replace(far, days=60.0))


def test_a_limit_that_is_expected_later_than_at_the_present_rate_has_both() -> None:
    slow = replace(FORECAST, days_at_rate=4.2, from_day=date(2026, 3, 20))
    assert limit_reached(slow) == (
        "the limit of 10,000 series is reached in about 9 days (80% range 7 to 13), 4 days at this rate"
    )
    assert limit_reached(replace(slow, days=90.0)) == (
        "the limit of 10,000 series is reached around 2026-06-18, 4 days at this rate"
    )
    assert limit_reached(replace(slow, days_at_rate=8.5)) == limit_reached(FORECAST)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"compounds": True}, "at 5% a day "),
        ({"compounds": True, "days_at_rate": 12.0}, "as it speeds up "),
        ({"jump": Jump(date(2026, 3, 19), 3_000.0)}, "at the rate before the jump "),
        ({"jump": Jump(date(2026, 3, 19), -3_000.0)}, "as before the fall "),
    ],
)
def test_a_forecast_says_at_which_rate(changes: dict[str, Any], words: str) -> None:
    assert limit_reached(replace(FORECAST, **changes)).startswith(f"{words}the limit of 10,000 series")
    slow = limit_reached(replace(FORECAST, **changes | {"days_at_rate": 4.2}))
    assert slow.startswith("the limit of")
    assert slow.endswith(f", 4 days {'at 5% a day' if 'speeds' in words else words.strip()}")


def test_a_forecast_with_a_season_is_that_of_the_busiest_weekday() -> None:
    assert "is reached on its busiest weekday in about 9 days" in limit_reached(replace(FORECAST, has_season=True))


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (6.8, 13.1, "80% range 7 to 13"),
        (6.8, None, "80% range 7 or more"),
        (None, 13.1, "80% range up to 13"),
        (None, None, ""),
        (9.1, 9.3, ""),
    ],
)
def test_range_may_be_open_and_is_left_out_where_it_says_nothing(
    low: float | None, high: float | None, text: str
) -> None:
    assert interval(replace(FORECAST, days_low=low, days_high=high)) == text
    assert time_left(replace(FORECAST, days_low=low, days_high=high)) == "in about 9 days" + (f" ({text})" * bool(text))


def test_pace_says_since_when_and_whether_it_may_change() -> None:
    assert pace(FORECAST) == "growing 5% a day since 2026-03-13"
    assert pace(replace(FORECAST, onset=None, provisional=True)) == "growing 5% a day; provisional: too little history"


@given(days=ENDS, low=ENDS, high=ENDS)
def test_no_forecast_is_in_zero_days_or_one_days(days: float | None, low: float | None, high: float | None) -> None:
    text = limit_reached(replace(FORECAST, days=days, days_low=low, days_high=high))
    assert "about 0 " not in text
    assert "about 1 days" not in text
    assert (about(replace(FORECAST, days=days)) == "") == (days is None)
