"""Finds the tags that distinguish rows with the same time, and so which rows would collide without some tags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.integer]
Bits = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]

MOST_NEIGHBORS: Final = 2_048
"""Rows with the same time that each row is compared with. Work grows with it only if this many share a time."""
MOST_SETS: Final = 64
_MOST_COMPARED: Final = 20_000_000
"""Values compared, all tags together: a few tenths of a second."""
_WORD: Final = 64


def distinguishing_tags(tags: Mapping[str, Integers], times: Integers) -> tuple[dict[frozenset[str], int], bool]:
    """The smallest sets of tags that alone distinguish two rows with the same time, and the number of rows of each set.

    `tags`: a number per row, the same for equal values, including one for an absent tag. `times`: a number per time.
    Rows that are equal in all tags and the time are left out, because no tag distinguishes them. Also returns whether
    all rows of each time were compared and all sets are included: then, if the dropped tags include none of these sets
    completely, no two rows become equal.
    """
    columns = np.array(list(tags.values()), np.int64).reshape(len(tags), len(times))
    rows, alike, neighbors = _instants_that_differ(columns, times)
    values, moments = columns[:, rows], times[rows]
    found = _Found(len(rows))
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
        found.note(sets, distance)
    names = list(tags)
    counts = {frozenset(names[n] for n in _numbered(key)): int(alike[told].sum()) for key, told in found.smallest()}
    kept = sorted(counts, key=lambda told: (len(told), sorted(told)))
    return {told: counts[told] for told in kept[:MOST_SETS]}, complete and len(kept) <= MOST_SETS


class _Found:
    """The sets of columns in which rows of one instant differ, and the rows of each, unless a smaller set is known."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._told: dict[bytes, Flags] = {}

    def note(self, sets: Bits, distance: int) -> None:
        """`sets`: shape (words, rows), see `_columns_that_differ`, of each row and the one at this distance."""
        for key in list(self._told):
            sets = self._without(key, sets, distance)
        while len(left := np.flatnonzero(sets.any(axis=0))):
            new = np.ascontiguousarray(sets[:, left].T)
            size = np.unpackbits(new.view(np.uint8), axis=1).sum(axis=1, dtype=np.int64)
            key = new[size.argmin()].tobytes()
            self._told[key] = np.zeros(self._rows, np.bool_)
            sets = self._without(key, sets, distance)

    def _without(self, key: bytes, sets: Bits, distance: int) -> Bits:
        """Mark the rows that differ in just this set; what differs in it and more is of no interest."""
        one = np.frombuffer(key, np.uint64)[:, None]
        told = np.flatnonzero((sets == one).all(axis=0))
        self._told[key][told] = self._told[key][told + distance] = True
        sets[:, ((sets & one) == one).all(axis=0)] = 0
        return sets

    def smallest(self) -> list[tuple[bytes, Flags]]:
        """The sets that contain no other set, each with the rows that it distinguishes from others with the
        same time.
        """
        numbered = {key: _numbered(key) for key in self._told}
        return [
            (key, told) for key, told in self._told.items() if not any(n < numbered[key] for n in numbered.values())
        ]


def _columns_that_differ(here: Integers, there: Integers) -> Bits:
    """Shape (words, rows): in which columns each row differs from its neighbor, as bits, 64 columns to a word."""
    words = np.zeros((-(-len(here) // _WORD), here.shape[1]), np.uint64)
    for number, (one, other) in enumerate(zip(here, there, strict=True)):
        words[number // _WORD] |= (one != other).astype(np.uint64) << np.uint64(number % _WORD)
    return words


def _numbered(key: bytes) -> frozenset[int]:
    """The numbers of the columns of a set."""
    return frozenset(np.flatnonzero(np.unpackbits(np.frombuffer(key, np.uint8), bitorder="little")).tolist())


def _instants_that_differ(columns: Integers, times: Integers) -> tuple[Integers, Integers, Integers]:
    """The rows of one instant for all that have the same series, biggest first, of how many instants each is, and how
    many other rows each one's instant has.

    Where all hosts report every minute, one minute tells what all tell.
    """
    series = _series(columns)
    order = np.lexsort((series, times))
    moments = times[order]
    starts = np.flatnonzero(np.append(True, moments[1:] != moments[:-1]))[: len(moments)]
    if not len(starts):
        return order, order, order
    # A sum of random numbers, one per series, stands for all series of an instant, however many times each is there.
    random = np.random.default_rng(0).integers(1, 2**63, int(series.max()) + 1)
    sums = np.add.reduceat(random[series[order]], starts)
    _, first, alike = np.unique(sums, return_index=True, return_counts=True)
    sizes = np.diff(np.append(starts, len(moments)))[first]
    biggest = np.argsort(-sizes, kind="stable")
    rows = np.concatenate(
        [order[starts[n] : starts[n] + size] for n, size in zip(first[biggest], sizes[biggest], strict=True)]
    )
    return rows, np.repeat(alike[biggest], sizes[biggest]), np.repeat(sizes[biggest] - 1, sizes[biggest])


def _series(columns: Integers) -> Integers:
    """A number per row, the same for the same values in all columns."""
    numbers = np.zeros(columns.shape[1], np.int64)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        _, numbers = np.unique(numbers * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return numbers
