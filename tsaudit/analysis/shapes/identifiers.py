"""Recognizes columns of IDs: some part of the values is new in nearly every value, and random or a large number.

A single value tells little: `20GNK62CE181` may be the code of a pump, `deadbeef` a name. A column tells more: in codes,
the same places always have letters, and the same always have digits; in random IDs, every place has both.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from tsaudit.analysis.shapes.check_digits import are_registered
from tsaudit.analysis.shapes.shape_rules import is_epoch
from tsaudit.analysis.shapes.times import WITHIN, is_time

FEWEST: Final = 8
"""Distinct values below which places cannot be compared."""
_SHARE: Final = 0.8
"""Of the values that must have the part."""
_NEW: Final = 0.9
"""Of the parts that must be in no other value."""

_WORD: Final = re.compile(r"[A-Za-z]+")
_PART: Final = re.compile(r"[^\W_]+")
_REQUEST: Final = re.compile(r"(?:https?:/)?/?[^\s?]*\?[\w.\[\]-]+=\S*(?:&\S+)?")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_+/=.-]+")
_HEX: Final = (frozenset("0123456789abcdef"), frozenset("0123456789ABCDEF"))
_KUBERNETES: Final = frozenset("bcdfghjklmnpqrstvwxz2456789")
"""The letters and digits of Kubernetes' random names: they cannot spell a word."""

_BITS: Final = 28
"""Information a random part must be able to hold: with less, such as six hexadecimal digits, values come again."""
_MIXED: Final = 0.6
"""Of the places of a random part where letters as well as digits occur, or capitals as well as small letters."""
_CHANGES: Final = 0.22
"""Changes from letter to digit and back for each place of a random part; a word with a number has one."""
_SERIAL: Final = 14
"""Characters below which capital letters with digits are a serial number as often as an ID."""


def identifier_kind(values: Sequence[str]) -> str | None:
    """The kind of ID that the distinct values are or contain; None if they are none, or too few to tell.

    `request` is for addresses with parameters, `epoch` for times as numbers, `pod` for names that Kubernetes makes up.
    `mac` is none: these are the addresses of devices.
    """
    if len(values) < FEWEST:
        return None
    if _ratio(sum(bool(_REQUEST.fullmatch(v)) for v in values), values) >= _SHARE:
        return "request"
    parts = [_PART.findall(v) for v in values]
    kind = _whole(values, parts) or _aligned(values, parts) or _in_paths(values)
    if kind or _ratio(sum(bool(_has_time(v)) for v in values), values) >= _SHARE:
        return kind or "id"
    long = [found for p in parts if (found := next(filter(_is_long, p), None))]
    if _ratio(len(long), values) < _SHARE:
        return None
    return "mac" if _Column.of(long).is_device_address else "id"


def _ratio(count: int, values: Sequence[object]) -> float:
    return count / len(values)


def _has_time(value: str) -> bool:
    found = WITHIN.search(value)
    return bool(found) and not is_time(value)


def _is_long(part: str) -> bool:
    """Whether the part alone is an ID: for those that are at another place in each value."""
    if not part.isascii():
        return False
    if part.isdigit():
        return len(part) >= 15
    return len(part) >= 16 and any(set(part) <= hexadecimal for hexadecimal in _HEX)


def _whole(values: Sequence[str], parts: Sequence[Sequence[str]]) -> str | None:
    """The kind if the values are random as a whole, as in Base64, where `-` and `/` are letters like any others."""
    counts = Counter(map(len, parts))
    if counts.most_common(1)[0][1] >= 0.95 * len(values) or not all(map(_TOKEN.fullmatch, values)):
        return None
    joined = ["".join(p) for p in parts]
    longest = sum(max(map(len, p), default=0) for p in parts) / max(1, sum(map(len, joined)))
    # What is cut into many short pieces is an address or a path.
    return "id" if longest >= 0.5 and _Column.of(joined).is_random else None


