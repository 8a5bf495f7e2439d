"""What a detector and its rivals make of real counts, scored by what came after.

What is true is said in hindsight, by medians of a few days:
- growing day: at least +1% a day over the 14 days behind and +0.5% a day over the 28 ahead;
- held step: +25% at once from a calm level, and still there, within 8%, in the week after next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.observed.counts import Counts
from bench.simulated import baselines
from tsaudit.analysis.growth import detection as growth

Array = np.ndarray
LIMIT, HORIZONS, FAR = 1_000_000, (7, 30, 90), 365.0
GROWS = 0.14
LONGEST = 90
OWN = "tsaudit"
DETECTORS = {
    "three sigma": baselines.three_sigma,
    "predict_linear": lambda values: baselines.predict_linear(values, LIMIT),
    "OLS slope": baselines.ols_alarm,
    "random walk": baselines.drift_alarm,
    "CUSUM": baselines.cusum_alarm,
    "Theil-Sen": baselines.theil_sen_alarm,
}
"""Whether each alarms on the counts up to a day."""

Days = tuple[float, float, float]
"""Low, middle and high."""


@dataclass
class Judged:
    """One count, judged day by day on the 90 days before."""

    counts: Counts
    at: list[int]
    kinds: list[str]
    alarms: dict[str, list[bool]]
    forecasts: list[tuple[int, int, dict[str, Days]]] = field(default_factory=list)
    """Day, horizon, and what each forecasts."""

    def on(self, name: str) -> Array:
        """Under alarm: two days in a row."""
        on = np.array([kind == "growth" for kind in self.kinds] if name == OWN else self.alarms[name], bool)
        on[1:] &= on[:-1].copy()
        on[:1] = False
        return on

    def openings(self, name: str) -> int:
        on = self.on(name)
        return int((on & ~np.concatenate([[False], on[:-1]])).sum())


def median_of(values: Array, begin: int, end: int) -> float:
    part = values[max(begin, 0) : end]
    return float(np.median(part)) if len(part) else float("nan")


def move(values: Array, n: int) -> tuple[float, float]:
    """Log change over the 14 days behind, and over the 28 ahead; not a number where the counts end before."""
    behind = np.log(median_of(values, n - 2, n + 1) / median_of(values, n - 16, n - 13)) if n >= 16 else np.nan
    ahead = np.log(median_of(values, n + 25, n + 32) / median_of(values, n - 3, n + 4))
    return float(behind), float(ahead) if n + 28 < len(values) else float("nan")


def grows(values: Array, n: int) -> bool:
    behind, ahead = move(values, n)
    return behind >= GROWS and ahead >= GROWS


def judged(counts: Counts, most: int) -> Judged:
    """On its first `most` days; forecasts every third day for which what came after is known."""
    values, days = counts.values, counts.days
    found = Judged(counts, [], [], defaultdict(list))
    for n in range(7, min(len(values), most + 7)):
        since = next(i for i in range(n + 1) if (days[n] - days[i]).days <= LONGEST)
        at, seen = days[since : n + 1], [float(round(value)) for value in values[since : n + 1]]
        kind = growth.detect(at, seen).kind
        found.at.append(n)
        found.kinds.append(kind)
        for name, alarms in DETECTORS.items():
            found.alarms[name].append(bool(alarms(values[: n + 1])))
        if kind != "growth" or n % 3:
            continue
        for horizon in HORIZONS:
            if n + horizon + 1 >= len(values) or (days[n + horizon] - days[n]).days != horizon:
                continue
            limit = median_of(values, n + horizon - 1, n + horizon + 2)
            if limit > values[n] * 1.01 and (told := growth.forecast(at, seen, limit)) is not None:
                own = tuple(FAR if x is None else float(x) for x in (told.days_low, told.days, told.days_high))
                each = {OWN: own} | {name: way(values[: n + 1], limit) for name, way in baselines.FORECASTS.items()}
                found.forecasts.append((n, horizon, each))
    return found


def interval_score(low: float, high: float, truth: float, alpha: float = 0.2) -> float:
    """Gneiting and Raftery 2007, on log days: the width, plus 2 / alpha times what it misses by. Lower is better."""
    low, high, truth = (float(np.log(max(days, 0.5))) for days in (low, high, truth))
    return (high - low) + 2 / alpha * (max(low - truth, 0) + max(truth - high, 0))


@dataclass(frozen=True)
class Forecasts:
    """How the forecasts of one method for one horizon did."""

    count: int
    covered: float
    off: float
    """Median error of the middle, as a share of the horizon."""
    score: float


def forecasts(done: Sequence[Judged], name: str, horizon: int) -> Forecasts | None:
    made = [each[name] for one in done for _, days, each in one.forecasts if days == horizon and name in each]
    if not made:
        return None
    covered = np.mean([low <= horizon <= high for low, _, high in made])
    off = np.median([abs(min(middle, FAR) - horizon) / horizon for _, middle, _ in made])
    score = np.mean([interval_score(low, high, horizon) for low, _, high in made])
    return Forecasts(len(made), float(covered), float(off), float(score))


@dataclass(frozen=True)
class Alarms:
    """How the alarms of one method did."""

    quiet: float
    """A quiet count and year."""
    openings: int
    """On quiet counts ..."""
    quiet_years: float
    """... in so many years."""
    found: int
    """Growing days under alarm ..."""
    growing: int
    """... of so many."""

    @property
    def share(self) -> float:
        return self.found / self.growing if self.growing else float("nan")


def alarms(done: Sequence[Judged], name: str) -> Alarms:
    quiet = [one for one in done if one.counts.quiet]
    years = sum(len(one.at) for one in quiet) / 365
    openings = sum(one.openings(name) for one in quiet)
    lit = [bool(on) for one in done for n, on in zip(one.at, one.on(name), strict=True) if grows(one.counts.values, n)]
    return Alarms(openings / years if years else 0.0, openings, years, sum(lit), len(lit))


def never_called(done: Sequence[Judged]) -> tuple[int, int]:
    """Counts with ten growing days and more, quiet ones aside, that are called growth on none of them; and of all."""
    hits = [
        [kind == "growth" for n, kind in zip(one.at, one.kinds, strict=True) if grows(one.counts.values, n)]
        for one in done
        if not one.counts.quiet
    ]
    strong = [called for called in hits if len(called) >= 10]
    return sum(not any(called) for called in strong), len(strong)


def held_steps(done: Sequence[Judged]) -> tuple[int, int]:
    """Steps that held and are called growth within two weeks; and all that held."""
    called = steps = 0
    for one in done:
        values, kinds = one.counts.values, dict(zip(one.at, one.kinds, strict=True))
        for n in range(20, len(values) - 15):
            after = [kinds[day] for day in range(n, n + 15) if day in kinds]
            if _is_held_step(values, n) and len(after) >= 10:
                steps, called = steps + 1, called + ("growth" in after)
    return called, steps


def _is_held_step(values: Array, n: int) -> bool:
    before, at, after = (median_of(values, *span) for span in ((n - 7, n), (n, n + 7), (n + 7, n + 15)))
    if np.std(np.log(np.maximum(values[n - 14 : n], 1))) >= 0.1 or at / before < 1.25:
        return False
    at_once = values[n - 1] <= before * 1.06 and values[n] >= before + 0.8 * (at - before)
    return bool(at_once and abs(np.log(after / at)) < 0.08)
