"""Finds columns that contain the same data under two names."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from statistics import median
from typing import Final

_ALIKE: Final = 0.5
"""Minimum similarity of two columns that may contain the same data."""
_CLOSE: Final = 0.8
"""Minimum similarity of the spelling of two words for one to be another spelling of the other."""
_GENERIC: Final = frozenset({"name", "value", "val"})
"""Words that can be added to a name without changing its meaning."""
_SAME_SPREAD: Final = 3.0
"""Two columns vary alike if their relative ranges differ by at most this factor."""
_FEWEST_NUMBERS: Final = 3
"""Minimum number of values that show how numbers vary."""
_STEADY: Final = 0.05
"""Values with a relative range below this count as steady; how steady is a coincidence."""


@dataclass(frozen=True, slots=True)
class DescribedTag:
    """What is known about a column, for comparing it with another one."""

    name: str
    """The column's name; a path with dots if it is nested."""
    role: str
    """Only columns with the same role are compared."""
    sample: tuple[str, ...]
    kind: str = ""
    """What its type stores, such as `number` or `text`: only columns of the same kind are compared. Empty
    if not known.
    """


@dataclass(frozen=True, slots=True)
class Renaming:
    """Two columns, one from each group, that may contain the same data under two names."""

    kept: str
    other: str


def renamings(first: Iterable[DescribedTag], second: Iterable[DescribedTag]) -> tuple[Renaming, ...]:
    """Pairs of columns that look alike, most similar first; each column is in one pair at most.

    Names are similar if each word of one abbreviates a word of the other or is spelled almost like it. Names suffice
    only if nothing known about the values contradicts them. Values alone suffice if they are tags of the same form, or
    numbers of the same magnitude that vary alike. Each pair is a suggestion to check, not a proof. The longer of the
    two names is kept.
    """
    others = tuple(second)
    scored = [(_likeness(a, b), a.name, b.name) for a in first for b in others]
    taken: set[str] = set()
    pairs = []
    for score, a, b in sorted(scored, key=lambda one: (-one[0], one[1], one[2])):
        if score >= _ALIKE and not taken & {a, b}:
            taken |= {a, b}
            kept, other = (a, b) if (len(a), b) >= (len(b), a) else (b, a)
            pairs.append(Renaming(kept, other))
    return tuple(pairs)


def _likeness(a: DescribedTag, b: DescribedTag) -> float:
    """Similarity of two columns, from 0 to 1."""
    if a.role != b.role or (a.kind and b.kind and a.kind != b.kind):
        return 0.0
    if not _is_same_place(a.name, b.name):
        return 0.0
    by_name = _names_alike(a.name, b.name) if _may_be_the_same(a, b) else 0.0
    return max(by_name, _values_alike(a, b))


def _is_same_place(a: str, b: str) -> bool:
    """Whether both are fields of the same document: a field of another part of it has another meaning."""
    return a.rpartition(".")[0] == b.rpartition(".")[0]


def _names_alike(a: str, b: str) -> float:
    words_a, words_b = _words(a), _words(b)
    if "".join(words_a) == "".join(words_b):
        return 1.0
    plain_a, plain_b = ([w for w in words if w not in _GENERIC] or words for words in (words_a, words_b))
    if len(plain_a) != len(plain_b):
        # An additional word changes the meaning: `user` and `user_agent`.
        return 0.0
    return min(_word_alike(one, other) for one, other in zip(plain_a, plain_b, strict=True))


def _words(name: str) -> list[str]:
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+", name.rpartition(".")[2])
    return [part.casefold() for part in parts] or [name.casefold()]


def _word_alike(a: str, b: str) -> float:
    if a == b:
        return 1.0
    short, long = sorted((a, b), key=len)
    if short[:1] != long[:1] or short.isdigit() or long.isdigit():
        return 0.0
    if _is_abbreviation(short, long):
        return 0.9
    ratio = SequenceMatcher(None, short, long, autojunk=False).ratio()
    return ratio if ratio >= _CLOSE else 0.0


def _is_abbreviation(short: str, long: str) -> bool:
    """Whether the short word is the beginning of the long one, or consists of some of its consonants."""
    if len(short) >= 3 and long.startswith(short):
        return True
    letters = iter(long)
    return len(short) >= 2 and not set(short[1:]) & set("aeiou") and all(letter in letters for letter in short)


def _may_be_the_same(a: DescribedTag, b: DescribedTag) -> bool:
    """Whether the values of columns with similar names could be the same data. Tags always could: a tag may name the
    same source in another way.
    """
    if a.role == "tag" or not a.sample or not b.sample:
        return True
    numbers_a, numbers_b = _numbers(a.sample), _numbers(b.sample)
    if numbers_a and numbers_b:
        # A factor of ten means another unit, or another quantity.
        return (apart := _magnitudes_apart(numbers_a, numbers_b)) is None or apart < 1
    return bool(numbers_a) == bool(numbers_b) and _is_prose(a.sample) == _is_prose(b.sample)


def _values_alike(a: DescribedTag, b: DescribedTag) -> float:
    """Similarity of the values, 0 to 1, for columns whose names do not resemble each other."""
    if not a.sample or not b.sample:
        return 0.0
    numbers_a, numbers_b = _numbers(a.sample), _numbers(b.sample)
    if numbers_a and numbers_b:
        apart = _magnitudes_apart(numbers_a, numbers_b)
        if (
            apart is None
            or min(len(numbers_a), len(numbers_b)) < _FEWEST_NUMBERS
            or not _vary_alike(numbers_a, numbers_b)
        ):
            return 0.0
        # A factor of ten means another quantity; similar numbers are weaker evidence than strings of the same form.
        return max(0.0, 0.7 - apart)
    if numbers_a or numbers_b or a.role != "tag":
        # Texts of the same form are seldom the same field: compare creation and shipping times, or titles and names.
        return 0.0
    forms_a, forms_b = {_form(value) for value in a.sample}, {_form(value) for value in b.sample}
    return len(forms_a & forms_b) / len(forms_a | forms_b)


def _magnitudes_apart(a: Sequence[float], b: Sequence[float]) -> float | None:
    """How many powers of ten the medians are apart; None if one of them is zero."""
    size_a, size_b = median(map(abs, a)), median(map(abs, b))
    return abs(math.log10(size_a / size_b)) if size_a and size_b else None


def _vary_alike(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether both or neither contain only whole numbers, and their ranges are about equally wide relative to their
    size.
    """
    if all(v.is_integer() for v in a) != all(v.is_integer() for v in b):
        return False
    low, high = sorted((max(values) - min(values)) / max(map(abs, values)) for values in (a, b))
    return high <= _STEADY or high <= _SAME_SPREAD * low


def _is_prose(values: Sequence[str]) -> bool:
    """Whether most values consist of several words."""
    return sum(len(value.split()) > 2 for value in values) * 2 > len(values)


def _form(value: str) -> str:
    """The form of the value: each letter and digit replaced by a placeholder, such as `AAA` for `USD`."""
    return re.sub(r"[a-z]", "a", re.sub(r"[A-Z]", "A", re.sub(r"\d", "0", value)))


def _numbers(values: Sequence[str]) -> list[float]:
    """The values as numbers; empty unless all of them are finite numbers."""
    try:
        found = [float(value) for value in values]
    except ValueError:
        return []
    return found if all(map(math.isfinite, found)) else []
