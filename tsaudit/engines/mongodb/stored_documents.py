"""The one command that changes stored documents: an update in place, or a copy of a time series collection."""

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
    """Updates all documents of a plain collection; empty if no stored document changes. It may be repeated."""
    stages = _stages(_converted_columns(changes), [])
    return f"{here}.updateMany({{}}, {script(stages)})" if stages else ""


def copied_series(place: Place, into: str, changes: Sequence[Change]) -> str:
    """Copies a time series collection into a new one with the same options; empty if no stored document changes.

    Only the metaField of a stored measurement can be updated, and nothing moves out of it.
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
    """Those of a new time series collection like this one. `meta`: its metaField; empty for none."""
    options = measurement.options or {}
    found: dict[str, Any] = {"timeField": options.get("timeseries.timeField", measurement.time_column or "time")}
    if meta:
        found["metaField"] = meta
    if "timeseries.granularity" in options:
        return found | {"granularity": options["timeseries.granularity"]}
    spans = ("bucketMaxSpanSeconds", "bucketRoundingSeconds")
    return found | {name: int(options[f"timeseries.{name}"]) for name in spans if f"timeseries.{name}" in options}


def beside(path: str, name: str) -> str:
    """The path of a name in the document that holds the path."""
    above = path.rpartition(".")[0]
    return f"{above}.{name}" if above else name


def _either(old: str, new: str) -> Any:
    """The value, wherever it is: an update that is repeated finds it in its new place."""
    return {"$ifNull": [f"${old}", f"${new}"]}


def _converted_columns(changes: Sequence[Change]) -> dict[str, Any]:
    """Path to its new value."""
    return {c.column: _converted(c.column, c.to) for c in changes if isinstance(c, ChangeType)}


def _stages(values: Mapping[str, Any], gone: Sequence[str]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = [{"$set": values}] if values else []
    return [*found, {"$unset": list(gone)}] if gone else found


def _converted(column: str, kind: str) -> Any:
    """The value with its new type, or as it is if it does not convert."""
    value = f"${column}"
    if kind == "boolean":
        # $convert takes every text for true.
        branches = [
            {"case": {"$in": [value, list(texts)]}, "then": to} for texts, to in ((_TRUE, True), (_FALSE, False))
        ]
        return {"$switch": {"branches": branches, "default": value}}
    converted = {"$convert": {"input": value, "to": _TYPES[kind], "onError": value, "onNull": value}}
    if kind == "integer":
        # A fraction would be cut off.
        return {"$cond": [{"$isNumber": value}, value, converted]}
    return converted
