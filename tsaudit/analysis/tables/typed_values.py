"""Finds sets of columns for values of any type, such as `str_v`, `long_v`, and `dbl_v`, of which each row fills the one
that fits; and finds the tag that determines whether a row's value is a number: the attribute in a table of attributes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import combined, count_distinct

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
    """The words in a joined word: `intvalue` is two words."""
    match = _JOINED.fullmatch(word)
    return [part for part in match.groups() if part] if match else [word]


def typed_values(columns: Iterable[str]) -> frozenset[str]:
    """The columns whose names differ only in a type and otherwise stand for a value; empty unless at least two types
    occur.
    """
    groups: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for column in columns:
        words = [part for word in _WORDS.findall(column) for part in _parts(word.lower())]
        kinds = [_TYPE_OF[word] for word in words if word in _TYPE_OF]
        rest = tuple(word for word in words if word not in _TYPE_OF)
        if len(kinds) <= 1 and len(words) <= 3 and set(rest) & _VALUE:
            # A plain `value` belongs to the group, whatever its type.
            groups[rest][column] = kinds[0] if kinds else ""
    several = (group for group in groups.values() if len(set(group.values()) - {""}) > 1)
    return frozenset(column for group in several for column in group)


_MOST: Final = 50
"""Most values of an attribute: a tag with more values names things."""
_FEWEST_ROWS: Final = 10
"""Fewest rows of an attribute that show what its values are."""
_NEARLY: Final = 0.95
"""Share of an attribute's rows that must be numbers, or must not be numbers."""
_CROSSED: Final = 2.0
"""Minimum number of attributes per thing, and of things per attribute, on average: with fewer, the tag names the things
themselves or groups of them.
"""


@dataclass(frozen=True, slots=True)
class Split:
    """A tag by whose values the values of a text column can be separated into numbers and texts."""

    tag: str
    numbers: tuple[int, ...]
    """The codes of the tag in whose rows the values are numbers."""
    others: tuple[int, ...]
    """The codes of the tag in whose rows the values are not numbers."""


def split_by(
    tags: Mapping[str, npt.NDArray[np.int64]], is_number: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_]
) -> Split | None:
    """The tag whose values separate numbers from texts; if there are several, the one with the fewest values; None if
    there is none.

    `tags`: tag name to a code per row, negative if the row has no value. `is_number`: whether the text of the row is a
    number. `known`: whether the row has a text.
    """
    found: list[tuple[int, Split]] = []
    for name, codes in tags.items():
        rows = known & (codes >= 0)
        values, place = np.unique(codes[rows], return_inverse=True)
        if not 2 <= len(values) <= _MOST or rows.sum() < _NEARLY * known.sum():
            continue
        counts = np.bincount(place, minlength=len(values))
        shares = np.bincount(place, weights=is_number[rows], minlength=len(values)) / counts
        enough = counts >= _FEWEST_ROWS
        numbers, texts = values[enough & (shares >= _NEARLY)], values[enough & (shares <= 1 - _NEARLY)]
        if not len(numbers) or not len(texts) or len(numbers) + len(texts) < enough.sum():
            continue
        others = [other[rows] for key, other in tags.items() if key != name]
        # A tag with a text that repeats the rest of the row would make each row a thing of its own, so each tag is also
        # tried alone.
        if max(_crossed(codes[rows], things) for things in (others, *([one] for one in others))) >= _CROSSED:
            found.append((len(values), Split(name, tuple(numbers.tolist()), tuple(texts.tolist()))))
    return min(found, key=lambda one: one[0])[1] if found else None


def _crossed(codes: npt.NDArray[np.int64], others: list[npt.NDArray[np.int64]]) -> float:
    """The mean number of things per value, or the mean number of values per thing, whichever is smaller."""
    if not others:
        return 0.0
    things = combined(others, len(codes))
    pairs = int(combined([codes, things], len(codes)).max()) + 1
    return min(pairs / count_distinct(codes), pairs / (int(things.max()) + 1))
