"""What GreptimeDB's options and indexes mean for a table, and statements that change it, to be shown and never run."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Final

from tsaudit.column_types import is_text
from tsaudit.dialect import quote_text
from tsaudit.profile import Field, How, Index, Measurement, Profile
from tsaudit.rule import Case

ENGINE: Final = "greptimedb"
DESIGN: Final = "https://docs.greptime.com/user-guide/deployments-administration/performance-tuning/design-table/"
DESIGN_0_17: Final = (
    "https://docs.greptime.com/0.17/user-guide/deployments-administration/performance-tuning/design-table/"
)
"""The edition for the former file format: it names 100 thousand values of the key as the most."""

_ROUNDING: Final = timedelta(milliseconds=1)
"""Times are kept to the nanosecond there and to the microsecond here."""
_FEW_EVENTS: Final = 20
"""Different values from which on a text may tell events apart."""
_SHARE_OF_EVENTS: Final = 0.05
"""The same, as a share of the rows read."""
_CLAUSES: Final = {"inverted": "INVERTED INDEX", "skipping": "SKIPPING INDEX", "fulltext": "FULLTEXT INDEX"}
_NOT_CARRIED: Final = frozenset({"engine", "sst_format"})
"""Which engine a table has says no option, and what format new files have is best left to the server."""


def version(profile: Profile) -> tuple[int, ...]:
    """Major and minor number; empty where the server's version has none."""
    found = re.match(r"v?(\d+)\.(\d+)", profile.server_version)
    return tuple(map(int, found.groups())) if found else ()


def option(measurement: Measurement, name: str) -> str:
    """The value of a table option; empty where it has its default or options were not measured."""
    return (measurement.options or {}).get(name, "")


def is_append_only(measurement: Measurement) -> bool:
    """Whether it keeps all rows, also those of the same key and time."""
    return option(measurement, "append_mode") == "true"


def is_metric(measurement: Measurement) -> bool:
    """Whether it is kept by the metric engine, in which all labels are the key by design."""
    return option(measurement, "engine") == "metric"


def has_given_columns(measurement: Measurement) -> bool:
    """Whether the server made its columns out of a protocol's names: a table of traces or of the metric engine."""
    return is_metric(measurement) or bool(option(measurement, "table_data_model"))


def deduplicates(measurement: Measurement) -> bool:
    """Whether it is known to keep one row per key and time."""
    return measurement.options is not None and not is_append_only(measurement) and not is_metric(measurement)


def has_former_format(profile: Profile, measurement: Measurement) -> bool:
    """Whether new files are written in the format of the versions up to 0.17, which keeps something for each key.

    From 1.0 on another one is the default; 1.0 does not tell in which format a table writes unless it was set.
    """
    known = version(profile)
    return option(measurement, "sst_format") == "primary_key" or (known != () and known < (1, 0))


def event_columns(measurement: Measurement) -> list[Field]:
    """Text fields by whose values each row is an event of its own: log lines, documents, addresses of pages, ids.

    Values that come again and again, such as the ids of a few devices, name sources and not events.
    """
    from tsaudit.analysis import shapes

    of_events = shapes.TEXT_KINDS | shapes.IDENTIFIER_KINDS - {"epoch"}
    read = measurement.row_patterns.rows if measurement.row_patterns else 0
    enough = max(_FEW_EVENTS, _SHARE_OF_EVENTS * read)
    texts = (f for f in measurement.fields if any(map(is_text, f.types)))
    many = (f for f in texts if f.distinct is not None and f.distinct.value >= enough)
    return [f for f in many if shapes.classify(f.sample).kind in of_events]


def overwritten(measurement: Measurement) -> int | None:
    """Rows in files of the window that a query does not show, as another one has their key and time, or deletes them.

    They are no more than found: what was overwritten in memory, or taken out when files were merged, is gone. None
    where it is not known: the engine does not tell, or the rows that were counted begin later than those in files.
    """
    stored, rows, first = measurement.stored, measurement.rows, measurement.first_time
    if stored is None or rows is None or first is None or rows.source.how is not How.EXACT:
        return None
    if first - stored.first_time > _ROUNDING:
        return None
    return max(0, stored.rows - rows.value)


def primary_key(measurement: Measurement) -> tuple[str, ...]:
    """Its columns in its order; by name where the order is not known."""
    key = next((i for i in measurement.indexes or () if i.kind == "primary"), None)
    return tuple(c for c in key.columns if c is not None) if key else tuple(t.key for t in measurement.tags)


def indexes_on(measurement: Measurement, column: str) -> dict[str, Index]:
    """Kind to index, of those that can be set and unset on a column."""
    return {i.kind: i for i in measurement.indexes or () if i.kind in _CLAUSES and i.columns == (column,)}


