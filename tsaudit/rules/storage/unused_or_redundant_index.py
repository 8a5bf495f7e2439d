"""STO001."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from tsaudit import costs
from tsaudit.model.change import DropIndex
from tsaudit.model.finding import Basis, Currency, Evidence, Finding, Impact
from tsaudit.model.profile import Measurement
from tsaudit.model.storage import Index
from tsaudit.rule import Case, Threshold, rule, subject_of, table_of
from tsaudit.text import listed, many, number, percent, rows_of, size

_ORDERED: Final = frozenset({"btree"})
"""Kinds that store rows in the order of their columns, so that the leading columns can be searched alone."""
_USUAL: Final = frozenset({"btree", "art"})
_SEARCHED: Final = frozenset({"btree", "hash", "art"})
"""Kinds that find single rows, each with a separate search."""
_UNFINISHED: Final = "building it failed, and no query uses it"
_ON_DEMAND: Final = frozenset({"inverted", "skipping", "fulltext"})
"""GreptimeDB's kinds besides the key and the time index."""

_COMMON: Final = 0.999
"""Share of the rows with one value: who looks for these reads the table."""
_MANY_ROWS: Final = 10_000
"""Minimum number of rows for which one value of a column counts as that of all."""


def _is_server_used(case: Case) -> bool:
    """Whether the server has counted a use of any index."""
    return any(index.scans for m in case.profile.measurements for index in m.indexes or ())


_READS: Final = 10
"""Number of times that a table was read as a whole from which on it has readers that use no index: an audit and a
backup read it, too.
"""


def _shows_uses(measurement: Measurement, *, is_server_used: bool) -> bool:
    """Whether the counters cover a time in which the table was read: an index of its own was used or, for a table
    without a key, any index of the server; or all rows were read often.
    """
    own, status = measurement.indexes or (), measurement.status
    has_key = any(index.constraint and index.scans is not None for index in own)
    if any(index.scans for index in own) if has_key else is_server_used:
        return True
    rows = status.figures.get("live_rows", 0) if status else 0
    return bool(status and rows and status.counters.get("rows_scanned", 0) >= _READS * rows)


def _unread(case: Case) -> str:
    """The tables whose indexes no query has used, in words; empty if there are none."""
    counted = [m for m in case.measurements if any(index.scans is not None for index in m.indexes or ())]
    is_used = _is_server_used(case)
    names = [m.name for m in counted if not _shows_uses(m, is_server_used=is_used)]
    tables = f"{many(len(names), case.engine.words.measurement)} ({listed(names, 3)})"
    return f"uses of the indexes of {tables}: no query has used any, so the counters prove nothing" if names else ""


