"""What the stand-in for MongoDB runs: filters, and the stages of pipelines that read documents.

What it does not know it refuses, as the server does.
"""

from __future__ import annotations

import copy
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import bson

from tests.engines.mongodb import changing

Document = Mapping[str, Any]
_MISSING: Final = object()


class CommandError(Exception):
    """What the server says instead of an answer."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(message)
        self.code, self.name = code, name


def at(document: Any, path: str) -> Any:
    """The value at a dotted path; _MISSING where there is none. Arrays are not looked into."""
    for part in path.split("."):
        if not isinstance(document, Mapping) or part not in document:
            return _MISSING
        document = document[part]
    return document


def matches(document: Document, condition: Mapping[str, Any]) -> bool:
    for path, wanted in condition.items():
        if path in ("$and", "$or"):
            found = [matches(document, one) for one in wanted]
            if not (all(found) if path == "$and" else any(found)):
                return False
        elif not _fulfils(at(document, path), wanted):
            return False
    return True


_OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$eq": lambda value, wanted: value == wanted,
    "$gte": lambda value, wanted: value is not _MISSING and value is not None and value >= wanted,
    "$gt": lambda value, wanted: value is not _MISSING and value is not None and value > wanted,
    "$lt": lambda value, wanted: value is not _MISSING and value is not None and value < wanted,
    "$lte": lambda value, wanted: value is not _MISSING and value is not None and value <= wanted,
    "$in": lambda value, wanted: value in wanted,
    "$exists": lambda value, wanted: (value is not _MISSING) == bool(wanted),
    "$regex": lambda value, wanted: isinstance(value, str) and bool(re.search(wanted, value)),
    "$type": lambda value, wanted: changing.is_of_type(value, [wanted] if isinstance(wanted, str) else wanted),
    "$not": lambda value, wanted: not _fulfils(value, wanted),
}


def _fulfils(value: Any, wanted: Any) -> bool:
    if not (isinstance(wanted, Mapping) and any(key.startswith("$") for key in wanted)):
        return bool(value == wanted) or (wanted is None and value is _MISSING)
    for operator in wanted:
        if operator not in _OPERATORS:
            raise CommandError(2, "BadValue", f"unknown operator: {operator}")
    return all(_OPERATORS[operator](value, operand) for operator, operand in wanted.items())


def evaluate(expression: Any, document: Document) -> Any:
    """The value of an expression; _MISSING for a path that is not there."""
    if isinstance(expression, list):
        return [None if (value := evaluate(one, document)) is _MISSING else value for one in expression]
    if isinstance(expression, str) and expression.startswith("$$"):
        if expression == "$$REMOVE":
            return _MISSING
        name, _, path = expression[2:].partition(".")
        inside = document if name == "ROOT" else document[f"$${name}"]
        return at(inside, path) if path else inside
    if isinstance(expression, str) and expression.startswith("$"):
        return at(document, expression[1:])
    if not isinstance(expression, Mapping):
        return expression
    if len(expression) == 1 and next(iter(expression)).startswith("$"):
        ((operator, operand),) = expression.items()
        if operator not in _EXPRESSIONS:
            raise CommandError(168, "InvalidPipelineOperator", f"Unrecognized expression '{operator}'")
        return _EXPRESSIONS[operator](operand, document)
    found = {key: evaluate(value, document) for key, value in expression.items()}
    return {key: value for key, value in found.items() if value is not _MISSING}


def _get_field(operand: Any, document: Document) -> Any:
    inside = evaluate(operand["input"], document) if "input" in operand else document
    return inside.get(evaluate(operand["field"], document), _MISSING) if isinstance(inside, Mapping) else _MISSING


def _if_null(operand: Any, document: Document) -> Any:
    values = [evaluate(one, document) for one in operand]
    return next((v for v in values if v is not _MISSING and v is not None), values[-1])


def _condition(operand: Any, document: Document) -> Any:
    """Only the branch that is taken is evaluated, as the server does it."""
    first, then, otherwise = operand
    return evaluate(then if evaluate(first, document) else otherwise, document)


def _size(operand: Any, document: Document) -> int:
    value = evaluate(operand, document)
    if not isinstance(value, list):
        raise CommandError(17124, "Location17124", "The argument to $size must be an array")
    return len(value)


def _object_to_array(operand: Any, document: Document) -> Any:
    value = evaluate(operand, document)
    if not isinstance(value, Mapping):
        raise CommandError(40390, "Location40390", "$objectToArray requires a document input")
    return [{"k": k, "v": v} for k, v in value.items()]


def _type(operand: Any, document: Document) -> str:
    return changing.type_of(evaluate(operand, document))


def _convert(operand: Any, document: Document) -> Any:
    value = evaluate(operand["input"], document)
    if value is _MISSING or value is None:
        return evaluate(operand.get("onNull"), document)
    try:
        return changing.convert(value, operand["to"])
    except changing.UnfittingError as error:
        if "onError" not in operand:
            raise CommandError(241, "ConversionFailure", str(error)) from error
        return evaluate(operand["onError"], document)


def _switch(operand: Any, document: Document) -> Any:
    for branch in operand["branches"]:
        if evaluate(branch["case"], document):
            return evaluate(branch["then"], document)
    return evaluate(operand["default"], document)


def _is_number(operand: Any, document: Document) -> bool:
    value = evaluate(operand, document)
    return isinstance(value, int | float) and not isinstance(value, bool)


_EXPRESSIONS: Final[Mapping[str, Callable[[Any, Document], Any]]] = {
    "$getField": _get_field,
    "$ifNull": _if_null,
    "$cond": _condition,
    "$eq": lambda operand, document: evaluate(operand[0], document) == evaluate(operand[1], document),
    "$size": _size,
    "$objectToArray": _object_to_array,
    "$type": _type,
    "$bsonSize": lambda operand, document: len(bson.encode(evaluate(operand, document))),
    "$literal": lambda operand, document: operand,
    "$in": lambda operand, document: evaluate(operand[0], document) in evaluate(operand[1], document),
    "$convert": _convert,
    "$toDate": lambda operand, document: _convert({"input": operand, "to": "date"}, document),
    "$toLong": lambda operand, document: _convert({"input": operand, "to": "long"}, document),
    "$multiply": lambda operand, document: math.prod(evaluate(one, document) for one in operand),
    "$isNumber": _is_number,
    "$switch": _switch,
}


def run(documents: Iterable[Document], pipeline: Iterable[Document]) -> Iterator[Document]:
    """The documents that come out of the pipeline."""
    for stage in pipeline:
        ((name, argument),) = stage.items()
        if name not in _STAGES:
            raise CommandError(40324, "Location40324", f"Unrecognized pipeline stage name: '{name}'")
        documents = _STAGES[name](documents, argument)
    return iter(documents)


def _sample(documents: Iterable[Document], argument: Document) -> Iterable[Document]:
    every = list(documents)
    return random.Random(len(every)).sample(every, min(argument["size"], len(every)))


def _project(documents: Iterable[Document], wanted: Document) -> Iterator[Document]:
    for document in documents:
        shown: dict[str, Any] = {}
        for key, expression in {"_id": 1, **wanted}.items():
            value = at(document, key) if expression in (1, True) else evaluate(expression, document)
            if expression in (0, False) or value is _MISSING:
                continue
            inner = shown
            *parents, last = key.split(".")
            for parent in parents:
                inner = inner.setdefault(parent, {})
            inner[last] = value
        yield shown


def _group(documents: Iterable[Document], argument: Document) -> Iterator[Document]:
    groups: dict[bytes, tuple[Any, list[Document]]] = {}
    for document in documents:
        key = evaluate(argument["_id"], document)
        key = None if key is _MISSING else key
        groups.setdefault(bson.encode({"": key}), (key, []))[1].append(document)
    for key, members in groups.values():
        yield {"_id": key} | {
            name: _accumulate(accumulator, members) for name, accumulator in argument.items() if name != "_id"
        }


def _accumulate(accumulator: Document, members: list[Document]) -> Any:
    ((operator, expression),) = accumulator.items()
    values = [v for v in (evaluate(expression, m) for m in members) if v is not _MISSING]
    if operator == "$sum":
        return sum(v for v in values if isinstance(v, int | float))
    if operator in ("$min", "$max"):
        return {"$min": min, "$max": max}[operator]([v for v in values if v is not None], default=None)
    if operator == "$first":
        return values[0] if values else None
    raise CommandError(15952, "Location15952", f"unknown group operator '{operator}'")


def _unwind(documents: Iterable[Document], argument: Any) -> Iterator[Document]:
    path = (argument if isinstance(argument, str) else argument["path"]).removeprefix("$")
    for document in documents:
        for place, value in enumerate(at(document, path) or ()):
            shown = copy.deepcopy(dict(document)) if "." in path else {**document, path: value}
            changing.set_at(shown, path, value)
            if isinstance(argument, Mapping) and "includeArrayIndex" in argument:
                shown[argument["includeArrayIndex"]] = bson.Int64(place)
            yield shown


def _sort(documents: Iterable[Document], order: Document) -> list[Document]:
    found = list(documents)
    for path, direction in reversed(list(order.items())):
        found.sort(key=partial(at, path=path), reverse=direction < 0)
    return found


_STAGES: Final[Mapping[str, Callable[[Iterable[Document], Any], Iterable[Document]]]] = {
    "$sample": _sample,
    "$set": lambda documents, values: changing.set_fields(documents, values, evaluate, _MISSING),
    "$unset": changing.unset_fields,
    "$match": lambda documents, condition: (d for d in documents if matches(d, condition)),
    "$project": _project,
    "$group": _group,
    "$unwind": _unwind,
    "$sort": _sort,
    "$limit": lambda documents, most: list(documents)[:most],
    "$count": lambda documents, name: ({name: n} for n in [len(list(documents))] if n),
}
