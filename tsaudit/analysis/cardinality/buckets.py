"""Hashes values into a few buckets with CRC-32 of the UTF-8 bytes, which any writer can compute, too."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_AT_ONCE: Final = 1 << 16
"""Values hashed in one batch: Python bytes take many times the memory of Arrow's."""


def bucket_numbers(values: pa.StringArray, counts: Iterable[int]) -> Iterator[npt.NDArray[np.int64]]:
    """For each bucket count, the bucket number of each value, starting at 0. Values must not be null."""
    checksums = np.empty(len(values), np.uint32)
    for at in range(0, len(values), _AT_ONCE):
        part = values.slice(at, _AT_ONCE).cast(pa.binary()).to_numpy(zero_copy_only=False)
        checksums[at : at + _AT_ONCE] = np.fromiter(map(zlib.crc32, part), np.uint32, len(part))
    return ((checksums % np.uint32(count)).astype(np.int64) for count in counts)


def bucketed(column: pa.Array, count: int) -> pa.Array:
    """The bucket of each value, as text; null values stay null."""
    encoded = column.cast(pa.string()).dictionary_encode()
    (numbers,) = bucket_numbers(encoded.dictionary, [count])
    return pa.array(numbers).cast(pa.string()).take(encoded.indices)
