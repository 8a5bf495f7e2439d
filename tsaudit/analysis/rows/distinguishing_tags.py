"""Finds the tags that distinguish rows with the same time, and counts the rows that would overwrite another one without
some of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.integer]
Bits = npt.NDArray[np.uint64]

MOST_NEIGHBORS: Final = 2_048
"""Rows with the same time that each row is compared with. Work grows with it only if this many share a time."""
MOST_SETS: Final = 64
_MOST_COMPARED: Final = 20_000_000
"""Values compared, all tags together: a few tenths of a second."""
_WORD: Final = 64


def distinguishing_tags(tags: Mapping[str, Integers], times: Integers) -> tuple[list[frozenset[str]], bool]:
    """The smallest sets of tags that alone distinguish two rows with the same time; fewest tags first.

    `tags`: a number per row, the same for equal values, including one for an absent tag. `times`: a number per time.
    Rows that are equal in all tags and the time are left out, because no tag distinguishes them. Also returns whether
    all rows of each time were compared and all sets are included: then, if the dropped tags include none of these sets
    completely, no two rows become equal.
    """
    columns = np.array(list(tags.values()), np.int64).reshape(len(tags), len(times))
    rows, neighbors = _instants_that_differ(columns, times)
    values, moments = columns[:, rows], times[rows]
    found = _Found()
    complete, compared = True, 0
    for distance in range(1, int(neighbors.max(initial=0)) + 1):
        # Those of the biggest instants come first, so all that have a neighbor that far lie together.
        end = int(np.searchsorted(-neighbors, -distance, side="right"))
        compared += end * len(values)
        if distance > MOST_NEIGHBORS or compared > _MOST_COMPARED:
            complete = False
            break
        sets = _columns_that_differ(values[:, : end - distance], values[:, distance:end])
        sets[:, moments[: end - distance] != moments[distance:end]] = 0
        found.note(sets)
    names = list(tags)
    smallest = [frozenset(names[n] for n in numbers) for numbers in found.smallest()]
    smallest.sort(key=lambda one: (len(one), sorted(one)))
    return smallest[:MOST_SETS], complete and len(smallest) <= MOST_SETS


def overwritten(
    tags: Mapping[str, Integers], times: Integers, sets: Iterable[frozenset[str]]
) -> dict[frozenset[str], int]:
    """For each set of tags, how many rows would overwrite another one without them.

    `tags`, `times`: as above. Rows that are equal in all tags and the time today count as one.
    """
    random = np.random.default_rng(0)
    # A row is the sum of random numbers, one for each value; without a tag, its number is subtracted.
    numbers = {tag: _random_numbers(random, column) for tag, column in tags.items()}
    whole = sum(numbers.values(), _random_numbers(random, times))
    now = len(np.unique(whole))
    return {names: now - len(np.unique(whole - sum((numbers[n] for n in names), np.uint64(0)))) for names in sets}


def _random_numbers(random: np.random.Generator, column: Integers) -> Bits:
    _, codes = np.unique(column, return_inverse=True)
    found: Bits = random.integers(0, 2**64, int(codes.max(initial=0)) + 1, np.uint64)[codes]
    return found


class _Found:
    """The sets of columns in which two rows of one instant differ, unless a smaller set is known."""

    def __init__(self) -> None:
        self._known: list[bytes] = []

    def note(self, sets: Bits) -> None:
        """`sets`: shape (words, rows), see `_columns_that_differ`."""
        for key in self._known:
            sets = self._without(key, sets)
        while len(left := np.flatnonzero(sets.any(axis=0))):
            new = np.ascontiguousarray(sets[:, left].T)
            size = np.unpackbits(new.view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)
            self._known.append(new[size.argmin()].tobytes())
            sets = self._without(self._known[-1], sets)

    def _without(self, key: bytes, sets: Bits) -> Bits:
        """What differs in this set and more is of no interest."""
        one = np.frombuffer(key, np.uint64)[:, None]
        sets[:, ((sets & one) == one).all(axis=0)] = 0
        return sets

    def smallest(self) -> list[frozenset[int]]:
        """The sets that contain no other set."""
        numbered = [_numbered(key) for key in self._known]
        return [numbers for numbers in numbered if not any(other < numbers for other in numbered)]


def _columns_that_differ(here: Integers, there: Integers) -> Bits:
    """Shape (words, rows): in which columns each row differs from its neighbor, as bits, 64 columns to a word."""
    words = np.zeros((-(-len(here) // _WORD), here.shape[1]), np.uint64)
    for number, (one, other) in enumerate(zip(here, there, strict=True)):
        words[number // _WORD] |= (one != other).astype(np.uint64) << np.uint64(number % _WORD)
    return words


def _numbered(key: bytes) -> frozenset[int]:
    """The numbers of the columns of a set."""
    return frozenset(np.flatnonzero(np.unpackbits(np.frombuffer(key, np.uint8), bitorder="little")).tolist())


def _instants_that_differ(columns: Integers, times: Integers) -> tuple[Integers, Integers]:
    """The rows of one instant for all that have the same series, biggest first, and how many other rows each one's
    instant has.

    Where all hosts report every minute, one minute tells what all tell.
    """
    series = _series(columns)
    order = np.lexsort((series, times))
    moments = times[order]
    starts = np.flatnonzero(np.append(True, moments[1:] != moments[:-1]))[: len(moments)]
    if not len(starts):
        return order, order
    # A sum of random numbers, one per series, stands for all series of an instant, however many times each is there.
    random = np.random.default_rng(0).integers(1, 2**63, int(series.max()) + 1)
    sums = np.add.reduceat(random[series[order]], starts)
    _, first = np.unique(sums, return_index=True)
    sizes = np.diff(np.append(starts, len(moments)))[first]
    biggest = np.argsort(-sizes, kind="stable")
    rows = np.concatenate(
        [order[starts[n] : starts[n] + size] for n, size in zip(first[biggest], sizes[biggest], strict=True)]
    )
    return rows, np.repeat(sizes[biggest] - 1, sizes[biggest])


def _series(columns: Integers) -> Integers:
    """A number per row, the same for the same values in all columns."""
    numbers = np.zeros(columns.shape[1], np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return numbers
