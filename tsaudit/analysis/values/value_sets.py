"""The values of one tag over time: which are new, which are gone, how long they live, and whether they ever end.

A value is kept as a hash with the first and the last day it was seen, never as text. Up to `MAX_EXACT` values the set
is exact; above, it becomes a bottom-k sketch: the `SKETCH_SIZE` values with the smallest hashes, a fair sample of all,
each with its exact days. A sketch does not become exact again.

The hash, version 1: the first 5 bytes of the 64-byte BLAKE2b of the value's UTF-8, read as a big-endian number, so that
`printf %s eu-1 | b2sum | cut -c1-10` prints it. Sets of different hash versions never mix. A new value passes for an
old one with a chance of values / 2^40: one in a million in a set of a million, where a count is therefore short by one
about every other time.

An observation is the values that carried data on a day, or a listing of all that did in the days up to it. A listing
repeats each value for as long as it covers; `index` and `lifetimes` are told how long that is, and allow for it.

How the history keeps it, per tag: the set of some day whole (`to_bytes`), and for each day after it only what
changed (`delta_since`), which costs as much as the tag churns. `with_delta`, applied in the order of days, gives the
set of any day back; auditing a day again starts from the day before. A new base is due when the deltas together
outgrow it, after `forget`, and once the set has become a sketch. Old bases can be thinned with their deltas.
"""

from __future__ import annotations

import hashlib
import math
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.values import packed_columns as packed
from tsaudit.model.profile import ValuesKind

HASH_VERSION: Final = 1
HASH_BITS: Final = 40
MAX_EXACT: Final = 1_000_000
SKETCH_SIZE: Final = 4096
"""The standard error of a count is 1.6 % with so many."""

_ALL: Final = 1 << HASH_BITS
_HASH_BYTES: Final = HASH_BITS // 8
_DIGEST_BYTES: Final = 8
_DAY_BYTES: Final = 2
_BASE_HEAD: Final = struct.Struct("<IHQ")
"""Values, days, bound."""
_DELTA_HEAD: Final = struct.Struct("<IiQQI")
"""Checksum of the set before, the day, its distinct values, bound, values added."""

_WINDOW_DAYS: Final = 28
_WEEK: Final = 7
_FEWEST_DAYS: Final = 7
_BOUNDED: Final = 0.1
_UNBOUNDED: Final = 0.8
_UNBOUNDED_TURNOVER: Final = 0.5
"""Values that stopped coming anew are a step, however steep: a first day that saw little starts no endless growth."""
_FLOOR: Final = 1000
"""A date as a tag is new each day too, and harmless at a value a day."""

