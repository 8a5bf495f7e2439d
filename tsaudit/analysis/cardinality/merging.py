"""Selects, from a stream, series that a change of tags would merge: complete groups, spread evenly over all groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tsaudit.analysis.cardinality.hash_sample import Hashes, series_hashes
from tsaudit.analysis.cardinality.what_if import TagReduction, changed
from tsaudit.analysis.values.value_sample import hashes

_KEPT: Final = 1 << 12
"""Series kept in memory: those of the groups with the lowest hashes."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Series selected by group; each group would become one series."""

    series: tuple[dict[str, str | None], ...]
    """Tag sets; empty if no two of the examined series would merge."""
    count: int
    """The number of groups they belong to."""
    whole: bool
    """Whether the groups are complete; otherwise these series are part of a single group that is too large to read."""


class MergingSeries:
    """Collects the tag sets of a measurement batch by batch, with constant memory."""

    def __init__(self, change: TagReduction) -> None:
        self._change = change
        self._hashes: Hashes = np.zeros(0, np.uint64)
        self._series: pa.Table | None = None
        self._last: int | None = None
        """The highest hash kept, whose group may be incomplete; None as long as all series are kept."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Add tag sets: one string column per tag, null if the tag is absent."""
        found = self._group_hashes(batch)
        if self._last is not None:
            near = found <= np.uint64(self._last)
            batch, found = batch.filter(pa.array(near)), found[near]
        added = pa.Table.from_batches([batch])
        self._series = added if self._series is None else pa.concat_tables([self._series, added])
        self._hashes = np.concatenate([self._hashes, found])
        if len(self._hashes) > 2 * _KEPT:
            lowest = np.argsort(self._hashes, kind="stable")[:_KEPT]
            self._hashes, self._series = self._hashes[lowest], self._series.take(lowest).combine_chunks()
            self._last = int(self._hashes[-1])

    def chosen(self, most: int) -> Groups:
        """At most this many series, in as many complete groups as fit."""
        groups, sizes = np.unique(self._hashes, return_counts=True)
        several = [(int(size), group) for size, group in zip(sizes, groups, strict=True) if size > 1]
        taken: list[Any] = []
        left = most
        for size, group in several:
            if size <= left and (self._last is None or group < np.uint64(self._last)):
                taken.append(group)
                left -= size
        if taken or not several:
            return Groups(self._of(np.isin(self._hashes, taken), most), len(taken), whole=True)
        return Groups(self._of(self._hashes == several[0][1], most), 1, whole=False)

    def _group_hashes(self, batch: pa.RecordBatch) -> Hashes:
        columns = {}
        for tag, column in changed(dict(zip(batch.schema.names, batch.columns, strict=True)), self._change).items():
            encoded = column.cast(pa.string()).dictionary_encode()
            columns[tag] = hashes(encoded.dictionary), encoded.indices.fill_null(-1).to_numpy() + 1
        return series_hashes(columns, batch.num_rows)

    def _of(self, rows: Any, most: int) -> tuple[dict[str, str | None], ...]:
        found = [] if self._series is None else self._series.take(np.flatnonzero(rows)[:most]).to_pylist()
        return tuple(found)
