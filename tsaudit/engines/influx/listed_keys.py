"""Parses a chunk of `SHOW SERIES` with Arrow, in a third of the time: no key becomes a Python string."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyarrow import json

_BEGINS: Final = b'"columns":["key"]'
_WITHIN: Final = 256
"""The columns are named within this many bytes at the start of a chunk."""
_SERIES: Final = pa.struct(
    {
        "name": pa.string(),
        "columns": pa.list_(pa.string()),
        "values": pa.list_(pa.list_(pa.string())),
        "partial": pa.bool_(),
    }
)
_RESULT: Final = pa.struct({"statement_id": pa.int64(), "series": pa.list_(_SERIES), "partial": pa.bool_()})
_ANSWER: Final = pa.schema({"results": pa.list_(_RESULT)})


def read(line: bytes) -> dict[str, Any] | None:
    """The document in a line, as from `json.loads`, except that `values` is a `pa.StringArray` of the keys.

    None for any line other than one series of keys: an error, another response, invalid JSON.
    """
    if _BEGINS not in line[:_WITHIN]:
        return None
    # A line is one block, so it is never split.
    options = json.ReadOptions(use_threads=False, block_size=len(line) + 1)
    parsing = json.ParseOptions(explicit_schema=_ANSWER, unexpected_field_behavior="error")
    try:
        answer = json.read_json(pa.BufferReader(line), options, parsing)
    except pa.ArrowInvalid:
        return None
    results = answer.column("results").combine_chunks().flatten()
    series = results.field("series").flatten()
    if len(results) != 1 or len(series) != 1:
        return None
    rows = series.field("values").flatten()
    keys = rows.flatten()
    if len(keys) != len(rows) or keys.null_count or series.field("columns").flatten().to_pylist() != ["key"]:
        return None
    of_keys = {"columns": ["key"], "values": keys, "partial": series.field("partial")[0].as_py()}
    return {"results": [{"series": [of_keys], "partial": results.field("partial")[0].as_py()}]}
