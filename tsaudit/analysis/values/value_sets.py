"""The values of one tag over time: which are new, which are gone, and on which days each was seen.

A value is kept as a hash (`value_hashes`) with the first and the last day it was seen, never as text. Up to `MAX_EXACT`
values the set is exact; above, it becomes a bottom-k sketch: the `SKETCH_SIZE` values with the smallest hashes, a fair
sample of all, each with its exact days. A sketch does not become exact again.

An observation is the values that carried data on a day, or a listing of all that did in the days up to it.
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
"""The standard error of a count is 1.6% with so many."""

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
    """In values; 0 where the set is exact. A value within twice its error is too small to be seen."""


@dataclass(frozen=True, slots=True, eq=False)
class ValueSet:
    """The values of one tag seen so far; never changed, each observation makes a new set."""

    hashes: Hashes
    """Ascending, all below `bound`."""
    first: Days
    """The day each value was first seen, as `date.toordinal`."""
    last: Days
    days: Days
    """The days observed, ascending."""
    distinct: Counts
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
        return self.bound == other.bound and all(map(np.array_equal, self.columns(), other.columns()))

    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """All that the set holds besides its bound."""
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

    def observe_hashes(self, hashes: Hashes, day: date, distinct: int | None = None) -> ValueSet:
        """`observe` of values that were hashed before. `distinct`: of how many values; None for one each."""
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
        """The set with one more day, which had `distinct` values; `hashes` are those to hold, ascending, each once.

        An exact set stays exact, however many values it holds then.
        """
        merged = self._merged(hashes, day)
        return replace(merged, days=_appended(self.days, day), distinct=_appended(self.distinct, distinct))

    def forget(self, before: date) -> ValueSet:
        """The set without the values last seen before that day; one that comes back is new again."""
        return self._where(self.last >= before.toordinal())

    def count(self) -> Estimate:
        """All values seen so far."""
        return self.counted(np.ones(len(self.hashes), bool))

    def new_on(self, day: date) -> Estimate:
        """Values first seen on that day: all of them on the first day of the set."""
        return self.counted(self.first == day.toordinal())

    def seen_last(self) -> Hashes:
        """The hashes seen on the last day; in a sketch, those it holds."""
        return self.hashes[self.on_last_day()]

    def on_last_day(self) -> Mask:
        """Which of the values the last day saw; none before the first day."""
        return np.asarray(self.last == (self.days[-1] if len(self.days) else 0), np.bool_)

    def first_days(self, hashes: Hashes) -> Days:
        """The day each was first seen, as `date.toordinal`; 0 for one that is not held."""
        if not len(self.hashes):
            return np.zeros(len(hashes), np.int32)
        # In order, neighbours are looked for among neighbours: three times as fast, the sorting included.
        order = np.argsort(hashes)
        at = np.minimum(np.searchsorted(self.hashes, hashes[order]), len(self.hashes) - 1)
        days = np.empty(len(hashes), np.int32)
        days[order] = np.where(self.hashes[at] == hashes[order], self.first[at], 0)
        return days

    def counted(self, which: Mask) -> Estimate:
        """How many values these are. In a sketch, a count of none is uncertain by one of the sample."""
        held, share = int(which.sum()), self.held_ratio
        return Estimate(held / share, math.sqrt(max(held, 1) * (1 - share)) / share)

    def below(self, bound: int) -> ValueSet:
        """The part of the set whose hashes are below; equal to the set when `bound` is its own."""
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
        """The hash after the smallest `SKETCH_SIZE` becomes the bound, which makes the estimate unbiased."""
        if len(self.hashes) <= (MAX_EXACT if self.exact else SKETCH_SIZE):
            return self
        return self.below(int(self.hashes[SKETCH_SIZE]))

    def _where(self, which: Mask) -> ValueSet:
        return replace(self, hashes=self.hashes[which], first=self.first[which], last=self.last[which])


def _distinct(hashes: Hashes) -> Hashes:
    """Sorted, each once; a sort and a comparison are many times faster than `np.unique`."""
    ordered = np.sort(hashes)
    return ordered[np.append(True, ordered[1:] != ordered[:-1])] if len(ordered) else ordered


def members(hashes: Hashes, ordered: Hashes) -> Mask:
    """Which of the hashes are among the ordered ones."""
    if not len(ordered):
        return np.zeros(len(hashes), bool)
    # Most days bring what the day before had, and to compare is far quicker than to search.
    if np.array_equal(hashes, ordered):
        return np.ones(len(hashes), bool)
    at = np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)
    return np.asarray(ordered[at] == hashes, np.bool_)


def _appended(column: npt.NDArray[_Number], number: int) -> npt.NDArray[_Number]:
    return np.append(column, column.dtype.type(number))
