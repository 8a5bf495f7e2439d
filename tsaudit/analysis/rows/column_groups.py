"""Finds columns that belong together: kinds of rows that share a table, readings that are split across rows, columns
that repeat together, and columns for values of any type, such as `str_v`, `long_v`, and `dbl_v`, of which each row
fills the one that fits; and the tag that determines whether a row's value is a number: the attribute in a table of
attributes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tsaudit.analysis.codes import Codes, combined, count_distinct, order_by

Mask = npt.NDArray[np.bool_]
Pattern = tuple[frozenset[str], int]
"""The columns that some rows fill, and the number of rows that fill exactly these."""

_RARE: Final = 0.01
"""Share of the rows below which a pattern is an outlier, which does not merge two groups of columns."""


def patterns(filled: Mapping[str, Mask]) -> list[Pattern]:
    """The sets of columns that rows fill, most common first. `filled`: column name to a mask of the rows that have a
    value in it.
    """
    names = list(filled)
    if not names or not len(filled[names[0]]):
        return []
    packed = np.packbits(np.stack([filled[name] for name in names]), axis=0)
    _, first, counts = np.unique(combined(list(packed), packed.shape[1]), return_index=True, return_counts=True)
    found = [(frozenset(n for n in names if filled[n][at]), int(c)) for at, c in zip(first, counts, strict=True)]
    return sorted(found, key=lambda one: (-one[1], sorted(one[0])))


def complementary(series: npt.NDArray[np.int64], times: npt.NDArray[Any], filled: Sequence[Mask]) -> tuple[int, int]:
    """The number of pairs of consecutive rows in the same series, and of the pairs whose two rows have no filled field
    in common.

    `series`: a number per row, the same for rows of one source. `times`: the time of each row. `filled`: for each
    field, a mask of the rows that have a value in it. Rows without any field are ignored.
    """
    if not filled:
        return 0, 0
    cells = np.column_stack(filled)
    order = order_by(series, times)
    order = order[cells[order].any(axis=1)]
    cells, series = cells[order], series[order]
    same = series[1:] == series[:-1]
    apart = ~(cells[1:] & cells[:-1]).any(axis=1)
    return int(same.sum()), int((same & apart).sum())


@dataclass(frozen=True, slots=True)
class FieldGroup:
    """Columns that rows fill together, and that no row fills together with columns of another group."""

    columns: tuple[str, ...]
    """Most frequently filled first."""
    rows: int
    """Number of rows that fill at least one of the columns."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The kinds of rows of a table."""

    common: tuple[str, ...]
    """Columns that rows of every kind fill."""
    groups: tuple[FieldGroup, ...]
    """Groups with the most rows first."""
    rows: int
    """Number of rows examined."""

    @property
    def coverage(self) -> float:
        """Share of the rows that fill columns of a group, 0 to 1; 1 if each row is of one of the kinds."""
        return sum(g.rows for g in self.groups) / self.rows if self.rows else 0.0


def groups(found: Iterable[Pattern], rows: int) -> Groups:
    """Divides the columns into those that all rows fill, and groups such that each row fills columns of at most one
    group.

    Two columns are in the same group if some row fills both, or if both are in the same group as a third column.
    Patterns with fewer than one row in a hundred are ignored. `rows`: the number of all rows; more than the patterns'
    total if not all patterns are known.
    """
    usual = [(columns, count) for columns, count in found if count >= _RARE * rows]
    if not usual:
        return Groups((), (), rows)
    common = frozenset.intersection(*(columns for columns, _ in usual))
    joined: list[set[str]] = []
    for columns, _ in usual:
        own = set(columns - common)
        touching = [group for group in joined if group & own]
        joined = [group for group in joined if not group & own]
        if own:
            joined.append(own.union(*touching))
    filled: Counter[str] = Counter()
    for columns, count in usual:
        filled.update(dict.fromkeys(columns, count))
    made = [
        FieldGroup(
            tuple(sorted(group, key=lambda c: (-filled[c], c))),
            sum(count for columns, count in usual if columns & group),
        )
        for group in joined
    ]
    return Groups(tuple(sorted(common)), tuple(sorted(made, key=lambda g: (-g.rows, g.columns))), rows)


_ROWS_EACH: Final = 10
"""Combinations repeat if there are at least this many rows for each: that many are no coincidence."""
_ALIKE: Final = 2
"""A column depends on another one if the two have at most this many times as many combinations as either has values."""


@dataclass(frozen=True, slots=True)
class Together:
    """Columns that depend on each other."""

    names: tuple[str, ...]
    combinations: int
    keys: tuple[str, ...]
    """The columns that have a different value for each combination."""


def repeated_together(columns: Mapping[str, Codes], rows: int) -> Iterator[Together]:
    """Groups of columns that depend on each other, and could be moved to a table with one row per combination.

    `columns`: a code per row, 0 or more, the same for equal values. A group begins with the first column that is in no
    group yet.
    """
    values = {name: count_distinct(codes) for name, codes in columns.items()}
    left = [name for name, count in values.items() if count * _ROWS_EACH <= rows]
    while left:
        first = left.pop(0)
        members, joint, combinations = [first], columns[first], values[first]
        # A column with a single value does not depend on any other.
        for name in [name for name in left if min(values[name], values[first]) > 1]:
            both = combined([joint, columns[name]], len(joint))
            found = int(both.max(initial=-1)) + 1
            if found <= _ALIKE * max(combinations, values[name]) and found * _ROWS_EACH <= rows:
                members.append(name)
                left.remove(name)
                joint, combinations = both, found
        yield Together(tuple(members), combinations, tuple(n for n in members if values[n] == combinations))


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


def _words(name: str) -> list[str]:
    return [part for word in _WORDS.findall(name) for part in _parts(word.lower())]


def is_same_but_for_affix(one: str, other: str) -> bool:
    """Whether a name is the other one with words or numbers before or after it, or both differ in a type only."""
    short, long = sorted(([w for w in _words(name) if w not in _TYPE_OF] for name in (one, other)), key=len)
    return bool(short) and short in (long[: len(short)], long[-len(short) :])


def typed_values(columns: Iterable[str]) -> frozenset[str]:
    """The columns whose names differ only in a type and otherwise stand for a value; empty unless at least two types
    occur.
    """
    groups: dict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for column in columns:
        words = _words(column)
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
