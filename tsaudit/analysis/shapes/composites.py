"""Finds values that combine several attributes, such as `loc-kitchen.model-A612.id-1726ZA`."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.analysis.shapes.attributes import Attribute, Composite
from tsaudit.analysis.shapes.positional_attributes import FEWEST, positional
from tsaudit.analysis.shapes.remembered import remembered
from tsaudit.analysis.shapes.shape_rules import kind_of

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
    objects = [_members(v) for v in candidates] if any(v.startswith("{") for v in candidates) else []
    if objects and (found := _agreed(objects, candidates, len(distinct))):
        return found[0]
    is_prose = sum(kinds[v] == "log_text" for v in candidates) > (1 - _MAJORITY) * len(candidates)
    return positional(candidates, len(distinct), is_prose=is_prose)


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


def _members(value: str) -> _Split | None:
    """A flat JSON object as pairs; None for other values, as for documents with texts or further objects in them."""
    try:
        found = json.loads(value) if value.startswith("{") and value.endswith("}") else {}
    except ValueError:
        return None
    is_flat = all(not isinstance(v, dict | list) and len(str(v)) <= _LONGEST_MEMBER for v in found.values())
    return tuple((key, str(text)) for key, text in found.items()) if len(found) >= 2 and is_flat else None


_LONGEST_MEMBER: Final = 40


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
