"""What a listing of tag sets tells: which tags make the series, which only follow from others, what dropping one saves.

Everything is exact and takes time linear in the number of series. An absent tag counts as a value of its own. The
tag sets are kept as narrow numbers, a code per value; two tag sets are told apart by a sum of random 64-bit words,
one per tag and value, so that leaving a tag out is a subtraction. For ten million series the chance that any two
sums agree by accident is 3 in a million.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis import dependencies
from tsaudit.analysis.value_sample import sample
from tsaudit.profile import SAMPLE_SIZE, Contribution, Dependency, Source, TagSets

_ABSENT: Final = 0
"""The code of "this series lacks the tag"; values are numbered from 1."""
_MERGE_AT: Final = 1 << 16
"""Distinct values of a tag that wait to be given their codes, at least."""
_COMPACT_AT: Final = 1 << 20
"""Rows that wait until repeated tag sets among them are dropped, at least."""
_CHUNK: Final = 1 << 14
"""Rows added up together."""
_LUCK: Final = 0.01
"""Chance, per measurement, of calling an accident of few rows a dependency."""
_ENOUGH_LEFT: Final = 100
_MAX_DROPS: Final = 8
_THREADS: Final = 2

_Codes = npt.NDArray[Any]
_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class TagColumn:
    """One tag of a listing."""

    values: int
    """Distinct values, absence not counted."""
    sample: tuple[str, ...]
    """Some of the distinct values, spread over all of them, the same whatever the order they came in; sorted."""
    absent_ratio: float
    """Share of the series that lack the tag; 0 where there are no series."""


class TagSetCounter:
    """Takes in tag sets batch by batch; holds 1 to 4 bytes per series and tag, and every distinct value once."""

    def __init__(self, tags: Sequence[str], sample_size: int = SAMPLE_SIZE) -> None:
        self._columns = {tag: _Column() for tag in tags}
        self._sample_size = sample_size
        self._rows = 0
        self._distinct_rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes in tag sets: string columns, null where the tag is absent.

        A tag without a column is absent in the whole batch; a column that is no tag yet becomes one, absent before.
        """
        for name in batch.schema.names:
            if name not in self._columns:
                self._columns[name] = _Column(absent_rows=self._rows)
        for name, column in self._columns.items():
            column.add(batch.column(name) if name in batch.schema.names else pa.nulls(batch.num_rows, pa.string()))
        self._rows += batch.num_rows
        if self._rows - self._distinct_rows >= max(_COMPACT_AT, self._distinct_rows):
            self._compact()

    @property
    def series(self) -> int:
        """Distinct tag sets so far."""
        self._compact()
        return self._rows

    def columns(self) -> dict[str, TagColumn]:
        """Each tag by itself."""
        self._compact()
        return {
            name: TagColumn(len(c.values), sample(c.values, self._sample_size), c.absent_rows / max(self._rows, 1))
            for name, c in self._columns.items()
        }

    def tag_sets(self, source: Source) -> TagSets:
        """The tags together. A dependency that may well be an accident of few rows is left out."""
        self._compact()
        table = self._table()
        names = list(self._columns)
        told = _reported(table)
        return TagSets(
            series=self._rows,
            worst_case=math.prod(table.levels),
            independent_bound=math.prod(_independent_levels(table.levels, told)),
            dependencies=tuple(sorted((Dependency(names[x], names[y]) for x, y in told), key=_by_names)),
            minimal_key=tuple(names[i] for i in table.minimal_key()),
            contributions=tuple(sorted((d.named(names) for d in table.contributions()), key=_by_series_left)),
            drop_curve=tuple(_drop_curve(table, names)),
            source=source,
        )

    def _table(self) -> _Table:
        columns = self._columns.values()
        return _Table([c.codes for c in columns], [c.levels for c in columns], self._rows, self._rows)

    def _compact(self) -> None:
        """Numbers all values and drops repeated tag sets."""
        for column in self._columns.values():
            column.merge()
        if self._distinct_rows == self._rows:
            return
        table = self._table()
        if table.left_without(set()) < self._rows:
            first = table.first_rows(set())
            for column in self._columns.values():
                column.keep(first)
            self._rows = len(first)
        self._distinct_rows = self._rows


class _Column:
    """The values of one tag, numbered in the order they came, and the number of each row."""

    def __init__(self, absent_rows: int = 0) -> None:
        self.values = pa.array([], pa.string())
        self._parts: list[_Codes] = [np.zeros(absent_rows, np.uint8)]
        self._waiting: list[pa.DictionaryArray] = []
        self._waiting_values = 0

    def add(self, column: pa.Array) -> None:
        encoded = column.cast(pa.string()).dictionary_encode()
        self._waiting.append(encoded)
        self._waiting_values += len(encoded.dictionary)
        # Waiting for as many as are known already keeps the work linear, however often `add` is called.
        if self._waiting_values >= max(_MERGE_AT, len(self.values)):
            self.merge()

    def merge(self) -> None:
        if not self._waiting:
            return
        known = len(self.values)
        # The values known before come first, so they keep their numbers.
        dictionaries = pa.concat_arrays([self.values, *(w.dictionary for w in self._waiting)]).dictionary_encode()
        self.values = dictionaries.dictionary
        numbers = dictionaries.indices.to_numpy() + 1
        narrow = np.min_scalar_type(len(self.values))
        ends = np.cumsum([known, *(len(w.dictionary) for w in self._waiting)])
        for waiting, end in zip(self._waiting, ends[1:], strict=True):
            own = numbers[end - len(waiting.dictionary) : end]
            renumbered = np.concatenate(([_ABSENT], own)).astype(narrow)
            self._parts.append(renumbered[waiting.indices.fill_null(-1).to_numpy() + 1])
        self._waiting, self._waiting_values = [], 0

    @property
    def codes(self) -> _Codes:
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    @property
    def absent_rows(self) -> int:
        return int((self.codes == _ABSENT).sum())

    @property
    def levels(self) -> int:
        """Distinct values, absence among them."""
        return len(self.values) + bool((self.codes == _ABSENT).any())

    def keep(self, rows: npt.NDArray[np.int64]) -> None:
        self._parts = [self.codes[rows]]


