"""Rows of one value each that have tags and time in common: what is left of them as rows of several values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

TIME_BYTES: Final = 8
_MOSTLY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Merged:
    """Rows by the names of their values, of the names that mostly come together."""

    names: Numbers
    """Those names, sorted."""
    rows: int
    instants: int
    """Different pairs of a tag set and a time among the rows: the rows that would be left."""
    bytes_now: int
    bytes_merged: int


def merged(instants: Numbers, names: Numbers, tag_bytes: Numbers, name_bytes: Numbers, value_bytes: Numbers) -> Merged:
    """What merging saves, of the names of which more than half the rows share their instant with another's.

    One entry per row: a number for its tag set and time, one for the name of its value, and the bytes of its tags
    (names and values), of the name and of the value. A row takes all of these and TIME_BYTES; a merged one takes tags
    and time once, a name of its own as long as those are on average, and each name and value.
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
    return Merged(
        every[together],
        int(kept.sum()),
        left,
        int((tags + own + values).sum()) + TIME_BYTES * len(tags),
        int(tags[first].sum() + (own + values).sum()) + (TIME_BYTES + mean_name) * left,
    )
