"""Converts BSON to rows: one for each leaf of each document, with its path, type, and size."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

import bson
import pyarrow as pa
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.datetime_ms import DatetimeMS
from bson.dbref import DBRef

from tsaudit.engines.mongodb import arrays

READ: Final[CodecOptions[Mapping[str, Any]]] = CodecOptions(
    tz_aware=True, datetime_conversion=DatetimeConversion.DATETIME_AUTO, unicode_decode_error_handler="replace"
)
"""Options for decoding responses: times in UTC, unrepresentable times unchanged, invalid text marked."""

DEEPEST: Final = 20
"""Maximum nesting depth; documents nested more deeply are treated as values."""
_LONGEST: Final = 256
"""Maximum number of characters kept of a value."""
_SCHEMA: Final = pa.schema(
    [
        ("document", pa.int64()),
        ("bytes", pa.int64()),
        ("path", pa.string()),
        ("data_type", pa.string()),
        ("value", pa.string()),
        ("value_bytes", pa.int64()),
        ("items", pa.int64()),
        ("first_item", pa.timestamp("us", "UTC")),
        ("last_item", pa.timestamp("us", "UTC")),
    ]
)


class Leaf(NamedTuple):
    """A value other than a document. An array is a single value: its items are not examined."""

    path: str
    data_type: str | None
    """The type as in `$type`; None for null."""
    value: str | None
    value_bytes: int
    items: int | None
    """Number of items, for an array; otherwise None."""
    first_item: datetime | None
    """The time of the array's first item; None if it has none."""
    last_item: datetime | None


def batch(first: int, documents: Iterable[bytes]) -> pa.RecordBatch:
    """Rows of the fact `documents`; `first` is the number of the first document, each of which is BSON."""
    rows: dict[str, list[Any]] = {name: [] for name in _SCHEMA.names}
    for number, raw in enumerate(documents, first):
        for leaf in leaves(bson.decode(raw, READ)):
            for name, value in zip(_SCHEMA.names, (number, len(raw), *leaf), strict=True):
                rows[name].append(value)
    return pa.record_batch([pa.array(rows[f.name], f.type) for f in _SCHEMA], schema=_SCHEMA)


def leaves(document: Mapping[str, Any], above: str = "", depth: int = 1) -> Iterator[Leaf]:
    """The leaves of a document, in order."""
    for key, value in document.items():
        path = f"{above}{key}"
        if isinstance(value, DBRef):
            value = value.as_doc()  # a class of the driver; stored as a document
        if isinstance(value, Mapping) and value and depth < DEEPEST:
            yield from leaves(value, f"{path}.", depth + 1)
        else:
            yield _leaf(path, value)


def _leaf(path: str, value: Any) -> Leaf:
    # A BSON element consists of its type, its name with a zero byte, and the value; the surrounding document adds five
    # bytes.
    size = len(bson.encode({"": value})) - 7
    kind, text = _described(value)
    items = value if isinstance(value, list) else ()
    return Leaf(path, kind, text, size, len(items) if isinstance(value, list) else None, *arrays.ends(items))


def _described(value: Any) -> tuple[str | None, str | None]:
    """Type and text of a value; both None for null."""
    if value is None:
        return None, None
    # The most specific class decides, because in Python, a boolean is an integer, and so is an Int64.
    for kind in type(value).__mro__:
        if kind in _TYPES:
            name, text = _TYPES[kind]
            return name, text(value)[:_LONGEST]
    return type(value).__name__, str(value)[:_LONGEST]


def as_text(value: Any) -> str:
    """The value as text, the same for equal values."""
    return json.dumps(value, default=lambda v: _described(v)[1], sort_keys=True, ensure_ascii=False)


_TYPES: Final[Mapping[type, tuple[str, Callable[[Any], str]]]] = {
    bool: ("bool", lambda value: str(value).lower()),
    bson.Int64: ("long", str),
    int: ("int", str),
    float: ("double", repr),
    str: ("string", str),
    datetime: ("date", lambda value: value.isoformat()),
    DatetimeMS: ("date", lambda value: str(int(value))),
    bson.ObjectId: ("objectId", str),
    bson.Decimal128: ("decimal", str),
    bytes: ("binData", lambda value: value.hex()),
    bson.Binary: ("binData", lambda value: bytes(value).hex()),
    dict: ("object", as_text),
    list: ("array", lambda value: f"{len(value)} items"),
    bson.Regex: ("regex", lambda value: str(value.pattern)),
    bson.Timestamp: ("timestamp", lambda value: value.as_datetime().isoformat()),
    bson.Code: ("javascript", str),
    bson.MinKey: ("minKey", repr),
    bson.MaxKey: ("maxKey", repr),
}
"""Python class to its alias in `$type`, and the function that converts a value to text."""
