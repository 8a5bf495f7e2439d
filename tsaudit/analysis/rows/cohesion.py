"""Finds columns that belong together: kinds of rows that share a table, and readings that are split across rows."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from statistics import median
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Pattern = tuple[frozenset[str], int]
"""Columns that are filled together, and the number of rows that fill exactly these."""

_RARE: Final = 0.01
"""Share of rows below which a pattern is an outlier that does not join two groups of columns."""
_ALIKE: Final = 0.5
"""Similarity from which two columns may well contain the same thing."""


def patterns(filled: Mapping[str, Mask]) -> list[Pattern]:
    """The sets of columns that rows fill, most common first. `filled`: per column, which rows have a value in it."""
    names = list(filled)
    if not names or not len(filled[names[0]]):
        return []
    packed = np.packbits(np.column_stack([filled[name] for name in names]), axis=1)
    rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, counts = np.unique(rows, return_index=True, return_counts=True)
    found = [(frozenset(n for n in names if filled[n][at]), int(c)) for at, c in zip(first, counts, strict=True)]
    return sorted(found, key=lambda one: (-one[1], sorted(one[0])))


def complementary(series: npt.NDArray[np.int64], times: npt.NDArray[Any], filled: Sequence[Mask]) -> tuple[int, int]:
    """The number of consecutive pairs of rows of a series, and of those in which each row fills only what the other
    lacks.

    `series`: a number per row, the same for rows of one source. `times`: the time of each row. `filled`: per field,
    which rows have a value in it. Rows without any field are ignored.
    """
    if not filled:
        return 0, 0
    cells = np.column_stack(filled)
    order = np.lexsort((times, series))
    order = order[cells[order].any(axis=1)]
    cells, series = cells[order], series[order]
    same = series[1:] == series[:-1]
    apart = ~(cells[1:] & cells[:-1]).any(axis=1)
    return int(same.sum()), int((same & apart).sum())


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that are filled together, and never together with those of another group."""

    columns: tuple[str, ...]
    """Most frequently filled first."""
    rows: int
    """Rows that fill some of them."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The kinds of rows of a table."""

    common: tuple[str, ...]
    """Columns that rows of every kind fill."""
    groups: tuple[Group, ...]
    """Groups with the most rows first."""
    rows: int
    """Number of rows examined."""

    @property
    def coverage(self) -> float:
        """Share of the rows that fill columns of a group; 1 if each row is of one of the kinds."""
        return sum(g.rows for g in self.groups) / self.rows if self.rows else 0.0


def groups(found: Iterable[Pattern], rows: int) -> Groups:
    """Divides the columns into those that all rows fill, and groups of which each row fills at most one.

    Two columns are in one group if some row fills both, or if each is in one group with a third. Patterns with fewer
    than one row in a hundred are ignored. `rows`: number of all rows; larger than the sum over the patterns if not all
    patterns are known.
    """
    usual = [(columns, count) for columns, count in found if count >= _RARE * rows]
    if not usual:
        return Groups((), (), rows)
    common = frozenset.intersection(*(columns for columns, _ in usual))
    joined: list[set[str]] = []
    for columns, _ in usual:
        own = set(columns - common)
        touching = [group for group in joined if group & own]
        joined = [group for group in joined if not group & own]
        if own:
            joined.append(own.union(*touching))
    filled: Counter[str] = Counter()
    for columns, count in usual:
        filled.update(dict.fromkeys(columns, count))
    made = [
        Group(
            tuple(sorted(group, key=lambda c: (-filled[c], c))),
            sum(count for columns, count in usual if columns & group),
        )
        for group in joined
    ]
    return Groups(tuple(sorted(common)), tuple(sorted(made, key=lambda g: (-g.rows, g.columns))), rows)


@dataclass(frozen=True, slots=True)
class Described:
    """What is known about a column, to find out whether two contain the same thing."""

    name: str
    role: str
    """Only columns with the same role are compared."""
    sample: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Renaming:
    """Two columns, in two groups, that may contain the same thing under two names."""

    kept: str
    other: str


def renamings(first: Iterable[Described], second: Iterable[Described]) -> tuple[Renaming, ...]:
    """Pairs of columns that look alike, most similar first; each column is in one pair at most.

    Names are similar if one abbreviates the other or the spelling is close; values are similar if they are strings of
    the same form or numbers of the same magnitude. Each pair is a suggestion to check, not a proof. The longer of the
    two names is kept.
    """
    scored = [(_likeness(a, b), a.name, b.name) for a in first for b in second if a.role == b.role]
    taken: set[str] = set()
    pairs = []
    for score, a, b in sorted(scored, key=lambda one: (-one[0], one[1], one[2])):
        if score >= _ALIKE and not taken & {a, b}:
            taken |= {a, b}
            kept, other = (a, b) if (len(a), b) >= (len(b), a) else (b, a)
            pairs.append(Renaming(kept, other))
    return tuple(pairs)


def _likeness(a: Described, b: Described) -> float:
    """Similarity from 0 to 1. Similar names are enough, and so are similar values."""
    return max(_names_alike(a.name, b.name), _values_alike(a.sample, b.sample))


def _names_alike(a: str, b: str) -> float:
    short, long = sorted((a.casefold(), b.casefold()), key=len)
    letters = iter(long)
    if len(short) >= 2 and short[:1] == long[:1] and all(letter in letters for letter in short):
        return 0.9
    ratio = SequenceMatcher(None, short, long, autojunk=False).ratio()
    return ratio if ratio >= 0.7 else 0.0


def _values_alike(a: Sequence[str], b: Sequence[str]) -> float:
    if not a or not b:
        return 0.0
    numbers_a, numbers_b = _numbers(a), _numbers(b)
    if numbers_a and numbers_b:
        size_a, size_b = median(map(abs, numbers_a)), median(map(abs, numbers_b))
        if not size_a or not size_b:
            return 0.0
        # A factor of ten means another quantity; numbers that are close say less than strings of the same form.
        return max(0.0, 0.7 - abs(math.log10(size_a / size_b)))
    if numbers_a or numbers_b:
        return 0.0
    forms_a, forms_b = {_form(value) for value in a}, {_form(value) for value in b}
    return len(forms_a & forms_b) / len(forms_a | forms_b)


def _form(value: str) -> str:
    """The form of the value: each letter and digit replaced by a placeholder, such as `AAA` for `USD`."""
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", value)))


def _numbers(values: Sequence[str]) -> list[float]:
    """The values as numbers; empty unless all of them are numbers."""
    try:
        return [float(value) for value in values]
    except ValueError:
        return []
