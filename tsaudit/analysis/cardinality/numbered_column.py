"""One tag of a listing as numbers: its distinct values, numbered in order of first occurrence, and one number per
series.

Strings are looked up in a dictionary. If most of them are new, their hashes are sorted instead, which takes an eighth
of the time, and each string is compared with the value it seems to be. Two values never share a number: if their hashes
collide, the dictionary of strings decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.cardinality.row_counts import alike
from tsaudit.analysis.values.value_sample import hashes

ABSENT: Final = 0
"""The number for "this series lacks the tag"; values are numbered from 1."""
_TRY_ON: Final = 1 << 16
"""Number of series of a new column that are examined to see whether most of its values are new."""

Codes = npt.NDArray[Any]


class NumberedColumn:
    """Collects a tag's values piece by piece; stores each value once, and 1 to 4 bytes per series."""

    def __init__(self, absent_rows: int = 0) -> None:
        self._values: pa.StringArray = pa.array([], pa.string())
        self._parts: list[Codes] = [np.zeros(absent_rows, np.uint8)]
        self._absent_rows = absent_rows
        self._waiting: list[pa.StringArray] = []
        self._waiting_rows = 0

    def add(self, pieces: Sequence[pa.StringArray]) -> None:
        """Add one value per series, null if the tag is absent."""
        pieces = [piece for piece in pieces if len(piece)]
        self._waiting += pieces
        self._waiting_rows += sum(map(len, pieces))
        self._absent_rows += sum(piece.null_count for piece in pieces)
        if self._waiting_rows >= len(self._values):
            self._number()
        elif pieces:
            # Waiting until the backlog is as large as the part already numbered keeps the work linear. The copy
            # releases the rest of the batch.
            self._waiting[-len(pieces) :] = [pa.concat_arrays(pieces)]

    @property
    def values(self) -> pa.StringArray:
        """The distinct values; the value at position i has the number i + 1."""
        self._number()
        return self._values

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
        return len(self.values) + (self._absent_rows > 0)

    def keep(self, rows: npt.NDArray[np.int64]) -> None:
        """Keep only these series, but keep all values."""
        self._parts = [self.codes[rows]]
        self._absent_rows = len(rows) - int(np.count_nonzero(self._parts[0]))

    def prune_unused(self) -> None:
        """Remove values that no series has any more, and renumber the others."""
        used = np.bincount(self.codes, minlength=len(self.values) + 1) > 0
        used[ABSENT] = True
        numbers = np.cumsum(used) - 1
        self._values = self.values.filter(pa.array(used[1:]))
        self._parts = [numbers.astype(np.min_scalar_type(len(self.values)))[self.codes]]

    def _number(self) -> None:
        if self._waiting_rows:
            self._parts.append(self._by_sorted_hashes() if self._are_mostly_new() else self._by_dictionary())
            self._waiting, self._waiting_rows = [], 0

    def _are_mostly_new(self) -> bool:
        """Whether most of the backlog are new values, judging by what came before, or by its beginning."""
        values, rows = len(self._values), sum(map(len, self._parts))
        if not values:
            tried = pa.chunked_array(self._waiting).slice(0, _TRY_ON)
            values, rows = len(tried.unique()), len(tried)
        return values > rows // 2

    def _by_dictionary(self) -> Codes:
        # The known values come first, so they keep their numbers; all chunks share one dictionary.
        known = [self._values] if len(self._values) else []
        encoded = pa.chunked_array([*known, *self._waiting]).dictionary_encode().chunks[len(known) :]
        self._values = encoded[0].dictionary
        codes = np.empty(self._waiting_rows, np.min_scalar_type(len(self._values)))
        at = 0
        for chunk in encoded:
            part = codes[at : at + len(chunk)]
            indices = chunk.indices.fill_null(-1) if chunk.null_count else chunk.indices
            np.add(indices.to_numpy(), 1, out=part, casting="unsafe")
            at += len(chunk)
        return codes

    def _by_sorted_hashes(self) -> Codes:
        known = len(self._values)
        texts = pa.concat_arrays([self._values, *(piece.drop_null() for piece in self._waiting)])
        again, origin = alike(hashes(texts))
        origin = _first_of_same_text(texts.take(pa.array(again)), origin)
        is_first = np.ones(len(texts), np.bool_)
        is_first[again] = origin == np.arange(len(again))
        numbers = np.cumsum(is_first, dtype=np.uint32)
        numbers[again] = numbers[again[origin]]
        self._values = texts if is_first.all() else texts.filter(pa.array(is_first))
        return self._with_absent(numbers[known:])

    def _with_absent(self, numbers: Codes) -> Codes:
        """The numbers of the strings in the backlog, with zeros for nulls, in the narrowest type that fits."""
        narrow = np.min_scalar_type(len(self._values))
        if len(numbers) == self._waiting_rows:
            return numbers.astype(narrow, copy=False)
        codes = np.zeros(self._waiting_rows, narrow)
        codes[pa.chunked_array(self._waiting).is_valid().to_numpy()] = numbers
        return codes


def _first_of_same_text(texts: pa.StringArray, origin: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The position of the first occurrence of each string, which most likely is `origin`."""
    if texts.equals(texts.take(pa.array(origin))):
        return origin
    same: npt.NDArray[np.int32] = texts.dictionary_encode().indices.to_numpy()
    # Each new number is the highest so far.
    return np.flatnonzero(np.diff(np.maximum.accumulate(same), prepend=-1) > 0)[same]
