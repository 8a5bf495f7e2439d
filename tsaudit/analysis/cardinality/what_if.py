"""What a measurement would look like with other tags: the number of its series, and the points that would collide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa

from tsaudit.analysis.cardinality.hash_sample import Counted, bucketed
from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.analysis.codes import combined
from tsaudit.model.profile import TagSets

_ABSENT: Final = -1


@dataclass(frozen=True, slots=True)
class TagReduction:
    """Tags to remove, or to reduce to fewer values."""

    dropped: frozenset[str] = frozenset()
    """Tags to drop or turn into fields."""
    buckets: Mapping[str, int] | None = None
    """Tag to the maximum number of values it may have afterward."""


@dataclass(frozen=True, slots=True)
class Left:
    """The number of series of a measurement before and after a change."""

    now: int
    after: int
    """An upper bound if a profile contains only a sample of the series."""
    bound: int | None = None
    """The most series that can be left after bucketing, however values fall into the buckets; None without buckets."""
    determined_by: tuple[str, ...] = ()
    """Tags that each determine the dropped one, so that dropping it alone saves nothing."""
    together: int | None = None
    """Number of series left if those tags are dropped, too; None if there are none, or if it was not computed."""
    now_error: float | None = None
    """Standard error of `now`; None if it is exact or, when computed from a snapshot, the same as that of the
    measurement's series.
    """
    after_error: float | None = None


@dataclass(frozen=True, slots=True)
class Collisions:
    """Rows with the same tags and time as another row, which they overwrite on engines where these identify a row."""

    rows: int
    """Number of rows compared."""
    now: int
    after: int


def from_tag_sets(tag_sets: TagSets, tag: str) -> Left | None:
    """The number of series left after dropping one tag, computed from stored figures; None if they do not cover the
    tag.
    """
    found = next((c for c in tag_sets.contributions if c.tag == tag), None)
    if found is None:
        return None
    if not found.together_with:
        return Left(tag_sets.series, found.series_left)
    # A tag that another one determines adds no series of its own.
    return Left(tag_sets.series, tag_sets.series, None, found.together_with, found.series_left)


class LeftCounter:
    """Counts the series of a listing before and after a change, batch by batch."""

    def __init__(self, tags: Sequence[str], change: TagReduction, ceiling: int | None = None) -> None:
        """`ceiling`: counts up to this many series are exact, higher ones are estimates. None: always exact."""
        self._change = change
        self._buckets = dict(change.buckets or {})
        self._kept = [tag for tag in tags if tag not in change.dropped]
        self._unbucketed = [tag for tag in self._kept if tag not in self._buckets]
        self._now, self._after, self._without = (
            TagSetCounter(names, ceiling=ceiling) for names in (tags, self._kept, self._unbucketed)
        )
        self._absent: set[str] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add tag sets: one string column per tag, null if the tag is absent."""
        self._now.add(batch)
        self._absent |= {tag for tag in self._buckets if batch.column(tag).null_count}
        columns = changed({tag: batch.column(tag) for tag in self._kept}, self._change)
        _count(self._after, columns)
        if self._buckets:
            _count(self._without, {tag: columns[tag] for tag in self._unbucketed})

    @property
    def left(self) -> Left:
        """The number of series so far, before and after the change."""
        now = self._now.series
        after = self._after.series if self._kept else Counted(min(now.value, 1))
        left = Left(now.value, after.value, now_error=now.standard_error, after_error=after.standard_error)
        if not self._buckets:
            return left
        bound = self._without.series.value if self._unbucketed else min(now.value, 1)
        for tag, count in self._buckets.items():
            bound *= count + (tag in self._absent)
        return replace(left, bound=min(now.value, bound))


def changed(columns: Mapping[str, pa.Array], change: TagReduction) -> dict[str, pa.Array]:
    """The tags as they would be after the change, from one column for each current tag."""
    buckets = change.buckets or {}
    return {
        tag: bucketed(column, buckets[tag]) if tag in buckets else column
        for tag, column in columns.items()
        if tag not in change.dropped
    }


def collisions(tags: Mapping[str, pa.Array], time: pa.Array, change: TagReduction) -> Collisions:
    """How many rows have the same tags and time as an earlier row, before and after the change.

    `tags` and `time`: one column each, for the same rows. Rows without a time are left out.
    """
    timed = time.is_valid()
    moments = time.filter(timed)
    columns = {tag: column.filter(timed) for tag, column in tags.items()}
    after = changed(columns, change)
    return Collisions(
        rows=len(moments),
        now=_repeating([moments, *columns.values()]),
        after=_repeating([moments, *after.values()]),
    )


def _count(counter: TagSetCounter, columns: dict[str, pa.Array]) -> None:
    if columns:
        counter.add(pa.record_batch(columns))


def _repeating(columns: Sequence[pa.Array]) -> int:
    """The number of rows that equal an earlier one."""
    rows = len(columns[0])
    codes = [column.dictionary_encode().indices.fill_null(_ABSENT).to_numpy() for column in columns]
    return rows - int(combined(codes, rows).max(initial=-1)) - 1
