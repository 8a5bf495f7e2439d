"""Finds the levels at which a count stood, and the steps between them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tsaudit.analysis.growth import thresholds as limits
from tsaudit.analysis.growth.daily import Array, Daily


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
    the step must also be far larger than the other changes of the series; and a burst of one day is no step.
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
    step, lasted = _step(logs, edges), edges[-1] - edges[-2]
    if lasted >= limits.STEP_OLD:
        return step
    if step.at < limits.STEP_AFTER:
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
    others = np.abs(np.delete(np.diff(logs), step.at - 1))
    largest = float(others.max()) if len(others) else 0.0
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
