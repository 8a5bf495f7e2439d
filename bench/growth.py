"""How often the growth detector cries wolf, how late it is, and whether its forecasts hold, on simulated histories.

Counts of known truth, with noise that lasts some days, 2 % of wild days and 8 % of missing ones, are judged day by day
on the last 56 days; two growing runs in a row are an alarm. Next to it stand slopes and sums whose thresholds are set
on the same quiet histories. Some truths are no course the detector knows. Exits with 1 when a bound is missed. Two
goals are not reached yet; they are printed, and fail nothing: no step called growth, and at most 0.5 false alarms a
year on truths the detector has no course for.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tsaudit.analysis import growth

HISTORY, YEAR, ONSET, AHEAD, WAIT = 56, 360, 90, 30, 60
FIRST = date(2026, 1, 5)
FLOOR = 0.003
SEED = 20260105
MOST_QUIET, MOST_OUTSIDE, MOST_DELAY, COVERAGE = 0.2, 0.5, 8.0, (0.65, 0.92)
BASELINE_ALARMS = 1.0
"""A series and year, averaged over the quiet kinds: what a baseline's threshold is set to."""

Array = np.ndarray
Random = np.random.Generator
Truth = Callable[[Array, Random], Array]
Score = Callable[[Array, Array], float]


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


def dates(days: Array) -> list[date]:
    return [FIRST + timedelta(days=int(day)) for day in days]


def detector(days: Array, values: Array) -> float:
    return float(growth.judge(dates(days), values.tolist()).kind == "growth")


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


BASELINES: dict[str, Score] = {"OLS slope": ols, "Theil-Sen": theil_sen, "CUSUM": cusum}


def scores(series: Series, score: Score, begin: int, end: int) -> Array:
    """Rows of (day, score) of every run in between."""
    runs = [int(day) for day in series.days if begin <= day < end]
    return np.array([(day, score(*series.until(day))) for day in runs])


def alarms(run: Array, threshold: float) -> Array:
    """The days on which an alarm begins: the second of two runs above the threshold."""
    above = run[:, 1] > threshold
    on = above[1:] & above[:-1]
    return run[1:][on & ~np.concatenate([[False], on[:-1]]), 0]


def delay(run: Array, threshold: float) -> float:
    """Days from the onset to the first alarm; infinite where there is none within `WAIT`."""
    above = run[:, 1] > threshold
    hits = run[1:][above[1:] & above[:-1], 0]
    return float(hits[0] - ONSET) if len(hits) else float("inf")


def threshold_of(quiet: list[Array]) -> float:
    """The lowest with at most `BASELINE_ALARMS` on these series of a year."""
    tried = np.unique(np.quantile(np.concatenate([run[:, 1] for run in quiet]), np.linspace(0.5, 1, 400)))
    allowed = BASELINE_ALARMS * len(quiet)
    # More alarms may begin at a higher threshold than at a lower one, where a single alarm never ends: from the top.
    best = tried[-1]
    for threshold in tried[::-1]:
        if sum(len(alarms(run, threshold)) for run in quiet) > allowed:
            break
        best = threshold
    return float(best)


def many(kind: str, truth: Truth, length: int, count: int, seed: int) -> list[Series]:
    # The kind's name takes part, so that kinds do not share their noise and stay the same when one is added.
    return [simulated(truth, length, np.random.default_rng([seed, *kind.encode(), i])) for i in range(count)]


def unfounded(series: Series, begun: Array) -> int:
    """Alarms that begin where the truth grew less than the floor over two weeks, or will be back within 20 days."""
    levels, last = series.truth, len(series.truth) - 1
    grew = [np.log(levels[int(d)] / levels[int(d) - 14]) > 14 * FLOOR for d in begun]
    lasting = [levels[min(int(d) + 20, last)] > levels[int(d)] * (1 + 5 * FLOOR) for d in begun]
    return sum(not (g and stays) for g, stays in zip(grew, lasting, strict=True))


