"""Value sets as bytes, as stored in the history.

Per tag, the history stores one complete set (`to_bytes`), and for each following day only the changes (`delta`), whose
size depends on how much the tag churns. Applying the deltas in the order of days with `with_delta` reconstructs the set
of any day; to audit a day again, start from the day before. A new complete set is due after values were dropped, and
when the set has become a sketch. Old complete sets can be removed with their deltas.

The bytes are a compact encoding of columns of numbers, with versions and a checksum. Arrow's IPC format would need less
code but more space: most rows in the history are days on which the values of a tag did not change, which take 46 bytes
here and 330 there, and a whole set of a million values takes 18% more.
"""

from __future__ import annotations

import itertools
import struct
import zlib
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.values import value_sets
from tsaudit.analysis.values.hashes import HASH_BITS, HASH_VERSION
from tsaudit.analysis.values.value_sets import ValueSet, members

_FORMAT_VERSION: Final = 1
BASE: Final = b"B"
DELTA: Final = b"D"
_WORDS: Final = {BASE: "whole set", DELTA: "day's delta"}
_START: Final = struct.Struct("<cBB")
"""Base or delta, format version, hash version."""
_CHECKSUM: Final = struct.Struct("<I")
_RAW: Final = -zlib.MAX_WBITS
"""Raw deflate, without zlib's own header and checksum."""
Numbers = npt.NDArray[np.uint64]
_HASH_BYTES: Final = HASH_BITS // 8
_DATE_BYTES: Final = 4
_DAY_BYTES: Final = 2
"""Size of the position of a day in the list of the set's days."""
_BASE_HEAD: Final = struct.Struct("<IHQIQ")
"""Number of values, number of days, and the set's bounds."""
_DELTA_HEAD: Final = struct.Struct("<IiQQI")
"""Checksum of the previous set, the day, its number of distinct values, the bound, and the number of values added."""


def to_bytes(values: ValueSet) -> bytes:
    """The complete set, compressed."""
    head = _BASE_HEAD.pack(len(values.hashes), len(values.days), *values.bounds)
    # Most values are either seen only on the day they are new or on all days, so the difference is regular.
    first, last = np.searchsorted(values.days, values.first), np.searchsorted(values.days, values.last)
    columns = (
        *_ascending(values.days.astype(np.uint64), _DATE_BYTES),
        *_planes(values.distinct, _HASH_BYTES),
        *_ascending(values.hashes, _HASH_BYTES),
        *_planes(first, _DAY_BYTES),
        *_planes(last - first, _DAY_BYTES),
    )
    return _sealed(BASE, head, columns)


def from_bytes(data: bytes) -> ValueSet:
    """The set that `to_bytes` encoded. ValueError with a one-line message for anything else."""
    head, body = _opened(data, BASE, _BASE_HEAD)
    values, day_count, *bounds = head
    if values > value_sets.MAX_EXACT:
        raise _damaged(f"{values} values are more than it can hold")
    of_days = (_DATE_BYTES * day_count, _HASH_BYTES * day_count)
    sizes = (*of_days, _HASH_BYTES * values, _DAY_BYTES * values, _DAY_BYTES * values)
    days, distinct, hashes, *seen = _unpacked(body, sizes)
    day_numbers = _from_ascending(days, _DATE_BYTES).astype(np.int32)
    first, later = (_from_planes(column, _DAY_BYTES).astype(np.int64) for column in seen)
    last = first + later
    if len(last) and last.max() >= day_count:
        raise _damaged("a value was seen on a day that was not observed")
    counts = _from_planes(distinct, _HASH_BYTES).astype(np.int64)
    ascending = _from_ascending(hashes, _HASH_BYTES)
    return ValueSet(ascending, day_numbers[first], day_numbers[last], day_numbers, counts, *bounds)


def continues(before: ValueSet, after: ValueSet) -> bool:
    """Whether `after`, one day later, is `before` plus that day, or a sketch of it, so that there is a delta."""
    if before.exact != after.exact or before.bounds[1:] != after.bounds[1:]:
        return False
    kept = len(after.hashes) - int((after.first == after.days[-1]).sum())
    return kept == len(before.below(after.bound).hashes)


def delta(before: ValueSet, after: ValueSet) -> bytes:
    """The changes of the last day: values added, and which of the others were seen. ValueError unless `after` is
    `before` plus one day.
    """
    kept = before.below(after.bound)
    old = members(after.hashes, kept.hashes)
    follows = len(after.days) and np.array_equal(after.days[:-1], before.days)
    if not follows or old.sum() != len(kept.hashes) or before.bounds[1:] != after.bounds[1:]:
        raise ValueError("value set: it is not the previous set plus one day, so there is no delta")
    # Most values of the previous day are seen again, so nearly all of these are zeros.
    flips = after.on_last_day()[old] ^ kept.on_last_day()
    added = after.hashes[~old]
    head = _DELTA_HEAD.pack(checksum(before), int(after.days[-1]), int(after.distinct[-1]), after.bound, len(added))
    columns = (*_ascending(added, _HASH_BYTES), np.packbits(flips).tobytes())
    return _sealed(DELTA, head, columns)


