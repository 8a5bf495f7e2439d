"""Hashes of values: nothing else is stored of a value.

The hash, version 1: the first 5 bytes of the 64-byte BLAKE2b of the value's UTF-8, read as a big-endian number. `printf
%s eu-1 | b2sum | cut -c1-10` prints it in hexadecimal. Hashes of different versions never mix. The probability that a
new value is mistaken for a known one is the number of values divided by 2^40: one in a million for a set of a million
values, so the count of such a set is one too low in about every second case.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

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
