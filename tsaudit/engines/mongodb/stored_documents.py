"""Builds the one command that changes stored documents: an update in place, or a copy of a time series collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tsaudit.engines.mongodb.mongosh import collection, script
from tsaudit.engines.place import Place
from tsaudit.model.change import Change, ChangeType, MakeField, MakeTag
from tsaudit.model.profile import Measurement

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
