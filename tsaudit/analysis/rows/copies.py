"""Rows that are copies of another one: equal in all columns that say what a row is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tsaudit.analysis.codes import Codes, changes, combined, order_by
from tsaudit.analysis.significance import ENOUGH, NEARLY_ALL

_TIMES_CHANCE: Final = 3
"""Rows of one instant are more alike than rows of any two, so that many more are equal by chance."""


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Which rows are copies."""

    copies: int
    """Number of rows that equal an earlier one; 0 if that many are equal by chance."""
    in_bulk: int
    """Number of copies in the longest run of blocks of `ENOUGH` rows, in the order of time, of which nearly all have a
    copy, and equally many.
    """
    bulk: tuple[int, int] | None
    """The first and the last row of that period, in the order of time; None if there is none, or no times."""


def copied_rows(columns: Sequence[Codes], times: Codes | None, rows: int) -> CopiedRows:
    """The copies among the rows. `columns`, `times`: a number per row, the same for equal values; times in their order.

    Without times, rows are in any order: then rows are copies if nearly all that have an equal one have equally many.
    """
    said = combined(columns, rows)
    whole = said if times is None else combined([times, said], rows)
    alike = np.bincount(whole)
    copies, pairs = int((alike - 1).sum()), _pairs(alike)
    by_chance = _pairs_by_chance(columns, rows) if times is None else _pairs_of_instants(said, whole, times)
    if not copies or pairs < _TIMES_CHANCE * by_chance or (times is None and not _is_even(alike)):
        return CopiedRows(0, 0, None)
    if times is None:
        return CopiedRows(copies, 0, None)
    order = order_by(times, whole)
    has_copy, is_copy = alike[whole[order]] > 1, ~changes(whole[order])
    blocks = rows // ENOUGH
    shares = has_copy[: blocks * ENOUGH].reshape(blocks, ENOUGH).mean(axis=1)
    found = _longest_run(np.flatnonzero(shares >= NEARLY_ALL))
    # What is usual at an instant fills blocks, too, but not equally often.
    in_found = alike[whole[order]][: blocks * ENOUGH].reshape(blocks, ENOUGH)[found]
    if not len(found) or not _is_even(in_found.ravel()):
        return CopiedRows(copies, 0, None)
    in_bulk = int(is_copy[: blocks * ENOUGH].reshape(blocks, ENOUGH)[found].sum())
    ends = int(order[found[0] * ENOUGH]), int(order[found[-1] * ENOUGH + ENOUGH - 1])
    return CopiedRows(copies, in_bulk, ends)


def _longest_run(blocks: Codes) -> Codes:
    """The longest run of successive numbers."""
    if not len(blocks):
        return blocks
    runs = np.split(blocks, np.flatnonzero(np.diff(blocks) > 1) + 1)
    return max(runs, key=len)


def _pairs(alike: Codes) -> float:
    """How many pairs of equal rows there are. `alike`: how many rows have each value."""
    return float((alike * (alike - 1.0)).sum()) / 2


def _share_of_pairs(numbers: Codes) -> float:
    """The share of the pairs of rows that have the same number."""
    total = len(numbers) * (len(numbers) - 1.0) / 2
    return _pairs(np.bincount(numbers - numbers.min())) / total if total else 0.0


def _pairs_of_instants(said: Codes, whole: Codes, times: Codes) -> float:
    """How many equal pairs rows of the same instants would make if the instant said nothing about their values. What
    values are usual is taken from different rows, so that copies do not count as usual.
    """
    _, first = np.unique(whole, return_index=True)
    return _pairs(np.bincount(times)) * _share_of_pairs(said[first])


def _pairs_by_chance(columns: Sequence[Codes], rows: int) -> float:
    """How many equal pairs the rows would make if no column said anything about another one."""
    return rows * (rows - 1) / 2 * float(np.prod([_share_of_pairs(column) for column in columns]))


def _is_even(alike: Codes) -> bool:
    """Whether nearly all rows that have an equal one have equally many, as after a table was loaded again."""
    several = alike[alike > 1]
    return bool(np.bincount(several).max() >= NEARLY_ALL * len(several))