def _aligned(values: Sequence[str], parts: Sequence[Sequence[str]]) -> str | None:
    """The kind by one part, counted from the beginning or the end of the values."""
    most = max(map(len, parts))
    alike = len({len(p) for p in parts}) == 1
    for place in (*range(min(most, 12)), *(range(0) if alike else range(-1, -min(most, 12) - 1, -1))):
        at = [
            (v, p) for v, p in zip(values, parts, strict=True) if (place < len(p) if place >= 0 else -place <= len(p))
        ]
        if len(at) < _SHARE * len(values) or len(at) < FEWEST:
            continue
        here = [p[place] for _, p in at]
        if len(set(here)) < _NEW * len(here):
            continue
        alone = most == 1
        if kind := _kind_of_part(here, [p for _, p in at], place, alone=alone, values=[v for v, _ in at]):
            return kind
    return None


_IN_PATH: Final = re.compile(r"/([A-Za-z]+(?:[_-][A-Za-z]+)*)/(\d{5,})(?=[/.]|$)")
"""A number of a request's path, after the word for what it numbers."""
_ROUTES: Final = 0.5
"""Of different paths that must have such a number: the others are routes without one."""
_PAST_POSTCODES: Final = 100_000


def _in_paths(values: Sequence[str]) -> str | None:
    """The kind by numbers of documents in paths, after any words: `/users/48120/orders/1207331`, `/orders/7/print`."""
    found = [match for v in values if v.startswith("/") and (match := _IN_PATH.search(v))]
    numbers = [match[2] for match in found if not _THINGS.fullmatch(match[1].removesuffix("s"))]
    if len(numbers) < max(FEWEST, _ROUTES * len(values)) or len(set(numbers)) < _NEW * len(numbers):
        return None
    return "id" if max(map(int, numbers)) >= _PAST_POSTCODES and not all(map(is_time, numbers)) else None


def _kind_of_part(
    here: Sequence[str], parts: Sequence[Sequence[str]], place: int, *, alone: bool, values: Sequence[str]
) -> str | None:
    column = _Column.of(here)
    if column.is_device_address or _has_family(column, parts, place):
        return "mac"
    if column.is_random:
        return _kind_of_random(column, alone=alone and here[0] == values[0])
    letters = _WORD.match(column.prefix)
    word = letters[0] if letters else ""
    bare = [p[len(word) :] for p in here]
    if _ratio(sum(p.isascii() and p.isdigit() for p in bare), bare) < _NEW:
        return None
    digits = [p for p in bare if p.isascii() and p.isdigit()]
    if any(_is_fraction(v, p, place) for v, p in zip(values[:4], parts[:4], strict=True)):
        return None
    whole = alone and bare[0] == values[0]
    if _ratio(sum(map(is_epoch, digits)), digits) >= _SHARE:
        return "epoch" if whole else "id"
    return (
        "id"
        if _are_numbers_of_events(digits, whole=whole)
        or (not whole and (_are_documents(digits, parts, place, word) or _are_runs(digits, parts, place, word)))
        else None
    )


_FAMILY: Final = re.compile(r"(?i)[0-9a-f]{2}")


def _has_family(column: _Column, parts: Sequence[Sequence[str]], place: int) -> bool:
    """Whether these are numbers of chips behind the code of their family, as of 1-Wire: `28-0000072a4f1b`."""
    families = {p[0] for p in parts if len(p) == 2 and place % len(p) == 1}
    is_whole = all(len(p) == 2 for p in parts) and column.lengths <= {12, 14}
    return is_whole and 0 < len(families) <= 3 and all(map(_FAMILY.fullmatch, families)) and column.is_hexadecimal


def _kind_of_random(column: _Column, *, alone: bool) -> str:
    if not column.hexadecimal:
        return "pod" if column.kubernetes and not alone else "id"
    if not alone:
        return "id"
    return "container_id" if column.lengths == {12} else "hash"


def _is_fraction(value: str, parts: Sequence[str], place: int) -> bool:
    """Whether the part stands behind a decimal point: `51.00831`."""
    place %= len(parts)
    if place == 0 or not parts[place - 1].isdigit() or f"{parts[place - 1]}.{parts[place]}" not in value:
        return False
    # Of three numbers in a row, none is a fraction.
    return not re.search(rf"\d\.{parts[place - 1]}\.{parts[place]}|{parts[place - 1]}\.{parts[place]}\.\d", value)


