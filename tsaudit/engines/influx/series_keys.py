"""Reads InfluxDB series keys (`cpu,host=a,region=eu\\ west`) into a column per tag, whole arrays at a time.

InfluxDB puts a backslash before each comma, equals sign and space of a tag key or value, and never before a backslash.
So a value that ends in a backslash cannot be told from one that goes on with a comma: `a=x\\,b=1` is either `a` = `x\\`
and `b` = `1`, or `a` = `x,b=1`. The second would have been written `a=x\\,b\\=1`; an equals sign without a backslash
therefore proves that a new tag began before it, at the last comma. In the same way a tag without any plain equals sign
is cut at its first escaped one. A measurement whose name ends in a backslash cannot be recognized: its first tag is
read as part of the name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json

_ROWS_AT_ONCE: Final = 1 << 12
"""Number of keys parsed in one batch: the working arrays then fit into the CPU cache."""

_COMMA, _EQUALS, _BACKSLASH = b",=\\"
_ESCAPED: Final = r"\\([,= ])"
_MEASUREMENT: Final = r"(?s)^(?P<name>(?:[^,\\]|\\+,?)*)"
"""A comma belongs to the name if there is a backslash before it, whatever precedes the backslash."""
_ESCAPED_IN_NAME: Final = r"\\([, ])"

_Positions = npt.NDArray[np.int64]


def parse(keys: pa.StringArray) -> pa.RecordBatch:
    """One string column per tag of any key, sorted by tag key; null if a series lacks the tag.

    A key without tags becomes a row of nulls. Raises ValueError for null, and for a string that is not a series key.
    """
    if keys.null_count:
        raise ValueError("a series key is null")
    parts = [_parse_some(keys.slice(at, _ROWS_AT_ONCE)) for at in range(0, len(keys), _ROWS_AT_ONCE)]
    names = sorted({name for part in parts for name in part})
    columns = [
        _joined(
            [part[name] if name in part else pa.nulls(_rows_in(keys, i), pa.string()) for i, part in enumerate(parts)]
        )
        for name in names
    ]
    rows = pa.array([{}] * len(keys), pa.struct([])) if not names else pa.StructArray.from_arrays(columns, names)
    return pa.RecordBatch.from_struct_array(rows)


def by_measurement(keys: pa.StringArray) -> Iterator[tuple[str, int, int]]:
    """Runs of consecutive keys of one measurement: its name, the index of the first key, and the index after the last
    one. A measurement may have several runs.

    The keys of a measurement whose name ends in a backslash appear under another name.
    """
    if not len(keys):
        return
    names = pc.extract_regex(keys, _MEASUREMENT).field("name").dictionary_encode()
    plain = pc.replace_substring_regex(names.dictionary, _ESCAPED_IN_NAME, r"\1").to_pylist()
    codes = names.indices.to_numpy()
    starts = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), len(keys)]
    for start, end in itertools.pairwise(starts):
        yield plain[codes[start]], start, end


def _joined(parts: list[pa.StringArray]) -> pa.StringArray:
    return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)


def _rows_in(keys: pa.StringArray, part: int) -> int:
    return min(_ROWS_AT_ONCE, len(keys) - part * _ROWS_AT_ONCE)


@dataclass(frozen=True, slots=True)
class _Tokens:
    """The measurements and tags of some keys, in order: token i is `text[start[i]:end[i]]`."""

    start: _Positions
    end: _Positions
    is_tag: npt.NDArray[np.bool_]
    """False for the first token of a key, which is the measurement."""


def _parse_some(keys: pa.StringArray) -> dict[str, pa.StringArray]:
    text, bounds = _buffers(keys)
    escapes = bool((text == _BACKSLASH).any())
    commas, escaped_commas = _plain_and_escaped(text, _COMMA, escapes)
    equals, escaped_equals = _plain_and_escaped(text, _EQUALS, escapes)
    tokens = _tokens(bounds, commas)
    if len(escaped_commas):
        commas = _with_commas_after_backslash(tokens, commas, escaped_commas, equals)
        tokens = _tokens(bounds, commas)
    cuts = _cuts(tokens, equals, escaped_equals)
    bad = np.flatnonzero(tokens.is_tag & (cuts < 0))
    if len(bad):
        line = int((~tokens.is_tag[: bad[0]]).sum()) - 1
        raise ValueError(f"not a series key, a tag without '=': {keys[line].as_py()!r}")
    return _columns(text, tokens, cuts, escapes)


def _buffers(keys: pa.StringArray) -> tuple[npt.NDArray[np.uint8], _Positions]:
    """The concatenated bytes of all keys, and the start of each key in them, followed by the end."""
    _, offsets, data = keys.buffers()
    bounds = np.frombuffer(offsets, np.int32)[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    everything = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return everything[bounds[0] : bounds[-1]], bounds - bounds[0]


def _plain_and_escaped(text: npt.NDArray[np.uint8], byte: int, escapes: bool) -> tuple[_Positions, _Positions]:
    found = np.flatnonzero(text == byte)
    if not escapes:
        return found, found[:0]
    escaped = (found > 0) & (text[found - 1] == _BACKSLASH)
    return found[~escaped], found[escaped]


def _tokens(bounds: _Positions, commas: _Positions) -> _Tokens:
    key_ends = bounds[1:]
    # A stable sort keeps the end of a key before a comma that starts the next one.
    ends = np.concatenate((key_ends, commas))
    order = np.argsort(ends, kind="stable")
    at_key_end = order < len(key_ends)
    end = ends[order]
    follows_comma = np.concatenate(([False], ~at_key_end[:-1]))
    start = np.concatenate((bounds[:1], end[:-1])) + follows_comma
    return _Tokens(start, end, follows_comma)


def _with_commas_after_backslash(
    tokens: _Tokens, commas: _Positions, escaped_commas: _Positions, equals: _Positions
) -> _Positions:
    """The commas that separate tags, including those that follow a value that ends in a backslash."""
    token_of = np.searchsorted(tokens.end, equals, side="right")
    in_same_tag = (token_of[1:] == token_of[:-1]) & tokens.is_tag[token_of[1:]]
    last_before = np.searchsorted(escaped_commas, equals[1:]) - 1
    candidates = escaped_commas[np.maximum(last_before, 0)]
    separating = in_same_tag & (last_before >= 0) & (candidates > equals[:-1])
    if not separating.any():
        return commas
    return np.sort(np.concatenate((commas, candidates[separating])))


def _cuts(tokens: _Tokens, equals: _Positions, escaped_equals: _Positions) -> _Positions:
    """The position of the equals sign of each token; -1 if it has none."""
    tags = np.flatnonzero(tokens.is_tag)
    if len(equals) == len(tags) and ((tokens.start[tags] <= equals) & (equals < tokens.end[tags])).all():
        cuts = np.full(len(tokens.start), -1, np.int64)
        cuts[tags] = equals
        return cuts
    cuts = _first_within(tokens, equals)
    missing = tokens.is_tag & (cuts < 0)
    return np.where(missing, _first_within(tokens, escaped_equals), cuts) if missing.any() else cuts


def _first_within(tokens: _Tokens, positions: _Positions) -> _Positions:
    if not len(positions):
        return np.full(len(tokens.start), -1, np.int64)
    index = np.searchsorted(positions, tokens.start)
    found = positions[np.minimum(index, len(positions) - 1)]
    return np.where((index < len(positions)) & (found < tokens.end), found, -1)


def _columns(
    text: npt.NDArray[np.uint8], tokens: _Tokens, cuts: _Positions, escapes: bool
) -> dict[str, pa.StringArray]:
    row = np.cumsum(~tokens.is_tag) - 1
    # Slices of the text itself, without copying: alternately `,key=` and the value; for the first token, the
    # measurement and an empty slice.
    edges = np.zeros(2 * len(tokens.end) + 1, np.int32)
    edges[1::2] = np.where(tokens.is_tag, cuts + 1, tokens.end)
    edges[2::2] = tokens.end
    slices = pa.StringArray.from_buffers(len(edges) - 1, pa.py_buffer(edges), pa.py_buffer(text))
    columns = {}
    for name, mine in _alike(text, tokens, cuts) or _by_key(slices, np.flatnonzero(tokens.is_tag)):
        plain, column = name, _scattered(slices, 2 * mine + 1, row[mine], int(row[-1]) + 1)
        if escapes:
            plain = pc.replace_substring_regex(pa.scalar(name), _ESCAPED, r"\1").as_py()
            column = pc.replace_substring_regex(column, _ESCAPED, r"\1")
        columns[plain] = column
    return columns


def _alike(text: npt.NDArray[np.uint8], tokens: _Tokens, cuts: _Positions) -> list[tuple[str, _Positions]]:
    """Each tag's key, still escaped, with its tokens, if all series have the same tags in one order; or empty."""
    series = int((~tokens.is_tag).sum())
    width, rest = divmod(len(tokens.end), series)
    if rest or tokens.is_tag[::width].any():
        return []
    found = []
    for first in range(1, width):
        start, length = tokens.start[first::width], cuts[first] - tokens.start[first]
        key = text[start[0] : start[0] + length]
        if (cuts[first::width] - start != length).any() or any((text[start + i] != c).any() for i, c in enumerate(key)):
            return []
        found.append((key.tobytes().decode(), np.arange(first, len(tokens.end), width)))
    return found


