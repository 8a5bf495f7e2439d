"""Reads Timestream's responses: rows of values that are all strings, with a description of their types.

https://docs.aws.amazon.com/timestream/latest/developerguide/API_query_Datum.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

_SCALARS: Final[Mapping[str, pa.DataType]] = {
    "BIGINT": pa.int64(),
    "INTEGER": pa.int64(),
    "DOUBLE": pa.float64(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("us"),
}
"""The service's types to Arrow types. Values of other types remain strings: VARCHAR, DATE, TIME, the intervals, and
UNKNOWN, the type of columns with only nulls.
"""
_READ: Final[Mapping[pa.DataType, Callable[[str], Any]]] = {
    pa.int64(): int,
    pa.float64(): float,
    pa.bool_(): lambda text: text == "true",
}


def batch(answer: Mapping[str, Any], names: Sequence[str] = ()) -> pa.RecordBatch:
    """The rows of one page, with times in UTC to the microsecond, without a time zone. Raises ValueError for invalid
    pages.

    `names`: names of the columns; empty to use those in the response. Array elements have no names there, and are named
    by their position.
    """
    described: Sequence[Mapping[str, Any]] = answer["ColumnInfo"]
    names = names or [str(column.get("Name") or position) for position, column in enumerate(described)]
    rows = [row["Data"] for row in answer["Rows"]]
    if any(len(row) != len(described) for row in rows):
        raise ValueError("a row has fewer or more values than there are columns")
    arrays = [_array([row[i] for row in rows], arrow_type(c["Type"])) for i, c in enumerate(described)]
    return pa.RecordBatch.from_arrays(arrays, names=list(names))


def arrow_type(described: Mapping[str, Any]) -> pa.DataType:
    """The Arrow type for the service's description of a type."""
    if "ScalarType" in described:
        return _SCALARS.get(described["ScalarType"], pa.string())
    if "ArrayColumnInfo" in described:
        return pa.list_(arrow_type(described["ArrayColumnInfo"]["Type"]))
    if "RowColumnInfo" in described:
        members = described["RowColumnInfo"]
        return pa.struct([(m.get("Name") or str(i), arrow_type(m["Type"])) for i, m in enumerate(members)])
    value = arrow_type(described["TimeSeriesMeasureValueColumnInfo"]["Type"])
    return pa.list_(pa.struct([("time", pa.timestamp("us")), ("value", value)]))


def _array(values: Sequence[Mapping[str, Any]], kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        # Times have nine digits after the decimal point, of which six are kept.
        texts = pa.array([v.get("ScalarValue") for v in values], pa.string())
        return texts.cast(pa.timestamp("ns")).cast(kind, safe=False)
    return pa.array([_value(v, kind) for v in values], kind)


def _value(datum: Mapping[str, Any], kind: pa.DataType) -> Any:
    if "ScalarValue" in datum:
        text = datum["ScalarValue"]
        if pa.types.is_timestamp(kind):
            return _array([datum], kind)[0].as_py()
        return _READ.get(kind, str)(text)
    if "ArrayValue" in datum:
        return [_value(one, kind.value_type) for one in datum["ArrayValue"]]
    if "RowValue" in datum:
        return {f.name: _value(one, f.type) for f, one in zip(kind, datum["RowValue"]["Data"], strict=True)}
    if "TimeSeriesValue" in datum:
        point = kind.value_type
        return [
            {
                "time": _value({"ScalarValue": one["Time"]}, point.field("time").type),
                "value": _value(one["Value"], point.field("value").type),
            }
            for one in datum["TimeSeriesValue"]
        ]
    return None
