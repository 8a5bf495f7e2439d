"""The values of one tag over time: which are new, which are gone, and on which days each was seen.

A value is stored as a hash (`values.hashes`) with the first and the last day it was seen, never as text. A set that
would contain more than `MAX_EXACT` values makes room by removing values that are gone: it drops the oldest ones, which
no figure needs (`REACH_DAYS`), and keeps only a sample of those unseen for a week. The values in use, and the number of
new values, stay exact, except that a value that returns after it was dropped counts as new again. If that is not
enough, the set becomes a bottom-k sketch: the `SKETCH_SIZE` values with the lowest hashes, an unbiased sample of all,
each with its exact days. A sketch does not become exact again. An observation is the set of values that had data on a
day, or a listing of all values that had data in the days up to it.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from tsaudit.analysis import codes
from tsaudit.analysis.values.hashes import HASH_BITS, Hashes, hash_values

MAX_EXACT: Final = 1_000_000
SKETCH_SIZE: Final = 4096
"""Number of values in a sketch: the standard error of a count is then 1.6%."""

REACH_DAYS: Final = 36
"""Number of days for which values are needed: figures compare a week with the four weeks before it."""
_GRACE_DAYS: Final = 7
"""Values are kept for this many days in any case, because they may pause on a weekend, or a listing may miss them."""
_ROOM: Final = 0.75
"""How full a set is, at most, after making room, as a share of `MAX_EXACT`. Making room should be rare, because the set
is then stored in full.
"""
_FULLEST: Final = 0.95
"""If the set is still fuller than this share after making room, it becomes a sketch."""
_LOWEST_SHARE: Final = 2**-10

_ALL: Final = 1 << HASH_BITS

Days = npt.NDArray[np.int32]
Counts = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
_Number = TypeVar("_Number", np.int32, np.int64)


@dataclass(frozen=True, slots=True)
class SetEstimate:
    """A number of values."""

    value: float
    standard_error: float
    """Standard error, as a number of values; 0 if the set is exact. An estimate below twice its error is not
    significant.
    """


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
    thinned_before: int = 0
    """Only a sample is stored of the values last seen before this day, given as `date.toordinal`; 0 if all values are
    stored.
    """
    thinned_bound: int = _ALL
    """The sample contains the values whose hash is lower than this."""

    @classmethod
    def empty(cls) -> ValueSet:
        """A set before its first day."""
        none = np.zeros(0, np.int32)
        return cls(np.zeros(0, np.uint64), none, none, none, np.zeros(0, np.int64))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueSet):
            return NotImplemented
        return self.bounds == other.bounds and all(map(np.array_equal, self.columns(), other.columns()))

    def columns(self) -> tuple[npt.NDArray[Any], ...]:
        """Everything the set contains except its bounds."""
        return self.hashes, self.first, self.last, self.days, self.distinct

    @property
    def content(self) -> tuple[Hashable, ...]:
        """Equal for equal sets."""
        return *self.bounds, *(column.tobytes() for column in self.columns())

    @property
    def bounds(self) -> tuple[int, int, int]:
        """What limits the stored values."""
        return self.bound, self.thinned_before, self.thinned_bound

    @property
    def exact(self) -> bool:
        """Whether every value in use is stored, so that numbers of new values are exact."""
        return self.bound == _ALL

    @property
    def held_ratio(self) -> float:
        """The share of the values in use that is stored: 1 if exact."""
        return self.bound / _ALL

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """For each stored value, the number of values that it stands for."""
        return np.where(self.last < self.thinned_before, 1 / self._thinned_ratio, 1.0) / self.held_ratio

    @property
    def _thinned_ratio(self) -> float:
        return min(1.0, self.thinned_bound / self.bound)

    def observe(self, values: Iterable[str], day: date) -> ValueSet:
        """The set plus the values of the day, which may be added in several calls.

        A day without values is also an observed day. Raises ValueError for a day before the last one.
        """
        return self.observe_hashes(hash_values(list(values)), day)

    def observe_hashes(self, hashes: Hashes, day: date, distinct: int | None = None) -> ValueSet:
        """`observe` for values already hashed. `distinct`: the number of values that the hashes represent; None if they
        represent one each.
        """
        number = day.toordinal()
        if len(self.days) and number < self.days[-1]:
            newest = date.fromordinal(int(self.days[-1]))
            raise ValueError(f"value set: {day} is before {newest}, its last day; start from the set of the day before")
        today = codes.distinct(hashes)
        held = today[today < self.bound]
        merged = self._merged(held, number)
        if len(self.days) and number == self.days[-1]:
            distinct = max(round(merged.counted(merged.last == number).value), len(today), int(self.distinct[-1]))
            return replace(merged, distinct=_appended(self.distinct[:-1], distinct))._shrunk()
        return merged._with_count(number, len(today) if distinct is None else distinct)._shrunk()

    def with_changes(self, seen: Mask, added: Hashes, day: int, distinct: int) -> ValueSet:
        """The set plus one day, which had `distinct` values, if it is known which values of the set were seen, and
        which others were added (ascending).
        """
        last = np.where(seen, np.int32(day), self.last)
        return replace(self, last=last)._plus(added, day)._with_count(day, distinct)

    def prune(self, before: date) -> ValueSet:
        """The set without the values last seen before that day. A value that returns after that counts as new."""
        day = before.toordinal()
        kept = self if self.last.min(initial=day) >= day else self._where(self.last >= day)
        is_whole = 0 < kept.thinned_before <= day
        return replace(kept, thinned_before=0, thinned_bound=_ALL) if is_whole else kept

    def new_on(self, day: date) -> SetEstimate:
        """The number of values first seen on that day; on the first day of the set, all of its values."""
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

    def counted(self, which: Mask) -> SetEstimate:
        """The estimated number of the selected values. In a sketch, an estimate of 0 still has a standard error, as if
        one value of the sample were selected.
        """
        share, thinned = self.held_ratio, self._thinned_ratio
        sampled = int((which & (self.last < self.thinned_before)).sum())
        held = int(which.sum()) - sampled
        of_all = held + sampled / thinned
        variance = max(of_all, 1) * (1 - share) / share**2 + sampled * (1 - thinned) / (thinned * share) ** 2
        return SetEstimate(of_all / share, math.sqrt(variance))

    def below(self, bound: int) -> ValueSet:
        """The part of the set with hashes below `bound`; the set itself if that is its own bound."""
        return self if bound == self.bound else replace(self._where(self.hashes < bound), bound=bound)

    def _merged(self, today: Hashes, day: int) -> ValueSet:
        old = members(today, self.hashes)
        if len(today) == len(self.hashes) and old.all():
            return replace(self, last=np.full(len(today), day, np.int32))
        last = self.last.copy()
        last[np.searchsorted(self.hashes, today[old])] = day
        return replace(self, last=last)._plus(today[~old], day)

    def _plus(self, added: Hashes, day: int) -> ValueSet:
        """The set plus these values, which were seen on the day. They must be ascending, and not be in the set."""
        if not len(added):
            return self
        at = np.searchsorted(self.hashes, added)
        hashes = np.insert(self.hashes, at, added)
        first, last = (np.insert(column, at, np.int32(day)) for column in (self.first, self.last))
        return replace(self, hashes=hashes, first=first, last=last)

    def _with_count(self, day: int, distinct: int) -> ValueSet:
        return replace(self, days=_appended(self.days, day), distinct=_appended(self.distinct, distinct))

    def _shrunk(self) -> ValueSet:
        """Uses the hash after the lowest `SKETCH_SIZE` as the bound, which makes the estimate unbiased."""
        if len(self.hashes) <= (MAX_EXACT if self.exact else SKETCH_SIZE):
            return self
        if self.exact:
            roomy = self._with_room()
            if len(roomy.hashes) <= _FULLEST * MAX_EXACT:
                return roomy
        return self.below(int(self.hashes[SKETCH_SIZE]))

    def _with_room(self) -> ValueSet:
        """The set without the oldest of the values that are gone, and with only a sample of the values unseen for more
        than a week.
        """
        today, most = int(self.days[-1]), _ROOM * MAX_EXACT
        newest_first = np.sort(self.last)[::-1]
        oldest = int(newest_first[int(most)]) + 1
        kept = self.prune(date.fromordinal(min(oldest, today - REACH_DAYS + 1)))
        before, bound = max(today - _GRACE_DAYS + 1, kept.thinned_before), kept.thinned_bound
        while len(kept.hashes) > most and bound > _LOWEST_SHARE * _ALL:
            which = (kept.last >= before) | (kept.hashes < bound)
            kept = replace(kept._where(which), thinned_before=before, thinned_bound=bound)
            bound //= 2
        return kept

    def _where(self, which: Mask) -> ValueSet:
        return replace(self, hashes=self.hashes[which], first=self.first[which], last=self.last[which])


def members(hashes: Hashes, ordered: Hashes) -> Mask:
    """Which of the hashes are among the sorted ones."""
    if not len(ordered):
        return np.zeros(len(hashes), bool)
    # On most days the values are those of the previous day, and comparing is far quicker than searching.
    if np.array_equal(hashes, ordered):
        return np.ones(len(hashes), bool)
    at = np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)
    return np.asarray(ordered[at] == hashes, np.bool_)


def _appended(column: npt.NDArray[_Number], number: int) -> npt.NDArray[_Number]:
    return np.append(column, column.dtype.type(number))
