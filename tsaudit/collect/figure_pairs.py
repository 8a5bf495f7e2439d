"""The figures that can be obtained in two ways: where each pair is in a profile, and how far the two may differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Final

from tsaudit.collect.comparison import ComparedFigure, CrossCheck, Pair, Relation
from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Count, Database, How, Measurement, Profile, Source

_BY_SCAN: Final = ("null_counts.", "measure_name_counts.")
"""Counts of all rows within the window; in InfluxDB, they count the values of one field."""


def _figure(noun: str, which: str, count: Count, fact: str) -> ComparedFigure:
    return ComparedFigure(noun, which, count.value, fact, count.source.query, count.standard_error or 0.0)


def _is_exact(count: Count | None) -> bool:
    return count is not None and count.source.how is How.EXACT


def _interval(source: Source) -> str:
    """The period in which the rows were counted, in words: figures of different windows are not compared."""
    return source.scope.partition(" from ")[2]


def _series_of_databases(profile: Profile, _: Profile | None) -> Iterator[CrossCheck]:
    """Series listed one measurement at a time, compared with the database's own count.

    The database counts a series once, even if it is in several retention policies: then the two figures are bounds of
    each other.
    """
    for database in profile.wholes:
        inside = profile.inside(database)
        listed = [m.series for m in inside if m.series is not None]
        if database.series is None or not listed or database.series.source.query == listed[0].source.query:
            continue
        policies = profile.policies_beside(database)
        whole = len(listed) == len(inside) and not _at_least(listed)
        whole = whole and all(_is_whole(profile, part) for part in (database, *policies))
        total, union = _summed(database, listed), _summed(database, _largest(inside))
        counted = _figure("series", f"that {database.name} counts", database.series, "database_series")
        for part in (database, *policies):
            if whole and not policies:
                yield CrossCheck(part.name, None, total, Relation.EQUAL, counted)
                continue
            yield CrossCheck(part.name, None, union, Relation.AT_MOST, counted)
            if whole:
                yield CrossCheck(part.name, None, counted, Relation.AT_MOST, total)


def _summed(database: Database, listed: Sequence[Count]) -> ComparedFigure:
    error = sum((count.standard_error or 0.0) ** 2 for count in listed) ** 0.5
    total = sum(count.value for count in listed)
    return ComparedFigure(
        "series", f"listed in {database.name}", total, "series_listing", listed[0].source.query, error
    )


def _largest(measurements: Iterable[Measurement]) -> list[Count]:
    """For each name, the series in the retention policy that has the most of them."""
    found: dict[str, Count] = {}
    for m in measurements:
        if m.series is not None and (m.name not in found or found[m.name].value < m.series.value):
            found[m.name] = m.series
    return list(found.values())


def _is_whole(profile: Profile, database: Database) -> bool:
    """Whether all measurements of the database are in the profile, selected or not."""
    chosen = profile.selection
    return profile.all_listed(database.name) and "*" in chosen.include and not chosen.exclude


def _at_least(counts: Iterable[Count]) -> bool:
    """Whether one of them covers only a part of its series."""
    return any(count.source.how is How.SAMPLED for count in counts)


def _rows_read(profile: Profile, _: Profile | None) -> Iterator[CrossCheck]:
    """Rows read, if the whole window was read, compared with rows counted; if there were more, the count is a
    minimum.
    """
    unread = _places(profile, "row_sample")
    for m in profile.measurements:
        if not _is_exact(m.rows) or m.rows is None or not _by_scan(m.rows) or "row_sample" not in m.statements:
            continue
        if _is_among(m, unread):
            continue
        read = m.row_patterns
        counted = _figure("row", "counted", m.rows, m.rows.source.query.partition("/")[2].partition(".")[0])
        if read is None:
            none = ComparedFigure("row", "read", 0, "row_sample", f"{profile.engine}/row_sample")
            yield CrossCheck(m.database, m.name, none, Relation.EQUAL, counted)
        elif read.source.how is How.SAMPLED or _interval(read.source) == _interval(m.rows.source):
            figure = ComparedFigure("row", "read", read.rows, "row_sample", read.source.query)
            relation = Relation.EQUAL if read.source.how is How.EXACT else Relation.AT_MOST
            yield CrossCheck(m.database, m.name, figure, relation, counted)


Places = Set[tuple[str | None, str | None]]
"""(database, measurement); None for all."""


def _places(profile: Profile, fact: str) -> Places:
    """The locations where the fact has gaps, computed once for all measurements."""
    return {(gap.database, gap.measurement) for gap in profile.gaps_for(fact)}


def _is_among(m: Measurement, places: Places) -> bool:
    return not places.isdisjoint({(None, None), (m.database, None), (m.database, m.name)})


def _by_scan(count: Count) -> bool:
    return any(f"/{fact}" in count.source.query for fact in _BY_SCAN)


def _series_in_rows(profile: Profile, _: Profile | None) -> Iterator[CrossCheck]:
    """Series listed from rows: not more than the rows, and at least one if there are rows."""
    for m in profile.measurements:
        if m.series is None or m.rows is None or not m.tags or not (_is_exact(m.series) and _is_exact(m.rows)):
            continue
        if not _by_scan(m.rows) or m.series.source.scope != m.rows.source.scope:
            continue
        fact = m.rows.source.query.partition("/")[2].partition(".")[0]
        series, rows = _figure("series", "", m.series, "series_listing"), _figure("row", "", m.rows, fact)
        yield CrossCheck(m.database, m.name, series, Relation.AT_MOST, rows)
        if m.series.value == 0:
            yield CrossCheck(m.database, m.name, rows, Relation.AT_MOST, series)


def _rows_of_all(profile: Profile, _: Profile | None) -> Iterator[CrossCheck]:
    """Rows within the window, compared with the engine's count of all rows."""
    allowed = ENGINES[profile.engine].total_falls_short
    if allowed is None:
        return
    for m in profile.measurements:
        if m.rows is None or m.rows_total is None or not _is_exact(m.rows):
            continue
        inside = _figure("row", "within the window", m.rows, "null_counts")
        total = _figure("row", "overall according to the engine", m.rows_total, "row_estimate")
        yield CrossCheck(m.database, m.name, inside, Relation.AT_MOST, total, allowed)


