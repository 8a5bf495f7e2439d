"""Contradictions within a profile.

Figures that come from different statements should agree. A difference within a pair's tolerance is expected: statistics
lag, and rows arrive between two statements. If it is larger, one of the two is wrong and there is no way to tell which:
both get a gap that names both figures and both queries, and neither is reported as exact any more. A profile without
any rows, or with a large table that has neither time nor tags, is also considered contradictory.
"""

from __future__ import annotations

import dataclasses
import enum
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from tsaudit.collect.query_runner import in_order
from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import Count, Gap, How, Reason, Source
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.text import many, span


class Relation(enum.Enum):
    """The expected relation between two figures if both are right."""

    EQUAL = "should equal"
    AT_MOST = "should not exceed"
    TOGETHER = "cannot go with"
    """Either both are zero, or neither is."""


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One side of a comparison."""

    noun: str
    """What was counted, in the singular."""
    which: str
    """Restricts what was counted: the text after `3,005 rows ...`; empty if everything was."""
    value: float
    fact: str
    """The fact that the figure belongs to; a gap is left in it."""
    query: str
    error: float = 0.0
    """Standard error; 0 if it is exact or not known."""

    def __str__(self) -> str:
        return f"{f'{many(self.value, self.noun)} {self.which}'.rstrip()} ({self.query})"


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Two figures about one database or measurement."""

    database: str
    measurement: str | None
    """The measurement; None if the figures are about the database as a whole."""
    first: ComparedFigure
    relation: Relation
    second: ComparedFigure
    allowed_ratio: float | None = None
    """Overrides the pair's tolerance; None to use that one."""

    @property
    def detail(self) -> str:
        """Both figures and both queries, in one line, if they disagree."""
        return f"{self.first} {self.relation.value} {self.second}; one of the two figures is wrong"

    def gaps(self) -> Iterator[Gap]:
        """One gap for each of the two facts, if they disagree."""
        for fact in sorted({self.first.fact, self.second.fact}):
            yield Gap(fact, Reason.INCONSISTENT, self.detail, self.database, self.measurement)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ways to obtain a figure, and how far the results may differ."""

    compared: Callable[[Profile], Iterator[CrossCheck]]
    """The possible comparisons within a profile."""
    allowed_ratio: float
    """The tolerance, relative to the larger figure."""
    allowed: float
    """The minimum tolerance, for small figures. A difference between zero and nonzero is never tolerated."""
    needs: frozenset[str]
    """The pair is only compared if these facts were collected; otherwise, nobody looked for what is missing."""


_BY_SCAN: Final = ("null_counts.", "measure_name_counts.")
"""Prefixes of query names that count all rows within the window. Elsewhere, as in InfluxDB, a count is of the values of
one field.
"""


def _figure(noun: str, which: str, count: Count, fact: str) -> ComparedFigure:
    return ComparedFigure(noun, which, count.value, fact, count.source.query, count.standard_error or 0.0)


def _is_exact(count: Count | None) -> bool:
    return count is not None and count.source.how is How.EXACT


def _interval(source: Source) -> str:
    """The period in which the rows were counted, in words: figures of different windows are not compared."""
    return source.scope.partition(" from ")[2]


def _series_of_databases(profile: Profile) -> Iterator[CrossCheck]:
    """Series listed one measurement at a time, compared with the database's own count.

    The database counts a series once, even if it is in several retention policies: in that case, each figure is only a
    bound for the other.
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
    """Whether any of the counts covers only a part of the series."""
    return any(count.source.how is How.SAMPLED for count in counts)


def _rows_read(profile: Profile) -> Iterator[CrossCheck]:
    """Rows read, compared with rows counted if the whole window was read. Of more rows, it is a minimum."""
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
    """The places where the fact has gaps: computed once for all measurements."""
    return {(gap.database, gap.measurement) for gap in profile.gaps_for(fact)}


def _is_among(m: Measurement, places: Places) -> bool:
    return not places.isdisjoint({(None, None), (m.database, None), (m.database, m.name)})


def _by_scan(count: Count) -> bool:
    return any(f"/{fact}" in count.source.query for fact in _BY_SCAN)


def _series_in_rows(profile: Profile) -> Iterator[CrossCheck]:
    """Series listed from rows: there cannot be more series than rows, and at least one series if there are rows."""
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


def _rows_of_all(profile: Profile) -> Iterator[CrossCheck]:
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


def _documents_read(profile: Profile) -> Iterator[CrossCheck]:
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
"""The fewest documents that are ever requested, whatever the budget: if fewer were read, the collection has no more."""


