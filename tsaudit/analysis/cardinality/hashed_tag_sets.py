"""A listing of tag sets as hashes: of the values of each tag, and of each series.

The hash of a series, version 1: for each tag of the series, the first 8 bytes of BLAKE2b of the tag's key, as a
big-endian number, go through the finalizer of SplitMix64; the same bytes of the value are added, and the sum goes
through the finalizer again. All of these are added (modulo 2^64), and the first 40 bits are the hash. A tag that a
series lacks adds nothing, so a tag that nobody has written yet changes no series, and the order of tags does not
matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.values import value_hashes
from tsaudit.analysis.values.value_sample import mixed

_AT_ONCE: Final = 1 << 16
"""Number of values hashed, or series summed, in one batch: Python strings take many times the memory of Arrow's."""

_Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class HashedTag:
    """One tag of a listing."""

    values: pa.StringArray
    """The distinct values."""
    digests: _Hashes
    """One 64-bit hash per value."""
    codes: npt.NDArray[Any]
    """Per series: 0 if it lacks the tag, else 1 + the position of its value."""

    @classmethod
    def of(cls, values: pa.StringArray, codes: npt.NDArray[Any]) -> HashedTag:
        """A tag with these values, which are hashed in batches."""
        digests = np.empty(len(values), np.uint64)
        for at in range(0, len(values), _AT_ONCE):
            digests[at : at + _AT_ONCE] = value_hashes.digests(values.slice(at, _AT_ONCE).to_pylist())
        return cls(values, digests, codes)

    @property
    def hashes(self) -> _Hashes:
        """One hash per value, in the form that value sets store."""
        return value_hashes.truncated(self.digests)

    def series_per_value(self) -> npt.NDArray[np.int64]:
        """Number of series per value."""
        return np.bincount(self.codes, minlength=len(self.values) + 1)[1:]

    def add_to(self, total: _Hashes, key: str) -> None:
        """Add what the tag contributes to the hash of each series."""
        words = np.concatenate((np.zeros(1, np.uint64), mixed(mixed(value_hashes.digests([key])) + self.digests)))
        for at in range(0, len(total), _AT_ONCE):
            total[at : at + _AT_ONCE] += words.take(self.codes[at : at + _AT_ONCE])


def series_hashes(tags: Mapping[str, HashedTag], series: int) -> _Hashes:
    """One hash per series, in the form that value sets store."""
    return value_hashes.truncated(series_digests(tags, series))


def series_digests(tags: Mapping[str, HashedTag], series: int) -> _Hashes:
    """One 64-bit hash per series."""
    total = np.zeros(series, np.uint64)
    for key, tag in tags.items():
        tag.add_to(total, key)
    return total
