"""Rejects what no database can mean: each batch of each response is checked when it arrives, before it is used.

A count is a number, finite, and not below zero. A share is at most 1. A part is not above its whole. A name is a text,
and that of what a row is about is there. Rows of a period have times in it. A response that says otherwise is a gap: no
figure of it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from tsaudit.analysis.columns.columns import TimeKind
from tsaudit.analysis.columns.time_columns import instant_of
from tsaudit.model.facts import (
    FACTS,
    Fact,
    Given,
    OfMeasurement,
    OfMeasurements,
    OfNullCounts,
    OfRowSample,
    OfRowSlice,
    OfTimeExtents,
)

_SHARES: Final = frozenset({"null_ratio", "spatial_coverage"})
"""Columns with a share, from 0 to 1."""
_COUNTS: Final = _SHARES | {
    "accepted",
    "bytes",
    "bytes_scanned",
    "buckets",
    "changed_ratio",
    "closed",
    "closed_by_change",
    "data_bytes",
    "disk_bytes",
    "disk_used_bytes",
    "distinct",
    "duration_s",
    "expired_bytes",
    "expired_shards",
    "expired_since",
    "expires_s",
    "index_bytes",
    "items",
    "key_position",
    "mean_row_bytes",
    "overwritten",
    "partition_s",
    "period_s",
    "position",
    "reads",
    "rows",
    "rows_all",
    "rows_read",
    "rows_sorted",
    "sampled_rows",
    "scans",
    "series",
    "shard_series",
    "shards",
    "size_bytes",
    "temporal_range_s",
    "value_bytes",
    "writes",
}
"""Columns with an amount: a number of things, of bytes, or of seconds."""
_NAMES: Final = frozenset({"column", "database", "field", "index", "measurement", "option", "partition", "tag"})
"""Columns with the name of what a row is about."""
_TEXTS: Final = _NAMES | {
    "bounds",
    "data_type",
    "key",
    "kind",
    "measure_name",
    "path",
    "policy",
    "policy_of",
    "query",
    "source",
    "statement",
}
"""Columns with a text."""
_VALUES: Final = frozenset({"server_counters", "server_status", "table_status"})
"""Facts whose `value` is an amount, too."""
_SINGLY: Final = 10
"""Of more times than that, only the first and the last are examined."""
_SLACK: Final = timedelta(days=1)
"""Times may have any time zone, and dates have no time."""
_NAMELESS: Final = frozenset({("indexes", "column")})
"""Those of them that may be null, by fact: an index may be on an expression."""
_PARTS: Final = (
    ("overwritten", "accepted"),
    ("closed_by_change", "closed"),
    ("disk_used_bytes", "disk_bytes"),
    ("free_bytes", "data_bytes"),
)
"""A column that is part of another one."""


def impossible(fact: str, batch: pa.RecordBatch, given: Given) -> str:
    """What the batch says that cannot be; empty if there is nothing. `given`: the parameters of the query."""
    described = FACTS[fact]
    names = set(batch.schema.names)
    if missing := set(described.columns) - names - {"*"}:
        return f"no column {min(missing)}"
    # What has the columns of a table has no meaning of its own.
    own = names & (_COUNTS | _TEXTS | {"value"}) if described.columns else set()
    for name in sorted(own):
        column = batch.column(name)
        if name in _NAMES and (fact, name) not in _NAMELESS and column.null_count:
            return f"{name} is null"
        if name in _TEXTS:
            said = _no_text(column)
        else:
            said = "" if name == "value" and fact not in _VALUES else _no_count(column, name in _SHARES)
        if said:
            return f"{name} is {said}"
    return _parts_above(described, batch, given) or _outside(described, batch, given)


def _no_text(column: pa.Array) -> str:
    """What the column is instead of texts; empty if it is nothing else."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    return "" if is_text or column.null_count == len(column) else f"no text, but {kind}"


def _no_count(column: pa.Array, is_share: bool = False) -> str:
    """The first value that is no amount; empty if all are. Null is not known."""
    kind = column.type
    if pa.types.is_null(kind):
        return ""
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return "" if column.null_count == len(column) else f"no number, but {kind}"
    if pa.types.is_integer(kind) and not is_share and (pc.min(column).as_py() or 0) >= 0:
        return ""
    values = column.cast(pa.float64(), safe=False) if pa.types.is_decimal(kind) else column
    wrong = pc.or_(pc.less(values, 0), pc.invert(pc.is_finite(values)))
    if is_share:
        wrong = pc.or_(wrong, pc.greater(values, 1))
    if not pc.any(wrong).as_py():
        return ""
    return f"{pc.filter(values, wrong)[0].as_py():,}"


def _outside(fact: Fact, batch: pa.RecordBatch, given: Given) -> str:
    """The first time that no row of the period can have; empty if there is none."""
    if not isinstance(given, OfMeasurement | OfMeasurements):
        return ""
    kind = TimeKind(getattr(given, "time_kind", None) or TimeKind.TIMESTAMP)
    names = sorted({"first_time", "last_time"} & set(fact.columns))
    if isinstance(given, OfRowSample | OfRowSlice) and given.time and given.time in batch.schema.names:
        names.append(given.time)
    for name in names:
        column = batch.column(name)
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        if len(column) > _SINGLY:
            if not (pa.types.is_timestamp(column.type) or pa.types.is_integer(column.type)):
                continue  # Of texts, the earliest is not the first one in the alphabet.
            least_and_most = pc.min_max(column)
            column = pa.array([least_and_most["min"].as_py(), least_and_most["max"].as_py()], column.type)
        for value in column.drop_null().to_pylist():
            found = instant_of(value, kind)
            if found is None and name == getattr(given, "time", None) and isinstance(value, str):
                continue  # A form that the engine understands, and Python does not.
            # Not added to the end: the last one of all is 9999.
            if found is None or found - given.end > _SLACK or given.start - found > _SLACK:
                return f"{name} is {value}"
    return ""


def _parts_above(fact: Fact, batch: pa.RecordBatch, given: Given) -> str:
    parts = [(part, batch.column(part), whole) for part, whole in _PARTS if {part, whole} <= set(fact.columns)]
    if "*" in fact.columns:
        counts = batch.columns[fact.columns.index("*") :]
        named: Sequence[str] = ()
        if isinstance(given, OfTimeExtents):
            named, counts = given.columns, counts[::3]
        elif isinstance(given, OfMeasurement):
            named = given.fields if isinstance(given, OfNullCounts) else (*given.tags, *given.fields)
        # Further columns say something else.
        parts += [(f"the count of {name}", column, "rows") for name, column in zip(named, counts, strict=False)]
    for name, column, whole in parts:
        if said := _no_count(column):
            return f"{name} is {said}"
        if len(column) in (column.null_count, batch.column(whole).null_count):
            continue
        if batch.num_rows == 1 and column[0].as_py() <= batch.column(whole)[0].as_py():
            continue
        above = pc.fill_null(pc.greater(column, batch.column(whole)), False)
        if pc.any(above).as_py():
            less, most = (pc.filter(one, above)[0].as_py() for one in (column, batch.column(whole)))
            return f"{name} is {less:,}, and {whole} {most:,}"
    return ""
