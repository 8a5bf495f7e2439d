"""Commands for mongosh that plans show: queries that show what a finding is about, and the one command that changes
stored documents. They are only displayed, never run; every name in them is quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from tsaudit.engines.advice import Piece, Place, by_source, by_time
from tsaudit.model.change import Change, ChangeType, Diagnose, MakeField, MakeTag
from tsaudit.model.profile import Measurement

_WIDTH: Final = 94
"""Maximum number of characters per line: with a semicolon and an indent, a line fits into 96 columns."""
_PIECE: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",])*(?:,\s*|$)')
"""Text up to a comma outside of string literals."""
_PLAIN: Final = re.compile(r"[$A-Za-z_][$\w]*", re.ASCII)


def text(value: str | list[str]) -> str:
    """The text, or list of texts, as a JavaScript literal."""
    return json.dumps(value, ensure_ascii=False)


class Blank:
    """A placeholder for a value that the user of the command has to fill in."""


def script(value: Any) -> str:
    """Documents, lists, texts, numbers, and times as JavaScript literals."""
    if isinstance(value, Blank):
        return "..."
    if isinstance(value, datetime):
        return f'ISODate("{value:%Y-%m-%dT%H:%M:%SZ}")'
    if isinstance(value, Mapping):
        inside = ", ".join(f"{k if _PLAIN.fullmatch(k) else text(k)}: {script(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(script, value))}]"
    return json.dumps(value, ensure_ascii=False)


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """A nested document from values by path."""
    found: dict[str, Any] = {}
    for path, value in values.items():
        *above, last = path.split(".")
        inside = found
        for name in above:
            below = inside.get(name)
            inside[name] = inside = below if isinstance(below, dict) else {}
        inside[last] = value
    return found


def wrapped(command: str) -> str:
    """The command in lines of at most `_WIDTH` characters, as far as names and texts allow; lines are broken after
    commas.
    """
    lines = [""]
    for piece in _PIECE.findall(command):
        if lines[-1].strip() and len(lines[-1]) + len(piece.rstrip()) > _WIDTH:
            lines.append("  ")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def collection(database: str, name: str) -> str:
    """The expression for the collection, whichever database the shell is using."""
    return f"db.getSiblingDB({text(database)}).getCollection({text(name)})"


# --- Queries that show what a finding is about ----------------------------------------------------------------------


_A_DAY: Final = timedelta(days=1)


def diagnostic_query(place: Place, change: Diagnose) -> Piece | None:
    """The query for the change; None if there is none."""
    found = (_OF_DATABASE if place.measurement is None else _OF_COLLECTION).get(change.what)
    return found(place, change) if found else None


def _sizes(place: Place, _: Diagnose) -> Piece:
    database = f"db.getSiblingDB({text(place.database)})"
    size = f"{{ name: name, bytes: {database}.getCollection(name).totalSize() }}"
    largest = "sort((a, b) => b.bytes - a.bytes).slice(0, 10)"
    return Piece("Find the largest collections.", f"{database}.getCollectionNames().map(name => ({size})).{largest}")


def _collections(place: Place, _: Diagnose) -> Piece:
    command = f"db.getSiblingDB({text(place.database)}).getCollectionNames()"
    return Piece(f"List the collections of {place.database}.", command)


def _large(place: Place, _: Diagnose) -> Piece:
    stages = [{"$project": {"bytes": {"$bsonSize": "$$ROOT"}}}, {"$sort": {"bytes": -1}}, {"$limit": 5}]
    return Piece("Find the largest documents.", _aggregate(place, stages), "reads all documents")


def _types(place: Place, change: Diagnose) -> Piece | None:
    if not change.values:
        return None
    finds = [f"{_here(place)}.find({script({change.column: {'$type': kind}})}).limit(5)" for kind in change.values[:4]]
    return Piece(f"See some documents for each type of {change.column}.", ";\n".join(finds))


def _new_values(place: Place, change: Diagnose) -> Piece:
    recent, cost = _recent(place)
    if writers := place.writers_of(change.column):
        by = {key.replace(".", "_"): f"${key}" for key in writers}
        each = {"$group": {"_id": {"by": by, "value": f"${change.column}"}}}
        counted = {"$group": {"_id": "$_id.by", "values": {"$sum": 1}}}
        stages = [*recent, each, counted, {"$sort": {"values": -1}}, {"$limit": 20}]
        return Piece(by_source(change.column), _aggregate(place, stages), cost)
    group: dict[str, Any] = {"_id": f"${change.column}", "documents": {"$sum": 1}}
    order = "documents"
    if place.here.time_column:
        group["first"], order = {"$min": f"${place.here.time_column}"}, "first"
    stages = [*recent, {"$group": group}, {"$sort": {order: -1}}, {"$limit": 20}]
    return Piece(by_time(change.column), _aggregate(place, stages), cost)


def _sources(place: Place, change: Diagnose) -> Piece:
    recent, cost = _recent(place)
    by: Any = {tag.key.replace(".", "_"): f"${tag.key}" for tag in place.here.tags} or None
    filled = {"$sum": {"$cond": [{"$eq": [{"$type": f"${change.column}"}, "missing"]}, 0, 1]}}
    stages = [*recent, {"$group": {"_id": by, "total": {"$sum": 1}, "filled": filled}}, {"$sort": {"filled": 1}}]
    return Piece(f"Find the sources that stopped sending {change.column}.", _aggregate(place, stages), cost)


def _schema(place: Place, _: Diagnose) -> Piece:
    stages: list[Any] = [
        {"$sample": {"size": 100}},
        {"$project": {"field": {"$objectToArray": "$$ROOT"}}},
        {"$unwind": "$field"},
        {"$group": {"_id": "$field.k", "documents": {"$sum": 1}}},
    ]
    words = f"See which fields {place.here.name} has, in 100 documents."
    return Piece(words, _aggregate(place, stages), "reads 100 documents")


def _recent(place: Place) -> tuple[list[Mapping[str, Any]], str]:
    """The stage that selects the newest day, and the cost of reading it."""
    if not place.here.time_column:
        return [{"$limit": 10_000}], "reads 10,000 documents"
    since = (place.here.last_time or place.profile.window.end) - _A_DAY
    return [{"$match": {place.here.time_column: {"$gte": since}}}], "reads a day of documents"


def _here(place: Place) -> str:
    return collection(place.database, place.here.name)


def _aggregate(place: Place, stages: Sequence[Any]) -> str:
    return f"{_here(place)}.aggregate({script(list(stages))})"


_Look = Callable[[Place, Diagnose], Piece | None]
_OF_DATABASE: Final[Mapping[str, _Look]] = {
    "sizes": _sizes,
    "measurements": _collections,
}
_OF_COLLECTION: Final[Mapping[str, _Look]] = {
    "large rows": _large,
    "types": _types,
    "new values": _new_values,
    "sources": _sources,
    "schema": _schema,
}


# --- The one command that changes stored documents ------------------------------------------------------------------


_TYPES: Final = {"integer": "long", "float": "double", "time": "date"}
_TRUE: Final = ("true", "True", "TRUE", "t", "yes", "on", "1", 1)
_FALSE: Final = ("false", "False", "FALSE", "f", "no", "off", "0", 0)


def updated(here: str, changes: Sequence[Change]) -> str:
    """A command that updates all documents of a plain collection; empty if no stored document changes. It may be run
    again.
    """
    stages = _stages(_converted_columns(changes), [])
    return f"{here}.updateMany({{}}, {script(stages)})" if stages else ""


def copied_series(place: Place, into: str, changes: Sequence[Change]) -> str:
    """A command that copies a time series collection into a new one with the same options; empty if no stored document
    changes.

    A copy is needed because only the metaField of stored measurements can be updated, and no value can be moved out of
    it.
    """
    options = place.here.options or {}
    meta = options.get("timeseries.metaField", "")
    values, gone = _converted_columns(changes), list[str]()
    for change in changes:
        if isinstance(change, MakeField) and meta:
            new = change.tag.rpartition(".")[2]
            values[new] = _either(change.tag, new)
            gone.append(change.tag)
        elif isinstance(change, MakeTag) and meta:
            new = f"{meta}.{change.column}"
            values[new] = _either(change.column, new)
            gone.append(change.column)
    stages = _stages(values, gone)
    if not stages or meta in gone:
        # Without a metaField, all sources would share buckets.
        return ""
    out = {"$out": {"db": place.database, "coll": into, "timeseries": series_options(place.here, meta)}}
    return f"{collection(place.database, place.here.name)}.aggregate({script([*stages, out])})"


def series_options(measurement: Measurement, meta: str) -> dict[str, Any]:
    """The options of a new time series collection like this one. `meta`: its metaField; empty for none."""
    options = measurement.options or {}
    found: dict[str, Any] = {"timeField": options.get("timeseries.timeField", measurement.time_column or "time")}
    if meta:
        found["metaField"] = meta
    if "timeseries.granularity" in options:
        return found | {"granularity": options["timeseries.granularity"]}
    spans = ("bucketMaxSpanSeconds", "bucketRoundingSeconds")
    return found | {name: int(options[f"timeseries.{name}"]) for name in spans if f"timeseries.{name}" in options}


def beside(path: str, name: str) -> str:
    """The path of a field with this name in the document that contains the field at the path."""
    above = path.rpartition(".")[0]
    return f"{above}.{name}" if above else name


def _either(old: str, new: str) -> Any:
    """The value at whichever path it is: if an update is repeated, the value is already at its new path."""
    return {"$ifNull": [f"${old}", f"${new}"]}


def _converted_columns(changes: Sequence[Change]) -> dict[str, Any]:
    """Path of each converted field to its new value."""
    return {c.column: _converted(c.column, c.to) for c in changes if isinstance(c, ChangeType)}


def _stages(values: Mapping[str, Any], gone: Sequence[str]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = [{"$set": values}] if values else []
    return [*found, {"$unset": list(gone)}] if gone else found


def _converted(column: str, kind: str) -> Any:
    """The value converted to its new type, or unchanged if it cannot be converted."""
    value = f"${column}"
    if kind == "boolean":
        # $convert converts every non-empty text to true.
        branches = [
            {"case": {"$in": [value, list(texts)]}, "then": to} for texts, to in ((_TRUE, True), (_FALSE, False))
        ]
        return {"$switch": {"branches": branches, "default": value}}
    converted = {"$convert": {"input": value, "to": _TYPES[kind], "onError": value, "onNull": value}}
    if kind == "integer":
        # $convert would cut off a fraction.
        return {"$cond": [{"$isNumber": value}, value, converted]}
    return converted