def _fields_of_listed(profile: Profile) -> Iterator[CrossCheck]:
    """Measurements that have series, compared with those that have fields: no point is written without a field. In a
    database without any series, no field is listed; in others, some servers list those of deleted measurements.
    """
    if "columns" in profile.facts or "series_listing" not in profile.facts:
        return
    unknown = _places(profile, "field_types")
    filled = {m.database for m in profile.measurements if m.series is None or m.series.value}
    for m in profile.measurements:
        if m.series is None or _is_among(m, unknown) or (not m.series.value and m.database in filled):
            continue
        query = m.series.source.query.replace("series_listing", "field_types")
        fields = ComparedFigure("field", "", len(m.fields), "field_types", query)
        yield CrossCheck(
            m.database, m.name, fields, Relation.TOGETHER, _figure("series", "", m.series, "series_listing")
        )


PAIRS: Final = (
    Pair(_series_of_databases, 0.01, 2, frozenset({"series_listing", "database_series"})),
    Pair(_rows_read, 0.01, 10, frozenset({"row_sample"})),
    Pair(_series_in_rows, 0.01, 10, frozenset({"series_listing"})),
    Pair(_rows_of_all, 0.0, 10, frozenset({"row_estimate"})),
    Pair(_documents_read, 0.1, 10, frozenset({"documents", "row_estimate"})),
    Pair(_fields_of_listed, 0.0, 0, frozenset({"series_listing", "field_types"})),
)
"""docs/engines.md says why the two figures of each pair may differ by this much."""


T = TypeVar("T")

_STANDARD_ERRORS: Final = 3.0
"""An estimate may differ from the true value by this many standard errors."""


def disagreements(profile: Profile, queried: frozenset[str] | None = None) -> Iterator[CrossCheck]:
    """All pairs of figures that contradict each other. `queried`: the collected facts, None for all."""
    for pair in PAIRS:
        if queried is not None and not pair.needs <= queried:
            continue
        for compared in pair.compared(profile):
            if not _agree(pair, compared):
                yield compared


def cross_checked(profile: Profile, queried: frozenset[str] | None = None) -> Profile:
    """The profile with a gap for each contradicted figure; those figures become estimates. See `disagreements`."""
    found = list(disagreements(profile, queried))
    if not found:
        return profile
    gaps = {gap for one in found for gap in one.gaps()}
    within: dict[str, list[CrossCheck]] = defaultdict(list)
    about: dict[tuple[str, str | None], list[CrossCheck]] = defaultdict(list)
    for one in found:
        within[one.database].append(one)
        about[one.database, one.measurement].append(one)
    return dataclasses.replace(
        profile,
        databases=tuple(marked(d, within[d.name]) for d in profile.databases),
        measurements=tuple(
            marked(m, [*about[m.database, None], *about[m.database, m.name]]) for m in profile.measurements
        ),
        gaps=in_order({*profile.gaps, *gaps}),
    )


def inexact(value: T, query: str, other: str) -> T:
    """The dataclass, with all exact figures of the query turned into estimates, at any depth. `other`: the figure that
    contradicts them.
    """
    if isinstance(value, Source):
        if value.query != query or value.how is not How.EXACT:
            return value
        return dataclasses.replace(value, how=How.ESTIMATE, contradicted_by=other)
    if isinstance(value, tuple):
        changed: Any = tuple(inexact(item, query, other) for item in value)
        return changed if any(new is not old for new, old in zip(changed, value, strict=True)) else value
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    new = {f.name: inexact(getattr(value, f.name), query, other) for f in dataclasses.fields(value)}
    new = {name: item for name, item in new.items() if item is not getattr(value, name)}
    return dataclasses.replace(value, **new) if new else value


def marked(subject: T, found: Iterable[CrossCheck]) -> T:
    """The subject, with each contradicted figure turned into an estimate that names the contradicting figure."""
    for one in found:
        first, second = one.first, one.second
        subject = inexact(subject, first.query, str(second))
        subject = inexact(subject, second.query, str(first))
    return subject


def _agree(pair: Pair, compared: CrossCheck) -> bool:
    first, second = compared.first, compared.second
    if compared.relation is Relation.TOGETHER:
        return bool(first.value) == bool(second.value)
    if compared.relation is Relation.AT_MOST and first.value <= second.value:
        return True
    if 0 in (first.value, second.value):
        return first.value == second.value
    ratio = pair.allowed_ratio if compared.allowed_ratio is None else compared.allowed_ratio
    allowed = max(pair.allowed, ratio * max(first.value, second.value))
    return abs(first.value - second.value) <= allowed + _STANDARD_ERRORS * (first.error + second.error)


