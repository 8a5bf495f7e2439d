"""Value sets as bytes, as stored in the history.

Per tag, the history stores one complete set (`to_bytes`), and for each following day only the changes (`delta`), whose
size depends on how much the tag churns. Applying the deltas in the order of days with `with_delta` reconstructs the set
of any day; to audit a day again, start from the day before. A new complete set is due after values were dropped, and
when the set has become a sketch. Old complete sets can be removed with their deltas.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final

import numpy as np

from tsaudit.analysis.values import packed_columns as packed
from tsaudit.analysis.values import value_sets
from tsaudit.analysis.values.value_hashes import HASH_BITS, HASH_VERSION
from tsaudit.analysis.values.value_sets import ValueSet, members

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
        *packed.ascending(values.days.astype(np.uint64), _DATE_BYTES),
        *packed.planes(values.distinct, _HASH_BYTES),
        *packed.ascending(values.hashes, _HASH_BYTES),
        *packed.planes(first, _DAY_BYTES),
        *packed.planes(last - first, _DAY_BYTES),
    )
    return packed.sealed(packed.BASE, HASH_VERSION, head, columns)


def from_bytes(data: bytes) -> ValueSet:
    """The set that `to_bytes` encoded. ValueError with a one-line message for anything else."""
    head, body = packed.opened(data, packed.BASE, HASH_VERSION, _BASE_HEAD)
    values, day_count, *bounds = head
    if values > value_sets.MAX_EXACT:
        raise packed.damaged(f"{values} values are more than it can hold")
    of_days = (_DATE_BYTES * day_count, _HASH_BYTES * day_count)
    sizes = (*of_days, _HASH_BYTES * values, _DAY_BYTES * values, _DAY_BYTES * values)
    days, distinct, hashes, *seen = packed.unpacked(body, sizes)
    day_numbers = packed.from_ascending(days, _DATE_BYTES).astype(np.int32)
    first, later = (packed.from_planes(column, _DAY_BYTES).astype(np.int64) for column in seen)
    last = first + later
    if len(last) and last.max() >= day_count:
        raise packed.damaged("a value was seen on a day that was not observed")
    counts = packed.from_planes(distinct, _HASH_BYTES).astype(np.int64)
    ascending = packed.from_ascending(hashes, _HASH_BYTES)
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
    columns = (*packed.ascending(added, _HASH_BYTES), np.packbits(flips).tobytes())
    return packed.sealed(packed.DELTA, HASH_VERSION, head, columns)


def with_delta(before: ValueSet, data: bytes) -> ValueSet:
    """The set one day later. ValueError with a one-line message if the bytes are not a delta, are damaged, or belong to
    another set.
    """
    head, body = packed.opened(data, packed.DELTA, HASH_VERSION, _DELTA_HEAD)
    follows, day, distinct, bound, added = head
    if follows != checksum(before):
        raise ValueError("value set: the delta belongs to another set; apply deltas in the order of their days")
    kept = before.below(bound)
    hashes, bits = packed.unpacked(body, (_HASH_BYTES * added, (len(kept.hashes) + 7) // 8))
    flips = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(kept.hashes)).astype(bool)
    return kept.with_changes(flips ^ kept.on_last_day(), packed.from_ascending(hashes, _HASH_BYTES), day, distinct)


def checksum(values: ValueSet) -> int:
    """A 32-bit checksum of the set, which shows whether a delta belongs to it."""
    found = zlib.crc32(struct.pack("<QIQ", *values.bounds))
    for column in values.columns():
        found = zlib.crc32(np.ascontiguousarray(column).data, found)
    return found