@dataclass(frozen=True, slots=True)
class _Drop:
    """Tags taken away together, by position, and what is left."""

    tag: int
    together_with: tuple[int, ...]
    series_left: int

    def named(self, names: Sequence[str]) -> Contribution:
        return Contribution(names[self.tag], tuple(sorted(names[i] for i in self.together_with)), self.series_left)


class _Table:
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

    def contributions(self) -> list[_Drop]:
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
            _Drop(tag, tuple(sorted(dropped - {tag})), lefts[frozenset(dropped)]) for tag, dropped in enumerate(drops)
        ]

    def _dropped_with(self, tag: int) -> set[int]:
        """The tag and those that determine it."""
        return {tag, *np.flatnonzero(self.determines[:, tag]).tolist()}

    def drop(self, tag: int) -> _Drop:
        """The tag taken away, and with it every tag that determines it."""
        dropped = self._dropped_with(tag)
        return _Drop(tag, tuple(sorted(dropped - {tag})), self.left_without(dropped))

    def is_free(self, tag: int) -> bool:
        """Whether the tag varies and only follows from tags that follow from it in turn, none of them before it."""
        by = np.flatnonzero(self.determines[:, tag])
        return self.levels[tag] > 1 and bool(self.determines[tag, by].all() and (by > tag).all())

    def after(self, drop: _Drop, tags: Sequence[int]) -> tuple[_Table, list[int]]:
        """The table without the dropped tags, and which of `tags` its columns are."""
        dropped = {drop.tag, *drop.together_with}
        kept = [i for i in range(len(self.columns)) if i not in dropped]
        columns, levels = [self.columns[i] for i in kept], [self.levels[i] for i in kept]
        # Looking for the first row of each series takes a slow sort: it has to make the rest much faster to pay.
        if drop.series_left > self.rows / 2:
            return _Table(columns, levels, self.rows, drop.series_left), [tags[i] for i in kept]
        rows = self.first_rows(dropped)
        return _Table([c[rows] for c in columns], levels, len(rows), len(rows)), [tags[i] for i in kept]


def _distinct(hashes: _Hashes) -> int:
    """How many differ; leaves them sorted, for a copy would take as much memory again."""
    # Sorting is vectorised for these; np.unique is not, and takes a hundred times as long.
    hashes.sort()
    return int(np.count_nonzero(hashes[1:] != hashes[:-1])) + 1 if len(hashes) else 0


def _reported(table: _Table) -> list[tuple[int, int]]:
    pairs = [(int(x), int(y)) for x, y in zip(*np.nonzero(table.determines), strict=True)]
    sameness = {y: _sameness(table.columns[y]) for _, y in pairs}
    return [(x, y) for x, y in pairs if _is_no_luck(table, x, sameness[y])]


def _sameness(codes: _Codes) -> float:
    """Chance that two series drawn at random agree in this tag."""
    shares = np.bincount(codes) / len(codes)
    return float(shares @ shares)


def _is_no_luck(table: _Table, x: int, sameness: float) -> bool:
    """Whether a dependency on tag `x` can be taken as meant.

    A tag that tells all series apart determines every other one by itself: no luck about it. Otherwise only the
    rows that repeat a value of `x` could have gone against the dependency; there must be so many of them that
    unrelated tags would have agreed in all with a chance below `_LUCK`, over all pairs of tags.
    """
    if table.levels[x] == table.series:
        return True
    pairs = len(table.columns) * (len(table.columns) - 1)
    return (table.rows - table.levels[x]) * -math.log(sameness) > math.log(pairs / _LUCK)


def _independent_levels(levels: Sequence[int], told: Sequence[tuple[int, int]]) -> list[int]:
    """Without the tags another one determines; of tags that determine each other, the first stays."""
    known = set(told)
    spared = {y for x, y in told if (y, x) not in known or x < y}
    return [level for tag, level in enumerate(levels) if tag not in spared]


def _drop_curve(table: _Table, names: Sequence[str]) -> Iterable[Contribution]:
    """Each time the drop that divides the series by most, per tag given up.

    Only tags that no other determines can be chosen, alone or with those they are interchangeable with: a tag that
    another one determines saves nothing before that one is gone, so its turn comes after it.
    """
    tags = list(range(len(names)))
    for _ in range(_MAX_DROPS):
        drops = [table.drop(i) for i in range(len(tags)) if table.is_free(i)]
        if table.series <= _ENOUGH_LEFT or not drops:
            return
        best = max(drops, key=_gain_per_tag(table.series))
        yield best.named([names[i] for i in tags])
        table, tags = table.after(best, tags)


def _gain_per_tag(rows: int) -> Callable[[_Drop], float]:
    return lambda drop: math.log(rows / drop.series_left) / (1 + len(drop.together_with))


def _by_names(dependency: Dependency) -> tuple[str, str]:
    return dependency.dependent, dependency.determinant


def _by_series_left(contribution: Contribution) -> tuple[int, int, str]:
    return contribution.series_left, len(contribution.together_with), contribution.tag
