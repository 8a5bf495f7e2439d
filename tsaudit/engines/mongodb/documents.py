"""Converts BSON to rows, one for each leaf of each document, with its path, type, and size; and measures how arrays
grow, by the times in their items.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import bson
import pyarrow as pa
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.datetime_ms import DatetimeMS
from bson.dbref import DBRef

from tsaudit.analysis.columns.columns import HINT, words_of
from tsaudit.analysis.columns.time_columns import TIME_NAMES
from tsaudit.model.columns import ItemGrowth
from tsaudit.model.figures import with_zone

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
    return Leaf(path, kind, text, size, len(items) if isinstance(value, list) else None, *ends(items))


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


EPOCHS: Final[Mapping[str, tuple[float, float, float]]] = {
    "seconds": (1.2e9, 2.2e9, 1.0),
    "milliseconds": (1.2e12, 2.2e12, 1e-3),
}
"""Lowest and highest number that counts these since 1970 (2008 to 2039), and the factor from it to seconds."""
_NUMBERS: Final = frozenset({"int", "long", "double", "decimal"})
_LEAST_SPAN: Final = timedelta(hours=1)
"""Rates from a shorter span are too unreliable."""
_LATE: Final = 0.1
"""Share of the time that the items span, after which one that got no more is finished, but a day at least."""
_OF_PERIOD: Final = 0.5
"""Of the time that an array has grown for, from which on one that is finished was of the same period."""
_AHEAD_DAYS: Final = 90
"""The document that will be the largest after this many days matters most."""


def ends(items: Sequence[Any]) -> tuple[datetime | None, datetime | None]:
    """The times of the oldest and of the newest item of an array, to which items are added at its end or its start;
    None for one without.
    """
    first, last = (_time_of(items[0]), _time_of(items[-1])) if items else (None, None)
    return (last, first) if first and last and with_zone(last) < with_zone(first) else (first, last)


def _time_of(item: Any) -> datetime | None:
    """A date in the item, as such or as text, else a number named like a time, else the time in an ID of its own, else
    a time further inside.
    """
    if isinstance(item, datetime):
        return item
    if isinstance(item, str):
        return _from_text(item)
    if isinstance(item, list):
        return _time_of(item[0]) if item and not isinstance(item[0], list) else None
    if not isinstance(item, Mapping):
        return None
    dates = (_time_of(value) for value in item.values() if isinstance(value, datetime | str))
    counted = (_from_epoch(value) for key, value in item.items() if _names_time(str(key)))
    own = item.get("_id")
    created = own.generation_time if isinstance(own, bson.ObjectId) else None
    inside = (_time_of(value) for value in item.values() if isinstance(value, Mapping))
    return next((found for found in (*dates, *counted, created, *inside) if found is not None), None)


def _names_time(key: str) -> bool:
    """Whether a number so large is a time under this name: also under one as short as `t` or `tms`."""
    return key.lower() in TIME_NAMES or bool(words_of(key) & HINT) or re.fullmatch("t[a-z]{0,2}", key) is not None


_AS_TEXT: Final = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*")


def _from_text(text: str) -> datetime | None:
    if not _AS_TEXT.fullmatch(text):
        return None
    try:
        return with_zone(datetime.fromisoformat(text))
    except ValueError:
        return None


def _from_epoch(value: Any) -> datetime | None:
    if not isinstance(value, int | float):
        return None
    seconds = next((value * unit for least, most, unit in EPOCHS.values() if least <= value <= most), None)
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def time_form(data_type: str, text: str) -> str | None:
    """The form of a time that is not a date: a key of `EPOCHS`, or `text`; None for anything else."""
    if data_type == "string":
        return "text" if _from_text(text) else None
    if data_type not in _NUMBERS:
        return None
    return next((form for form, (least, most, _) in EPOCHS.items() if least <= float(text) <= most), None)


@dataclass(frozen=True, slots=True)
class DatedArray:
    """An array whose items have times."""

    document_bytes: int
    array_bytes: int
    items: int
    first: datetime
    last: datetime
    created: datetime | None
    """When the document was created; None if its ID does not show it."""

    @property
    def span(self) -> timedelta:
        return self.last - self.first

    @property
    def bytes_per_day(self) -> float:
        return self.array_bytes / (self.span / timedelta(days=1))


def growth(arrays: Iterable[DatedArray], now: datetime) -> ItemGrowth | None:
    """The growth of the array that will make a document the largest; None if no array grows without bound.

    They do not where as many are finished that took about as long: then each document is one of a period.
    """
    # Times in the future are plans.
    known = [one for one in arrays if one.span >= _LEAST_SPAN and one.last <= now + timedelta(days=1)]
    lengths = Counter(one.items for one in known)
    growing: list[DatedArray] = []
    finished: list[DatedArray] = []
    for one in known:
        margin = max(_LATE * one.span, timedelta(days=1))
        # An array from which the oldest items are removed has the same length as others, and its first item is newer
        # than its document.
        is_cut = lengths[one.items] > 1 and (one.created is None or one.first - one.created > margin)
        if now - one.last > margin:
            finished.append(one)
        elif not is_cut:
            growing.append(one)
    if not growing:
        return None
    worst = max(growing, key=lambda one: one.document_bytes + _AHEAD_DAYS * one.bytes_per_day)
    if sum(one.span >= _OF_PERIOD * worst.span for one in finished) >= len(growing):
        return None
    days = worst.span / timedelta(days=1)
    return ItemGrowth(worst.document_bytes, worst.bytes_per_day, worst.items / days, days)
