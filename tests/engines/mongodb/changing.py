"""How the stand-in for MongoDB changes documents in pipelines, as the server's reference describes it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import bson

Evaluate = Callable[[Any, Mapping[str, Any]], Any]
"""The value of an expression on a document."""


def set_at(document: dict[str, Any], path: str, value: Any) -> None:
    """Puts the value at a dotted path, within documents that are made where there are none."""
    *parents, last = path.split(".")
    for parent in parents:
        inner = document.get(parent)
        document[parent] = inner = inner if isinstance(inner, dict) else {}
        document = inner
    document[last] = value


def remove_at(document: dict[str, Any], path: str) -> None:
    """Takes out what is at a dotted path, if it is there."""
    *parents, last = path.split(".")
    for parent in parents:
        inner = document.get(parent)
        if not isinstance(inner, dict):
            return
        document = inner
    document.pop(last, None)


def set_fields(
    documents: Iterable[Mapping[str, Any]], values: Mapping[str, Any], evaluate: Evaluate, missing: object
) -> Iterator[dict[str, Any]]:
    """The stage `$set`: all expressions see the document as it was."""
    for document in documents:
        found = {path: evaluate(expression, document) for path, expression in values.items()}
        changed = copy.deepcopy(dict(document))
        for path, value in found.items():
            if value is missing:
                remove_at(changed, path)
            else:
                set_at(changed, path, value)
        yield changed


def unset_fields(documents: Iterable[Mapping[str, Any]], paths: str | list[str]) -> Iterator[dict[str, Any]]:
    """The stage `$unset`."""
    for document in documents:
        changed = copy.deepcopy(dict(document))
        for path in [paths] if isinstance(paths, str) else paths:
            remove_at(changed, path)
        yield changed


_ALIASES: Final[Mapping[type, str]] = {
    bool: "bool",
    bson.Int64: "long",
    int: "int",
    float: "double",
    str: "string",
    datetime: "date",
    bson.ObjectId: "objectId",
    dict: "object",
    list: "array",
    bytes: "binData",
    bson.Binary: "binData",
    type(None): "null",
}


def type_of(value: Any) -> str:
    """The alias of the value's type; `missing` for none."""
    return _ALIASES.get(type(value), "missing" if type(value) is object else "another")


def is_of_type(value: Any, aliases: Iterable[str]) -> bool:
    """Whether the value has one of the types; `number` stands for all that are numbers."""
    return bool({type_of(value), "number" if type_of(value) in ("int", "long", "double") else ""} & {*aliases})


class UnfittingError(Exception):
    """What cannot be converted."""


def convert(value: Any, to: str) -> Any:
    """What `$convert` makes of a value. UnfittingError for what it cannot. Text is true, whatever it says."""
    if to == "string" and isinstance(value, str | int | float | bool):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if to == "bool" and isinstance(value, str | int | float | bool):
        return True if isinstance(value, str) else bool(value)
    if to == "date" and isinstance(value, datetime):
        return value
    # A number of 32 bits is none of milliseconds.
    if to == "date" and isinstance(value, bson.Int64):
        return datetime.fromtimestamp(value / 1000, UTC)
    try:
        if to == "date" and isinstance(value, str):
            return datetime.fromisoformat(value)
        if to == "double" and isinstance(value, str | int | float):
            return float(value)
        if to == "long" and isinstance(value, int | float):
            return bson.Int64(math.trunc(value))
        if to == "long" and isinstance(value, str) and value.strip() == value:
            return bson.Int64(int(value))
    except ValueError as error:
        raise UnfittingError(str(error)) from error
    raise UnfittingError(f"{type_of(value)} to {to}")
