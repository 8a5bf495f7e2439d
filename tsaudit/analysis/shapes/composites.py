"""Finds values that combine several attributes, such as `loc-kitchen.model-A612.id-1726ZA`.

Attributes without keys have positions: `eu:prod:web:12`, `[DE][Berlin]`, `cart@web01:8080`. Such values are compared by
the separators between their words. With separators that are hardly used for anything else, two pieces that vary are
attributes. Other separators also occur in names of a single thing, so more evidence from the pieces is needed.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.shapes.shape_rules import kind_of, remembered

_MAJORITY: Final = 0.8
_LONGEST: Final = 400
"""In characters; longer values are prose or documents, whatever they contain."""

_PAIR_SEPARATORS: Final = (",", ";", "|", "&", ".", "/", " ")
_PAIR_SIGNS: Final = ("=", ":", "-")
_MARKS: Final = frozenset((*_PAIR_SEPARATORS, *_PAIR_SIGNS))
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD: Final = re.compile(r"[A-Za-z]+")

_ONE_ATTRIBUTE: Final = frozenset(
    {"uuid", "ulid", "mac", "ip", "email", "url", "iso_time", "hash", "position", "epoch", "float", "integer"}
    | {"version", "sql", "duration", "hostname", "user_agent"}
)
"""Kinds of values that contain separators themselves."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute within a value or a name."""

    name: str
    example: str


@dataclass(frozen=True, slots=True)
class Composite:
    """How the values of one tag or field split into attributes."""

    parts: tuple[Attribute, ...]
    """Named after the key of each attribute; `part_1`, `part_2`, ... if there are no keys. In that case, parts that are
    the same in all values are left out.
    """
    example: str
    """The complete value that the examples of the parts come from."""
    places: tuple[int, ...]
    """The position in the example at which the text of each part begins."""


def split_composite(values: Sequence[str]) -> Composite | None:
    """The attributes that at least 80% of the distinct values contain in the same order; None if there are none."""
    return remembered(_attributes_of, values)


def _attributes_of(values: Sequence[str]) -> Composite | None:
    distinct = sorted({v for v in values if v.strip() and len(v) <= _LONGEST})
    kinds = {v: kind_of(v) for v in distinct}
    candidates = [v for v in distinct if kinds[v] not in _ONE_ATTRIBUTE]
    if not distinct or len(candidates) < _MAJORITY * len(distinct):
        return None
    # Most columns have no pairs at all.
    marks_of_all = _MARKS.intersection("".join(candidates))
    pairs = [(a, b) for a, b in itertools.product(_PAIR_SEPARATORS, _PAIR_SIGNS) if {a, b} <= marks_of_all]
    used = Counter(_MARKS.intersection(v) for v in candidates) if pairs else Counter[frozenset[str]]()
    for separator, inner in pairs:
        likely = sum(count for marks, count in used.items() if separator in marks and inner in marks)
        if likely >= _MAJORITY * len(distinct) and (separator, inner) != (" ", "-"):
            found = _agreed([_pairs(v, separator, inner) for v in candidates], candidates, len(distinct))
            if found and _is_meant(found[1], inner):
                return found[0]
    is_prose = sum(kinds[v] == "log_text" for v in candidates) > (1 - _MAJORITY) * len(candidates)
    return _positional(candidates, len(distinct), is_prose=is_prose)


_Split = tuple[tuple[str, str], ...]


def _pairs(value: str, separator: str, inner: str) -> _Split | None:
    """The value as pairs of key and value, `k=v,k=v`; None unless the whole value has this form."""
    key = _WORD if inner == "-" else _KEY
    pairs = []
    for part in value.strip("{}[]()").lstrip("/" if separator == "/" else "").split(separator):
        name, found, rest = part.strip().partition(inner)
        text = rest.strip(" \"'")
        if not found or not text or not key.fullmatch(name):
            return None
        pairs.append((name, text))
    return _numbered(pairs) if len(pairs) >= 2 else None


