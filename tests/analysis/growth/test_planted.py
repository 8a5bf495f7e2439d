"""Growth planted after every kind of past is called until the end; what only looks like growth for days is not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta

import numpy as np
import pytest

from tsaudit.analysis.growth.detection import Growth, detect

FIRST = date(2026, 1, 5)
DAYS = 141
DAY = np.arange(float(DAYS))
ONSET = 50
SINCE = np.maximum(DAY - ONSET + 1, 0)
LEVEL, RISE = 80_000.0, 4_500.0


def judged(
    on: Sequence[int] | np.ndarray, counts: np.ndarray, begin: int, every: int = 1
) -> Iterator[tuple[int, Growth]]:
    """The day and the verdict of the audits from day `begin` on."""
    days = [FIRST + timedelta(days=int(day)) for day in on]
    values = [float(round(count)) for count in counts]
    for n in range(int(np.searchsorted(on, begin)), len(days), every):
        yield int(on[n]), detect(days[: n + 1], values[: n + 1])


def noisy(level: np.ndarray, deviation: float, seed: int) -> np.ndarray:
    return level * np.exp(np.random.default_rng(seed).normal(0, deviation, len(level)))


PASTS = {
    "a step up": np.where(DAY < 20, LEVEL / 2, LEVEL),
    "a step down": np.where(DAY < 20, LEVEL * 2, LEVEL),
    "two steps up": np.where(DAY < 12, LEVEL / 3, np.where(DAY < 31, LEVEL / 1.5, LEVEL)),
    "filling up": np.where(DAY < 20, LEVEL / 20 * (DAY + 1), LEVEL),
    "an earlier growth": LEVEL / 2 * (1 + np.clip(DAY - 5, 0, 20) / 20),
    "a burst of two days": np.where((DAY >= 25) & (DAY < 27), LEVEL * 3, LEVEL),
    "weekends": np.where(DAY % 7 >= 5, 0.75, 1.0) * LEVEL,
}


@pytest.mark.parametrize("past", PASTS)
def test_planted_growth_is_called_from_the_fourth_day_to_the_end(past: str) -> None:
    level = PASTS[past]
    counts = level + RISE * SINCE * (level / LEVEL if past == "weekends" else 1.0)
    found = dict(judged(range(DAYS), counts, 53, every=2))
    assert {day for day, growth in found.items() if growth.kind != "growth"} == set()
    assert {growth.onset for growth in found.values()} == {FIRST + timedelta(days=ONSET)}


def gaps(seed: int) -> np.ndarray:
    return np.flatnonzero(np.random.default_rng(seed).random(DAYS) >= 0.2)


def outages() -> np.ndarray:
    on = np.arange(DAYS)
    return on[((on < 22) | (on >= 36)) & ((on < 70) | (on >= 77))]


@pytest.mark.parametrize("past", ["a step up", "a step down", "filling up", "an earlier growth"])
@pytest.mark.parametrize("on", [gaps(1), outages()], ids=["gaps", "outages"])
def test_planted_growth_is_called_where_days_are_missing(past: str, on: np.ndarray) -> None:
    counts = (PASTS[past] + RISE * SINCE)[on]
    for day, growth in judged(on, counts, 55, every=3):
        assert growth.kind == "growth", day
        assert growth.onset is not None
        assert abs((growth.onset - FIRST).days - ONSET) <= 2, day


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("over", [1, 2, 3])
@pytest.mark.parametrize("size", [0.1, 0.3, 0.8, 3.0])
def test_a_step_over_days_is_no_growth_in_noise(size: float, over: int, seed: int) -> None:
    counts = noisy(LEVEL * (1 + size * np.clip((DAY - 39) / over, 0, 1)), 0.01, seed)[:62]
    assert [day for day, growth in judged(range(62), counts, 43) if growth.kind == "growth"] == []


@pytest.mark.parametrize("seed", range(4))
def test_teeth_of_two_weeks_are_no_growth_in_noise(seed: int) -> None:
    counts = noisy(LEVEL * (1 + 0.4 * (DAY % 14) / 14), 0.02, seed)
    tops = [day for day in range(27, DAYS) if day % 14 >= 11]
    found = dict(judged(range(DAYS), counts, 27))
    assert [day for day in tops if found[day].kind == "growth"] == []


@pytest.mark.parametrize(("base", "days"), [(10, 45), (100, 18), (1000, 12)])
@pytest.mark.parametrize("seed", range(3))
def test_growth_of_small_counts_is_called_through_their_noise(base: int, days: int, seed: int) -> None:
    """3% a day of counts that are as noisy as the counting of independent things is."""
    counts = np.random.default_rng(seed).poisson(base * 1.03**SINCE).astype(float)
    kinds = [growth.kind for _, growth in judged(range(ONSET + days), counts[: ONSET + days], 45)]
    assert "growth" in kinds
    assert kinds[:3] == ["flat"] * 3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("course", [LEVEL * (1 + 0.005 * SINCE), LEVEL * 1.005**SINCE], ids=["linear", "exponential"])
def test_a_leak_of_half_a_percent_a_day_is_called_within_45_days(course: np.ndarray, seed: int) -> None:
    counts = noisy(course, 0.01, seed)[: ONSET + 45]
    kinds = [growth.kind for _, growth in judged(range(ONSET + 45), counts, ONSET - 10)]
    assert "growth" in kinds
    assert kinds[:10] == ["flat"] * 10


@pytest.mark.parametrize("size", [0.3, 0.8, 3.0])
def test_a_rollout_of_four_days_is_growth_only_until_it_has_stopped(size: float) -> None:
    counts = LEVEL * (1 + size * np.clip((DAY - 39) / 4, 0, 1))
    found = dict(judged(range(70), counts[:70], 35))
    assert len([day for day, growth in found.items() if growth.kind == "growth"]) <= 3
    assert found[50].kind == "step"
    assert found[50].onset in {FIRST + timedelta(days=day) for day in (40, 41)}
    assert found[50].step_ratio == pytest.approx(1 + size, rel=0.05)


@pytest.mark.parametrize("deviation", [0.0, 0.01])
@pytest.mark.parametrize("over", [14, 30])
def test_what_fills_up_again_after_a_rebuild_is_no_growth(over: int, deviation: float) -> None:
    counts = noisy(LEVEL * np.where(DAY < 40, 1, np.clip((DAY - 39) / over, 0, 1)), deviation, 1)[:90]
    assert [day for day, growth in judged(range(90), counts, 38) if growth.kind == "growth"] == []


def test_growth_beyond_the_level_before_a_rebuild_is_called() -> None:
    counts = LEVEL * np.where(DAY < 40, 1, (DAY - 39) / 14)
    found = dict(judged(range(70), counts[:70], 38))
    assert {found[day].kind for day in range(58, 70)} == {"growth"}


@pytest.mark.parametrize("deviation", [0.0, 0.01])
@pytest.mark.parametrize("cuts", [(0, 30, 60, 90, 120), (0, 28, 61, 89, 122)], ids=["30 days", "irregular"])
def test_teeth_after_the_first_two_are_no_growth(cuts: tuple[int, ...], deviation: float) -> None:
    begun = np.array(cuts)[np.searchsorted(cuts, DAY, side="right") - 1]
    counts = noisy(LEVEL * (1 + 0.4 * (DAY - begun) / 30), deviation, 1)
    assert [day for day, growth in judged(range(DAYS), counts, 64, every=2) if growth.kind == "growth"] == []


def test_a_fleet_migrated_site_by_site_is_no_growth() -> None:
    site = (DAY - 40) // 10
    counts = LEVEL * (1 + ((site >= 0) & (site < 6) & ((DAY - 40) % 10 < 3)) / 6)
    assert [day for day, growth in judged(range(110), counts[:110], 38) if growth.kind == "growth"] == []
