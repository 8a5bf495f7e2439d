"""Prepares a daily history for fitting: takes logarithms, and removes weekly seasonality and outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from statistics import median
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.floating[Any]]

_WEEK: Final = 7
_SEASON_POINTS: Final = 21
_SEASON_HELPS: Final = 0.8
"""The seasonality is removed if that reduces the day-to-day changes to less than this share of what they were."""
_WILD: Final = 5.0
"""A day that differs from its neighbors by this many times the noise is replaced by their median."""
_FEWEST_BEFORE_LAST: Final = 7
_BEFORE_LAST: Final = 3
"""Number of previous changes from which the last day's count is predicted: a growth of four days has three of them."""
_LEAST_NOISE: Final = 0.005
"""Lowest noise, as a share of the count: even perfectly constant counts may still move by half a percent."""
_FEWEST_NEIGHBORS: Final = 8
"""Fewest values from which noise is estimated if they are not daily: with fewer, the start of growth alone would be
most of the noise.
"""
_MEDIAN_TO_DEVIATION: Final = 1.4826


@dataclass(frozen=True, slots=True)
class Daily:
    """The points of a history, oldest first."""

    first: date
    times: Array
    """Days since the first day."""
    logs: Array
    """Logarithms of the counts, without weekly seasonality."""
    tamed: Array
    """`logs` without outliers of a single day."""
    noise: float
    """Standard deviation of the daily logs."""
    season_peak: float
    """Factor by which the busiest weekday exceeds the average; 1 without seasonality."""
    last: float
    """The last count, unchanged."""

    @property
    def points(self) -> int:
        return len(self.times)

    @property
    def counts(self) -> Array:
        """The counts whose logarithms are `logs`."""
        return np.exp(self.logs)

    def day(self, time: float) -> date:
        return self.first + timedelta(days=round(float(time)))


def prepared(days: Sequence[date], values: Sequence[float], longest: int, least: float) -> Daily:
    """The history of the last `longest` days; if a day occurs twice, the later value counts.

    Values below `least`, including zero, are replaced by it. Values that are not numbers are left out.
    """
    by_day = {day: float(value) for day, value in zip(days, values, strict=True) if np.isfinite(value)}
    newest = max(by_day, default=date.min)
    kept = sorted(day for day in by_day if (newest - day).days < longest)
    first = kept[0] if kept else date.min
    times = np.array([(day - first).days for day in kept], float)
    logs = np.log(np.maximum([by_day[day] for day in kept], least))
    logs, season_peak = _without_season(times, logs, (times + first.weekday()) % _WEEK)
    noise = _noise(times, logs)
    return Daily(first, times, logs, _tamed(times, logs, noise), noise, season_peak, by_day[newest] if kept else 0.0)


def _noise(times: Array, logs: Array) -> float:
    """The noise of daily logs, computed from the median difference of consecutive days, so that neither steps nor
    growth count as noise.

    If there are hardly any consecutive days, it is computed from how far each value is from the line between its
    neighbors.
    """
    differences = np.diff(logs)[np.diff(times) <= 2]
    if len(differences) < 4:
        return _noise_off_neighbors(times, logs)
    spread = np.median(np.abs(differences - np.median(differences)))
    return max(float(_MEDIAN_TO_DEVIATION * spread / np.sqrt(2)), _LEAST_NOISE)


def _noise_off_neighbors(times: Array, logs: Array) -> float:
    if len(logs) < _FEWEST_NEIGHBORS:
        return _LEAST_NOISE
    share = (times[1:-1] - times[:-2]) / (times[2:] - times[:-2])
    off = logs[1:-1] - (1 - share) * logs[:-2] - share * logs[2:]
    spread = float(np.median(np.abs(off / np.sqrt(1 + share**2 + (1 - share) ** 2))))
    return max(_MEDIAN_TO_DEVIATION * spread, _LEAST_NOISE)


def _without_season(times: Array, logs: Array, weekdays: Array) -> tuple[Array, float]:
    if len(logs) < _SEASON_POINTS:
        return logs, 1.0
    starts = np.searchsorted(times, times - _WEEK // 2)
    ends = np.searchsorted(times, times + _WEEK // 2, side="right")
    level = np.array([median(logs[a:b].tolist()) for a, b in zip(starts, ends, strict=True)])
    effects = np.array([median((logs - level)[weekdays == day].tolist() or [0.0]) for day in range(_WEEK)])
    effects -= effects.mean()
    without = logs - effects[weekdays.astype(int)]
    if _roughness(times, without) >= _SEASON_HELPS * _roughness(times, logs):
        return logs, 1.0
    return without, float(np.exp(effects.max()))


def _roughness(times: Array, logs: Array) -> float:
    """Sum of the day-to-day changes without the largest tenth.

    Unlike the noise, it detects seasonality with two quiet days in seven: those cause fewer than half of the changes,
    which a median ignores.
    """
    changes = np.sort(np.abs(np.diff(logs)[np.diff(times) <= 2]))
    return float(changes[: max(1, len(changes) * 9 // 10)].sum())


def _tamed(times: Array, logs: Array, noise: float) -> Array:
    """The values with outliers replaced. The values of a new level are kept because their neighbors are at the same
    level; a single outlier is not.
    """
    # For so few numbers, the standard library computes the median ten times as fast as numpy.
    tamed, around = logs.copy(), logs.tolist()
    for i in range(1, len(logs) - 1):
        reach = min(2, i, len(logs) - 1 - i)
        neighbours = median(around[i - reach : i + reach + 1])
        if abs(around[i] - neighbours) > _WILD * noise:
            tamed[i] = neighbours
    # An unusual last day may be an outlier, which only the next day will show; until then, it makes growth neither
    # slower nor faster.
    if len(logs) > _FEWEST_BEFORE_LAST:
        before = slice(-_BEFORE_LAST - 2, -1)
        per_day = median((np.diff(tamed[before]) / np.diff(times[before])).tolist())
        expected = tamed[-2] + per_day * (times[-1] - times[-2])
        if logs[-1] < tamed[-2] - _WILD * noise or logs[-1] > expected + _WILD * noise:
            tamed[-1] = expected
    return tamed
