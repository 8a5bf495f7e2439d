"""The values of one tag over time: which are new, which are gone, and on which days each was seen.

A value is stored as a hash (`value_hashes`) with the first and the last day it was seen, never as text. Up to
`MAX_EXACT` values, the set is exact; above, it becomes a bottom-k sketch: the `SKETCH_SIZE` values with the lowest
hashes, an unbiased sample of all, each with its exact days. A sketch does not become exact again. An observation is the
set of values that had data on a day, or a listing of all that did in the days up to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.values.value_hashes import HASH_BITS, Hashes, hash_values

MAX_EXACT: Final = 1_000_000
SKETCH_SIZE: Final = 4096
"""With this many, the standard error of a count is 1.6%."""

_ALL: Final = 1 << HASH_BITS

Days = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_Number = TypeVar("_Number", np.int32, np.int64)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number of values."""

    value: float
    standard_error: float
    """In values; 0 if the set is exact. An estimate below twice its error is not significant."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueSet:
    """The values of one tag seen so far; immutable, each observation creates a new set."""

    hashes: Hashes
    """Ascending, all below `bound`."""
    first: Days
    """The day each value was first seen, as `date.toordinal`."""
    last: Days
    days: Days
    """The observed days, ascending."""
    distinct: Counts
    """Number of distinct values on each of these days."""
    bound: int = _ALL
    """2^40 in an exact set; a sketch contains all values whose hash is lower."""

    @classmethod
    def empty(cls) -> ValueSet:
        """A set before its first day."""
        none = np.zeros(0, np.int32)
        return cls(np.zeros(0, np.uint64), none, none, none, np.zeros(0, np.int64))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueSet):
            return NotImplemented
        return self.bound == other.bound and all(map(np.array_equal, self.columns(), other.columns()))

    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """Everything the set contains except its bound."""
        return self.hashes, self.first, self.last, self.days, self.distinct

    @property
    def exact(self) -> bool:
        """Whether every value is stored, so that each number is exact."""
        return self.bound == _ALL

    @property
    def held_ratio(self) -> float:
        """The share of all values that is stored: 1 if exact."""
        return self.bound / _ALL

    def observe(self, values: Iterable[str], day: date) -> ValueSet:
        """The set plus the values of that day, which may be added in several calls.

        ValueError for a day before its last one. A day without values is observed, too, and counts as a day.
        """
        return self.observe_hashes(hash_values(list(values)), day)

    def observe_hashes(self, hashes: Hashes, day: date, distinct: int | None = None) -> ValueSet:
        """`observe` for values already hashed. `distinct`: the number of values they represent; None for one each."""
        number = day.toordinal()
        if len(self.days) and number < self.days[-1]:
            newest = date.fromordinal(int(self.days[-1]))
            raise ValueError(f"value set: {day} is before {newest}, its last day; start from the set of the day before")
        today = _distinct(hashes)
        held = today[today < self.bound]
        if len(self.days) and number == self.days[-1]:
            merged = self._merged(held, number)
            distinct = max(round(merged.counted(merged.last == number).value), len(today), int(self.distinct[-1]))
            return replace(merged, distinct=_appended(self.distinct[:-1], distinct))._shrunk()
        return self.with_day(held, number, len(today) if distinct is None else distinct)._shrunk()

    def with_day(self, hashes: Hashes, day: int, distinct: int) -> ValueSet:
        """The set plus one day, which had `distinct` values.

        `hashes`: those to store, ascending, without duplicates. An exact set stays exact, however many values it then
        contains.
        """
        merged = self._merged(hashes, day)
        return replace(merged, days=_appended(self.days, day), distinct=_appended(self.distinct, distinct))

    def forget(self, before: date) -> ValueSet:
        """The set without the values last seen before that day; one that returns is new again."""
        return self._where(self.last >= before.toordinal())

    def count(self) -> Estimate:
        """All values seen so far."""
        return self.counted(np.ones(len(self.hashes), bool))

    def new_on(self, day: date) -> Estimate:
        """Values first seen on that day: all of them on the first day of the set."""
        return self.counted(self.first == day.toordinal())

    def seen_last(self) -> Hashes:
        """The hashes seen on the last day; in a sketch, only the stored ones."""
        return self.hashes[self.on_last_day()]

    def on_last_day(self) -> Mask:
        """Which of the values were seen on the last day; none before the first day."""
        return np.asarray(self.last == (self.days[-1] if len(self.days) else 0), np.bool_)

    def first_days(self, hashes: Hashes) -> Days:
        """The day each value was first seen, as `date.toordinal`; 0 for values that are not stored."""
        if not len(self.hashes):
            return np.zeros(len(hashes), np.int32)
        # In order, each search starts near the previous result: three times as fast, including the sorting.
        order = np.argsort(hashes)
        at = np.minimum(np.searchsorted(self.hashes, hashes[order]), len(self.hashes) - 1)
        days = np.empty(len(hashes), np.int32)
        days[order] = np.where(self.hashes[at] == hashes[order], self.first[at], 0)
        return days

    def counted(self, which: Mask) -> Estimate:
        """The estimated number of these values. In a sketch, an estimate of 0 has an uncertainty of one of
        the sample.
        """
        held, share = int(which.sum()), self.held_ratio
        return Estimate(held / share, math.sqrt(max(held, 1) * (1 - share)) / share)

    def below(self, bound: int) -> ValueSet:
        """The part of the set with hashes below `bound`; the set itself if that is its own bound."""
        return replace(self._where(self.hashes < bound), bound=bound)

    def _merged(self, today: Hashes, day: int) -> ValueSet:
        old = members(today, self.hashes)
        if len(today) == len(self.hashes) and old.all():
            return replace(self, last=np.full(len(today), day, np.int32))
        last = self.last.copy()
        last[np.searchsorted(self.hashes, today[old])] = day
        added = today[~old]
        at = np.searchsorted(self.hashes, added)
        hashes = np.insert(self.hashes, at, added)
        first, last = (np.insert(column, at, np.int32(day)) for column in (self.first, last))
        return replace(self, hashes=hashes, first=first, last=last)

    def _shrunk(self) -> ValueSet:
        """Uses the hash after the lowest `SKETCH_SIZE` as the bound, which makes the estimate unbiased."""
        if len(self.hashes) <= (MAX_EXACT if self.exact else SKETCH_SIZE):
            return self
        return self.below(int(self.hashes[SKETCH_SIZE]))

    def _where(self, which: Mask) -> ValueSet:
        return replace(self, hashes=self.hashes[which], first=self.first[which], last=self.last[which])


def _distinct(hashes: Hashes) -> Hashes:
    """Sorted, without duplicates; a sort and a comparison are many times faster than `np.unique`."""
    ordered = np.sort(hashes)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def members(hashes: Hashes, ordered: Hashes) -> Mask:
    """Which of the hashes are among the sorted ones."""
    if not len(ordered):
        return np.zeros(len(hashes), bool)
    # Most days have the values of the previous day, and comparing is far quicker than searching.
    if np.array_equal(hashes, ordered):
        return np.ones(len(hashes), bool)
    at = np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)
    return np.asarray(ordered[at] == hashes, np.bool_)


def _appended(column: npt.NDArray[_Number], number: int) -> npt.NDArray[_Number]:
    return np.append(column, column.dtype.type(number))
