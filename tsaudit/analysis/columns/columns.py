"""A column of a SQL table: its type, how it stores the time, and the words in its name, including words that show which
time it contains and words that show the kind of its table.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.engines.registry import ENGINES
from tsaudit.model.profile import Role


class TimeKind(enum.StrEnum):
    """How a column stores the time."""

    TIMESTAMP = "timestamp"
    """The engine's own type without a time zone; assumed to be UTC."""
    ZONED = "zoned"
    TEXT = "text"
    """ISO 8601 text."""
    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


UNITS: Final = {
    TimeKind.SECONDS: 1,
    TimeKind.MILLISECONDS: 1_000,
    TimeKind.MICROSECONDS: 1_000_000,
    TimeKind.NANOSECONDS: 1_000_000_000,
}
"""Kinds of numbers since 1970, with the number of units per second."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column as in the catalog."""

    name: str
    data_type: str
    key_position: int | None = None
    """Position in the primary or unique key, from 1; None outside it."""
    role: Role | None = None
    """The role that the engine itself declares; None if it does not."""
    reason: str = ""
    """Why the engine declares that role; empty if it has a keyword for such columns."""
    is_unique: bool = False
    """Whether a key or unique index on this column alone ensures a different value in every row."""
    is_generated: bool = False
    """Whether the database itself gives each row a new value: an identity, a sequence, a random ID."""
    refers_to: str | None = None
    """The table that a foreign key on this column refers to; None if there is no such key."""
    metrics: tuple[str, ...] = ()
    """In a table with the rows of several metrics: the metrics that use this column; empty if all of them do."""


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """The time column."""

    name: str
    kind: TimeKind
    reason: str = ""
    """Why this column was chosen, and what counts against the others."""


def native(column: Column) -> TimeKind | None:
    """How a column of a time type stores the time; None for other types."""
    return _native(column.data_type)


@functools.lru_cache(maxsize=1_024)
def _native(data_type: str) -> TimeKind | None:
    kind = data_type.upper()
    if is_list(kind):
        return None
    if re.match(r"TIMESTAMPTZ|TIMESTAMP.* WITH TIME ZONE", kind):
        return TimeKind.ZONED
    return TimeKind.TIMESTAMP if re.match(r"TIMESTAMP|DATETIME|DATE\b", kind) else None


TYPES: Final = 1_024
"""Size of the caches by type name: the same type is looked up several times per column."""
_SCHEMA: Final = re.compile(r'(\w+|"([^"]|"")*")\.')


def is_made(data_type: str) -> bool:
    """Whether the type is user-defined in a schema, such as an extension's `public.citext`, rather than built in."""
    return bool(_SCHEMA.match(data_type))


def is_list(data_type: str) -> bool:
    """Whether values of the type are lists."""
    return data_type.endswith("]")


@functools.lru_cache(maxsize=TYPES)
def is_text(data_type: str) -> bool:
    """Whether columns of the type hold text."""
    schema = _SCHEMA.match(data_type)
    kind = data_type[schema.end() if schema else 0 :].upper()
    is_one = re.match(r"(N?VAR)?CHAR|N?VARCHAR|(CI)?TEXT|STRING|BPCHAR|CLOB|ENUM|UUID", kind)
    return bool(is_one) and not is_list(data_type)


_NUMBERS: Final = frozenset({"int", "long", "double", "decimal"})
"""BSON types that compare as equal; drivers choose between them by the value: `1` or `1.5`."""


def distinct_types(engine: str, types: Sequence[str]) -> tuple[str, ...]:
    """The types whose differences affect queries, sorted."""
    if not ENGINES[engine].keeps_documents:
        return tuple(types)
    return tuple(sorted({"number" if t in _NUMBERS else t for t in types}))


@functools.lru_cache(maxsize=TYPES)
def is_integer(data_type: str) -> bool:
    """Whether columns of the type contain integers. SQLite takes any type with INT in its name for one, and programs
    call theirs `dt_integer(8)`.
    """
    is_one = re.match(
        r"(?:\w+_)?U?(TINY|SMALL|BIG|HUGE|MEDIUM)?INT(EGER)?([248]|16|32|64)?\b|UNSIGNED", data_type.upper()
    )
    return bool(is_one) and not is_list(data_type)


@functools.lru_cache(maxsize=TYPES)
def is_number(data_type: str) -> bool:
    """Whether columns of the type contain integers, floats, or decimals."""
    is_one = re.match(r"FLOAT|REAL|DOUBLE|NUMERIC|DECIMAL|DEC\b", data_type.upper())
    return is_integer(data_type) or (bool(is_one) and not is_list(data_type))


def is_single(data_type: str) -> bool:
    """Whether columns of the type contain floating-point numbers of four bytes."""
    # In lower case, `float` is a type of InfluxDB, which has eight bytes.
    return bool(re.fullmatch(r"real|float4|float32|FLOAT|REAL|FLOAT4|Float32", data_type))


