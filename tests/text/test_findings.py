"""One finding in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import DAY, a_finding
from tsaudit.model.finding import Forecast, Limit
from tsaudit.text.findings import measured, sentence

FORECAST = Forecast(10, 9.2, 6.8, None, 0.1, DAY - timedelta(days=5), "linear", provisional=False, unit="values")
LIMIT = Limit("x.y", 100.0, "series", "house", "default")


def test_sentence_adds_what_the_message_leaves_out() -> None:
    assert sentence(a_finding()) == "Tag host has too many values."
    assert sentence(a_finding(main_contributor="pid", share=0.97, forecast=FORECAST)) == (
        "Tag host has too many values; main contributor pid (97%); growing since 2026-03-26; "
        "at this rate the limit of 10 values is reached in about 9 days (80% range 7 or more)."
    )
    past = replace(FORECAST, days=0.0, onset=None)
    assert sentence(a_finding(forecast=past)) == "Tag host has too many values; the limit of 10 values is reached."
    never = replace(FORECAST, days=None, onset=None)
    assert sentence(a_finding(forecast=never)) == "Tag host has too many values."


def test_sentence_says_nothing_twice() -> None:
    message = "Series of cpu grow since 2026-03-26; tag pid makes 97% of it."
    finding = a_finding(message=message, main_contributor="pid", share=0.97, since=DAY - timedelta(days=5))
    assert sentence(finding) == message
    assert "main contributor it" not in sentence(replace(finding, main_contributor="it"))
    assert "main contributor i " in sentence(replace(finding, main_contributor="i"))
    told = sentence(a_finding(forecast=FORECAST))
    assert sentence(a_finding(message=told, forecast=FORECAST)) == told


@pytest.mark.parametrize(
    ("observed", "ending"),
    [(99.0, "(tsaudit's default)"), (199.0, "(tsaudit's default)"), (200.0, "(tsaudit's default), 2 times the limit")],
)
def test_times_as_much_is_said_from_twice_on(observed: float, ending: str) -> None:
    assert measured(a_finding(observed=observed, limit=LIMIT, unit="series")).endswith(ending)


def test_figures_of_one_unit_name_it_once() -> None:
    said = measured(a_finding(observed=5_000.0, baseline=400.0, unit="series", limit=LIMIT))
    assert said == "5,000 series (400 before), limit 100 (tsaudit's default), 50 times the limit"
    share = replace(LIMIT, value=0.5, unit="share of the rows")
    assert measured(a_finding(observed=0.9, limit=share, unit="share of the rows")) == (
        "90% of the rows, limit 50% (tsaudit's default)"
    )


def test_figures_of_different_units_are_not_divided() -> None:
    limit = replace(LIMIT, value=10.0, unit="times the series before")
    said = measured(a_finding(observed=5_000.0, unit="series", limit=limit))
    assert said == "5,000 series, limit 10 times the series before (tsaudit's default)"


def test_a_limit_of_zero_divides_nothing_and_none_says_nothing() -> None:
    limit = replace(LIMIT, value=0.0, unit="conflicts")
    assert (
        measured(a_finding(observed=3.0, limit=limit, unit="conflicts")) == "3 conflicts, limit 0 (tsaudit's default)"
    )
    assert measured(a_finding()) == ""
