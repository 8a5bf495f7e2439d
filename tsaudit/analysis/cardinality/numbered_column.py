"""One tag of a listing as numbers: its distinct values, numbered in order of first occurrence, and one number per
series.

Strings are looked up in a dictionary. With many values, most lookups would miss the CPU cache; so hashes of the strings
are looked up instead, or sorted if most strings are new, and each string is compared with the value it seems to be. Two
values never share a number: if their hashes collide, the dictionary of strings decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.cardinality.hash_table import HashTable
from tsaudit.analysis.cardinality.row_counts import alike
from tsaudit.analysis.cardinality.text_pieces import Texts, are_same, chosen, joined, length, taken
from tsaudit.analysis.values.value_sample import hashes

ABSENT: Final = 0
"""The number for "this series lacks the tag"; values are numbered from 1."""
_MANY: Final = 1 << 16
"""With more values than this, the dictionary no longer fits in the CPU cache."""
_TRY_ON: Final = 1 << 16
"""Number of series of a new column that are examined to see whether most of its values are new."""

Codes = npt.NDArray[Any]
_Hashes = npt.NDArray[np.uint64]


class NumberedColumn:
    """Collects a tag's values piece by piece; stores each value once, and 1 to 4 bytes per series.

    With many values, it also stores 8 bytes per value.
    """

    def __init__(self, absent_rows: int = 0) -> None:
        self._values: Texts = []
        self._hashes: list[_Hashes] = []
        self._parts: list[Codes] = [np.zeros(absent_rows, np.uint8)]
        self._absent_rows = absent_rows
        self._waiting: Texts = []
        self._waiting_hashes: list[_Hashes] = []
        self._waiting_rows = 0

    def add(self, pieces: Sequence[pa.StringArray]) -> None:
        """Add one value per series, null if the tag is absent."""
        pieces = [piece for piece in pieces if len(piece)]
        self._waiting += pieces
        self._waiting_rows += length(pieces)
        self._absent_rows += sum(piece.null_count for piece in pieces)
        if self._waiting_rows >= length(self._values):
            self._number()
        elif pieces:
            # Waiting until the backlog is as large as the part already numbered keeps the work linear. The copy
            # releases the rest of the batch.
            self._waiting[-len(pieces) :] = [pa.concat_arrays(pieces)]
            self._waiting_hashes.append(hashes(self._waiting[-1].drop_null()))

    @property
    def values(self) -> pa.StringArray:
        """The distinct values; the value at position i has the number i + 1."""
        self._number()
        if len(self._values) != 1:
            self._values = [joined(self._values)]
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
        """Number of series that lack the tag."""
        return self._absent_rows

    @property
    def levels(self) -> int:
        """Number of distinct values, counting absence as one."""
        self._number()
        return length(self._values) + (self._absent_rows > 0)

    def value(self, code: int) -> str | None:
        """The value with this number; None for absence."""
        found: str | None = self.values[code - 1].as_py() if code != ABSENT else None
        return found

    def keep(self, rows: npt.NDArray[np.int64]) -> None:
        """Keep only these series, but keep all values."""
        self._parts = [self.codes[rows]]
        self._absent_rows = len(rows) - int(np.count_nonzero(self._parts[0]))

    def prune_unused(self) -> None:
        """Remove values that no series has any more, and renumber the others."""
        used = np.bincount(self.codes, minlength=len(self.values) + 1) > 0
        used[ABSENT] = True
        numbers = np.cumsum(used) - 1
        self._values, self._hashes = [self.values.filter(pa.array(used[1:]))], []
        self._parts = [numbers.astype(np.min_scalar_type(len(self.values)))[self.codes]]

    def _number(self) -> None:
        if not self._waiting_rows:
            return
        codes = self._fastest()()
        self._parts.append(codes)
        self._waiting, self._waiting_hashes, self._waiting_rows = [], [], 0

    def _fastest(self) -> Callable[[], Codes]:
        """The fastest way to number the backlog."""
        values, rows = length(self._values), sum(map(len, self._parts))
        if not self._values:
            tried = pa.chunked_array(self._waiting).slice(0, _TRY_ON)
            values, rows = len(tried.unique()), len(tried)
        if values > rows // 2:
            return self._by_sorted_hashes
        return self._by_hash if values > _MANY else self._by_dictionary

    def _by_dictionary(self) -> Codes:
        # The known values come first, so they keep their numbers; all chunks share one dictionary.
        known = [piece for piece in self._values if len(piece)]
        encoded = pa.chunked_array([*known, *self._waiting]).dictionary_encode().chunks[len(known) :]
        self._values, self._hashes = [encoded[0].dictionary], []
        codes = np.empty(self._waiting_rows, np.min_scalar_type(len(encoded[0].dictionary)))
        at = 0
        for chunk in encoded:
            part = codes[at : at + len(chunk)]
            indices = chunk.indices.fill_null(-1) if chunk.null_count else chunk.indices
            np.add(indices.to_numpy(), 1, out=part, casting="unsafe")
            at += len(chunk)
        return codes

    def _by_hash(self) -> Codes:
        new, new_hashes = self._new()
        known = np.concatenate([np.zeros(0, np.uint64), *self._hashes_of_values()])
        wanted = np.concatenate(new_hashes)
        numbers = HashTable(known).numbers(wanted)
        unknown = np.flatnonzero(numbers == 0)
        encoded = pa.array(wanted[unknown]).dictionary_encode()
        added: npt.NDArray[np.int32] = encoded.indices.to_numpy()
        numbers[unknown] = added + len(known) + 1
        is_first = np.zeros(len(wanted), np.bool_)
        is_first[unknown] = _is_first(added)
        values = joined([*self._values, *chosen(new, is_first)])
        if not are_same(new, values, numbers - 1):
            return self._by_dictionary()
        self._values, self._hashes = [values], [known, encoded.dictionary.to_numpy()]
        return self._with_absent(numbers)

    def _by_sorted_hashes(self) -> Codes:
        known = length(self._values)
        new, new_hashes = self._new()
        self._hashes = [*self._hashes_of_values(), *new_hashes]
        self._values = [*self._values, *new]
        again, origin = alike(np.concatenate(self._hashes))
        origin = _first_of_same_text(taken(self._values, again), origin)
        is_first = np.ones(length(self._values), np.bool_)
        is_first[again] = origin == np.arange(len(again))
        numbers = np.cumsum(is_first, dtype=np.uint32)
        numbers[again] = numbers[again[origin]]
        if not is_first.all():
            self._hashes = [np.concatenate(self._hashes)[is_first]]
            self._values = chosen(self._values, is_first)
        return self._with_absent(numbers[known:])

    def _new(self) -> tuple[Texts, list[_Hashes]]:
        """The strings of the backlog, and the hashes of each piece."""
        new = [piece.drop_null() for piece in self._waiting]
        return new, [*self._waiting_hashes, *map(hashes, new[len(self._waiting_hashes) :])]

    def _hashes_of_values(self) -> list[_Hashes]:
        return self._hashes or [hashes(piece) for piece in self._values]

    def _with_absent(self, numbers: Codes) -> Codes:
        """The numbers of the strings in the backlog, with zeros for nulls, in the narrowest type that fits."""
        narrow = np.min_scalar_type(length(self._values))
        if len(numbers) == self._waiting_rows:
            return numbers.astype(narrow, copy=False)
        codes = np.zeros(self._waiting_rows, narrow)
        codes[pa.chunked_array(self._waiting).is_valid().to_numpy()] = numbers
        return codes


def _first_of_same_text(texts: pa.StringArray, origin: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The position of the first occurrence of each string, which most likely is `origin`."""
    if are_same([texts], texts, origin):
        return origin
    same: npt.NDArray[np.int32] = texts.dictionary_encode().indices.to_numpy()
    return np.flatnonzero(_is_first(same))[same]


def _is_first(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """`[i]`: whether the number at i occurs there for the first time, given that each new number is the
    highest so far.
    """
    is_first: npt.NDArray[np.bool_] = np.diff(np.maximum.accumulate(numbers), prepend=-1) > 0
    return is_first
