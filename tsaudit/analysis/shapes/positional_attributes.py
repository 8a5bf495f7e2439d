"""Finds attributes that have no keys, only positions: `eu:prod:web:12`, `[DE][Berlin]`, `cart@web01:8080`.

Values are compared by the separators between their words. With separators that are hardly used for anything else, two
pieces that vary are attributes. Other separators also occur in names of a single thing, so more evidence from the
pieces is needed.
"""

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
FEWEST: Final = 8
"""With fewer distinct values, only a separator that is used for nothing else proves attributes."""
_FEW: Final = 0.5
"""A piece can be used for grouping if it has at most this many distinct values per value of the column."""
_NEARLY_ALL: Final = 0.9
_ENOUGH: Final = 20
"""With fewer values, all combinations of pieces may be the members of an enumeration."""
_COMBINED: Final = 0.5
"""Minimum share of all combinations of the pieces that must occur."""
_ALIKE: Final = 0.5

_PLAIN: Final = r"->|=>|::+|__+|--+|(?<= )[-/](?= )|%(?! )|[|;~#@^<>\\\t→!$&*\[\](){}]"
"""Separators that are hardly used for anything else, including brackets."""


def _between(separators: str) -> re.Pattern[str]:
    """One or more of the separators, with spaces and quotes around them."""
    return re.compile(rf"[ \"']*+(?:(?:{separators})[ \"']*+)++")


_QUOTES: Final = re.compile("[\"']")
_PLAIN_ONLY: Final = _between(_PLAIN)
_SPLITS: Final = (_between(rf"{_PLAIN}|[:/,=+]"), _PLAIN_ONLY, *map(_between, (":", "/", ",", "_", r"\.", "-")))
"""The ways to split values, tried in this order."""
_ARROW: Final = re.compile("->|=>|→")
_PATH: Final = re.compile(r"[A-Za-z]:\\|\\\\|/")
_FILE: Final = re.compile(
    r"[A-Za-z]:\\|\\\\|/(?:bin|boot|dev|etc|home|lib|lib64|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var)/"
)
"""The beginning of a file path, on Windows or by the Filesystem Hierarchy Standard."""
_LABEL: Final = re.compile(r"([^\W\d_]+)[-_ ]?\d+")
_INSIDE: Final = re.compile(r"[-.]")
_LETTERS: Final = re.compile(r"[^\W\d_a-f]", re.IGNORECASE)
_LETTER: Final = re.compile(r"[^\W\d_]")
_PROSE: Final = re.compile(r" .* ")
_VERSION: Final = re.compile(r"^v?\d+\.\d+[\w.-]*$")


