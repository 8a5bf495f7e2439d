"""Finds values that combine several attributes, such as `loc-kitchen.model-A612.id-1726ZA`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from tsaudit.analysis.shapes.attributes import Attribute, Composite
from tsaudit.analysis.shapes.positional_attributes import positional
from tsaudit.analysis.shapes.shape_rules import kind_of

_MAJORITY: Final = 0.8
_LONGEST: Final = 400
"""In characters; longer values are prose or documents, whatever they contain."""

_PAIR_SEPARATORS: Final = (",", ";", "|", "&", ".", "/", " ")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD: Final = re.compile(r"[A-Za-z]+")

_ONE_ATTRIBUTE: Final = frozenset(
    {"uuid", "ulid", "mac", "ip", "email", "url", "iso_time", "hash", "position", "epoch", "float", "integer"}
    | {"version", "sql", "log_text", "hostname", "user_agent"}
)
"""Kinds of values that contain separators themselves."""


def split_composite(values: Sequence[str]) -> Composite | None:
    """The attributes that at least 80% of the distinct values contain in the same order; None if there are none."""
    distinct = sorted({v for v in values if v.strip() and len(v) <= _LONGEST})
    candidates = [v for v in distinct if kind_of(v) not in _ONE_ATTRIBUTE]
    if not distinct or len(candidates) < _MAJORITY * len(distinct):
        return None
    for separator in _PAIR_SEPARATORS:
        for inner in ("=", ":", "-"):
            if inner != "-" or separator != " ":
                found = _agreed(separator, [_pairs(v, separator, inner) for v in candidates], candidates, len(distinct))
                if found and (inner != "-" or _is_meant(found[1])):
                    return found[0]
    found = _agreed(",", [_members(v) for v in candidates], candidates, len(distinct))
    return found[0] if found else positional(candidates, len(distinct))


_Split = tuple[tuple[str, str], ...]


def _pairs(value: str, separator: str, inner: str) -> _Split | None:
    """The value as pairs of key and value, `k=v,k=v`; None unless the whole value has this form."""
    key = _WORD if inner == "-" else _KEY
    pairs = []
    for part in value.strip("{}").split(separator):
        name, found, rest = part.strip().partition(inner)
        if not found or not rest or not key.fullmatch(name):
            return None
        pairs.append((name, rest.strip("\"'")))
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
    if not (value.startswith("{") and value.endswith("}")):
        return None
    try:
        read = json.loads(value)
    except ValueError:
        return None
    if len(read) < 2 or any(isinstance(v, dict | list) or len(str(v)) > _LONGEST_MEMBER for v in read.values()):
        return None
    return tuple((key, str(text)) for key, text in read.items())


_LONGEST_MEMBER: Final = 40


def _agreed(
    separator: str, splits: Sequence[_Split | None], values: Sequence[str], total: int
) -> tuple[Composite, list[_Split]] | None:
    """The split with the most frequent keys, if they are frequent enough, and every value that it fits."""
    keys = Counter(tuple(name for name, _ in split) for split in splits if split)
    if not keys:
        return None
    names, count = keys.most_common(1)[0]
    if count < _MAJORITY * total:
        return None
    matching = [(v, s) for v, s in zip(values, splits, strict=True) if s and tuple(n for n, _ in s) == names]
    if any(name.endswith("_2") and len({dict(s)[name] for _, s in matching}) > 1 for name in names):
        return None  # such as OU=a,OU=b: levels of one hierarchy, of which there may be any number
    value, first = matching[0]
    return Composite(separator, tuple(Attribute(*pair) for pair in first), value), [s for _, s in matching]


def _is_meant(splits: Sequence[_Split]) -> bool:
    """Whether `a-b.c-d.e-f` consists of attributes and is not a host name with its domain: several parts vary."""
    varying = sum(len({split[i][1] for split in splits}) > 1 for i in range(len(splits[0])))
    return len(splits[0]) >= 3 and varying >= 2
