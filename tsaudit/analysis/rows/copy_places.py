"""What proves that equal rows are copies, and where they are: the column that identifies a row, and the values of
another column that all copies have.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import Codes, combined, count_distinct
from tsaudit.analysis.significance import CHANCE, ENOUGH, NEARLY_ALL


def identifying(ids: Mapping[str, Codes], others: Mapping[str, Codes], whole: Codes) -> tuple[str, ...]:
    """The column whose values differ in nearly all rows that are not equal, so that equal rows are no coincidence;
    after the column within which they do, if they do not in the whole table. Empty if there is none.

    `ids`: the columns that may be one, by name; `others`: those within which they may differ. Each has a number per
    row, the same for equal values, -1 for none. `whole`: a number per row, the same for equal rows.
    """
    _, first = np.unique(whole, return_index=True)

    def differ(*columns: Codes) -> bool:
        kept = [column[first] for column in columns]
        are_filled = all((column >= 0).all() for column in kept)
        return are_filled and count_distinct(combined(kept, len(first))) >= NEARLY_ALL * len(first)

    for name, values in ids.items():
        if differ(values):
            return (name,)
        for other, groups in others.items():
            if count_distinct(groups) * ENOUGH <= len(groups) and differ(groups, values):
                return (other, name)
    return ()


@dataclass(frozen=True, slots=True)
class CopyPlace:
    """The values of one column that all copies have, and that only some of the rows have."""

    column: str
    rows: tuple[int, ...]
    """A row with each of these values, most copies first."""
    total: int
    """Number of rows with these values."""


def place_of(columns: Mapping[str, Codes], is_copy: npt.NDArray[np.bool_]) -> CopyPlace | None:
    """The place with the fewest rows; None if copies are everywhere. Values of so few rows that they may have no copy
    by chance count as if they had some.
    """
    found: CopyPlace | None = None
    least = -math.log(CHANCE) / float(is_copy.mean())
    for name, values in columns.items():
        if count_distinct(values) * ENOUGH > len(values):
            continue
        _, first, code = np.unique(values, return_index=True, return_inverse=True)
        rows, copies = np.bincount(code), np.bincount(code, is_copy)
        without = (copies == 0) & (rows > least)
        total = int(rows[~without].sum())
        if without.any() and (found is None or total < found.total):
            order = np.argsort(-copies, kind="stable")
            found = CopyPlace(name, tuple(int(first[n]) for n in order if copies[n]), total)
    return found


_LATE: Final = 3


def begins_late(is_copy: npt.NDArray[np.bool_]) -> int | None:
    """Which row is the first copy, if far more rows are before it than between any two later copies; otherwise None,
    because then there may be older copies. `is_copy`: in the order of time.
    """
    at = np.flatnonzero(is_copy)
    # The rows after the last copy tell nothing: copies may have ended.
    longest = int(np.diff(at).max(initial=1))
    return int(at[0]) if len(at) and at[0] > max(_LATE * longest, ENOUGH) else None
