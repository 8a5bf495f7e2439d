"""One listing of a measurement's tag sets, counted as it streams by."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa

from tsaudit.analysis.cardinality.tag_sets import TagColumn, TagSetCounter
from tsaudit.collect import reading
from tsaudit.collect.draft import Draft, content_of
from tsaudit.collect.query_runner import Answered, QueryRunner
from tsaudit.collect.reading import shorter
from tsaudit.engines.connection import FactError
from tsaudit.model.columns import Tag
from tsaudit.model.facts import OfSeriesListing
from tsaudit.model.figures import SAMPLE_SIZE, Count, How, Ratio, Reason, Role, Source
from tsaudit.text import many, span

SERIES_KEPT: Final = 64
"""Complete tag sets kept, to read their rows."""
_MOST_ALIKE: Final = 10_000
"""Tag sets of a listing that is compared with those of other measurements."""
_MOST_VALUES: Final = 100_001
"""Values of one tag that are listed, where only they are: one more than InfluxDB allows by default."""


def list_tag_sets(
    runner: QueryRunner,
    draft: Draft,
    also: Callable[[pa.RecordBatch], None] | None = None,
    then: Callable[[Draft, TagSetCounter], Draft] | None = None,
) -> Draft:
    """Determine series, tag values, and tag sets, and keep a few of the tag sets.

    `also` gets each batch of tag sets as it arrives. `then` gets the draft and the complete listing, unless it was
    stopped, and returns what it makes of the draft. For a table too big to read, only a part is listed, and only if
    there may be many series, or for `also`.
    """
    fact = "series_listing"
    if draft.measurement.kind is not None and not draft.measurement.kind.has_series and not draft.tags:
        # No rules about series evaluate it.
        return draft
    if not draft.tags:
        # Without tags, all rows are from one source: there is nothing to list.
        return _with_series(draft, Count(0 if draft.is_empty else 1, runner.source(fact, scope="has no tags")), ())
    if draft.is_too_big and not also and (bound := reading.series_bound(runner, draft)):
        return _with_series(draft, bound, tuple(_by_statistics(runner, draft, tag) for tag in draft.tags))
    tried: list[_Listing] = []

    def consumer(given: OfSeriesListing) -> Callable[[pa.RecordBatch], None]:
        tried.append(_Listing(runner, draft, given, also))
        return tried[-1].consume

    queries = [listing_of(runner, draft)] if also else _queries(runner, draft, tried)
    answer = runner.first_answered(fact, queries, consumer)
    if also and answer is None:
        return draft
    if answer is None or answer.given.singly:
        return _in_part(runner, draft, tried, answer)
    listing = tried[-1]
    draft = replace(draft, some_series=listing.kept.series()).sent(fact, answer.statement)
    source = _source(runner, draft, answer)
    counter = listing.shared(runner)
    if draft.is_divided:
        draft = _without_tags_of_other_policies(draft, counter)
        if not draft.tags:
            return _with_series(draft, Count(1, replace(source, scope="has no tags")), ())
    draft = _with_listing(runner, draft, counter, source)
    if then and draft.measurement.own_window is None:
        with runner.understanding(fact, draft.database, draft.name):
            draft = then(draft, counter)
    return draft


def _queries(runner: QueryRunner, draft: Draft, tried: Sequence[_Listing]) -> Iterator[OfSeriesListing]:
    """The listing; then, from an index, each tag by itself, otherwise parts of the rows, unless a part came already."""
    given = listing_of(runner, draft)
    if not draft.is_indexed:
        for part in shorter(given):
            if not any(one.read for one in tried):
                yield part
        return
    yield given
    if not draft.is_divided:
        # An index lists the values of all retention policies together.
        yield replace(given, singly=True, limit=min(given.limit, _MOST_VALUES))


class _Listing:
    """What one way to list the tag sets returned, as far as it came."""

    def __init__(
        self,
        runner: QueryRunner,
        draft: Draft,
        given: OfSeriesListing,
        also: Callable[[pa.RecordBatch], None] | None,
    ) -> None:
        most = runner.target.budget.max_series
        self.given = given
        self.counter = TagSetCounter([] if draft.is_divided else [t.key for t in draft.tags], SAMPLE_SIZE, most)
        self.singly = {tag.key: TagSetCounter([tag.key], SAMPLE_SIZE) for tag in draft.tags if given.singly}
        self.kept = _Reservoir(draft)
        self.read = 0
        self._tags = tuple(tag.key for tag in draft.tags)
        self._batches: list[pa.RecordBatch] = []
        """All that came, unless it is more than is compared with other listings."""
        self._most = runner.target.budget.max_listed
        self._is_divided, self._is_indexed = draft.is_divided, draft.is_indexed
        self._also = also

    def consume(self, batch: pa.RecordBatch) -> None:
        """Count the tag sets of a batch. Raises FactError if there are too many."""
        if self.given.singly:
            (name,) = batch.schema.names
            self.singly[name].add(batch)
            return
        self.counter.add(_present(batch) if self._is_divided else batch)
        if self._is_indexed:  # Rows of tables are never read by series.
            self.kept.add(batch)
        if self._also:
            self._also(batch)
        self.read += batch.num_rows
        if self.read > _MOST_ALIKE:
            self._batches.clear()
        else:
            self._batches.append(batch)
        if self.read > self._most:
            cause = f"the listing was stopped after {many(self._most, 'tag set')}"
            raise FactError(Reason.OVER_BUDGET, cause, "raise budget.max_listed")

    def shared(self, runner: QueryRunner) -> TagSetCounter:
        """The counter of the first measurement with this very listing. Call after the last batch."""
        if self.read > _MOST_ALIKE:
            return self.counter

        def complete() -> TagSetCounter:
            # From now on, several threads may read it.
            self.counter.columns()
            return self.counter

        return runner.alike.of((self._is_divided, self._tags, content_of(self._batches)), complete)


def _in_part(
    runner: QueryRunner, draft: Draft, tried: Sequence[_Listing], answer: Answered[OfSeriesListing] | None
) -> Draft:
    """The draft with what came of the listing before it was stopped, and with the values of each tag, if an index lists
    them by themselves. In which order a listing comes, nobody knows, so the combinations stay unknown.
    """
    first = next((one for one in tried if one.read), None)
    draft = replace(draft, some_series=first.kept.series() if first else ())
    gap = runner.gap_in("series_listing", draft.database, draft.name)
    was_too_much = answer or (gap and gap.reason in (Reason.TIMED_OUT, Reason.OVER_BUDGET))
    if draft.is_divided or not was_too_much:
        return draft
    if first:
        draft = _as_far_as_listed(runner, draft, first)
    if answer:
        _leave_gap(runner, draft, answer, "the values of each tag were listed by themselves, not their combinations")
        draft = draft.sent("tag_values", answer.statement)
    return _of_each_tag(runner, draft, tried[-1], answer is not None)


def _as_far_as_listed(runner: QueryRunner, draft: Draft, listing: _Listing) -> Draft:
    source = _at_least(runner, f"{many(listing.read, 'tag set')} came before the listing was stopped")
    columns = listing.counter.columns()
    tags = (
        replace(tag, values=Count(columns[tag.key].values.value, source), sample=columns[tag.key].sample)
        for tag in draft.tags
    )
    return _with_series(draft, Count(listing.counter.series.value, source), tuple(tags))


def _of_each_tag(runner: QueryRunner, draft: Draft, listing: _Listing, is_complete: bool) -> Draft:
    """The draft with the values of each tag as far as they came, and some values of the tag with most."""
    exact = runner.source("series_listing", scope="values of each tag, listed by themselves")
    least = _at_least(runner, exact.scope)
    tags, sizes = {tag.key: tag for tag in draft.tags}, {}
    for key, counter in listing.singly.items():
        column = counter.columns()[key]
        count, is_whole = column.values.value, is_complete and column.values.value < listing.given.limit
        if count or is_complete:
            tags[key] = replace(tags[key], values=Count(count, exact if is_whole else least), sample=column.sample)
            sizes[key] = count
    if not sizes:
        return draft
    widest = max(sizes, key=lambda key: (sizes[key], key))
    series = draft.measurement.series
    if series is None or series.value < sizes[widest]:
        series = Count(sizes[widest], _at_least(runner, f"each value of {widest} has one"))
    some = [{widest: value} for value in tags[widest].sample]
    return replace(_with_series(draft, series, tuple(tags.values())), some_series=some, read_by=widest)


def _at_least(runner: QueryRunner, words: str) -> Source:
    return replace(runner.source("series_listing", How.SAMPLED, words), is_at_least=True)


def _leave_gap(runner: QueryRunner, draft: Draft, answer: Answered[OfSeriesListing], instead: str) -> None:
    """Note why the full listing is missing, and what there is instead."""
    if answer.failed:
        failed, cause = answer.failed, f"{answer.failed.cause}; {instead}"
        runner.gap("series_listing", failed.reason, cause, draft.database, draft.name, fix=failed.fix)


def listing_of(runner: QueryRunner, draft: Draft) -> OfSeriesListing:
    """The parameters of the listing."""
    part = draft.partial_scan.of(_rows_listed(runner)) if draft.partial_scan else None
    return OfSeriesListing(**draft.about(runner.window), limit=runner.target.budget.max_listed + 1, partial_scan=part)


def _rows_listed(runner: QueryRunner) -> int:
    """The number of rows to read of a table too big to read."""
    return min(reading.LISTED_ROWS, runner.target.budget.max_scan_rows)


def _source(runner: QueryRunner, draft: Draft, answer: Answered[OfSeriesListing]) -> Source:
    """The source of a listing's figures; leaves a gap if the listing has too few tag sets, or may have too many."""
    fact = "series_listing"
    source = runner.source(fact, scope=scope(runner, draft, fact), database=draft.database, measurement=draft.name)
    if draft.is_too_big and (scan := draft.partial_scan):
        read = scan.words(answer.given.partial_scan.rows if answer.given.partial_scan else _rows_listed(runner))
        words = f"according to {read} {interval(runner, draft, fact)}"
        source = replace(source, how=How.SAMPLED, scope=words, is_at_least=True)
        cause = f"only {read} were listed: {reading.too_many(runner, scan.rows_all)}"
        fix = reading.to_read_all(scan.rows_all)
        runner.gap(fact, Reason.OVER_BUDGET, cause, draft.database, draft.name, fix=fix)
    elif answer.failed:
        part = f"rows from {span(answer.given.start, answer.given.end)}"
        source = replace(source, how=How.SAMPLED, scope=part, is_at_least=True)
        _leave_gap(runner, draft, answer, f"only {part} were listed")
    if reason := runner.at_most(fact, draft.database, draft.name):
        source = replace(source, how=How.ESTIMATE, scope=f"at most: {reason}")
        runner.gap(fact, Reason.UNSUPPORTED, reason, draft.database, draft.name)
    return source


