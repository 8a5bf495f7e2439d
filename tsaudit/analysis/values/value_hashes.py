"""Hashes of values and of series: the history stores nothing else of them.

The hash of a value, version 1: the first 5 bytes of the 64-byte BLAKE2b of the value's UTF-8, read as a big-endian
number. `printf %s eu-1 | b2sum | cut -c1-10` prints it in hexadecimal. Hashes of different versions never mix. The
probability that a new value is mistaken for a known one is the number of values divided by 2^40: one in a million for a
set of a million values, so the count of such a set is one too low in about every second case.

The hash of a series, version 1: for each tag of the series, the first 8 bytes of BLAKE2b of the tag's key, as a
big-endian number, go through the finalizer of SplitMix64; the same bytes of the value are added, and the sum goes
through the finalizer again. All of these are added (modulo 2^64), and the first 40 bits are the hash. A tag that a
series lacks adds nothing, so a tag that nobody has written yet changes no series, and the order of tags does not
matter.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa


HASH_VERSION: Final = 1
HASH_BITS: Final = 40

_DIGEST_BYTES: Final = 8

Hashes = npt.NDArray[np.uint64]


def digests(values: Sequence[str]) -> Hashes:
    """The first 8 bytes of each value's BLAKE2b, as a big-endian number, in the order of the values."""
    blake2b = hashlib.blake2b
    heads = b"".join([blake2b(value.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES] for value in values])
    return np.frombuffer(heads, ">u8").astype(np.uint64)


def truncated(numbers: Hashes) -> Hashes:
    """The hashes for these digests: their leading bits."""
    return numbers >> np.uint64(8 * _DIGEST_BYTES - HASH_BITS)


def hash_values(values: Sequence[str]) -> Hashes:
    """The hash of each value, in the order of the values; see the top of this module."""
    return truncated(digests(values))


def mixed(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64: every input bit flips half of the output bits."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


_AT_ONCE: Final = 1 << 16
"""Number of values hashed, or series summed, in one batch: Python strings take many times the memory of Arrow's."""


@dataclass(frozen=True, slots=True)
class HashedTag:
    """One tag of a listing."""

    values: pa.StringArray
    """The distinct values."""
    digests: Hashes
    """One 64-bit hash per value."""
    codes: npt.NDArray[Any]
    """Per series: 0 if it lacks the tag, else 1 + the position of its value."""

    @classmethod
    def of(cls, values: pa.StringArray, codes: npt.NDArray[Any]) -> HashedTag:
        """A tag with these values, which are hashed in batches."""
        found = np.empty(len(values), np.uint64)
        for at in range(0, len(values), _AT_ONCE):
            found[at : at + _AT_ONCE] = digests(values.slice(at, _AT_ONCE).to_pylist())
        return cls(values, found, codes)

    @property
    def hashes(self) -> Hashes:
        """One hash per value, in the form that value sets store."""
        return truncated(self.digests)

    def series_per_value(self) -> npt.NDArray[np.int64]:
        """Number of series per value."""
        return np.bincount(self.codes, minlength=len(self.values) + 1)[1:]

    def add_to(self, total: Hashes, key: str) -> None:
        """Add what the tag contributes to the hash of each series."""
        words = np.concatenate((np.zeros(1, np.uint64), mixed(mixed(digests([key])) + self.digests)))
        for at in range(0, len(total), _AT_ONCE):
            total[at : at + _AT_ONCE] += words.take(self.codes[at : at + _AT_ONCE])


def series_digests(tags: Mapping[str, HashedTag], series: int) -> Hashes:
    """One 64-bit hash per series."""
    total = np.zeros(series, np.uint64)
    for key, tag in tags.items():
        tag.add_to(total, key)
    return total
