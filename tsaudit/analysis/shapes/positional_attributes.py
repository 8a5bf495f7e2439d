"""Finds attributes that have no keys, only places: `eu:prod:web:12`, `plant0/line0/dev000`."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.shapes.attributes import Attribute, Composite
from tsaudit.analysis.shapes.identifiers import identifier_kind

_MAJORITY: Final = 0.8
_FEWEST: Final = 8
"""Distinct values below which only a separator that is used for nothing else proves attributes."""
_FEW: Final = 0.35
"""Values of one attribute per value of the column up to which it is something to group by."""
_FILLED: Final = 0.6
"""Share of all combinations of the parts that occur."""

_PLAIN: Final = ("|", ";", "~", "#", "@", "::")
"""Separators that are hardly used for anything else."""
_OTHERS: Final = (":", "/", ",", ".", "_", "-")
"""Separators that names of one thing have, too."""
_FILE: Final = re.compile(
    r"/(?:bin|boot|dev|etc|home|lib|lib64|media|mnt|opt|proc|root|run|s?bin|srv|sys|tmp|usr|var)/"
)
"""The beginning of a path to a file, by the Filesystem Hierarchy Standard."""
_LABEL: Final = re.compile(r"([A-Za-z]+)[-_]?\d+")
_GROUPS: Final = re.compile(r"[\[({<][^\[\](){}<>]+[\])}>]")
"""Brackets around each attribute: `[DE][Berlin][Store 3]`."""
_INSIDE: Final = re.compile(r"[-.]")
_LETTERS: Final = re.compile(r"[A-Za-z]*[G-Zg-z][A-Za-z]*")


@dataclass(frozen=True, slots=True)
class _Place:
    """The pieces of all values at one place."""

    texts: tuple[str, ...]
    label: str
    """What precedes a number in all pieces, such as `line` in `line0`; empty if there is nothing of the kind."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Place:
        labels = Counter(found[1] for t in texts if (found := _LABEL.fullmatch(t)))
        label, count = labels.most_common(1)[0] if labels else ("", 0)
        return cls(tuple(texts), label if count >= 0.9 * len(texts) else "")

    @property
    def values(self) -> int:
        return len(set(self.texts))

    @property
    def is_few(self) -> bool:
        """Whether several values come again and again."""
        return 2 <= self.values <= _FEW * len(self.texts)

    @property
    def is_word(self) -> bool:
        """Whether it varies and most values are words, or have letters that no hexadecimal number has."""
        words = sum(t.isalpha() or bool(_LETTERS.search(t)) for t in self.texts)
        return self.values > 1 and (bool(self.label) or words >= 0.9 * len(self.texts))


def positional(values: Sequence[str], total: int) -> Composite | None:
    """The attributes that at least 80% of `total` values have at the same place; None if there are none."""
    for separator in (_BRACKETS, *_PLAIN, *_OTHERS):
        split = [_pieces(v, separator) for v in values]
        count, often = Counter(map(len, split)).most_common(1)[0]
        if count < 2 or often < _MAJORITY * total or often < 3:
            continue
        alike = [(v, [p.strip() for p in s]) for v, s in zip(values, split, strict=True) if len(s) == count]
        places = [_Place.of([s[i] for _, s in alike]) for i in range(count)]
        if any("" in p.texts and p.values > 1 for p in places):
            continue
        if _are_alike(places):
            continue
        if _is_meant(separator, places, alike[0][0]) and not _is_identifier(values, places):
            varying = tuple(i for i, p in enumerate(places) if p.values > 1)
            where = varying if len(varying) < count else ()
            return Composite(separator, tuple(_parts(places)), alike[0][0], where)
    return None


_BRACKETS: Final = "]["


def _pieces(value: str, separator: str) -> list[str]:
    if separator != _BRACKETS:
        return value.split(separator)
    groups = _GROUPS.findall(value)
    return [group[1:-1] for group in groups] if groups and "".join(groups) == value else [value]


def _are_alike(places: Sequence[_Place]) -> bool:
    """Whether the value is a list of equal things, `shop.example|www.shop.example`, and not of attributes of one."""
    varying = [p for p in places if p.values > 1 and not all(map(str.isdecimal, p.texts))]
    for one, other in itertools.combinations(varying, 2):
        inside = sum(a in b or b in a for a, b in zip(one.texts, other.texts, strict=True) if min(len(a), len(b)) > 2)
        common = set(one.texts) & set(other.texts)
        is_same = one.label and one.label == other.label
        if is_same or inside > _ALIKE * len(one.texts) or len(common) > _ALIKE * min(one.values, other.values):
            return True
    return False


_ALIKE: Final = 0.5


def _is_meant(separator: str, places: Sequence[_Place], example: str) -> bool:
    """Whether the places are attributes, and not the words of a name or the levels of a path."""
    varying = [p for p in places if p.values > 1]
    if len(varying) < 2:
        return False
    if separator in (*_PLAIN, _BRACKETS):
        # `Xeon Gold @ 2.10GHz` is prose.
        return separator != "@" or " " not in example
    if len(varying[0].texts) < _FEWEST or len(places) < 2:
        return False
    if _FILE.match(example):
        return False
    if sum(bool(p.label) for p in varying) >= 2:
        return True
    if separator == "_" and len(places) >= 3 and all(p.is_few for p in varying):
        # What is between the underscores is itself made of pieces: they are not the blanks of one name.
        return any(all(map(_INSIDE.search, p.texts)) for p in varying)
    if separator in "_-" or len(places) < 3:
        return False
    if separator == "/" and _keyed(places):
        return True
    if separator in "/:" and _is_grid(places):
        return True
    words, few = sum(p.is_word for p in varying), sum(p.is_few or bool(p.label) for p in varying)
    if example.startswith("/") or words < 2:
        return False
    if separator == ".":
        return few >= 3
    return few >= 2 or (separator == ":" and few >= 1 and len(varying) >= 3)


def _is_grid(places: Sequence[_Place]) -> bool:
    """Whether numbered things of one kind are inside those of another, and nearly each has the same: `sw1/gi1/0/12`."""
    varying = [p for p in places if p.values > 1]
    numbered = {p.label.lower() for p in places if p.label}
    if len(numbered) < 2 or not any(p.label for p in varying) or not all(p.is_few for p in varying):
        return False
    return len(set(zip(*(p.texts for p in varying), strict=True))) >= _FILLED * math.prod(p.values for p in varying)


def _keyed(places: Sequence[_Place]) -> bool:
    """Whether each piece that varies follows one that names it: `projects/shop/zones/west`."""
    named = [
        i > 0 and places[i - 1].values == 1 and bool(_LETTERS.search(places[i - 1].texts[0]))
        for i, place in enumerate(places)
        if place.values > 1
    ]
    return len(named) >= 2 and all(named)


def _is_identifier(values: Sequence[str], places: Sequence[_Place]) -> bool:
    """Whether an ID is all there is to it: nothing to group by."""
    return not any(p.is_few for p in places) and identifier_kind(values) is not None


def _parts(places: Sequence[_Place]) -> list[Attribute]:
    keyed = _keyed(places)
    found: list[Attribute] = []
    for i, place in enumerate(places):
        if place.values > 1:
            name = place.label or (places[i - 1].texts[0] if keyed else "") or f"part_{len(found) + 1}"
            taken = any(part.name.lower() == name.lower() for part in found)
            found.append(Attribute(f"part_{len(found) + 1}" if taken else name, place.texts[0]))
    return found
