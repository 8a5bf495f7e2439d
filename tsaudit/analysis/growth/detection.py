"""Distinguishes growth, steps, and noise in a daily history of a count, and forecasts when a growing count reaches a
limit.

A count is anything that is not negative and grows by a share of itself: series, bytes, or measurements. Anything below
one is treated as nothing.

The history is replayed day by day: a growth opens on strong evidence and stays open until the level has stopped rising
(`evidence`); a count that does not grow may have changed its level. Nothing is random: the same history gives the same
answer.

A forecast has an interval that is calibrated on real growth. Rates change: real growth usually slows down, and all the
more the farther away the limit is. So the days at the present rates are corrected by regressions fitted to actual
outcomes. Only growth that follows a simple law to within about 1%, such as a script that adds the same amount every
day, is extrapolated as it is. `docs/growth.md` describes how well all of this works, and its limitations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Final, Literal

import numpy as np

from tsaudit.analysis.growth import thresholds as limits
from tsaudit.analysis.growth.evidence import GrowthEvidence
from tsaudit.analysis.growth.history import Array, Daily, Flags, newest_step, prepared, without_steps
from tsaudit.model.finding import INTERVAL_DAYS, Forecast, Jump
from tsaudit.model.timeline import Point

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


Kind = Literal["growth", "step", "flat", "unknown"]
GrowthShape = Literal["steady", "speeding up", "slowing", "undecided"]


@dataclass(frozen=True, slots=True)
class Growth:
    """The verdict on the history of a count."""

    kind: Kind
    """`unknown` with fewer than 7 days from first to last, or fewer than 5 values; `step` for a level that
    changed by more than 5% and then stayed."""
    onset: date | None
    """First day of the growth, or of the newest step; None if it was there from the start, or if there is none."""
    growth_per_day: float
    """Growth per day as a share of the level: 0.05 is 5% a day. 0 unless growing, and while a growth is flat."""
    step_ratio: float | None
    """Level after the newest step, divided by the level before it; None unless the kind is `step`."""
    provisional: bool
    """Whether the verdict is likely but not reliable, because there are fewer than 21 days from first to last, or fewer
    than 10 values, or because data may be filling up.
    """
    shape: GrowthShape
    """Whether the amount added per day stays the same, increases, or decreases; `undecided` also if nothing grows."""
    before: float | None
    """The level before the onset; None without an onset."""
    points: int
    """Number of days examined: those with a value among the last 90."""
    flat_days: int = 0
    """Number of days, at the end, in which a growth, or a rise that is too young to be one, has not continued; 0 if it
    continues, or if nothing grows.
    """
    compounds: bool = False
    """Whether the same share is added every day, rather than the same amount; False unless growing."""
    may_fill: bool = False
    """Whether data may be filling up to its retention: the growth was there from the start, and has neither doubled the
    count nor lasted longer than that takes.
    """
    has_season: bool = False
    """Whether the counts have a weekly season, so that only counts of the same weekday can be compared."""
    level: float = 0.0
    """The last count, without the weekly season; after a fall on the last day, the count that the days before lead to.
    0 unless growing.
    """
    jump: Jump | None = None
    """The last change, if it is unlike the days before: the rate is then that of those days."""
    has_new_pace: bool = False
    """Whether the rate is that of a few days, which is far above all before."""

    @property
    def added_per_day(self) -> float:
        """The amount that is added per day; 0 unless growing, and while a growth is flat."""
        return self.growth_per_day * self.level

    @property
    def doubling_days(self) -> float | None:
        """Days until the count doubles at the rate of the last day; None unless growing.

        Growth that does not compound doubles the count when it has added as much as there is now.
        """
        return None if self.growth_per_day <= 0 else self.days_until(math.log(2))

    def points_before(self, points: Sequence[Point]) -> Sequence[Point]:
        """Those of the points, oldest first, that are before the onset; the oldest one if there is none."""
        earlier = [point for point in points if self.onset is not None and point.day < self.onset]
        return earlier or points[:1]

    def days_until(self, distance: float) -> float:
        """Days, at the rate of the last day, until the log of the count is larger by `distance`; infinite if there is
        no growth.
        """
        if self.growth_per_day <= 0:
            return math.inf
        if self.compounds:
            return distance / math.log1p(self.growth_per_day)
        return math.expm1(distance) / self.growth_per_day


def detect(days: Sequence[date], values: Sequence[float], filling_days: float = limits.FILLING_DAYS) -> Growth:
    """The verdict on the counts of these days, which may be in any order and have gaps. `filling_days`: for how long
    data may fill up to its retention; 0 if there is none.

    The last 90 days decide. Older days are only used to find the onset of a growth that began before them.
    """
    return _evaluated(prepared(days, values, limits.LONGEST_DAYS), filling_days)[0]


def forecast(
    days: Sequence[date],
    values: Sequence[float],
    limit: float,
    unit: str = "",
    filling_days: float = limits.FILLING_DAYS,
) -> Forecast | None:
    """When the count reaches `limit` (in `unit`), in days from the last of the days; None if it does not grow.
    `filling_days` as in `detect`.

    A count at its limit has 0 days, growing or not. With weekly seasonality, the date is that of the busiest weekday.
    """
    history = prepared(days, values, limits.LONGEST_DAYS)
    growth, noise, growing = _evaluated(history, filling_days)
    found, at_rate = Outlook(0.0, 0.0, 0.0), 0.0
    if not history.points or history.last < limit:
        if growth.kind != "growth":
            return None
        distance = max(math.log(limit / history.season_peak) - history.level, limits.LEAST_DISTANCE)
        at_rate = growth.days_until(distance)
        found = outlook(history.times, history.raised, noise, distance, growing, at_rate)
        if growth.has_new_pace:
            # The regressions were fitted to rates that had lasted.
            soon, late = (factor * at_rate for factor in limits.LAW_INTERVAL)
            found = Outlook(min(found.low, soon), at_rate, max(found.high, late))
    reached = _within_horizon(found.middle)
    return Forecast(
        limit,
        reached,
        _within_horizon(found.low),
        _within_horizon(found.high),
        growth.growth_per_day,
        growth.onset,
        growth.shape,
        growth.provisional,
        unit,
        from_day=history.day(history.times[-1]),
        days_at_rate=None if reached is None else at_rate,
        compounds=growth.compounds,
        has_season=growth.has_season,
        jump=growth.jump,
    )


def _reaches(history: Daily, days: float, points: int) -> bool:
    """Whether the history is at least that long, with values on at least that many days: days without an audit also
    count toward its length.
    """
    return history.points >= points and history.times[-1] + 1 >= days


def _within_horizon(days: float) -> float | None:
    return None if days >= limits.HORIZON_DAYS else float(days)


def _evaluated(history: Daily, filling_days: float) -> tuple[Growth, float, int]:
    """The verdict, the noise of daily changes, and how many points have been growing."""
    provisional = not _reaches(history, limits.ENOUGH_DAYS, limits.ENOUGH_POINTS)
    has_season = history.season_peak > 1
    unknown = Growth("unknown", None, 0.0, None, provisional, "undecided", None, history.points, has_season=has_season)
    if not _reaches(history, limits.FEWEST_DAYS, limits.FEWEST_POINTS):
        return replace(unknown, flat_days=_days_of(history, _stopped_points(history))), 0.0, 0
    seen = GrowthEvidence(history.times, history.logs, filling_days)
    is_open = seen.is_open()
    noise = float(seen.noise[-1])
    if is_open[-1]:
        begin = _begin(history, is_open, seen.ends)
        resumed = _resumed(history, begin or 0)
        return _growing(unknown, history, filling_days, begin, resumed), noise, history.points - resumed
    return _quiet(unknown, history), noise, 0


def _quiet(unknown: Growth, history: Daily) -> Growth:
    step = newest_step(history)
    ratio = round(math.exp(step.size), 9) if step else 1.0
    if step is None or abs(ratio - 1) < limits.LEAST_STEP:
        return replace(unknown, kind="flat")
    onset = history.day(history.times[step.at])
    return replace(unknown, kind="step", onset=onset, step_ratio=ratio, before=math.exp(step.before))


def _growing(unknown: Growth, history: Daily, filling_days: float, begin: int | None, resumed: int) -> Growth:
    """The growth that began at the point `begin`, and last resumed at the point `resumed`."""
    onset, before = _dated(history, begin)
    if (begin or 0) < limits.UNDATED_POINTS and len(history.given) > history.points:
        long = prepared([*history.given], [*history.given.values()], limits.LONGEST_GROWTH_DAYS)
        seen = GrowthEvidence(long.times, long.logs, filling_days)
        is_open = seen.is_open()
        if is_open[-1]:
            onset, before = _dated(long, _begin(long, is_open, seen.ends))
    flat = _flat_points(history, begin or 0)
    level, whole = math.exp(history.level), _without_partial_day(history, resumed)
    new_pace, (share, compounds) = _new_pace(whole), _pace(whole, resumed)
    rate = share * math.exp(float(whole.tamed[-1] - history.tamed[-1]))
    has_doubled = float(history.logs[-1] - history.logs[0]) > limits.DOUBLED
    may_fill = onset is None and not has_doubled and not _reaches(history, filling_days, 0)
    return replace(
        unknown,
        kind="growth",
        onset=onset,
        before=before,
        provisional=unknown.provisional or may_fill,
        may_fill=may_fill,
        growth_per_day=0.0 if flat else rate * float(np.exp(history.tamed[-1])) / level,
        shape=_shape(whole, resumed),
        flat_days=_days_of(history, flat),
        compounds=compounds and history.level == float(history.tamed[-1]),
        level=level,
        jump=_jump(history, rate),
        has_new_pace=not flat and new_pace is not None,
    )


def _jump(history: Daily, rate: float) -> Jump | None:
    """The last change, if it is a fall, or more than twice what the rate leads to, and the rate is that of the days
    before; None otherwise.
    """
    last, expected = float(history.logs[-1]), float(history.tamed[-1])
    rise, usual = math.exp(last) - math.exp(float(history.tamed[-2])), rate * math.exp(expected)
    if last == expected or (last > expected and rise <= limits.JUMP * usual * (history.times[-1] - history.times[-2])):
        return None
    before = history.day(history.times[-2])
    return Jump(before, history.given[history.day(history.times[-1])] - history.given[before])


def _dated(history: Daily, begin: int | None) -> tuple[date | None, float | None]:
    """The day on which a growth began, and the level before it; both None if it was there from the start."""
    if begin is None:
        return None, None
    recent = slice(int(np.searchsorted(history.times, history.times[begin] - limits.RECENT_DAYS)), begin)
    return history.day(history.times[begin]), float(np.median(history.counts[recent]))


def _begin(history: Daily, is_open: Flags, ends: Flags) -> int | None:
    """The first point of the open growth: the one after the best-fitting bend, where a level line starts to rise.

    None if it has been rising from the first point on.
    """
    opened = len(is_open) - int(np.argmin(is_open[::-1])) if not is_open.all() else 0
    first = max(opened - limits.ONSET_BEFORE, 0)
    earliest = history.times[min(opened, len(is_open) - 1)] - limits.ONSET_BEFORE
    if ends[:opened].any():
        # What rose before the level last stood still was another growth.
        earliest = max(earliest, history.times[:opened][ends[:opened]][-1] - limits.STILL_DAYS)
    recent = int(np.searchsorted(history.times, earliest))
    first = max(first, min(recent, opened - limits.ONSET_FEWEST), 0)
    around = slice(first, opened + limits.ONSET_AFTER + 1)
    times, logs = history.times[around], history.logs[around]
    bend = max(_best_bend(times, logs), _best_bend(times, np.exp(logs - logs.max())))[1]
    return None if first + bend == 0 else first + bend + 1


def _best_bend(times: Array, values: Array) -> tuple[float, int]:
    """How well a line that is level up to some point and rises from there fits, 0 to 1, and the best such point."""
    changes = min(limits.STEP_CHANGES[limits.FASTEST_POINTS], len(values) // limits.ONSET_STEP_SHARE)
    values = without_steps(values[None, :], np.ones((1, len(values)), bool), changes)[0]
    bends = np.maximum(times - times[:-3, None], 0.0)
    bends -= bends.mean(axis=1, keepdims=True)
    off = values - values.mean()
    explained = (bends @ off) / np.sqrt((bends**2).sum(axis=1) * max(float(off @ off), 1e-12))
    best = int(explained.argmax())
    return float(explained[best]), best


def _without_partial_day(history: Daily, begin: int) -> Daily:
    """The history without its last point if all before follow a straight line since `begin`, of which that day lacks
    part: most likely, the day is not over.
    """
    first = max(begin, history.points - limits.SHAPE_POINTS)
    changes = _changes(history)[first:]
    if len(changes) <= limits.RUN or not 0 <= changes[-1] < limits.PARTIAL * changes[:-1].min():
        return history
    before = replace(history, times=history.times[:-1], logs=history.logs[:-1], tamed=history.tamed[:-1])
    times, logs = before.times[first:], before.tamed[first:]
    follows = line_through(times, np.exp(logs - logs[-1])).misfit < limits.LAW[0]
    return before if follows else history


def _pace(history: Daily, begin: int) -> tuple[float, bool]:
    """Growth per day as a share of the last count, from the straight or the exponential line, whichever fits better,
    through the fewest of the last points that make it certain; and whether the same share is added every day.
    """
    if (new := _new_pace(history)) is not None:
        return new, False
    longest = max(history.points - begin, 3)
    for wanted in limits.RATE_POINTS:
        last = slice(-min(longest, wanted), None)
        exponential, linear = _laws(history.times[last], history.tamed[last])
        best = min(linear, exponential, key=lambda line: line.misfit)
        if best.misfit < limits.RATE_MISFIT * math.sqrt(wanted):
            break
    rate = best.slope if best is linear else math.expm1(exponential.slope)
    if _shape(history, begin) == "slowing":
        # A line is steeper than the end of a growth that adds less every day.
        changes = _changes(history)[-limits.SHRINKING :]
        rate = min(rate, float(changes[1:].mean())) if (np.diff(changes) < 0).all() else rate
    last = slice(-min(longest, limits.LAW_WINDOW), None)
    exponential, linear = _laws(history.times[last], history.tamed[last])
    return max(rate, limits.STILL), bool(exponential.misfit <= linear.misfit)


def _changes(history: Daily) -> Array:
    """The amounts added per day from point to point, as shares of the last count."""
    changes: Array = np.diff(np.exp(history.tamed - history.tamed[-1])) / np.diff(history.times)
    return changes


def _new_pace(history: Daily) -> float | None:
    """The median of the last changes, 2 to 6, if they are alike and each is far larger than all of the two weeks
    before, as a share of the last count; None otherwise. A line would take a week to show it.
    """
    changes = _changes(history)
    for run in range(limits.PACE_FEWEST, limits.RATE_POINTS[0]):
        newest, before = changes[-run:], changes[-run - limits.BEFORE_RUN : -run]
        if len(before) < limits.RUN:
            return None
        least = float(newest.min())
        if least > limits.JUMP * float(np.abs(before).max()) and least >= limits.PACE_ALIKE * float(newest.max()):
            return float(np.median(newest))
    return None


def _laws(times: Array, logs: Array) -> tuple[Line, Line]:
    """The exponential line and the straight line, without steps; the latter is relative to the last count."""
    relative = np.exp(logs - logs[-1])
    # A step early in a growth stands out less as a share of what there was then.
    steps = _stand_out(times, logs) | _stand_out(times, relative)
    straight, counts = (_without(times, values, steps) for values in (logs, relative))
    return line_through(times, straight), line_through(times, counts)


def _stand_out(times: Array, values: Array) -> Flags:
    """Which daily changes of the logs or counts are larger than all others by far. Counts are relative to the last."""
    changes = np.abs(np.diff(values) / np.diff(times))
    if len(changes) < limits.SHAPE_FEWEST:
        return np.zeros(len(changes), bool)
    found: Flags = changes > limits.LONELY * np.sort(changes)[-2] + limits.LONELY_LEAST
    return found


def _without(times: Array, values: Array, steps: Flags) -> Array:
    """The values after replacing these daily changes with the median of all."""
    if not steps.any():
        return values
    lasted = np.diff(times)
    changes = np.diff(values) / lasted
    changes = np.where(steps, np.median(changes), changes)
    return np.concatenate([[0.0], np.cumsum(changes * lasted)])


def _flat_points(history: Daily, begin: int) -> int:
    """Number of points, at the end, in which the growth has certainly not continued; 0 if there are too few to be
    certain, or if it may have continued.
    """
    # If the last value was replaced because it is unusually high, growth may have gone on.
    known = history.points - int(history.logs[-1] > history.tamed[-1])
    times, relative = history.times[:known], np.exp(history.tamed[:known] - history.tamed[-1])
    noise = min(history.noise, _off_line(times, relative))
    found = 0
    newest = int(np.searchsorted(times, times[-1] - limits.FLAT_DAYS, side="right")) - 1
    for first in range(min(newest, known - limits.FLAT_FEWEST), begin, -1):
        x = times[first:] - times[first:].mean()
        spread = float((x * x).sum())
        before = max(begin - 1, 0)
        rise = float(relative[first] - relative[before]) / max(float(times[first] - times[before]), 1.0)
        slope = float((x * relative[first:]).sum()) / spread
        error = limits.FLAT_ERRORS * noise / math.sqrt(spread)
        if slope - error > limits.FLAT * rise:
            break
        # Noise can hide a few flat days when only those are examined, but not when more days are.
        if slope <= limits.FLAT * rise and slope + error <= limits.FLAT_AT_MOST * rise:
            found = history.points - first
    return found or _stopped_points(history, begin)


def _stopped_points(history: Daily, begin: int | None = None) -> int:
    """The same by the last 1 to 3 changes alone: next to nothing came, after far more on each day of two weeks, or of
    all since the growth began at the point `begin`; None: since it last paused. A growth that paused before, such as
    on a weekend, may go on.
    """
    if not history.points or history.season_peak > 1 or history.logs[-1] > history.tamed[-1]:
        return 0
    changes = _changes(history)
    for run in range(limits.FLAT_DAYS, 0, -1):
        newest, earlier = changes[-run:], changes[:-run]
        # The first day of a growth is only part of one.
        first = begin if begin is not None else max(np.flatnonzero(earlier <= 0), default=-1) + 2
        before = earlier[first:][-limits.BEFORE_RUN :]
        if len(before) >= limits.PACE_FEWEST and max(newest.max(), 0.0) < limits.FLAT_AT_ONCE * before.min():
            return run + 1
    return 0


def _days_of(history: Daily, points: int) -> int:
    """The number of days from the first to the last of so many last points."""
    return round(float(history.times[-1] - history.times[-points])) if points else 0


def _resumed(history: Daily, begin: int) -> int:
    """The point at which the growth went on after it was last flat for long; `begin` if it was not within the points
    that decide about its rate.
    """
    earliest = max(begin, history.points - limits.SHAPE_POINTS)
    rises = history.tamed[limits.FLAT_LONG :] - history.tamed[: -limits.FLAT_LONG]
    usual = float(rises[earliest:].mean()) if len(rises) > earliest else 0.0
    for points in range(history.points - 1, earliest + limits.FLAT_LONG, -1):
        if rises[points - 1 - limits.FLAT_LONG] > usual / 2:
            # Examining each point would take as long as all the rest.
            continue
        part = slice(None, points)
        before = replace(history, times=history.times[part], logs=history.logs[part], tamed=history.tamed[part])
        if _flat_points(before, begin) >= limits.FLAT_LONG:
            return points
    return begin


def _off_line(times: Array, counts: Array) -> float:
    """The noise of counts, as a share of them, computed from how far each is from the line through its neighbors. In a
    short history that mostly grows, daily logs change by the growth itself.
    """
    share = (times[1:-1] - times[:-2]) / (times[2:] - times[:-2])
    off = 1 - ((1 - share) * counts[:-2] + share * counts[2:]) / counts[1:-1]
    spread = np.median(np.abs(off) / np.sqrt(1 + share**2 + (1 - share) ** 2))
    return max(1.4826 * float(spread), limits.NOISE_LEAST)


def _shape(history: Daily, begin: int) -> GrowthShape:
    """Compares the amounts added per day in the older and in the newer half of the growth, in at most the last 28
    points.
    """
    last = slice(max(begin - 1, history.points - limits.SHAPE_POINTS, 0), None)
    times = history.times[last]
    if len(times) < limits.SHAPE_FEWEST:
        return "undecided"
    counts = np.exp(history.tamed[last] - history.tamed[-1])
    counts = _without(times, counts, _stand_out(times, counts))
    middle = len(times) // 2
    older = line_through(times[: middle + 1], counts[: middle + 1]).slope
    newer = line_through(times[middle:], counts[middle:]).slope
    if newer > limits.SHAPE_RATIO * older:
        return "speeding up"
    return "slowing" if older > limits.SHAPE_RATIO * newer else "steady"
