"""The rate and the date of growth, as they are printed together: one is what is left divided by the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import DAY, a_measurement, a_profile
from tests.examples import examples
from tsaudit.evaluation import evaluate
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Severity
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rules.cardinality.runaway_cardinality import runaway_cardinality as rule
from tsaudit.summary import of_finding
from tsaudit.text.findings import limit_reached

STEADY = [10_000.0] * 20 + [10_000 + 1_450.0 * n for n in range(1, 14)]
LAST, JUMP = STEADY[-1], 44_180.0


def _found(counts: Sequence[float], limit: float) -> Finding | None:
    """The finding about these daily counts, of which the last is that of the audited day."""
    counts = [float(round(count)) for count in counts]
    days = [DAY - timedelta(days=len(counts) - 1 - n) for n in range(len(counts))]
    points = tuple(Point(day, count) for day, count in zip(days, counts, strict=True))[:-1]
    policy = LimitPolicy(target={"high-series-cardinality.max_series": limit})
    profile = a_profile(a_measurement("iot", int(counts[-1])), engine="influxdb1")
    timeline = Timeline(points={("series", Subject("main", "iot")): points})
    (result,) = evaluate(profile, timeline, policy, [rule]).results
    return result.findings[0] if result.findings else None


def _figures(finding: Finding) -> dict[str, str]:
    return {figure.label: figure.text for figure in of_finding(finding, "CAR004", (), "t", DAY).figures}


def _printed(text: str, pattern: str) -> float | None:
    found = re.search(pattern, text)
    return float(found[1].replace(",", "")) if found else None


_RATE = r"([\d,]+) (?:more )?a day"


def _days(text: str) -> float | None:
    """The printed days at the printed rate: those beside it, or else those of the date."""
    if at := _printed(text, r"([\d,]+) days? (?:at this rate|at the rate before)"):
        return at
    if around := re.search(r"around (\d{4}-\d\d-\d\d)", text):
        return float((date.fromisoformat(around[1]) - DAY).days)
    return _printed(text, r"about ([\d,]+) days?")


def _agree(rate: float | None, days: float | None, left: float) -> None:
    assert rate is not None
    assert days is not None
    # Both are rounded, a future limit is at least one day away, and from a tenth off on, both days are printed.
    least = days - 0.51 if days > 1 else 0.0
    assert least * (rate - 0.51) / 1.11 <= left <= 1.11 * (days + 0.51) * (rate + 0.51)


def test_a_jump_on_the_last_day_leaves_the_pace_before_it_and_less_to_go() -> None:
    finding = _found([*STEADY, LAST + JUMP], 100_000)
    assert finding is not None
    assert finding.severity is Severity.WARNING
    assert f"44,180 of them since {DAY - timedelta(days=1)}, 1,467 a day before that" in finding.message
    assert "at the rate before the jump the limit of 100,000 series is reached in about 19 days" in finding.message
    assert finding.message.endswith("another such jump would reach it.")
    assert "44,180 of them since" in _figures(finding)["Now"]
    assert "1,467 more a day before that" in _figures(finding)["Now"]
    assert "at the rate before the jump" in _figures(finding)["Time left"]


def test_a_jump_that_ended_days_ago_changes_the_level_and_not_the_rate() -> None:
    for since in range(1, 5):
        finding = _found([*STEADY, *(LAST + JUMP + 1_450 * n for n in range(since + 1))], 100_000)
        assert finding is not None
        assert ", now 1,450 a day (2%)" in finding.message, since
        assert "speeding up" not in finding.message
        assert "at this rate the limit of 100,000 series is reached in about " in finding.message
        assert finding.forecast is not None
        assert finding.forecast.days == pytest.approx((100_000 - LAST - JUMP - 1_450 * since) / 1_450, rel=0.05)


@pytest.mark.parametrize("lasting", [2, 3, 5])
def test_a_jump_that_goes_on_is_a_new_pace_from_its_second_day(lasting: int) -> None:
    finding = _found([*STEADY, *(LAST + JUMP * n for n in range(1, lasting + 1))], 400_000)
    assert finding is not None
    assert ", now 44,180 a day" in finding.message
    days = (400_000 - LAST - JUMP * lasting) / JUMP
    assert f"at this rate the limit of 400,000 series is reached in about {round(days)} days" in finding.message
    assert finding.severity is Severity.CRITICAL


@pytest.mark.parametrize("part", [1 / 48, 0.1, 0.5, 0.8])
@pytest.mark.parametrize("grown", [5, 7, 13, 30])
def test_a_day_that_is_not_over_leaves_the_rate_of_the_days_before(grown: int, part: float) -> None:
    steady = [10_000.0] * 20 + [10_000 + 1_450.0 * n for n in range(1, grown + 1)]
    finding = _found([*steady, steady[-1] + 1_450 * part], 100_000)
    assert finding is not None
    assert ", now 1,450 a day (" in finding.message
    assert "slowing" not in finding.message


def test_growth_that_compounds_is_dated_at_its_share_a_day() -> None:
    finding = _found([10_000 * 1.02**n for n in range(60)], 100_000)
    assert finding is not None
    assert "at 2% a day the limit of 100,000 series is reached in about 57 days" in finding.message
    assert _figures(finding)["Time left"].endswith("; at 2% a day)")


def test_a_fall_on_the_last_day_is_named() -> None:
    finding = _found([*STEADY, LAST - 8_000], 100_000)
    assert finding is not None
    assert f", 8,000 fewer since {DAY - timedelta(days=1)}, " in finding.message
    assert "; as before the fall the limit of 100,000 series is reached around " in finding.message


@settings(max_examples=examples(150), deadline=None)
@given(
    rate=st.floats(0.005, 0.15),
    share=st.sampled_from(["amount", "share", "slowing"]),
    noise=st.sampled_from([0.0, 0.003, 0.02]),
    jump=st.sampled_from([0.0, 0.0, 0.3, 1.0, 2.0]),
    ago=st.integers(0, 6),
    lasting=st.integers(1, 3),
    times=st.floats(1.05, 6),
    seed=st.integers(0, 99),
)
def test_what_is_left_is_the_printed_days_times_the_printed_rate(
    rate: float, share: str, noise: float, jump: float, ago: int, lasting: int, times: float, seed: int
) -> None:
    grown = np.maximum(np.arange(50) - 25.0, 0.0)
    level = {"amount": 1 + rate * grown, "share": (1 + rate) ** grown, "slowing": 1 + 9 * rate * (1 - 0.9**grown)}[
        share
    ]
    level += jump * np.clip(grown - 24 + ago + lasting, 0, lasting)
    level *= np.exp(np.random.default_rng(seed).normal(0, noise, 50))
    counts = (20_000 * level).tolist()
    limit = float(round(times * counts[-1]))
    finding = _found(counts, limit)
    assert from_json(Finding | None, to_json(finding)) == finding, "it can be stored"
    forecast = finding.forecast if finding else None
    if finding is None or forecast is None or not forecast.days or not finding.per_day:
        return
    assert finding.observed is not None
    left, figures, said = limit - finding.observed, _figures(finding), limit_reached(forecast)
    assert said in finding.message
    if any(word in said for word in ("speeds up", "% a day", "busiest weekday", "before the fall")):
        return
    _agree(_printed(finding.message, _RATE), _days(said), left)
    _agree(_printed(figures["Now"], _RATE), _days(figures["Time left"]), left)
