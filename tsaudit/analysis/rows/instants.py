"""Merges rows of one value each that share tags and time: how many rows of several values remain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

TIME_BYTES: Final = 8
_MOSTLY: Final = 0.5


@dataclass(frozen=True, slots=True)
class MergedInstants:
    """The result of merging rows, for the names of values that usually occur together."""

    names: Numbers
    """Those names, sorted."""
    rows: int
    instants: int
    """Distinct pairs of tag set and time among the rows: the number of rows after merging."""
    bytes_now: int
    bytes_merged: int


def merged(
    instants: Numbers, names: Numbers, tag_bytes: Numbers, name_bytes: Numbers, value_bytes: Numbers
) -> MergedInstants:
    """What merging saves, for the names that share their instant with another name in more than half of their rows.

    One entry per row: a number for its tag set and time, a number for the name of its value, and the bytes of its tags
    (names and values), of the name, and of the value. A row takes all of these plus TIME_BYTES; a merged row takes tags
    and time once, a name of average length, and each name and value.
    """
    _, group, count = np.unique(instants, return_inverse=True, return_counts=True)
    shares = count[group] > 1
    every, of_name = np.unique(names, return_inverse=True)
    together = np.bincount(of_name, shares, len(every)) > _MOSTLY * np.bincount(of_name, minlength=len(every))
    kept = together[of_name]
    _, first = np.unique(instants[kept], return_index=True)
    tags, own, values = tag_bytes[kept], name_bytes[kept], value_bytes[kept]
    left = len(first)
    mean_name = round(float(own.mean())) if len(own) else 0
    return MergedInstants(
        every[together],
        int(kept.sum()),
        left,
        int((tags + own + values).sum()) + TIME_BYTES * len(tags),
        int(tags[first].sum() + (own + values).sum()) + (TIME_BYTES + mean_name) * left,
    )
