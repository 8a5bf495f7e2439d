"""Statements that change GreptimeDB's tables: ALTER TABLE where the version can, else a copy. Shown, and never run."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from tsaudit.engines.greptimedb.tables import (
    ENGINE,
    METRIC_OF_ROW,
    indexes_on,
    is_append_only,
    is_metric,
    primary_key,
    version,
)
from tsaudit.engines.quoting import quote_text
from tsaudit.engines.rendering import Quoting
from tsaudit.model.profile import Measurement
from tsaudit.rule import table_of
from tsaudit.text import listed

APPEND_ONLY: Final[Mapping[str, str]] = {"append_mode": "true", "merge_mode": ""}
"""Options of a table that keeps all rows: the server refuses a merge mode beside."""
CLAUSES: Final = {"inverted": "INVERTED INDEX", "skipping": "SKIPPING INDEX", "fulltext": "FULLTEXT INDEX"}
_A_DAY: Final = timedelta(days=1)
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")
_NOT_CARRIED: Final = frozenset({"engine", "sst_format"})
"""Which engine a table has says no option, and what format new files have is best left to the server."""


def table(case: Quoting, measurement: Measurement, suffix: str = "") -> str:
    """Its full name: whoever pastes a statement may be in another database, with a table of the same name."""
    return case.quoted([table_of(measurement, measurement.name + suffix)])


def set_index(case: Quoting, measurement: Measurement, column: str, kind: str) -> str:
    """Makes an index on the column; it covers files that are written from then on."""
    return f"ALTER TABLE {table(case, measurement)} MODIFY COLUMN {case.quoted([column])} SET {CLAUSES[kind]};"


def unset_index(case: Quoting, measurement: Measurement, column: str, kind: str) -> str:
    """Drops an index on the column."""
    return f"ALTER TABLE {table(case, measurement)} MODIFY COLUMN {case.quoted([column])} UNSET {CLAUSES[kind]};"


def set_option(case: Quoting, measurement: Measurement, name: str, value: str) -> str:
    """Changes one of the options that can be changed."""
    return f"ALTER TABLE {table(case, measurement)} SET {quote_text(ENGINE, name)}={quote_text(ENGINE, value)};"


def added_columns(case: Quoting, measurement: Measurement, names: Sequence[str]) -> str:
    """Adds columns for texts, each by a statement of its own."""
    added = (f"ALTER TABLE {table(case, measurement)} ADD COLUMN {case.quoted([name])} STRING" for name in names)
    return "\n".join(f"{statement};" for statement in added)


def renamed(case: Quoting, measurement: Measurement, name: str, new: str) -> str:
    """Renames the table, or one of its columns, for which there is no statement."""
    if is_metric(measurement):
        return "change it where it is sent, as the server makes the table out of what is written."
    if name in measurement.columns:
        return rebuilt(case, measurement, names={name: new})
    return f"ALTER TABLE {table(case, measurement)} RENAME {case.quoted([new])};"


def rebuilt(
    case: Quoting,
    measurement: Measurement,
    *,
    key: Sequence[str] | None = None,
    time: str | None = None,
    options: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    distinct: bool = False,
    divided: bool = True,
) -> str:
    """A new table with other settings, the copy into it, and the swap: what no ALTER TABLE changes.

    See `create_copy` and `insert_day`.
    """
    name = f"{measurement.name}_new"
    made = create_copy(
        case, measurement, name, key=key, time=time, options=options, names=names, types=types, divided=divided
    )
    copy = insert_day(case, measurement, name, None, time=time, names=names, types=types, distinct=distinct)
    is_divided = divided and measurement.partitioning
    lost = ["partitions"] if is_divided and not partitions_clause(case, measurement, names or {}) else []
    return f"{made}\n{copy}\n{_swapped(case, measurement, [*lost, 'defaults', 'comments', 'details of indexes'])}"


def create_copy(
    case: Quoting,
    measurement: Measurement,
    name: str,
    *,
    key: Sequence[str] | None = None,
    time: str | None = None,
    options: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    divided: bool = True,
) -> str:
    """Makes a table of that name with other settings.

    `key`: the columns of its key, in order; None for the same. `time`: its time index, with the former one where that
    is null; None for the same. `options`: those that change, empty for one that is left out. `names`, `types`: of
    columns that get others. `divided`: into the same partitions, if it has any.
    """
    renaming, casts = names or {}, types or {}
    index = time or measurement.time_column
    kept = primary_key(measurement) if key is None else key
    lines = [_column(case, measurement, c, renaming.get(c, c), casts.get(c), c == index) for c in measurement.columns]
    if index:
        lines.append(f"TIME INDEX ({case.quoted([renaming.get(index, index)])})")
    if kept:
        lines.append(f"PRIMARY KEY ({case.quoted(renaming.get(c, c) for c in kept)})")
    body = ",\n".join(f"  {line}" for line in lines)
    parts = partitions_clause(case, measurement, renaming) if divided else ""
    new = case.quoted([table_of(measurement, name)])
    return f"CREATE TABLE {new} (\n{body}\n){parts}{options_clause(measurement, options or {})};"


def insert_day(
    case: Quoting,
    measurement: Measurement,
    name: str,
    day: datetime | None,
    *,
    time: str | None = None,
    names: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    distinct: bool = False,
) -> str:
    """Copies the rows of one day, or all of them, to the table of that name.

    Of many days at once the server would open more files than it may. `distinct`: rows that are the same in all columns
    are copied once. For `time`, `names` and `types` see `create_copy`.
    """
    renaming, casts = names or {}, types or {}
    into = case.quoted(renaming.get(c, c) for c in measurement.columns)
    values = ", ".join(
        _value(case, c, casts.get(c), measurement.time_column if c == time else None) for c in measurement.columns
    )
    once = "DISTINCT " if distinct else ""
    within = ""
    if day is not None and measurement.time_column:
        column = case.quoted([measurement.time_column])
        within = f" WHERE {column} >= '{day:%Y-%m-%d %H:%M:%S}' AND {column} < '{day + _A_DAY:%Y-%m-%d %H:%M:%S}'"
    new = case.quoted([table_of(measurement, name)])
    return f"INSERT INTO {new} ({into}) SELECT {once}{values} FROM {table(case, measurement)}{within};"  # noqa: S608 -- shown, never run


def merged_partitions(case: Quoting, measurement: Measurement) -> str:
    """Makes one of two partitions in place; empty where the version cannot, or no two bounds are known."""
    bounds = bounds_of(measurement)
    if len(bounds) < 2 or version(case.profile) < (1, 0):
        return ""
    two = ",\n".join(f"  {bound}" for bound in bounds[:2])
    return f"ALTER TABLE {table(case, measurement)} MERGE PARTITION (\n{two}\n);"


def bounds_of(measurement: Measurement) -> list[str]:
    """Of all partitions, in the order of their numbers; empty where one is not known."""
    cut = measurement.partitioning
    if cut is None or cut.count > len(cut.partitions):
        return []
    return [part.bounds for part in sorted(cut.partitions, key=lambda part: (len(part.name), part.name))]


def partitions_clause(case: Quoting, measurement: Measurement, renaming: Mapping[str, str]) -> str:
    """The clause of the table as it is; empty for none, and where the server's bounds cannot be sent back to it."""
    cut, bounds = measurement.partitioning, bounds_of(measurement)
    # It prints the names in them without quotes, in which only such are taken as they are.
    if cut is None or not bounds or not all(_PLAIN.fullmatch(c) and c not in renaming for c in cut.key):
        return ""
    rule = ",\n".join(f"  {bound}" for bound in bounds)
    return f" PARTITION ON COLUMNS ({case.quoted(cut.key)}) (\n{rule}\n)"


