"""Windows of the last so many points, one for each point of a history, and medians over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.growth.daily import Array

Flags = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.integer[Any]]


def trailing(points: int, width: int) -> tuple[Indices, Flags]:
    """Indices of the last `width` points up to each, (points, width), and whether there is such a point.

    Where there is none, the index is 0.
    """
    index = np.arange(points)[:, None] - np.arange(width)[::-1]
    return np.maximum(index, 0), index >= 0


def medians(values: Array, inside: Flags) -> Array:
    """The median of each row, of the values inside; 0 for a row without any."""
    count, row = inside.sum(axis=1), np.arange(len(values))
    ordered = np.sort(np.where(inside, values, np.inf), axis=1)
    last = np.maximum(count - 1, 0)
    middle: Array = (ordered[row, last // 2] + ordered[row, np.minimum(count // 2, last)]) / 2
    return np.where(count > 0, middle, 0.0)
