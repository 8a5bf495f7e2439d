"""Counts of 160 days in which growth was planted, after every kind of past, and counts in which nothing grows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Passing:
    """A rise that ends by itself."""

    level: Array
    again: int
    """The first day on which the history contains the whole rise, so that nothing like it is news."""
    first: int
    """Days before it on which growth is expected to be called, at most. Expected before the course was ever run."""
    later: int = 0
    """The same for the days from `again` on."""


def _teeth(cuts: Sequence[int], height: float, days: float) -> Array:
    """Rises by `height` in that many days since the last cut."""
    return LEVEL * (1 + height * (DAY - np.array(cuts)[np.searchsorted(cuts, DAY, side="right") - 1]) / days)


def _ramp(begin: float, over: float) -> Array:
    return np.clip((DAY - begin) / over, 0, 1)


_SITE = (DAY - 40) // 10
PASSING: dict[str, Passing] = {
    "teeth of 10 days, 40%": Passing(_teeth(range(-4, DAYS, 10), 0.4, 10), 16, 3),
    "teeth of 21 days, 30%": Passing(_teeth(range(0, DAYS, 21), 0.3, 21), 21, 8),
    "teeth of 30 days, 40%": Passing(_teeth(range(0, DAYS, 30), 0.4, 30), 30, 14),
    "teeth of 30 days, 40%, first seen on their 20th day": Passing(_teeth(range(-20, DAYS, 30), 0.4, 30), 40, 14),
    "teeth of 30 days, 100%": Passing(_teeth(range(0, DAYS, 30), 1.0, 30), 30, 16),
    "teeth of 45 days, 60%": Passing(_teeth(range(0, DAYS, 45), 0.6, 45), 45, 29),
    "monthly cleanup on irregular days": Passing(_teeth((0, 28, 61, 89, 122, 150), 0.4, 30), 33, 14, 3),
    "weekly purge, 20%": Passing(_teeth(range(-3, DAYS, 7), 0.2, 7), 11, 0),
    "season of 30 days, 30%": Passing(LEVEL * (1 + 0.15 * np.sin(DAY * 2 * np.pi / 30)), 38, 8),
    "season of 60 days, 60%": Passing(LEVEL * (1 + 0.3 * np.sin(DAY * 2 * np.pi / 60)), 75, 25),
    "terms of a school, 60%": Passing(
        LEVEL * (1 + 0.6 * (_ramp(20, 10) - _ramp(70, 5) + _ramp(90, 10) - _ramp(140, 5))), 90, 9
    ),
    **{
        f"rollout over {days} days, 50%": Passing(LEVEL * (1 + 0.5 * _ramp(39, days)), DAYS, first)
        for days, first in ((3, 0), (7, 6), (14, 15))
    },
    "a fleet migrated site by site, both for 3 days": Passing(
        LEVEL * (1 + ((_SITE >= 0) & (_SITE < 6) & ((DAY - 40) % 10 < 3)) / 6), 53, 0
    ),
    "a fleet migrated site by site, the old kept for 40 days": Passing(
        LEVEL * (1 + (np.clip(_SITE + 1, 0, 6) - np.clip(_SITE - 3, 0, 6)) / 6), DAYS, 30
    ),
}

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
