"""Tells growth from a step and from noise in a short daily history of a count, and when a growing count hits a limit.

A count is anything that is not negative and grows by a share of itself: series, bytes, measurements, or a ratio, for
which `least` says below what it is as good as nothing.

Several simple courses are fitted to the logarithms of the counts: quiet ones (a level, with up to three steps) and
growing ones (linear or exponential, from the start or from some day on, with or without a step). The one with the
lowest Bayesian information criterion (misfit plus a price for each parameter) is believed, and growth only where no
rise that is over explains the history as well. Everything is repeatable: the bootstrap starts from a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from statistics import median
from typing import Final, Literal

import numpy as np

from tsaudit.analysis.growth.courses import Course, Courses, courses_of
from tsaudit.analysis.growth.daily import Array, Daily, prepared
from tsaudit.analysis.growth.ended import ended
from tsaudit.model.finding import Forecast

Kind = Literal["growth", "step", "flat", "unknown"]
GrowthShape = Literal["linear", "exponential", "undecided"]

_ONE: Final = 1.0
"""Fewer than one of something is none."""
_FEWEST_DAYS: Final = 7
_ENOUGH_DAYS: Final = 21
"""From the first to the last one with a value, both included: of daily values, as many points."""
_FEWEST_POINTS: Final = 5
_CERTAIN_POINTS: Final = 7
"""With fewer, the noise is not known, and only what has doubled is called growth."""
_ENOUGH_POINTS: Final = 10
"""Of values that do not come daily; with fewer, a course is drawn through next to nothing."""
_LONGEST_DAYS: Final = 90
"""Older points are not looked at: what grew then and no longer does is history."""

_GAP: Final = 7.0
"""By how much growing must beat quiet; for a younger growth than `_SETTLED` days, `_YOUNG_GAP`."""
_YOUNG_GAP: Final = 10.0
_SETTLED: Final = 5
_GAP_TO_ENDED: Final = 2.0
"""By how much growing must beat a rise that is over."""
_LEAST_GROWTH: Final = 0.003
"""A day; slower growth is called flat."""
_LEAST_STEP: Final = 0.05
"""Relative; smaller steps are called flat."""
_RECENT: Final = 7
"""Days whose median is the level before a growth."""
_UNDECIDED: Final = (0.2, 0.8)

_HORIZON_DAYS: Final = 365.0
_DRAWS: Final = 400
_SEED: Final = 1
_PERSISTENCE: Final = 0.5
"""How much of a day's deviation is left on the next day."""
_SEASON_WIDENS: Final = 1.5


@dataclass(frozen=True, slots=True)
class Growth:
    """The course a count has taken."""

    kind: Kind
    """`unknown` with fewer than 7 days from first to last, or fewer than 5 values; `step` for a level that
    changed by more than 5% and then stayed."""
    onset: date | None
    """First day of the growth, or of the newest step; None where it was there from the start, or there is none."""
    growth_per_day: float
    """Relative to the count of the last day: 0.05 is 5% a day. 0 unless growing."""
    step_ratio: float | None
    """Level after the newest step by the level before it; None unless the kind is `step`."""
    provisional: bool
    """Fewer than 21 days from first to last, or fewer than 10 values: likely, not reliable."""
    shape: GrowthShape
    """`undecided` also where nothing grows."""
    before: float | None
    """The level before the onset; None without an onset."""
    points: int
    """Days looked at: those with a value among the last 90."""

    @property
    def doubling_days(self) -> float | None:
        """In how many days it doubles at the rate of the last day; None unless growing."""
        return math.log(2) / math.log1p(self.growth_per_day) if self.kind == "growth" else None


def judge(days: Sequence[date], values: Sequence[float], least: float = _ONE) -> Growth:
    """What the counts of those days, in any order and with gaps, amount to; those below `least` are taken for it.

    Growth that has not yet passed the highest level before its onset is none: it returns to where it was. Nor is
    growth that has come to an end; that is a step, in the course of a few days.
    """
    history = prepared(days, values, _LONGEST_DAYS, least)
    return _judged(history, courses_of(history) if _reaches(history, _FEWEST_DAYS, _FEWEST_POINTS) else None)


def forecast(
    days: Sequence[date], values: Sequence[float], limit: float, least: float = _ONE, unit: str = ""
) -> Forecast | None:
    """When the count reaches `limit` (in `unit`), counted from the last of the days; None where it does not grow.

    A count at its limit has 0 days, growing or not. With a weekly season, it is the busiest weekday that counts.
    """
    history = prepared(days, values, _LONGEST_DAYS, least)
    courses = courses_of(history) if _reaches(history, _FEWEST_DAYS, _FEWEST_POINTS) else None
    growth = _judged(history, courses)
    if history.points and history.last >= limit:
        outcomes: Array = np.zeros(1)
    elif growth.kind == "growth" and courses is not None:
        outcomes = _days_to(limit, history, courses)
    else:
        return None
    low, middle, high = (_within_horizon(q) for q in np.quantile(outcomes, (0.1, 0.5, 0.9)))
    pace, onset, shape = growth.growth_per_day, growth.onset, growth.shape
    return Forecast(limit, middle, low, high, pace, onset, shape, provisional=growth.provisional, unit=unit)