@dataclass(frozen=True, slots=True)
class _Place:
    """The pieces of all values at one position."""

    texts: tuple[str, ...]
    label: str
    """The text before the number in all pieces, such as `line` in `line0`; empty if there is none."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Place:
        labels = Counter(found[1] for t in texts if (found := _LABEL.fullmatch(t)))
        label, count = labels.most_common(1)[0] if labels else ("", 0)
        return cls(tuple(texts), label if count >= _NEARLY_ALL * len(texts) else "")

    @property
    def values(self) -> int:
        return len(set(self.texts))

    @property
    def is_few(self) -> bool:
        """Whether there are several values that recur."""
        return 2 <= self.values <= _FEW * len(self.texts)

    @property
    def is_word(self) -> bool:
        """Whether the piece varies, and contains words: letters that do not occur in hexadecimal numbers, or any
        letters if it has few values.
        """
        form = _LETTER if self.is_few else _LETTERS
        return self.values > 1 and (bool(self.label) or self.share(form) >= _NEARLY_ALL)

    def share(self, form: re.Pattern[str]) -> float:
        """The share of the pieces in which the pattern occurs, 0 to 1."""
        return sum(bool(form.search(t)) for t in self.texts) / len(self.texts)


def positional(values: Sequence[str], total: int, *, is_prose: bool) -> Composite | None:
    """The attributes that at least 80% of `total` values have at the same position; None if there are none.

    `is_prose`: the values may be sentences, so every piece that varies has to recur.
    """
    for between in _SPLITS:
        found = _usual(between, values, max(3, _MAJORITY * total))
        if found is None:
            continue
        alike = [v for v in values if tuple(between.findall(v)) == found]
        places = [_Place.of(texts) for texts in zip(*map(between.split, alike), strict=True)]
        varying = [i for i, place in enumerate(places) if place.values > 1]
        if len(varying) < 2 or any("" in places[i].texts or places[i].share(_PROSE) > 1 - _MAJORITY for i in varying):
            continue
        if is_prose and not all(places[i].is_few or places[i].label for i in varying):
            continue
        inner = [_QUOTES.sub("", separator) for separator in found[varying[0] : varying[-1]]]
        if _are_alike(places, inner) or not _is_meant(inner, places, alike[0]) or _is_identifier(values, places):
            continue
        begins = [0, *(match.end() for match in between.finditer(alike[0]))]
        return Composite(tuple(_parts(places)), alike[0], tuple(begins[i] for i in varying))
    return None


def _usual(between: re.Pattern[str], values: Sequence[str], least: float) -> tuple[str, ...] | None:
    """The most common separators, which at least `least` values have; None if none have that many, without reading on
    once that is clear.
    """
    counts: Counter[tuple[str, ...]] = Counter()
    most, left = 0, len(values)
    for value in values:
        left -= 1
        if found := tuple(between.findall(value)):
            counts[found] += 1
            most = max(most, counts[found])
        if most + left < least:
            return None
    return counts.most_common(1)[0][0]


def _are_alike(places: Sequence[_Place], separators: Sequence[str]) -> bool:
    """Whether the values are lists of equal things, `shop.example|www.shop.example`, rather than attributes of one
    thing.
    """
    is_route = any(map(_ARROW.search, separators))
    varying = [p for p in places if p.values > 1 and not (is_route or all(map(str.isdecimal, p.texts)))]
    for one, other in itertools.combinations(varying, 2):
        inside = sum(a in b or b in a for a, b in zip(one.texts, other.texts, strict=True) if min(len(a), len(b)) > 2)
        common = set(one.texts) & set(other.texts)
        is_same = one.label and one.label == other.label
        if is_same or inside > _ALIKE * len(one.texts) or len(common) > _ALIKE * min(one.values, other.values):
            return True
    return False


def _is_meant(separators: Sequence[str], places: Sequence[_Place], example: str) -> bool:
    """Whether the pieces are attributes, and not the words of a name or the levels of a path.

    `separators`: the separators from the first position that varies to the last.
    """
    varying = [p for p in places if p.values > 1]
    labels, few = sum(bool(p.label) for p in varying), sum(p.is_few or bool(p.label) for p in varying)
    is_release = any(p.share(_VERSION) >= _MAJORITY for p in varying) and re.search("[@:(]", "".join(separators))
    if _FILE.match(example) or is_release:
        return False
    is_plain = any(map(_PLAIN_ONLY.search, separators)) and not _PATH.match(example)
    if len(varying[0].texts) < FEWEST:
        return is_plain and all(map(_PLAIN_ONLY.fullmatch, separators))
    if is_plain:
        # `Xeon Gold @ 2.10GHz` is prose.
        return (few >= 1 or set("".join(separators)) <= set("|;~# ")) and " @ " not in separators
    if labels >= 2:
        return True
    joined = "".join(separators).replace(" ", "")
    if set(joined) == {"_"} and len(places) >= 3 and few == len(varying):
        # If the pieces between underscores have separators of their own, or occur in all combinations, the underscores
        # are not just spaces between words.
        combined = len(set(zip(*(p.texts for p in varying), strict=True))) / math.prod(p.values for p in varying)
        return any(all(map(_INSIDE.search, p.texts)) for p in varying) or (
            len(varying) >= 3 and combined >= _COMBINED and len(varying[0].texts) >= _ENOUGH
        )
    if joined[0] in "_-" or len(places) < 3:
        return False
    if set(joined) == {"/"} and _keyed(places):
        return True
    if _PATH.match(example):
        return False
    if labels and few == len(varying) and len({p.label for p in places if p.label}) > 1:
        return True  # numbered things inside those of another kind: `sw1/gi1/0/12`
    if sum(p.is_word for p in varying) < 2:
        return False
    if set(joined) == {"."}:
        return few >= 3
    return few >= 2 or (":" in joined and few >= 1 and len(varying) >= 3)


def _keyed(places: Sequence[_Place]) -> bool:
    """Whether each piece that varies follows one that names it: `projects/shop/zones/west`."""
    named = [
        i > 0 and places[i - 1].values == 1 and bool(_LETTERS.search(places[i - 1].texts[0]))
        for i, place in enumerate(places)
        if place.values > 1
    ]
    return len(named) >= 2 and all(named)


def _is_identifier(values: Sequence[str], places: Sequence[_Place]) -> bool:
    """Whether the values are nothing but IDs: there is no piece to group by."""
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
