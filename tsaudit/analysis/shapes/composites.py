"""Finds values that combine several attributes, such as `loc-kitchen.model-A612.id-1726ZA`."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from tsaudit.analysis.shapes.attributes import Attribute, Composite
from tsaudit.analysis.shapes.positional_attributes import FEWEST, positional
from tsaudit.analysis.shapes.shape_rules import kind_of

_MAJORITY: Final = 0.8
_LONGEST: Final = 400
"""In characters; longer values are prose or documents, whatever they contain."""

_PAIR_SEPARATORS: Final = (",", ";", "|", "&", ".", "/", " ")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD: Final = re.compile(r"[A-Za-z]+")
_AROUND: Final = " \"'"

_ONE_ATTRIBUTE: Final = frozenset(
    {"uuid", "ulid", "mac", "ip", "email", "url", "iso_time", "hash", "position", "epoch", "float", "integer"}
    | {"version", "sql", "duration", "hostname", "user_agent"}
)
"""Kinds of values that contain separators themselves."""


def split_composite(values: Sequence[str]) -> Composite | None:
    """The attributes that at least 80% of the distinct values contain in the same order; None if there are none."""
    distinct = sorted({v for v in values if v.strip() and len(v) <= _LONGEST})
    kinds = {v: kind_of(v) for v in distinct}
    candidates = [v for v in distinct if kinds[v] not in _ONE_ATTRIBUTE]
    if not distinct or len(candidates) < _MAJORITY * len(distinct):
        return None
    for separator, inner in itertools.product(_PAIR_SEPARATORS, ("=", ":", "-")):
        likely = sum(separator in v and inner in v for v in candidates)
        if likely >= _MAJORITY * len(distinct) and (separator, inner) != (" ", "-"):
            found = _agreed(separator, [_pairs(v, separator, inner) for v in candidates], candidates, len(distinct))
            if found and _is_meant(found[1], inner):
                return found[0]
    if found := _agreed(",", [_members(v) for v in candidates], candidates, len(distinct)):
        return found[0]
    is_prose = sum(kinds[v] == "log_text" for v in candidates) > (1 - _MAJORITY) * len(candidates)
    return positional(candidates, len(distinct), is_prose=is_prose)


class _Pair(NamedTuple):
    key: str
    text: str
    place: int
    """Where the text begins in the value."""


_Split = tuple[_Pair, ...]


def _pairs(value: str, separator: str, inner: str) -> _Split | None:
    """The value as pairs of key and value, `k=v,k=v`; None unless the whole value has this form."""
    key = _WORD if inner == "-" else _KEY
    pairs = []
    end = 0
    for part in value.strip("{}[]()").lstrip("/" if separator == "/" else "").split(separator):
        name, found, rest = part.strip().partition(inner)
        text = rest.strip(_AROUND)
        if not found or not text or not key.fullmatch(name):
            return None
        begin = value.index(text, value.index(name + inner, end) + len(name + inner))
        end = begin + len(text)
        pairs.append(_Pair(name, text, begin))
    return _numbered(pairs) if len(pairs) >= 2 else None


def _numbered(pairs: Sequence[_Pair]) -> _Split | None:
    """The pairs with unique keys: `DC=corp,DC=example` has `DC` and `DC_2`. None if they are only about one thing."""
    seen: Counter[str] = Counter()
    unique = []
    for pair in pairs:
        seen[pair.key] += 1
        unique.append(pair if seen[pair.key] == 1 else pair._replace(key=f"{pair.key}_{seen[pair.key]}"))
    return tuple(unique) if len(seen) >= 2 else None


def _members(value: str) -> _Split | None:
    """A flat JSON object as pairs; None for other values, as for documents with texts or further objects in them."""
    if not (value.startswith("{") and value.endswith("}")):
        return None
    try:
        read = json.loads(value)
    except ValueError:
        return None
    if len(read) < 2 or any(isinstance(v, dict | list) or len(str(v)) > _LONGEST_MEMBER for v in read.values()):
        return None
    # A text that is written in another way is not found, -1: then nothing of the value is shown.
    begins = {key: value.find(f'"{key}"') + len(key) + 2 for key in read}
    return tuple(_Pair(key, str(text), value.find(str(text), begins[key])) for key, text in read.items())


_LONGEST_MEMBER: Final = 40


def _agreed(
    separator: str, splits: Sequence[_Split | None], values: Sequence[str], total: int
) -> tuple[Composite, list[_Split]] | None:
    """The split with the most frequent keys, if they are frequent enough, and every value that it fits."""
    keys = Counter(tuple(pair.key for pair in split) for split in splits if split)
    if not keys:
        return None
    names, count = keys.most_common(1)[0]
    if count < _MAJORITY * total:
        return None
    matching = [(v, s) for v, s in zip(values, splits, strict=True) if s and tuple(pair.key for pair in s) == names]
    texts = _texts([split for _, split in matching])
    for name, different in zip(names, texts, strict=True):
        if name.endswith("_2") and len(different) > 1:
            return None  # such as OU=a,OU=b: levels of one hierarchy, of which there may be any number
    value, first = matching[0]
    parts, places = tuple(Attribute(pair.key, pair.text) for pair in first), tuple(pair.place for pair in first)
    return Composite(separator, parts, value, places), [s for _, s in matching]


def _is_meant(splits: Sequence[_Split], inner: str) -> bool:
    """Whether several pairs vary, if there are enough values to see that: `ns=2;i=1007` is the name of one thing.

    Of `a-b.c-d`, which may be a host name with its domain, there have to be three.
    """
    varying = sum(len(texts) > 1 for texts in _texts(splits))
    return (len(splits[0]) >= 3 and varying >= 2) if inner == "-" else len(splits) < FEWEST or varying >= 2


def _texts(splits: Sequence[_Split]) -> list[set[str]]:
    """The different texts of each key."""
    return [{pair.text for pair in pairs} for pairs in zip(*splits, strict=True)]
