"""Finds tags that are determined by other tags.

A table has one column of codes per tag, numbered from 0 and as narrow as possible, all of the same length. A tag x
determines a tag y if each value of x occurs with only one value of y. Nothing is estimated: the sample that is read
first only serves to refute dependencies, and a dependency refuted by a sample is refuted for all rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.cardinality.row_counts import Codes, numbered

_REFUTE_ON: Final = 1 << 16
"""Number of rows on which a dependency is tested before all rows are read."""
_CHUNK: Final = 1 << 15
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
