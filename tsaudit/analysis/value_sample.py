"""Picks a few of many texts: the same ones whatever their order, and mostly the same ones when some are added."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_BYTES_AT_ONCE: Final = 1 << 21
"""Hashing takes some 40 times the memory of the texts."""
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)


def sample(values: pa.StringArray, size: int) -> tuple[str, ...]:
    """Those `size` of the distinct values whose hash is lowest, so evenly spread over all; sorted."""
    lowest = values.slice(0, 0)
    for part in _parts(values):
        candidates = pa.concat_arrays([lowest, part])
        lowest = candidates.take(pa.array(np.argsort(_hashes(candidates), kind="stable")[:size]))
    return tuple(sorted(lowest.to_pylist()))


def hashes(values: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of each text, none null; the same in every run. Not for keeping: it may change with the version."""
    return np.concatenate([np.zeros(0, np.uint64), *(_hashes(part) for part in _parts(values))])


def mixed(hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """The finalizer of SplitMix64: every bit of the input moves half the bits of the output."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


def _parts(values: pa.StringArray) -> Iterator[pa.StringArray]:
    step = max(1, _BYTES_AT_ONCE * len(values) // max(values.nbytes, 1))
    return (values.slice(at, step) for at in range(0, len(values), step))


def _hashes(values: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A polynomial hash of each text, mixed so that its order is random."""
    _, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    lengths = np.diff(bounds)
    if data is None or bounds[-1] == bounds[0]:
        return np.zeros(len(values), np.uint64)
    text = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]].astype(np.uint64) + np.uint64(1)
    position = np.arange(len(text)) - np.repeat(bounds[:-1] - bounds[0], lengths)
    powers = np.cumprod(np.full(int(lengths.max()) + 1, _MULTIPLIER))
    sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(text * powers[position])))
    within = bounds - bounds[0]
    return mixed(sums[within[1:]] - sums[within[:-1]])