def coverage(kind: str, truth: Truth, count: int, seed: int) -> tuple[float, float]:
    """Share of 80 % intervals that hold the truth, and share of evaluations without a forecast."""
    inside, silent = [], 0
    for series in many(kind, truth, ONSET + 28 + AHEAD + 7, count, seed):
        for after in (14, 28):
            at = int(series.days[series.days <= ONSET + after][-1])
            # Limits are met on the busiest day of the week.
            limit = float(series.truth[at + AHEAD - 3 : at + AHEAD + 4].max())
            if "season" not in kind:
                limit = float(series.truth[at + AHEAD])
            days, values = series.until(at)
            ahead = growth.forecast(dates(days), values.tolist(), limit)
            if ahead is None:
                silent += 1
                continue
            low, high = (float("inf") if d is None else d for d in (ahead.days_low, ahead.days_high))
            inside.append(low <= AHEAD <= high)
    return (float(np.mean(inside)) if inside else 0.0), silent / (2 * count)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--series", type=int, default=12, help="of a year for each kind; growths take four times as many"
    )
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    print(f"seed {given.seed}, {given.series} series of {YEAR} days a kind, history of {HISTORY} days")
    missed = list(measured(given.series, given.seed))
    for line in missed:
        print(f"missed: {line}")
    return 1 if missed else 0


def measured(count: int, seed: int) -> Iterator[str]:
    """Prints every figure; yields the bounds missed."""
    quiet = {kind: many(kind, truth, HISTORY + YEAR, count, seed) for kind, truth in QUIET.items()}
    growing = {kind: many(kind, truth, ONSET + WAIT, 4 * count, seed) for kind, truth in GROWING.items()}
    steps = many("one step", one_step, ONSET + WAIT, 4 * count, seed)
    for name, score in {"tsaudit": detector, **BASELINES}.items():
        runs = {k: [scores(s, score, HISTORY, HISTORY + YEAR) for s in made] for k, made in quiet.items()}
        limit = 0.5 if score is detector else threshold_of([run for made in runs.values() for run in made])
        print(f"\n{name}" + ("" if score is detector else f", threshold {limit:.3g}"))
        rates = {k: sum(len(alarms(run, limit)) for run in made) / count * 365 / YEAR for k, made in runs.items()}
        mean = float(np.mean(list(rates.values())))
        print("  false alarms a year: " + ", ".join(f"{k} {v:.2f}" for k, v in rates.items()) + f"; mean {mean:.2f}")
        delays = {k: [delay(scores(s, score, ONSET, ONSET + WAIT), limit) for s in m] for k, m in growing.items()}
        for kind, found in delays.items():
            lost = np.mean(np.isinf(found))
            print(f"  delay {kind}: median {sorted(found)[len(found) // 2]:g} days, missed {lost:.0%}")
        called = np.mean([delay(scores(s, score, ONSET, ONSET + WAIT), limit) < WAIT for s in steps])
        print(f"  steps called growth: {called:.0%} (goal: none)", flush=True)
        if score is detector:
            yield from _bounds(mean, delays)
    yield from _forecasts(10 * count, seed)
    outside(count, seed)


def _bounds(mean: float, delays: dict[str, list[float]]) -> Iterator[str]:
    if mean > MOST_QUIET:
        yield f"{mean:.2f} false alarms a year on quiet kinds, at most {MOST_QUIET:g}"
    for kind, found in delays.items():
        if (middle := sorted(found)[len(found) // 2]) > MOST_DELAY:
            yield f"median delay of {kind} {middle:g} days, at most {MOST_DELAY:g}"


def _forecasts(count: int, seed: int) -> Iterator[str]:
    print("\ncoverage of the 80 % interval, 30 days ahead, 14 and 28 days after the onset")
    for kind, truth in GROWING.items():
        covered, silent = coverage(kind, truth, count, seed + 1)
        print(f"  {kind}: {covered:.0%}, no forecast {silent:.0%}", flush=True)
        if not COVERAGE[0] <= covered <= COVERAGE[1]:
            yield f"coverage of {kind} {covered:.0%}, {COVERAGE[0]:.0%} to {COVERAGE[1]:.0%}"


def outside(count: int, seed: int) -> None:
    """Prints the false alarms on truths that are no course of the detector's."""
    goal = f"goal: at most {MOST_OUTSIDE:g}"
    print(f"\ntruths the detector has no course for: false alarms a year ({goal}), and alarms in all")
    for kind, truth in OUTSIDE.items():
        false = total = 0
        for series in many(kind, truth, HISTORY + YEAR, count, seed):
            begun = alarms(scores(series, detector, HISTORY, HISTORY + YEAR), 0.5)
            total += len(begun)
            false += unfounded(series, begun) if kind == "logistic" else len(begun)
        per_year = 365 / YEAR / count
        print(f"  {kind}: {false * per_year:.2f}, {total * per_year:.2f}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
