"""Queries several measurements with one statement, on engines that support it (`Engine.batched_facts`).

Only measurements known to be small are queried together; any that may be large gets a statement of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from tsaudit.collect.draft import Draft
from tsaudit.collect.query_runner import QueryRunner
from tsaudit.model.facts import OfMeasurement, OfNullCounts, OfRowSample, OfTimeExtents

SERIES_PER_STATEMENT: Final = 1000
"""Listing this many series takes InfluxDB about as long as the overhead of one more statement."""
_MOST_MEASUREMENTS: Final = 100
_MOST_SERIES: Final = 2_000
"""Most series in one statement: InfluxDB opens a cursor per series and shard to read rows."""
_MOST_TABLES: Final = 100
_MOST_ROWS: Final = 100_000
"""Most rows of the tables in one statement: reading more takes longer than the overhead of a statement, anywhere."""
_MOST_COLUMNS: Final = 2_000
"""Most columns of all tables in one statement: servers take seconds to plan a statement about many wide tables."""
_MOST_RELATIONS: Final = 200
"""Most tables and indexes in one statement: PostgreSQL locks all, and by default has 6,400 locks for all sessions."""
_MOST_VALUES: Final = 10_000_000
"""Most values in one response: a larger response may be dropped, and the server would have read everything twice."""
_SPARE: Final = 2
"""Columns that a measurement may lack among those read together, in addition to half as many as it has: each missing
one costs a null per row.
"""


def prefetch_database_listing(
    runner: QueryRunner,
    drafts: Sequence[Draft],
    given: Callable[[Draft], OfMeasurement],
    series: Mapping[str, int],
    unwanted: Mapping[str, int],
) -> None:
    """List all tag sets of a database with one statement, unless there are too many, or most of them are not needed.

    `series`: database to its series count, where known. `unwanted`: database to an upper bound on the series of the
    measurements that are not listed.
    """
    if "series_listing" not in runner.engine.batched_facts:
        return
    wanted: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        if draft.tags and draft.roles_known and not draft.unreadable and not _has_failed(runner, draft):
            wanted[draft.database].append(draft)
    for database, inside in wanted.items():
        total = series.get(database)
        if total is None or total > runner.target.budget.max_series or len(inside) < 2:
            continue
        if unwanted.get(database, 0) <= SERIES_PER_STATEMENT * len(inside):
            runner.prefetch("series_listing", [given(draft) for draft in inside])


def prefetch_rows(
    runner: QueryRunner, fact: str, drafts: Sequence[Draft], given: Callable[[Draft], OfMeasurement], most_rows: int
) -> None:
    """Query a fact about the rows of several measurements at once.

    `drafts`: measurements with few series and known columns. `most_rows`: the most rows that the response has for each
    of them.
    """
    if fact in runner.engine.batched_facts:
        sound = [draft for draft in drafts if not _has_failed(runner, draft)]
        _prefetch(runner, fact, _alike(sound, most_rows), given)


def prefetch_tables(
    runner: QueryRunner, fact: str, given: Callable[[Draft], OfMeasurement | None], drafts: Sequence[Draft]
) -> None:
    """Query a fact about the rows of several small tables at once. `given`: the query about one; None if unneeded."""
    queries: dict[int, OfMeasurement] = {}
    alike: dict[Hashable, list[Draft]] = defaultdict(list)
    for draft in drafts:
        # If the table has statistics, it may be too big to read, whatever its estimate says.
        is_small = draft.columns and draft.roles_known and draft.statistics is None
        if is_small and not draft.unreadable and not _has_failed(runner, draft) and (query := given(draft)):
            queries[id(draft)] = query
            alike[draft.database, _shape(draft, query)].append(draft)

    most = runner.engine.measurements_per_statement.get(fact, _MOST_TABLES)
    groups = (group for same in alike.values() for group in _small(same, most))
    _prefetch(runner, fact, groups, lambda draft: queries[id(draft)])


def _shape(draft: Draft, query: OfMeasurement) -> Hashable:
    """Equal for tables whose responses to the query have the same number of columns, of the same types."""
    match query:
        case OfRowSample() | OfTimeExtents():
            types = {column.name: column.data_type for column in draft.columns}
            return tuple(types[name] for name in query.columns)
        case OfNullCounts():
            return draft.measurement.time_type, len(query.fields), query.later
        case _:
            return len(query.tags)


def _prefetch(
    runner: QueryRunner, fact: str, groups: Iterable[list[Draft]], given: Callable[[Draft], OfMeasurement]
) -> None:
    """One statement for each group of several; what is alone in its group is queried by itself."""

    def send(group: list[Draft]) -> list[Draft]:
        runner.prefetch(fact, [given(draft) for draft in group])
        return group

    runner.each(send, [group for group in groups if len(group) > 1])


def _has_failed(runner: QueryRunner, draft: Draft) -> bool:
    return runner.has_failed(draft.database, draft.name)


def _small(drafts: Iterable[Draft], most_tables: int) -> Iterator[list[Draft]]:
    """Groups of at most `most_tables` that together have few rows, columns and indexes. Tables with many rows, or with
    an unknown number of rows, are in no group.
    """
    group: list[Draft] = []
    sizes = [0, 0, 0]
    most = (_MOST_ROWS, _MOST_COLUMNS, _MOST_RELATIONS)
    for draft in drafts:
        rows = draft.estimated_rows
        if rows is None or rows > _MOST_ROWS:
            continue
        own = (rows, len(draft.columns), 1 + len(draft.measurement.indexes or ()))
        joined = [size + more for size, more in zip(sizes, own, strict=True)]
        if group and (len(group) == most_tables or any(size > at for size, at in zip(joined, most, strict=True))):
            yield group
            group, joined = [], list(own)
        group.append(draft)
        sizes = joined
    yield group


def _alike(drafts: Sequence[Draft], most_rows: int) -> Iterator[list[Draft]]:
    """Groups of measurements of one database with almost the same columns, of the same types."""
    group: list[Draft] = []
    columns: dict[str, str] = {}
    series = narrowest = 0
    every = [(draft, _columns(draft)) for draft in drafts]
    for draft, own in sorted(every, key=lambda e: (e[0].database, e[0].policies, sorted(e[1].items()), e[0].name)):
        more = draft.measurement.series.value if draft.measurement.series else _MOST_SERIES
        joined = columns | own
        fits = (
            group
            and (group[0].database, group[0].policies, group[0].measurement.own_window)
            == (draft.database, draft.policies, draft.measurement.own_window)
            and len(group) < _MOST_MEASUREMENTS
            and series + more <= _MOST_SERIES
            and (len(group) + 1) * most_rows * (1 + len(joined)) <= _MOST_VALUES
            and all(columns.get(name, kind) == kind for name, kind in own.items())
            and len(joined) <= 1.5 * min(narrowest, len(own)) + _SPARE
        )
        if not fits:
            if group:
                yield group
            group, joined, series, narrowest = [], own, 0, len(own)
        group.append(draft)
        columns, series, narrowest = joined, series + more, min(narrowest, len(own))
    if group:
        yield group


def _columns(draft: Draft) -> dict[str, str]:
    """Each tag and field with its type. A field with several types is given a type that no other measurement has."""
    fields = {
        f"field {field.key}": field.types[0] if len(field.types) == 1 else f"several in {draft.name}"
        for field in draft.fields
    }
    return fields | {f"tag {tag.key}": "tag" for tag in draft.tags}
