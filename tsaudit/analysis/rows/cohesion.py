"""Finds columns that belong together: kinds of rows that share a table, readings that are split across rows, and
columns that repeat together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import Codes, combined, count_distinct, order_by

Mask = npt.NDArray[np.bool_]
Pattern = tuple[frozenset[str], int]
"""The columns that some rows fill, and the number of rows that fill exactly these."""

_RARE: Final = 0.01
"""Share of the rows below which a pattern is an outlier, which does not merge two groups of columns."""


def patterns(filled: Mapping[str, Mask]) -> list[Pattern]:
    """The sets of columns that rows fill, most common first. `filled`: column name to a mask of the rows that have a
    value in it.
    """
    names = list(filled)
    if not names or not len(filled[names[0]]):
        return []
    packed = np.packbits(np.stack([filled[name] for name in names]), axis=0)
    _, first, counts = np.unique(combined(list(packed), packed.shape[1]), return_index=True, return_counts=True)
    found = [(frozenset(n for n in names if filled[n][at]), int(c)) for at, c in zip(first, counts, strict=True)]
    return sorted(found, key=lambda one: (-one[1], sorted(one[0])))


def complementary(series: npt.NDArray[np.int64], times: npt.NDArray[Any], filled: Sequence[Mask]) -> tuple[int, int]:
    """The number of pairs of consecutive rows in the same series, and of the pairs whose two rows have no filled field
    in common.

    `series`: a number per row, the same for rows of one source. `times`: the time of each row. `filled`: for each
    field, a mask of the rows that have a value in it. Rows without any field are ignored.
    """
    if not filled:
        return 0, 0
    cells = np.column_stack(filled)
    order = order_by(series, times)
    order = order[cells[order].any(axis=1)]
    cells, series = cells[order], series[order]
    same = series[1:] == series[:-1]
    apart = ~(cells[1:] & cells[:-1]).any(axis=1)
    return int(same.sum()), int((same & apart).sum())


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """Columns that rows fill together, and that no row fills together with columns of another group."""

    columns: tuple[str, ...]
    """Most frequently filled first."""
    rows: int
    """Number of rows that fill at least one of the columns."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The kinds of rows of a table."""

    common: tuple[str, ...]
    """Columns that rows of every kind fill."""
    groups: tuple[FieldGroup, ...]
    """Groups with the most rows first."""
    rows: int
    """Number of rows examined."""

    @property
    def coverage(self) -> float:
        """Share of the rows that fill columns of a group, 0 to 1; 1 if each row is of one of the kinds."""
        return sum(g.rows for g in self.groups) / self.rows if self.rows else 0.0


def groups(found: Iterable[Pattern], rows: int) -> Groups:
    """Divides the columns into those that all rows fill, and groups such that each row fills columns of at most one
    group.

    Two columns are in the same group if some row fills both, or if both are in the same group as a third column.
    Patterns with fewer than one row in a hundred are ignored. `rows`: the number of all rows; more than the patterns'
    total if not all patterns are known.
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
        FieldGroup(
            tuple(sorted(group, key=lambda c: (-filled[c], c))),
            sum(count for columns, count in usual if columns & group),
        )
        for group in joined
    ]
    return Groups(tuple(sorted(common)), tuple(sorted(made, key=lambda g: (-g.rows, g.columns))), rows)


_ROWS_EACH: Final = 10
"""Combinations repeat if there are at least this many rows for each: that many are no coincidence."""
_ALIKE: Final = 2
"""A column depends on another one if the two have at most this many times as many combinations as either has values."""


@dataclass(frozen=True, slots=True)
class Together:
    """Columns that depend on each other."""

    names: tuple[str, ...]
    combinations: int
    keys: tuple[str, ...]
    """The columns that have a different value for each combination."""


def repeated_together(columns: Mapping[str, Codes], rows: int) -> Iterator[Together]:
    """Groups of columns that depend on each other, and could be moved to a table with one row per combination.

    `columns`: a code per row, 0 or more, the same for equal values. A group begins with the first column that is in no
    group yet.
    """
    values = {name: count_distinct(codes) for name, codes in columns.items()}
    left = [name for name, count in values.items() if count * _ROWS_EACH <= rows]
    while left:
        first = left.pop(0)
        members, joint, combinations = [first], columns[first], values[first]
        # A column with a single value does not depend on any other.
        for name in [name for name in left if min(values[name], values[first]) > 1]:
            both = combined([joint, columns[name]], len(joint))
            found = int(both.max(initial=-1)) + 1
            if found <= _ALIKE * max(combinations, values[name]) and found * _ROWS_EACH <= rows:
                members.append(name)
                left.remove(name)
                joint, combinations = both, found
        yield Together(tuple(members), combinations, tuple(n for n in members if values[n] == combinations))
