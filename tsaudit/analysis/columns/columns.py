"""A column of a SQL table: its type, how it stores the time, the words in its name, and its role. The words show which
time a column contains, which kind of table it is in, and whether digits are quantities or names such as codes, phone
numbers, or versions. Runs no queries.

Engines that declare the roles, such as InfluxDB, do not need those that are found here.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tsaudit.engines.registry import ENGINES
from tsaudit.model.figures import Role, TableKind
from tsaudit.model.profile import Measurement
from tsaudit.text import number, percent
from tsaudit.text.table_roles import CONFIGURED, DECLARED, IN_KEY, KEY_ALONE, NOT_EVALUATED, OUTSIDE_KEY

if TYPE_CHECKING:
    from tsaudit.config.settings import Columns


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


_ANSWERED: Final = ("float", "integer", "unsigned", "string", "boolean")
"""Types of InfluxDB's fields, in the order in which a query of a field with several of them chooses its own."""


def types_read_apart(types: Sequence[str]) -> tuple[str, ...]:
    """Of the types of a field of InfluxDB, those that a query returns only if it names them: what it returns otherwise
    comes first. All numbers are returned as one type. Empty if a query returns all values.
    """
    known = [kind for kind in _ANSWERED if kind in types]
    numbers = [kind for kind in known if is_number(kind)]
    apart = (*numbers[:1], *(kind for kind in known if kind not in numbers))
    return apart if len(apart) > 1 else ()


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
_STAMPS: Final = frozenset(
    ["at", "on", "ts", "tstamp", "timestamp", "date", "datetime", "epoch", "stamp", "id", "batch", "run"]
)
"""Not `time`: a `load_time` is how long something took."""
_LOADERS: Final = ("_sdc_", "_airbyte_", "_dlt_", "_fivetran_", "_stitch_", "_hevo_", "load_tstamp", "uuid_ts")
"""How the names of columns begin that programs add which load rows from elsewhere, the last two of them Snowplow,
Segment, and RudderStack.
"""
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
    return is_of_loader(name) or bool(is_loaded or is_load)


def is_of_loader(name: str) -> bool:
    """Whether a product that loads rows from elsewhere adds the column. It fixes the other columns, too."""
    return name.lower().startswith(_LOADERS)


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
_REMOVAL: Final = frozenset(
    ["expire", "expires", "expiry", "expiration", "removal", "purge", "eviction", "ttl", "discard", "cleanup"]
)
_KEPT: Final = frozenset(["delete", "deletion", "keep", "retain", "retention", "remove", "archive"])
_WHEN: Final = frozenset(["at", "after", "by", "date", "time", "timestamp", "until", "on"])


def names_removal(name: str) -> bool:
    """Whether the column says when its row may be removed: `expires_at`, `removal_time`, `delete_after`."""
    words = words_of(name)
    return bool(words & _REMOVAL) or bool(words & _KEPT and words & _WHEN)


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


LONG_TEXT: Final = 64
"""Strings longer than this on average are prose, not names; in characters."""
NUMBERS_SHARE: Final = 0.95
"""A text column contains numbers if at least this share of its values are numbers."""

MIN_VALUES: Final = 20
MIN_TIMES: Final = 2.0
"""Numbers in a column named like an ID identify a source if there are at least `MIN_VALUES`, and each occurs at least
this many times on average.
"""

_ID_NAME: Final = re.compile(
    r"(^|_)(id|uuid|guid|key|pk|fk|code|serial|no|nr|number|zip)$"
    r"|(?<![a-z])(?!(?:humid|fluid|liquid|solid|valid|invalid|paid|unpaid|mid|grid|acid|void|avoid|rapid|hybrid|bid)$)"
    r"[a-z]+id$"
)
"""Names, in snake case, under which digits identify something rather than measure it."""
_CODE_NAME: Final = re.compile(
    r"(^|_)(id|code|status|serial|zip|postcode|phone|version|firmware|release|build|no|nr|number|key|uuid|account"
    r"|mobile|tel|fax|msisdn|imei|imsi|iccid|mmsi|imo|ean|gtin|isbn|upc|sku|barcode|iban|ssn|plz|lot|batch|ref"
    r"|reference|oid|asn|pin|extension)$"
)
"""The same names, and names of categories that are written in digits."""
_NUMBERED_NAME: Final = re.compile(
    r"(^|_)((name|label|title|route|flight|train|tram|gate|platform|track|lane|postal|plate|article|item|part|order"
    r"|invoice|ticket|receipt|voucher|contract|policy|case|chapter|section|page|table|seat|locker|model|mark)_?\d*"
    r"|line|bus)$"
)
"""Names, and names of things that are numbered in the order in which they came, or as somebody liked. With a number,
`line1` and `bus2` are conductors, of which something is measured.
"""
_CODES: Final = frozenset(
    ("zip", "postcode", "postal", "plz", "phone", "mobile", "fax", "msisdn", "sku", "isbn", "ean", "gtin", "version")
)
"""Words for what is written in digits, wherever they stand in a name."""


