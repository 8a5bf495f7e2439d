"""Values hashed into a few buckets, by a hash that whoever writes the data can compute as well: CRC-32 of the UTF-8."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def bucket_numbers(values: pa.StringArray, counts: Iterable[int]) -> Iterator[npt.NDArray[np.int64]]:
    """For each count the bucket of each value, from 0. Values are not null."""
    checksums = np.fromiter((zlib.crc32(value.encode()) for value in values.to_pylist()), np.int64, len(values))
    return (checksums % count for count in counts)


def bucketed(column: pa.Array, count: int) -> pa.Array:
    """Each value's bucket, as text; an absent value stays absent."""
    encoded = column.cast(pa.string()).dictionary_encode()
    (numbers,) = bucket_numbers(encoded.dictionary, [count])
    return pa.array(numbers).cast(pa.string()).take(encoded.indices)
