"""Whether a growth is open on each day of a history, judged only by that day and the days before it.

A growth opens on strong evidence and stays open until the level has stopped rising. Nothing is remembered from one
audit to the next: the whole history is replayed, so that the verdict on a day does not depend on when it is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tsaudit.analysis.growth import thresholds as limits
from tsaudit.analysis.growth.history import Array, Flags, Indices, Lines, lines, medians, trailing


@dataclass
class GrowthEvidence:
    """The evidence on each day of a history, judged only by that day and the days before it; arrays have one value per
    point.
    """

    times: Array
    """Days since the first day."""
    logs: Array
    filling_days: float = limits.FILLING_DAYS
    """For how many days after the first one data may be filling up to its retention; 0 if there is none."""

    def is_open(self) -> Flags:
        """Whether a growth is open on each day."""
        found, is_open, is_certain = [], False, False
        days = (self.opens, self._certain, self.ends, self._is_over)
        for begins, certain, ends, is_over in zip(*(day.tolist() for day in days), strict=True):
            is_open = not (ends or (is_over and not is_certain)) if is_open else begins
            is_certain = is_open and (is_certain or certain)
            found.append(is_open)
        return np.array(found, bool)

    @cached_property
    def opens(self) -> Flags:
        """Where the evidence is enough to open a growth."""
        first_tooth = (self.times < limits.FIRST_TOOTH_DAYS) & (self._risen < limits.DOUBLED) & (self.filling_days > 0)
        opens = (self._sudden | self._certain) & (self._rise(limits.STILL_DAYS) > limits.STILL)
        return opens & ~first_tooth & ~self._refills & ~self._is_over

    @cached_property
    def _certain(self) -> Flags:
        """Where more than a few sudden days show a growth, so that it does not end just because a short
        rise is over.
        """
        return (self._fast | self._noisy | self._slow) & ~self._is_over

    @cached_property
    def ends(self) -> Flags:
        """Where the level has stopped rising."""
        still = self._rise(limits.STILL_DAYS) < limits.STILL
        noisy = self.noise >= limits.STILL_NOISY
        return still & (~noisy | (self._rise(limits.STILL_NOISY_DAYS) < limits.STILL))

    @cached_property
    def level(self) -> Array:
        """Median of the last three counts."""
        return self._median(limits.LEVEL_POINTS)

    @cached_property
    def _held(self) -> Array:
        """Median of the last five counts, which is not affected by a burst of two days."""
        return self._median(limits.HELD_POINTS)

    def _median(self, width: int) -> Array:
        index, inside = trailing(len(self.logs), width)
        return medians(self.logs[index], inside)

    @cached_property
    def noise(self) -> Array:
        """Standard deviation of the recent daily changes, estimated from their median absolute deviation."""
        index, inside = trailing(len(self.logs), limits.NOISE_POINTS)
        inside &= index >= 1
        changes = self._changes[index]
        middle = medians(changes, inside)[:, None]
        return 1.4826 * medians(np.abs(changes - middle), inside)

    @cached_property
    def _changes(self) -> Array:
        return np.concatenate([[0.0], np.diff(self.logs)])

    @cached_property
    def _points(self) -> Array:
        return np.arange(1.0, len(self.logs) + 1)

    @cached_property
    def _mature(self) -> Flags:
        sparse = (self._points >= limits.MATURE_SPARSE_POINTS) & (self.times >= limits.MATURE_DAYS)
        return (self._points >= limits.MATURE_POINTS) | sparse

    @cached_property
    def _risen(self) -> Array:
        """How far the level is above the lowest level so far."""
        return self.level - np.minimum.accumulate(self.level)

    def _rise(self, days: int) -> Array:
        """The mean rise of the level per day, over that many days or as many as there are."""
        ago = np.maximum(np.searchsorted(self.times, self.times - days, side="right") - 1, 0)
        rise: Array = (self.level - self.level[ago]) / np.maximum(self.times - self.times[ago], 1.0)
        return rise

    @cached_property
    def _rising(self) -> tuple[Indices, Indices]:
        """For the rise to each level: the last point at the foot of the rise, and the first point from which on the
        counts are at the top.
        """
        index, inside = trailing(len(self.level), limits.EARLIER)
        levels, logs = (np.where(inside, values[index], np.inf) for values in (self.level, self.logs))
        lowest = levels.min(axis=1)
        margin = limits.FOOT * (self.level - lowest)
        at_foot = levels <= (lowest + margin)[:, None]
        is_below = logs < (self.level - margin)[:, None]
        now = np.arange(len(self.level))
        since_below = np.where(is_below.any(axis=1), is_below[:, ::-1].argmax(axis=1), limits.EARLIER)
        return now - at_foot[:, ::-1].argmax(axis=1), np.clip(now - since_below + 1, 0, now)

    @cached_property
    def _is_over(self) -> Flags:
        """Whether a short rise, such as a rollout of four days, has stood still for at least as long as it took."""
        foot, top = self._rising
        took = np.maximum(self.times[top] - self.times[foot], limits.SHORTEST_STILL)
        since = self.times - self.times[top]
        stands = np.maximum(self.level, self.logs) - self.logs[top] < limits.STILL * since + self.noise
        over: Flags = (since + 1 >= took) & stands & (took <= limits.LONGEST_SHORT) & (self.noise < limits.WOBBLY)
        return over

    @cached_property
    def _refills(self) -> Flags:
        """Whether the level, after a sudden fall, rises back to where it had stood still: a rebuild, or an outage."""
        foot, _ = self._rising
        ago = np.maximum(foot - limits.FELL_POINTS, 0)
        before, margin = self.level[ago], limits.SEEN_BY + limits.SEEN_BY_NOISE * self.noise
        held = (ago > 0) & (np.abs(self._rise(limits.STILL_DAYS)[ago]) < limits.STILL)
        refills: Flags = held & (before - self.level[foot] > limits.FELL_BY) & (before >= self.level - margin)
        return refills

    def _lines(self, width: int) -> Lines:
        if width not in self._fitted:
            self._fitted[width] = lines(self.times, self.logs, width)
        return self._fitted[width]

    @cached_property
    def _fitted(self) -> dict[int, Lines]:
        return {}

    @cached_property
    def _new(self) -> Flags:
        """Whether the level is above the levels of 13 to 45 points ago by more than chance."""
        return self._above_earlier(self.level, limits.NEW_BY_NOISE)

    def _above_earlier(self, level: Array, by_noise: float) -> Flags:
        index, inside = trailing(len(level), limits.EARLIER)
        before = np.where(inside, level[index], -np.inf)[:, : -limits.NEWER_THAN].max(axis=1)
        before[: limits.NEWER_THAN] = level[0]
        above: Flags = level > before + limits.NEW_BY + by_noise * self.noise
        return above

    @cached_property
    def _unseen(self) -> Flags:
        """Whether the level never before rose from as low as recently to about as high as now."""
        ago = limits.NEWER_THAN
        unseen = np.ones(len(self.level), bool)
        if len(unseen) <= ago:
            return unseen
        index, inside = trailing(len(self.level), ago + 1)
        now = self.level[ago:]
        base = np.where(inside, self.level[index], np.inf).min(axis=1)[ago:]
        lowest, old = np.minimum.accumulate(self.level)[:-ago], self._held[:-ago]
        lowest = np.concatenate([np.full(limits.HELD_POINTS - 1, np.inf), lowest])[: len(old)]
        near = now - limits.SEEN_BY - limits.SEEN_BY_NOISE * self.noise[ago:]
        as_low = lowest <= (base + limits.SEEN_FROM * (now - base))[:, None]
        as_high = (old >= near[:, None]) & (near > base)[:, None]
        earlier = np.tri(len(now), dtype=bool)
        unseen[ago:] = ~(as_low & as_high & earlier).any(axis=1)
        return unseen

    def _steadiness(self, width: int) -> Array:
        """Mean of the last `width` changes divided by its standard error, with large changes clipped."""
        changes = np.diff(self.logs) / np.sqrt(np.diff(self.times))
        index, inside = trailing(len(changes), width)
        values, count = changes[index], inside.sum(axis=1)
        middle = medians(values, inside)[:, None]
        most = limits.CLIP * (1.4826 * medians(np.abs(values - middle), inside)[:, None] + 1e-4)
        values = np.clip(values, middle - most, middle + most)
        mean = (values * inside).sum(axis=1) / count
        deviation = np.sqrt((((values - mean[:, None]) * inside) ** 2).sum(axis=1) / count)
        return np.concatenate([[0.0], mean / (deviation + 2e-4) * np.sqrt(count)])

    @cached_property
    def _without_largest(self) -> Array:
        """Mean daily change over the last points without the two largest changes, which may be a step."""
        index, inside = trailing(len(self.logs), limits.FASTEST_POINTS)
        changes = np.sort(np.diff(self.logs[index], axis=1) * inside[:, :-1], axis=1)[:, :-2]
        rest: Array = changes.sum(axis=1) / np.maximum(self.times - self.times[index[:, 0]], 1.0)
        return rest

    @cached_property
    def _fast(self) -> Flags:
        steady = self._steadiness(limits.STEADY_POINTS) / limits.STEADY
        straight = np.max([self._lines(width).certainty / most for width, most in limits.LINES.items()], axis=0)
        stepped = self._lines(limits.STEP_POINTS).step_leaves <= limits.STEP_BETTER
        steady, straight = np.where(stepped, 0.0, steady), np.where(stepped, 0.0, straight)
        evidence = np.maximum(steady, straight)
        news = (self._new | (evidence > limits.STRONG)) & self._unseen
        rises = self._lines(limits.FASTEST_POINTS).slope > limits.FAST
        sure = (self._mature & (self.noise < limits.WOBBLY)) | (np.minimum(steady, straight) > limits.AGREE)
        found: Flags = rises & (evidence > 1) & news & (self._without_largest > limits.REST) & sure
        return found

    @cached_property
    def _sudden(self) -> Flags:
        """Where changes are far larger than all earlier ones: changes of logs or, for counts that start small, changes
        of counts.
        """
        counts = np.exp(self.logs - self.logs.max())
        added = np.concatenate([[0.0], np.diff(counts) / np.diff(self.times)])
        shares = np.concatenate([[0.0], np.diff(self.logs) / np.diff(self.times)])
        grows = _smallest(shares, limits.RUN) > limits.RUN_LEAST
        daily = grows & self._mature & (_dwarfs(shares, limits.RUN) | _dwarfs(added, limits.RUN))
        # A count that starts small and grows by the same amount every day: its logs look like a step, and its history
        # may be short.
        ago = np.maximum(np.arange(len(self.logs)) - limits.RUN, 0)
        leak = grows & (self._points >= limits.YOUNG_POINTS) & (self.logs - self.logs[ago] > limits.DOUBLED)
        leak &= _dwarfs(added, limits.RUN, limits.YOUNG_ALIKE)
        ago = np.maximum(np.arange(len(self.logs)) - limits.SHORT_RUN, 0)
        grows = _smallest(shares, limits.SHORT_RUN) > limits.RUN_LEAST
        sparse = grows & (_dwarfs(shares, limits.SHORT_RUN) | _dwarfs(added, limits.SHORT_RUN))
        sparse &= self.times - self.times[ago] >= limits.SHORT_RUN_DAYS
        sparse &= self.logs - self.logs[ago] > limits.DOUBLED
        found: Flags = (daily | leak | sparse) & self._unseen
        return found

    @cached_property
    def _noisy(self) -> Flags:
        found = np.zeros(len(self.logs), bool)
        hidden = self.noise > limits.NOISY
        for width, least in limits.NOISY_LINES.items():
            long = width >= limits.NOISY_FEWEST
            if long and not hidden.any():
                continue
            line = self._lines(width)
            straight = (line.certainty > limits.NOISY_LINE) & (line.widened > least)
            least_gain = np.where(
                line.widened > limits.UNALIKE * line.certainty, limits.UNALIKE_GAIN, limits.NOISY_GAIN
            )
            fits = (line.gain > least_gain) & (line.slope > limits.NOISY_SLOPE)
            enough = self._points >= min(width, limits.NOISY_FEWEST)
            found |= straight & fits & enough & (hidden | (not long))
        calmed = self._above_earlier(self._median(limits.NOISY_LEVEL_POINTS), limits.NOISY_NEW_BY_NOISE)
        return found & (self._new | (hidden & calmed)) & self._unseen

    @cached_property
    def _slow(self) -> Flags:
        line, long = self._lines(limits.SLOW_POINTS), self._lines(limits.LONG_POINTS)
        straight = (line.slope > limits.SLOW) & (line.certainty > limits.SLOW_LINE)
        steady = self._steadiness(limits.SLOW_POINTS) > limits.SLOW_STEADY
        found = straight & steady & (self._points >= limits.SLOW_FEWEST)
        straight = (long.slope > limits.LONG_SLOW) & (long.certainty > limits.LONG_LINE)
        alone = (long.widened > limits.LONG_WIDENED) & (long.gain > limits.NOISY_GAIN)
        found |= straight & alone & (self._points >= limits.LONG_FEWEST)
        return found & self._new & self._unseen


def _smallest(changes: Array, run: int) -> Array:
    """The smallest of the last `run` changes, at each point."""
    index, inside = trailing(len(changes), run)
    smallest: Array = np.where(inside, changes[index], 0.0).min(axis=1)
    return smallest


def _dwarfs(changes: Array, run: int, alike: float = limits.RUN_ALIKE) -> Flags:
    """Whether the last `run` changes are alike, and each is larger than all the earlier ones, falls included."""
    index, inside = trailing(len(changes), run + limits.BEFORE_RUN)
    values = np.where(inside, changes[index], 0.0)
    smallest, largest = values[:, -run:].min(axis=1), values[:, -run:].max(axis=1)
    dwarfs: Flags = (smallest > np.abs(values[:, :-run]).max(axis=1)) & (smallest > alike * largest)
    return dwarfs