@rule(
    code="STO001",
    title="A table has redundant or unused indexes",
    costs={Currency.BYTES, Currency.MECHANISM},
    guidelines=("A9", "E8"),
    requires={"indexes"},
    uses={"options", "tag_values", "null_counts", "table_status", "field_values"},
    thresholds=(
        Threshold("min_days", 30, "days", "our default: long enough for a monthly report to have run"),
        Threshold(
            "min_values",
            10,
            "distinct values",
            "our default: a query that reads a tenth of the rows reads the whole table",
        ),
        Threshold("min_bytes", costs.FEW_BYTES, "bytes", "our default: less is a page or two, which costs nothing"),
    ),
    leaves_out=_unread,
)
def unused_or_redundant_index(case: Case) -> Iterator[Finding]:
    """Indexes that cost every write and serve no read that something else does not already serve.

    Reported are:

    - an index with the same columns as another one, or with the leading columns of an index of an ordered kind (a
      B-tree), whatever their direction: a B-tree is read both ways. Of the two, the one that queries use stays;
    - an index that was not used once in `min_days`, if the engine counts uses; if it does not say since when, the
      audits must have seen no use for so long. One that begins with a foreign key is not: the first deletion in the
      other table would read all rows of this one;
    - an index of PostgreSQL on one column of which 99.9% of at least 10,000 rows have the same value, or none, by its
      statistics, and that no query has used yet: a partial index on the others is enough. What uses it looks for
      these others, as a foreign key does;
    - an index that PostgreSQL did not finish: it is not valid, so writes maintain it and no query uses it;
    - an index on the time column if the engine stores rows by time anyway (DuckDB, GreptimeDB);
    - on DuckDB, an index on several columns, which no query uses;
    - on GreptimeDB, an index on the first column of the key;
    - an index on a tag with fewer than `min_values` values in a table of 100,000 rows, unless it is a foreign key.

    If no index of a table was used, not even that of its key, nobody has read the table since the counters began, and
    they say nothing about a single index. Indexes of a primary key or unique constraint are never reported, nor those
    by which documents expire, nor those of less than `min_bytes`.

    The cost is the bytes of those that are certainly not needed, now and at the horizon at the rate of the rows. Where
    the engine does not report them, it is the rows at a measured price each: 16.8 bytes on SQLite, or what its values
    take, and 64 on DuckDB; on GreptimeDB nobody measured one, and the finding is a note. An index that is not valid is
    a mechanism that fails, whatever its bytes. Without a cost is what may have its use: an index on a tag with few
    values, and an unused index that may be new. The fix drops the indexes that are certainly redundant, and the others
    only after those are gone.

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
    is_used = _is_server_used(case)
    yield from case.once_for_family(lambda measurement: _found(case, measurement, is_server_used=is_used))


def _found(case: Case, measurement: Measurement, *, is_server_used: bool) -> Iterator[Finding]:
    if case.engine.has_given_columns(measurement):
        return
    if not _shows_uses(measurement, is_server_used=is_server_used):
        uncounted = tuple(replace(index, scans=None) for index in measurement.indexes or ())
        measurement = replace(measurement, indexes=uncounted)
    found = (_evaluate(case, measurement, index) for index in measurement.indexes or ())
    unneeded = [one for one in found if one]
    needed = {one.instead for one in unneeded}
    # What does the work of another one has to stay as long as the other one is to go.
    unneeded = [replace(one, sure=one.sure and one.index.name not in needed) for one in unneeded]
    if unneeded:
        yield _finding(case, measurement, unneeded)


@dataclass(frozen=True, slots=True)
class _Unneeded:
    index: Index
    why: str
    sure: bool = True
    """False if it may be useful: then it costs nothing that could be saved for certain."""
    share: float = 1.0
    """Of its entries, those that are not needed."""
    is_partly: bool = False
    """Whether an index on the other rows is needed, even if there are none today."""
    instead: str = ""
    """The index that does its work; empty where it has none."""


def _evaluate(case: Case, measurement: Measurement, index: Index) -> _Unneeded | None:
    """Why the index is not needed; None if it may be."""
    if index.constraint or index.expires_s is not None:
        return None
    if not index.valid:
        return _Unneeded(index, _UNFINISHED)
    if _is_small(case, measurement, index):
        return None
    if found := _served_otherwise(case, measurement, index):
        return found
    if one := _one_value(measurement, index):
        return one
    if _serves_foreign_key(measurement, index):
        return None
    if few := _few_values(case, measurement, index):
        return _Unneeded(index, few, sure=False)
    if index.unique or index.scans != 0 or _alone_finds_times(measurement, index):
        return None
    since = _long_unused_since(case, measurement, index)
    if since is None:
        return None
    why = f"not used once since {since.date()}" + (", or since it was created" if index.counted_since else "")
    return _Unneeded(index, why, sure=_seen_before(case, measurement, index))


def _serves_foreign_key(measurement: Measurement, index: Index) -> bool:
    """Whether it finds the rows that refer to a row of another table: the first deletion there would read all rows."""
    tags, fields = measurement.tags, measurement.fields
    can = index.kind in _SEARCHED and not index.partial
    return can and index.columns[0] in {t.key for t in tags if t.refers_to} | {f.key for f in fields if f.refers_to}


def _long_unused_since(case: Case, measurement: Measurement, index: Index) -> datetime | None:
    """Since when its uses are counted, and there are none; None if that is too short, or not known."""
    since = index.counted_since or index.scans_since
    if since is None or (case.profile.collected_at - since).days < case.limit("min_days", measurement).value:
        return None
    return since


def _is_small(case: Case, measurement: Measurement, index: Index) -> bool:
    """Whether it has so few entries that it costs nothing; not if that is not known."""
    # Rows within a window are not all rows.
    rows = measurement.rows_total or (measurement.rows if measurement.time_column is None else None)
    held, each = index.size_bytes, case.engine.index_entry_bytes
    if held is None and rows is not None and each is not None:
        held = round(rows.value * each)
    return held is not None and held < case.limit("min_bytes", measurement).value


def _few_values(case: Case, measurement: Measurement, index: Index) -> str:
    """Why a search by one value matches too many rows to use the index; empty if it does not, or is not known."""
    tag = measurement.tag(index.columns[0] or "") if len(index.columns) == 1 else None
    rows, least = measurement.rows, case.limit("min_values", measurement).value
    if tag is None or tag.values is None or index.unique or index.partial or index.kind not in _SEARCHED:
        return ""
    if tag.values.is_lower_bound or tag.values.value >= least or rows is None or rows.value < costs.SMALL_ROWS:
        return ""
    return f"{tag.key} has only {many(tag.values.value, 'value')}, so a search for one reads much of the table"


def _one_value(measurement: Measurement, index: Index) -> _Unneeded | None:
    """The index with the entries of a value that nearly all rows have, or of null; None if there is no such value."""
    column = index.columns[0] if len(index.columns) == 1 else None
    status = measurement.status
    share = status.common.get(column, 0.0) if status and column else 0.0
    if (
        share < _COMMON
        or not _has_many_rows(measurement)
        or index.unique
        or index.partial
        or index.kind not in _SEARCHED
        or index.scans != 0
    ):
        return None
    why = f"{percent(share)} of the rows have the same {column}, or none, and no query has used it"
    return _Unneeded(index, why, share=share, is_partly=True)


def _seen_before(case: Case, measurement: Measurement, index: Index) -> bool:
    """Whether it has had time to be used: the server counts that it was written with all rows since the counters began,
    or the previous audit, a day before, knew it.
    """
    if index.is_as_old:
        return True
    before = case.timeline.earlier(measurement) if case.timeline.is_older(case.profile, timedelta(days=1)) else None
    known = (before.indexes or ()) if before else ()
    return any(index.name == i.name and index.columns == i.columns for i in known)


def _served_otherwise(case: Case, measurement: Measurement, index: Index) -> _Unneeded | None:
    """What does the index's work without it; None if nothing is known to."""
    indexes, on_time = measurement.indexes or (), index.columns == (measurement.time_column,)
    if why := case.engine.index_unused(index, on_time=on_time):
        return _Unneeded(index, why)
    # One that nothing replaces in turn: whatever is dropped, it stays.
    last = [i for i in indexes if _replaces(i, index) and not any(_replaces(other, i) for other in indexes)]
    if last:
        other = min(last, key=_by_need)
        verb = "has" if other.columns == index.columns else "starts with"
        same = f"{verb} the same {'columns' if len(index.columns) > 1 else 'column'}"
        return _Unneeded(index, f"{other.name} ({_columns(other)}) {same}", instead=other.name)
    if index.kind in _ON_DEMAND:
        if on_time:
            return _Unneeded(index, "rows are stored by time anyway")
        if [*index.columns] == [i.columns[0] for i in indexes if i.kind == "primary"]:
            return _Unneeded(index, "rows are sorted by this column, the first of the key")
    return None


