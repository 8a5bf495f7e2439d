"""STO002."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from tsaudit import costs
from tsaudit.model.change import AddIndex, DropIndex
from tsaudit.model.figures import READ_BY_TIME, TableKind
from tsaudit.model.finding import Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.storage import Index
from tsaudit.rule import Case, Threshold, rule, subject_of
from tsaudit.text import count, listed, number, rounded, size
from tsaudit.text.impacts import a_day_or_less

_BRIN: Final = "brin"
_FEW_RANGES: Final = 10 * 128 * 8192
"""Bytes of ten ranges of pages, as BRIN has them by default: smaller tables are read at once."""
_BY_ANYTHING: Final = 10
"""Times as many full scans a day, where nothing says by which column: one each quarter of an hour is no report."""


_OF_COMMANDS: Final = 50
"""Full scans that commands such as `init`, `check`, and `audit` may have made on a day of trying out, five each:
nothing counts them.
"""
_SHORT_S: Final = 20 * 3600
"""What was counted in less has no such day to itself; two daily audits are nearly a day apart."""


@rule(
    code="STO002",
    title="No index finds what queries select",
    costs={Currency.READS},
    guidelines=("E8",),
    requires={"indexes"},
    uses={"null_counts", "row_estimate", "storage", "partitions", "table_status"},
    not_applicable={
        "duckdb": "it keeps the smallest and largest time of each part of the column automatically",
        "greptimedb": "it stores rows by time automatically",
        "mongodb": "documents are mostly found by other fields, and it does not count those that were read in vain",
    },
    thresholds=(
        Threshold("min_rows", costs.SMALL_ROWS, "rows", "our default: a full scan of fewer takes a few milliseconds"),
        Threshold(
            "min_scans", 10, "full scans a day", "our default: fewer are reports, dumps, and the making of indexes"
        ),
    ),
)
def missing_index(case: Case) -> Iterator[Finding]:
    """Big tables without an index on the time column, BRIN indexes on a column in whose order rows do not lie, and
    tables that queries read whole all the time.

    Big means at least `min_rows` rows, or as many bytes as a warning needs. An index helps if it starts
    with the time column; a BRIN index helps if it contains it. Partitions by time help too. If the time column only
    comes after other columns, as in (host, time), the index helps for a time range of one source but not for one of all
    sources.

    A BRIN index keeps the smallest and largest value of each range of pages. Where rows do not lie in the order of the
    column, at least roughly (a correlation of 0.5, by PostgreSQL's statistics), every range has nearly all values, and
    the index leads to nearly all of the table.

    The cost is the rows that PostgreSQL counted in full scans of the table since the previous audit, or since its
    counters began, without those that an audit reads itself, and those of the pages that such a BRIN index led to.
    Of what was counted in less than 20 hours, 50 full scans do not count: commands of tsaudit may have made them. Fewer
    than `min_scans` full scans a day do not count. Other engines count nothing, and the finding is a note.

    Whatever a table contains, from `min_rows` on, ten times as many full scans a day are reported even if its time has
    an index, or it has no time. Which column the queries select by, these counters do not say.

    ## Why it matters

    Nearly every query of readings selects a time range. Without an index on the time column, its cost grows with all
    data ever stored, however short the range.

    ## Example

    `readings` (id, ts, sensor, value) with 50 million rows and the primary key (id). Or `events` with a BRIN index on
    `id`, a random number: each search for one reads all of it.

    ## Fix

    Create an index on what queries select by: pg_stat_statements lists the queries. Use a method that does not block
    writers if the engine has one. BRIN is only for columns in whose order rows are written; for others use a B-tree, or
    rewrite the table in that order (`CLUSTER`).

    ## References

    - BRIN indexes: https://www.postgresql.org/docs/current/brin.html
    - The query planner and indexes, SQLite: https://www.sqlite.org/queryplanner.html
    """
    for measurement in case.measurements:
        if measurement.indexes is None:
            continue
        useless, time = _useless(measurement), measurement.time_column
        lacks = time is not None and _lacks_index(measurement, time, useless)
        found = None
        if time is not None and lacks and _is_read_by_time(measurement, READ_BY_TIME) and _is_big(case, measurement):
            found = _without_index(case, measurement, time, useless)
        elif useless:
            found = _with_useless(case, measurement, useless)
        if found is None or found.impact is None:
            is_read = lacks and _is_read_by_time(measurement, {*READ_BY_TIME, TableKind.OTHER})
            found = _scanned(case, measurement, time if is_read else None) or found
        if found is not None:
            yield found


def _is_read_by_time(measurement: Measurement, kinds: Collection[TableKind]) -> bool:
    return measurement.kind is None or measurement.kind in kinds


def _is_big(case: Case, measurement: Measurement) -> bool:
    rows = [one.value for one in (measurement.rows, measurement.rows_total) if one is not None]
    if rows and max(rows) >= case.limit("min_rows", measurement).value:
        return True
    kept = measurement.storage.data_bytes if measurement.storage else None
    return kept is not None and kept >= case.harm.min_bytes


def _lacks_index(measurement: Measurement, time: str, useless: Sequence[Index]) -> bool:
    """Whether a time range needs a full scan."""
    if measurement.partitioning and time in measurement.partitioning.key[:1]:
        return False
    return not any(index.finds_ranges_of(time) and index not in useless for index in measurement.indexes or ())


def _useless(measurement: Measurement) -> tuple[Index, ...]:
    """Its indexes of ranges of pages that lead to nearly all of them."""
    status = measurement.status
    kept = measurement.storage.data_bytes if measurement.storage else None
    if status is None or (kept is not None and kept < _FEW_RANGES):
        return ()
    brin = (i for i in measurement.indexes or () if i.kind == _BRIN and i.valid and i.columns)
    return tuple(i for i in brin if not any(status.is_in_order(column or "") for column in i.columns))


_Read = tuple[Impact | None, tuple[Evidence, ...]]


def _read(case: Case, measurement: Measurement, useless: Sequence[Index], needed: float, times: float = 1.0) -> _Read:
    """What is read in vain. `needed`: the share of the rows that queries have to read in any case, 0 to 1. `times`: of
    the full scans a day that are reported.
    """
    names = {index.name for index in useless}

    def rows_read(at: Measurement) -> float | None:
        scanned = at.status.counters.get("rows_scanned") if at.status else None
        if scanned is None:
            return None
        read = scanned + sum(i.rows_read or 0 for i in at.indexes or () if i.name in names)
        if at is measurement:
            return read
        # What the previous audit read came after it had asked for the counters.
        now = rows_read(measurement)
        return read if now is None or now < read else min(read + _read_by_audit(at), now)

    rate = costs.counted_a_day(case, measurement, rows_read)
    rows = measurement.status.figures.get("live_rows") if measurement.status else None
    if rate is None or not rows:
        return None, ()
    label = "rows read in full scans"
    if rate.counted_s is not None and rate.counted_s < _SHORT_S:
        by_others = rate.per_day - _OF_COMMANDS * rows
        if by_others <= 0:
            unknown = "not known before they were counted for a day: so far, tsaudit may have read most of them"
            return None, (Evidence(label, unknown),)
        rate = replace(rate, per_day=by_others)
    scans = rate.per_day / rows
    words = (
        f"{number(rounded(rate.per_day))} {a_day_or_less(rate.counted_s)} since {rate.since}, "
        f"{number(round(scans, 1))} times the table"
    )
    least = times * case.limit("min_scans", measurement).value
    if scans < least or rows < case.limit("min_rows", measurement).value:
        return None, (Evidence(label, words),)
    how = "rows of full scans, as the server counts them"
    if needed:
        how += ", without what a range of one day has to read"
    impact = Impact(
        Currency.READS, now=rate.per_day * (1 - needed), whole=rate.per_day, counted_s=rate.counted_s, how=how
    )
    return impact, (Evidence(label, words),)


_READING: Final = frozenset({"null_counts", "row_sample", "series_listing", "time_extents"})
"""Facts whose statements may each read a table whole."""


def _read_by_audit(measurement: Measurement) -> float:
    """The rows that the audit has read of a table, at most."""
    rows = measurement.status.figures.get("live_rows", 0.0) if measurement.status else 0.0
    return len(_READING & set(measurement.statements)) * rows


def _a_day(case: Case, measurement: Measurement) -> float:
    """The share of the rows that a range of one day has; 0 if that is not known."""
    days = costs.age_days(case, measurement)
    return min(1 / days if days else costs.added_a_day(case, measurement) or 0.0, 1.0)


def _scanned(case: Case, measurement: Measurement, time: str | None) -> Finding | None:
    """What the counters alone say, if it costs something. `time`: a column of times without an index."""
    needed, times = (_a_day(case, measurement), 1.0) if time else (0.0, _BY_ANYTHING)
    read = _read(case, measurement, (), needed, times)
    impact, _ = read
    if impact is None or impact.now < case.harm.min_reads:
        return None
    if time is not None:
        return _without_index(case, measurement, time, ())
    return replace(
        _finding(measurement, "Queries read the whole table all the time: no index finds what they select.", "", read),
        fix="The counters do not say by which column. Find the queries of the table in pg_stat_statements, the most "
        "calls first, and create an index on what they select by.",
    )


def _without_index(case: Case, measurement: Measurement, time: str, useless: Sequence[Index]) -> Finding:
    read = _read(case, measurement, useless, _a_day(case, measurement))
    on_time = [index for index in useless if time in index.columns]
    partial = [i.name for i in measurement.indexes or () if i.partial and i.valid and i.columns[:1] == (time,)]
    if partial:
        message = f"Only {listed(partial, 3)}, a partial index, starts with {time}: a time range outside of its "
        message += "condition needs a full scan."
    elif on_time:
        message = f"{_does_not_help(measurement, on_time[0])}, so every time range needs a full scan."
    elif any(time in i.columns for i in measurement.indexes or () if i.valid):
        message = f"No index starts with {time}, so a time range over all sources needs a full scan."
    else:
        message = f"{time} is in no index, so every time range needs a full scan."
    return replace(
        _finding(measurement, message, time, read),
        changes=(AddIndex(subject_of(measurement), (time,)), *(_drop(measurement, i) for i in on_time)),
    )


def _with_useless(case: Case, measurement: Measurement, useless: Sequence[Index]) -> Finding:
    index = useless[0]
    column = index.columns[0] or ""
    others = [i for i in measurement.indexes or () if i not in useless and i.finds_ranges_of(column)]
    message = f"{_does_not_help(measurement, index)}, so a search by {column} reads nearly all of the table."
    at = subject_of(measurement)
    added = () if others else (AddIndex(at, (column,), "btree"),)
    return replace(
        _finding(measurement, message, column, _read(case, measurement, useless, 0.0)),
        changes=(*added, *(_drop(measurement, one, others[0].name if others else "") for one in useless)),
    )


def _does_not_help(measurement: Measurement, index: Index) -> str:
    order = measurement.status.order if measurement.status else {}
    column = index.columns[0] or ""
    return (
        f"BRIN index {index.name} does not help: rows do not lie in the order of {column} "
        f"(correlation {order.get(column, 0.0):.2f})"
    )


def _finding(measurement: Measurement, message: str, column: str, read: _Read) -> Finding:
    impact, evidence = read
    indexes = [f"{i.name} ({', '.join(c or 'an expression' for c in i.columns)})" for i in measurement.indexes or ()]
    kept = measurement.storage.data_bytes if measurement.storage else None
    # A full scan reads all rows, whenever they are of.
    inside, rows = measurement.rows, measurement.rows_total
    within = f"; {count(inside)} of them within the window" if rows and inside and inside.value < rows.value else ""
    rows = rows if within or inside is None else inside
    return Finding(
        subject=subject_of(measurement),
        message=message,
        impact=impact,
        observed=rows.value if rows else None,
        unit="rows" if rows else "",
        main_contributor=column or None,
        evidence=(
            Evidence("indexes", listed(indexes)),
            *([Evidence("rows", f"{count(rows)}{within}")] if rows else []),
            *([Evidence("data", size(kept))] if kept is not None else []),
            *evidence,
        ),
        facts=("indexes", "null_counts", "row_estimate", "storage", "table_status"),
        source=rows.source if rows else None,
    )


def _drop(measurement: Measurement, index: Index, instead: str = "") -> DropIndex:
    columns = tuple(c for c in index.columns if c is not None)
    return DropIndex(subject_of(measurement), index.name, columns, index.kind, instead)
