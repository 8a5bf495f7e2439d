"""Measures how regularly points arrive, to distinguish metrics collected at fixed intervals from events.

The measure is the median absolute deviation of the intervals from their median, divided by that median: 0 for a clock;
about 0.69 if every instant is equally likely (exponential intervals have the median ln 2 and the deviation 0.481). Up
to half of the intervals may be arbitrary without changing it much, so outages and a few missing points do not turn a
metric into an event.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import count_distinct, distinct, order_by

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

MIN_INTERVALS: Final = 8
"""Minimum number of intervals. With fewer, one stream of random times in a hundred would pass for a clock; with eight,
one in a thousand does.
"""
EVEN: Final = 0.1
"""Highest ratio for which the intervals are those of a clock with jitter."""
UNEVEN: Final = 0.4
"""Lowest ratio for which the intervals are those of events; ratios in between are classified as neither."""
_ON_BEAT: Final = 0.05
"""Share of the clock's interval by which a point may be early or late and still be on a beat of the clock."""
_ALL_BUT_A_FEW: Final = 0.9
_SECOND: Final = 1_000_000
_TICKS: Final = 5
"""Shortest interval of a clock, in seconds, if timestamps are whole seconds: with a shorter one, events are always on a
beat, too.
"""


@dataclass(frozen=True, slots=True)
class Spacing:
    """The intervals between points, per series; entries at the same position belong to the same series."""

    series: Integers
    """The numbers of the series, ascending."""
    intervals: Integers
    """Number of intervals. Points at the same time count as one point."""
    median: npt.NDArray[np.float64]
    """Median interval, in the unit of the times; NaN for a series without intervals."""
    unevenness: npt.NDArray[np.float64]
    """Median absolute deviation divided by the median interval; NaN for a series without intervals."""

    @property
    def regular(self) -> Mask:
        return (self.intervals >= MIN_INTERVALS) & (self.unevenness <= EVEN)

    @property
    def irregular(self) -> Mask:
        return (self.intervals >= MIN_INTERVALS) & (self.unevenness >= UNEVEN)


def spacing(series: Integers, times: Integers) -> Spacing:
    """The spacing of the points of each series. Takes a series and a time for each point, in any order."""
    numbers, steps, owner = _steps(series, times)
    counts = np.bincount(owner, minlength=len(numbers))
    median = _medians(steps, owner, counts)
    deviation = _medians(np.abs(steps - median[owner]), owner, counts)
    return Spacing(numbers, counts, median, deviation / median)