def _has_many_rows(measurement: Measurement) -> bool:
    """Whether a value that all rows have is likely to stay that of all: a few rows may be what is left of others."""
    status, counted = measurement.status, measurement.rows_total or measurement.rows
    live = status.figures.get("live_rows") if status else None
    return (live if live is not None else counted.value if counted else 0) >= _MANY_ROWS


def _replaces(other: Index, index: Index) -> bool:
    """Whether any search that uses `index` can use `other`, which stays."""
    if other.name == index.name or other.kind != index.kind or not other.valid:
        return False
    if other.partial or index.partial or None in index.columns:
        return False
    if other.columns == index.columns:
        return _to_keep(other) < _to_keep(index) and other.unique >= index.unique
    is_start = index.columns == other.columns[: len(index.columns)]
    # Queries have chosen the shorter one: the longer one can go.
    is_longer_unused = bool(index.scans) and other.scans == 0 and not (other.unique or other.constraint)
    return index.kind in _ORDERED and is_start and not index.unique and not is_longer_unused


def _by_need(index: Index) -> tuple[bool, bool, bool, int, str]:
    """Sort key of indexes that could each do the work of another one: first the one that stays in any case."""
    return not index.constraint, not index.unique, index.scans == 0, len(index.columns), index.name


def _alone_finds_times(measurement: Measurement, index: Index) -> bool:
    """Whether rows are found by time only through this index: without it, missing-index would ask for it again."""
    time = measurement.time_column
    if time is None or not index.finds_ranges_of(time):
        return False
    # Of several that nothing uses, one stays.
    others = (i for i in measurement.indexes or () if _by_need(i) < _by_need(index))
    return not any(i.finds_ranges_of(time) for i in others)


def _to_keep(index: Index) -> tuple[bool, bool, bool, str]:
    """Sort key for indexes with the same columns: the first one stays."""
    return not index.constraint, not index.unique, not index.scans, index.name


