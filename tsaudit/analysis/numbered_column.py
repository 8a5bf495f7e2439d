"""One tag of a listing as numbers: its distinct values, numbered in the order they came, and a number for each series.

Texts are looked up in a dictionary. Where there are many values, most look-ups would miss the fast memory of a
processor; so these are hashed, the hashes sorted, and each text is compared with the first one of the same hash. Two
values never share a number: should they share a hash, the dictionary decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.row_counts import alike
from tsaudit.analysis.value_sample import hashes

ABSENT: Final = 0
"""The number of "this series lacks the tag"; values are numbered from 1."""
_MANY: Final = 1 << 16
"""Values whose dictionary no longer fits into the fast memory of a processor."""
_TRY_ON: Final = 1 << 16
"""Series of a new column that tell whether it has many values."""

Codes = npt.NDArray[Any]
Texts = list[pa.StringArray]


class NumberedColumn:
    """Takes in a tag's values piece by piece; holds each value once, and 1 to 4 bytes per series.

    While values are many, it also holds 8 bytes for each of them.
    """

    def __init__(self, absent_rows: int = 0) -> None:
        self._values: Texts = []
        self._hashes: list[npt.NDArray[np.uint64]] = []
        self._parts: list[Codes] = [np.zeros(absent_rows, np.uint8)]
        self._waiting: Texts = []
        self._waiting_rows = 0

    def add(self, pieces: Sequence[pa.StringArray]) -> None:
        """Takes in a value per series, null where the tag is absent."""
        self._waiting += pieces
        self._waiting_rows += _length(pieces)
        if self._waiting_rows >= _length(self._values):
            self._number()
        elif pieces:
            # Waiting for as many as are known keeps the work linear. A copy lets go of what else came with the texts.
            self._waiting[-len(pieces) :] = [pa.concat_arrays(pieces)]

    @property
    def values(self) -> pa.StringArray:
        """The distinct values; that at position i has the number i + 1."""
        self._number()
        if len(self._values) != 1:
            self._values = [pa.concat_arrays([pa.array([], pa.string()), *self._values])]
            self._hashes = [np.concatenate(self._hashes)] if self._hashes else []
        return self._values[0]

    @property
    def codes(self) -> Codes:
        """The number of each series' value."""
        self._number()
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]

    @property
    def absent_rows(self) -> int:
        """Series that lack the tag."""
        return len(self.codes) - int(np.count_nonzero(self.codes))

    @property
    def levels(self) -> int:
        """Distinct values, absence among them."""
        self._number()
        return _length(self._values) + (not self.codes.all())

    def value(self, code: int) -> str | None:
        """The value of a number; None for absence."""
        found: str | None = self.values[code - 1].as_py() if code != ABSENT else None
        return found

    def keep(self, rows: npt.NDArray[np.int64]) -> None:
        """Lets go of the other series, but not of their values."""
        self._parts = [self.codes[rows]]

    def forget_unused(self) -> None:
        """Lets go of the values that no series has any more, and numbers the others anew."""
        used = np.bincount(self.codes, minlength=len(self.values) + 1) > 0
        used[ABSENT] = True
        numbers = np.cumsum(used) - 1
        self._values, self._hashes = [self.values.filter(pa.array(used[1:]))], []
        self._parts = [numbers.astype(np.min_scalar_type(len(self.values)))[self.codes]]

    def _number(self) -> None:
        if not self._waiting_rows:
            return
        waiting, self._waiting, self._waiting_rows = self._waiting, [], 0
        way = self._by_hash if self._has_many_values(waiting) else self._by_dictionary
        self._parts.append(way([piece for piece in waiting if len(piece)]))

    def _has_many_values(self, waiting: Texts) -> bool:
        if not self._values:
            tried = pa.chunked_array(waiting).slice(0, _TRY_ON)
            return len(tried.unique()) > len(tried) // 2
        return _length(self._values) > min(_MANY, _length(self._parts) // 2)

    def _by_dictionary(self, waiting: Texts) -> Codes:
        # The values known before come first, so they keep their numbers; all chunks share one dictionary.
        known = [piece for piece in self._values if len(piece)]
        encoded = pa.chunked_array([*known, *waiting]).dictionary_encode().chunks[len(known) :]
        self._values, self._hashes = [encoded[0].dictionary], []
        codes = np.empty(_length(waiting), np.min_scalar_type(len(encoded[0].dictionary)))
        at = 0
        for chunk in encoded:
            part = codes[at : at + len(chunk)]
            indices = chunk.indices.fill_null(-1) if chunk.null_count else chunk.indices
            np.add(indices.to_numpy(), 1, out=part, casting="unsafe")
            at += len(chunk)
        return codes

    def _by_hash(self, waiting: Texts) -> Codes:
        known, new = len(self._values), [piece.drop_null() for piece in waiting]
        self._values += new
        self._hashes += [hashes(piece) for piece in self._values[len(self._hashes) :]]
        again, origin = alike(np.concatenate(self._hashes))
        origin = _first_of_same_text(_at(again, self._values), origin)
        is_first = np.ones(_length(self._values), np.bool_)
        is_first[again] = origin == np.arange(len(again))
        numbers = np.cumsum(is_first, dtype=np.uint32)
        numbers[again] = numbers[again[origin]]
        numbers = numbers[_length(self._values[:known]) :]
        at = 0
        for i, piece in enumerate(self._values):
            chosen = is_first[at : at + len(piece)]
            at += len(piece)
            if not chosen.all():
                self._values[i], self._hashes[i] = piece.filter(pa.array(chosen)), self._hashes[i][chosen]
        narrow = np.min_scalar_type(_length(self._values))
        if len(numbers) == _length(waiting):
            return numbers.astype(narrow)
        codes = np.zeros(_length(waiting), narrow)
        codes[pa.chunked_array(waiting).is_valid().to_numpy()] = numbers
        return codes


def _length(pieces: Sequence[pa.Array | Codes]) -> int:
    return sum(map(len, pieces))


def _at(positions: npt.NDArray[np.int64], pieces: Texts) -> pa.StringArray:
    """The texts at these positions, ascending, of all pieces together."""
    starts = np.cumsum([0, *map(len, pieces)])
    cuts = np.searchsorted(positions, starts)
    found = [
        piece.take(pa.array(positions[cut:end] - start))
        for piece, start, cut, end in zip(pieces, starts[:-1], cuts[:-1], cuts[1:], strict=True)
        if cut < end
    ]
    return pa.concat_arrays([pa.array([], pa.string()), *found])


def _first_of_same_text(texts: pa.StringArray, origin: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The position of the first one of the same text, most likely at `origin`."""
    if _are_same(texts, origin):
        return origin
    # Texts are numbered as they come, so one that comes for the first time has the highest number so far.
    same: npt.NDArray[np.int32] = texts.dictionary_encode().indices.to_numpy()
    firsts: npt.NDArray[np.int64] = np.flatnonzero(np.diff(np.maximum.accumulate(same), prepend=-1) > 0)
    return firsts[same]


def _are_same(texts: pa.StringArray, origin: npt.NDArray[np.int64]) -> bool:
    """Whether each text is the same as the one at `origin`."""
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    lengths = np.diff(bounds)
    if not len(texts) or lengths.min() != lengths.max() or not lengths[0]:
        return bool(pc.equal(texts, texts.take(pa.array(origin))).false_count == 0)
    # Ids and numbered names are often all as long: bytes in rows of one width are compared four times as fast.
    rows = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]].reshape(len(texts), -1)
    parts = (slice(at, at + _TRY_ON) for at in range(0, len(rows), _TRY_ON))
    return all(np.array_equal(rows.take(origin[part], axis=0), rows[part]) for part in parts)
