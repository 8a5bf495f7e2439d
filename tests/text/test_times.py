"""Days, instants and lengths of time in words."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import NOW
from tsaudit.model.figures import FOREVER
from tsaudit.text import day, duration, instant, retention, span

LENGTHS = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}


def seconds_of(text: str) -> float:
    parts = re.findall(r"([\d,.]+) (day|hour|minute|second)s?\b", text)
    return sum(float(count.replace(",", "")) * LENGTHS[unit] for count, unit in parts)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 seconds"),
        (0.25, "0.25 seconds"),
        (1, "1 second"),
        (59.97, "1 minute"),
        (60, "1 minute"),
        (90, "1 minute 30 seconds"),
        (83.42, "1 minute 23 seconds"),
        (7_200, "2 hours"),
        (2_592_000, "30 days"),
        (90_000, "1 day 1 hour"),
        (math.inf, "∞ seconds"),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@given(st.integers(0, 10**10))
def test_whole_seconds_are_all_in_their_duration(seconds: int) -> None:
    assert seconds_of(duration(seconds)) == seconds


@given(st.floats(0, 1e9), st.floats(0, 1e9))
def test_longer_never_reads_shorter(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert seconds_of(duration(low)) <= seconds_of(duration(high))


def test_retention_that_drops_nothing_is_none() -> None:
    assert [retention(r) for r in (FOREVER, 86_400, None)] == ["no retention", "1 day", ""]


def test_one_format_of_dates() -> None:
    assert day(date(2026, 3, 1)) == "2026-03-01"
    assert day(datetime(2026, 3, 1, 1, tzinfo=timezone(timedelta(hours=2)))) == "2026-02-28"
    assert instant(NOW) == "2026-03-31 06:00 UTC"
    assert span(datetime(2026, 3, 1, tzinfo=UTC), NOW) == "2026-03-01 00:00 to 2026-03-31 06:00 UTC"
