"""Cron lines: what is let through is what Dagster takes."""

from __future__ import annotations

import pytest
from dagster._utils.schedules import is_valid_cron_string
from hypothesis import given, settings
from hypothesis import strategies as st

from tsaudit import cron

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
    "": "expected a cron line",
    "daily": "expected a cron line",
    "0 6 * *": "expected a cron line",
    "0 6 * * * *": "expected a cron line",
    "60 6 * * *": "`60` is no minute of a cron line: expected 0 to 59",
    "0 24 * * *": "`24` is no hour",
    "0 6 0 * *": "`0` is no day of the month",
    "0 6 * 13 *": "`13` is no month",
    "0 6 * * 8": "`8` is no day of the week",
    "0 6 * * fri-mon": "`fri-mon` is no day of the week",
    "*/0 * * * *": "`\\*/0` is no minute",
    "1,,2 * * * *": "`1,,2` is no minute",
    "-5 * * * *": "`-5` is no minute",
}


@pytest.mark.parametrize("line", GOOD)
def test_line_when_good(line: str) -> None:
    assert cron.check(line) == line
    assert is_valid_cron_string(line)


@pytest.mark.parametrize(("line", "problem"), BAD.items())
def test_line_when_bad(line: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        cron.check(line)


FIELD = st.from_regex(r"\A(\*|[0-9]{1,2}|[0-9]{1,2}-[0-9]{1,2})(/[0-9]{1,2})?(,[0-9]{1,2})?\Z")


@settings(deadline=None, max_examples=150)
@given(fields=st.lists(FIELD, min_size=5, max_size=5))
def test_line_when_let_through_is_taken_by_dagster(fields: list[str]) -> None:
    line = " ".join(fields)
    try:
        cron.check(line)
    except ValueError:
        return
    assert is_valid_cron_string(line)
