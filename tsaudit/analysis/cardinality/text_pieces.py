"""Treats strings in several arrays as one long array without copying them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_AT_ONCE: Final = 1 << 15
"""Number of strings compared in one batch: few enough to fit in the CPU cache."""

Texts = list[pa.StringArray]


def length(pieces: Texts) -> int:
    """The number of strings."""
    return sum(map(len, pieces))


def joined(pieces: Texts) -> pa.StringArray:
    """One array with a copy of all strings, whatever the number of pieces."""
    return pa.concat_arrays([pa.array([], pa.string()), *pieces])


def chosen(pieces: Texts, mask: npt.NDArray[np.bool_]) -> Texts:
    """The strings selected by a mask over the strings of all pieces."""
    return [piece.filter(pa.array(mask[part])) for piece, part in with_parts(pieces) if mask[part].any()]


def taken(pieces: Texts, positions: npt.NDArray[np.int64]) -> pa.StringArray:
    """The strings at these positions, which are ascending."""
    found = []
    for piece, part in with_parts(pieces):
        first, end = np.searchsorted(positions, (part.start, part.stop))
        if first < end:
            found.append(piece.take(pa.array(positions[first:end] - part.start)))
    return joined(found)


def are_same(pieces: Texts, values: pa.StringArray, positions: npt.NDArray[Any]) -> bool:
    """Whether each string equals the value at its position. There must be no nulls."""
    known = _bytes_of_each(values)
    for piece, part in with_parts(pieces):
        texts, at = _bytes_of_each(piece), positions[part]
        if known is None or texts is None or known.shape[1] != texts.shape[1]:
            same = pc.equal(piece, values.take(pa.array(at))).false_count == 0
        else:
            some = (slice(start, start + _AT_ONCE) for start in range(0, len(texts), _AT_ONCE))
            same = all(np.array_equal(known.take(at[s], axis=0), texts[s]) for s in some)
        if not same:
            return False
    return True


def with_parts(pieces: Texts) -> Iterator[tuple[pa.StringArray, slice]]:
    """Each piece with the range of its strings among all strings."""
    at = 0
    for piece in pieces:
        yield piece, slice(at, at + len(piece))
        at += len(piece)


def _bytes_of_each(texts: pa.StringArray) -> npt.NDArray[np.uint8] | None:
    """One row of bytes per string if all have the same length and are not empty; otherwise None.

    IDs and numbered names often have the same length, and rows of equal width are compared four times as fast.
    """
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(bounds)
    if not len(texts) or lengths.min() != lengths.max() or not lengths[0]:
        return None
    return np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]].reshape(len(texts), -1)