_DEVICES: Final = (
    "device|sensor|meter|machine|station|pump|motor|inverter|turbine|vehicle|truck|car|bus|train|vessel|robot|gateway|"
    "camera|panel|probe|tracker|asset|charger|battery|boiler|valve|well|tag|tractor|drone|elevator|lift|thermostat"
)
_DEVICE: Final = re.compile(
    rf"(^|_)({_DEVICES})s?$|(^|_)({_DEVICES})s?_?(id|uid|uuid|no|nr|number|name|serial|code|mac|addr|eui|key)$|"
    r"(^|_)(serial|serial_?n(o|r|umber)|sn|mac|mac_?addr(ess)?|imei|iccid|vin|eui|dev_?eui|dev_?addr|hwid|udid)$"
)


def names_device(key: str) -> bool:
    """Whether the column's name is that of a device that somebody owns, not of an event."""
    return bool(_DEVICE.search(snake_case(key)))


@dataclass(frozen=True, slots=True)
class Values:
    """What a sample shows about a column."""

    count: int
    """Number of values that are not null."""
    mean_length: float
    """Mean length of the values as strings, in characters."""
    number_share: float
    """Share of the values that consist of one or several numbers, 0 to 1."""
    distinct: int | None = None
    """Number of distinct values; None if it is not needed."""
    are_names: bool = False
    """Whether numbers stored as text are names: they recur, and all have the same length."""


@dataclass(frozen=True, slots=True)
class Assigned:
    """The role of one column, and why."""

    column: Column
    role: Role
    reason: str


@dataclass(frozen=True, slots=True)
class Table:
    """What is known about the table as a whole."""

    name: str = ""
    kind: TableKind | None = None
    never_source: Mapping[str, str] = field(default_factory=dict)
    """Columns that cannot name the source of a row, with the reason."""


def assign(
    columns: Sequence[Column],
    time: TimeColumn | None,
    values: Mapping[str, Values],
    *,
    table: Table | None = None,
    chosen: Columns | None = None,
    previous: Measurement | None = None,
) -> list[Assigned]:
    """The role of every column, in the order of the table.

    Decided, in this order, by: the configuration, the engine's declaration, the table's kind (a table without series
    has no tags), the table's keys, the role in the previous profile (if the type is unchanged), the type, the values.
    `values`: what a sample shows about text columns, which count as tags if they are missing here, and about integer
    columns, which count as fields unless it confirms that they identify a source.
    """
    name = time.name if time else None
    before, whole = _roles_before(previous), table or Table()
    key, alone = _key_members(columns, name, whole), _sole_key(columns, name)
    assigned = []
    for column in columns:
        if column.name == name:
            assigned.append(Assigned(column, Role.TIME, "the time column"))
            continue
        found = _by_configuration(column, chosen) or _by_engine(column) or _by_table(column, whole)
        found = found or _by_key(column, key, alone) or before.get((column.name, column.data_type))
        role, reason = found or _by_type_and_values(column, values.get(column.name))
        assigned.append(Assigned(column, role, reason))
    return assigned


def _by_table(column: Column, table: Table) -> tuple[Role, str] | None:
    if table.kind is not None and not table.kind.has_series:
        return Role.FIELD, f"the table contains {table.kind.words}: no column names a source"
    if reason := table.never_source.get(column.name):
        return Role.FIELD, reason
    if column.is_unique and column.key_position is None:
        return Role.FIELD, "a unique key: each row has a different value"
    if column.is_generated:
        return Role.FIELD, "the database gives each row another value"
    return (Role.FIELD, "it refers to another row of the table") if column.refers_to == table.name else None


def may_be_text(data_type: str) -> bool:
    """Whether the type can identify a source: text, enumeration, or UUID; in SQLite, also no type."""
    return not data_type or is_text(data_type)


def names_id(name: str) -> bool:
    """Whether numbers under this name identify something."""
    return bool(_ID_NAME.search(snake_case(name)))


