"""What others alert on: slopes and sums over the last days, as scores that grow with the growth."""

from __future__ import annotations

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
