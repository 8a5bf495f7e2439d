"""Converts values from the connection to Arrow arrays of the column's type in the catalog."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

_UNITS: Final = {"0": "s", "3": "ms", "6": "us", "9": "ns"}
_TYPES: Final = {
    "boolean": pa.bool_(),
    "float": pa.float64(),
    "double": pa.float64(),
    "bigint unsigned": pa.uint64(),
    "varbinary": pa.binary(),
}


def arrow_type(data_type: str) -> pa.DataType:
    """The Arrow type for a column's values: for times, an integer in the column's unit; for all types that are sent as
    text, a string.
    """
    if found := re.fullmatch(r"timestamp\((\d)\)", data_type):
        return pa.timestamp(_UNITS.get(found[1], "ns"))
    if re.fullmatch(r"(tiny|small|big)?int( unsigned)?", data_type):
        return _TYPES.get(data_type, pa.int64())
    return _TYPES.get(data_type, pa.string())


def rounded_up(time: datetime, data_type: str) -> datetime:
    """The first instant at or after `time` that the column type can represent: as a bound, it selects the same rows.

    With a bound of finer precision, the server would convert each value instead of skipping files.
    """
    step = timedelta(microseconds={"s": 1_000_000, "ms": 1_000}.get(getattr(arrow_type(data_type), "unit", ""), 1))
    past = (time - datetime.fromtimestamp(0, UTC)) % step
    return time if not past else time + step - past


def array(values: Sequence[Any], kind: pa.DataType, longest: int | None = None) -> pa.Array:
    """The values as an array of that type; as strings if one of them does not fit. `longest`: maximum number of
    characters kept of a string.
    """
    try:
        if kind == pa.bool_():
            return pa.array([None if v is None else bool(v) for v in values], kind)
        found = pa.array(values, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        found = pa.array([None if v is None else _text(v) for v in values], pa.string())
    return (
        found if longest is None or not pa.types.is_string(found.type) else pc.utf8_slice_codeunits(found, 0, longest)
    )


def _text(value: Any) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
