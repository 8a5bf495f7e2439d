"""Columns as codes: a number for each row, the same for the same value. What is counted and sorted by them is the same
for all who look at rows, and takes most of the time of an audit with many tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]

_Number = TypeVar("_Number", bound=np.number[Any])


def distinct(numbers: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Sorted, without duplicates: a vectorized sort and a comparison, where `np.unique` builds a hash table."""
    ordered = np.sort(numbers)
    return ordered[changes(ordered)]


def count_distinct(numbers: npt.NDArray[Any]) -> int:
    """How many different numbers there are."""
    ordered = np.sort(numbers)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + 1 if len(ordered) else 0


def combined(columns: Sequence[npt.NDArray[np.integer[Any]]], rows: int) -> Codes:
    """A number for each combination of values that occurs: from 0, without gaps, in the order of the first column, then
    of the second, and so on; 0 for each row without columns. Null may be any number, such as -1.
    """
    found, width = np.zeros(rows, np.int64), 1
    for column in columns if rows else ():
        least = column.min()
        low, high = int(least), int(column.max())
        if low == high:
            continue  # It tells no rows apart.
        if high - low < _WIDEST:
            # Beyond 63 bits, both wrap around, and their difference is right.
            codes, count = column.astype(np.int64) - least.astype(np.int64), high - low + 1
        else:
            codes, count = _renumbered(column)
        # Only where the product could not be marked: then it never overflows either.
        if width > 1 and width * count > _PER_ROW * rows:
            found, width = _renumbered(found, width)
        found, width = (found * count + codes, width * count) if width > 1 else (codes, count)
    return _renumbered(found, width)[0] if width > 1 else found


_WIDEST: Final = 2**31
_PER_ROW: Final = 4
"""Up to so many possible numbers for each row, marking those that occur is faster than sorting."""


def _renumbered(numbers: npt.NDArray[np.integer[Any]], width: int = _WIDEST) -> tuple[Codes, int]:
    """The numbers from 0 without gaps, in their order, and how many there are. `width`: they are from 0 to below it, if
    it is small.
    """
    if width <= _PER_ROW * len(numbers):
        occurs = np.zeros(width, np.bool_)
        occurs[numbers] = True
        number_of = np.cumsum(occurs, dtype=np.int64)
        return number_of[numbers] - 1, int(number_of[-1])
    known, codes = np.unique(numbers, return_inverse=True)
    return codes.astype(np.int64, copy=False), len(known)


def counted(numbers: Codes, width: int) -> tuple[Codes, Codes]:
    """The numbers that occur, ascending, and how often each does. `width`: they are from 0 to below it."""
    if width > _PER_ROW * len(numbers):
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers)
    found = np.flatnonzero(counts)
    return found, counts[found]


def order_by(groups: npt.NDArray[np.integer[Any]], within: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """Row numbers, ordered by group, and by the other array within each; equal ones stay in their order.

    The same as `np.lexsort((within, groups))`. Rows are mostly read in the order of time, which a stable sort notices,
    and numbers of 16 bits are counted instead of compared.
    """
    order = np.argsort(within, kind="stable")
    owners = groups[order]
    if len(owners) and int(owners.min()) >= 0 and int(owners.max()) <= _COUNTED:
        owners = owners.astype(np.uint16)
    return order[np.argsort(owners, kind="stable")]


_COUNTED: Final = np.iinfo(np.uint16).max


def changes(numbers: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether each differs from the one before; the first one does."""
    found = np.empty(len(numbers), np.bool_)
    found[:1] = True
    np.not_equal(numbers[1:], numbers[:-1], out=found[1:])
    return found


class RowGroups:
    """Rows by a number, such as that of their series: sorted once for all columns."""

    def __init__(self, numbers: Codes) -> None:
        """`numbers`: one per row, the same for rows of one group."""
        self._order = np.argsort(numbers, kind="stable")
        self._owners = numbers[self._order]
        self._starts, self._several = _groups_of(self._owners)

    def constant_ratio(self, codes: Codes) -> float | None:
        """The share of groups with one value among those with two or more rows that have any; None if there are none.

        `codes`: a number per row and value, -1 for null.
        """
        codes, starts, several = codes[self._order], self._starts, self._several
        if codes.min(initial=0) < 0:
            present = codes >= 0
            codes = codes[present]
            starts, several = _groups_of(self._owners[present])
        if not several.any():
            return None
        constant = np.minimum.reduceat(codes, starts) == np.maximum.reduceat(codes, starts)
        return float(constant[several].mean())


def _groups_of(owners: Codes) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Where each group starts in rows that are sorted by group, and whether it has several rows."""
    starts = np.flatnonzero(changes(owners))
    return starts, np.diff(np.append(starts, len(owners))) >= 2
