"""Judges each source of real counts with what the other sources alone would have chosen.

The thresholds that matter most are chosen from a grid: those that find most growing days with few enough alarms. The
weights of the forecasts are fitted anew, as those in `thresholds` were. The verdicts and forecasts that a source gets
this way are scored like any others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from bench.observed.counts import Counts
from bench.observed.verdicts import LONGEST, Judged, grows, judged, median_of
from tsaudit.analysis.growth import detection, thresholds
from tsaudit.analysis.growth import detection as growth
from tsaudit.analysis.growth.evidence import GrowthEvidence
from tsaudit.analysis.growth.history import Daily, prepared

Array = np.ndarray
Thresholds = Mapping[str, Any]

MOST_ALARMS = 0.3
"""A quiet year on the other sources, of a set of thresholds that may be chosen."""
FACTORS = (0.85, 1.0, 1.15)
STRONG = (1.15, 1.3, 1.6)
SLOPES = (0.75, 1.0, 1.25)
HALVES = 100

HORIZONS = (3, 5, 7, 10, 14, 20, 30, 45, 60, 75, 90, 105, 120)
"""Days ahead, of the pairs that forecasts are fitted to."""
LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9
BY_HORIZON, MIDDLE_BY_HORIZON = -0.4, -0.75
"""A pair weighs its horizon to this power: far ones are many and alike. Each source weighs the same."""
FEWEST_PAIRS = 1000
"""With fewer, the weights in use stay."""


def sets() -> list[Thresholds]:
    """The thresholds in use are the middle one."""
    return [
        {
            "STEADY": thresholds.STEADY * steady,
            "LINES": {points: least * line for points, least in thresholds.LINES.items()},
            "STRONG": strong,
            "FAST": thresholds.FAST * slope,
            "REST": thresholds.REST * slope,
        }
        for steady, line, strong, slope in product(FACTORS, FACTORS, STRONG, SLOPES)
    ]


def family(counts: Counts) -> str:
    """What is left out together: the same counts measured in two ways have the same first letters."""
    return counts.source[:4]


@contextmanager
def using(changed: Thresholds) -> Iterator[None]:
    """With those thresholds instead of the ones in use."""
    kept = {name: getattr(thresholds, name) for name in changed}
    try:
        for name, value in changed.items():
            setattr(thresholds, name, value)
        yield
    finally:
        for name, value in kept.items():
            setattr(thresholds, name, value)


@dataclass(frozen=True)
class Tried:
    """What each set of thresholds makes of one count."""

    counts: Counts
    days: int
    growing: int
    found: Array
    """Growing days under alarm, for each set."""
    openings: Array


def tried(counts: Counts, most: int) -> Tried:
    each = sets()
    at = range(7, min(len(counts.values), most + 7))
    rows = []
    for n in at:
        history = _history(counts, n)
        seen = GrowthEvidence(history.times, history.logs)
        rows.append([_is_open(seen, changed) for changed in each])
    on = np.array(rows, bool).T
    on[:, 1:] &= on[:, :-1].copy()
    on[:, :1] = False
    begun = on & ~np.concatenate([np.zeros((len(each), 1), bool), on[:, :-1]], axis=1)
    growing = np.array([grows(counts.values, n) for n in at])
    return Tried(counts, len(at), int(growing.sum()), on[:, growing].sum(axis=1), begun.sum(axis=1))


def _history(counts: Counts, n: int) -> Daily:
    return prepared(counts.days[: n + 1], np.round(counts.values[: n + 1]).tolist(), LONGEST)


def _is_open(seen: GrowthEvidence, changed: Thresholds) -> bool:
    """Only what depends on these thresholds is computed anew."""
    for name in ("opens", "_fast"):
        seen.__dict__.pop(name, None)
    with using(changed):
        return bool(seen.is_open()[-1])


def chosen(done: Sequence[Tried]) -> int:
    """The set that finds most growing days of these counts with at most `MOST_ALARMS`; the first of equals."""
    quiet = [one for one in done if one.counts.quiet]
    years = sum(one.days for one in quiet) / 365
    alarms = sum((one.openings for one in quiet), np.zeros(len(sets()))) / max(years, 1e-9)
    found = sum((one.found for one in done), np.zeros(len(sets())))
    return int(np.where(alarms <= MOST_ALARMS, found, -1).argmax())


def halves(done: Sequence[Tried]) -> Array:
    """Share found, and alarms a quiet year, of one half of the counts with the thresholds chosen on the other.

    (halves, 2); halves without growing days or without quiet ones are left out.
    """
    random, scores = np.random.default_rng(1), []
    for _ in range(HALVES):
        order = random.permutation(len(done))
        ours, theirs = ([done[i] for i in part] for part in np.array_split(order, 2))
        best = chosen(theirs)
        growing = sum(one.growing for one in ours)
        quiet_days = sum(one.days for one in ours if one.counts.quiet)
        if growing and quiet_days:
            alarms = sum(int(one.openings[best]) for one in ours if one.counts.quiet)
            scores.append((sum(int(one.found[best]) for one in ours) / growing, alarms * 365 / quiet_days))
    return np.array(scores)


@dataclass(frozen=True)
class Pairs:
    """What was seen on the days under alarm of one count, and in how many days a level was then reached."""

    counts: Counts
    seen: Array
    """(pairs, figures)"""
    horizons: Array


def pairs(counts: Counts, most: int) -> Pairs:
    seen: list[Array] = []
    horizons: list[int] = []
    values, days = counts.values, counts.days
    for n in range(7, min(len(values), most + 7)):
        history = _history(counts, n)
        verdict, noise, growing = growth._evaluated(history, 1.0)
        if verdict.kind != "growth":
            continue
        for ahead in HORIZONS:
            if n + ahead + 1 >= len(values) or (days[n + ahead] - days[n]).days != ahead:
                continue
            limit = median_of(values, n + ahead - 1, n + ahead + 2)
            if limit > values[n] * 1.01:
                way = max(math.log(limit / history.season_peak) - history.level, thresholds.LEAST_DISTANCE)
                seen.append(detection.figures(history.times, history.raised, noise, way, growing))
                horizons.append(ahead)
    return Pairs(counts, np.array(seen), np.array(horizons, float))


def fitted(done: Sequence[Pairs]) -> Thresholds:
    """Weights of the figures for the low end, the middle, and the high end of log days; none of too few pairs."""
    done = [one for one in done if len(one.horizons)]
    if sum(len(one.horizons) for one in done) < FEWEST_PAIRS:
        return {}
    series = [sum(family(other.counts) == family(one.counts) for other in done) for one in done]
    of_series = np.repeat(1 / np.array(series, float), [len(one.horizons) for one in done])
    seen, horizons = np.concatenate([one.seen for one in done]), np.concatenate([one.horizons for one in done])
    logs = np.log(horizons)
    low, high = (quantile(seen, logs, of_series * horizons**BY_HORIZON, share) for share in (LOW, HIGH))
    middle = quantile(seen, logs, of_series * horizons**MIDDLE_BY_HORIZON, MIDDLE)
    return {"LOW": low, "MIDDLE": middle, "HIGH": high}


def quantile(seen: Array, truth: Array, weights: Array, share: float, rounds: int = 200) -> Array:
    """Quantile regression: least squares, weighted again and again by what each pair costs at its distance."""
    beta = np.linalg.lstsq(seen, truth, rcond=None)[0]
    for turn in range(rounds):
        off = truth - seen @ beta
        costs = np.where(off > 0, share, 1 - share) * weights / np.maximum(np.abs(off), 0.1 * 0.95**turn + 1e-5)
        # Where a figure never varies, there is more than one solution.
        beta = np.linalg.lstsq(seen.T @ (seen * costs[:, None]), seen.T @ (truth * costs), rcond=None)[0]
    return np.asarray(beta)


@dataclass(frozen=True)
class Validated:
    done: list[Judged]
    """Each count with what the other sources chose."""
    halves: Array
    refitted: Thresholds
    """The weights of forecasts fitted to all counts."""


def validated(pool: Executor, given: Sequence[Counts], most: int) -> Validated:
    tries = list(pool.map(partial(tried, most=most), given))
    found = list(pool.map(partial(pairs, most=most), given))
    changed = {}
    for left_out in {family(one) for one in given}:
        best = sets()[chosen([one for one in tries if family(one.counts) != left_out])]
        changed[left_out] = {**best, **fitted([one for one in found if family(one.counts) != left_out])}
    done = list(pool.map(_judged_with, given, [most] * len(given), [changed[family(one)] for one in given]))
    return Validated(done, halves(tries), fitted(found))


def _judged_with(counts: Counts, most: int, changed: Thresholds) -> Judged:
    with using(changed):
        return judged(counts, most)
