"""Finds values that hold several attributes at once, such as `loc-kitchen.model-A612.id-1726ZA`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tsaudit.analysis.shapes.shape_rules import kind_of

_MAJORITY: Final = 0.8
_LONGEST: Final = 400
"""Characters; longer values are prose or documents, whatever they contain."""

_PAIR_SEPARATORS: Final = (",", ";", "|", "&", ".", "/", " ")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD: Final = re.compile(r"[A-Za-z]+")
_PLAIN_SEPARATORS: Final = ("|", ";")

_ONE_ATTRIBUTE: Final = frozenset(
    {"uuid", "ulid", "mac", "ip", "email", "url", "iso_time", "hash", "position", "epoch", "float", "integer"}
    | {"version", "path", "sql", "json", "log_text", "hostname"}
)
"""Kinds of values that hold separators of their own."""


@dataclass(frozen=True, slots=True)
class Part:
    """One attribute within a value or a name."""

    name: str
    example: str


@dataclass(frozen=True, slots=True)
class Composite:
    """How values of one tag or field fall into attributes."""

    separator: str
    """Between the attributes."""
    parts: tuple[Part, ...]
    """Named by the key each attribute carries; `part_1`, `part_2`, ... where it carries none."""
    example: str
    """The whole value the parts' examples are from, as read."""


def split_composite(values: Sequence[str]) -> Composite | None:
    """The attributes that at least 80% of the distinct values hold in the same order; None if there are none."""
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
    return _positional(candidates, len(distinct))


_Split = tuple[tuple[str, str], ...]


def _pairs(value: str, separator: str, inner: str) -> _Split | None:
    """The value as keys with values, `k=v,k=v`; None if it is not made that way throughout."""
    key = _WORD if inner == "-" else _KEY
    pairs = []
    for part in value.strip("{}").split(separator):
        name, found, rest = part.strip().partition(inner)
        if not found or not rest or not key.fullmatch(name):
            return None
        pairs.append((name, rest.strip("\"'")))
    if len(pairs) < 2 or len({name for name, _ in pairs}) < len(pairs):
        return None
    return tuple(pairs)


def _agreed(
    separator: str, splits: Sequence[_Split | None], values: Sequence[str], total: int
) -> tuple[Composite, list[_Split]] | None:
    """The split with the most frequent keys, if frequent enough, and every value split that way."""
    keys = Counter(tuple(name for name, _ in split) for split in splits if split)
    if not keys:
        return None
    names, count = keys.most_common(1)[0]
    if count < _MAJORITY * total:
        return None
    matching = [(v, s) for v, s in zip(values, splits, strict=True) if s and tuple(n for n, _ in s) == names]
    value, first = matching[0]
    return Composite(separator, tuple(Part(*pair) for pair in first), value), [s for _, s in matching]


def _is_meant(splits: Sequence[_Split]) -> bool:
    """Whether `a-b.c-d.e-f` is made of attributes, and not a host name with its domain: several parts vary."""
    varying = sum(len({split[i][1] for split in splits}) > 1 for i in range(len(splits[0])))
    return len(splits[0]) >= 3 and varying >= 2


def _positional(values: Sequence[str], total: int) -> Composite | None:
    """`kitchen|A612|1726ZA`: as many parts in each value, two at least of which vary."""
    for separator in _PLAIN_SEPARATORS:
        splits = [_numbered(v.split(separator)) for v in values]
        found = _agreed(separator, splits, values, total) if len(values) >= 3 else None
        if found and sum(len({split[i][1] for split in found[1]}) > 1 for i in range(len(found[0].parts))) >= 2:
            return found[0]
    return None


def _numbered(parts: Sequence[str]) -> _Split | None:
    if len(parts) < 2 or not all(p.strip() for p in parts):
        return None
    return tuple((f"part_{i}", part.strip()) for i, part in enumerate(parts, 1))
