"""What a measurement would be like with other tags: its series, and the points that would fall on one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tsaudit.analysis.cardinality.buckets import bucketed
from tsaudit.analysis.cardinality.hash_sample import Counted
from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.model.profile import TagSets

_ABSENT: Final = -1


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to the tags of a measurement."""

    dropped: frozenset[str] = frozenset()
    """Tags that are no tags any more, whether they go or become fields."""
    buckets: Mapping[str, int] | None = None
    """Tag to the number of values it may have from then on."""


@dataclass(frozen=True, slots=True)
class Left:
    """The series of a measurement before and after a change."""

    now: int
    after: int
    """At most, where a snapshot kept only a sample of the series."""
    bound: int | None = None
    """The most that buckets can leave, however values fall into them; None without buckets."""
    determined_by: tuple[str, ...] = ()
    """Tags by each of which the dropped one is determined, so that dropping it alone gains nothing."""
    together: int | None = None
    """Series left if those go too; None where there are none, or it was not asked."""
    now_error: float | None = None
    """Standard error of `now`; None where it is exact or, from a snapshot, that of the measurement's series."""
    after_error: float | None = None


@dataclass(frozen=True, slots=True)
class Collisions:
    """Rows that share all tags and the time with another row, among those read."""

    rows: int
    now: int
    after: int


def from_tag_sets(tag_sets: TagSets, tag: str) -> Left | None:
    """What dropping one tag leaves, by figures had before; None when they say nothing of the tag."""
    found = next((c for c in tag_sets.contributions if c.tag == tag), None)
    if found is None:
        return None
    if not found.together_with:
        return Left(tag_sets.series, found.series_left)
    # A tag that another one determines tells no series apart that the other does not.
    return Left(tag_sets.series, tag_sets.series, None, found.together_with, found.series_left)


class LeftCounter:
    """Counts the series of a listing before and after a change, batch by batch."""

    def __init__(self, tags: Sequence[str], change: Change, ceiling: int | None = None) -> None:
        """`ceiling`: of how many series each count is exact; of more it is an estimate. None: always exact."""
        self._change = change
        self._buckets = dict(change.buckets or {})
        self._kept = [tag for tag in tags if tag not in change.dropped]
        self._unbucketed = [tag for tag in self._kept if tag not in self._buckets]
        self._now, self._after, self._without = (
            TagSetCounter(names, ceiling=ceiling) for names in (tags, self._kept, self._unbucketed)
        )
        self._absent: set[str] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Takes in tag sets: string columns, one for every tag, null where it is absent."""
        self._now.add(batch)
        self._absent |= {tag for tag in self._buckets if batch.column(tag).null_count}
        columns = changed({tag: batch.column(tag) for tag in self._kept}, self._change)
        _count(self._after, columns)
        if self._buckets:
            _count(self._without, {tag: columns[tag] for tag in self._unbucketed})

    @property
    def left(self) -> Left:
        """The series so far."""
        now = self._now.series
        after = self._after.series if self._kept else Counted(min(now.value, 1))
        left = Left(now.value, after.value, now_error=now.standard_error, after_error=after.standard_error)
        if not self._buckets:
            return left
        bound = self._without.series.value if self._unbucketed else min(now.value, 1)
        for tag, count in self._buckets.items():
            bound *= count + (tag in self._absent)
        return replace(left, bound=min(now.value, bound))


def changed(columns: Mapping[str, pa.Array], change: Change) -> dict[str, pa.Array]:
    """The tags as they would be, from a column for each as it is."""
    buckets = change.buckets or {}
    return {
        tag: bucketed(column, buckets[tag]) if tag in buckets else column
        for tag, column in columns.items()
        if tag not in change.dropped
    }


def collisions(tags: Mapping[str, pa.Array], time: pa.Array, change: Change) -> Collisions:
    """How many rows share tags and time with another, before and after the change.

    `tags` and `time`: a column each, of the same rows. Rows without a time are left out.
    """
    timed = time.is_valid()
    moments = time.filter(timed)
    columns = {tag: column.filter(timed) for tag, column in tags.items()}
    after = changed(columns, change)
    return Collisions(
        rows=len(moments),
        now=_sharing([moments, *columns.values()]),
        after=_sharing([moments, *after.values()]),
    )


def _count(counter: TagSetCounter, columns: dict[str, pa.Array]) -> None:
    if columns:
        counter.add(pa.record_batch(columns))


def _sharing(columns: Sequence[pa.Array]) -> int:
    """Rows that are equal to another row."""
    number: npt.NDArray[np.int64] = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        codes = column.dictionary_encode().indices.fill_null(_ABSENT).to_numpy().astype(np.int64) + 1
        # Numbered anew after each column, so that the product of two small numbers never runs over.
        _, number = np.unique(number * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)
    counts = np.bincount(number)
    return int(counts[counts > 1].sum())