MANY_ROWS: Final = 1000
"""A table without time and tags that has at least this many rows is not a list of settings."""
_OF_ROWS: Final = frozenset({"null_counts", "row_sample", "row_count", "measure_name_counts"})
_OF_SERIES: Final = frozenset({"series_listing"})


def without_unusable_figures(profile: Profile, queried: frozenset[str]) -> Profile:
    """The profile with gaps in place of figures that only seem to be known. `queried`: the collected facts."""
    return _without_rows(_without_time(profile, queried), queried)


def _without_time(profile: Profile, queried: frozenset[str]) -> Profile:
    """Drops the series of a table with many rows but neither time nor tags: it may be one or many. Adds gaps."""
    found = {(m.database, m.name): _no_time(m) for m in profile.measurements if _is_shapeless(m)}
    facts = sorted(queried & (_OF_SERIES | {"null_counts"}))
    gaps = {Gap(fact, Reason.UNSUPPORTED, text, *where) for where, text in found.items() for fact in facts}
    if not gaps:
        return profile
    return dataclasses.replace(
        profile,
        measurements=tuple(
            dataclasses.replace(m, series=None) if (m.database, m.name) in found else m for m in profile.measurements
        ),
        gaps=in_order({*profile.gaps, *gaps}),
    )


def _is_shapeless(m: Measurement) -> bool:
    if m.time_column is not None or m.tags or m.series is None:
        return False
    return max((count.value for count in (m.rows, m.rows_total) if count), default=0) >= MANY_ROWS


def _no_time(m: Measurement) -> str:
    count = m.rows or m.rows_total
    assert count is not None
    return (
        f"no time column and no tag was found among {', '.join(m.columns[:5])}: "
        f"the series of its {many(count.value, 'row')} ({count.source.query}) "
        "cannot be counted; set `columns` in tsaudit.yaml (time, tags), or skip the table "
        "with `exclude`"
    )


def _without_rows(profile: Profile, queried: frozenset[str]) -> Profile:
    """Adds gaps if no row was seen on a server that evidently has rows: then nothing was measured."""
    looked = [m for m in profile.measurements if m.time_column is not None]
    if not looked or any(_saw_rows(m, queried) for m in looked):
        return profile
    evidence = next((words for m in looked if (words := _evidence(profile, m))), "")
    if not evidence:
        return profile
    window = profile.window
    detail = (
        f"no measurement has a row from {span(window.start, window.end)}, although "
        f"{evidence}: check the clocks of this machine and of the writers, or set a longer `window`"
    )
    # An index lists series whatever the time of their rows, so its listing is still valid; a listing from rows is not.
    by_rows = "columns" in profile.facts
    facts = queried & (_OF_ROWS | _OF_SERIES if by_rows else _OF_ROWS)
    return dataclasses.replace(
        profile,
        measurements=tuple(
            dataclasses.replace(m, rows=None, series=None if by_rows else m.series) for m in profile.measurements
        ),
        gaps=in_order({*profile.gaps, *(Gap(fact, Reason.INCONSISTENT, detail) for fact in facts)}),
    )


def _saw_rows(m: Measurement, queried: frozenset[str]) -> bool:
    """Whether a row was seen, or no rows were looked for."""
    if m.row_patterns is not None and m.row_patterns.rows:
        return True
    if m.rows is not None:
        return m.rows.value > 0
    return not ("row_sample" in queried and "row_sample" in m.statements)


def _evidence(profile: Profile, m: Measurement) -> str:
    """The evidence that the measurement has rows; empty if there is none."""
    name = f"{m.database}/{m.name}"
    if ENGINES[profile.engine].infers_roles or m.rows_total is not None:
        # If the sample was empty, rows outside the window were already looked for, and any found there left a gap.
        inconsistent = any(gap.reason is Reason.INCONSISTENT for gap in profile.gaps_for("row_sample", m))
        return f"{name} has some outside it" if inconsistent else ""
    if m.series is not None and m.series.value:
        return f"{name} has {many(m.series.value, 'series')} ({m.series.source.query})"
    if m.measure_names is not None and m.measure_names.count.value:
        count = m.measure_names.count
        return f"{name} was written with {many(count.value, 'measure name')} ({count.source.query})"
    if not m.fields:
        return ""
    return f"{name} has {many(len(m.fields), 'field')}, so it had rows once"
