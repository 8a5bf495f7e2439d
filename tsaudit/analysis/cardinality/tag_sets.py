"""Analyzes a listing of tag sets: which tags create the series, which are determined by others, what dropping one
saves.

Up to a ceiling, everything is exact and takes linear time in the number of series. Above it, a sample of whole series
is kept, selected by hash, and memory stays constant; see `values.hashes` for the errors. An absent tag counts as a
value of its own. Tag sets are stored as narrow numbers, one code per value.

Strings are looked up in a dictionary. If most of them are new, their hashes are sorted instead, which takes an eighth
of the time, and each string is compared with the value it seems to be. Two values never share a number: if their hashes
collide, the dictionary of strings decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.cardinality.series_table import Drop, SeriesTable, alike, in_threads
from tsaudit.analysis.values.hashes import Counted, HashedTag, Thinning, hashes, sample, series_hashes
from tsaudit.model.columns import Contribution, Dependency, TagSets
from tsaudit.model.figures import SAMPLE_SIZE, Source

ABSENT: Final = 0
"""The number for "this series lacks the tag"; values are numbered from 1."""
_TRY_ON: Final = 1 << 16
"""Number of series of a new column that are examined to see whether most of its values are new."""

Codes = npt.NDArray[Any]


class NumberedColumn:
    """Collects a tag's values piece by piece; stores each value once, and 1 to 4 bytes per series."""

    def __init__(self, absent_rows: int = 0) -> None:
        self._values: pa.StringArray = pa.array([], pa.string())
        self._parts: list[Codes] = [np.zeros(absent_rows, np.uint8)]
        self._absent_rows = absent_rows
        self._waiting: list[pa.StringArray] = []
        self._waiting_rows = 0

    def add(self, pieces: Sequence[pa.StringArray]) -> None:
        """Add one value per series, null if the tag is absent."""
        pieces = [piece for piece in pieces if len(piece)]
        self._waiting += pieces
        self._waiting_rows += sum(map(len, pieces))
        self._absent_rows += sum(piece.null_count for piece in pieces)
        if self._waiting_rows >= len(self._values):
            self._number()
        elif pieces:
            # Waiting until the backlog is as large as the part already numbered keeps the work linear. The copy
            # releases the rest of the batch.
            self._waiting[-len(pieces) :] = [pa.concat_arrays(pieces)]

    @property
    def values(self) -> pa.StringArray:
        """The distinct values; the value at position i has the number i + 1."""
        self._number()
        return self._values

    @property
    def codes(self) -> Codes:
        """The number of each series' value."""
        self._number()
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    @property
    def absent_rows(self) -> int:
        """Number of series that lack the tag."""
        return self._absent_rows

    @property
    def levels(self) -> int:
        """Number of distinct values, counting absence as one."""
        return len(self.values) + (self._absent_rows > 0)

    def keep(self, rows: npt.NDArray[np.int64]) -> None:
        """Keep only these series, but keep all values."""
        self._parts = [self.codes[rows]]
        self._absent_rows = len(rows) - int(np.count_nonzero(self._parts[0]))

    def prune_unused(self) -> None:
        """Remove values that no series has any more, and renumber the others."""
        used = np.bincount(self.codes, minlength=len(self.values) + 1) > 0
        used[ABSENT] = True
        numbers = np.cumsum(used) - 1
        self._values = self.values.filter(pa.array(used[1:]))
        self._parts = [numbers.astype(np.min_scalar_type(len(self.values)))[self.codes]]

    def _number(self) -> None:
        if self._waiting_rows:
            self._parts.append(self._by_sorted_hashes() if self._are_mostly_new() else self._by_dictionary())
            self._waiting, self._waiting_rows = [], 0

    def _are_mostly_new(self) -> bool:
        """Whether most of the backlog are new values, judging by what came before, or by its beginning."""
        values, rows = len(self._values), sum(map(len, self._parts))
        if not values:
            tried = pa.chunked_array(self._waiting).slice(0, _TRY_ON)
            values, rows = len(tried.unique()), len(tried)
        return values > rows // 2

    def _by_dictionary(self) -> Codes:
        # The known values come first, so they keep their numbers; all chunks share one dictionary.
        known = [self._values] if len(self._values) else []
        encoded = pa.chunked_array([*known, *self._waiting]).dictionary_encode().chunks[len(known) :]
        self._values = encoded[0].dictionary
        codes = np.empty(self._waiting_rows, np.min_scalar_type(len(self._values)))
        at = 0
        for chunk in encoded:
            part = codes[at : at + len(chunk)]
            indices = chunk.indices.fill_null(-1) if chunk.null_count else chunk.indices
            np.add(indices.to_numpy(), 1, out=part, casting="unsafe")
            at += len(chunk)
        return codes

    def _by_sorted_hashes(self) -> Codes:
        known = len(self._values)
        texts = pa.concat_arrays([self._values, *(piece.drop_null() for piece in self._waiting)])
        again, origin = alike(hashes(texts))
        origin = _first_of_same_text(texts.take(pa.array(again)), origin)
        is_first = np.ones(len(texts), np.bool_)
        is_first[again] = origin == np.arange(len(again))
        numbers = np.cumsum(is_first, dtype=np.uint32)
        numbers[again] = numbers[again[origin]]
        self._values = texts if is_first.all() else texts.filter(pa.array(is_first))
        return self._with_absent(numbers[known:])

    def _with_absent(self, numbers: Codes) -> Codes:
        """The numbers of the strings in the backlog, with zeros for nulls, in the narrowest type that fits."""
        narrow = np.min_scalar_type(len(self._values))
        if len(numbers) == self._waiting_rows:
            return numbers.astype(narrow, copy=False)
        codes = np.zeros(self._waiting_rows, narrow)
        codes[pa.chunked_array(self._waiting).is_valid().to_numpy()] = numbers
        return codes


