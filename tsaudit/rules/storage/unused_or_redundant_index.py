"""STO001."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.engine import Engine
from tsaudit.model.change import DropIndex
from tsaudit.model.finding import Evidence, Finding, Severity
from tsaudit.model.profile import Index, Measurement
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import listed, many, number, size

_ORDERED: Final = frozenset({"btree"})
"""Kinds that store rows in the order of their columns, so that the leading columns can be searched alone."""
_USUAL: Final = frozenset({"btree", "art"})
_SEARCHED: Final = frozenset({"btree", "hash", "art"})
"""Kinds that find single rows, each with a separate search."""
_BACKWARDS: Final = {"": "desc", "desc": "", "desc nulls last": "nulls first", "nulls first": "desc nulls last"}
_UNFINISHED: Final = "it is not valid, because building it failed or is still in progress, and no query uses it"
_ON_DEMAND: Final = frozenset({"inverted", "skipping", "fulltext"})
"""GreptimeDB's kinds besides the key and the time index."""


@rule(
    code="STO001",
    title="A table has redundant or unused indexes",
    severity=Severity.WARNING,
    guidelines=("A9", "E8"),
    requires={"indexes"},
    uses={"options", "tag_values", "null_counts"},
    thresholds=(
        Threshold(
            "max_indexes",
            10,
            "indexes",
            "our default: each row is written to all of them, and readings are looked up by source and time",
        ),
        Threshold("min_days", 30, "days", "our default: long enough for a monthly report to have run"),
        Threshold(
            "min_values",
            10,
            "distinct values",
            "our default: a query that reads a tenth of the rows reads the whole table",
            {
                "duckdb": (
                    1_000,
                    "an index helps queries that select less than 0.1%: https://duckdb.org/docs/stable/sql/indexes",
                )
            },
        ),
        Threshold("min_rows", 100_000, "rows", "our default: a small table may still get more values"),
        Threshold(
            "min_indexed_rows",
            20_000,
            "rows",
            "our default: about 1 MB of an index on texts; counts where the engine does not report bytes",
        ),
        Threshold("min_bytes", 1_000_000, "bytes", "our default: a smaller one costs almost nothing"),
    ),
)
def unused_or_redundant_index(case: Case) -> Iterator[Finding]:
    """Indexes that cost every write and serve no read that something else does not already serve.

    Reported are:

    - an index with the same columns as another one, or with the leading columns of an index of an ordered kind (a
      B-tree), sorted in the same or the opposite order;
    - an index that was not used once in `min_days`, if the engine counts uses; if it does not say since when, the
      audits must have seen no use for so long;
    - an index that PostgreSQL did not finish: it is not valid, so writes maintain it and no query uses it;
    - an index on the time column if the engine stores rows by time anyway (DuckDB, GreptimeDB);
    - on DuckDB, an index on several columns, which no query uses;
    - on GreptimeDB, an index on the first column of the key.

    Indexes of a primary key or unique constraint are never reported.

    The finding is a note if the index is smaller than `min_bytes` or, where the engine does not report its size,
    if the table has fewer than `min_indexed_rows` rows; or if the previous audit did not see it. The same applies to an
    index on a tag with fewer than `min_values` values in a table of `min_rows`, because it may be there for the rare
    values. The fix drops the indexes that are certainly redundant, and the others only after those are gone. Tables
    with more than `max_indexes` are reported even if each index is useful. Tables that GreptimeDB creates itself, for
    traces and metrics, have built-in indexes and are left out.

    ## Why it matters

    Every new row is written to every index, which takes time, memory, and disk. On a table of readings, where writes
    never stop, this is most of the cost of an index.

    ## Example

    `cpu_host_idx` on (host) next to the key (host, time): the key serves every search by host.

    ## Fix

    Drop them, one at a time.

    ## References

    - B-trees on several columns, PostgreSQL: https://www.postgresql.org/docs/current/indexes-multicolumn.html
    - Index use: https://www.postgresql.org/docs/current/monitoring-stats.html#MONITORING-PG-STAT-ALL-INDEXES-VIEW
    - Indexes of DuckDB, which keeps the smallest and largest value of each part of a column automatically:
      https://duckdb.org/docs/stable/sql/indexes (that no query uses an index on several columns was seen on DuckDB 2.0)
    - When to use an index, GreptimeDB:
      https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/
    """
    for measurement in case.measurements:
        if case.engine.has_given_columns(measurement):
            continue
        indexes = measurement.indexes or ()
        unneeded = [found for index in indexes if (found := _evaluate(case, measurement, index))]
        limit = case.limit("max_indexes", measurement)
        if unneeded or len(indexes) > limit.value:
            yield _finding(case, measurement, indexes, unneeded)


