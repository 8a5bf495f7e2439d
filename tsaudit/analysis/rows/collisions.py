"""How many rows were lost where the times of events are whole seconds, and a series keeps one row for each."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

_SECOND: Final = 1_000_000
_FEWEST: Final = 200
"""Seconds with a row: with fewer, neighbors are chance."""
_AT_RANDOM: Final = 0.8
"""Of the neighbors that random arrivals have: a clock that ticks more seldom than every second has none."""


def lost_ratio(series: npt.NDArray[np.int64], times_us: npt.NDArray[np.int64]) -> float | None:
    """The share of the rows written that others of the same second overwrote, 0 to 1, as if they came at random.

    If a share p of all seconds has a row, -ln(1 - p) rows came in each second on average (Poisson), of which p are
    left. Events come in bursts rather, so it is the least; but for a clock it is wrong. None if times are finer than
    seconds, if rows come in steps of more than one, or there are too few. One entry per row; no pair occurs twice.
    """
    if len(times_us) < _FEWEST or (times_us % _SECOND).any():
        return None
    order = np.lexsort((times_us, series))
    owner, seconds = series[order], times_us[order] // _SECOND
    steps, inside = np.diff(seconds), owner[1:] == owner[:-1]
    rows = np.bincount(owner)
    slots = np.bincount(owner[1:][inside], steps[inside], len(rows)) + 1
    neighbors = np.bincount(owner[1:][inside], steps[inside] == 1, len(rows))
    known = rows > 1
    if rows[known].sum() < _FEWEST:
        return None
    # Where each second is taken, there may have been any number of rows: half a second without one is the least.
    taken = np.minimum(rows[known] / slots[known], 1 - 0.5 / slots[known])
    if neighbors[known].sum() < _AT_RANDOM * (taken * rows[known]).sum():
        return None
    written = -np.log1p(-taken) * slots[known]
    return float(max(1 - rows[known].sum() / written.sum(), 0.0))