EVENT: Final = frozenset(
    (
        *("time", "timestamp", "ts", "datetime", "clock", "epoch", "unixtime", "recorded", "measured"),
        *("observed", "logged", "occurred", "happened", "sampled", "event"),
    )
)
"""Words for the time something happened."""
WRITTEN: Final = frozenset(
    (
        *("created", "inserted", "received", "ingested", "added", "posted", "sent", "loaded", "imported"),
        *("start", "started", "begin", "began", "date", "day", "at", "when", "stamp"),
    )
)
"""Words for the time it began or was recorded."""
CHANGED: Final = frozenset(["updated", "modified", "changed", "edited", "touched"])
OTHER: Final = frozenset(
    (
        *("birth", "birthday", "birthdate", "born", "dob", "hire", "hired", "expire", "expires", "expiry"),
        *("expiration", "due", "until", "valid", "deleted", "removed", "closed", "finished", "completed"),
        *("end", "ended", "stop", "stopped", "next", "scheduled", "login", "seen", "required", "shipped"),
        *("deadline", "retry", "locked", "reset", "discontinued", "resolved", "cancelled", "canceled"),
        "revoked",
    )
)
"""Words for other times in the life of an entity, often null or in the future."""
HINT: Final = EVENT | WRITTEN | CHANGED | OTHER | {"ms", "us", "ns", "sec", "seconds", "millis", "micros", "nanos"}
_LOADED: Final = frozenset(
    ["loaded", "ingested", "imported", "extracted", "synced", "replicated", "batched", "etl", "dwh"]
)
_STAMPS: Final = frozenset(["at", "on", "ts", "timestamp", "date", "datetime", "epoch", "stamp", "id", "batch", "run"])
"""Not `time`: a `load_time` is how long something took."""
_LOADERS: Final = ("_sdc_", "_airbyte_", "_dlt_", "_fivetran_", "_stitch_", "_hevo_")
"""How the names of columns begin that programs add which load rows from elsewhere."""
_SPAN: Final = re.compile(r"(?i)(run|life|up|down|over|response|request|wait|idle|elapsed|total|cpu)_?time$")
_ENDS_LIKE_TIME: Final = re.compile(r"(?i)(^t|time|stamp|clock)$")
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_BETWEEN: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_APART: Final = re.compile(r"[^\w]+|_+")


@functools.cache
def snake_case(name: str) -> str:
    """The name in lower case with `_` between its words, however it is written: `Sensor Nr`, `sensorNr`."""
    return _APART.sub("_", _BETWEEN.sub("_", name)).strip("_").lower()


@functools.cache
def words_of(name: str) -> frozenset[str]:
    """The words in a name, in lower case; `time` is a word of `eventtime` but not of `uptime`."""
    found = {word.lower() for word in _WORDS.findall(name)}
    if _SPAN.search(name):
        return frozenset(found - {"time"})
    # `eventtime`, `sysclock`
    return frozenset(found | {"time"} if _ENDS_LIKE_TIME.search(name) else found)


@functools.cache
def is_load_stamp(name: str) -> bool:
    """Whether a column says when, or by which run, a row was loaded from elsewhere: another load, another value."""
    words = words_of(name)
    is_loaded = words & _LOADED and words & _STAMPS
    # A load may also be what a machine carries, so that `load_id` and `load_on` are about that.
    is_load = "load" in words and words & {"at", "ts", "timestamp", "datetime", "stamp", "batch", "run"}
    return name.lower().startswith(_LOADERS) or bool(is_loaded or is_load)


MONEY: Final = frozenset(
    (
        *("amount", "price", "total", "subtotal", "cost", "fee", "tax", "vat", "discount", "currency", "balance"),
        *("debit", "credit", "paid", "payment", "refund", "salary", "fare", "revenue", "quantity", "qty"),
    )
)
"""Words for the details of a single transaction."""
HAPPENED: Final = frozenset(
    (
        *("event", "action", "message", "msg", "actor", "payload", "body", "comment", "reason", "error", "exception"),
        *("referrer", "referer", "useragent", "agent", "ip", "trace", "span", "correlation", "request", "note"),
    )
)
"""Words for the details of a single event."""
STATE: Final = frozenset(["status", "state", "stage", "phase"])
ATTEMPTS: Final = frozenset(
    ["attempt", "attempts", "retry", "retries", "retrycount", "retrylimit", "tries", "failures", "redelivered"]
)
TAKEN: Final = frozenset(
    ["locked", "lock", "lease", "leased", "claimed", "claim", "reserved", "worker", "owner", "picked", "dequeued"]
)
DUE: Final = frozenset(
    ["available", "scheduled", "visible", "due", "startafter", "notbefore", "next", "enqueued", "queued", "eta", "run"]
)
QUEUE_NAMES: Final = frozenset(["priority", "queue", "payload", "handler", "args", "job", "task", "topic"])
BEGINS: Final = frozenset(["from", "start", "begin", "since", "effective"])
ENDS: Final = frozenset(["to", "until", "end", "expiry", "through", "thru"])
VALID: Final = frozenset(["valid", "effective", "validity", "dbt", "version", "row", "record", "current"])
ATTRIBUTE: Final = frozenset(
    [
        *("attribute", "attr", "key", "property", "metric", "feature", "parameter", "param", "field", "variable"),
        *("measure", "characteristic", "signal", "observable", "kind", "name", "code", "channel", "quantity"),
    ]
)
VALUE: Final = frozenset(["value", "val", "reading", "result", "state"])
QUANTITY: Final = frozenset(
    [
        *("count", "counts", "total", "length", "len", "size", "age", "rate", "ratio", "duration", "per"),
        *("temperature", "temp", "pressure", "humidity", "moisture", "flow", "volume", "mass", "weight", "force"),
        *("speed", "velocity", "acceleration", "vibration", "torque", "distance", "height", "width", "depth"),
        *("voltage", "amperage", "power", "energy", "consumption", "resistance", "frequency", "capacity", "brightness"),
        *("volt", "volts", "amps", "watt", "watts", "kw", "kwh", "mwh", "kva", "kvar", "ohm", "hz", "rpm"),
        *("celsius", "fahrenheit", "kelvin", "kg", "km", "cm", "mm", "kmh", "mph", "psi", "kpa", "hpa", "mbar", "lux"),
        *("seconds", "minutes", "hours", "liters", "byte", "bytes", "bits", "octets", "packets", "percent", "density"),
    ]
)
"""Words for what is measured or counted, and for its units."""
