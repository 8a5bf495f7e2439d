"""Forecasts in how many days a growing count reaches a limit, with an interval calibrated on real growth.

Rates change: real growth usually slows down, and all the more the farther away the limit is. So the days at the present
rates are corrected by regressions fitted to actual outcomes. Only growth that follows a simple law to within about 1%,
such as a script that adds the same amount every day, is extrapolated as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tsaudit.analysis.growth import thresholds as limits
from tsaudit.analysis.growth.daily import Array
from tsaudit.model.finding import INTERVAL_DAYS

_LONGEST_INTERVAL: Final = float(np.log(INTERVAL_DAYS))


@dataclass(frozen=True, slots=True)
class Outlook:
    """Days from the last count to the limit; infinite if it is never reached."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line through the last points: of logs, or of counts relative to the last one."""

    slope: float
    misfit: float
    """Root mean square of the deviations, as a share of the line's rise. The largest tenth of the deviations is
    ignored.
    """


def line_through(times: Array, values: Array) -> Line:
    """The least-squares line."""
    slopes, misfits = _lines_through(times[None, :], values)
    return Line(float(slopes[0]), float(misfits[0]))


def _lines_through(times: Array, values: Array) -> tuple[Array, Array]:
    """The slopes and misfits of the lines through the same values at each row of times."""
    x, y = times - times.mean(axis=1, keepdims=True), values - values.mean()
    slopes = x @ y / (x * x).sum(axis=1)
    left = np.sort((y - slopes[:, None] * x) ** 2, axis=1)
    left = left[:, : len(y) - len(y) // 10]
    rises = np.abs(slopes) * (times[:, -1] - times[:, 0])
    return slopes, np.sqrt(left.mean(axis=1)) / np.maximum(rises, 1e-9)


def outlook(times: Array, logs: Array, noise: float, distance: float, growing: int, at_rate: float) -> Outlook:
    """The forecast. `distance`: how far away the limit is, in logs; `growing`: number of points, at the end, that
    belong to the growth; `at_rate`: days to the limit at the rate that is reported, infinite while the growth is flat.

    The middle is not sooner than at that rate, unless the growth follows a law by which it speeds up. The low and high
    values of a growth that is flat are those of the growth if it went on.
    """
    relative, rate = np.exp(logs - logs[-1]), float(np.log(at_rate))
    seen = figures(times, logs, noise, distance, growing)
    exponential, present = float(seen[1]), _at_present_rate(times, relative, noise, distance)
    low, middle, high = (float(seen @ np.array(weights)) for weights in (limits.LOW, limits.MIDDLE, limits.HIGH))
    # The low end allows for a steady exponential rate, and for a slightly higher rate than the noise shows.
    low = min(low, exponential - limits.SOONER)
    low, middle, high = _far(min(exponential, present), (low, middle, high))
    # Far ahead, where only the present rate is known, that rate gives the date; nearer, real growth may only be slower.
    middle = rate if rate > _LONGEST_INTERVAL else max(middle, low, rate)
    law, weight = _law(times, logs, relative, distance, growing)
    if weight and np.isfinite(rate):
        soon, late = (float(np.log(factor)) for factor in limits.LAW_INTERVAL)
        known = (min(law.days, law.steady) + soon, law.days, max(law.days, law.steady) + late)
        low, middle, high = (
            (1 - weight) * fitted + weight * by_law for fitted, by_law in zip((low, middle, high), known, strict=True)
        )
        middle = middle if law.days < law.steady else max(middle, rate)
    high = max(high, middle) if middle <= _LONGEST_INTERVAL else high
    found = (float(np.exp(value)) for value in (min(low, middle), middle, high))
    return Outlook(*found)


def figures(times: Array, logs: Array, noise: float, distance: float, growing: int) -> Array:
    """The inputs of the regressions `LOW`, `MIDDLE`, and `HIGH`, in the order of their weights."""
    near, far = (_last(times, _days_for(noise, days)) for days in (limits.NEAR_DAYS, limits.EXPONENTIAL_DAYS))
    slow, fast = (_log_days(distance, line_through(times[last], logs[last]).slope) for last in (far, near))
    linear = _at_present_rate(times, np.exp(logs - logs[-1]), noise, distance)
    # After a fall, the rate of four days is meaningless, and the regressions were not fitted to such rates.
    fast, linear = np.clip([fast, linear], slow - limits.NEAR_FROM_FAR, slow + limits.NEAR_FROM_FAR)
    noise += limits.NOISE_LEAST
    beyond = [_beyond(slow, days) for days in limits.FAR_DAYS] + [_beyond(linear, limits.FAR_DAYS[0])]
    age = np.log(np.clip(times[-1] - times[-max(growing, 1)] + 1, 1.0, limits.OLDEST_DAYS))
    uneven = np.log((_unevenness(times, logs) + limits.NOISE_LEAST) / distance)
    return np.array([1.0, slow, fast, linear, np.log(noise), np.log(noise / distance), *beyond, age, uneven])


def _unevenness(times: Array, logs: Array) -> float:
    """Standard deviation of daily changes: unlike the noise, it is large if much is added on few days."""
    last = _last(times, limits.UNEVEN_DAYS)
    return float(np.std(np.diff(logs[last]) / np.diff(times[last])))


def _at_present_rate(times: Array, relative: Array, noise: float, distance: float) -> float:
    """Log of the days if as much is added every day as in the last four days, or in more days for a noisy count."""
    near = _last(times, _days_for(noise, limits.NEAR_DAYS))
    return _log_days(float(np.expm1(distance)), line_through(times[near], relative[near]).slope)


def _days_for(noise: float, days: float) -> float:
    """The number of days over which to compute a rate: for a noisy count, as many more as make its slope about as
    certain as that of other counts.
    """
    # The error of a slope is the noise divided by the days to the power of 1.5.
    longer = (noise / limits.RATE_NOISY) ** (2 / 3)
    return days * float(np.clip(longer, 1.0, limits.RATE_LONGER))


def _last(times: Array, days: float) -> slice:
    """The points of the last `days` days, at least three points."""
    first = int(np.searchsorted(times, times[-1] - days, side="right"))
    return slice(min(first, max(len(times) - 3, 0)), None)


def _log_days(distance: float, slope: float) -> float:
    return float(np.log(np.clip(distance / max(slope, 1e-5), *limits.RATES)))


def _far(log_days: float, fitted: tuple[float, float, float]) -> tuple[float, float, float]:
    """The fitted log days, blended into the log days at the present rate the farther those are outside the fitted
    range.
    """
    near, far = (float(np.log(days)) for days in limits.UNFITTED_DAYS)
    weight = float(np.clip((log_days - near) / (far - near), 0.0, 1.0))
    low, middle, high = (
        (1 - weight) * value + weight * max(value, log_days + off)
        for value, off in zip(fitted, limits.UNFITTED_INTERVAL, strict=True)
    )
    return low, middle, high


def _beyond(log_days: float, days: float) -> float:
    return max(log_days - float(np.log(days)), 0.0)


@dataclass(frozen=True, slots=True)
class _Law:
    """A law that the growth follows, and the log of the days to the limit by it."""

    misfit: float
    days: float
    steady: float
    """The same if the growth no longer slowed down, or sped up."""


def _law(times: Array, logs: Array, relative: Array, distance: float, growing: int) -> tuple[_Law, float]:
    """The law that fits best, and the weight to give it, 0 to 1: a straight line, an exponential one, or one whose
    daily amounts shrink, or grow, by the same share every day.
    """
    last = slice(-min(max(growing, 3), limits.LAW_POINTS), None)
    exponential, linear = line_through(times[last], logs[last]), line_through(times[last], relative[last])
    if linear.slope <= 0:
        return _Law(np.inf, 0.0, 0.0), 0.0
    to_go = float(np.expm1(distance))
    lines = ((linear, _log_days(to_go, linear.slope)), (exponential, _log_days(distance, exponential.slope)))
    laws = [_Law(line.misfit, days, days) for line, days in lines]
    # With time bent like this, a growth whose daily amounts change by that share is a straight line.
    bends = np.array(limits.LAW_BENDS)
    slopes, misfits = _lines_through(
        np.expm1(np.outer(bends, times[last] - times[-1])) / bends[:, None], relative[last]
    )
    found = int(misfits.argmin())
    bend, slope = float(bends[found]), float(slopes[found])
    if slope > 0:
        left = bend * to_go / slope
        days = float(np.log1p(left)) / bend if left > -1 else np.inf
        steady = _log_days(to_go, slope)
        # Growth that slows down seldom stops as soon as the law does.
        log_days = min(float(np.log(np.clip(days, *limits.RATES))), steady + limits.LAW_LATER)
        laws.append(_Law(float(misfits[found]) * limits.LAW_BENT, log_days, steady))
    best = min(laws, key=lambda law: law.misfit)
    sure, unsure = limits.LAW
    return best, float(np.clip((unsure - best.misfit) / (unsure - sure), 0.0, 1.0))