def _documents_read(profile: Profile, _: Profile | None) -> Iterator[CrossCheck]:
    """Documents read, if there were fewer than requested, compared with the count in the metadata."""
    for m in profile.measurements:
        if m.rows_total is None or m.documents is None or m.documents.read >= _FEWEST_ASKED_FOR:
            continue
        read = ComparedFigure(
            "document", "read, which is all of them", m.documents.read, "documents", m.documents.source.query
        )
        total = _figure("document", "according to the metadata", m.rows_total, "row_estimate")
        yield CrossCheck(m.database, m.name, read, Relation.EQUAL, total)


_FEWEST_ASKED_FOR: Final = 100
"""Regardless of the budget: if fewer documents were read, there were no more."""


def _fields_of_listed(profile: Profile, _: Profile | None) -> Iterator[CrossCheck]:
    """Measurements that have series, compared with those that have fields: no point is written without a field."""
    if "columns" in profile.facts or "series_listing" not in profile.facts:
        return
    unknown = _places(profile, "field_types")
    for m in profile.measurements:
        if m.series is None or not m.series.value or m.fields or _is_among(m, unknown):
            continue
        none = ComparedFigure(
            "field", "", 0, "field_types", m.series.source.query.replace("series_listing", "field_types")
        )
        yield CrossCheck(
            m.database, m.name, none, Relation.EQUAL, _figure("series", "with fields", m.series, "series_listing")
        )


def _since_yesterday(profile: Profile, previous: Profile | None) -> Iterator[CrossCheck]:
    """Rows within the window, compared with the previous profile, if no row was written since.

    The window moves forward, so there may be fewer rows. There may be more if some had future timestamps then.
    """
    if previous is None or not ENGINES[profile.engine].counts_writes:
        return
    before = {(m.database, m.name): m for m in previous.measurements}
    for m in profile.measurements:
        old = before.get((m.database, m.name))
        if old is None or not m.fingerprint or m.fingerprint != old.fingerprint or m.time_column != old.time_column:
            continue
        if not (_is_exact(m.rows) and _is_exact(old.rows)) or m.rows is None or old.rows is None:
            continue
        if m.last_time is not None and m.last_time >= old.rows.source.as_of:
            continue
        if m.rows.source.as_of <= old.rows.source.as_of:
            continue  # reused, or of an earlier day
        if m.own_window != old.own_window:
            continue
        now = _figure("row", "within the window", m.rows, "null_counts")
        then = _figure("row", f"within the window on {previous.day}, with no writes since", old.rows, "row_estimate")
        yield CrossCheck(m.database, m.name, now, Relation.AT_MOST, then)


PAIRS: Final = (
    Pair(
        "series listed, series of the database",
        _series_of_databases,
        0.01,
        2,
        frozenset({"series_listing", "database_series"}),
        "new series appear between the count and the last listing; some servers refresh the count every 10 seconds",
    ),
    Pair(
        "rows read, rows counted",
        _rows_read,
        0.01,
        10,
        frozenset({"row_sample"}),
        "both statements have the same window, so only rows that arrive late or are deleted in between differ",
    ),
    Pair(
        "series, rows",
        _series_in_rows,
        0.01,
        10,
        frozenset({"series_listing"}),
        "each series has a row within the window; rows arrive late or are deleted between the two statements",
    ),
    Pair(
        "rows, all rows",
        _rows_of_all,
        0.0,
        10,
        frozenset({"row_estimate"}),
        (
            "the engine also counts old versions and deleted rows, so its count may be higher; GreptimeDB's count "
            "lags by seconds"
        ),
    ),
    Pair(
        "documents read, documents counted",
        _documents_read,
        0.1,
        10,
        frozenset({"documents", "row_estimate"}),
        (
            "the count in the metadata may be wrong after a crash and while chunks move; documents are added and "
            "removed in between"
        ),
    ),
    Pair(
        "fields, series",
        _fields_of_listed,
        0.0,
        0,
        frozenset({"series_listing", "field_types"}),
        "none: a series exists because of a field",
    ),
    Pair(
        "rows of today, rows of the day before",
        _since_yesterday,
        0.0,
        0,
        frozenset({"null_counts"}),
        "none: the write counter has not changed, and the window only moves forward",
    ),
)
