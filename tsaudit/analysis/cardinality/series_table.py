"""The series of a measurement as rows of codes: which tags identify the series, which tags are determined by others,
and how many series are left without some tags.

A table has one column of codes per tag, numbered from 0 and as narrow as possible, all of the same length. A tag x
determines a tag y if each value of x occurs with only one value of y. Nothing is estimated: the sample that is read
first only serves to refute dependencies, and a dependency refuted by a sample is refuted for all rows.

Distinct rows are counted for many selections of columns at once. If a selection has few combinations of codes, the ones
that occur are marked. Otherwise, rows are compared by a sum of random 64-bit words, one per column and code: for ten
million rows, the probability that any two sums collide is 3 in a million. A row that is unique in some columns is
unique in every selection that contains them, so most rows are examined for only a few selections.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from tsaudit.model.columns import Contribution

_LUCK: Final = 0.01
"""Highest probability, per measurement, of reporting a coincidence as a dependency."""


@dataclass(frozen=True, slots=True)
class Drop:
    """Tags that are removed together, as column positions, and the number of series left."""

    tag: int
    together_with: tuple[int, ...]
    series_left: int

    @property
    def tags(self) -> frozenset[int]:
        return frozenset((self.tag, *self.together_with))

    def named(self, names: Sequence[str]) -> Contribution:
        return Contribution(names[self.tag], tuple(sorted(names[i] for i in self.together_with)), self.series_left)


class SeriesTable:
    """Rows of codes, one column per tag; a series may have several rows.

    `levels`: number of distinct codes per column. `determines`: if already known, skips the search. `total`: number of
    series if the rows are only a sample of them; None if they are all.
    """

    def __init__(
        self,
        columns: list[Codes],
        levels: list[int],
        rows: int,
        series: int,
        determines: Determines | None = None,
        total: int | None = None,
    ) -> None:
        self.columns = columns
        self.levels = levels
        self.rows = rows
        self.series = series
        self._known_determines = determines
        self._is_sample = total is not None
        self.total = series if total is None else total
        self._counter = RowCounter(columns, rows)
        self._known = {frozenset([tag]): count for tag, count in enumerate(levels)}
        self._known[frozenset()] = min(rows, 1)

    @property
    def _tags(self) -> Choice:
        return frozenset(range(len(self.columns)))

    def groups_without(self, dropped: Iterable[int]) -> tuple[int, int]:
        """The number of series without these tags, and how many of them have only one row."""
        return self._counter.groups(self._tags.difference(dropped))

    def first_rows(self, dropped: Iterable[int] = ()) -> npt.NDArray[np.int64]:
        """The rows where a series, without these tags, occurs for the first time."""
        return self._counter.first_rows(self._tags.difference(dropped))

    @cached_property
    def determines(self) -> Determines:
        """`[x, y]`: whether each value of x occurs with only one value of y; never for a constant y or y = x."""
        if self._known_determines is not None:
            return self._known_determines
        return single(self.columns, self.levels, self.series)

    def certain_dependencies(self, unique: Sequence[bool]) -> list[tuple[int, int]]:
        """Pairs (x, y) in which tag x determines tag y, without those that may be a coincidence: rows that repeat a
        value of x could have contradicted it, and there must be so many that unrelated tags would hardly ever agree in
        all of them.

        `unique`: tags that identify every series, including series outside the table; they determine all others by
        definition.
        """
        pairs = [(int(x), int(y)) for x, y in zip(*np.nonzero(self.determines), strict=True)]
        sameness = {y: _sameness(self.columns[y]) for _, y in pairs}
        tried = len(self.columns) * (len(self.columns) - 1)

        def is_no_luck(x: int, y: int) -> bool:
            repeats = self.rows - self.levels[x]
            return sameness[y] < 1 and repeats * math.log(1 / sameness[y]) > math.log(tried / _LUCK)

        return [(x, y) for x, y in pairs if unique[x] or is_no_luck(x, y)]

    @cached_property
    def _spares(self) -> npt.NDArray[np.bool_]:
        """`[x, y]`: whether y is redundant next to x; of tags that determine each other, the first is kept."""
        mutual = self.determines & self.determines.T
        return self.determines & ~np.tril(mutual)

    def _lefts(self, kept: Iterable[Choice]) -> list[int]:
        """The number of series for each selection of kept tags."""
        choices = [self._distinguishing(tags) for tags in kept]
        self._known |= self._counter.counts(set(choices) - set(self._known))
        return [self._known[choice] for choice in choices]

    def _distinguishing(self, tags: Choice) -> Choice:
        """A subset of the tags that distinguishes as many series as all of them: the others are constant or determined
        by these.
        """
        varying = [tag for tag in tags if self.levels[tag] > 1]
        spared = np.flatnonzero(self._spares[varying].any(axis=0))
        return frozenset(varying).difference(spared.tolist())

    def minimal_key(self) -> list[int]:
        """A minimal set of tags that identifies every series, leaving out tags with few values first."""
        kept = self._tags.difference(tag for tag in self._tags if self.levels[tag] < 2)
        each = sorted(kept, key=lambda tag: self.levels[tag])
        # A tag that all others together cannot replace cannot be left out later either.
        left = dict(zip(each, self._lefts(self._tags - {tag} for tag in each), strict=True))
        for tag in each:
            others = kept - {tag}
            if left[tag] == self.series and self._lefts([others]) == [self.series]:
                kept = others
        return sorted(kept)

    def drops(self, tags: Iterable[int]) -> list[Drop]:
        """The effect of dropping each of the tags, along with every tag that determines it."""
        together = {tag: frozenset(np.flatnonzero(self.determines[:, tag]).tolist()) for tag in tags}
        lefts = self._lefts(self._tags - {tag} - by for tag, by in together.items())
        return [Drop(tag, tuple(sorted(by)), left) for (tag, by), left in zip(together.items(), lefts, strict=True)]

    def total_without(self, dropped: Iterable[int]) -> int:
        """The number of series without these tags; if the rows are a sample, an estimate for all.

        The estimate divides what the sample shows by its coverage: the share of rows whose series, without these tags,
        occurs more than once (Good and Turing; exact on average if these series are of equal size).
        """
        kept = self._tags.difference(dropped)
        if not self._is_sample:
            return self._lefts([kept])[0]
        groups, seen_once = self._counter.groups(self._distinguishing(kept))
        seen_again = self.rows - seen_once
        return min(self.total, round(groups * self.rows / seen_again)) if seen_again else self.total

    def costliest(self, most_left: int) -> Drop:
        """The tags without which no more than `most_left` series are left, see `total_without`, although some of them
        alone save few: those that remain if one tag after the other is kept, each time the one that adds the fewest
        series.
        """
        dropped = {tag for tag in self._tags if self.levels[tag] > 1}
        # Each further tag that is kept only adds series, so what was counted before is a lower bound.
        least = {tag: self.levels[tag] for tag in dropped}
        while least[tag := min(dropped, key=lambda one: (least[one], one))] <= most_left:
            count = self.total_without(dropped - {tag})
            if count == least[tag]:
                dropped.remove(tag)
            least[tag] = count
        (left,) = self._lefts([self._tags - dropped])
        first, *others = sorted(dropped, key=lambda one: (-self.levels[one], one))
        return Drop(first, tuple(sorted(others)), left)

    def is_free(self, tag: int) -> bool:
        """Whether the tag varies and is determined only by tags that it also determines, all of which come later."""
        by = np.flatnonzero(self.determines[:, tag])
        return self.levels[tag] > 1 and bool(self.determines[tag, by].all() and (by > tag).all())

    def after(self, drop: Drop, tags: Sequence[int]) -> tuple[SeriesTable, list[int]]:
        """The table without the dropped tags, and the entries of `tags` that remain, one per column."""
        dropped = {drop.tag, *drop.together_with}
        kept = [i for i in range(len(self.columns)) if i not in dropped]
        columns, levels = [self.columns[i] for i in kept], [self.levels[i] for i in kept]
        rows, determines = self.rows, self.determines[np.ix_(kept, kept)]
        # Finding the first row of each series takes time: it only pays off if the following steps become much faster.
        if drop.series_left <= self.rows / 2:
            firsts = self.first_rows(dropped)
            columns, rows = [c[firsts] for c in columns], len(firsts)
        total = self.total_without(dropped) if self._is_sample else None
        return SeriesTable(columns, levels, rows, drop.series_left, determines, total), [tags[i] for i in kept]


def _sameness(codes: Codes) -> float:
    """The probability that two random series agree in this tag."""
    shares = np.bincount(codes) / len(codes)
    return float(shares @ shares)


_REFUTE_ON: Final = 1 << 16
"""Number of rows on which a dependency is tested before all rows are read."""
_LARGEST_CHUNK: Final = 1 << 15
"""Number of rows processed in one batch: few enough to fit in the CPU cache."""
_FIRST_CHUNK: Final = 1 << 10
"""Number of rows in the first batch: most tags are unrelated, and a few rows show that."""
_WORD: Final = 64
"""Width in bits of the largest number that holds a combination of codes."""

Determines = npt.NDArray[np.bool_]
"""`[x, y]`: whether the tag at x determines the tag at y."""


def single(columns: Sequence[Codes], levels: Sequence[int], series: int) -> Determines:
    """For each pair of tags, whether one determines the other; always false for a constant y and for y = x.

    `levels`: number of distinct codes per column. `series`: number of distinct rows.
    """
    count = len(columns)
    holds = np.zeros((count, count), np.bool_)
    samples = _samples(columns)
    # In order of distinct values, fewest first: everything x determines is known before another tag is found to
    # determine x.
    order = sorted(range(count), key=lambda i: levels[i])
    for x in order:
        others = [y for y in reversed(order) if x != y and 1 < levels[y] <= levels[x]]
        if levels[x] == series:
            holds[x, others] = True
            continue
        others = [y for y in others if _agree(samples[x], [samples[y]])]
        # x also determines everything that y determines.
        leading = [y for at, y in enumerate(others) if not holds[others[:at], y].any()]
        if leading and _agree(columns[x], [columns[y] for y in leading]):
            holds[x, others] = True
        else:
            _each(columns, holds, x, others if len(leading) > 1 else others[1:])
    return holds


def _samples(columns: Sequence[Codes]) -> list[Codes]:
    rows = len(columns[0]) if columns else 0
    if rows <= _REFUTE_ON:
        return list(columns)
    some = np.random.default_rng(0).integers(0, rows, _REFUTE_ON)
    return [column[some] for column in columns]


def _each(columns: Sequence[Codes], holds: Determines, x: int, others: Sequence[int]) -> None:
    """Records in `holds` which of the other tags x determines, checking them one at a time."""
    for y in others:
        if not holds[x, y] and _agree(columns[x], [columns[y]]):
            holds[x, y] = True
            holds[x] |= holds[y]
            holds[x, x] = False


def _agree(x: Codes, ys: Sequence[Codes]) -> bool:
    """Whether x determines all of `ys`: each row must have the values of `ys` first seen with its value of x."""
    widths = [int(y.max(initial=0)) + 1 for y in ys]
    unseen = math.prod(widths)
    if unseen >= 1 << _WORD and len(ys) > 1:
        return all(_agree(x, [y]) for y in ys)
    first = np.full(int(x.max(initial=0)) + 1, unseen, np.min_scalar_type(unseen))
    for rows in _growing_chunks(len(x)):
        at, values = x[rows].astype(np.intp), numbered([y[rows] for y in ys], widths, first.dtype)
        found = first.take(at)
        differ = found != values
        if differ.any():
            new, values = at[differ], values[differ]
            first[new] = values
            if (found[differ] != unseen).any() or (first[new] != values).any():
                return False
    return True


def _growing_chunks(rows: int) -> Iterator[slice]:
    """All rows in batches, the first ones small."""
    at, size = 0, _FIRST_CHUNK
    while at < rows:
        yield slice(at, at + size)
        at, size = at + size, min(2 * size, _LARGEST_CHUNK)


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
