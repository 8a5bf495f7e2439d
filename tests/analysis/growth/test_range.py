"""Growth in short and long histories, small and huge counts, shares, and bytes; and what a judgment costs."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import date, timedelta

import numpy as np
import pytest

from tsaudit.analysis.growth.detection import Growth, detect, forecast

FIRST = date(2026, 1, 5)


def days(count: int) -> list[date]:
    return [FIRST + timedelta(days=n) for n in range(count)]


def judged(counts: np.ndarray) -> Growth:
    return detect(days(len(counts)), counts.tolist())


@pytest.mark.parametrize("length", range(14, 91, 4))
def test_nine_days_of_growth_are_found_in_a_history_of_any_length(length: int) -> None:
    # A rise in the first 17 days counts only where it doubles, or it may be data filling up to its retention.
    rise = np.maximum(np.arange(length) - (length - 10), 0)
    noise = np.random.default_rng(length).normal(0, 0.003, length)
    growth = judged(np.round(40_000 * 1.09**rise * np.exp(noise)))
    assert growth.kind == "growth"
    assert growth.onset is not None
    assert abs((growth.onset - FIRST).days - (length - 9)) <= 2


@pytest.mark.parametrize("length", range(7, 91, 6))
def test_doubling_every_three_days_from_the_first_count_on_is_growth_from_a_week_on(length: int) -> None:
    growth = judged(1000 * 2 ** (np.arange(length) / 3))
    assert (growth.kind, growth.onset) == ("growth", None)
    assert growth.provisional == (length < 21)


@pytest.mark.parametrize("seed", range(10))
def test_a_level_does_not_grow_at_any_length(seed: int) -> None:
    counts = np.round(40_000 * np.exp(np.random.default_rng(seed).normal(0, 0.01, 90)))
    assert "growth" not in {judged(counts[:length]).kind for length in range(7, 91, 3)}


@pytest.mark.parametrize("base", [10, 1000, 100_000, 10_000_000])
@pytest.mark.parametrize("seed", range(3))
def test_the_size_of_a_count_only_matters_for_its_noise(base: int, seed: int) -> None:
    random = np.random.default_rng([seed, base])
    since = np.maximum(np.arange(90) - 39, 0)
    level = random.poisson(np.full(90, float(base)))
    assert "growth" not in {judged(level[:length].astype(float)).kind for length in range(40, 91, 5)}
    growing = random.poisson(base * 1.03**since).astype(float)
    within = 45 if base < 100 else 15
    assert "growth" in {judged(growing[: 40 + n]).kind for n in range(1, within + 1)}


@pytest.mark.parametrize("seed", range(3))
def test_a_part_of_5_000_rows_grows_within_a_week(seed: int) -> None:
    shares = np.minimum(0.02 + 0.01 * np.maximum(np.arange(60) - 39, 0), 1.0)
    found = np.random.default_rng(seed).binomial(5000, shares)
    assert "growth" not in {judged(found[:length]).kind for length in range(20, 41, 2)}
    growth = judged(found[:47])
    assert growth.kind == "growth"
    assert growth.onset is not None
    assert abs((growth.onset - FIRST).days - 40) <= 2


@pytest.mark.parametrize("seed", range(3))
def test_bytes_that_grow_by_one_percent_a_day_grow_within_two_weeks(seed: int) -> None:
    since = np.maximum(np.arange(90) - 49, 0)
    noise = np.random.default_rng(seed).normal(0, 0.002, 90)
    used = 3e12 * (1 + 0.012 * since) * np.exp(noise)
    assert judged(used[:50]).kind == "flat"
    assert {judged(used[:length]).kind for length in range(64, 91, 3)} == {"growth"}


_ASKED = """
import datetime, sys
from tsaudit.analysis.growth.detection import forecast, detect
days = [datetime.date(2026, 1, 5) + datetime.timedelta(days=n) for n in range(90)]
values = [float(value) for value in sys.argv[1].split()]
print(detect(days, values), forecast(days, values, 1e7))
"""


@pytest.mark.parametrize("growing", [0.0, 0.03])
def test_another_process_finds_the_same_to_the_bit(growing: float) -> None:
    since = np.maximum(np.arange(90) - 59, 0)
    counts = 1e5 * np.exp(growing * since + np.random.default_rng(2).normal(0, 0.02, 90))
    values = " ".join(map(repr, counts.tolist()))
    found = {
        subprocess.run(
            [sys.executable, "-c", _ASKED, values],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {f"{judged(counts)} {forecast(days(90), counts.tolist(), 1e7)}\n"}
