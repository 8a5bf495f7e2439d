"""How regularly points arrive, to distinguish metrics collected at fixed intervals from events; how the value of a tag
changes over time for one source, if the other tags identify the source of a row; and whether its values come and go for
the same sources, or recur.

Regularity is the median absolute deviation of the intervals from their median, divided by that median: 0 for a clock;
about 0.69 if every instant is equally likely (exponential intervals have the median ln 2 and the deviation 0.481). Up
to half of the intervals may be arbitrary without changing it much, so outages and a few missing points do not turn a
metric into an event.

A tag that identifies sources has several values at the same time; an attribute of the source keeps one value for long
and then switches to another; a measured value changes from row to row, with one value at each time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import Codes, changes, combined, count_distinct, counted, distinct, order_by
from tsaudit.model.columns import TagChanges, Turnover
from tsaudit.model.figures import Source

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


Numbers = npt.NDArray[np.float64]


def changes_of(
    tag: Codes,
    source: Codes,
    time: Codes,
    numbers: Numbers | None = None,
    *,
    by: tuple[str, ...] = (),
    measured: Source,
) -> TagChanges:
    """Examines rows given by their codes: equal codes are equal values, and codes of `time` are in time order.

    `numbers`: for each code of the tag, its value; NaN if it is not a number. `by` and `measured` are passed on as they
    are; `shared` is left at 0.
    """
    if not len(tag):
        return TagChanges(by, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, None, measured)
    values = len(counted(tag, int(tag.max()) + 1)[0])
    order = order_by(source, time)
    tag, source, time = tag[order], source[order], time[order]
    starts = np.flatnonzero(changes(source) | changes(time))
    lowest = np.minimum.reduceat(tag, starts)
    clashes = int((lowest != np.maximum.reduceat(tag, starts)).sum())
    # One value stands for an instant.
    tag, source = lowest, source[starts]
    same = source[1:] == source[:-1]
    differs = same & (tag[1:] != tag[:-1])
    size = int(source.max()) + 1
    pairs = np.bincount(source[1:][same], minlength=size)
    of_sources = TagChanges(by, values, 0, int((pairs > 0).sum()), 0, 0, 0, 0.0, len(starts), clashes, None, measured)
    if not differs.any():
        return of_sources
    switches = np.bincount(source[1:][differs], minlength=size)
    changing = switches > 0
    return replace(
        of_sources,
        changing=int(changing.sum()),
        pairs=int(pairs[changing].sum()),
        changes=int(switches.sum()),
        by_chance=float((pairs * _differing(tag, source, size))[changing].sum()),
        roughness=None if numbers is None else _roughness(numbers[tag], source, same, changing),
    )


def shared(tag: Codes, other: Codes) -> int:
    """The number of its values that occur with several values of another tag."""
    width = int(tag.max(initial=0)) + 1
    pairs, _ = counted(other * width + tag, (int(other.max(initial=0)) + 1) * width)
    return int((np.bincount(pairs % width) > 1).sum())


def other_sources(tags: Sequence[Codes]) -> list[Codes]:
    """For each tag, a number per row that identifies its source by all other tags."""
    count = len(tags)
    rows = len(tags[0]) if tags else 0
    before = [np.zeros(rows, np.int64)]
    after = [np.zeros(rows, np.int64)]
    for i in range(count - 1):
        before.append(combined([before[-1], tags[i]], rows))
        after.append(combined([after[-1], tags[count - 1 - i]], rows))
    return [combined([before[i], after[count - 1 - i]], rows) for i in range(count)]


def _differing(tag: Codes, source: Codes, size: int) -> Numbers:
    """For each source, the probability that two of its instants differ in value."""
    width = int(tag.max()) + 1
    both, times = counted(source * width + tag, size * width)
    number = np.bincount(source, minlength=size).astype(np.float64)
    same = np.bincount(both // width, weights=times * (times - 1.0), minlength=size)
    every = number * (number - 1)
    return np.where(every > 0, 1 - same / np.maximum(every, 1), 0.0)


def _roughness(
    values: Numbers, source: Codes, same: npt.NDArray[np.bool_], changing: npt.NDArray[np.bool_]
) -> float | None:
    values = np.where(np.isinf(values), np.nan, values)
    known = ~np.isnan(values) & changing[source]
    steps = np.abs(values[1:] - values[:-1])[same & known[1:] & known[:-1]]
    values, source = values[known], source[known]
    if not len(steps):
        return None
    order = order_by(source, values)
    values, source = values[order], source[order]
    count = np.bincount(source)[source]
    place = np.arange(len(source)) - np.searchsorted(source, source)
    # The mean difference of any two of n ordered values x is the sum of (2i - n + 1) x_i by n (n - 1) / 2, and a source
    # has n - 1 steps: https://en.wikipedia.org/wiki/Mean_absolute_difference
    expected = float(((2 * place - count + 1) * values / (count / 2)).sum())
    return float(steps.sum()) / expected if expected > 0 else None


_PARTS: Final = 3
_FEWEST_INSTANTS: Final = 6
"""Of a source: two in each part."""
_LASTING_US: Final = 3_600_000_000
"""What reports for an hour or more is a source itself, however soon another takes its place."""
_LASTING_INSTANTS: Final = 3
_DUE: Final = 1.5
"""What has not come for so many times its mean spacing has ended."""


def turnover_of(
    tag: Codes, source: Codes, times_us: Codes, *, by: tuple[str, ...] | None = (), measured: Source
) -> Turnover | None:
    """Examines rows given by their codes: equal codes are equal values. None if no source has enough instants."""
    order = order_by(source, times_us)
    tag, source, times_us = tag[order], source[order], times_us[order]
    debuts = np.full(int(tag.max(initial=0)) + 1, times_us.max(initial=0))
    np.minimum.at(debuts, tag, times_us)
    starts = changes(source)
    begins = starts | changes(times_us)
    number = np.cumsum(begins) - 1
    of_source = np.cumsum(starts) - 1
    first = number[starts]
    instants = np.diff(np.append(first, number[-1] + 1 if len(number) else 0))[of_source]
    part = (number - first[of_source]) * _PARTS // instants
    if by is None and len(times_us):
        # Most instants may be those of one busy series, which may have begun long after the others.
        part = (times_us - times_us.min()) * _PARTS // (times_us.max() - times_us.min() + 1)
    enough = instants >= _FEWEST_INSTANTS
    if not enough.any():
        return None
    if not enough.all():
        tag, of_source, number, part, times_us = (all_[enough] for all_ in (tag, of_source, number, part, times_us))
    last_parts = np.full(int(of_source.max()) + 1, times_us.max())
    np.minimum.at(last_parts, of_source[part == _PARTS - 1], times_us[part == _PARTS - 1])
    ends = np.full(len(last_parts), times_us.min())
    np.maximum.at(ends, of_source, times_us)
    pair = combined([of_source, tag], len(tag))
    order = order_by(pair, number)
    pair, number, part, times_us = pair[order], number[order], part[order], times_us[order]
    is_first = changes(pair)
    is_last = np.append(is_first[1:], True)
    seen = np.add.reduceat(is_first | changes(number), np.flatnonzero(is_first))
    lasting = (seen >= _LASTING_INSTANTS) & (times_us[is_last] - times_us[is_first] >= _LASTING_US)
    began, ended, owner = part[is_first], part[is_last], of_source[order][is_first]
    # What comes slowly is not gone because others come so fast that the last part is shorter than its spacing.
    spacing = (times_us[is_last] - times_us[is_first]) / np.maximum(seen - 1, 1)
    is_due = (seen >= _LASTING_INSTANTS) & (times_us[is_last] + _DUE * spacing >= ends[owner])
    is_new = began == _PARTS - 1
    is_new_value = is_new & (debuts[tag[order][is_first]] >= last_parts[owner])
    # Each instant is of one source.
    _, one = np.unique(np.where(began > 0, number[is_first], -1), return_index=True)
    switches = np.bincount(owner[one[began[one] > 0]], minlength=int(owner.max()) + 1)
    return Turnover(
        by=by,
        sources=count_distinct(of_source),
        first=int((began == 0).sum()),
        again=int(((began == 0) & ((ended == _PARTS - 1) | is_due)).sum()),
        new=int(is_new.sum()),
        new_values=int(is_new_value.sum()),
        going_on=int((is_new & (switches[owner] > 1)).sum()),
        pairs=len(began),
        lasting_ratio=float(lasting.mean()),
        hours=float(times_us.max() - times_us.min()) / _LASTING_US,
        source=measured,
    )
