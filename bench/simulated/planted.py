"""Counts of 160 days in which growth was planted, after every kind of past, and counts in which nothing grows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray

DAYS = 160
DAY = np.arange(float(DAYS))
ONSET = 50
"""The first day on which a planted growth has added something."""
LEVEL = 80_000.0
RISE = 4_500.0
"""A day: what the growth after a past adds to `LEVEL`."""
SINCE = np.maximum(DAY - ONSET + 1, 0)

PASTS: dict[str, Array] = {
    "nothing": np.full(DAYS, LEVEL),
    "a step up": np.where(DAY < 20, LEVEL / 2, LEVEL),
    "a step down": np.where(DAY < 20, LEVEL * 2, LEVEL),
    "two steps up": np.where(DAY < 12, LEVEL / 3, np.where(DAY < 31, LEVEL / 1.5, LEVEL)),
    "filling up": np.where(DAY < 20, LEVEL / 20 * (DAY + 1), LEVEL),
    "a cut by a retention": np.where(DAY < 30, LEVEL * (1 + DAY / 60), LEVEL),
    "an earlier growth": LEVEL / 2 * (1 + np.clip(DAY - 5, 0, 20) / 20),
    "a burst": np.where((DAY >= 25) & (DAY < 27), LEVEL * 3, LEVEL),
    "weekends": np.where(DAY % 7 >= 5, 0.75, 1.0) * LEVEL,
}


def after(past: str) -> Array:
    """Growth from day 50 on, after that past; weekends go on."""
    level = PASTS[past]
    return level + RISE * SINCE * (level / LEVEL if past == "weekends" else 1.0)


SLOPES: dict[str, Array] = {
    "exponential, 5% a day": LEVEL * 1.05**SINCE,
    "exponential, 2% a day": LEVEL * 1.02**SINCE,
    "doubling in 40 days": LEVEL * 2 ** (SINCE / 40),
    "twice as fast from day 65": LEVEL + RISE * (SINCE + np.maximum(DAY - 64, 0)),
    "half as fast from day 65": LEVEL + RISE * (SINCE - np.maximum(DAY - 64, 0) / 2),
    "slowing down": LEVEL * (1 + 3 * (1 - 0.985**SINCE)),
}

STILL: dict[str, Array] = {
    "level": np.full(DAYS, LEVEL),
    **{
        f"step of {size:.0%} over {over} day{'s' * (over > 1)}": LEVEL * (1 + size * np.clip((DAY - 39) / over, 0, 1))
        for size in (0.1, 0.3, 0.8, 3.0)
        for over in (1, 2, 3)
    },
    "rollout over 4 days": LEVEL * (1 + 0.5 * np.clip((DAY - 39) / 4, 0, 1)),
    **{
        f"refill in {days} days after a rebuild": LEVEL * np.where(DAY < 40, 1, np.clip((DAY - 39) / days, 0, 1))
        for days in (14, 30)
    },
    "step down": LEVEL * np.where(DAY < 40, 1, 0.5),
    **{f"teeth of {width} days": LEVEL * (1 + 0.4 * (DAY % width) / width) for width in (7, 14, 30)},
    "bursts of a day": LEVEL * (1 + 4.0 * np.isin(DAY, (30, 62, 90))),
    "bursts of two days": LEVEL * (1 + 2.0 * (DAY % 37 < 2)),
    "bursts of three days": LEVEL * (1 + 2.0 * (DAY % 37 < 3)),
    "staircase, 15% in 15 days": LEVEL * 1.15 ** (DAY // 15),
    "staircase, 20% in 30 days": LEVEL * 1.2 ** (DAY // 30),
    "weekends": LEVEL * np.where(DAY % 7 >= 5, 0.4, 1),
    "season of a week": LEVEL * (1 + 0.2 * np.sin(DAY * 2 * np.pi / 7)),
}
"""Nothing in them grows, ever."""

LEAKS = {"linear": LEVEL * (1 + 0.005 * SINCE), "exponential": LEVEL * 1.005**SINCE}
"""By 0.5% a day."""

LOGISTIC = {width: LEVEL * (1 + 2 / (1 + np.exp(-(DAY - 60) / width))) for width in (4, 8, 12)}
"""Growth that ends; the rest of the time is still."""


def noisy(level: Array, deviation: float, seed: int) -> Array:
    return level * np.exp(np.random.default_rng(seed).normal(0, deviation, len(level)))


def poisson(level: Array, seed: int) -> Array:
    return np.random.default_rng(seed).poisson(level).astype(float)


def correlated(deviation: float, seed: int, length: int, alike: float = 0.8) -> Array:
    """A level with noise of that deviation, each day's like that of the day before."""
    random = np.random.default_rng(seed)
    noise = random.normal(0, 1, length)
    for i in range(1, length):
        noise[i] = alike * noise[i - 1] + np.sqrt(1 - alike**2) * noise[i]
    return LEVEL * np.exp(deviation * noise)


def daily(seed: int) -> Array:  # noqa: ARG001 -- every choice of days is given it
    return np.arange(DAYS)


def with_gaps(seed: int) -> Array:
    """A fifth of the days is missing."""
    return np.flatnonzero(np.random.default_rng([seed, 7]).random(DAYS) >= 0.2)


def with_outages(seed: int) -> Array:
    """Two weeks in a row are missing, and later one."""
    begin = 22 + seed % 5
    days = np.arange(DAYS)
    return days[((days < begin) | (days >= begin + 14)) & ((days < 70) | (days >= 77))]


def working_days(seed: int) -> Array:
    days = np.arange(DAYS)
    return days[(days + seed) % 7 < 5]


def every(step: int) -> Callable[[int], Array]:
    return lambda seed: np.arange(seed % step, DAYS, step)
