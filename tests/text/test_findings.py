"""One finding in words."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import DAY, a_finding
from tsaudit.model.finding import Forecast, Limit
from tsaudit.text.findings import origin, sentence

FORECAST = Forecast(10, 9.2, 6.8, None, 0.1, DAY - timedelta(days=5), "linear", provisional=False, unit="values")


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
    ("origin_", "said"),
    [
        ("default", "tsaudit's default"),
        ("target", "set for this target"),
        ("all targets", "set for all targets"),
        ("measurement http_*", "set for http_*"),
        ("plan influxdb-cloud-free", "of plan influxdb-cloud-free"),
    ],
)
def test_origin_names_who_set_the_limit(origin_: str, said: str) -> None:
    assert origin(Limit("x.y", 100.0, "series", "house", origin_)) == said
