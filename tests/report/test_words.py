"""Numbers and figures in words."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from tests.builders import DAY, NOW, a_count, a_ratio
from tsaudit.model.profile import FOREVER, Count, How, Ratio
from tsaudit.report import words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567, "1,234,567"),
        (0.5, "0.5"),
        (float("inf"), "∞"),
        (float("nan"), "not a number"),
        (float("-inf"), "not a number"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert words.number(value) == text


def test_percent_of_what_is_no_number_says_so() -> None:
    assert words.percent(float("nan")) == "not a number"
    assert words.percent(0.9999) == "> 99.9 %"


def test_quantity_when_the_unit_is_a_share_is_a_percentage() -> None:
    assert words.quantity(0.25, "ratio") == "25 %"
    assert words.quantity(0.25, "share") == "25 %"
    assert words.quantity(0.25, "share of null cells") == "25 % of null cells"
    assert words.quantity(12, "series") == "12 series"
    assert words.quantity(12) == "12"


def test_change_always_has_a_sign() -> None:
    assert [words.change(v) for v in (12, -1200, 0)] == ["+12", "\N{MINUS SIGN}1,200", "±0"]


@pytest.mark.parametrize(
    ("value", "text", "note"),
    [
        (a_count(1200), "1,200", ""),
        (a_count(1200, How.ESTIMATE, standard_error=15.0), "≈ 1,200", "estimate ± 15"),
        (a_count(1200, How.ESTIMATE), "≈ 1,200", "estimate, error unknown"),
        (a_count(1200, How.SAMPLED), "1,200", "sampled"),
        (a_ratio(0.25), "25 %", ""),
        (None, words.NONE, "not measured"),
    ],
)
def test_figure_says_how_it_was_had(value: Count | Ratio | None, text: str, note: str) -> None:
    figure = words.figure(value, DAY)
    assert (figure.text, figure.note, figure.measured) == (text, note, value is not None)


def test_figure_of_an_earlier_day_says_so() -> None:
    figure = words.figure(a_count(7), NOW.date() + timedelta(days=3))
    assert figure.note == "as of 31 Mar"


def test_figure_with_a_scope_names_it() -> None:
    source = a_count(1).source
    sampled = Count(7, type(source)(source.query, How.SAMPLED, source.as_of, "newest 10 rows"))
    exact = Count(7, type(source)(source.query, How.EXACT, source.as_of, "last hour"))
    assert words.figure(sampled, DAY).note == "sampled: newest 10 rows"
    assert words.figure(exact, DAY, "last hour").note == ""
    assert words.figure(sampled, DAY, "10 rows").note == "sampled: newest rows"
    assert words.figure(exact, DAY).note == "last hour"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(2_592_000, "30 d"), (7_200, "2 h"), (60, "1 min"), (90, "90 s"), (0, "0 s"), (FOREVER, "forever")],
)
def test_duration(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(None, words.NONE), (512, "512 B"), (2048, "2.05 kB"), (9_120_412, "9.12 MB"), (5 * 10**12, "5 TB")],
)
def test_size(count: int | None, text: str) -> None:
    assert words.size(count) == text


def test_days_and_lists_read_well() -> None:
    assert words.long_day(date(2026, 3, 1)) == "1 March 2026"
    assert words.short_day(date(2026, 3, 1)) == "1 Mar"
    assert words.instant(NOW) == "31 March 2026, 06:00 UTC"
    assert words.plural(1, "table") == "1 table"
    assert words.plural(1200, "series", "series") == "1,200 series"
    assert [words.listing(x) for x in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
