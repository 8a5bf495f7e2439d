"""The series of a measurement as rows of codes: what tells them apart, and how many are left without some tags.

Two series are told apart by a sum of random 64-bit words, one per tag and value, so that leaving a tag out is a
subtraction. For ten million series the chance that any two sums agree by accident is 3 in a million.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis import dependencies
from tsaudit.profile import Contribution

_CHUNK: Final = 1 << 14
"""Rows added up together."""
_THREADS: Final = 2

_Codes = npt.NDArray[Any]
_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Drop:
    """Tags taken away together, by position, and what is left."""

    tag: int
    together_with: tuple[int, ...]
    series_left: int

    def named(self, names: Sequence[str]) -> Contribution:
        return Contribution(names[self.tag], tuple(sorted(names[i] for i in self.together_with)), self.series_left)


class SeriesTable:
    """Rows of codes, one column per tag; the same series may have several rows."""

    def __init__(self, columns: list[_Codes], levels: list[int], rows: int, series: int) -> None:
        self.columns = columns
        self.levels = levels
        self.rows = rows
        self.series = series
        random = np.random.default_rng(0)
        sizes = [int(c.max(initial=0)) + 1 for c in columns]
        self._words = [random.integers(0, 2**64 - 1, size, np.uint64, endpoint=True) for size in sizes]
        self._hash = self._sum(range(len(columns)))

    def _sum(self, tags: Iterable[int]) -> _Hashes:
        total = np.zeros(self.rows, np.uint64)
        for tag in tags:
            # Chunks keep the words of a few rows in fast memory until they are added.
            for at in range(0, self.rows, _CHUNK):
                total[at : at + _CHUNK] += self._words[tag].take(self.columns[tag][at : at + _CHUNK])
        return total

    def _without(self, dropped: set[int]) -> _Hashes:
        kept = [i for i in range(len(self.columns)) if i not in dropped]
        return self._sum(kept) if len(kept) < len(dropped) else self._hash - self._sum(dropped)

    def left_without(self, dropped: set[int]) -> int:
        """Series told apart by the other tags."""
        return _distinct(self._without(dropped))

    def first_rows(self, dropped: set[int]) -> npt.NDArray[np.int64]:
        """The rows at which a series, by the other tags, occurs for the first time."""
        return np.sort(np.unique(self._without(dropped), return_index=True)[1])

    @cached_property
    def determines(self) -> npt.NDArray[np.bool_]:
        """[x, y]: whether each value of x occurs with a single value of y; never so for constant y, or y = x."""
        return dependencies.single(self.columns, self.levels, self.series)

    def minimal_key(self) -> list[int]:
        """The tags left when all that can be spared are left out, those with few values first."""
        kept = [i for i in range(len(self.columns)) if self.levels[i] > 1]
        remaining = self._hash
        for tag in sorted(kept, key=lambda i: self.levels[i]):
            without = remaining - self._words[tag][self.columns[tag]]
            if any(self.determines[x, tag] for x in kept if x != tag) or _distinct(without.copy()) == self.series:
                kept.remove(tag)
                remaining = without
        return kept

    def contributions(self) -> list[Drop]:
        """The drop of each tag, in their order."""
        drops = [self._dropped_with(tag) for tag in range(len(self.columns))]
        if not drops:
            return []
        # A tag that determines all others goes in every drop: it is taken out of the sums once.
        always = set.intersection(*drops)
        rest = self._hash - self._sum(always) if always else self._hash

        def left(dropped: frozenset[int]) -> int:
            return _distinct(rest - self._sum(dropped - always))

        different = list(dict.fromkeys(frozenset(drop) for drop in drops))
        # numpy lets go of the interpreter while it sorts and adds; each thread holds a word or two per series.
        with ThreadPoolExecutor(_THREADS) as threads:
            lefts = dict(zip(different, threads.map(left, different), strict=True))
        return [
            Drop(tag, tuple(sorted(dropped - {tag})), lefts[frozenset(dropped)]) for tag, dropped in enumerate(drops)
        ]

    def _dropped_with(self, tag: int) -> set[int]:
        """The tag and those that determine it."""
        return {tag, *np.flatnonzero(self.determines[:, tag]).tolist()}

    def drop(self, tag: int) -> Drop:
        """The tag taken away, and with it every tag that determines it."""
        dropped = self._dropped_with(tag)
        return Drop(tag, tuple(sorted(dropped - {tag})), self.left_without(dropped))

    def is_free(self, tag: int) -> bool:
        """Whether the tag varies and only follows from tags that follow from it in turn, none of them before it."""
        by = np.flatnonzero(self.determines[:, tag])
        return self.levels[tag] > 1 and bool(self.determines[tag, by].all() and (by > tag).all())

    def after(self, drop: Drop, tags: Sequence[int]) -> tuple[SeriesTable, list[int]]:
        """The table without the dropped tags, and which of `tags` its columns are."""
        dropped = {drop.tag, *drop.together_with}
        kept = [i for i in range(len(self.columns)) if i not in dropped]
        columns, levels = [self.columns[i] for i in kept], [self.levels[i] for i in kept]
        # Looking for the first row of each series takes a slow sort: it has to make the rest much faster to pay.
        if drop.series_left > self.rows / 2:
            return SeriesTable(columns, levels, self.rows, drop.series_left), [tags[i] for i in kept]
        rows = self.first_rows(dropped)
        return SeriesTable([c[rows] for c in columns], levels, len(rows), len(rows)), [tags[i] for i in kept]


def _distinct(hashes: _Hashes) -> int:
    """How many differ; leaves them sorted, for a copy would take as much memory again."""
    # Sorting is vectorised for these; np.unique is not, and takes a hundred times as long.
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + 1 if len(hashes) else 0