def _finding(case: Case, measurement: Measurement, unneeded: Sequence[_Unneeded]) -> Finding:
    # If some are certainly redundant, the others wait: dropped together with their replacement, they would leave
    # queries without any index.
    reported = [n for n in unneeded if n.sure] or list(unneeded)
    doubtful = [n.index.name for n in unneeded if n not in reported]
    waiting = f"; {listed(doubtful)} may not be needed either" if doubtful else ""
    return Finding(
        subject=subject_of(measurement),
        impact=_impact(case, measurement, [n for n in reported if n.sure]),
        basis=Basis.DECLARED,
        message=f"{_summary(reported)}{waiting}.",
        changes=tuple(_drop(measurement, n.index, n.instead) for n in reported if not n.is_partly),
        fix=" ".join(
            [*(_made_partial(case, measurement, n.index) for n in reported if n.is_partly)]
            + [_made_unique(n.index) for n in reported if n.index.unique and not n.index.valid]
            + ["Drop them one at a time."] * (len(reported) > 1)
        ),
        observed=len(reported),
        unit="redundant or unused index" if len(unneeded) == 1 else "redundant or unused indexes",
        evidence=(
            Evidence("indexes", number(len(measurement.indexes or ()))),
            *(Evidence(n.index.name, f"({_columns(n.index)}): {n.why}{_bytes(n.index)}") for n in unneeded),
        ),
        facts=("indexes", "tag_values", "table_status"),
    )


def _impact(case: Case, measurement: Measurement, unneeded: Sequence[_Unneeded]) -> Impact | None:
    """What they cost together; None if that is not known, or there are none."""
    if any(not one.index.valid for one in unneeded):
        return Impact(
            Currency.MECHANISM,
            is_enforced=None,
            consequence="Each write goes on maintaining it, and no query uses it.",
            how="the catalog says that it is not valid",
        )
    if not unneeded:
        return None
    sizes = [one.index.size_bytes * one.share for one in unneeded if one.index.size_bytes is not None]
    if len(sizes) == len(unneeded):
        return costs.of_bytes(case, measurement, sum(sizes), how="bytes of the indexes, as the engine reports them")
    rows = measurement.rows_total or measurement.rows
    entries = [_entry_bytes(case, measurement, one.index) for one in unneeded]
    known = [each for each in entries if each is not None]
    if len(known) < len(entries) or rows is None:
        each = costs.index_share(measurement)
        how = "index bytes of the table, as the engine reports them, divided equally among its indexes"
        return None if each is None else costs.of_bytes(case, measurement, len(unneeded) * each, how=how)
    how = f"{rows_of(rows)} in {many(len(unneeded), 'index')}; {case.engine.index_price}, more for wide values"
    return costs.of_bytes(case, measurement, rows.value * sum(known), how=how)


def _entry_bytes(case: Case, measurement: Measurement, index: Index) -> float | None:
    """What a row takes in the index; None if nobody measured that."""
    read = measurement.row_bytes.columns if measurement.row_bytes else {}
    widths = [read[column] for column in index.columns if column is not None and column in read]
    return case.engine.index_bytes_of(widths) if len(widths) == len(index.columns) else case.engine.index_entry_bytes


def _made_partial(case: Case, measurement: Measurement, index: Index) -> str:
    column = index.columns[0] or ""
    return (
        f"Replace {index.name} by one of the other rows: CREATE INDEX ON {case.quoted([table_of(measurement)])} "
        f"({case.quoted([column])}) WHERE {case.quoted([column])} <> '...', with the value that nearly all have, or IS "
        "NOT NULL."
    )


def _made_unique(index: Index) -> str:
    return (
        f"{index.name} is to keep ({_columns(index)}) unique, and does not: remove the rows that are equal there, and "
        "create it again after it is dropped."
    )


def _summary(unneeded: Sequence[_Unneeded]) -> str:
    if len(unneeded) == 1:
        index = unneeded[0].index
        what = "not needed" if index.valid else "not valid"
        return f"Index {index.name} on ({_columns(index)}) is {what}: {unneeded[0].why}{_bytes(index)}"
    sizes = [n.index.size_bytes for n in unneeded if n.index.size_bytes is not None]
    together = f", {size(sum(sizes))} together" if sizes else ""
    return f"{many(len(unneeded), 'index')} are not needed{together}: {listed([n.index.name for n in unneeded])}"


def _columns(index: Index) -> str:
    sorting = index.sorting or ("",) * len(index.columns)
    members = zip(index.columns, sorting, strict=True)
    return ", ".join(f"{column or 'an expression'} {how}".strip() for column, how in members)


def _bytes(index: Index) -> str:
    return f"; it takes {size(index.size_bytes)}" if index.size_bytes else ""


def _drop(measurement: Measurement, index: Index, instead: str) -> DropIndex:
    columns = tuple(c for c in index.columns if c is not None)
    whole = columns if len(columns) == len(index.columns) else ()
    # An index of the usual kind is asked for without naming it.
    return DropIndex(subject_of(measurement), index.name, whole, "" if index.kind in _USUAL else index.kind, instead)
