"""Rises that are over: found wherever they begin and end, and as good as the best of all tried one by one."""

from __future__ import annotations

import math
from datetime import date, timedelta

import numpy as np
import pytest

from tsaudit.analysis.growth.daily import Daily, prepared
from tsaudit.analysis.growth.ended import ended

VARIANCE = 1e-4


def history(counts: np.ndarray) -> Daily:
    days = [date(2026, 1, 5) + timedelta(days=i) for i in range(len(counts))]
    # Fewer than three weeks: no season is looked for.
    return prepared(days, counts.tolist(), longest=90, least=1.0)


@pytest.mark.parametrize(("start", "end"), [(0, 5), (4, 9), (3, 17), (10, 18)])
@pytest.mark.parametrize("scale", [1e3, 1e12])
@pytest.mark.parametrize("exponential", [False, True])
def test_a_rise_that_is_over_costs_its_parameters_alone(start, end, scale, exponential):
    ramp = np.clip(np.arange(20) - start, 0, end - start)
    counts = scale * (1.1**ramp if exponential else 1 + 0.1 * ramp)
    assert ended(history(counts), None, VARIANCE) == pytest.approx(4 * math.log(20), abs=0.05)


def test_a_step_besides_costs_two_parameters_more():
    counts = 1e4 * (1 + 0.05 * np.clip(np.arange(20) - 3, 0, 7)) + np.where(np.arange(20) >= 14, 3e4, 0.0)
    found = ended(history(counts), 14.0, VARIANCE)
    assert found == pytest.approx(6 * math.log(20), abs=0.05)
    assert ended(history(counts), None, VARIANCE) > 10 * found


def test_what_only_falls_has_no_rise():
    assert ended(history(1e4 * 0.9 ** np.arange(20)), None, VARIANCE) == math.inf


@pytest.mark.parametrize("seed", range(20))
def test_no_rise_tried_one_by_one_explains_more(seed):
    random = np.random.default_rng(seed)
    told = history(1e4 * np.exp(np.cumsum(random.normal(0.02, 0.05, 15))))
    best = math.inf
    for start in range(14):
        for end in range(start + 1, 14):
            ramp = np.clip(told.times, told.times[start], told.times[end]) - told.times[start]
            basis = np.stack([np.ones(15), ramp], axis=1)
            coefficients = np.linalg.lstsq(basis, told.logs, rcond=None)[0]
            if coefficients[1] > 0:
                best = min(best, float(((told.logs - basis @ coefficients) ** 2).sum()))
    assert ended(told, None, VARIANCE) <= best / VARIANCE + 4 * math.log(15) + 1e-6
