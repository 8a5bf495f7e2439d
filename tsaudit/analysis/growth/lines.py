"""Medians of the last counts up to each day, and straight lines through them: how steep and how certain they are, and
whether a step explains the counts as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.growth import thresholds as limits
from tsaudit.analysis.growth.daily import Array

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
