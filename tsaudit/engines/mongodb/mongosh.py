"""Commands for mongosh that plans show, above all queries that show what a finding is about. They are only displayed,
never run; every name in them is quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from tsaudit.engines.advice import Piece, Place
from tsaudit.model.change import Diagnose

_WIDTH: Final = 94
"""Maximum number of characters per line: with a semicolon and an indent, a line fits into 96 columns."""
_PIECE: Final = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^",])*(?:,\s*|$)')
"""Text up to a comma outside of string literals."""
_PLAIN: Final = re.compile(r"[$A-Za-z_][$\w]*", re.ASCII)


def text(value: str | list[str]) -> str:
    """The text, or list of texts, as a JavaScript literal."""
    return json.dumps(value, ensure_ascii=False)


def script(value: Any) -> str:
    """Documents, lists, texts, numbers, and times as JavaScript literals."""
    if isinstance(value, datetime):
        return f'ISODate("{value:%Y-%m-%dT%H:%M:%SZ}")'
    if isinstance(value, Mapping):
        inside = ", ".join(f"{k if _PLAIN.fullmatch(k) else text(k)}: {script(v)}" for k, v in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(script, value))}]"
    return json.dumps(value, ensure_ascii=False)


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
    "sources": _sources,
    "schema": _schema,
}