def _first_of_same_text(texts: pa.StringArray, origin: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The position of the first occurrence of each string, which most likely is `origin`."""
    if texts.equals(texts.take(pa.array(origin))):
        return origin
    same: npt.NDArray[np.int32] = texts.dictionary_encode().indices.to_numpy()
    # Each new number is the highest so far.
    return np.flatnonzero(np.diff(np.maximum.accumulate(same), prepend=-1) > 0)[same]


_NUMBER_AT: Final = 1 << 19
"""Rows to collect before their values are numbered together."""
_BATCH: Final = 64
"""Rows that take as much memory as a batch by itself, however few are in it."""
_COMPACT_AT: Final = 1 << 20
"""Minimum number of rows to collect before repeated tag sets among them are dropped."""
_ENOUGH_LEFT: Final = 100
_MAX_DROPS: Final = 8

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class TagColumn:
    """One tag of a listing."""

    values: Counted
    """Number of distinct values, not counting absence."""
    sample: tuple[str, ...]
    """Some of the distinct values, spread over all of them, independent of their order; sorted."""
    absent_ratio: float
    """Share of the series that lack the tag; 0 if there are no series."""
    absent_error: float | None
    """Standard error of `absent_ratio`; None if it is exact."""


class TagSetCounter:
    """Collects tag sets batch by batch.

    Stores 1 to 4 bytes per series and tag, and every distinct value once, for at most `ceiling` series; temporarily for
    twice as many. Above that, the figures are estimates.
    """

    def __init__(self, tags: Sequence[str], sample_size: int = SAMPLE_SIZE, ceiling: int | None = None) -> None:
        self._columns = {tag: NumberedColumn() for tag in tags}
        self._sample_size = sample_size
        self._ceiling = ceiling
        self._thinning: Thinning | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._numbered_rows = 0
        self._distinct_rows = 0
        self._found: dict[str | Source, Any] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        """Add tag sets: string columns, null if the tag is absent.

        A tag without a column is absent in the whole batch. A column that is new becomes a tag that was absent before.
        """
        self._found = {}
        if self._thinning:
            batch = self._thinning.thinned(batch)
            if not batch.num_rows:
                return
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows - self._numbered_rows + _BATCH * len(self._waiting) >= _NUMBER_AT:
            self._number()
        most_waiting = _COMPACT_AT if self._ceiling is None else min(_COMPACT_AT, self._ceiling)
        if self._rows - self._distinct_rows >= max(most_waiting, self._distinct_rows):
            self._compact()

    @property
    def series(self) -> Counted:
        """Number of distinct tag sets so far."""
        self._compact()
        return self._thinning.threshold.counted(self._rows) if self._thinning else Counted(self._rows)

    @property
    def sampled(self) -> int | None:
        """The number of series kept; None if all were."""
        self._compact()
        return self._rows if self._thinning else None

    def columns(self) -> dict[str, TagColumn]:
        """Each tag separately."""
        self._compact()
        return self._once(
            "columns", lambda: {name: self._tag_column(name, column) for name, column in self._columns.items()}
        )

    def hashed(self) -> dict[str, HashedTag]:
        """Each tag's values as hashes, for the value sets that are kept over time."""
        self._compact()
        return self._once(
            "hashed", lambda: {name: HashedTag.of(c.values, c.codes) for name, c in self._columns.items()}
        )

    def tag_sets(self, source: Source) -> TagSets:
        """The tags together. Dependencies that may be a coincidence of few rows are left out."""
        self._compact()
        return self._once(source, lambda: self._tag_sets(source))

    def _once(self, name: str | Source, make: Callable[[], Found]) -> Found:
        """The result of `make`, or the earlier one if no tag set was added since."""
        if name not in self._found:
            self._found[name] = make()
        found: Found = self._found[name]
        return found

    def _tag_sets(self, source: Source) -> TagSets:
        table, names = self._table(self.series.value if self._thinning else None), list(self._columns)
        levels = [self._levels(name) for name in names]
        dependencies = table.certain_dependencies([self._is_unique(name) for name in names])
        if self._thinning:
            # For a sample, build only on what is certainly not a coincidence: values that are rare overall seem unique
            # in a sample.
            table.determines = _matrix(dependencies, len(names))
        drops = table.drops(range(len(names)))
        contributions = [self._bounded(drop, {drop.tag, *drop.together_with}, table, names) for drop in drops]
        curve = [self._bounded(drop, dropped, table, names) for drop, dropped in _drop_curve(table)]
        return TagSets(
            series=self.series.value,
            worst_case=math.prod(levels),
            independent_bound=math.prod(_independent_levels(levels, dependencies)),
            dependencies=tuple(sorted((Dependency(names[x], names[y]) for x, y in dependencies), key=_by_names)),
            minimal_key=tuple(names[i] for i in table.minimal_key()),
            contributions=tuple(sorted(contributions, key=_by_series_left)),
            drop_curve=tuple(curve),
            source=source,
            sampled=self.sampled,
        )

    def _tag_column(self, name: str, column: NumberedColumn) -> TagColumn:
        values = self._thinning.values(name) if self._thinning else Counted(len(column.values))
        absent = column.absent_rows / max(self._rows, 1)
        # Never zero: after this many series without an exception, three in as many may still be one.
        error = max(math.sqrt(absent * (1 - absent) / self._rows), 1 / self._rows) if self._thinning else None
        return TagColumn(values, sample(column.values, self._sample_size), absent, error)

    def _levels(self, name: str) -> int:
        """Number of distinct values of a tag in all series, counting absence as one."""
        column = self._columns[name]
        return self._thinning.values(name).value + bool(column.absent_rows) if self._thinning else column.levels

    def _is_unique(self, name: str) -> bool:
        """Whether the tag alone identifies every series, as far as the data shows."""
        if not self._thinning:
            return self._columns[name].levels == self._rows
        values = self._thinning.values(name)
        error = math.hypot(self.series.standard_error or 0.0, values.standard_error or 0.0)
        return self._columns[name].levels == self._rows and self._levels(name) > self.series.value - 3 * error

    def _bounded(self, drop: Drop, dropped: set[int], table: SeriesTable, names: Sequence[str]) -> Contribution:
        """The contribution, with its bounds if the series are a sample. `dropped`: everything removed by then."""
        named = drop.named(names)
        if not self._thinning:
            return named
        left, seen_once = table.groups_without(dropped)
        at_most = min(self.series.value, left + math.ceil(self._thinning.threshold.unseen(seen_once)))
        return replace(named, series_left=at_most, at_least=left)

    def _table(self, total: int | None = None) -> SeriesTable:
        codes = in_threads(lambda name: self._columns[name].codes, self._columns, self._rows)
        return SeriesTable(codes, [c.levels for c in self._columns.values()], self._rows, self._rows, total=total)

    def _number(self) -> None:
        """Pass the collected tag sets on to the columns."""
        waiting, self._waiting = self._waiting, []
        columns: dict[str, list[pa.Array | None]] = {}
        for number, batch in enumerate(waiting):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                columns.setdefault(name, [None] * len(waiting))[number] = column
        for name in columns:
            if name not in self._columns:
                self._columns[name] = NumberedColumn(absent_rows=self._numbered_rows)

        def hand_over(name: str) -> None:
            pieces = columns.get(name, [None] * len(waiting))
            self._columns[name].add(
                [_texts(column, batch.num_rows) for column, batch in zip(pieces, waiting, strict=True)]
            )

        in_threads(hand_over, self._columns, self._rows)
        self._numbered_rows = self._rows

    def _compact(self) -> None:
        """Number all values, drop repeated tag sets, and thin the series if there are too many."""
        if self._waiting:
            self._number()
        if self._distinct_rows == self._rows:
            return
        levels = in_threads(lambda name: self._columns[name].levels, self._columns, self._rows)
        if self._rows not in levels:
            first = self._table().first_rows()
            if len(first) < self._rows:
                self._keep(first)
        if self._ceiling is not None and self._rows > self._ceiling:
            self._prune(self._ceiling)
        self._distinct_rows = self._rows

    def _prune(self, ceiling: int) -> None:
        value_hashes = {name: hashes(column.values) for name, column in self._columns.items()}
        if self._thinning is None:
            self._thinning = Thinning()
            for name, values in value_hashes.items():
                self._thinning.note(name, values)
        columns = {name: (value_hashes[name], column.codes) for name, column in self._columns.items()}
        found = series_hashes(columns, self._rows)
        self._thinning.threshold = self._thinning.threshold.to_keep(found, ceiling)
        self._keep(np.flatnonzero(self._thinning.threshold.below(found)))
        for column in self._columns.values():
            column.prune_unused()

    def _keep(self, rows: npt.NDArray[np.int64]) -> None:
        for column in self._columns.values():
            column.keep(rows)
        self._rows = self._numbered_rows = len(rows)


def _texts(column: pa.Array | None, rows: int) -> pa.StringArray:
    if column is None:
        return pa.nulls(rows, pa.string())
    return column if column.type == pa.string() else column.cast(pa.string())


def _matrix(pairs: Iterable[tuple[int, int]], size: int) -> npt.NDArray[np.bool_]:
    matrix = np.zeros((size, size), np.bool_)
    for pair in pairs:
        matrix[pair] = True
    return matrix


def _independent_levels(levels: Sequence[int], dependencies: Sequence[tuple[int, int]]) -> list[int]:
    """The levels of tags that no other tag determines; of tags that determine each other, the first is kept."""
    known = set(dependencies)
    spared = {y for x, y in dependencies if (y, x) not in known or x < y}
    return [level for tag, level in enumerate(levels) if tag not in spared]


def _drop_curve(table: SeriesTable) -> Iterable[tuple[Drop, set[int]]]:
    """The drops that reduce the series most, one after the other; and everything dropped by then."""
    tags = list(range(len(table.columns)))
    gone: set[int] = set()
    for _ in range(_MAX_DROPS):
        if table.series <= _ENOUGH_LEFT or (best := _best_drop(table)) is None:
            return
        at = Drop(tags[best.tag], tuple(tags[i] for i in best.together_with), best.series_left)
        gone |= {at.tag, *at.together_with}
        yield at, set(gone)
        table, tags = table.after(best, tags)


def _best_drop(table: SeriesTable) -> Drop | None:
    """What to drop first: one tag, with those that are interchangeable with it; or, if that leaves more than half of
    the series, or others leave half as many, several tags that only together save that much. None if no tag varies.

    A tag that another one determines saves nothing until that one is dropped, so its turn comes later.
    """
    free = [tag for tag in range(len(table.columns)) if table.is_free(tag)]
    alone = max(table.drops(free), key=_gain_per_tag(table.series), default=None)
    if alone is None or alone.series_left <= _ENOUGH_LEFT:
        return alone
    left = table.total_without(alone.tags)
    saves_much = 2 * left <= table.total
    together = table.costliest((left if saves_much else table.total) // 2)
    return alone if saves_much and alone.tags <= together.tags else together


def _gain_per_tag(rows: int) -> Callable[[Drop], float]:
    return lambda drop: math.log(rows / drop.series_left) / (1 + len(drop.together_with))


def _by_names(dependency: Dependency) -> tuple[str, str]:
    return dependency.dependent, dependency.determinant


def _by_series_left(contribution: Contribution) -> tuple[int, int, str]:
    return contribution.series_left, len(contribution.together_with), contribution.tag
