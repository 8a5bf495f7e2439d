"""How evenly points come: what is collected at fixed intervals, told from what happens when it happens.

The measure of a stream of points is the median absolute deviation of its intervals from their median, as a share of
that median: 0 for a clock; about 0.69 where each instant is as likely as any other (exponential intervals have the
median ln 2 and the deviation 0.481). Half of the intervals may be anything without moving it much, so that outages and
a few missing points turn no metric into an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

MIN_INTERVALS: Final = 8
"""With fewer, one stream in a hundred of random instants would pass for a clock; with eight, one in a thousand does."""
EVEN: Final = 0.1
"""Up to this the intervals are those of a clock that jitters."""
UNEVEN: Final = 0.4
"""From this on they are those of events; what lies between is called neither."""


@dataclass(frozen=True, slots=True)
class Spacing:
    """The intervals between points, series by series; entries belong together."""

    series: Integers
    """The numbers of the series, ascending."""
    intervals: Integers
    """How many there are. Points of one instant count as one."""
    median: npt.NDArray[np.float64]
    """In the unit of the times; NaN without intervals."""
    unevenness: npt.NDArray[np.float64]
    """Median absolute deviation by median; NaN without intervals."""

    @property
    def regular(self) -> Mask:
        return (self.intervals >= MIN_INTERVALS) & (self.unevenness <= EVEN)

    @property
    def irregular(self) -> Mask:
        return (self.intervals >= MIN_INTERVALS) & (self.unevenness >= UNEVEN)


def spacing(series: Integers, times: Integers) -> Spacing:
    """How the points of each series follow one another. A series and a time for each point, in any order."""
    numbers = np.unique(series)
    order = np.lexsort((times, series))
    steps, owner = np.diff(times[order]), series[order][1:]
    inside = (owner == series[order][:-1]) & (steps > 0)
    steps, owner = steps[inside].astype(np.float64), np.searchsorted(numbers, owner[inside])
    counts = np.bincount(owner, minlength=len(numbers))
    median = _medians(steps, owner, counts)
    deviation = _medians(np.abs(steps - median[owner]), owner, counts)
    return Spacing(numbers, counts, median, deviation / median)


def _medians(
    values: npt.NDArray[np.float64], owner: npt.NDArray[np.intp], counts: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    """The median of each owner's values, which stand together; NaN for one without."""
    ordered = values[np.lexsort((values, owner))]
    found = np.full(len(counts), np.nan)
    some = counts > 0
    first = np.cumsum(counts)[some] - counts[some]
    low, high = first + (counts[some] - 1) // 2, first + counts[some] // 2
    found[some] = (ordered[low] + ordered[high]) / 2
    return found


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How the values of one field come."""

    regular: Integers
    """The series in which they come at even intervals."""
    irregular: Integers
    """Those in which they come at uneven ones, mostly in rows of their own."""
    interval: float | None
    """The median interval of the regular ones, in the unit of the times; None without any."""


def rhythms(series: Integers, times: Integers, filled: Mapping[str, Mask]) -> dict[str, Rhythm]:
    """For each field, in which series its values come at even and in which at uneven intervals.

    `filled`: which rows have a value in the field. A value that comes now and then, but in the rows of a clock, is an
    optional part of a metric and no event: a stream is irregular only if most of its rows are none of a regular one.
    """
    if not filled:
        return {}
    spacings: dict[bytes, Spacing] = {}
    clocked = np.zeros(len(series), np.bool_)
    for mask in filled.values():
        if mask.tobytes() not in spacings:
            found = spacings[mask.tobytes()] = spacing(series[mask], times[mask])
            clocked[mask] |= np.isin(series[mask], found.series[found.regular])
    # No field of its own keeps the time, but the rows together do: fields that take turns at random.
    whole = spacing(series, times)
    clocked |= np.isin(series, np.setdiff1d(whole.series[whole.regular], series[clocked]))
    return {field: _rhythm(spacings[mask.tobytes()], series[mask], clocked[mask]) for field, mask in filled.items()}


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


def told_apart(tags: Mapping[str, Integers], regular: Mask, irregular: Mask) -> str | None:
    """The tag of which no value occurs with both kinds of series: that with the fewest values; None if there is none.

    `tags`: the number of each series' value, per tag. `regular`, `irregular`: which series are; some are neither.
    """
    values = {
        tag: len(np.unique(numbers[regular | irregular]))
        for tag, numbers in tags.items()
        if not np.intersect1d(numbers[regular], numbers[irregular]).size
    }
    return min(values, key=lambda tag: (values[tag], tag), default=None)
