"""Hashes of values and of series: what the history stores of them, and what counts and samples them in memory.

The hash of a value, version 1: the first 5 bytes of the 64-byte BLAKE2b of the value's UTF-8, read as a big-endian
number. `printf %s eu-1 | b2sum | cut -c1-10` prints it in hexadecimal. Hashes of different versions never mix. The
probability that a new value is mistaken for a known one is the number of values divided by 2^40: one in a million for a
set of a million values, so the count of such a set is one too low in about every second case.

The hash of a series, version 1: for each tag of the series, the first 8 bytes of BLAKE2b of the tag's key, as a
big-endian number, go through the finalizer of SplitMix64; the same bytes of the value are added, and the sum goes
through the finalizer again. All of these are added (modulo 2^64), and the first 40 bits are the hash. A tag that a
series lacks adds nothing, so a tag that nobody has written yet changes no series, and the order of tags does not
matter.

Other hashes, which are faster and never stored, count and sample: a few of many strings, and what does not fit into
memory. A sample is independent of the order of the strings, and mostly stable when some are added. Of what does not fit
into memory, a hash is kept if it is below a bound, and the bound is halved whenever too many are kept (adaptive
sampling: Wegman, analyzed by Flajolet, "On adaptive sampling", Computing 43, 1990). The sample therefore depends on the
data but not on its order, repetitions change nothing, and memory is limited. If a share p of all hashes lies below the
bound, k kept hashes represent k / p, with a standard error of sqrt(k (1 - p)) / p: at most 1.5 divided by the square
root of the limit.

Tags that are reduced to a few buckets use another hash, CRC-32 of the UTF-8 bytes, which any writer can compute, too.
"""

from __future__ import annotations

import hashlib
import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Hashes = npt.NDArray[np.uint64]
Codes = npt.NDArray[Any]

_AT_ONCE: Final = 1 << 16
"""Number of values hashed, or series summed, in one batch: Python strings take many times the memory of Arrow's."""
_IN_CACHE: Final = 1 << 15
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
    if not len(values):
        return ()  # Arrow would load a part of numpy to take none of them.
    found = hashes(values)
    most = size + len(without)
    # Only what is below the highest of them is sorted, because sorting all takes longer than hashing.
    bound = np.partition(found, most - 1)[most - 1] if most < len(found) else _HIGHEST
    lowest = np.flatnonzero(found <= bound)
    lowest = lowest[np.argsort(found[lowest], kind="stable")[:most]]
    taken = values.take(pa.array(lowest)).to_pylist()
    return tuple(sorted([value for value in taken if value not in without][:size]))


def hashes(values: pa.StringArray) -> Hashes:
    """A 64-bit hash of each string, none null; the same in every run. Do not store it: it may change with a version."""
    parts = (values.slice(at, _IN_CACHE) for at in range(0, len(values), _IN_CACHE))
    return np.concatenate([np.zeros(0, np.uint64), *map(_hashes, parts)])


def _hashes(values: pa.StringArray) -> Hashes:
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


def _joined(hashes: Hashes, words: Hashes) -> Hashes:
    hashes = (hashes ^ words) * _MULTIPLIER
    return hashes ^ (hashes >> np.uint64(32))


