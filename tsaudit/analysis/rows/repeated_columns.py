"""Columns that repeat together: of their values, taken together, there are few in many rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int64]

_ROWS_EACH: Final = 10
"""Rows for each combination from which on they repeat: this often is no coincidence."""
_ALIKE: Final = 2
"""Up to how many times its values a column has combinations with another one that depends on it."""


@dataclass(frozen=True, slots=True)
class Together:
    """Columns that depend on each other."""

    names: tuple[str, ...]
    combinations: int
    keys: tuple[str, ...]
    """Those that have a value of their own for each combination."""


def repeated_together(columns: Mapping[str, Codes], rows: int) -> Iterator[Together]:
    """Groups of columns that depend on each other: a row of a table of their own for each combination.

    `columns`: a number per row and value, 0 or more, in the order in which columns begin a group.
    """
    values = {name: len(np.unique(codes)) for name, codes in columns.items()}
    left = [name for name, count in values.items() if count * _ROWS_EACH <= rows]
    while left:
        first = left.pop(0)
        members, joint, combinations = [first], columns[first], values[first]
        # What is the same everywhere depends on nothing.
        for name in [name for name in left if min(values[name], values[first]) > 1]:
            both = joint * (int(columns[name].max(initial=0)) + 1) + columns[name]
            found, numbered = np.unique(both, return_inverse=True)
            if len(found) <= _ALIKE * max(combinations, values[name]) and len(found) * _ROWS_EACH <= rows:
                members.append(name)
                left.remove(name)
                joint, combinations = numbered.astype(np.int64), len(found)
        yield Together(tuple(members), combinations, tuple(n for n in members if values[n] == combinations))
