"""Cron lines: what is let through is what Dagster takes."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from dagster._utils.schedules import cron_string_iterator, is_valid_cron_string
from dagster._vendored.croniter import CroniterBadDateError
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.config import cron

GOOD = [
    "0 6 * * *",
    "*/15 * * * *",
    "0 0 1 1 *",
    "5,35 8-18 * * mon-fri",
    "0 6 * jan,JUL 1-5",
    "0-30/10 6 * * 7",
    "@daily",
]
BAD = {
    "": "expected a cron expression",
    "daily": "expected a cron expression",
    "0 6 * *": "expected a cron expression",
    "0 6 * * * *": "expected a cron expression",
    "60 6 * * *": "`60` is not a valid minute in a cron expression: expected 0 to 59",
    "0 24 * * *": "`24` is not a valid hour",
    "0 6 0 * *": "`0` is not a valid day of the month",
    "0 6 * 13 *": "`13` is not a valid month",
    "0 6 * * 8": "`8` is not a valid day of the week",
    "0 6 * * fri-mon": "`fri-mon` is not a valid day of the week",
    "*/0 * * * *": "`\\*/0` is not a valid minute",
    "1,,2 * * * *": "`1,,2` is not a valid minute",
    "-5 * * * *": "`-5` is not a valid minute",
    "0 6 31 2 *": "`31 2` is not a date",
    "0 6 30-31 feb 0": "`30-31 feb` is not a date",
    "0 6 31 4,6,9,11 mon": "`31 4,6,9,11` is not a date",
}


_PARTS = {
    "of_month": st.sampled_from(["*", "1", "15", "1,15", "*/10", "3-9", "1-31/7", "31"]),
    "month": st.sampled_from(["*", "2", "jan,JUL", "*/5", "6-8"]),
    "of_week": st.sampled_from(["*", "0", "7", "mon-fri", "SUN", "1,3", "*/2", "5-7"]),
}


@settings(max_examples=examples(300))
@given(st.dates(date(2026, 1, 1), date(2028, 12, 31)), st.fixed_dictionaries(_PARTS))
def test_days_are_those_on_which_dagster_starts_a_run(day: date, parts: dict[str, str]) -> None:
    assume((parts["of_month"], parts["month"]) != ("31", "2"))
    line = f"30 6 {parts['of_month']} {parts['month']} {parts['of_week']}"
    assert cron.check(line) == line
    assert cron.fires_on(line, day) is dagster_fires_on(line, day), line


@pytest.mark.parametrize("line", ["@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"])
def test_days_of_nicknames(line: str) -> None:
    days = [date(2026, 1, 1) + timedelta(days=n) for n in range(40)]
    assert [cron.fires_on(line, day) for day in days] == [dagster_fires_on(line, day) for day in days]


def dagster_fires_on(line: str, day: date) -> bool:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return next(cron_string_iterator(start.timestamp(), line, "UTC")).date() == day


@pytest.mark.parametrize("line", ["0 6 31 2 *", "0 6 31 2 mon"])
def test_dagster_takes_no_line_without_a_date(line: str) -> None:
    with pytest.raises(CroniterBadDateError):
        next(cron_string_iterator(0.0, line, "UTC"))


def test_line_with_a_leap_day() -> None:
    line, start = cron.check("0 6 29 2 *"), datetime(2026, 1, 1, tzinfo=UTC)
    leap_day = next(cron_string_iterator(start.timestamp(), line, "UTC")).date()
    assert leap_day == date(2028, 2, 29)
    assert cron.fires_on(line, leap_day)


@pytest.mark.parametrize("line", GOOD)
def test_line_when_good(line: str) -> None:
    assert cron.check(line) == line
    assert is_valid_cron_string(line)


@pytest.mark.parametrize(("line", "problem"), BAD.items())
def test_line_when_bad(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        cron.check(line)


FIELD = st.from_regex(r"\A(\*|[0-9]{1,2}|[0-9]{1,2}-[0-9]{1,2})(/[0-9]{1,2})?(,[0-9]{1,2})?\Z")


@settings(deadline=None, max_examples=examples(150))
@given(fields=st.lists(FIELD, min_size=5, max_size=5))
def test_line_when_let_through_is_taken_by_dagster(fields: list[str]) -> None:
    line = " ".join(fields)
    try:
        cron.check(line)
    except ValueError:
        return
    assert is_valid_cron_string(line)