def _with_series(draft: Draft, series: Count, tags: tuple[Tag, ...]) -> Draft:
    return replace(draft, measurement=replace(draft.measurement, series=series, tags=tags))


def _with_listing(runner: QueryRunner, draft: Draft, counter: TagSetCounter, source: Source) -> Draft:
    """The draft with the result of a complete listing."""
    of_series = source
    if counter.sampled is not None:
        chosen = f"estimated from {many(counter.sampled, 'series')}, an even sample by hash"
        of_series = replace(source, how=How.ESTIMATE, scope="; ".join(filter(None, (chosen, source.scope))))
    columns = counter.columns()
    known = replace(
        draft.measurement,
        series=Count(counter.series.value, of_series, counter.series.standard_error),
        tags=tuple(_described(tag, columns[tag.key], source, of_series) for tag in draft.tags),
        tag_sets=counter.tag_sets(of_series),
    )
    window = draft.window(runner.window_of("series_listing", draft.database, draft.name))
    return replace(draft, measurement=known, listing_window=window)


def _present(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The tags that some tag set has; one tag if none has any, so that the tag sets still count."""
    names = [
        name for name, column in zip(batch.schema.names, batch.columns, strict=True) if column.null_count < len(batch)
    ]
    return batch.select(names or batch.schema.names[:1])


def _without_tags_of_other_policies(draft: Draft, counter: TagSetCounter) -> Draft:
    """The draft with only the listed tags: the others belong to another retention policy."""
    listed = {name for name, column in counter.columns().items() if column.values.value}
    some_series = [{key: value for key, value in tags.items() if key in listed} for tags in draft.some_series]
    tags = tuple(tag for tag in draft.tags if tag.key in listed)
    return replace(draft, measurement=replace(draft.measurement, tags=tags), some_series=some_series)


def _by_statistics(runner: QueryRunner, draft: Draft, tag: Tag) -> Tag:
    read = set() if draft.sample is None else set(draft.read(Role.TAG, tag.key).texts.to_pylist())
    values = sorted(read.union(reading.common_values(draft, tag.key)))
    return replace(tag, values=reading.distinct_values(runner, draft, tag.key), sample=tuple(values[:SAMPLE_SIZE]))


def scope(runner: QueryRunner, draft: Draft, fact: str) -> str:
    """Which rows a statement about a SQL table covers, in words; empty if an index lists all series."""
    if draft.is_indexed:
        return ""
    if draft.time is None:
        return "all rows: the table has no time column"
    return f"rows {interval(runner, draft, fact)}"


def interval(runner: QueryRunner, draft: Draft, fact: str) -> str:
    """The period of the rows that the fact's response covers, in words."""
    own = draft.measurement.own_window
    if own is not None:
        return f"from {span(own.start, own.end)}: no row is within the audit's window"
    window = runner.window_of(fact, draft.database, draft.name)
    text = f"from {span(window.start, window.end)}"
    return text if window == runner.window else f"{text}, as many as the server reads in one query"


def _described(tag: Tag, column: TagColumn, source: Source, series_source: Source) -> Tag:
    values, error = column.values.value, column.values.standard_error
    # All series stream by, so values are counted exactly until there are too many of them, too.
    return replace(
        tag,
        values=Count(values, source if error is None else replace(series_source, scope=source.scope), error),
        sample=column.sample,
        absent=Ratio(column.absent_ratio, series_source, column.absent_error),
    )


class _Reservoir:
    """An even selection of the tag sets that stream by; the same for the same listing, whichever the measurement."""

    def __init__(self, draft: Draft) -> None:
        self._seed = zlib.crc32("/".join(sorted(t.key for t in draft.tags)).encode())
        self._kept: list[tuple[float, dict[str, str | None]]] = []

    @cached_property
    def _random(self) -> np.random.Generator:
        return np.random.default_rng(self._seed)

    def add(self, batch: pa.RecordBatch) -> None:
        """Draw a number for each tag set, and keep those with the lowest."""
        if not batch.num_rows:
            return
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