def _reaches(history: Daily, days: int, points: int) -> bool:
    """Whether it is that long, with values on that many days: a day that was not audited is a day all the same."""
    return history.points >= points and history.times[-1] + 1 >= days


def _within_horizon(days: float) -> float | None:
    return None if days >= _HORIZON_DAYS else float(days)


def _judged(history: Daily, courses: Courses | None) -> Growth:
    provisional = not _reaches(history, _ENOUGH_DAYS, _ENOUGH_POINTS)
    unknown = Growth("unknown", None, 0.0, None, provisional, "undecided", None, history.points)
    if courses is None:
        return unknown
    if _grows(history, courses):
        return _growing(unknown, history, courses)
    quiet = courses.quiet
    ratio = math.exp(quiet.step)
    if quiet.step_at is None or abs(ratio - 1) < _LEAST_STEP:
        return replace(unknown, kind="flat")
    onset = history.day(quiet.step_at)
    return replace(unknown, kind="step", onset=onset, step_ratio=ratio, before=math.exp(quiet.before))


def _grows(history: Daily, courses: Courses) -> bool:
    growing = courses.growing
    if growing is None or growing.rate < _LEAST_GROWTH:
        return False
    young = growing.since is not None and history.times[-1] - growing.since < _SETTLED
    if courses.quiet.criterion - growing.criterion <= (_YOUNG_GAP if young else _GAP):
        return False
    if history.points < _CERTAIN_POINTS and history.logs[-1] - history.logs[0] < math.log(2):
        return False
    smooth = _smoothed(history.logs)
    if growing.since is not None and smooth[-1] <= smooth[history.times <= growing.since].max() + history.noise:
        return False
    return growing.criterion + _GAP_TO_ENDED < ended(history, courses.step_at, courses.variance)


def _smoothed(logs: Array) -> Array:
    """The median of each value and up to two before it."""
    return np.array([median(logs[max(0, i - 2) : i + 1].tolist()) for i in range(len(logs))])


def _growing(unknown: Growth, history: Daily, courses: Courses) -> Growth:
    growing = courses.growing
    assert growing is not None
    onset, before = None, None
    if growing.since is not None:
        onset = history.day(history.times[history.times > growing.since][0])
        recent = (history.times <= growing.since) & (history.times > growing.since - _RECENT)
        before = float(np.median(history.counts[recent]))
    return replace(
        unknown,
        kind="growth",
        onset=onset,
        before=before,
        growth_per_day=growing.rate,
        shape=_shape(courses.linear_weight),
    )


def _shape(linear: float) -> GrowthShape:
    if linear > _UNDECIDED[1]:
        return "linear"
    return "exponential" if linear < _UNDECIDED[0] else "undecided"


def _days_to(limit: float, history: Daily, courses: Courses) -> Array:
    """Outcomes of a bootstrap over what is not known: the onset, linear or exponential, and the noise."""
    random = np.random.default_rng(_SEED)
    candidates = courses.plausible()
    weights = np.exp([-0.5 * (c.criterion - candidates[0].criterion) for c in candidates])
    draws = random.multinomial(_DRAWS, weights / weights.sum())
    outcomes = [
        _continued(course, int(count), limit, history, random)
        for course, count in zip(candidates, draws, strict=True)
        if count
    ]
    clipped: Array = np.clip(np.concatenate(outcomes), 0.0, _HORIZON_DAYS)
    return clipped


def _continued(course: Course, draws: int, limit: float, history: Daily, random: np.random.Generator) -> Array:
    """Days until a straight line through the points since the onset, noise added anew each time, is at the limit."""
    begin = min(course.begin, float(history.times[-3]))
    chosen = history.times >= begin
    x, logs = history.times[chosen] - history.times[-1], history.logs[chosen]
    basis = np.stack([np.ones_like(x), x], axis=1)
    if course.linear:
        # Noise is relative, yet all points weigh the same: with relative weights the few first, small counts after the
        # onset would tell the slope, and they include the day on which it had only just begun.
        target, goal, size = np.exp(logs), limit / history.season_peak, np.exp(logs)
    else:
        target, goal, size = logs, math.log(limit / history.season_peak), np.ones_like(logs)
    fit: Array = np.linalg.pinv(basis)
    line = basis @ (fit @ target)
    misfit = float(np.sqrt(np.mean(((target - line) / size.mean()) ** 2)))
    noise = max(history.noise, misfit) * (_SEASON_WIDENS if history.season_peak > 1 else 1.0)
    coefficients = (line + _persistent_noise(draws, len(x), random) * noise * size) @ fit.T
    level, slope = coefficients[:, 0], coefficients[:, 1]
    days: Array = np.where(slope > 0, (goal - level) / np.where(slope > 0, slope, 1.0), _HORIZON_DAYS)
    return days


def _persistent_noise(draws: int, length: int, random: np.random.Generator) -> Array:
    """Rows of standard noise in which a deviation fades over some days."""
    noise: Array = random.standard_normal((draws, length))
    for i in range(1, length):
        noise[:, i] = _PERSISTENCE * noise[:, i - 1] + math.sqrt(1 - _PERSISTENCE**2) * noise[:, i]
    return noise