_LONGEST_ID: Final = 64
"""Most bytes of an ID, such as the hash that identifies an image, or a name and a UUID."""


def is_reference(name: str, width: float) -> bool:
    """Whether the column has an ID, to which another table or another program has the rest. `width`: its mean bytes."""
    return names_id(name) and width <= _LONGEST_ID


def names_code(name: str) -> bool:
    """Whether digits under this name are a code, such as a status, with which nobody computes."""
    return bool(_ID_NAME.search(snake_case(name)) or _CODE_NAME.search(snake_case(name)))


def names_numbered(name: str) -> bool:
    """Whether digits under this name are a code, or name a thing that has a number, such as a line or an order: other
    things of the kind may have letters, and nobody adds them up.
    """
    if names_code(name):
        return True
    words = words_of(name)
    is_thing = words & _CODES or _NUMBERED_NAME.search(snake_case(name))
    return bool(is_thing) and not words & QUANTITY


def names_quantity(name: str) -> bool:
    """Whether the name says what is measured or counted, or in which unit, as its last word: `bytes` of `in_bytes`, not
    `rate` of `rate_plan`.
    """
    return snake_case(name).rpartition("_")[2] in QUANTITY


_THING: Final = (
    "host|hostname|server|instance|node|device|sensor|machine|meter|station|pump|motor|inverter|turbine|vehicle|truck|"
    "robot|gateway|router|switch|camera|vm|plant|line|panel|probe|tracker|unit|asset"
)
_PLACE: Final = "site|location|room|building|floor|region|zone|rack|country|city|tenant|customer"
_SOURCE_NAME: Final = re.compile(
    rf"(^|_)({_THING}|{_PLACE})$|(^|_)({_THING}|{_PLACE})s?_?(id|uid|uuid|no|nr|number|name|serial|code|mac|addr)$|"
    r"(^|_)(serial|serial_?n(o|r|umber)|mac|mac_?addr(ess)?|imei|vin|eui|dev_?eui|uuid)$|^id$"
)


def names_source(name: str) -> bool:
    """Whether the name is that of something that reports, or of its location: texts under it are not
    measured numbers.
    """
    return bool(_SOURCE_NAME.search(snake_case(name)))


@functools.lru_cache(maxsize=TYPES)
def may_be_long(data_type: str) -> bool:
    """Whether values of the type may be, or print as, strings of any length."""
    kind = data_type.upper()
    is_long = re.match(r"(N?VAR)?CHAR|N?VARCHAR|TEXT|STRING|BPCHAR|CLOB|JSON|XML|BYTEA|TSVECTOR|PATH|POLYGON", kind)
    return bool(is_long) or is_made(data_type) or is_list(data_type)


_LABEL_IN: Final = "a label in "


def label_in(column: str) -> str:
    """The reason for a tag that is a label in a column of label sets."""
    return f"{_LABEL_IN}{column}"


def _by_configuration(column: Column, chosen: Columns | None) -> tuple[Role, str] | None:
    if chosen is None:
        return None
    if column.name in chosen.tags:
        return Role.TAG, CONFIGURED
    return (Role.FIELD, CONFIGURED) if column.name in chosen.fields else None


def _by_engine(column: Column) -> tuple[Role, str] | None:
    # A column that is the time for the engine, but not in the configuration, is an ordinary column.
    if column.role in (None, Role.TIME):
        return None
    return column.role, column.reason or f"{DECLARED}{column.role}"


def _key_members(columns: Sequence[Column], time: str | None, table: Table) -> frozenset[str]:
    """Columns that, with the time, form the table's key; empty for a surrogate key and without a key. A column that
    only numbers the rows is not included, because it does not name a source.
    """
    key = {c.name for c in columns if c.key_position is not None}
    if time not in key:
        return frozenset()
    return frozenset(key - {time} - table.never_source.keys() - {c.name for c in columns if c.is_generated})


def _sole_key(columns: Sequence[Column], time: str | None) -> str | None:
    """The column that alone forms the table's key; None if there is none, if the key has several columns, or if it is
    the time.
    """
    key = [c.name for c in columns if c.key_position is not None]
    return key[0] if len(key) == 1 and key[0] != time else None


def _by_key(column: Column, key: frozenset[str], alone: str | None) -> tuple[Role, str] | None:
    if column.name == alone:
        return Role.FIELD, KEY_ALONE
    if not key:
        return None
    if column.name in key:
        return Role.TAG, IN_KEY
    return Role.FIELD, OUTSIDE_KEY