_Hashes = npt.NDArray[np.uint64]
_Days = npt.NDArray[np.int32]
_Counts = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of values."""

    value: float
    standard_error: float
    """In values; 0 where the set is exact. A value within twice its error is too small to be seen."""


@dataclass(frozen=True, slots=True)
class Index:
    """Whether the values of a tag end, judged over the last 28 days."""

    kind: ValuesKind
    """`unknown` with fewer than 7 observed days; never `unbounded` with at most 1000 values."""
    beta: float | None
    """How the distinct values grow with the days: 0 the same every day, 1 all new every day; None when unknown."""
    turnover: float | None
    """Share of the last week's values that were not seen before that week; None when unknown."""
    values: Estimate
    """Distinct values over these days."""
    days: int
    """Observed days, from the first that had values."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueSet:
    """The values of one tag seen so far; never changed, each observation makes a new set."""

    hashes: _Hashes
    """Ascending, all below `bound`."""
    first: _Days
    """The day each value was first seen, as `date.toordinal`."""
    last: _Days
    days: _Days
    """The days observed, ascending."""
    distinct: _Counts
    """Distinct values on each of these days."""
    bound: int = _ALL
    """2^40 in an exact set; a sketch holds all values whose hash is below."""

    @classmethod
    def empty(cls) -> ValueSet:
        """A set before its first day."""
        none = np.zeros(0, np.int32)
        return cls(np.zeros(0, np.uint64), none, none, none, np.zeros(0, np.int64))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueSet):
            return NotImplemented
        return self.bound == other.bound and all(map(np.array_equal, self._columns(), other._columns()))

    def _columns(self) -> tuple[npt.NDArray[Any], ...]:
        return self.hashes, self.first, self.last, self.days, self.distinct

    @property
    def exact(self) -> bool:
        """Whether every value is held, so that each number is exact."""
        return self.bound == _ALL

    @property
    def held_ratio(self) -> float:
        """The share of all values that it holds: 1 when exact."""
        return self.bound / _ALL

    def observe(self, values: Iterable[str], day: date) -> ValueSet:
        """The set with the values of that day, which may come in several calls. ValueError for a day before its last.

        A day without values is observed too, and counts as a day.
        """
        return self.observe_hashes(hash_values(list(values)), day)

    def observe_hashes(self, hashes: _Hashes, day: date, distinct: int | None = None) -> ValueSet:
        """`observe` of values that were hashed before. `distinct`: of how many values; None for one each."""
        number = day.toordinal()
        if len(self.days) and number < self.days[-1]:
            newest = date.fromordinal(int(self.days[-1]))
            raise ValueError(f"value set: {day} is before {newest}, its last day; start from the set of the day before")
        today = _distinct(hashes)
        merged = self._merged(today[today < self.bound], number)
        if len(self.days) and number == self.days[-1]:
            distinct = max(round(merged._counted(merged.last == number).value), len(today), int(self.distinct[-1]))
            return merged._on(self.days, np.append(self.distinct[:-1], distinct))._shrunk()
        count = len(today) if distinct is None else distinct
        return merged._on(_appended(self.days, number), np.append(self.distinct, count))._shrunk()

    def forget(self, before: date) -> ValueSet:
        """The set without the values last seen before that day; one that comes back is new again."""
        return self._where(self.last >= before.toordinal())

    def count(self) -> Estimate:
        """All values seen so far."""
        return self._counted(np.ones(len(self.hashes), bool))

    def seen_since(self, day: date) -> Estimate:
        """Values seen on that day or later."""
        return self._counted(self.last >= day.toordinal())

    def gone_since(self, day: date) -> Estimate:
        """Values not seen on that day or later."""
        return self._counted(self.last < day.toordinal())

    def new_on(self, day: date) -> Estimate:
        """Values first seen on that day: all of them on the first day of the set."""
        return self._counted(self.first == day.toordinal())

    def new_since(self, day: date) -> Estimate:
        """Values first seen on that day or later."""
        return self._counted(self.first >= day.toordinal())

    def seen_last(self) -> _Hashes:
        """The hashes seen on the last day; in a sketch, those it holds."""
        return self.hashes[self._seen_last()] if len(self.days) else self.hashes

    def first_days(self, hashes: _Hashes) -> _Days:
        """The day each was first seen, as `date.toordinal`; 0 for one that is not held."""
        if not len(self.hashes):
            return np.zeros(len(hashes), np.int32)
        # In order, neighbours are looked for among neighbours: three times as fast, the sorting included.
        order = np.argsort(hashes)
        at = np.minimum(np.searchsorted(self.hashes, hashes[order]), len(self.hashes) - 1)
        days = np.empty(len(hashes), np.int32)
        days[order] = np.where(self.hashes[at] == hashes[order], self.first[at], 0)
        return days

    def lifetimes(self, listing_days: int | None = 1) -> _Days:
        """Days from first to last sight, both included, of the values that were not seen on the last day.

        Those there on the first day of the set lived at least that long. Where an observation covers several days,
        a value stays in sight for that much longer: this is taken off, and those there on the first day are left out;
        none where nothing ever leaves (None). In a sketch, only those of the sample.
        """
        ended = self.last < (self.days[-1] if len(self.days) else 0)
        if listing_days is None:
            return self.first[:0]
        if listing_days > 1:
            ended &= self.first > self.days[0]
        lived: _Days = self.last[ended] - self.first[ended] + np.int32(2 - listing_days)
        return lived.clip(min=1)

    def unseen(self, values: Iterable[str]) -> list[str]:
        """The values that the set does not hold, each once, in their order; in a sketch only those it would hold."""
        names = list(dict.fromkeys(values))
        hashes = hash_values(names)
        new = (hashes < self.bound) & ~_members(hashes, self.hashes)
        return [names[i] for i in np.flatnonzero(new)]

    def index(self, listing_days: int | None = 1) -> Index:
        """Bounded, churning or unbounded.

        `listing_days`: how many days of data an observation covers, 1 for those of its day alone, None for all that was
        ever written. With more than 1 the values of a single day are worked out; see `_of_one_day`.
        """
        window = self._window()
        if len(window) < _FEWEST_DAYS:
            start = int(window[0]) if len(window) else 0
            return Index("unknown", None, None, self._counted(self.last >= start), len(window))
        if listing_days == 1:
            values = self._counted(self.last >= window[0])
            first = float(self.distinct[np.searchsorted(self.days, window[0])])
            length, turnover, could_be_bounded = len(window), self._turnover(), True
        else:
            first, is_known = self._of_one_day(window, listing_days)
            length, new = int(window[-1] - window[0]) + 1, self._counted(self.first > window[0])
            values, turnover = Estimate(first + new.value, new.standard_error), self._listed_turnover(first)
            could_be_bounded = is_known or new.value <= _FLOOR
        beta = max(0.0, math.log(max(values.value, 1.0) / first) / math.log(length))
        kind = _kind(beta, turnover, values.value)
        if kind == "bounded" and not could_be_bounded:
            kind = "churning"
        return Index(kind, beta, turnover, values, len(window))

    def arrivals_per_day(self) -> float | None:
        """Values first seen in the last 28 days, per day after the first of these; None with a single day."""
        window = self._window()
        if len(window) < 2:
            return None
        return self._counted(self.first > window[0]).value / int(window[-1] - window[0])

    def _of_one_day(self, window: _Days, listing_days: int | None) -> tuple[float, bool]:
        """Distinct values of a single day, when each listing shows those of several; False where they may be fewer.

        What the last listing shows is the values of its first day and what each later one added, so the additions
        are taken off. It reaches back as far as the tag does, when that began while it was watched; as far as it
        covers, when about as many values leave it as arrive; else it is known only that it covers the days observed,
        and the values of the first listing are taken for those of one day. That never makes a tag look endless, but
        may make it look bounded, however many values are new.
        """
        rate, last = self.arrivals_per_day() or 0.0, float(self.distinct[-1])
        began = self.days[np.argmax(self.distinct > 0)]
        reaches, is_known = int(self.days[-1] - began) + 1, bool(began > self.days[0])
        if listing_days is not None:
            arrived = rate * int(window[-1] - window[0])
            left = self.distinct[np.searchsorted(self.days, window[0])] + arrived - last
            full = not is_known and 2 * left >= arrived
            reaches, is_known = listing_days if full else min(listing_days, reaches), is_known or full
        return max(last - (reaches - 1) * rate, rate, 1.0), is_known

    def _listed_turnover(self, of_one_day: float) -> float:
        """Share of a week's values that came in it, when that many are there on a single day."""
        began = self.days[np.argmax(self.distinct > 0)]
        since = max(self.days[-1] - _WEEK + 1, began + 1)
        new = self._counted(self.first >= since).value
        return min(1.0, new / (of_one_day + new * (_WEEK - 1) / _WEEK))

    def _window(self) -> _Days:
        """The observed days among the last 28, from the first that had values."""
        if not len(self.days):
            return self.days
        recent = self.days > self.days[-1] - _WINDOW_DAYS
        filled = recent & (self.distinct > 0)
        return self.days[np.argmax(filled) :] if filled.any() else self.days[:0]

    def _turnover(self) -> float:
        """What the first day with values saw is not new to the tag, only to us."""
        since = self.days[-1] - _WEEK + 1
        began = self.days[np.argmax(self.distinct > 0)]
        week = int((self.last >= since).sum())
        new = int((self.first >= max(since, began + 1)).sum())
        return new / week if week else 0.0

    def _counted(self, which: _Mask) -> Estimate:
        """For a sketch, a count of none is uncertain by one of the sample."""
        held, share = int(which.sum()), self.held_ratio
        return Estimate(held / share, math.sqrt(max(held, 1) * (1 - share)) / share)

    def _merged(self, today: _Hashes, day: int) -> ValueSet:
        old = _members(today, self.hashes)
        if len(today) == len(self.hashes) and old.all():
            return replace(self, last=np.full(len(today), day, np.int32))
        last = self.last.copy()
        last[np.searchsorted(self.hashes, today[old])] = day
        added = today[~old]
        at = np.searchsorted(self.hashes, added)
        hashes = np.insert(self.hashes, at, added)
        first, last = (np.insert(column, at, np.int32(day)) for column in (self.first, last))
        return replace(self, hashes=hashes, first=first, last=last)

    def _on(self, days: _Days, distinct: _Counts) -> ValueSet:
        return replace(self, days=days, distinct=distinct.astype(np.int64))

    def _shrunk(self) -> ValueSet:
        """The hash after the smallest `SKETCH_SIZE` becomes the bound, which makes the estimate unbiased."""
        if len(self.hashes) <= (MAX_EXACT if self.exact else SKETCH_SIZE):
            return self
        return self._below(int(self.hashes[SKETCH_SIZE]))

    def _below(self, bound: int) -> ValueSet:
        return replace(self._where(self.hashes < bound), bound=bound)

    def _where(self, which: _Mask) -> ValueSet:
        return replace(self, hashes=self.hashes[which], first=self.first[which], last=self.last[which])

    def to_bytes(self) -> bytes:
        """The whole set, compressed."""
        head = _BASE_HEAD.pack(len(self.hashes), len(self.days), self.bound)
        columns = (
            self.days.astype("<i4").tobytes(),
            self.distinct.astype("<i8").tobytes(),
            *packed.ascending(self.hashes, _HASH_BYTES),
            *packed.planes(np.searchsorted(self.days, self.first), _DAY_BYTES),
            *packed.planes(np.searchsorted(self.days, self.last), _DAY_BYTES),
        )
        return packed.sealed(packed.BASE, HASH_VERSION, head, columns)

    @classmethod
    def from_bytes(cls, data: bytes) -> ValueSet:
        """The set that `to_bytes` wrote. ValueError, one line, for anything else."""
        head, body = packed.opened(data, packed.BASE, HASH_VERSION, _BASE_HEAD)
        values, day_count, bound = head
        if values > MAX_EXACT:
            raise packed.damaged(f"{values} values are more than it can hold")
        sizes = (4 * day_count, 8 * day_count, _HASH_BYTES * values, _DAY_BYTES * values, _DAY_BYTES * values)
        days, distinct, hashes, first, last = packed.unpacked(body, sizes)
        day_numbers = np.frombuffer(days, "<i4").astype(np.int32)
        seen = [packed.from_planes(column, _DAY_BYTES).astype(np.int64) for column in (first, last)]
        if any(len(numbers) and numbers.max() >= day_count for numbers in seen):
            raise packed.damaged("a value was seen on a day that was not observed")
        counts = np.frombuffer(distinct, "<i8").astype(np.int64)
        return cls(
            packed.from_ascending(hashes, _HASH_BYTES),
            day_numbers[seen[0]],
            day_numbers[seen[1]],
            day_numbers,
            counts,
            bound,
        )

    def delta_since(self, before: ValueSet) -> bytes:
        """What the last day changed: the values added, and which of the others it saw. ValueError unless
        this set is the one before with one more day.
        """
        kept = before._below(self.bound)
        old = _members(self.hashes, kept.hashes)
        if not np.array_equal(self.days[:-1], before.days) or not len(self.days) or old.sum() != len(kept.hashes):
            raise ValueError("value set: it is not the one before with one more day, so no delta leads to it")
        flips = (self.last[old] == self.days[-1]) ^ kept._seen_last()
        added = self.hashes[~old]
        head = _DELTA_HEAD.pack(before.checksum(), int(self.days[-1]), int(self.distinct[-1]), self.bound, len(added))
        return packed.sealed(
            packed.DELTA, HASH_VERSION, head, (*packed.ascending(added, _HASH_BYTES), np.packbits(flips).tobytes())
        )

    def with_delta(self, data: bytes) -> ValueSet:
        """The set a day later. ValueError, one line, when the bytes are no delta, damaged, or follow another set."""
        head, body = packed.opened(data, packed.DELTA, HASH_VERSION, _DELTA_HEAD)
        checksum, day, distinct, bound, added = head
        if checksum != self.checksum():
            raise ValueError("value set: the delta follows another set; apply the deltas in the order of their days")
        kept = self._below(bound)
        sizes = (_HASH_BYTES * added, (len(kept.hashes) + 7) // 8)
        hashes, bits = packed.unpacked(body, sizes)
        flips = np.unpackbits(np.frombuffer(bits, np.uint8), count=len(kept.hashes)).astype(bool)
        seen = kept.hashes[flips ^ kept._seen_last()]
        today = np.sort(np.concatenate([seen, packed.from_ascending(hashes, _HASH_BYTES)]))
        return kept._merged(today, day)._on(_appended(self.days, day), np.append(self.distinct, distinct))

    def _seen_last(self) -> _Mask:
        """Those seen on the last day, which the next one most likely sees again: its delta is then nearly all zeros."""
        return np.asarray(self.last == (self.days[-1] if len(self.days) else 0), np.bool_)

    def checksum(self) -> int:
        """By which a delta is known to follow this set; 32 bits."""
        checksum = self.bound & 0xFFFFFFFF
        for column in self._columns():
            checksum = zlib.crc32(column.tobytes(), checksum)
        return checksum


def digests(values: Sequence[str]) -> _Hashes:
    """The first 8 bytes of each value's BLAKE2b, as a big-endian number, in their order."""
    blake2b = hashlib.blake2b
    heads = b"".join([blake2b(value.encode("utf-8", "surrogatepass")).digest()[:_DIGEST_BYTES] for value in values])
    return np.frombuffer(heads, ">u8").astype(np.uint64)


def truncated(numbers: _Hashes) -> _Hashes:
    """The hashes that begin these digests."""
    return numbers >> np.uint64(8 * _DIGEST_BYTES - HASH_BITS)


def hash_values(values: Sequence[str]) -> _Hashes:
    """The hash of each value, in their order; see the module for what it is."""
    return truncated(digests(values))


def _kind(beta: float, turnover: float, values: float) -> ValuesKind:
    if beta < _BOUNDED:
        return "bounded"
    endless = beta > _UNBOUNDED and turnover > _UNBOUNDED_TURNOVER and values > _FLOOR
    return "unbounded" if endless else "churning"


def _distinct(hashes: _Hashes) -> _Hashes:
    """Sorted, each once; a sort and a comparison are many times faster than `np.unique`."""
    ordered = np.sort(hashes)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def _members(hashes: _Hashes, ordered: _Hashes) -> _Mask:
    if not len(ordered):
        return np.zeros(len(hashes), bool)
    # Most days bring what the day before had, and to compare is far quicker than to search.
    if np.array_equal(hashes, ordered):
        return np.ones(len(hashes), bool)
    at = np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)
    return np.asarray(ordered[at] == hashes, np.bool_)


def _appended(days: _Days, day: int) -> _Days:
    return np.append(days, np.int32(day))
