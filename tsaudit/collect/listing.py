"""The third rung: one listing of a measurement's tag sets, counted here as it streams by."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tsaudit.analysis.cardinality import TagSetCounter
from tsaudit.collect.asking import Asker, TooMuchError
from tsaudit.collect.draft import Draft
from tsaudit.profile import SAMPLE_SIZE, Count, Ratio, Source, Tag

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

SERIES_KEPT: Final = 64
"""Tag sets remembered whole, to read rows of."""


def list_tag_sets(
    asker: Asker,
    draft: Draft,
    also: Callable[[pa.RecordBatch], None] | None = None,
    then: Callable[[Draft, TagSetCounter], None] | None = None,
) -> None:
    """Fill in series, tag values and tag sets, and remember a few of the tag sets.

    `also` is given each batch of tag sets as it comes; `then` the whole listing, unless it was broken off.
    """
    fact = "series_listing"
    if not draft.tags:
        # Without tags all rows are of one source: nothing to list.
        draft.series = Count(1, asker.source(fact, scope="has no tags"))
        return
    most = asker.target.budget.max_series
    counter = TagSetCounter([t.key for t in draft.tags], sample_size=SAMPLE_SIZE)
    kept = _Reservoir(draft)
    read = 0

    def consume(batch: pa.RecordBatch) -> None:
        nonlocal read
        counter.add(batch)
        kept.add(batch)
        if also:
            also(batch)
        read += batch.num_rows
        # Counting the distinct ones is dear: done only when there may be too many.
        if read > most and counter.series > most:
            raise TooMuchError(f"at least {counter.series} series: the listing was broken off; raise budget.max_series")

    statement = asker.ask(fact, consume, **draft.about, limit=most + 1)
    draft.some_series = kept.series()
    if draft.note(fact, statement):
        source = asker.source(fact, scope=scope(asker, draft))
        draft.series = Count(counter.series, source)
        draft.tag_sets = counter.tag_sets(source)
        draft.tags = _filled_in(draft.tags, counter, source)
        if then:
            then(draft, counter)


def scope(asker: Asker, draft: Draft) -> str:
    """Which rows a statement about a SQL table covers, in words; empty where an index knows all series."""
    if not draft.columns:
        return ""
    if draft.time is None:
        return "all rows: the table has no time column"
    start, end = asker.window.start, asker.window.end
    return f"rows from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"


def _filled_in(tags: tuple[Tag, ...], counter: TagSetCounter, source: Source) -> tuple[Tag, ...]:
    columns = counter.columns()
    return tuple(
        Tag(
            key=tag.key,
            data_type=tag.data_type,
            values=Count(columns[tag.key].values, source),
            sample=columns[tag.key].sample,
            absent=Ratio(columns[tag.key].absent_ratio, source),
            role_reason=tag.role_reason,
        )
        for tag in tags
    )


class _Reservoir:
    """An even choice of the tag sets that stream by; the same for the same listing."""

    def __init__(self, draft: Draft) -> None:
        import numpy as np

        self._random = np.random.default_rng(zlib.crc32(f"{draft.database}/{draft.name}".encode()))
        self._kept: list[tuple[float, dict[str, str | None]]] = []

    def add(self, batch: pa.RecordBatch) -> None:
        """Draw a number for each tag set, and keep those with the lowest."""
        drawn: np.ndarray = self._random.random(batch.num_rows)
        limit = self._kept[-1][0] if len(self._kept) == SERIES_KEPT else 1.0
        below = (drawn < limit).nonzero()[0]
        lowest = [int(i) for i in below[drawn[below].argsort()[:SERIES_KEPT]]]
        if lowest:
            rows = batch.take(lowest).to_pylist()
            new = [(float(drawn[i]), row) for i, row in zip(lowest, rows, strict=True)]
            self._kept = sorted([*self._kept, *new], key=lambda pair: pair[0])[:SERIES_KEPT]

    def series(self) -> list[dict[str, str | None]]:
        return [row for _, row in self._kept]
