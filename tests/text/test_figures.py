"""Measured figures in words."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.builders import DAY, NOW, a_count, a_ratio, a_source
from tsaudit.model.figures import Count, How, Ratio
from tsaudit.text import NOT_KNOWN, count, figure, rows_of, values_of


def test_count_when_it_is_no_exact_one() -> None:
    assert count(a_count(1200)) == "1,200"
    assert count(a_count(1200, How.ESTIMATE)) == "1,200 (estimate)"


@pytest.mark.parametrize(
    ("value", "text", "note"),
    [
        (a_count(1200), "1,200", ""),
        (a_count(1200, How.ESTIMATE, standard_error=15.0), "≈ 1,200", "estimate ± 15"),
        (a_count(1200, How.ESTIMATE), "≈ 1,200", "estimate, error unknown"),
        (a_count(1200, How.SAMPLED), "1,200", "sampled"),
        (a_ratio(0.25), "25%", ""),
        (None, NOT_KNOWN, "not measured"),
    ],
)
def test_figure_says_how_it_was_measured(value: Count | Ratio | None, text: str, note: str) -> None:
    found = figure(value, DAY)
    assert (found.text, found.note, found.measured) == (text, note, value is not None)


def test_figure_of_an_earlier_day_says_so() -> None:
    assert figure(a_count(7), NOW.date() + timedelta(days=3)).note == "as of 2026-03-31"


def test_figure_with_a_scope_names_it() -> None:
    source = a_count(1).source
    sampled = Count(7, type(source)(source.query, How.SAMPLED, source.as_of, "newest 10 rows"))
    exact = Count(7, type(source)(source.query, How.EXACT, source.as_of, "last hour"))
    assert figure(sampled, DAY).note == "sampled: newest 10 rows"
    assert figure(exact, DAY, "last hour").note == ""
    assert figure(sampled, DAY, "10 rows").note == "sampled: newest rows"
    assert figure(exact, DAY).note == "last hour"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (a_count(71_234), ("71,234", "71,234 values", "71,234 rows")),
        (a_count(71_234, How.ESTIMATE), ("71,200 (estimate)", "about 71,200 values", "about 71,200 rows")),
        (
            Count(71_234, a_source(How.SAMPLED, is_at_least=True)),
            ("71,234 (sampled)", "at least 71,234 values", "at least 71,234 rows"),
        ),
    ],
)
def test_estimates_have_three_digits_in_sentences(given: Count, expected: tuple[str, str, str]) -> None:
    assert (count(given), values_of(given), rows_of(given)) == expected