def _by_key(slices: pa.StringArray, tags: _Positions) -> list[tuple[str, _Positions]]:
    """Each tag's key, still escaped, with its tokens, whichever tags a series has."""
    if not len(tags):
        return []
    encoded = slices.take(pa.array(2 * tags)).dictionary_encode()
    names = [between[1:-1] for between in encoded.dictionary.to_pylist()]
    code = encoded.indices.to_numpy().astype(np.min_scalar_type(len(names)))
    ends = np.cumsum(np.bincount(code, minlength=len(names)))[:-1]
    return list(zip(names, np.split(tags[np.argsort(code, kind="stable")], ends), strict=True))


def _scattered(slices: pa.StringArray, which: _Positions, rows: _Positions, length: int) -> Any:
    """An array of `length` values: the slices with indexes `which` at the positions `rows`, null elsewhere."""
    if len(which) == length and (rows[1:] > rows[:-1]).all():
        return slices.take(pa.array(which))
    index = np.zeros(length, np.int64)
    index[rows] = which
    absent = np.ones(length, np.bool_)
    absent[rows] = False
    return slices.take(pa.array(index, mask=absent))


_BEGINS: Final = b'"columns":["key"]'
_WITHIN: Final = 256
"""The names of the columns are within this many bytes at the start of a chunk."""
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


def read_listing(line: bytes) -> dict[str, Any] | None:
    """The document in a line, as from `json.loads`, except that `values` is a `pa.StringArray` of the keys.

    None for any line other than one series of keys, such as an error, another response, or invalid JSON.
    """
    if _BEGINS not in line[:_WITHIN]:
        return None
    # A line is read as one block, so that it is never split.
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