def set_index(case: Case, measurement: Measurement, column: str, kind: str) -> str:
    """Makes an index on the column; it covers files that are written from then on."""
    table, name = case.quoted([measurement.name]), case.quoted([column])
    return f"ALTER TABLE {table} MODIFY COLUMN {name} SET {_CLAUSES[kind]};"


def unset_index(case: Case, measurement: Measurement, column: str, kind: str) -> str:
    """Drops an index on the column."""
    table, name = case.quoted([measurement.name]), case.quoted([column])
    return f"ALTER TABLE {table} MODIFY COLUMN {name} UNSET {_CLAUSES[kind]};"


def set_option(case: Case, measurement: Measurement, name: str, value: str) -> str:
    """Changes one of the options that can be changed."""
    table = case.quoted([measurement.name])
    return f"ALTER TABLE {table} SET {quote_text(ENGINE, name)}={quote_text(ENGINE, value)};"


def rebuilt(
    case: Case,
    measurement: Measurement,
    *,
    key: Sequence[str] | None = None,
    time: str | None = None,
    options: Mapping[str, str] | None = None,
    names: Mapping[str, str] | None = None,
    types: Mapping[str, str] | None = None,
    distinct: bool = False,
) -> str:
    """A new table with other settings, and the copy into it: what no ALTER TABLE changes.

    `key`: the columns of its key, in order; None for the same. `time`: its time index; None for the same. `options`:
    those that change, empty for one that is left out. `names`, `types`: of columns that get others. `distinct`: rows
    that are the same in all columns are copied once.
    """
    renamed = names or {}
    index = time or measurement.time_column
    kept = primary_key(measurement) if key is None else key
    old, new = case.quoted([measurement.name]), case.quoted([f"{measurement.name}_new"])
    lines = [
        _column(case, measurement, c, renamed.get(c, c), (types or {}).get(c), c == index) for c in measurement.columns
    ]
    if index:
        lines.append(f"TIME INDEX ({case.quoted([renamed.get(index, index)])})")
    if kept:
        lines.append(f"PRIMARY KEY ({case.quoted(renamed.get(c, c) for c in kept)})")
    body = ",\n".join(f"  {line}" for line in lines)
    into, out_of = case.quoted(renamed.get(c, c) for c in measurement.columns), case.quoted(measurement.columns)
    once = "DISTINCT " if distinct else ""
    copy = f"INSERT INTO {new} ({into}) SELECT {once}{out_of} FROM {old};"  # noqa: S608 -- shown, never run
    swap = f"When all is copied and checked: DROP TABLE {old}; ALTER TABLE {new} RENAME {old};"
    more = " What else was set stands in SHOW CREATE TABLE: partitions, defaults, comments, details of indexes."
    return f"CREATE TABLE {new} (\n{body}\n){_with(measurement, options or {})};\n{copy}\n{swap}{more}"


def without_key_columns(case: Case, measurement: Measurement, tags: Collection[str]) -> str:
    """The table with some columns of the key as plain ones."""
    return rebuilt(case, measurement, key=[c for c in primary_key(measurement) if c not in tags])


def append_only(case: Case, measurement: Measurement) -> str:
    """The table as one that keeps all rows: by its option from 1.0 on, before that by a copy."""
    known = version(case.profile)
    if known and known < (1, 0):
        return rebuilt(case, measurement, options={"append_mode": "true", "merge_mode": ""})
    statement = set_option(case, measurement, "append_mode", "true")
    return f"{statement} This cannot be undone, and DELETE is refused from then on."


def _column(case: Case, measurement: Measurement, column: str, name: str, data_type: str | None, is_time: bool) -> str:
    """Name, type and indexes of a column of the new table."""
    stored = {t.key: t.data_type for t in measurement.tags} | {f.key: f.types[0] for f in measurement.fields}
    kind = data_type or stored.get(column) or measurement.time_type or "timestamp(3)"
    indexes = [_CLAUSES[k] for k in sorted(indexes_on(measurement, column))]
    return " ".join([case.quoted([name]), kind.upper(), *(["NOT NULL"] if is_time else []), *indexes])


def _with(measurement: Measurement, changed: Mapping[str, str]) -> str:
    options = {k: v for k, v in (measurement.options or {}).items() if k not in _NOT_CARRIED} | dict(changed)
    words = [f"{quote_text(ENGINE, k)}={quote_text(ENGINE, v)}" for k, v in sorted(options.items()) if v]
    return f" WITH ({', '.join(words)})" if words else ""
