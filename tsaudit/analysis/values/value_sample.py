"""Samples a few of many strings: independent of their order, and mostly stable when some are added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.values.value_hashes import mixed

_AT_ONCE: Final = 1 << 15
"""Strings hashed in one batch: few enough to fit in the CPU cache."""
_MULTIPLIER: Final = np.uint64(0x9E3779B97F4A7C15)
_HIGHEST: Final = np.uint64(2**64 - 1)
_WORD: Final = 8
_LOW_BYTES: Final = np.array([(1 << 8 * count) - 1 for count in range(_WORD + 1)], np.uint64)
"""`[n]`: the bits of the first n bytes of a word."""


def sample(values: pa.StringArray, size: int, without: Sequence[str] = ()) -> tuple[str, ...]:
    """The `size` distinct values with the lowest hashes, which are spread evenly over all; sorted.

    `without`: values that are not taken.
    """
    found = hashes(values)
    most = size + len(without)
    # Only what is below the highest of them is sorted, because sorting all takes longer than hashing.
    bound = np.partition(found, most - 1)[most - 1] if most < len(found) else _HIGHEST
    lowest = np.flatnonzero(found <= bound)
    lowest = lowest[np.argsort(found[lowest], kind="stable")[:most]]
    taken = values.take(pa.array(lowest)).to_pylist()
    return tuple(sorted([value for value in taken if value not in without][:size]))


def hashes(values: pa.StringArray) -> npt.NDArray[np.uint64]:
    """A 64-bit hash of each string, none null; the same in every run. Do not store it: it may change with a version."""
    return np.concatenate([np.zeros(0, np.uint64), *(_hashes(part) for part in _parts(values))])


def _parts(values: pa.StringArray) -> Iterator[pa.StringArray]:
    return (values.slice(at, _AT_ONCE) for at in range(0, len(values), _AT_ONCE))


def _hashes(values: pa.StringArray) -> npt.NDArray[np.uint64]:
    """Adds and multiplies eight bytes of each string at a time; the last ones are padded with zeros."""
    _, offsets, data = values.buffers()
    bounds = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    text = np.zeros(bounds[-1] - bounds[0] + _WORD, np.uint8)
    if data is not None:
        text[:-_WORD] = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    words = np.ndarray(len(text) - _WORD + 1, "<u8", text, strides=(1,))
    starts, lengths = bounds[:-1] - bounds[0], np.diff(bounds)
    found = lengths.astype(np.uint64) * _MULTIPLIER
    longest = lengths.max(initial=0)
    shortest = lengths.min(initial=longest)
    for at in range(0, longest, _WORD):
        if shortest == longest:
            found = _joined(found, words[at::longest][: len(values)] & _LOW_BYTES[min(longest - at, _WORD)])
        elif at + _WORD <= shortest:
            found = _joined(found, words[starts + at])
        else:
            longer = np.flatnonzero(lengths > at)
            bytes_left = np.minimum(lengths[longer] - at, _WORD)
            found[longer] = _joined(found[longer], words[starts[longer] + at] & _LOW_BYTES[bytes_left])
    return mixed(found)


def _joined(hashes: npt.NDArray[np.uint64], words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    hashes = (hashes ^ words) * _MULTIPLIER
    return hashes ^ (hashes >> np.uint64(32))
