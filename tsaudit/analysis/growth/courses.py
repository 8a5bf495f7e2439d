"""Simple courses a count may take, fitted to its history and compared by what each explains for what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Final

import numpy as np

from tsaudit.analysis.growth.daily import Array, Daily

_MOST_STEPS: Final = 3
_FEWEST_AT_LEVEL: Final = 3
"""Points a level needs to be one."""
_FEWEST_AFTER: Final = 3
"""Points a growth needs after its onset."""
_PERSISTENCE: Final = 2.0
"""Factor on the variance, because the deviations of successive days are alike."""
_PLAUSIBLE: Final = 10.0


@dataclass(frozen=True, slots=True)
class Course:
    """One fitted course."""

    criterion: float
    """Bayesian information criterion: lower is better."""
    step: float = 0.0
    """Change of the log at the newest step."""
    step_at: float | None = None
    """Time of the first point after the newest step; None without one."""
    before: float = 0.0
    """Level of the log before the newest step."""
    rate: float = 0.0
    """Relative growth a day, at the last point."""
    since: float | None = None
    """Time of the last point before the growth; None for growth from the start."""
    linear: bool = False

    @property
    def begin(self) -> float:
        """Time of the first point on the growing stretch."""
        return max(self.since or 0.0, self.step_at or 0.0)


@dataclass(frozen=True, slots=True)
class Courses:
    """All courses fitted to one history."""

    quiet: Course
    """The best without growth."""
    growths: tuple[Course, ...]
    """Those with growth, best first."""
    step_at: float | None
    """Time of the first point after the step that explains most, on its own; None without room for one."""
    variance: float
    """What a squared misfit is divided by in the criteria."""

    @property
    def growing(self) -> Course | None:
        """The best that grows; None if all others fall."""
        return self.growths[0] if self.growths else None

    @property
    def linear_weight(self) -> float:
        """How likely linear growth is, rather than exponential; 0 to 1."""
        weights = [(c.linear, float(np.exp(-0.5 * (c.criterion - self.growths[0].criterion)))) for c in self.growths]
        return sum(w for linear, w in weights if linear) / sum(w for _, w in weights)

    def plausible(self) -> list[Course]:
        """The growths not much worse than the best."""
        return [c for c in self.growths if c.criterion <= self.growths[0].criterion + _PLAUSIBLE]


@dataclass(frozen=True, slots=True)
class _Fit:
    """A course before its misfit has been put into proportion."""

    misfit: float
    """Sum of the squares of what is left of the logs."""
    parameters: int
    course: Callable[[float], Course]
    """Makes the course, given its criterion."""


def courses_of(history: Daily) -> Courses:
    """Fits them all. Where even the best fits badly, misfits count for less: nothing is certain then."""
    quiet = list(_steps(history))
    step_at = _one_step(quiet)
    growing = list(_growths(history, None))
    if step_at is not None and (history.times >= step_at).sum() >= _FEWEST_AFTER:
        growing += _growths(history, step_at)
    count = history.points
    least = min(fit.misfit for fit in (*quiet, *growing))
    variance = max(_PERSISTENCE * history.noise**2, least / count)

    def priced(fit: _Fit) -> Course:
        return fit.course(fit.misfit / variance + fit.parameters * np.log(count))

    growths = sorted(map(priced, growing), key=lambda c: c.criterion)
    return Courses(min(map(priced, quiet), key=lambda c: c.criterion), tuple(growths), step_at, variance)


def _one_step(quiet: Sequence[_Fit]) -> float | None:
    return quiet[1].course(0.0).step_at


def _steps(history: Daily) -> Iterator[_Fit]:
    """A level without a step, then with one more each time, put where it explains most."""
    breaks: list[int] = []
    for _ in range(_MOST_STEPS + 1):
        edges = [0, *sorted(breaks), history.points]
        parts = [history.logs[a:b] for a, b in pairwise(edges)]
        yield _stepped(history, parts, edges[-2] if breaks else None, 1 + 2 * len(breaks))
        splits = [split for a, b in pairwise(edges) if (split := _best_split(history.logs, a, b))]
        if not splits:
            return
        breaks.append(max(splits)[1])


def _stepped(history: Daily, parts: list[Array], newest: int | None, parameters: int) -> _Fit:
    misfit = float(sum(((part - part.mean()) ** 2).sum() for part in parts))
    if newest is None:
        return _Fit(misfit, parameters, Course)
    before, after = float(parts[-2].mean()), float(parts[-1].mean())
    at = float(history.times[newest])
    return _Fit(misfit, parameters, partial(Course, step=after - before, step_at=at, before=before))


def _best_split(logs: Array, start: int, end: int) -> tuple[float, int] | None:
    """By how much the misfit of `logs[start:end]` shrinks when it is split at the best place, and that place.

    A level takes a few points to be one, except for the newest: a step may be as young as today. None without room.
    """
    part = logs[start:end] - logs[start:end].mean()
    before = np.arange(_FEWEST_AT_LEVEL, len(part) - (_FEWEST_AT_LEVEL - 1 if end < len(logs) else 0))
    if not len(before):
        return None
    sums = np.cumsum(part)[before - 1]
    gains = sums**2 / before + sums**2 / (len(part) - before)
    best = int(gains.argmax())
    return float(gains[best]), start + int(before[best])


def _growths(history: Daily, step_at: float | None) -> Iterator[_Fit]:
    """Exponential and linear growth, from the start and from each day that leaves enough points after it."""
    times = history.times
    onsets = times[: max(history.points - _FEWEST_AFTER, 1)]
    elapsed = np.maximum(times - onsets[:, None], 0.0)
    columns = [np.ones_like(elapsed), elapsed]
    if step_at is not None:
        columns.append(np.broadcast_to((times >= step_at).astype(float), elapsed.shape))
    basis = np.stack(columns, axis=2)
    for linear in (False, True):
        fitted, slopes = _least_squares(basis, history.counts if linear else history.logs, linear)
        # A straight line that falls below zero is no course of a count.
        sound = (fitted > 0).min(axis=1) if linear else np.full(len(onsets), True)
        logs = np.log(np.where(sound[:, None], fitted, 1.0)) if linear else fitted
        misfits = ((history.logs - logs) ** 2).sum(axis=1)
        rates = slopes / np.where(sound, fitted[:, -1], 1.0) if linear else np.expm1(slopes)
        for i in np.flatnonzero(sound & (slopes > 0)):
            course = partial(
                Course,
                rate=float(rates[i]),
                since=float(onsets[i]) if i else None,
                step_at=step_at,
                linear=linear,
            )
            yield _Fit(float(misfits[i]), 2 + bool(i) + 2 * (step_at is not None), course)


def _least_squares(basis: Array, target: Array, relative: bool) -> tuple[Array, Array]:
    """Fitted values and slopes for each onset; `relative` makes errors count in proportion to the target."""
    weights = 1 / target if relative else np.ones_like(target)
    weighted = basis * weights[:, None]
    transposed = weighted.transpose(0, 2, 1)
    # The last term keeps a step that coincides with the onset from making the equations unsolvable.
    square = transposed @ weighted
    square += 1e-9 * np.trace(square, axis1=1, axis2=2)[:, None, None] * np.eye(basis.shape[2])
    coefficients: Array = np.linalg.solve(square, transposed @ (target * weights)[:, None])[:, :, 0]
    fitted: Array = np.einsum("ijk,ik->ij", basis, coefficients)
    return fitted, coefficients[:, 1]