def _swapped(case: Quoting, measurement: Measurement, lost: Sequence[str]) -> str:
    """Puts the copy in the table's place, once it holds all rows. `lost`: what it does not have yet."""
    old, name = f"{measurement.name}_old", measurement.name
    return (
        "-- Writers have to stop meanwhile. When the counts of rows agree, swap them:\n"
        f"ALTER TABLE {table(case, measurement)} RENAME {case.quoted([old])};\n"
        f"ALTER TABLE {table(case, measurement, '_new')} RENAME {case.quoted([name])};\n"
        f"-- Once the old rows are not needed any more; this cannot be undone:\n"
        f"DROP TABLE {table(case, measurement, '_old')};\n"
        f"What else SHOW CREATE TABLE has, carry over: {', '.join(lost)}."
    )


def left_out_by_sender(measurement: Measurement, tags: Collection[str]) -> str:
    """What to do about labels in a table of the metric engine; empty for any other table."""
    if not is_metric(measurement):
        return ""
    labels = sorted(set(tags) - {METRIC_OF_ROW})
    if not labels:
        return "Each metric has series of its own: send those only that somebody looks at."
    return (
        f"The metric engine makes its columns out of what is written: leave out {listed(labels)} where it is sent, as "
        "Prometheus does by labeldrop in write_relabel_configs, if the series can be told apart without. What is "
        "stored goes with the table's lifetime."
    )