def with_delta(before: ValueSet, data: bytes) -> ValueSet:
    """The set one day later. ValueError with a one-line message if the bytes are not a delta, are damaged, or belong to
    another set.
    """
    head, body = _opened(data, DELTA, _DELTA_HEAD)
    follows, day, distinct, bound, added = head
    if follows != checksum(before):
        raise ValueError("value set: the delta belongs to another set; apply deltas in the order of their days")
    kept = before.below(bound)
    hashes, bits = _unpacked(body, (_HASH_BYTES * added, (len(kept.hashes) + 7) // 8))
    flips = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(kept.hashes)).astype(bool)
    return kept.with_changes(flips ^ kept.on_last_day(), _from_ascending(hashes, _HASH_BYTES), day, distinct)


def checksum(values: ValueSet) -> int:
    """A 32-bit checksum of the set, which shows whether a delta belongs to it."""
    found = zlib.crc32(struct.pack("<QIQ", *values.bounds))
    for column in values.columns():
        found = zlib.crc32(np.ascontiguousarray(column).data, found)
    return found


def _ascending(numbers: Numbers, width: int) -> list[bytes]:
    """The differences between ascending numbers, as `_planes`: of many numbers, most of the high bytes are zero."""
    steps = numbers.copy()
    steps[1:] -= numbers[:-1]
    return _planes(steps, width)


def _from_ascending(data: bytes, width: int) -> Numbers:
    """The numbers that `_ascending` encoded."""
    return np.cumsum(_from_planes(data, width), dtype=np.uint64)


def _planes(numbers: npt.NDArray[Any], width: int) -> list[bytes]:
    """All lowest bytes, then all second bytes, and so on, `width` of them."""
    return [plane.tobytes() for plane in numbers.astype("<u8").view(np.uint8).reshape(-1, 8).T[:width]]


def _from_planes(data: bytes, width: int) -> Numbers:
    """The numbers that `_planes` encoded, given its concatenated output."""
    wide = np.zeros((len(data) // width, 8), np.uint8)
    wide[:, :width] = np.frombuffer(data, np.uint8).reshape(width, -1).T
    return wide.view("<u8").ravel().astype(np.uint64)


def _sealed(kind: bytes, head: bytes, columns: Sequence[bytes]) -> bytes:
    """The compressed columns with a header before and a checksum after them."""
    data = _START.pack(kind, _FORMAT_VERSION, HASH_VERSION) + head + _deflated(columns)
    return data + _CHECKSUM.pack(zlib.crc32(data))


def _opened(data: bytes, kind: bytes, head: struct.Struct) -> tuple[tuple[Any, ...], bytes]:
    """The numbers in the header and the compressed columns of the output of `_sealed`. ValueError for anything else."""
    if len(data) < _START.size + _CHECKSUM.size:
        raise _damaged(f"{len(data)} bytes are too few")
    content, checksum = data[: -_CHECKSUM.size], data[-_CHECKSUM.size :]
    found, version, hashed = _START.unpack_from(content)
    if found not in _WORDS:
        raise _damaged("they do not start like a value set")
    if (version, hashed) != (_FORMAT_VERSION, HASH_VERSION):
        raise ValueError(
            f"value set: format {version} with hash {hashed} is unknown; this version of tsaudit reads "
            f"format {_FORMAT_VERSION} with hash {HASH_VERSION}"
        )
    if _CHECKSUM.pack(zlib.crc32(content)) != checksum:
        raise _damaged("their checksum does not match")
    if found != kind:
        raise ValueError(f"value set: expected a {_WORDS[kind]}, got a {_WORDS[found]}")
    if len(content) < _START.size + head.size:
        raise _damaged(f"{len(data)} bytes are too few")
    return head.unpack_from(content, _START.size), content[_START.size + head.size :]


def _unpacked(body: bytes, sizes: Sequence[int]) -> list[bytes]:
    """The columns, which have these sizes in bytes. ValueError if the body has others; a decompression bomb is not
    expanded.
    """
    size, inflate = sum(sizes), zlib.decompressobj(_RAW)
    try:
        data = inflate.decompress(body, size + 1)
    except zlib.error as error:
        raise _damaged("they do not decompress") from error
    if len(data) != size:
        raise _damaged(f"not the {size} bytes they declare")
    return [data[end - size : end] for size, end in zip(sizes, itertools.accumulate(sizes), strict=True)]


def _damaged(what: str) -> ValueError:
    """The error to raise for bytes that tsaudit cannot have written."""
    return ValueError(f"value set: the stored bytes are damaged: {what}")


_ONE_CODE_BYTES: Final = 8_000
"""Columns of this size together are compressed as one: a code for each takes more than it saves, and more time."""


def _deflated(columns: Sequence[bytes]) -> bytes:
    """Uses a separate Huffman code for each long column, so that random bytes do not affect regular columns.

    The only repetitions in the columns are runs, and searching only for runs is 40 times as fast.
    """
    deflate = zlib.compressobj(9, wbits=_RAW, strategy=zlib.Z_RLE)
    whole = b"".join(columns)
    if len(whole) <= _ONE_CODE_BYTES:
        return deflate.compress(whole) + deflate.flush()
    parts = [deflate.compress(column) + deflate.flush(zlib.Z_SYNC_FLUSH) for column in columns if column]
    return b"".join(parts) + deflate.flush()
