"""How the value of a tag changes over time for one source, where the other tags say which source a row is of.

A tag that tells sources apart shows several values side by side; an attribute of the source keeps one value for long
and then has another; a measured value changes from row to row, and at each instant there is one of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Course:
    """What rows in the order of time show of one tag, source by source."""

    values: int
    """Distinct ones, absence counted as one."""
    sources: int
    """With rows at several instants."""
    changing: int
    """Of these, with more than one value."""
    pairs: int
    """Instants of the changing sources that follow one another."""
    changes: int
    """Of these, with another value than before."""
    by_chance: float
    """Changes to be expected if each source's values came in any order."""
    instants: int
    """Of all sources."""
    clashes: int
    """Of these, with several values at once."""
    roughness: float | None
    """Mean step between values that follow one another, by the mean step between any two of the source: near 1 for
    numbers in any order, near 0 for a slow curve. None where the values are no numbers or never change."""


def course(tag: Codes, source: Codes, time: Codes, numbers: Numbers | None = None) -> Course:
    """Looks at rows given by their codes: equal codes are equal values; those of `time` ascend with the time.

    `numbers`: for each code of the tag its value, NaN for none.
    """
    if not len(tag):
        return Course(0, 0, 0, 0, 0, 0.0, 0, 0, None)
    order = np.lexsort((tag, time, source))
    tag, source, time = tag[order], source[order], time[order]
    first = np.r_[True, (source[1:] != source[:-1]) | (time[1:] != time[:-1])]
    starts = np.flatnonzero(first)
    ends = np.r_[starts[1:], len(tag)] - 1
    # Sorted by value within an instant: it has one value where the first is the last.
    clashes = int((tag[starts] != tag[ends]).sum())
    values = len(np.unique(tag))
    tag, source = tag[starts], source[starts]
    same = source[1:] == source[:-1]
    differs = same & (tag[1:] != tag[:-1])
    size = int(source.max()) + 1
    pairs = np.bincount(source[1:][same], minlength=size)
    changes = np.bincount(source[1:][differs], minlength=size)
    changing = changes > 0
    return Course(
        values=values,
        sources=int((pairs > 0).sum()),
        changing=int(changing.sum()),
        pairs=int(pairs[changing].sum()),
        changes=int(changes.sum()),
        by_chance=float((pairs * _differing(tag, source, size))[changing].sum()),
        instants=len(starts),
        clashes=clashes,
        roughness=None if numbers is None else _roughness(numbers[tag], source, same, changing),
    )


def shared(tag: Codes, other: Codes) -> int:
    """How many values of the tag occur with several of the other one."""
    width = int(other.max(initial=0)) + 1
    return int((np.bincount(np.unique(tag * width + other) // width) > 1).sum())


def other_sources(tags: Sequence[Codes]) -> list[Codes]:
    """For each tag, a number per row that says which source it is of by all other tags."""
    count = len(tags)
    rows = len(tags[0]) if tags else 0
    before = [np.zeros(rows, np.int64)]
    after = [np.zeros(rows, np.int64)]
    for i in range(count - 1):
        before.append(_combined(before[-1], tags[i]))
        after.append(_combined(after[-1], tags[count - 1 - i]))
    return [_combined(before[i], after[count - 1 - i]) for i in range(count)]


def _combined(first: Codes, second: Codes) -> Codes:
    """A number for each combination that occurs."""
    _, inverse = np.unique(first * (int(second.max(initial=0)) + 1) + second, return_inverse=True)
    number: Codes = inverse.astype(np.int64)
    return number


def _differing(tag: Codes, source: Codes, size: int) -> Numbers:
    """For each source the chance that two of its instants differ in value."""
    both, times = np.unique(source * (int(tag.max()) + 1) + tag, return_counts=True)
    number = np.bincount(source, minlength=size).astype(np.float64)
    same = np.bincount(both // (int(tag.max()) + 1), weights=times * (times - 1.0), minlength=size)
    every = number * (number - 1)
    return np.where(every > 0, 1 - same / np.maximum(every, 1), 0.0)


def _roughness(
    values: Numbers, source: Codes, same: npt.NDArray[np.bool_], changing: npt.NDArray[np.bool_]
) -> float | None:
    known = ~np.isnan(values) & changing[source]
    steps = np.abs(values[1:] - values[:-1])[same & known[1:] & known[:-1]]
    values, source = values[known], source[known]
    if not len(steps):
        return None
    order = np.lexsort((values, source))
    values, source = values[order], source[order]
    count = np.bincount(source)[source]
    place = np.arange(len(source)) - np.searchsorted(source, source)
    # The mean difference of any two of n ordered values x is the sum of (2i - n + 1) x_i by n (n - 1) / 2, and a source
    # has n - 1 steps: https://en.wikipedia.org/wiki/Mean_absolute_difference
    expected = float(((2 * place - count + 1) * values / (count / 2)).sum())
    return float(steps.sum()) / expected if expected > 0 else None