def without_key_columns(
    case: Quoting, measurement: Measurement, tags: Collection[str], types: Mapping[str, str] | None = None
) -> str:
    """The table with some columns of the key as plain ones, of other types if need be.

    A table that deduplicates and has no key left would keep one row of an instant, so it becomes append-only.
    """
    kept = [column for column in primary_key(measurement) if column not in tags]
    if is_append_only(measurement):
        return rebuilt(case, measurement, key=kept, types=types)
    if kept:
        merged = "Rows that are then the same in key and time become one: first see that none is lost by it."
        return f"{rebuilt(case, measurement, key=kept, types=types)}\n{merged}"
    note = (
        "Without a key it has to be append-only, or rows of one instant overwrite each other. DELETE is refused then."
    )
    return f"{rebuilt(case, measurement, key=(), options=APPEND_ONLY, types=types)}\n{note}"


def append_only(case: Quoting, measurement: Measurement) -> str:
    """The table as one that keeps all rows: by its option from 1.0 on, before that by a copy."""
    known = version(case.profile)
    if known and known < (1, 0):
        return rebuilt(case, measurement, options=APPEND_ONLY)
    statement = set_option(case, measurement, "append_mode", "true")
    return f"{statement}\nThis cannot be undone, and DELETE is refused from then on."


def _value(case: Quoting, column: str, data_type: str | None, instead: str | None) -> str:
    """The column in the copy's SELECT; `instead`: the one whose value stands in for a null."""
    name = case.quoted([column])
    if instead is not None and instead != column:
        name = f"coalesce({name}, {case.quoted([instead])})"
    return f"CAST({name} AS {data_type})" if data_type else name


def _column(
    case: Quoting, measurement: Measurement, column: str, name: str, data_type: str | None, is_time: bool
) -> str:
    """Name, type and indexes of a column of the new table."""
    stored = {t.key: t.data_type for t in measurement.tags} | {f.key: f.types[0] for f in measurement.fields}
    kind = data_type or stored.get(column) or measurement.time_type or "timestamp(3)"
    # An index on the time index would serve nothing.
    indexes = [] if is_time else [CLAUSES[k] for k in sorted(indexes_on(measurement, column))]
    return " ".join([case.quoted([name]), kind.upper(), *(["NOT NULL"] if is_time else []), *indexes])


def options_clause(measurement: Measurement, changed: Mapping[str, str]) -> str:
    options = {k: v for k, v in (measurement.options or {}).items() if k not in _NOT_CARRIED} | dict(changed)
    words = [f"{quote_text(ENGINE, k)}={quote_text(ENGINE, v)}" for k, v in sorted(options.items()) if v]
    return f" WITH ({', '.join(words)})" if words else ""
