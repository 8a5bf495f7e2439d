"""Queries for MongoDB that show what a finding is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from tsaudit.engines.mongodb.mongosh import collection, script, text
from tsaudit.engines.place import Place, by_source, by_time
from tsaudit.model.change import Diagnose

_A_DAY: Final = timedelta(days=1)
Found = tuple[str, str, str]
"""The explanation, the command, and its cost."""


def query(place: Place, change: Diagnose) -> Found | None:
    """The query for the change; None if there is none."""
    found = (_OF_DATABASE if place.measurement is None else _OF_COLLECTION).get(change.what)
    return found(place, change) if found else None


def _sizes(place: Place, _: Diagnose) -> Found:
    database = f"db.getSiblingDB({text(place.database)})"
    size = f"{{ name: name, bytes: {database}.getCollection(name).totalSize() }}"
    largest = "sort((a, b) => b.bytes - a.bytes).slice(0, 10)"
    return "Find the largest collections.", f"{database}.getCollectionNames().map(name => ({size})).{largest}", ""


def _collections(place: Place, _: Diagnose) -> Found:
    command = f"db.getSiblingDB({text(place.database)}).getCollectionNames()"
    return f"List the collections of {place.database}.", command, ""


def _databases(_: Place, change: Diagnose) -> Found:
    pattern = f"^{'.*'.join(map(re.escape, change.values))}$"
    asked = {"listDatabases": 1, "nameOnly": True, "filter": {"name": {"$regex": pattern}}}
    return "See which databases these are.", f"db.adminCommand({script(asked)})", ""


def _large(place: Place, _: Diagnose) -> Found:
    stages = [{"$project": {"bytes": {"$bsonSize": "$$ROOT"}}}, {"$sort": {"bytes": -1}}, {"$limit": 5}]
    return "Find the largest documents.", _aggregate(place, stages), "reads all documents"


def _types(place: Place, change: Diagnose) -> Found | None:
    if not change.values:
        return None
    finds = [f"{_here(place)}.find({script({change.column: {'$type': kind}})}).limit(5)" for kind in change.values[:4]]
    return f"See some documents for each type of {change.column}.", ";\n".join(finds), ""


def _new_values(place: Place, change: Diagnose) -> Found:
    recent, cost = _recent(place)
    if writers := place.writers_of(change.column):
        by = {key.replace(".", "_"): f"${key}" for key in writers}
        each = {"$group": {"_id": {"by": by, "value": f"${change.column}"}}}
        counted = {"$group": {"_id": "$_id.by", "values": {"$sum": 1}}}
        stages = [*recent, each, counted, {"$sort": {"values": -1}}, {"$limit": 20}]
        return by_source(change.column), _aggregate(place, stages), cost
    group: dict[str, Any] = {"_id": f"${change.column}", "documents": {"$sum": 1}}
    order = "documents"
    if place.here.time_column:
        group["first"], order = {"$min": f"${place.here.time_column}"}, "first"
    stages = [*recent, {"$group": group}, {"$sort": {order: -1}}, {"$limit": 20}]
    return by_time(change.column), _aggregate(place, stages), cost


def _sources(place: Place, change: Diagnose) -> Found:
    recent, cost = _recent(place)
    by: Any = {tag.key.replace(".", "_"): f"${tag.key}" for tag in place.here.tags} or None
    filled = {"$sum": {"$cond": [{"$eq": [{"$type": f"${change.column}"}, "missing"]}, 0, 1]}}
    stages = [*recent, {"$group": {"_id": by, "total": {"$sum": 1}, "filled": filled}}, {"$sort": {"filled": 1}}]
    return f"Find the sources that stopped sending {change.column}.", _aggregate(place, stages), cost


def _schema(place: Place, _: Diagnose) -> Found:
    stages: list[Any] = [
        {"$sample": {"size": 100}},
        {"$project": {"field": {"$objectToArray": "$$ROOT"}}},
        {"$unwind": "$field"},
        {"$group": {"_id": "$field.k", "documents": {"$sum": 1}}},
    ]
    words = f"See which fields {place.here.name} has, in 100 documents."
    return words, _aggregate(place, stages), "reads 100 documents"


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


_Look = Callable[[Place, Diagnose], Found | None]
_OF_DATABASE: Final[Mapping[str, _Look]] = {
    "sizes": _sizes,
    "measurements": _collections,
    "databases": _databases,
}
_OF_COLLECTION: Final[Mapping[str, _Look]] = {
    "large rows": _large,
    "types": _types,
    "new values": _new_values,
    "sources": _sources,
    "schema": _schema,
}
