"""What MongoDB takes in a command, by version: a field that it does not know it refuses, and so does the stand-in.

From the commands' definitions (src/mongo/db/**/*.idl in github.com/mongodb/mongo) and the reference of each command.
Not listed are the fields that only the members of a cluster send to each other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.engines.mongodb.pipeline import CommandError

_GENERIC: Final = frozenset(
    {
        *("$db", "lsid", "$clusterTime", "$readPreference", "comment", "maxTimeMS", "txnNumber", "autocommit"),
        *("apiVersion", "apiStrict", "apiDeprecationErrors", "startTransaction"),
    }
)
_READS: Final = frozenset({"readConcern"})
_WRITES: Final = frozenset({"writeConcern"})

_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "find": _READS
    | {
        *("filter", "sort", "projection", "hint", "skip", "limit", "batchSize", "singleBatch", "max", "min"),
        *("returnKey", "showRecordId", "tailable", "oplogReplay", "noCursorTimeout", "awaitData", "let"),
        *("allowPartialResults", "collation", "allowDiskUse"),
    },
    "count": _READS | {"query", "limit", "skip", "hint", "collation", "fields"},
    "aggregate": _READS
    | _WRITES
    | {
        *("pipeline", "explain", "allowDiskUse", "cursor", "bypassDocumentValidation", "collation", "hint", "let"),
    },
    "getMore": frozenset({"collection", "batchSize"}),
    "killCursors": frozenset({"cursors"}),
    "listDatabases": frozenset({"filter", "nameOnly", "authorizedDatabases"}),
    "listCollections": frozenset({"filter", "nameOnly", "authorizedCollections", "cursor"}),
    "listIndexes": frozenset({"cursor"}),
    "dbStats": frozenset({"scale", "freeStorage"}),
    "create": _WRITES
    | {
        *("capped", "size", "max", "storageEngine", "validator", "validationLevel", "validationAction"),
        *("indexOptionDefaults", "viewOn", "pipeline", "collation", "expireAfterSeconds", "timeseries"),
        *("changeStreamPreAndPostImages", "clusteredIndex", "encryptedFields"),
    },
    "insert": _WRITES | {"documents", "ordered", "bypassDocumentValidation"},
    "createIndexes": _WRITES | {"indexes", "commitQuorum"},
    "drop": _WRITES,
    "dropIndexes": _WRITES | {"index"},
    "dropDatabase": _WRITES,
}
"""Fields of each command beside its own name. Of those that are not here the server reads what it knows: `serverStatus`
takes the name of any section, `top`, `ping`, `buildInfo` and `hello` take anything."""

_SINCE: Final[Mapping[tuple[str, str], tuple[int, int]]] = {
    ("find", "let"): (5, 0),
    ("aggregate", "let"): (5, 0),
    ("create", "timeseries"): (5, 0),
    ("create", "expireAfterSeconds"): (5, 0),
    ("create", "clusteredIndex"): (5, 3),
    ("create", "changeStreamPreAndPostImages"): (6, 0),
    ("create", "encryptedFields"): (6, 0),
    ("dbStats", "freeStorage"): (5, 0),
}
"""The version from which on a field is known, where that is not 4.4."""

_RAW_DATA: Final = (9, 0)
"""From here on every command on a collection of a time series may say `rawData`."""

_WIRE: Final[Mapping[tuple[int, int], int]] = {
    (4, 2): 8,
    (4, 4): 9,
    (5, 0): 13,
    (5, 1): 14,
    (5, 2): 15,
    (5, 3): 16,
    (6, 0): 17,
    (6, 1): 18,
    (6, 2): 19,
    (6, 3): 20,
    (7, 0): 21,
    (7, 1): 22,
    (7, 2): 23,
    (7, 3): 24,
    (8, 0): 25,
    (8, 1): 26,
    (8, 2): 27,
    (9, 0): 28,
}
"""src/mongo/db/wire_version.h; of 9.0 it is the next one, as nobody has seen it yet."""


def release(version: str) -> tuple[int, int]:
    """Major and minor of `8.0.4`."""
    major, minor, *_ = (int(part) for part in version.split("."))
    return major, minor


def wire_version(version: str) -> int:
    """What `hello` reports as `maxWireVersion`."""
    return _WIRE[release(version)]


def refuse_unknown(command: Mapping[str, Any], version: str) -> None:
    """Raises CommandError for what the version does not take."""
    name, now = next(iter(command)), release(version)
    known = _FIELDS.get(name)
    if known is None:
        return
    for field in list(command)[1:]:
        raw = field == "rawData" and now >= _RAW_DATA
        if not raw and (field not in known | _GENERIC or now < _SINCE.get((name, field), (0, 0))):
            code = "IDLUnknownField" if now >= (7, 0) else "Location40415"
            raise CommandError(40415, code, f"BSON field '{name}.{field}' is an unknown field.")
    if name == "aggregate" and "cursor" not in command and "explain" not in command:
        message = "The 'cursor' option is required, except for aggregate with the explain argument"
        raise CommandError(9, "FailedToParse", message)