def _numbered(pairs: Sequence[tuple[str, str]]) -> _Split | None:
    """The pairs with unique keys: `DC=corp,DC=example` has `DC` and `DC_2`. None if they are only about one thing."""
    seen: Counter[str] = Counter()
    unique = []
    for name, text in pairs:
        seen[name] += 1
        unique.append((name if seen[name] == 1 else f"{name}_{seen[name]}", text))
    return tuple(unique) if len(seen) >= 2 else None


def _agreed(
    splits: Sequence[_Split | None], values: Sequence[str], total: int
) -> tuple[Composite, list[_Split]] | None:
    """The split with the most frequent keys, if they are frequent enough, and every value that it fits."""
    keys = Counter(tuple(name for name, _ in split) for split in splits if split)
    if not keys:
        return None
    names, count = keys.most_common(1)[0]
    if count < _MAJORITY * total:
        return None
    matching = [(v, s) for v, s in zip(values, splits, strict=True) if s and tuple(n for n, _ in s) == names]
    for name, texts in zip(names, _texts([split for _, split in matching]), strict=True):
        if name.endswith("_2") and len(texts) > 1:
            return None  # such as OU=a,OU=b: levels of one hierarchy, of which there may be any number
    value, first = matching[0]
    parts = tuple(Attribute(*pair) for pair in first)
    return Composite(parts, value, tuple(_places(value, first))), [s for _, s in matching]


def _places(value: str, split: _Split) -> Iterator[int]:
    """Where the texts begin, each behind its key; -1 for one that is written in another way, as in JSON."""
    end = 0
    for name, text in split:
        key = re.sub(r"_\d+$", "", name)
        place = value.find(text, value.find(key, end) + len(key))
        yield place
        end = place + len(text)


def _is_meant(splits: Sequence[_Split], inner: str) -> bool:
    """Whether several pairs vary, if there are enough values to see that: `ns=2;i=1007` is the name of one thing.

    Of `a-b.c-d`, which may be a host name with its domain, there have to be three.
    """
    varying = sum(len(texts) > 1 for texts in _texts(splits))
    return (len(splits[0]) >= 3 and varying >= 2) if inner == "-" else len(splits) < FEWEST or varying >= 2


def _texts(splits: Sequence[_Split]) -> list[set[str]]:
    """The different texts of each key."""
    return [{text for _, text in pairs} for pairs in zip(*splits, strict=True)]


FEWEST: Final = 8
"""With fewer distinct values, only a separator that is used for nothing else proves attributes."""
_FEW: Final = 0.5
"""A piece can be used for grouping if it has at most this many distinct values per value of the column."""
_NEARLY_ALL: Final = 0.9
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
_LETTERS: Final = re.compile(r"[^\W\d_a-f]", re.IGNORECASE)
_LETTER: Final = re.compile(r"[^\W\d_]")
_PROSE: Final = re.compile(r" .* ")


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


def _positional(values: Sequence[str], total: int, *, is_prose: bool) -> Composite | None:
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
        if _are_alike(places, inner) or not _are_attributes(inner, places, alike[0]):
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


def _are_attributes(separators: Sequence[str], places: Sequence[_Place], example: str) -> bool:
    """Whether the pieces are attributes, and not the words of a name or the levels of a path.

    `separators`: the separators from the first position that varies to the last.
    """
    varying = [p for p in places if p.values > 1]
    labels, few = sum(bool(p.label) for p in varying), sum(p.is_few or bool(p.label) for p in varying)
    if _FILE.match(example):
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
    if joined[0] in "_-" or len(places) < 3:
        return False
    if _PATH.match(example):
        return False
    if labels and few == len(varying) and len({p.label for p in places if p.label}) > 1:
        return True  # numbered things inside those of another kind: `sw1/gi1/0/12`
    if sum(p.is_word for p in varying) < 2:
        return False
    if set(joined) == {"."}:
        return few >= 3
    return few >= 2 or (":" in joined and few >= 1 and len(varying) >= 3)


def _parts(places: Sequence[_Place]) -> list[Attribute]:
    found: list[Attribute] = []
    for place in places:
        if place.values > 1:
            name = place.label or f"part_{len(found) + 1}"
            taken = any(part.name.lower() == name.lower() for part in found)
            found.append(Attribute(f"part_{len(found) + 1}" if taken else name, place.texts[0]))
    return found