@dataclass(frozen=True, slots=True)
class _Unneeded:
    index: Index
    why: str
    severity: Severity
    sure: bool = True
    """False if it may be useful."""


def _evaluate(case: Case, measurement: Measurement, index: Index) -> _Unneeded | None:
    """Why the index is not needed; None if it may be."""
    if index.constraint:
        return None
    small = _is_small(case, measurement, index)
    sure = not small and _seen_before(case, measurement, index)
    if not index.valid:
        return _Unneeded(index, _UNFINISHED, Severity.WARNING if sure else Severity.NOTE)
    if why := _served_otherwise(case.engine, measurement, index):
        return _Unneeded(index, why, Severity.NOTE if small else Severity.WARNING)
    if few := _few_values(case, measurement, index):
        return _Unneeded(index, few, Severity.NOTE, sure=False)
    if index.unique or index.scans != 0 or _stands_in(measurement, index) or _alone_finds_times(measurement, index):
        return None
    since = index.counted_since or index.scans_since
    if since is None or (case.profile.collected_at - since).days < case.limit("min_days", measurement).value:
        return None
    why = f"not used once since {since.date()}" + (", or since it was created" if index.counted_since else "")
    return _Unneeded(index, why, Severity.WARNING if sure else Severity.NOTE, sure)


def _is_small(case: Case, measurement: Measurement, index: Index) -> bool:
    """Whether it costs almost nothing: by its bytes, or by the rows of its table where the engine reports no bytes."""
    if index.size_bytes is not None:
        return index.size_bytes < case.limit("min_bytes", measurement).value
    if index.kind in _ON_DEMAND:
        return False  # GreptimeDB builds them with each file: whether they fit does not depend on the rows so far
    rows = measurement.rows_total or measurement.rows
    return rows is not None and rows.value < case.limit("min_indexed_rows", measurement).value


def _few_values(case: Case, measurement: Measurement, index: Index) -> str:
    """Why a search by one value matches too many rows to use the index; empty if it does not, or is not known."""
    tag = measurement.tag(index.columns[0] or "") if len(index.columns) == 1 else None
    rows, least = measurement.rows, case.limit("min_values", measurement).value
    if tag is None or tag.values is None or index.unique or index.partial or index.kind not in _SEARCHED:
        return ""
    if tag.values.value >= least or rows is None or rows.value < case.limit("min_rows", measurement).value:
        return ""
    return f"{tag.key} has only {many(tag.values.value, 'value')}, so a search for one reads much of the table"


def _seen_before(case: Case, measurement: Measurement, index: Index) -> bool:
    """Whether the previous audit knew it: an index that was created today has had no time to be used."""
    before = case.timeline.previous.measurements if case.timeline.previous else ()
    same = (m for m in before if (m.database, m.name) == (measurement.database, measurement.name))
    return any(index.name == i.name and index.columns == i.columns for m in same for i in m.indexes or ())


def _served_otherwise(engine: Engine, measurement: Measurement, index: Index) -> str:
    """What does the index's work without it; empty if nothing is known to."""
    indexes, on_time = measurement.indexes or (), index.columns == (measurement.time_column,)
    if other := next((i for i in indexes if _replaces(i, index)), None):
        verb = "has" if other.columns == index.columns else "starts with"
        return f"{other.name} ({_columns(other)}) {verb} the same {'columns' if len(index.columns) > 1 else 'column'}"
    if why := engine.index_unused(index, on_time=on_time):
        return why
    if index.kind in _ON_DEMAND:
        if on_time:
            return "rows are stored by time anyway"
        leads = [i.columns[0] for i in indexes if i.kind == "primary"]
        return "rows are sorted by this column, the first of the key" if [*index.columns] == leads else ""
    return ""


def _replaces(other: Index, index: Index) -> bool:
    """Whether any search that uses `index` can use `other`, which stays."""
    if other.name == index.name or other.kind != index.kind or not other.valid:
        return False
    if other.partial or index.partial or None in index.columns or not _sorts_alike(other, index):
        return False
    if other.columns == index.columns:
        return _to_keep(other) < _to_keep(index) and other.unique >= index.unique
    leading = other.columns[: len(index.columns)]
    return index.kind in _ORDERED and leading == index.columns and not index.unique