@dataclass(frozen=True)
class _Column:
    """The parts of the values at one place."""

    parts: tuple[str, ...]
    """Without what all of them begin with."""
    prefix: str
    alphabet: frozenset[str]
    lengths: frozenset[int]
    """Of the whole parts."""
    vendors: int
    """Different first six characters of the whole parts."""

    @classmethod
    def of(cls, parts: Sequence[str]) -> _Column:
        prefix = beginning(parts)
        return cls(
            tuple(p[len(prefix) :] for p in parts),
            prefix,
            frozenset("".join(p[len(prefix) :] for p in parts)),
            frozenset(map(len, parts)),
            len({p.removeprefix("0x").removeprefix("0X")[:6] for p in parts}),
        )

    @property
    def is_hexadecimal(self) -> bool:
        return any(frozenset(self.prefix) | self.alphabet <= characters for characters in _HEX)

    @property
    def hexadecimal(self) -> bool:
        return any(self.alphabet <= characters for characters in _HEX)

    @property
    def kubernetes(self) -> bool:
        return self.alphabet <= _KUBERNETES and len(self.alphabet) >= 15

    @property
    def is_device_address(self) -> bool:
        """Whether these are MAC addresses or EUI-64: the first six digits are those of a few vendors."""
        is_marked = self.prefix.startswith(("0x", "0X"))
        whole = frozenset(self.prefix[2 if is_marked else 0 :]) | self.alphabet
        return (
            self.lengths <= ({14, 18} if is_marked else {12, 16})
            and any(whole <= characters for characters in _HEX)
            and self.vendors <= max(1, len(self.parts) // 4)
        )

    @property
    def is_random(self) -> bool:
        """Whether letters and digits occur at every place, change often, and leave room for many values."""
        if not all(c.isascii() and c.isalnum() for c in self.alphabet):
            return False
        shortest = sorted(map(len, self.parts))[len(self.parts) // 10]
        if not shortest or sum(any(map(str.isdigit, p)) for p in self.parts) < 0.6 * len(self.parts):
            return False
        mixed = sum(self._is_mixed(place) for place in range(shortest))
        changes = sum(_changes(p) for p in self.parts) / max(1, sum(len(p) - 1 for p in self.parts))
        if mixed < _MIXED * shortest or changes < _CHANGES:
            return False
        return self._bits(shortest) >= (23 if self.kubernetes else _BITS) and not self._is_serial(shortest)

    def _is_mixed(self, place: int) -> bool:
        counts = Counter(_class(p[place]) for p in self.parts if place < len(p))
        return len(counts) > 1 and counts.most_common(1)[0][1] <= 0.95 * sum(counts.values())

    def _bits(self, places: int) -> float:
        if self.hexadecimal:
            return 4.0 * places
        if self.kubernetes:
            return 4.75 * places
        cases = any(map(str.islower, self.alphabet)) + any(map(str.isupper, self.alphabet))
        return (5.95 if cases == 2 else 5.17) * places

    def _is_serial(self, places: int) -> bool:
        capital = not any(map(str.islower, self.alphabet))
        return capital and not self.hexadecimal and places < _SERIAL


def beginning(parts: Sequence[str]) -> str:
    """What all parts begin with."""
    first, last = min(parts), max(parts)
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _class(character: str) -> str:
    return "d" if character.isdigit() else "u" if character.isupper() else "l"


def _changes(part: str) -> int:
    kinds = list(map(_class, part))
    return sum(a != b for a, b in itertools.pairwise(kinds))


_FEWEST_SHORT: Final = 5
_SHORTEST_OTHERS: Final = 8
"""Characters from which IDs in names are recognized if they have other letters than A to F: shorter ones are codes."""


def are_short_ids(parts: Sequence[str]) -> bool:
    """Whether parts of one length, in names that are otherwise the same, are IDs: in most places, letters and digits.

    Parts of names prove more than those of values: nobody gives five tables a name of this kind by coincidence.
    """
    if len(parts) < _FEWEST_SHORT or sum(any(map(str.isdigit, p)) for p in parts) < _NEW * len(parts):
        return False
    column = _Column.of(parts)
    if not column.hexadecimal and len(parts[0]) < _SHORTEST_OTHERS:
        return False
    places = len(parts[0]) - len(column.prefix)
    varied = [Counter(map(_class, at)) for at in zip(*column.parts, strict=True)]
    mixed = sum(len(counts) > 1 for counts in varied)
    return places >= 4 and mixed >= _MIXED * places


def are_random_texts(parts: Sequence[str]) -> bool:
    """Whether parts of names that are otherwise the same are random as a whole, as in Base64."""
    return len(parts) >= FEWEST and _whole(parts, [_PART.findall(part) for part in parts]) is not None


_LARGE: Final = 9
"""Digits from which numbers that are not in sequence are IDs; shorter ones may be serial numbers."""
_PAST_16_BITS: Final = 65_535
"""Numbers up to this are ports, processes, autonomous systems, or error codes."""


def _are_numbers_of_events(digits: Sequence[str], *, whole: bool) -> bool:
    """Whether the numbers are so large or so close to each other that something counts events with them."""
    if all(is_time(d) for d in digits) or (whole and are_registered(digits)):
        return False
    varying = min(map(len, digits)) - len(beginning(digits))
    if varying >= _LARGE:
        return True
    numbers = sorted(map(int, digits))
    if {len(d) for d in digits} == {len(digits[0])} and len(digits[0]) >= 10 and any(d[0] == "0" for d in digits):
        return median(numbers) >= 1_000_000  # filled up with zeros, as the numbers of documents are
    return median(numbers) >= 100_000 and _is_sequence(numbers)


def _is_sequence(numbers: Sequence[int]) -> bool:
    """Whether hardly a number is missing, or an even selection was taken from such numbers."""
    steps = [b - a for a, b in itertools.pairwise(numbers)]
    if len(numbers) / (numbers[-1] - numbers[0] + 1) >= 0.2:
        return True
    return max(steps) - min(steps) <= 1 and max(steps) % 10 != 0


_THINGS: Final = re.compile(
    r"(?i)(?:sensor|sens|meter|device|dev|host|server|srv|node|machine|vm|site|store|shop|kiosk|camera|cam|gateway|gw|"
    r"router|switch|pump|robot|truck|vehicle|bus|car|unit|serial|sn|asset|plc|station|room|zone|as|zip|plz|port|pid)"
)
"""Things that are numbered once; there are as many numbers as things."""


def _are_documents(digits: Sequence[str], parts: Sequence[Sequence[str]], place: int, prefix: str) -> bool:
    """Whether the last part numbers documents of a few kinds, as in `RE-2024-44752`."""
    long = sum(len(d.lstrip("0")) >= 5 for d in digits)
    is_large = long >= _SHARE * len(digits) and max(map(int, digits)) > _PAST_16_BITS
    if not is_large and not _are_padded(digits, parts, place):
        return False
    rest = [[part for i, part in enumerate(p) if i != place % len(p) and not _DATE.fullmatch(part)] for p in parts]
    if any(len(r) > 3 for r in rest) or len({tuple(r) for r in rest}) > len(digits) / 4 + 1:
        return False
    words = {part for r in rest for part in r if not part.isdigit()} | {prefix.removesuffix("s")}
    behind = {tuple(p[place % len(p) + 1 :]) for p in parts}  # such as the ending of a file
    return len(behind) == 1 and not any(_THINGS.fullmatch(w) for w in words)


_PADDED: Final = 6
"""Digits from which zeros in front leave room for more than anybody owns; behind a date, it may be one less."""


def _are_padded(digits: Sequence[str], parts: Sequence[Sequence[str]], place: int) -> bool:
    """Whether the numbers are filled up with zeros, as those of tickets and documents: `INC0012345`."""
    dated = all(any(map(_DATE.fullmatch, p[: place % len(p)])) for p in parts)
    length = len(digits[0])
    return length >= _PADDED - dated and {len(d) for d in digits} == {length} and all(d[0] == "0" for d in digits)


_DATE: Final = re.compile(r"(?:19|20)\d\d(?:[01]\d(?:[0-3]\d)?)?")
_DENSE: Final = 0.02
"""Share of the numbers between the lowest and the highest that occur."""


def _are_runs(digits: Sequence[str], parts: Sequence[Sequence[str]], place: int, prefix: str) -> bool:
    """Whether the first part numbers jobs, and a small number the pieces of each: `1396124[15].pbs01`."""
    if any(place % len(p) or len(p) < 2 or not p[1].isdigit() or len(p[1]) > 4 for p in parts):
        return False
    numbers = sorted(map(int, digits))
    is_dense = len(numbers) >= _DENSE * (numbers[-1] - numbers[0] + 1)
    return numbers[0] >= _PAST_POSTCODES and is_dense and not _THINGS.fullmatch(prefix)