def _roles_before(previous: Measurement | None) -> dict[tuple[str, str], tuple[Role, str]]:
    # A table that contained rows of another kind, or too few rows to show the kind, had no tags at all.
    if previous is None or (previous.kind is not None and not previous.kind.has_series):
        return {}
    tags = {(t.key, t.data_type): (Role.TAG, t.role_reason) for t in previous.tags}
    fields = {(f.key, f.types[0]): (Role.FIELD, f.role_reason) for f in previous.fields if len(f.types) == 1}
    return {column: role for column, role in (tags | fields).items() if role[1] not in (CONFIGURED, _EMPTY)}


_EMPTY: Final = "no row read has a value"


def _by_type_and_values(column: Column, values: Values | None) -> tuple[Role, str]:
    kind = column.data_type.lower() or "untyped"
    named = column.refers_to is not None or names_id(column.name)
    if is_integer(column.data_type) and named and (times := _times(values)) >= MIN_TIMES:
        what = f"refers to {column.refers_to}" if column.refers_to else "whole numbers with the name of an ID"
        return Role.TAG, f"{what}, each {number(round(times))} times on average"
    if not may_be_text(column.data_type):
        return Role.FIELD, f"a {kind} column"
    if values is None:
        return Role.TAG, f"a {kind} column {NOT_EVALUATED}"
    if values.count == 0:
        return Role.FIELD, _EMPTY
    if values.mean_length > LONG_TEXT:
        return Role.FIELD, f"long text, {number(round(values.mean_length))} characters on average"
    if values.number_share >= NUMBERS_SHARE and not names_code(column.name):
        if values.are_names or names_source(column.name):
            return Role.TAG, f"a {kind} column of numbers that name things"
        return Role.FIELD, f"numbers stored as text ({percent(values.number_share)} of the values read)"
    return Role.TAG, f"a {kind} column with short values"


def _times(values: Values | None) -> float:
    """How often each value occurs on average; 0 if too few values were read."""
    if values is None or not values.distinct or values.count < MIN_VALUES:
        return 0.0
    return values.count / values.distinct


_NUMBER: Final = re.compile(r"-?(\d+)([.,]\d+)?([eE][-+]?\d+)?")
_MIN_FRACTIONS: Final = 20
"""Fewest distinct values for numbers with a fraction, or with the name of a quantity, to be quantities: fewer may be
versions, or bounds of a histogram.
"""
_MIN_WHOLE: Final = 100
"""Fewest distinct values for whole numbers to be quantities: fewer may be codes."""
_MOST_DENSE: Final = 0.5
"""Largest share of the numbers between the lowest and the highest that may occur for them to be quantities: IDs are
assigned one after the other.
"""
_LONGEST: Final = 15
"""Most digits of a quantity: measured numbers do not have more, and a float could not represent them."""


def are_quantities(name: str, sample: Sequence[str], distinct: int, *, by_name: bool = False) -> bool:
    """Whether the texts are numbers for which sums and ranges make sense: most have a fraction, or they are whole, far
    apart, and sort differently as text. `by_name`: or they are whole, and the name says what is measured.

    `sample`: some distinct values. `distinct`: how many distinct values there are.
    """
    if names_code(name) or names_device(name):
        return False
    found = [match for value in sample if (match := _NUMBER.fullmatch(value.strip()))]
    if not found:
        return False
    whole = [match for match in found if match[2] is None and match[3] is None]
    if any(len(match[1]) > _LONGEST for match in found):
        return False
    if len(whole) < len(found) / 2:
        return distinct >= _MIN_FRACTIONS
    if any(match[1] != "0" and match[1].startswith("0") for match in whole):
        return False
    if by_name and names_quantity(name):
        return distinct >= _MIN_FRACTIONS
    if distinct < _MIN_WHOLE or names_numbered(name) or not _order_differs([match[0] for match in found]):
        return False
    numbers = {int(match[1]) for match in whole}
    # In a sample, numbers are farther apart than in all values, so the density is scaled.
    seen = len(numbers) / (max(numbers) - min(numbers) + 1)
    return seen * distinct / len(sample) <= _MOST_DENSE


def _order_differs(values: Sequence[str]) -> bool:
    """Whether the values sort differently as text and as numbers. If they do not, they have the same length and may be
    codes.
    """
    as_numbers = sorted(values, key=lambda value: float(value.replace(",", ".")))
    return as_numbers != sorted(values)
