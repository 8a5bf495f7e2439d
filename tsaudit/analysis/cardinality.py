"""What a listing of tag sets tells: which tags make the series, which only follow from others, what dropping one saves.

Everything is exact and takes time linear in the number of series. An absent tag counts as a value of its own. The
tag sets are kept as narrow numbers, a code per value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.hashed_tag_sets import HashedTag
from tsaudit.analysis.series_table import Drop, SeriesTable
from tsaudit.analysis.value_sample import sample
from tsaudit.profile import SAMPLE_SIZE, Contribution, Dependency, Source, TagSets

_ABSENT: Final = 0
"""The code of "this series lacks the tag"; values are numbered from 1."""
_MERGE_AT: Final = 1 << 16
"""Distinct values of a tag that wait to be given their codes, at least."""
_COMPACT_AT: Final = 1 << 20
"""Rows that wait until repeated tag sets among them are dropped, at least."""
_LUCK: Final = 0.01
"""Chance, per measurement, of calling an accident of few rows a dependency."""
_ENOUGH_LEFT: Final = 100
_MAX_DROPS: Final = 8

_Codes = npt.NDArray[Any]


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

    def hashed(self) -> dict[str, HashedTag]:
        """Each tag's values as hashes, for the sets that are kept over time."""
        self._compact()
        return {name: HashedTag.of(c.values, c.codes) for name, c in self._columns.items()}

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

    def _table(self) -> SeriesTable:
        columns = self._columns.values()
        return SeriesTable([c.codes for c in columns], [c.levels for c in columns], self._rows, self._rows)

    def _compact(self) -> None:
        """Numbers all values and drops repeated tag sets."""
        for column in self._columns.values():
            column.merge()
        if self._distinct_rows == self._rows:
            return
        first = self._table().first_rows()
        if len(first) < self._rows:
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


def _reported(table: SeriesTable) -> list[tuple[int, int]]:
    pairs = [(int(x), int(y)) for x, y in zip(*np.nonzero(table.determines), strict=True)]
    sameness = {y: _sameness(table.columns[y]) for _, y in pairs}
    return [(x, y) for x, y in pairs if _is_no_luck(table, x, sameness[y])]


def _sameness(codes: _Codes) -> float:
    """Chance that two series drawn at random agree in this tag."""
    shares = np.bincount(codes) / len(codes)
    return float(shares @ shares)


def _is_no_luck(table: SeriesTable, x: int, sameness: float) -> bool:
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


def _drop_curve(table: SeriesTable, names: Sequence[str]) -> Iterable[Contribution]:
    """Each time the drop that divides the series by most, per tag given up.

    Only tags that no other determines can be chosen, alone or with those they are interchangeable with: a tag that
    another one determines saves nothing before that one is gone, so its turn comes after it.
    """
    tags = list(range(len(names)))
    for _ in range(_MAX_DROPS):
        free = [i for i in range(len(tags)) if table.is_free(i)]
        if table.series <= _ENOUGH_LEFT or not free:
            return
        drops = table.drops(free)
        best = max(drops, key=_gain_per_tag(table.series))
        yield best.named([names[i] for i in tags])
        table, tags = table.after(best, tags)


def _gain_per_tag(rows: int) -> Callable[[Drop], float]:
    return lambda drop: math.log(rows / drop.series_left) / (1 + len(drop.together_with))


def _by_names(dependency: Dependency) -> tuple[str, str]:
    return dependency.dependent, dependency.determinant


def _by_series_left(contribution: Contribution) -> tuple[int, int, str]:
    return contribution.series_left, len(contribution.together_with), contribution.tag
