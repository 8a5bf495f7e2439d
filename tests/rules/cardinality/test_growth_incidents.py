"""CAR004 day by day, as the history keeps it: one incident for one growth, none for what is no growth."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import date, timedelta

import numpy as np
import pytest

from tests.builders import a_measurement, a_profile
from tsaudit.config.settings import Incidents
from tsaudit.evaluation import evaluate
from tsaudit.history.lifecycle import DaySeen, IncidentState, Track
from tsaudit.model.figures import Subject
from tsaudit.model.finding import fingerprint
from tsaudit.model.timeline import Point, Timeline
from tsaudit.policy import LimitPolicy
from tsaudit.rules.cardinality.runaway_cardinality import runaway_cardinality as rule

pytestmark = pytest.mark.full

FIRST = date(2026, 1, 5)
MARK = fingerprint("demo", "CAR004", Subject("main", "cpu"))
DAY = np.arange(160.0)
SINCE_50 = np.maximum(DAY - 49, 0)


def incidents(counts: Sequence[float], begin: int = 7, limit: float = 1_000_000) -> list[dict[str, date | None]]:
    """Those opened while the counts of successive days are audited: `opened`, `since` and `resolved` of each."""
    found: list[dict[str, date | None]] = []
    track: Track | None = None
    policy = LimitPolicy(target={"high-series-cardinality.max_series": limit})
    days = [FIRST + timedelta(days=n) for n in range(len(counts))]
    points = tuple(Point(day, float(round(count))) for day, count in zip(days, counts, strict=True))
    for n in range(begin, len(points)):
        counted = a_profile(a_measurement("cpu", int(points[n].value)), engine="influxdb1")
        profile = dataclasses.replace(counted, day=days[n])
        timeline = Timeline(points={("series", Subject("main", "cpu")): points[:n]})
        seen = DaySeen(evaluate(profile, timeline, policy, [rule]), Incidents(), lambda finding, result: "owner")
        was_open = track is not None and track.incident.state is IncidentState.OPEN
        track = seen.after(MARK, track, None) or track
        if track is None:
            continue
        incident = track.incident
        if incident.state is IncidentState.OPEN and not was_open:
            found.append({"opened": days[n], "since": incident.finding.since, "resolved": None})
        elif found:
            found[-1] |= {"resolved": incident.resolved} if not was_open else {"since": incident.finding.since}
        if was_open and incident.state is IncidentState.RESOLVED:
            found[-1]["resolved"] = days[n]
    return found


def noisy(level: np.ndarray, deviation: float, seed: int = 1) -> np.ndarray:
    return level * np.exp(np.random.default_rng(seed).normal(0, deviation, len(level)))


PASTS = {
    "quiet": np.full(160, 80_000.0),
    "a step up": np.where(DAY < 20, 40_000, 80_000.0),
    "a step down": np.where(DAY < 20, 160_000, 80_000.0),
    "filling up": np.where(DAY < 20, 2_000 + 4_000 * DAY, 80_000),
}


@pytest.mark.parametrize("deviation", [0, 0.01])
@pytest.mark.parametrize("past", PASTS)
def test_growth_after_any_past_is_one_incident_with_one_onset(past: str, deviation: float) -> None:
    counts = noisy(PASTS[past] + 4_500 * SINCE_50, deviation)
    (growth,) = incidents(counts[:111], begin=40, limit=400_000)
    assert growth["opened"] is not None
    assert growth["since"] is not None
    assert (growth["opened"] - FIRST).days <= 57
    assert abs((growth["since"] - FIRST).days - 50) <= 2
    assert growth["resolved"] is None


def test_a_growth_that_ends_is_resolved_within_a_week() -> None:
    counts = 80_000 + 4_500 * np.clip(DAY - 49, 0, 40)
    (growth,) = incidents(counts, begin=40, limit=400_000)
    assert growth["resolved"] is not None
    assert 90 < (growth["resolved"] - FIRST).days <= 90 + 7


@pytest.mark.parametrize("deviation", [0, 0.01])
def test_a_growth_that_pauses_on_weekends_is_one_incident(deviation: float) -> None:
    """Such as that of deployments: FIRST is a Monday."""
    working = np.cumsum((DAY >= 50) & (DAY % 7 < 5))
    (growth,) = incidents(noisy(80_000 + 4_500 * working, deviation)[:111], begin=58, limit=400_000)
    assert growth["resolved"] is None


def test_a_growth_that_slows_down_is_not_resolved() -> None:
    """From 1.8% a day to a third of a percent: still the same incident."""
    counts = 20_000 + 25_000 * (1 - 0.985**SINCE_50)
    (growth,) = incidents(counts[:130], begin=40, limit=38_000)
    assert growth["resolved"] is None


def test_a_growth_that_will_stop_below_the_limit_opens_no_incident() -> None:
    counts = 20_000 + 25_000 * (1 - 0.985**SINCE_50)
    assert incidents(counts[:130], begin=60, limit=50_000) == []


QUIET = {
    "bursts of a day": 1e5 * (1 + 4.0 * np.isin(DAY, (30, 62, 90))),
    "weekends": 1e5 * np.where(DAY % 7 >= 5, 0.4, 1),
    "months": 1e5 * (1 + 0.1 * np.sin(DAY * 2 * np.pi / 30)),
    "teeth of a week": 1e5 * (1 + 0.4 * (DAY % 7) / 7),
    "teeth of two weeks": 1e5 * (1 + 0.4 * (DAY % 14) / 14),
    "teeth of a month": 1e5 * (1 + 0.4 * (DAY % 30) / 30),
    "a step": 1e5 * np.where(DAY < 40, 1, 1.4),
    "a step over two days": 1e5 * (1 + 0.4 * np.clip((DAY - 40) / 2, 0, 1)),
    "a step over three days": 1e5 * (1 + 0.4 * np.clip((DAY - 40) / 3, 0, 1)),
    "a staircase": 1e5 * 1.15 ** (DAY // 15),
}


@pytest.mark.parametrize("course", [name for name in QUIET if name != "months"])
@pytest.mark.parametrize("deviation", [0, 0.01])
def test_what_is_no_growth_opens_no_incident(course: str, deviation: float) -> None:
    assert incidents(noisy(QUIET[course], deviation)[:110]) == []


@pytest.mark.parametrize("times", [1.6, 1.9])
def test_a_jump_overnight_is_one_incident_of_some_days(times: float) -> None:
    (jump,) = incidents((1e5 * np.where(DAY < 40, 1, times))[:60], begin=30)
    assert (jump["opened"], jump["since"]) == (FIRST + timedelta(days=41), FIRST + timedelta(days=40))
    assert jump["resolved"] is not None
    assert jump["resolved"] <= FIRST + timedelta(days=50)


def test_a_season_of_a_month_is_growth_at_most_once() -> None:
    """Its first rise is like any other; those after it were seen before."""
    assert len(incidents(QUIET["months"])) <= 1


def test_a_level_that_triples_is_reported_on_its_second_day_and_a_burst_is_not() -> None:
    steady = [100_000.0] * 40
    (step,) = incidents([*steady, 300_000.0, 300_000.0], begin=38)
    assert step["opened"] == FIRST + timedelta(days=41)
    noise = noisy(np.full(60, 1e5), 0.25).tolist()
    assert incidents([*noise, 300_000.0, 110_000.0, 90_000.0, 120_000.0], begin=50) == []


def test_bursts_of_some_days_open_nothing_once_such_bursts_are_usual() -> None:
    """Three days at three times the level, every three weeks: the first one may be a jump, the later ones are not."""
    counts = noisy(1e5 * np.where(DAY % 21 < 18, 1, 3), 0.15)
    assert incidents(counts[:130], begin=45) == []


@pytest.mark.parametrize("deviation", [0.02, 0.15])
def test_a_step_that_holds_is_reported_within_four_days_of_noisy_counts(deviation: float) -> None:
    (step,) = incidents(noisy(np.where(DAY < 60, 1e5, 3e5), deviation)[:110], begin=30)
    assert step["opened"] is not None
    assert step["opened"] <= FIRST + timedelta(days=63)
    assert step["since"] == FIRST + timedelta(days=60)


def test_a_return_to_a_level_that_was_usual_is_no_jump() -> None:
    """A purge, and two weeks later the data is back."""
    assert incidents(noisy(1e5 * np.where((DAY >= 40) & (DAY < 54), 0.4, 1), 0.02)[:80], begin=30) == []
