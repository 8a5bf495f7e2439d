"""Selects the dependencies among tags that are worth reporting: not coincidental, and each in its simplest form.

Rows that repeat a value of the determining tag could have contradicted a dependency. There must be enough such rows,
and few enough contradictions, that unrelated tags would match as well with a probability below `_LUCK` over all
attempts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.cardinality import dependencies
from tsaudit.analysis.cardinality.dependencies import Almost, TagPair
from tsaudit.analysis.cardinality.series_table import SeriesTable

MOST_TAGS: Final = 24
"""Pairs are tested among at most this many tags: the number of tests grows with the cube of this number."""
MOST_ROWS: Final = 250_000_000
"""Most rows of pairs to read: two million series with 16 tags. Most pairs are refuted by a few rows; if none is, this
many rows take a minute.
"""
_LUCK: Final = 0.01
"""Highest probability, per measurement and kind of dependency, of reporting a coincidence."""

_Codes = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Near:
    """A tag that determines another one with exceptions. Tags are column positions."""

    found: Almost
    exceptions: int
    """The smallest number of rows to remove for the dependency to hold without exceptions."""


def single(table: SeriesTable, unique: Sequence[bool]) -> list[tuple[int, int]]:
    """Pairs (x, y) in which tag x determines tag y.

    `unique`: tags that identify every series, including series outside the table; they determine all others by
    definition.
    """
    pairs = [(int(x), int(y)) for x, y in zip(*np.nonzero(table.determines), strict=True)]
    sameness = {y: _sameness(table.columns[y]) for _, y in pairs}
    tried = len(table.columns) * (len(table.columns) - 1)
    return [(x, y) for x, y in pairs if unique[x] or _is_no_luck(table.rows - table.levels[x], 0, sameness[y], tried)]


def too_much(table: SeriesTable) -> str:
    """Why the search for pairs is skipped; empty if it is not skipped."""
    if len(table.columns) > MOST_TAGS:
        return f"the search for pairs of tags that determine a third is limited to {MOST_TAGS} tags"
    most = MOST_ROWS // max(math.comb(len(table.columns), 2), 1)
    if table.rows > most:
        return f"the search for pairs that determine a third of {len(table.columns)} tags is limited to {most:,} series"
    return ""


def joint(table: SeriesTable) -> list[TagPair]:
    """Pairs of tags that jointly determine a third tag. Pairs that follow from a coarser pair are left out."""
    count = len(table.columns)
    found = dependencies.pairs(table.columns, table.levels, table.determines)
    sameness = {y: _sameness(table.columns[y]) for y in {p.dependent for p in found}}
    tried = count * (count - 1) * (count - 2) // 2
    kept = [p for p in found if _is_no_luck(p.repeats, 0, sameness[p.dependent], tried)]
    return [p for p in kept if not any(_is_coarser(table, q, p) for q in kept)]


def near(table: SeriesTable) -> list[Near]:
    """Tags that determine another tag with few exceptions. Those that follow from a coarser tag are left out."""
    tried = len(table.columns) * (len(table.columns) - 1)
    kept = []
    for almost in dependencies.almost(table.columns, table.determines):
        x, y = almost.determinant, almost.dependent
        exceptions = _exceptions(table.columns[x], table.columns[y])
        if _is_no_luck(table.rows - table.levels[x], exceptions, _sameness(table.columns[y]), tried):
            kept.append(Near(almost, exceptions))
    return [n for n in kept if not any(_follows_from(table, m.found, n.found) for m in kept)]


def _sameness(codes: _Codes) -> float:
    """The probability that two random series agree in this tag."""
    shares = np.bincount(codes) / len(codes)
    return float(shares @ shares)


def _is_no_luck(repeats: int, exceptions: int, sameness: float, tried: int) -> bool:
    """Whether unrelated tags would hardly ever have so few exceptions among the rows that could have been exceptions.

    Uses Chernoff's bound on a binomial tail: n times the relative entropy of the observed share to the expected share.
    """
    expected = 1 - sameness
    if repeats <= 0 or exceptions >= expected * repeats:
        return False
    seen = exceptions / repeats
    entropy = (1 - seen) * math.log((1 - seen) / sameness)
    entropy += seen * math.log(seen / expected) if seen else 0.0
    return repeats * entropy > math.log(tried / _LUCK)


def _is_coarser(table: SeriesTable, coarse: TagPair, fine: TagPair) -> bool:
    """Whether the fine pair determines the dependent tag only because it determines the coarse pair."""
    if coarse == fine or coarse.dependent != fine.dependent:
        return False
    pairings = ((fine.first, fine.second), (fine.second, fine.first))
    through = any(_leads(table, a, coarse.first) and _leads(table, b, coarse.second) for a, b in pairings)
    back = any(_leads(table, coarse.first, a) and _leads(table, coarse.second, b) for a, b in pairings)
    # Of interchangeable pairs, the first one is kept.
    return through and (not back or (coarse.first, coarse.second) < (fine.first, fine.second))


def _follows_from(table: SeriesTable, coarse: Almost, fine: Almost) -> bool:
    if coarse.dependent != fine.dependent or coarse.determinant == fine.determinant:
        return False
    back = bool(table.determines[coarse.determinant, fine.determinant])
    return bool(table.determines[fine.determinant, coarse.determinant]) and (
        not back or coarse.determinant < fine.determinant
    )


def _leads(table: SeriesTable, x: int, y: int) -> bool:
    return x == y or bool(table.determines[x, y])


def _exceptions(x: _Codes, y: _Codes) -> int:
    """Number of rows to remove so that x determines y: all except those with the most common y of each x (g3 of Kivinen
    and Mannila, 1995).
    """
    one = np.zeros(int(x.max(initial=0)) + 1, y.dtype)
    one[x] = y
    broken = np.bincount(x[one[x] != y], minlength=len(one)) > 0
    rows = broken[x]
    x, y = x[rows], y[rows]
    keys, counts = np.unique(x.astype(np.int64) * (int(y.max(initial=0)) + 1) + y, return_counts=True)
    most = np.zeros(len(one), np.int64)
    np.maximum.at(most, keys // (int(y.max(initial=0)) + 1), counts)
    return len(x) - int(most.sum())