def _steps(series: Integers, times: Integers) -> tuple[Integers, npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """The numbers of the series, ascending; the times between the points of each; and the place of its series for each
    of these times.
    """
    numbers = distinct(series)
    order = order_by(series, times)
    steps, owner = np.diff(times[order]), series[order][1:]
    inside = (owner == series[order][:-1]) & (steps > 0)
    return numbers, steps[inside].astype(np.float64), np.searchsorted(numbers, owner[inside])


def _medians(
    values: npt.NDArray[np.float64], owner: npt.NDArray[np.intp], counts: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    """The median of each owner's values, which are contiguous; NaN for an owner without values."""
    ordered = values[order_by(owner, values)]
    found = np.full(len(counts), np.nan)
    some = counts > 0
    first = np.cumsum(counts)[some] - counts[some]
    low, high = first + (counts[some] - 1) // 2, first + counts[some] // 2
    found[some] = (ordered[low] + ordered[high]) / 2
    return found


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How regularly the values of one field arrive."""

    regular: Integers
    """The series in which the values arrive at regular intervals."""
    irregular: Integers
    """The series in which the values arrive irregularly, mostly in rows of their own."""
    interval: float | None
    """The median interval of the regular series, in the unit of the times; None if no series is regular."""


def rhythms(series: Integers, times: Integers, filled: Mapping[str, Mask]) -> dict[str, Rhythm]:
    """For each field, the series in which its values arrive regularly and irregularly.

    `times`: in microseconds since 1970. `filled`: which rows have a value in the field. A value that occurs now and
    then, but in the rows of a regular stream, is an optional part of a metric and not an event: a stream is irregular
    only if most of its rows do not belong to a regular one. A series is not an event either if it only skips beats of
    the other series' clock: a collector that reports every ten seconds writes nothing for a status that did not occur.
    """
    if not filled:
        return {}
    # Most fields are in the same rows.
    rows_of = {field: mask.tobytes() for field, mask in filled.items()}
    masks = {rows_of[field]: mask for field, mask in filled.items()}
    spacings: dict[bytes, Spacing] = {}
    clocked = np.zeros(len(series), np.bool_)
    for rows, mask in masks.items():
        found = spacings[rows] = spacing(series[mask], times[mask])
        clocked[mask] |= np.isin(series[mask], found.series[found.regular])
    # Detects rows that are regular together although no single field is: fields that alternate at random.
    whole = spacings.get(np.ones(len(series), np.bool_).tobytes()) or spacing(series, times)
    clocked |= np.isin(series, np.setdiff1d(whole.series[whole.regular], series[clocked]))
    beat = _beat(times, (*spacings.values(), whole))
    found_in = {
        rows: _rhythm(spacings[rows], series[mask], clocked[mask] | _on_beat(series[mask], times[mask], beat))
        for rows, mask in masks.items()
    }
    return {field: found_in[rows] for field, rows in rows_of.items()}


def _beat(times: Integers, spacings: Iterable[Spacing]) -> float:
    """The interval of the fastest clock, in the unit of the times; infinite if there is none, or if every timestamp
    would be on one of its beats.
    """
    beat = min((float(np.min(found.median[found.regular], initial=np.inf)) for found in spacings), default=np.inf)
    in_seconds = not (times % _SECOND).any()
    return np.inf if in_seconds and beat < _TICKS * _SECOND else beat


def _on_beat(series: Integers, times: Integers, beat: float) -> Mask:
    """Which points belong to a series in which nearly all intervals are multiples of the clock's."""
    if not np.isfinite(beat):
        return np.zeros(len(series), np.bool_)
    numbers, steps, place = _steps(series, times)
    beats = steps / beat
    on = (np.abs(beats - np.rint(beats)) <= _ON_BEAT) & (np.rint(beats) >= 1)
    counts = np.bincount(place, minlength=len(numbers))
    share = np.bincount(place, weights=on, minlength=len(numbers)) / np.maximum(counts, 1)
    return np.isin(series, numbers[(share >= _ALL_BUT_A_FEW) & (counts > 0)])


def _rhythm(found: Spacing, series: Integers, clocked: Mask) -> Rhythm:
    place = np.searchsorted(found.series, series)
    size = len(found.series)
    accompanied = np.bincount(place, weights=clocked, minlength=size) * 2 >= np.bincount(place, minlength=size)
    regular = found.regular
    return Rhythm(
        regular=found.series[regular],
        irregular=found.series[found.irregular & ~accompanied],
        interval=float(np.median(found.median[regular])) if regular.any() else None,
    )


def chance_of(found: int, of: int, share: float) -> float:
    """The probability of finding at least `found` among `of` series if each is one with the probability `share`."""
    if found <= 0 or share >= 1:
        return 1.0
    if share <= 0:
        return 0.0
    logarithms = [
        math.lgamma(of + 1)
        - math.lgamma(k + 1)
        - math.lgamma(of - k + 1)
        + k * math.log(share)
        + (of - k) * math.log1p(-share)
        for k in range(found, of + 1)
    ]
    return math.fsum(map(math.exp, logarithms))


def separating_tag(tags: Mapping[str, Integers], regular: Mask, irregular: Mask) -> str | None:
    """The tag that separates regular from irregular series: none of its values occurs with both.

    If there are several, the one with the fewest values; None if there is none. `tags`: per tag, the number of each
    series' value. `regular`, `irregular`: which series are; some may be neither.
    """
    values = {
        tag: count_distinct(numbers[regular | irregular])
        for tag, numbers in tags.items()
        if not np.intersect1d(numbers[regular], numbers[irregular]).size
    }
    return min(values, key=lambda tag: (values[tag], tag), default=None)
