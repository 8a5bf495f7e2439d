"""Finds columns for one value of any type: `str_v`, `long_v`, `dbl_v`, of which each row fills the one that fits."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

_TYPES: Final = {
    "text": "s|str|string|text|txt|varchar|char|symbol|enum",
    "integer": "i|int|integer|long|bigint|uint|int32|int64|u64|i64",
    "number": "d|f|n|dbl|double|float|num|number|numeric|decimal|real|float64|f64",
    "boolean": "b|bool|boolean|flag|bit|logical",
    "document": "j|json|jsonb|object|obj|array|map|struct|blob|binary|bytes|raw",
    "time": "ts|date|time|datetime|timestamp",
}
_TYPE_OF: Final = {word: kind for kind, words in _TYPES.items() for word in words.split("|")}
_VALUE: Final = frozenset(
    {"v", "val", "value", "values", "reading", "data", "result", "measurement", "measure", "state"}
)
_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+(?:32|64)?|\d+")


_JOINED: Final = re.compile(
    f"(?P<a>{'|'.join(_TYPE_OF)})(?P<b>val|value|reading|result)|(?P<c>val|value|reading|result)(?P<d>{'|'.join(_TYPE_OF)})"
)


def _parts(word: str) -> list[str]:
    """`intvalue` is two words."""
    match = _JOINED.fullmatch(word)
    return [part for part in match.groups() if part] if match else [word]


def typed_values(columns: Iterable[str]) -> frozenset[str]:
    """The columns whose names differ only in a type, and otherwise mean a value; empty unless two types occur."""
    groups: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for column in columns:
        words = [part for word in _WORDS.findall(column) for part in _parts(word.lower())]
        kinds = [_TYPE_OF[word] for word in words if word in _TYPE_OF]
        rest = tuple(word for word in words if word not in _TYPE_OF)
        if len(kinds) <= 1 and len(words) <= 3 and set(rest) & _VALUE:
            # A plain `value` belongs to them, whatever its type.
            groups[rest][column] = kinds[0] if kinds else ""
    several = (group for group in groups.values() if len(set(group.values()) - {""}) > 1)
    return frozenset(column for group in several for column in group)
