"""What others alert on: slopes and sums over the last days, as scores that grow with the growth."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

import numpy as np

Array = np.ndarray
FLOOR = 0.003
"""Of the growth a day; what grows less is not called growing, by tsaudit's detector neither."""


def ols(days: Array, values: Array) -> float:
    """The t of a straight line's slope over 28 days, as one would alert on `predict_linear`."""
    x, y = days[-26:] - days[-26:].mean(), values[-26:] / values[-26:].mean()
    slope = (x @ y) / (x @ x)
    left = y - y.mean() - slope * x
    return float(slope / np.sqrt((left @ left) / (len(x) - 2) / (x @ x) + 1e-18)) if slope > FLOOR else 0.0


def theil_sen(days: Array, values: Array) -> float:
    """Kendall's z over 28 days, where the median slope of all pairs is above the floor."""
    x, y = days[-26:], np.log(values[-26:])
    i, j = np.triu_indices(len(x), 1)
    rises = y[j] - y[i]
    if np.median(rises / (x[j] - x[i])) <= FLOOR:
        return 0.0
    n = len(x)
    return float(np.sign(rises).sum() / np.sqrt(n * (n - 1) * (2 * n + 5) / 18))


def cusum(days: Array, values: Array) -> float:  # noqa: ARG001 -- every score is given both
    """The sum of what the newer half of the history lies above the older."""
    logs = np.log(values)
    old, new = logs[: len(logs) // 2], logs[len(logs) // 2 :]
    middle = np.median(old)
    spread = max(1.4826 * float(np.median(np.abs(old - middle))), 0.005)
    total = 0.0
    for z in ((new - middle) / spread).tolist():
        total = max(0.0, total + z - 0.5)
    return total


def three_sigma(values: Array) -> bool:
    """Three deviations and 20% above the mean of two weeks."""
    before = values[-15:-1]
    return bool(values[-1] > before.mean() + 3 * before.std() and values[-1] > 1.2 * before.mean())


def predict_linear(values: Array, limit: float, window: int = 7, ahead: int = 14) -> bool:
    """Whether a straight line through a week reaches the limit within two."""
    last = values[-window:]
    slope, level = np.polyfit(np.arange(len(last)) - len(last) + 1, last, 1)
    return bool(level + slope * ahead > limit)


def ols_alarm(values: Array, window: int = 28) -> bool:
    """A line of the logs over four weeks that rises by more than the floor and by five standard errors."""
    y = np.log(np.maximum(values[-window:], 1))
    if len(y) < 7:
        return False
    x = np.arange(len(y)) - (len(y) - 1) / 2
    slope = float(x @ y / (x @ x))
    left = y - y.mean() - slope * x
    error = np.sqrt((left @ left) / max(len(y) - 2, 1) / (x @ x)) + 1e-12
    return bool(slope > FLOOR and slope / error > 5)


def drift_alarm(values: Array) -> bool:
    """A mean change of 14 days above the floor and above three of its standard errors."""
    changes = np.diff(np.log(np.maximum(values[-15:], 1)))
    error = max(float(changes.std()), 0.005) / np.sqrt(len(changes))
    return bool(changes.mean() > FLOOR and changes.mean() > 3 * error)


def cusum_alarm(values: Array) -> bool:
    last = np.maximum(values[-56:], 1)
    return len(last) >= 14 and cusum(np.arange(len(last)), last) > 40


def theil_sen_alarm(values: Array) -> bool:
    last = np.maximum(values[-28:], 1)
    return len(last) >= 7 and theil_sen(np.arange(len(last), dtype=float), last) > 4


def drift(values: Array, limit: float) -> tuple[float, float, float]:
    """Days to the limit by a random walk with the drift of 14 days: an 80% interval and its middle."""
    logs = np.log(np.maximum(values[-90:], 1))
    changes = np.diff(logs)
    rate, noise = changes[-14:].mean(), max(float(changes[-28:].std()), 0.005)
    ahead = np.arange(1, 366)
    width = 1.2816 * np.sqrt(noise**2 * ahead + (ahead * noise / np.sqrt(min(14, len(changes)))) ** 2)
    line = logs[-1] + rate * ahead
    return _first(line + width, limit), _first(line, limit), _first(line - width, limit)


def straight(values: Array, limit: float) -> tuple[float, float, float]:
    """`predict_linear` as a forecast: a line through a week, with the error of its slope as the interval."""
    last = values[-7:]
    x = np.arange(len(last)) - len(last) + 1.0
    (slope, level), cov = np.polyfit(x, last, 1, cov=True)
    error = 1.2816 * float(np.sqrt(cov[0, 0]))
    way = limit - level
    soon, middle, late = (
        min(way / rate, 365.0) if rate > 0 else 365.0 for rate in (slope + error, slope, slope - error)
    )
    return soon, middle, late


def auto_ets(values: Array, limit: float) -> tuple[float, float, float]:
    """Exponential smoothing chosen by its likelihood, on logs."""
    from statsforecast.models import AutoETS

    told = AutoETS(season_length=1).forecast(np.log(np.maximum(values[-90:], 1)), h=365, level=[80])
    return tuple(_first(told[part], limit) for part in ("hi-80", "mean", "lo-80"))


def _first(path: Array, limit: float) -> float:
    hit = np.flatnonzero(path >= np.log(limit))
    return float(hit[0] + 1) if len(hit) else 365.0


FORECASTS: dict[str, Callable[[Array, float], tuple[float, float, float]]] = {
    "random walk": drift,
    "predict_linear": straight,
}
if importlib.util.find_spec("statsforecast"):
    FORECASTS["AutoETS"] = auto_ets
