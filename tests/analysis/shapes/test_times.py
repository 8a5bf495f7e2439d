"""Points in time as people and programs write them."""

from __future__ import annotations

import pytest

from tsaudit.analysis.shapes.shape_rules import is_time


@pytest.mark.parametrize(
    "value",
    [
        "2026-11-22",
        "20261122",
        "2026-11-22T10:15:03.120Z",
        "31.12.2024 10:15",
        "31.12.2024",
        "12/31/2024 02:14:18 PM",
        "Thu, 23 Jul 2026 13:26:44 GMT",
        "Thu Jul 23 13:26:44 2026",
        "23/Jul/2026:13:26:44 +0200",
        "Oct  3 07:12:55",
        "17/06/09 20:11:09",
        "2026-11-22 10:15:03 Europe/Berlin",
        "23 July 2026",
        "2026:07:23 13:26:44",
        "to 23. heinäkuuta 2026 klo 13:26",
    ],
)
def test_dates_with_or_without_a_time_of_day_are_times(value):
    assert is_time(value)


@pytest.mark.parametrize(
    "value",
    [
        "10:15:03",
        "2026-13-01",
        "1.2.3",
        "Mar 7",
        "10.0.0.1",
        "31.31.2024",
        "Room 12:30",
        "Room 7 bed 2 12:30",
        "backup 2026-07-23 13:26",
        "2024",
        "12:30 14:30",
        "",
    ],
)
def test_other_numbers_are_not(value):
    assert not is_time(value)
