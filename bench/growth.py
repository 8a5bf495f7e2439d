"""How often the growth detector cries wolf, how late it is, and whether its forecasts hold, on simulated histories.

Counts of known truth, with noise that lasts some days, 2% of wild days and 8% of missing ones, are judged day by day
on the last 90 days, as the product does; two growing runs in a row are an alarm, which ends with the first run that is
not. Next to it stand slopes and sums whose thresholds are set on the same quiet histories. Some truths are no course
it knows.

On those, and on quiet kinds, every alarm is false but one: a logistic course does grow while it rises, so there only an
alarm is false that begins when the rise is over or has not begun, the truth growing less in the week around it than the
0.3% a day below which nothing is called growth. A burst that falls back within days never was growth.

Then growth is planted after steps, retentions, earlier growth and missing days, in counts of ten and in noise that
lasts, and real counts are judged beside the rivals: those of a file or folder, or of a package in the group `bench`.

The detector was tuned on the first seed, among others, and not on the second. Exits with 1 when a bound is missed on
any seed, or the detector is not ahead of each of the others.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from statistics import mean, median

import numpy as np

from bench.observed import scores
from bench.simulated import baselines, plants
from bench.simulated.histories import GROWING, HISTORY, ONE_STEP, ONSET, OUTSIDE, QUIET, Series, many
from tsaudit.analysis.growth import detection as growth

Array = np.ndarray

YEAR, AHEAD, WAIT = 360, 30, 60
FIRST = date(2026, 1, 5)
SEEDS = (1001, 20261121)
MOST_QUIET, MOST_OUTSIDE = 0.2, 0.5
MOST_DELAY = {"linear": 15.0, "exponential": 8.0, "linear + season": 15.0}
"""Days, the median. Linear growth by 0.5% to 3% a day was once held to 8 days as well: no method reaches that with so
few false alarms, and thresholds that come near it call steps growth (docs/growth.md)."""
COVERAGE = 0.65
"""The intervals are as wide as real growth makes them, which slows down. Simulated growth never does, so they may hold
it more often than the 80% they promise, but not less. Once 92% was the most: intervals so narrow hold only 70% of what
real counts do in 30 days."""
MOST_MS, TIMES = 5.0, 51
BASELINE_ALARMS = MOST_QUIET
"""A series and year, averaged over the quiet kinds: what a baseline's threshold is set to. It is the detector's own
bound: with more false alarms, anything is faster."""


def dates(days: Array) -> list[date]:
    return [FIRST + timedelta(days=int(day)) for day in days]


def detector(days: Array, values: Array) -> float:
    return float(growth.detect(dates(days), values.tolist()).kind == "growth")


DETECTOR = "tsaudit"
SCORES = {
    DETECTOR: detector,
    "OLS slope": baselines.ols,
    "Theil-Sen": baselines.theil_sen,
    "CUSUM": baselines.cusum,
}


@dataclass(frozen=True)
class Run:
    """One history, scored by one method on each of its days with a value."""

    series: Series
    days: Array
    scores: Array

    def alarms(self, threshold: float) -> Array:
        """The days on which an alarm begins: the second of two runs above the threshold."""
        above = self.scores > threshold
        on = above[1:] & above[:-1]
        return self.days[1:][on & ~np.concatenate([[False], on[:-1]])]

    def delay(self, threshold: float) -> float:
        """Days from the onset to the first alarm; infinite where there is none within `WAIT`."""
        begun = self.alarms(threshold)
        return float(begun[0] - ONSET) if len(begun) else float("inf")

    def false_alarms(self, threshold: float, rising: bool) -> int:
        """The alarms, without those that begin while the truth grows, where it is one that grows at times."""
        begun = self.alarms(threshold)
        return int(sum(not (rising and self._grows(int(day))) for day in begun))

    def _grows(self, day: int) -> bool:
        levels = self.series.truth
        first, last = max(day - 3, 0), min(day + 3, len(levels) - 1)
        return bool(np.log(levels[last] / levels[first]) >= baselines.FLOOR * (last - first))


def runs(pool: Executor, name: str, kind: str, count: int, seed: int) -> list[Run]:
    """A year of each quiet or outside history; the time around the onset of the others."""
    begin, end = (ONSET, ONSET + WAIT) if kind in GROWING or kind == ONE_STEP else (HISTORY, HISTORY + YEAR)
    made = many(kind, end, count, seed)
    return list(pool.map(scored, made, [name] * count, [begin] * count, chunksize=2))


def scored(series: Series, name: str, begin: int) -> Run:
    days = series.days[series.days >= begin]
    return Run(series, days, np.array([SCORES[name](*series.until(int(day))) for day in days]))


@dataclass(frozen=True)
class Figures:
    """How one method does on one seed."""

    quiet: dict[str, float]
    """False alarms of a series in a year; so too `outside`."""
    outside: dict[str, float]
    delays: dict[str, list[float]]
    steps: float
    """Share of single steps called growth."""

    def bounds_missed(self) -> Iterator[str]:
        if (rate := mean(self.quiet.values())) > MOST_QUIET:
            yield f"{rate:.2f} false alarms a year on quiet kinds, at most {MOST_QUIET:g}"
        for kind, found in self.delays.items():
            if (middle := median(found)) > MOST_DELAY[kind]:
                yield f"median delay of {kind} {middle:g} days, at most {MOST_DELAY[kind]:g}"
        if self.steps:
            yield f"{self.steps:.1%} of the steps called growth, none allowed"
        for kind, rate in self.outside.items():
            if rate > MOST_OUTSIDE:
                yield f"{rate:.2f} false alarms a year on {kind}, at most {MOST_OUTSIDE:g}"

    def not_ahead_of(self, other: Figures) -> Iterator[str]:
        """No more steps called growth, and no later, at as many false alarms as both may have.

        Later by more than the standard error of the mean over the same series: with 32 of them, medians differ by a day
        or two in whatever direction the seed has it.
        """
        if self.steps > other.steps:
            yield f"steps called growth {self.steps:.1%}, not within {other.steps:.1%}"
        for kind, found in self.delays.items():
            ours, theirs = (np.minimum(delays, WAIT) for delays in (found, other.delays[kind]))
            later = ours - theirs
            if later.mean() > later.std(ddof=1) / np.sqrt(len(later)):
                yield f"mean delay of {kind} {ours.mean():.1f} days, not within {theirs.mean():.1f}"


def measured(pool: Executor, name: str, count: int, seed: int) -> Figures:
    """Prints them as well."""
    quiet = {kind: runs(pool, name, kind, count, seed) for kind in QUIET}
    threshold = 0.5 if name == DETECTOR else threshold_of([run for made in quiet.values() for run in made])
    outside = {kind: runs(pool, name, kind, count, seed) for kind in OUTSIDE}
    growing = {kind: runs(pool, name, kind, 4 * count, seed) for kind in GROWING}
    steps = runs(pool, name, ONE_STEP, 10 * count, seed)

    def a_year(kind: str, made: list[Run]) -> float:
        return sum(run.false_alarms(threshold, kind == "logistic") for run in made) / len(made) * 365 / YEAR

    figures = Figures(
        {kind: a_year(kind, made) for kind, made in quiet.items()},
        {kind: a_year(kind, made) for kind, made in outside.items()},
        {kind: [run.delay(threshold) for run in made] for kind, made in growing.items()},
        mean(run.delay(threshold) < WAIT for run in steps),
    )
    print(f"\n{name}" + ("" if name == DETECTOR else f", threshold {threshold:.3g}"))
    print_figures(figures, mean(len(run.alarms(threshold)) for run in outside["logistic"]) * 365 / YEAR)
    return figures


def print_figures(figures: Figures, of_logistic: float) -> None:
    for what, rates in (("", figures.quiet), (", no course of the detector's", figures.outside)):
        each = ", ".join(f"{kind} {rate:.2f}" for kind, rate in rates.items())
        print(f"  false alarms a year{what}: {each}; mean {mean(rates.values()):.2f}")
    print(f"  alarms a year of logistic, those in the rise included: {of_logistic:.2f}")
    for kind, found in figures.delays.items():
        late, lost = float(np.quantile(found, 0.9, method="lower")), np.mean(np.isinf(found))
        print(f"  delay {kind}: median {median(found):g} days, 90% within {late:g}, missed {lost:.0%}")
    print(f"  steps called growth: {figures.steps:.1%}", flush=True)


def threshold_of(quiet: list[Run]) -> float:
    """The lowest with at most `BASELINE_ALARMS` on these series of a year."""
    tried = np.unique(np.quantile(np.concatenate([run.scores for run in quiet]), np.linspace(0.5, 1, 400)))
    allowed = BASELINE_ALARMS * len(quiet)
    # More alarms may begin at a higher threshold than at a lower one, where a single alarm never ends: from the top.
    best = tried[-1]
    for threshold in tried[::-1]:
        if sum(len(run.alarms(threshold)) for run in quiet) > allowed:
            break
        best = threshold
    return float(best)


def forecasts(pool: Executor, count: int, seed: int) -> Iterator[str]:
    """Prints how often the interval holds the truth; yields the bounds missed."""
    print(f"\ncoverage of the 80% interval, {AHEAD} days ahead, 14 and 28 days after the onset")
    for kind in GROWING:
        made = many(kind, ONSET + 28 + AHEAD + 7, count, seed + 1)
        found = [one for held in pool.map(intervals_hold, made, [kind] * count, chunksize=4) for one in held]
        told = [held for held in found if held is not None]
        covered = mean(told) if told else 0.0
        print(f"  {kind}: {covered:.0%}, no forecast {1 - len(told) / len(found):.0%}", flush=True)
        if covered < COVERAGE:
            yield f"coverage of {kind} {covered:.0%}, at least {COVERAGE:.0%}"


def intervals_hold(series: Series, kind: str) -> list[bool | None]:
    """Whether the truth was within the interval; None without a forecast."""
    return [_interval_holds(series, kind, ONSET + after) for after in (14, 28)]


def _interval_holds(series: Series, kind: str, day: int) -> bool | None:
    at = int(series.days[series.days <= day][-1])
    # Limits are met on the busiest day of the week.
    around = 3 if "season" in kind else 0
    limit = float(series.truth[at + AHEAD - around : at + AHEAD + around + 1].max())
    days, values = series.until(at)
    ahead = growth.forecast(dates(days), values.tolist(), limit)
    if ahead is None:
        return None
    low, high = (float("inf") if d is None else d for d in (ahead.days_low, ahead.days_high))
    return low <= AHEAD <= high


def costs() -> Iterator[str]:
    """Prints what judging one count of 90 days takes; yields a bound that is missed."""
    random, days = np.random.default_rng(1), np.arange(HISTORY)
    for what, level in (("a level", np.ones(HISTORY)), ("a growth", 1.03 ** np.maximum(days - 60, 0))):
        for noise in (0.01, 0.2):
            values = np.round(1e5 * level * np.exp(random.normal(0, noise, HISTORY)))
            took = []
            for _ in range(TIMES):
                began = time.process_time()
                detector(days, values)
                took.append(time.process_time() - began)
            ms = 1000 * float(np.median(took))
            print(f"  judging {what} of {HISTORY} days with {noise:.0%} noise: {ms:.1f} ms")
            if ms > MOST_MS:
                yield f"judging {what} took {ms:.1f} ms, at most {MOST_MS:g}"


def missed(pool: Executor, count: int, seed: int) -> Iterator[str]:
    """Prints every figure of a seed; yields the bounds missed."""
    print(f"\nseed {seed}: {count} series of {YEAR} days a kind, history of {HISTORY} days")
    own = measured(pool, DETECTOR, count, seed)
    yield from own.bounds_missed()
    for name in SCORES:
        if name != DETECTOR:
            yield from (f"not ahead of {name}: {how}" for how in own.not_ahead_of(measured(pool, name, count, seed)))
    yield from forecasts(pool, 10 * count, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=8, help="of a year for each kind; of growths four times as many")
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS, help="the figures of each have to hold")
    parser.add_argument("--real", type=Path, help="JSON file, or folder of JSON and CSV files, with real daily counts")
    parser.add_argument("--days", type=int, default=120, help="of each real count that are judged")
    parser.add_argument("--cross-validate", action="store_true", help="judge each source by what the others chose, too")
    given = parser.parse_args()
    began = time.monotonic()
    with ProcessPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        lines = [f"seed {seed}: {line}" for seed in given.seeds for line in missed(pool, given.series, seed)]
        lines += plants.missed(pool, given.series, given.seeds[0])
        lines += scores.missed(pool, given.real, given.days, given.cross_validate)
    lines += costs()
    print(f"\n{time.monotonic() - began:.0f} s")
    for line in lines:
        print(f"missed: {line}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
