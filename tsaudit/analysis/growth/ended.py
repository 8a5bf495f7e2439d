"""Whether a count that rose has stopped: how well a rise that came to an end explains its history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from tsaudit.analysis.growth.daily import Array, Daily

_PARAMETERS: Final = 4
"""Level, slope, first day and last day of the rise."""
_ROUNDING: Final = 1e-12


def ended(history: Daily, step_at: float | None, variance: float) -> float:
    """The criterion of the best course that rises between two of the days and stands from then on; lower is better.

    To be compared with those of `courses_of`, from where the step and the variance are. The rise is straight, or
    straight on the log scale, and may have the step besides. Infinite where no rise explains anything.
    """
    return min((_criterion(history, at, variance) for at in {None, step_at}), default=np.inf)


def _criterion(history: Daily, step_at: float | None, variance: float) -> float:
    parameters = _PARAMETERS + 2 * (step_at is not None)
    misfit = min(_misfits(history, step_at), default=np.inf)
    return float(misfit / variance + parameters * np.log(history.points))


def _misfits(history: Daily, step_at: float | None) -> Iterator[float]:
    """Of the best straight and the best exponential rise: the sum of the squares of what is left of the logs."""
    times = history.times
    starts, ends = np.triu_indices(history.points - 1, 1)
    ramps = np.clip(times, times[starts][:, None], times[ends][:, None]) - times[starts][:, None]
    level = [np.ones(history.points)] + ([] if step_at is None else [(times >= step_at).astype(float)])
    fixed = np.stack(level, axis=1)
    for linear in (False, True):
        # On the straight scale errors count in proportion, as they do among logs.
        weights = 1 / history.counts if linear else np.ones(history.points)
        target = history.counts if linear else history.logs
        fitted = _best(target * weights, fixed * weights[:, None], ramps * weights)
        if fitted is None or (linear and fitted.min() <= 0):
            continue
        logs = np.log(fitted / weights) if linear else fitted
        yield float(((history.logs - logs) ** 2).sum())


def _best(target: Array, fixed: Array, ramps: Array) -> Array | None:
    """The least-squares fit of the fixed columns and that one of the ramps which explains most; None if all fall."""
    # What the fixed columns explain is taken out of both sides; what is left is a fit of one column.
    basis = np.linalg.qr(fixed)[0]
    left = target - basis @ (basis.T @ target)
    rises = ramps - (ramps @ basis) @ basis.T
    sizes = (rises**2).sum(axis=1)
    # A ramp that the fixed columns already make up is left with rounding errors alone.
    sizes = np.where(sizes > _ROUNDING * sizes.max(), sizes, np.inf)
    together = rises @ left
    best = int(np.where(together > 0, together**2 / sizes, 0.0).argmax())
    if together[best] <= 0:
        return None
    fitted: Array = target - left + rises[best] * together[best] / sizes[best]
    return fitted