def _sorts_alike(other: Index, index: Index) -> bool:
    """Whether `other` returns rows in the order of `index`, forwards or backwards."""
    count = len(index.columns)
    own, theirs = (i.sorting or ("",) * len(i.columns) for i in (index, other))
    return theirs[:count] in (own, tuple(_BACKWARDS[how] for how in own))


def _stands_in(measurement: Measurement, index: Index) -> bool:
    """Whether queries of another index, which is redundant beside this one, will use this one."""
    others = (i for i in measurement.indexes or () if not i.constraint and i.scans != 0)
    return any(_replaces(index, other) for other in others)


def _alone_finds_times(measurement: Measurement, index: Index) -> bool:
    """Whether rows are found by time only through this index: without it, missing-index would ask for it again."""
    time = measurement.time_column
    if time is None or not index.finds_ranges_of(time):
        return False
    return not any(i.name != index.name and i.finds_ranges_of(time) for i in measurement.indexes or ())


def _to_keep(index: Index) -> tuple[bool, bool, str]:
    """Sort key for indexes with the same columns: the first one stays."""
    return not index.constraint, not index.unique, index.name


def _finding(case: Case, measurement: Measurement, indexes: Sequence[Index], unneeded: Sequence[_Unneeded]) -> Finding:
    limit = case.limit("max_indexes", measurement)
    too_many = len(indexes) > limit.value
    # If some are certainly redundant, the others wait: dropped together with their replacement, they would leave
    # queries without any index.
    reported = [n for n in unneeded if n.sure] or unneeded
    doubtful = [n.index.name for n in unneeded if n not in reported]
    worst = max((n.severity for n in reported), key=lambda s: s.rank, default=Severity.WARNING)
    parts = [f"{many(len(indexes), 'index')}, more than the recommended {number(limit.value)}"] if too_many else []
    parts += [_summary(reported)] if reported else []
    parts += [f"{listed(doubtful)} may not be needed either"] if doubtful else []
    return Finding(
        subject=subject_of(measurement),
        severity=Severity.WARNING if too_many else worst,
        message="; ".join(parts) + ".",
        changes=tuple(_drop(measurement, n.index) for n in reported),
        fix="Drop them one at a time." if len(reported) > 1 else "" if reported else _choose(indexes),
        observed=len(indexes) if too_many else len(reported),
        limit=limit if too_many else None,
        unit="indexes"
        if too_many
        else "redundant or unused index"
        if len(unneeded) == 1
        else "redundant or unused indexes",
        evidence=(
            Evidence("indexes", number(len(indexes))),
            *(Evidence(n.index.name, f"({_columns(n.index)}): {n.why}{_bytes(n.index)}") for n in unneeded),
        ),
        facts=("indexes", "tag_values"),
    )


def _summary(unneeded: Sequence[_Unneeded]) -> str:
    if len(unneeded) == 1:
        index = unneeded[0].index
        return f"Index {index.name} on ({_columns(index)}) is not needed: {unneeded[0].why}{_bytes(index)}"
    sizes = [n.index.size_bytes for n in unneeded if n.index.size_bytes is not None]
    together = f", {size(sum(sizes))} together" if sizes else ""
    return f"{many(len(unneeded), 'index')} are not needed{together}: {listed([n.index.name for n in unneeded])}"


def _columns(index: Index) -> str:
    sorting = index.sorting or ("",) * len(index.columns)
    members = zip(index.columns, sorting, strict=True)
    return ", ".join(f"{column or 'an expression'} {how}".strip() for column, how in members)


def _bytes(index: Index) -> str:
    return f"; it takes {size(index.size_bytes)}" if index.size_bytes is not None else ""


def _drop(measurement: Measurement, index: Index) -> DropIndex:
    columns = tuple(c for c in index.columns if c is not None)
    whole = columns if len(columns) == len(index.columns) else ()
    # An index of the usual kind is asked for without naming it.
    return DropIndex(subject_of(measurement), index.name, whole, "" if index.kind in _USUAL else index.kind)


def _choose(indexes: Sequence[Index]) -> str:
    """What to do about too many indexes if none is known to be redundant."""
    counted = sorted((i.scans, i.name) for i in indexes if i.scans is not None and not i.constraint)
    least = f", beginning with those used least: {listed([name for _, name in counted[:3]])}" if counted else ""
    return f"Keep those that frequent queries filter by, and drop the others{least}."