MOST_VALUES: Final = 1 << 16
"""Most distinct values of a tag that are counted exactly while the series are sampled; above that, the error is at most
0.6%.
"""


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of distinct items."""

    value: int
    standard_error: float | None = None
    """Standard error; None if the number is exact."""


@dataclass(frozen=True, slots=True)
class HashThreshold:
    """The share of all hashes that is kept: 1 / 2 ** `halvings`."""

    halvings: int = 0

    @property
    def share(self) -> float:
        return 0.5**self.halvings

    def below(self, values: Hashes) -> npt.NDArray[np.bool_]:
        """Which of the hashes are kept."""
        return values <= np.uint64((1 << 64 - self.halvings) - 1)

    def to_keep(self, values: Hashes, most: int) -> HashThreshold:
        """This threshold, halved until at most that many of the distinct hashes `values` are kept."""
        threshold = self
        while np.count_nonzero(threshold.below(values)) > most:
            threshold = HashThreshold(threshold.halvings + 1)
        return threshold

    def counted(self, kept: int) -> Counted:
        """The estimated total if this many hashes are kept."""
        if not self.halvings:
            return Counted(kept)
        return Counted(round(kept / self.share), math.sqrt(max(kept, 1) * (1 - self.share)) / self.share)

    def unseen(self, seen_once: int) -> float:
        """An upper bound on the number of groups without a kept member, if `seen_once` groups have exactly one.

        The expected number of missed groups is at most (1 - p) / p times the number of groups with exactly one kept
        member, whatever the sizes of the groups.
        """
        return seen_once * (1 - self.share) / self.share


class Distinct:
    """Counts distinct hashes: exactly up to `most` (apart from hash collisions), from a sample above that."""

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._threshold = HashThreshold()
        self._kept: Hashes = np.zeros(0, np.uint64)
        self._waiting: list[Hashes] = []
        self._waiting_size = 0

    def add(self, values: Hashes) -> None:
        """Add hashes, in any order and any number of times."""
        if self._threshold.halvings:
            values = values[self._threshold.below(values)]
        self._waiting.append(values)
        self._waiting_size += len(values)
        if self._waiting_size >= self._most:
            self._merge()

    @property
    def counted(self) -> Counted:
        """The number of distinct hashes added so far."""
        self._merge()
        return self._threshold.counted(len(self._kept))

    def _merge(self) -> None:
        if not self._waiting:
            return
        values = np.concatenate([self._kept, *self._waiting])
        self._waiting, self._waiting_size = [], 0
        values.sort()
        values = values[np.r_[True, values[1:] != values[:-1]]] if len(values) else values
        self._threshold = self._threshold.to_keep(values, self._most)
        self._kept = values[self._threshold.below(values)]


def series_hashes(columns: Mapping[str, tuple[Hashes, Codes]], rows: int) -> Hashes:
    """The hash of each series: computed from the hashes of each tag's values and one code per row, 0 for an absent tag.

    The order of tags and values makes no difference, nor does a tag that is absent everywhere.
    """
    total = np.zeros(rows, np.uint64)
    for tag, (values, codes) in columns.items():
        (own,) = hashes(pa.array([tag], pa.string()))
        total += np.concatenate((np.zeros(1, np.uint64), mixed(values ^ own))).take(codes)
    return mixed(total)


class Thinning:
    """Passes on an even sample of the streamed series, and counts the values of each tag in all of them."""

    def __init__(self) -> None:
        self.threshold = HashThreshold()
        self._values: dict[str, Distinct] = {}

    def note(self, tag: str, values: Hashes) -> None:
        """Count values of a tag."""
        self._values.setdefault(tag, Distinct()).add(values)

    def values(self, tag: str) -> Counted:
        """Number of distinct values of the tag in all series so far, not counting absence."""
        return self._values[tag].counted if tag in self._values else Counted(0)

    def thinned(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The series of the batch that are kept."""
        columns = {}
        for tag in batch.schema.names:
            encoded = batch.column(tag).cast(pa.string()).dictionary_encode()
            own = hashes(encoded.dictionary)
            self.note(tag, own)
            columns[tag] = own, encoded.indices.fill_null(-1).to_numpy() + 1
        return batch.filter(pa.array(self.threshold.below(series_hashes(columns, batch.num_rows))))


def bucketed(column: pa.Array, count: int) -> pa.Array:
    """The bucket of each value, as text; null values stay null."""
    encoded = column.cast(pa.string()).dictionary_encode()
    values = encoded.dictionary
    checksums = np.empty(len(values), np.uint32)
    for at in range(0, len(values), _AT_ONCE):
        part = values.slice(at, _AT_ONCE).cast(pa.binary()).to_numpy(zero_copy_only=False)
        checksums[at : at + _AT_ONCE] = np.fromiter(map(zlib.crc32, part), np.uint32, len(part))
    return pa.array(checksums % np.uint32(count)).cast(pa.string()).take(encoded.indices)


HASH_VERSION: Final = 1
HASH_BITS: Final = 40

_DIGEST_BYTES: Final = 8


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


def mixed(hashes: Hashes) -> Hashes:
    """The finalizer of SplitMix64: every input bit flips half of the output bits."""
    hashes = (hashes ^ (hashes >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    hashes = (hashes ^ (hashes >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return hashes ^ (hashes >> np.uint64(31))


@dataclass(frozen=True, slots=True)
class HashedTag:
    """One tag of a listing."""

    values: pa.StringArray
    """The distinct values."""
    digests: Hashes
    """One 64-bit hash per value."""
    codes: Codes
    """Per series: 0 if it lacks the tag, else 1 + the position of its value."""

    @classmethod
    def of(cls, values: pa.StringArray, codes: Codes) -> HashedTag:
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
