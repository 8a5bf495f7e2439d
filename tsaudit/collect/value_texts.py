"""The values of a column as strings, whatever their type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER: Final = r"^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$"
"""A string that is a number."""


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as strings; types that Arrow cannot convert are converted by Python."""
    import pyarrow as pa

    if pa.types.is_string(column.type):
        return column
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        values = [None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
