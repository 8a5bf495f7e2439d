"""Finds tags that are determined by other tags: always, only jointly with a second tag, or with few exceptions.

A table has one column of codes per tag, numbered from 0 and as narrow as possible, all of the same length. A tag x
determines a tag y if each value of x occurs with only one value of y. Nothing is estimated: the sample that is read
first only serves to refute dependencies, and a dependency refuted by a sample is refuted for all rows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.cardinality.row_counts import Codes, numbered
from tsaudit.analysis.codes import combined

_REFUTE_ON: Final = 1 << 16
"""Number of rows on which a dependency is tested before all rows are read."""
_CHUNK: Final = 1 << 15
"""Number of rows processed in one batch: few enough to fit in the CPU cache."""
_FIRST_CHUNK: Final = 1 << 10
"""Number of rows in the first batch: most tags are unrelated, and a few rows show that."""
_GROWTH: Final = 16
"""Factor by which the sample grows as long as it is inconclusive."""
_WORD: Final = 64
"""Width in bits of the largest number that holds a combination of codes."""
_SMALL_SHARE: Final = 0.05
_EXAMPLES: Final = 3

Determines = npt.NDArray[np.bool_]
"""`[x, y]`: whether the tag at x determines the tag at y."""


@dataclass(frozen=True, slots=True)
class TagPair:
    """Two tags that jointly determine a third tag, which neither determines alone. Tags are column positions."""

    first: int
    second: int
    dependent: int
    repeats: int
    """Number of rows that repeat an earlier combination and so could have refuted the dependency; if there are few, it
    may be a coincidence.
    """


@dataclass(frozen=True, slots=True)
class Almost:
    """A tag that determines another one except for a few of its values. Tags are column positions."""

    determinant: int
    dependent: int
    broken: int
    """Number of values of the determining tag that occur with several values of the dependent tag; at least 1."""
    repeated: int
    """Number of values of the determining tag that occur in several rows: only those could have been exceptions."""
    examples: tuple[int, ...]
    """Codes of up to three of the exceptional values, lowest first."""


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


def pairs(columns: Sequence[Codes], levels: Sequence[int], determines: Determines) -> list[TagPair]:
    """Pairs of tags that only jointly determine a third tag. `determines`: the result of `single`."""
    found: list[TagPair] = []
    # The tag with more values comes first: rows that share one of its values are likely to repeat a pair.
    order = sorted(range(len(columns)), key=lambda i: (-levels[i], i))
    for position, first in enumerate(order):
        rows = _rows_of_some_values(columns[first], levels[first])
        for second in order[position + 1 :]:
            if determines[first, second] or determines[second, first]:
                continue
            wanted = [
                y
                for y in range(len(columns))
                if y not in (first, second) and levels[y] > 1 and not (determines[first, y] or determines[second, y])
            ]
            found += _together(columns, first, second, wanted, rows)
    return sorted(found, key=lambda p: (p.dependent, p.first, p.second))


def almost(columns: Sequence[Codes], determines: Determines, most: float = _SMALL_SHARE) -> list[Almost]:
    """Tags that determine another tag except for at most a share `most` of their values."""
    found = []
    for x, column in enumerate(columns):
        repeated = int((np.bincount(column) > 1).sum()) if len(column) else 0
        for y in range(len(columns)):
            if x == y or determines[x, y]:
                continue
            broken = _broken(column, columns[y], int(most * repeated))
            if broken is not None and len(broken):
                examples = tuple(broken[:_EXAMPLES].tolist())
                found.append(Almost(x, y, len(broken), repeated, examples))
    return found


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
    for rows in _chunks(len(x)):
        at, values = x[rows].astype(np.intp), numbered([y[rows] for y in ys], widths, first.dtype)
        found = first.take(at)
        differ = found != values
        if differ.any():
            new, values = at[differ], values[differ]
            first[new] = values
            if (found[differ] != unseen).any() or (first[new] != values).any():
                return False
    return True


def _chunks(rows: int) -> Iterator[slice]:
    """All rows in batches, the first ones small."""
    at, size = 0, _FIRST_CHUNK
    while at < rows:
        yield slice(at, at + size)
        at, size = at + size, min(2 * size, _CHUNK)


def _rows_of_some_values(column: Codes, levels: int) -> npt.NDArray[np.int64] | None:
    """Rows that make up about one sample, selected by their value, so that values repeat; None if the table is not
    larger than a sample.
    """
    if len(column) <= _REFUTE_ON:
        return None
    random = np.random.default_rng(0)
    size = int(column.max()) + 1
    chosen = np.zeros(size, np.bool_)
    chosen[random.choice(size, max(1, min(size, levels * _REFUTE_ON // len(column))), replace=False)] = True
    rows = np.flatnonzero(chosen[column])
    return rows if len(rows) <= 2 * _REFUTE_ON else random.choice(rows, _REFUTE_ON)


def _together(
    columns: Sequence[Codes], first: int, second: int, wanted: Sequence[int], rows: npt.NDArray[np.int64] | None
) -> Iterator[TagPair]:
    if rows is not None and wanted:
        sample = combined([columns[first][rows], columns[second][rows]], len(rows))
        wanted = [y for y in wanted if _agree(sample, [columns[y][rows]])]
    if wanted:
        both = combined([columns[first], columns[second]], len(columns[first]))
        combinations = int(both.max(initial=-1)) + 1
        for y in wanted:
            if _agree(both, [columns[y]]):
                yield TagPair(min(first, second), max(first, second), y, len(both) - combinations)


def _broken(x: Codes, y: Codes, most: int) -> npt.NDArray[np.intp] | None:
    """The values of x that occur with several values of y, ascending; None if there are more than `most`."""
    if most < 1:
        return None
    broken: npt.NDArray[np.intp] = np.empty(0, np.intp)
    for step in _steps(len(x)):
        some_x, some_y = x[::step], y[::step]
        one = np.zeros(int(x.max(initial=0)) + 1, y.dtype)
        one[some_x] = some_y
        broken = np.flatnonzero(np.bincount(some_x[one[some_x] != some_y], minlength=1))
        # An exception in some rows is an exception in all rows.
        if len(broken) > most:
            return None
    return broken


def _steps(rows: int) -> Iterator[int]:
    """Strides for reading the rows: a sample first, then more and more, finally all."""
    sizes = itertools.takewhile(lambda size: size < rows, (_REFUTE_ON * _GROWTH**n for n in itertools.count()))
    yield from (rows // size for size in sizes if rows // size > 1)
    yield 1
