"""The words in the names of columns, including words that show which time a column contains and words that show the
kind of its table.
"""

from __future__ import annotations

import functools
import re
from typing import Final

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
