"""A daily history, prepared for fitting: logarithms without weekly seasonality and outliers; the levels at which a
count stood; and straight lines through the medians of the last counts: how steep and how certain they are, and whether
a step explains the counts as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from statistics import median
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.growth import thresholds as limits

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

    given: Mapping[date, float]
    """All counts by day, also of days before the oldest point."""
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

    @property
    def level(self) -> float:
        """Log of the count from which a growth goes on. What a jump on the last day added is there, whether or not it
        was the last; after a fall, the count that the days before lead to.
        """
        return float(max(self.logs[-1], self.tamed[-1]))

    @property
    def raised(self) -> Array:
        """`tamed`, with as much added to each count as a jump on the last day added: the daily amounts are the same,
        but the last count is the level.
        """
        return np.log(np.exp(self.tamed) + math.exp(self.level) - math.exp(float(self.tamed[-1])))

    def day(self, time: float) -> date:
        return self.first + timedelta(days=round(float(time)))


def prepared(days: Sequence[date], values: Sequence[float], longest: int) -> Daily:
    """The history of the last `longest` days; if a day occurs twice, the later value counts.

    Values below one, including zero, count as one. Values that are not numbers are left out.
    """
    by_day = {day: float(value) for day, value in zip(days, values, strict=True) if np.isfinite(value)}
    newest = max(by_day, default=date.min)
    kept = sorted(day for day in by_day if (newest - day).days < longest)
    first = kept[0] if kept else date.min
    times = np.array([(day - first).days for day in kept], float)
    logs = np.log(np.maximum([by_day[day] for day in kept], 1.0))
    logs, season_peak = _without_season(times, logs, (times + first.weekday()) % _WEEK)
    noise = _noise(times, logs)
    return Daily(
        by_day, first, times, logs, _tamed(times, logs, noise), noise, season_peak, by_day[newest] if kept else 0.0
    )


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
        changes = np.diff(tamed[before]) / np.diff(times[before])
        per_day, lasted = median(changes.tolist()), times[-1] - times[-2]
        expected, changed = tamed[-2] + per_day * lasted, (logs[-1] - tamed[-2]) / lasted
        # After a day that was unusual in the same way, it is no outlier.
        goes_on = changed >= changes[-1] / 2 and changes[-1] > per_day + _WILD * noise
        if logs[-1] < tamed[-2] - _WILD * noise or (logs[-1] > expected + _WILD * noise and not goes_on):
            tamed[-1] = expected
    return tamed


@dataclass(frozen=True, slots=True)
class LevelStep:
    """The newest change from one level to another."""

    at: int
    """Index of the first point at the new level."""
    before: float
    """Log of the level before the step."""
    after: float

    @property
    def size(self) -> float:
        return self.after - self.before


def newest_step(history: Daily) -> LevelStep | None:
    """The newest step that explains the history better than levels without it; None if there is none.

    Levels are added one by one where they explain most, with the penalty of the Bayesian information criterion. A new
    level must lie outside the range of the counts in the weeks before, bursts included; for a level of only two days,
    which may still be rising, the step must also be far larger than the other changes of the series; and a burst of one
    day is no step.
    """
    logs = history.tamed
    breaks: list[int] = []
    found: list[tuple[float, list[int]]] = []
    for _ in range(limits.MOST_STEPS + 1):
        edges = [0, *sorted(breaks), len(logs)]
        misfit = float(sum(((logs[a:b] - logs[a:b].mean()) ** 2).sum() for a, b in pairwise(edges)))
        found.append((misfit, edges))
        splits = [split for a, b in pairwise(edges) if (split := _best_split(logs, a, b))]
        if not splits:
            break
        breaks.append(max(splits)[1])
    variance = max(limits.PERSISTENCE * history.noise**2, min(misfit for misfit, _ in found) / len(logs))
    price = float(np.log(len(logs)))
    _, edges = min((misfit / variance + (2 * len(edges) - 3) * price, edges) for misfit, edges in found)
    if len(edges) < 3:
        return None
    step = _step(logs, edges)
    if edges[-1] - edges[-2] >= limits.STEP_OLD:
        return step
    # It may still be rising from level to level.
    lasted = len(logs) - step.at
    if step.at < limits.STEP_AFTER and abs(step.size) < limits.STEP_NO_WEEKEND:
        return None
    if lasted >= limits.STEP_CONFIRMED:
        return step if _is_new(step, history.logs) else None
    return step if lasted >= limits.STEP_YOUNGEST and _far_beyond(step, logs) else None


def _step(logs: Array, edges: list[int]) -> LevelStep:
    """The step to the newest level, starting from the level before the rise, or fall, if that took several steps in a
    row.
    """
    levels = [float(logs[a:b].mean()) for a, b in pairwise(edges)]
    first = len(levels) - 1
    while (
        first > 1
        and edges[first] - edges[first - 1] <= limits.LONGEST_SHORT
        and (levels[first - 1] - levels[first - 2]) * (levels[-1] - levels[-2]) > 0
    ):
        first -= 1
    before, after = levels[first - 1], levels[-1]
    # The first part may begin with points that are still at the old level.
    has_left = (logs[edges[first] : edges[-2] + 1] - before) / (after - before) >= limits.STEP_LEFT
    return LevelStep(edges[first] + int(has_left.argmax()), before, after)


def _is_new(step: LevelStep, logs: Array) -> bool:
    """Whether the count stays outside all levels of the weeks before, by more than their spread."""
    upwards = logs if step.size > 0 else -logs
    before, after = upwards[max(step.at - limits.STEP_BEFORE, 0) : step.at], upwards[step.at :]
    old, new = _levels(before), _levels(after)
    return bool(new.min() > old.max() + limits.STEP_BEYOND * float(before.std()))


def _levels(logs: Array) -> Array:
    """The median of every three successive points, or of all points if there are fewer."""
    width = min(limits.LEVEL_POINTS, len(logs))
    levels: Array = np.median(np.lib.stride_tricks.sliding_window_view(logs, width), axis=1)
    return levels


def _far_beyond(step: LevelStep, logs: Array) -> bool:
    changes = np.diff(logs if step.size > 0 else -logs)
    # A further change in the same direction belongs to the step.
    others = np.concatenate([np.abs(changes[: step.at - 1]), -changes[step.at :]])
    largest = float(others.max(initial=0.0))
    return abs(step.size) > limits.FAR_BEYOND * largest + limits.FAR_LEAST


def _best_split(logs: Array, start: int, end: int) -> tuple[float, int] | None:
    """By how much the misfit of `logs[start:end]` is reduced if it is split at the best place, and that place.

    A level needs a few points, except for the newest one, because a step may be as recent as today. None if there are
    too few points to split.
    """
    part = logs[start:end] - logs[start:end].mean()
    least = limits.FEWEST_AT_LEVEL
    before = np.arange(least, len(part) - (least - 1 if end < len(logs) else 0))
    if not len(before):
        return None
    sums = np.cumsum(part)[before - 1]
    gains = sums**2 / before + sums**2 / (len(part) - before)
    best = int(gains.argmax())
    return float(gains[best]), start + int(before[best])


Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.integer[Any]]


def trailing(points: int, width: int) -> tuple[Indices, Flags]:
    """Indices of the last `width` points up to each point, as an array of (points, width), and whether these points
    exist.

    Where a point does not exist, the index is 0.
    """
    index = np.arange(points)[:, None] - np.arange(width)[::-1]
    return np.maximum(index, 0), index >= 0


def medians(values: Array, inside: Flags) -> Array:
    """The median of the values inside, for each row; 0 for a row without any."""
    count, row = inside.sum(axis=1), np.arange(len(values))
    ordered = np.sort(np.where(inside, values, np.inf), axis=1)
    last = np.maximum(count - 1, 0)
    middle: Array = (ordered[row, last // 2] + ordered[row, np.minimum(count // 2, last)]) / 2
    return np.where(count > 0, middle, 0.0)


_ROUNDING: Final = 1e-6
_LEAST_VARIANCE: Final = 1e-8
_FEWEST: Final = 10
"""Lines through fewer points are not compared with a step."""
_MOST_ALIKE: Final = 0.95


@dataclass(frozen=True, slots=True)
class Lines:
    """For each point of a history, the line through the last `width` logs up to it, with abrupt steps removed."""

    slope: Array
    """Rise of the log per day."""
    certainty: Array
    """Slope divided by its standard error."""
    widened: Array
    """The same, with the error increased by how alike successive deviations are; 0 with fewer than ten points."""
    gain: Array
    """How much more the line explains than the best single step, as a multiple of the variance that it leaves; 0 with
    fewer than ten points.
    """
    step_leaves: Array
    """What the best single step leaves unexplained, as a share of what the line leaves; 1 with fewer than
    ten points.
    """


def lines(times: Array, logs: Array, width: int) -> Lines:
    """The lines through the last `width` points up to each point, or through as many as there are."""
    index, inside = trailing(len(logs), width)
    count = inside.sum(axis=1)
    x = _centered(times[index], inside)
    y = _centered(without_steps(logs[index], inside, limits.STEP_CHANGES[width]), inside)
    spread = np.maximum((x * x).sum(axis=1), 1e-9)
    slope = (x * y).sum(axis=1) / spread
    left = (y - slope[:, None] * x) * inside
    unexplained = (left * left).sum(axis=1)
    variance = unexplained / np.maximum(count - 2, 1)
    certainty = slope / (np.sqrt(variance / spread) + _ROUNDING)
    variance += _LEAST_VARIANCE
    alike = (left[:, 1:] * left[:, :-1]).sum(axis=1) / np.maximum(unexplained, 1e-12)
    # Among few points, successive deviations from a fitted line look less alike than they are.
    alike = np.clip(alike + 2.0 / count, 0.0, _MOST_ALIKE)
    widened = slope / np.sqrt(variance / spread) * np.sqrt((1 - alike) / (1 + alike))
    stepped = _step_leaves(y, inside)
    enough = count >= _FEWEST
    return Lines(
        slope=slope,
        certainty=certainty,
        widened=np.where(enough, widened, 0.0),
        gain=np.where(enough, (stepped - unexplained) / variance, 0.0),
        step_leaves=np.where(enough, stepped / (unexplained + _LEAST_VARIANCE), 1.0),
    )


def without_steps(values: Array, inside: Flags, changes: int) -> Array:
    """The rows without abrupt steps and bursts: changes that are far larger than all but `changes` of the others."""
    values = values.copy()
    differences = np.diff(values, axis=1) * inside[:, :-1]
    sizes = np.sort(np.abs(differences), axis=1)
    usual = limits.LONELY * sizes[:, max(sizes.shape[1] - 1 - changes, 0)] + limits.LONELY_LEAST
    lonely = np.abs(differences) > usual[:, None]
    values[:, 1:] -= np.cumsum(np.where(lonely, differences, 0.0), axis=1)
    return values


def _centered(values: Array, inside: Flags) -> Array:
    mean = (values * inside).sum(axis=1) / inside.sum(axis=1)
    centered: Array = (values - mean[:, None]) * inside
    return centered


def _step_leaves(y: Array, inside: Flags) -> Array:
    """The sum of squares that the best two levels of at least three points each leave unexplained, for each row. Rows
    must have a mean of 0.
    """
    sums, before = np.cumsum(y, axis=1)[:, :-1], np.cumsum(inside, axis=1)[:, :-1]
    after = inside.sum(axis=1)[:, None] - before
    room = (before >= limits.FEWEST_AT_LEVEL) & (after >= limits.FEWEST_AT_LEVEL)
    gains = sums**2 * (1 / np.maximum(before, 1) + 1 / np.maximum(after, 1))
    left: Array = (y * y).sum(axis=1) - np.where(room, gains, 0.0).max(axis=1)
    return left
