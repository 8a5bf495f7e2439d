"""Counts the distinct rows of a table of codes, for many selections of its columns at once.

If a selection has few combinations of codes, the ones that occur are marked. Otherwise, rows are compared by a sum of
random 64-bit words, one per column and code: for ten million rows, the probability that any two sums collide is 3 in a
million. A row that is unique in some columns is unique in every selection that contains them, so most rows are examined
for only a few selections.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

_CHUNK: Final = 1 << 14
"""Number of rows summed in one batch: few enough to fit in the CPU cache."""
_ROOM: Final = 2
"""Maximum number of possible combinations, per row, for which the ones that occur are marked."""
_TRY_ON: Final = 1 << 16
"""Number of rows on which to test whether separating unique rows pays off."""
_MOST_EQUALS: Final = 1.0
"""Separating pays off if a row has at most this many duplicates on average."""

Codes = npt.NDArray[Any]
Choice = frozenset[int]
"""A selection of columns, as positions."""
_Hashes = npt.NDArray[np.uint64]
_Rows = npt.NDArray[np.int64]


class RowCounter:
    """Counts rows that are distinct in some of the columns. Columns contain codes from 0 on, all of the same length."""

    def __init__(self, columns: Sequence[Codes], rows: int) -> None:
        self._columns = columns
        self._rows = rows
        self._sizes = [int(column.max(initial=0)) + 1 for column in columns]
        self._words: dict[int, _Hashes] = {}

    def counts(self, choices: Collection[Choice]) -> dict[Choice, int]:
        """The number of distinct rows, for each selection of columns."""
        found: dict[Choice, int] = {}
        few = [choice for choice in choices if choice and self._combinations(choice) <= _ROOM * self._rows]
        many = sorted(set(choices) - set(few), key=self._largest_missing(choices))
        self._draw_words(set().union(*many))
        columns = dict(enumerate(self._columns))
        nothing = _zeros(self._rows)

        def share(part: Sequence[Choice]) -> dict[Choice, int]:
            return dict(self._divided(columns, nothing, frozenset(), part, 0))

        # Each thread needs a few words per row.
        found |= zip(few, in_threads(self._marked, few, self._rows), strict=True)
        for part in in_threads(share, _halves(many), self._rows):
            found |= part
        return found

    def groups(self, choice: Choice) -> tuple[int, int]:
        """The number of distinct rows in these columns, and how many of them occur only once."""
        self._draw_words(choice)
        hashes = self._sum(dict(enumerate(self._columns)), choice, _zeros(self._rows))
        hashes.sort()
        new = np.ones(len(hashes) + 1, np.bool_)
        new[1:-1] = hashes[1:] != hashes[:-1]
        return int(np.count_nonzero(new)) - 1, int(np.count_nonzero(new[1:] & new[:-1]))

    def first_rows(self, choice: Choice) -> _Rows:
        """The rows, ascending, in which a combination of these columns occurs for the first time."""
        self._draw_words(choice)
        hashes = self._sum(dict(enumerate(self._columns)), choice, _zeros(self._rows))
        again, origin = alike(hashes.copy())
        is_first = np.ones(self._rows, np.bool_)
        is_first[again] = origin == np.arange(len(again))
        # Only the higher bits were compared: a row may still differ from the first one of its group.
        own = hashes[again]
        others = again[own != own[origin]]
        is_first[others[np.unique(hashes[others], return_index=True)[1]]] = True
        return np.flatnonzero(is_first)

    def _combinations(self, choice: Choice) -> int:
        return math.prod(self._sizes[column] for column in choice)

    def _largest_missing(self, choices: Iterable[Choice]) -> Any:
        """A sort key that groups selections by the large columns they lack."""
        used = sorted(frozenset().union(*choices), key=self._sizes.__getitem__, reverse=True)
        return lambda choice: [at for at, column in enumerate(used) if column not in choice]

    def _draw_words(self, columns: Iterable[int]) -> None:
        for column in columns:
            if column not in self._words:
                random = np.random.default_rng([0, column])
                self._words[column] = random.integers(0, 2**64 - 1, self._sizes[column], np.uint64, endpoint=True)

    def _marked(self, choice: Choice) -> int:
        widths = [self._sizes[column] for column in choice]
        seen = np.zeros(math.prod(widths), np.bool_)
        for rows in _chunks(self._rows):
            seen[numbered([self._columns[column][rows] for column in choice], widths, np.intp)] = True
        return int(np.count_nonzero(seen))

    def _divided(
        self, columns: Mapping[int, Codes], sums: _Hashes, summed: Choice, choices: Sequence[Choice], alone: int
    ) -> Iterator[tuple[Choice, int]]:
        """The count for each selection. `sums`: the sums over the columns `summed`, per row. `alone`: number of unique
        rows separated earlier.
        """
        if not choices:
            return
        common = choices[0].intersection(*choices)
        sums = self._sum(columns, common - summed, sums)
        if len(choices) == 1:
            yield choices[0], alone + _distinct(sums)
            return
        if _most_are_alone(sums):
            again = _maybe_repeated(sums)
            alone += len(sums) - len(again)
            columns = {c: columns[c][again] for c in frozenset().union(*choices)}
            # Recomputing the sums of a few rows takes less time and memory than keeping the sums of all rows.
            sums = self._sum(columns, common, _zeros(len(again)))
        for half in _halves(choices):
            yield from self._divided(columns, sums, common, half, alone)

    def _sum(self, columns: Mapping[int, Codes], added: Choice, sums: _Hashes) -> _Hashes:
        total = np.empty(len(sums), np.uint64)
        for rows in _chunks(len(sums)):
            part = total[rows]
            part[:] = sums[rows]
            for column in added:
                part += self._words[column].take(columns[column][rows])
        return total


def numbered(columns: Sequence[Codes], widths: Sequence[int], dtype: npt.DTypeLike) -> Codes:
    """A number per row for its combination of codes, each less than its width; `dtype` must hold the product of the
    widths.
    """
    numbers = columns[0].astype(dtype)
    for column, width in zip(columns[1:], widths[1:], strict=True):
        numbers *= numbers.dtype.type(width)
        np.add(numbers, column, out=numbers, casting="unsafe")
    return numbers


def _chunks(rows: int) -> Iterator[slice]:
    return (slice(at, at + _CHUNK) for at in range(0, rows, _CHUNK))


def _halves(choices: Sequence[Choice]) -> tuple[Sequence[Choice], Sequence[Choice]]:
    middle = (len(choices) + 1) // 2
    return choices[:middle], choices[middle:]


def _distinct(hashes: _Hashes) -> int:
    """The number of distinct sums. Sorts them in place, because a copy would need the same memory again."""
    # Sorting is vectorized for these types; np.unique is not, and takes a hundred times as long.
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + 1 if len(hashes) else 0


def _most_are_alone(hashes: _Hashes) -> bool:
    """Whether so few rows seem to be duplicates that separating the unique rows pays off."""
    rows = len(hashes)
    if rows <= _TRY_ON:
        return True
    some = np.sort(np.random.default_rng(0).integers(0, rows, _TRY_ON))
    tried = hashes[some[np.diff(some, prepend=-1) > 0]]
    equal_pairs = len(tried) - _distinct(tried)
    return 2 * equal_pairs * rows <= _MOST_EQUALS * len(tried) ** 2


def _maybe_repeated(hashes: _Hashes) -> _Rows:
    """All rows that share their hash with another row, and possibly a few more. Overwrites the hashes."""
    order, bits = _sorted_with_rows(hashes)
    return _rows_in(order[_with_neighbours(_equal_to_previous(order, bits))], bits)


def alike(hashes: _Hashes) -> tuple[_Rows, _Rows]:
    """The rows whose hash has the same higher bits as another row's, ascending. Overwrites the hashes.

    Also returns, for each of them, the first row it matches, as a position among them.
    """
    order, bits = _sorted_with_rows(hashes)
    equal = _equal_to_previous(order, bits)
    grouped = _with_neighbours(equal)
    rows, starts = _rows_in(order[grouped], bits), np.flatnonzero(~equal[grouped])
    ascending = np.argsort(rows)
    position = np.empty(len(rows), np.int64)
    position[ascending] = np.arange(len(rows))
    first = np.repeat(position[starts], np.diff(starts, append=len(rows)))
    return rows[ascending], first[ascending]


def _rows_in(order: _Hashes, bits: int) -> _Rows:
    return (order & np.uint64((1 << bits) - 1)).astype(np.int64)


def _with_neighbours(equal: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """`[i]`: whether i equals its predecessor or its successor."""
    either = equal.copy()
    either[:-1] |= equal[1:]
    return either


def _sorted_with_rows(hashes: _Hashes) -> tuple[_Hashes, int]:
    """The higher bits of each hash with its row number in the lower bits, sorted; and the number of lower bits.

    One vectorized in-place sort of single words: sorting rows by hash takes ten times as long.
    """
    bits = max(len(hashes) - 1, 0).bit_length()
    for rows in _chunks(len(hashes)):
        part = hashes[rows]
        part &= ~np.uint64((1 << bits) - 1)
        part += np.arange(rows.start, rows.start + len(part), dtype=np.uint64)
    hashes.sort()
    return hashes, bits


def _equal_to_previous(order: _Hashes, bits: int) -> npt.NDArray[np.bool_]:
    """`[i]`: whether the higher bits of i and i - 1 are equal."""
    equal = np.zeros(len(order), np.bool_)
    for rows in _chunks(len(order) - 1):
        part = equal[1:][rows]
        following, here = order[rows.start + 1 :][: len(part)], order[rows.start :][: len(part)]
        np.less(following ^ here, np.uint64(1 << bits), out=part)
    return equal


def _zeros(rows: int) -> _Hashes:
    """Zeros that share the memory of a single element."""
    return np.broadcast_to(np.uint64(0), rows)


Part = TypeVar("Part")
Result = TypeVar("Result")

_THREADS: Final = 2
_WORTH_A_THREAD: Final = 20_000
"""With fewer rows, starting a thread takes longer than the work itself."""


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part], rows: int) -> list[Result]:
    """The results for all parts, in order. `rows`: the number of rows that each part processes."""
    if rows < _WORTH_A_THREAD:
        return [work(part) for part in parts]
    with ThreadPoolExecutor(_THREADS) as threads:
        return list(threads.map(work, parts))
