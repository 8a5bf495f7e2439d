"""Daily counts of known truth: quiet ones, growing ones, and some whose course the detector does not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

HISTORY = 90
"""Days that are looked back, as the product does."""
ONSET = 90
"""Day on which growing kinds begin to grow, and a single step happens."""

Array = np.ndarray
Random = np.random.Generator
Truth = Callable[[Array, Random], Array]


@dataclass(frozen=True)
class Series:
    truth: Array
    """Level of every day, before noise."""
    days: Array
    """Those with a value."""
    values: Array

    def until(self, day: int) -> tuple[Array, Array]:
        """The history seen on a day."""
        seen = (self.days <= day) & (self.days > day - HISTORY)
        return self.days[seen], self.values[seen]


def simulated(truth: Truth, length: int, random: Random) -> Series:
    t = np.arange(length)
    level = 10 ** random.uniform(3, 6) * truth(t, random)
    noise = random.normal(0, random.uniform(0.003, 0.02), length)
    for i in range(1, length):
        noise[i] = 0.5 * noise[i - 1] + np.sqrt(0.75) * noise[i]
    wild = random.random(length) < 0.02
    noise[wild] += random.normal(0, 0.08, wild.sum())
    kept = t[random.random(length) >= 0.08]
    return Series(level, kept, np.round(level * np.exp(noise))[kept])


def many(kind: str, length: int, count: int, seed: int) -> list[Series]:
    """Histories of the kind. Its name takes part in the seed: kinds share no noise, and stay when one is added."""
    return [simulated(KINDS[kind], length, np.random.default_rng([seed, *kind.encode(), i])) for i in range(count)]


def stable(t: Array, random: Random) -> Array:  # noqa: ARG001 -- every truth is given both
    return np.ones(len(t))


def season(t: Array, random: Random) -> Array:
    return np.where((t + random.integers(7)) % 7 >= 5, 1 - random.uniform(0.1, 0.3), 1.0)


def sawtooth(t: Array, random: Random) -> Array:
    return 1 + random.uniform(0.1, 0.4) * ((t + random.integers(7)) % 7) / 7


def deployments(t: Array, random: Random) -> Array:
    logs, at = np.zeros(len(t)), int(random.integers(10, 60))
    while at < len(t):
        logs[at:] += random.normal(0, 0.25)
        at += int(random.integers(30, 61))
    return np.exp(logs)


def one_step(t: Array, random: Random) -> Array:
    return np.where(t >= ONSET, np.exp(abs(random.normal(0, 0.25))), 1.0)


def linear(t: Array, random: Random) -> Array:
    return 1 + random.uniform(0.005, 0.03) * np.maximum(t - ONSET, 0)


def exponential(t: Array, random: Random) -> Array:
    return 2 ** (np.maximum(t - ONSET, 0) / random.uniform(7, 40))


def linear_season(t: Array, random: Random) -> Array:
    return linear(t, random) * season(t, random)


def logistic(t: Array, random: Random) -> Array:
    at, width = random.uniform(120, 200), random.uniform(4, 15)
    return 1 + random.uniform(0.5, 4) / (1 + np.exp(-(t - at) / width))


def burst(t: Array, random: Random) -> Array:
    level, at = np.ones(len(t)), 70
    while at < len(t) - 20:
        up, stay, down = random.integers(1, 4), random.integers(2, 6), random.integers(1, 6)
        shape = np.interp(t, [at, at + up, at + up + stay, at + up + stay + down], [0, 1, 1, 0])
        level = level + random.uniform(0.2, 1.0) * shape
        at += int(random.integers(60, 121))
    return level


def slow_drift(t: Array, random: Random) -> Array:
    return np.exp(random.uniform(0.0005, 0.002) * t)


def holiday_dip(t: Array, random: Random) -> Array:
    level = np.ones(len(t))
    for at in (random.integers(80, 120), random.integers(220, 300)):
        away, back = random.integers(7, 15), random.integers(1, 4)
        level -= random.uniform(0.2, 0.5) * np.interp(t, [at, at + 1, at + away, at + away + back], [0, 1, 1, 0])
    return level


def migration(t: Array, random: Random) -> Array:
    at = random.integers(100, 250)
    return 1 + np.interp(t, [at, at + random.integers(1, 4)], [0, 1])


QUIET = {"stable": stable, "weekly season": season, "retention sawtooth": sawtooth, "deployment steps": deployments}
GROWING = {"linear": linear, "exponential": exponential, "linear + season": linear_season}
OUTSIDE = {
    "logistic": logistic,
    "burst": burst,
    "slow drift": slow_drift,
    "holiday dip": holiday_dip,
    "migration": migration,
}
ONE_STEP = "one step"
KINDS = {**QUIET, **GROWING, **OUTSIDE, ONE_STEP: one_step}
