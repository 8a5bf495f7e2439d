"""Which tags tell rows of one instant apart: what decides whether rows would fall on one another without some tags."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]

MOST_NEIGHBORS: Final = 256
"""Rows of one instant that each row is compared with. Work grows with it only where so many share an instant."""
MOST_SETS: Final = 64
_MOST_COMPARED: Final = 50_000_000
"""Values compared, all tags together: about a second."""


def told_apart_by(tags: Mapping[str, Integers], times: Integers) -> tuple[dict[frozenset[str], int], bool]:
    """Smallest sets of tags that alone tell two rows of one instant apart, with the rows of which each does so.

    `tags`: a number per row, the same for the same value, one of them for an absent tag. `times`: a number per instant.
    Rows that are the same in all tags and the time are left out: no tag tells them apart. Also returns whether all rows
    of each instant were compared and all sets are given: then taking away tags of which no given set is made up leaves
    all rows as different as they are.
    """
    order = np.argsort(times, kind="stable")
    moments = times[order]
    values = {tag: column[order] for tag, column in tags.items()}
    found: dict[frozenset[str], set[int]] = {}
    complete, compared = True, 0
    for distance in range(1, len(moments)):
        here = np.flatnonzero(moments[distance:] == moments[:-distance])
        if not len(here):
            break
        compared += len(here) * len(values)
        if distance > MOST_NEIGHBORS or compared > _MOST_COMPARED:
            complete = False
            break
        for names, rows in _differences(values, here, distance):
            found.setdefault(names, set()).update(rows.tolist(), (rows + distance).tolist())
    found.pop(frozenset(), None)
    smallest = _smallest(found)
    kept = sorted(smallest, key=lambda names: (len(names), sorted(names)))
    return {names: len(found[names]) for names in kept[:MOST_SETS]}, complete and len(kept) <= MOST_SETS


def _differences(
    values: Mapping[str, Integers], rows: Integers, distance: int
) -> Iterable[tuple[frozenset[str], Integers]]:
    """The sets of tags in which each of the rows differs from the one so far behind it, with the rows of each set."""
    names = list(values)
    if not names:
        return
    differs = np.stack([values[name][rows] != values[name][rows + distance] for name in names], axis=1)
    patterns, which = np.unique(np.packbits(differs, axis=1), axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        bits = np.unpackbits(pattern, count=len(names)).astype(bool)
        yield frozenset(name for name, bit in zip(names, bits, strict=True) if bit), rows[which.reshape(-1) == number]


def _smallest(sets: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Those that contain no other one."""
    kept: list[frozenset[str]] = []
    for names in sorted(sets, key=len):
        if not any(one <= names for one in kept):
            kept.append(names)
    return kept
