"""Recognizes columns of IDs: some part of the values is new in nearly every value, and random or a large number.

A single value tells little: `20GNK62CE181` may be the code of a pump, `deadbeef` a name. A column tells more: in codes,
the same places always have letters, and the same always have digits; in random IDs, every place has both. Numbers of
events are long, come from a small window of a counter, or follow the word for a document or a date.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

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
_OF_COUNTRY: Final = re.compile(
    r"(?:AT|BE|CH|CZ|DE|DK|ES|FI|FR|GB|HU|IE|IT|JP|LU|NL|PL|PT|RO|SE|US)U?\d{8,20}|\+\d[\d -]{7,17}"
)
"""Numbers that begin with a country's code: of securities, of companies, of accounts, of phones."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9_+/=.-]+")
_HEX: Final = (frozenset("0123456789abcdef"), frozenset("0123456789ABCDEF"))
_KUBERNETES: Final = frozenset("bcdfghjklmnpqrstvwxz2456789")
"""The letters and digits of Kubernetes' random names: they cannot spell a word."""

_BITS: Final = 27
"""Information a random part must be able to hold: with less, such as six hexadecimal digits, values come again."""
_BITS_OF_POD: Final = 20
_MIXED: Final = 0.6
"""Of the places of a random part where letters as well as digits occur, or capitals as well as small letters."""
_CHANGES: Final = 0.22
"""Changes from letter to digit and back for each place of a random part; a word with a number has one."""
_SERIAL: Final = 12
"""Characters below which capital letters with digits are a serial number as often as an ID."""
_NUMBERS: Final = re.compile(r"\d+")
_SAME_UNITS: Final = 0.4
"""Different texts between the numbers of a part, per value, up to which they are units."""


def identifier_kind(values: Sequence[str]) -> str | None:
    """The kind of ID that the distinct values are or contain; None if they are none, or too few to tell.

    `request` is for addresses with parameters, `epoch` for times as numbers, `pod` for names that Kubernetes makes up.
    `mac` is none: these are the addresses of devices.
    """
    if len(values) < FEWEST:
        return None
    if _ratio(sum(bool(_REQUEST.fullmatch(v)) for v in values), values) >= _SHARE:
        return "request"
    if _ratio(sum(bool(_OF_COUNTRY.fullmatch(v)) for v in values), values) >= _SHARE:
        return None
    parts = [_PART.findall(v) for v in values]
    if kind := _whole(values, parts) or _aligned(values, parts):
        return kind
    if _ratio(sum(bool(_has_time(v)) for v in values), values) >= _SHARE or _are_documents(values):
        return "id"
    long = [found for p in parts if (found := next(filter(_is_long, p), None))]
    if _ratio(len(long), values) < _SHARE:
        return None
    return "mac" if _Column.of(long).is_device_address or are_registered(long) else "id"


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
    if not all(map(_TOKEN.fullmatch, values)):
        return None
    column = _Column.of(["".join(p) for p in parts])
    if Counter(map(len, parts)).most_common(1)[0][1] >= 0.95 * len(values):
        # Groups of digits, as of an order, or of equal length, as of a license.
        if (
            all(map(_GROUPS.fullmatch, values))
            and _free(column.whole, list(map(int, column.whole))) >= _LARGE_IN_GROUPS
        ):
            return "id"
        lengths = {len(part) for p in parts for part in p}
        return "id" if len(parts[0]) > 2 and len(lengths) == 1 and not column.hexadecimal and column.is_random else None
    longest = sum(max(map(len, p), default=0) for p in parts) / max(1, sum(len(part) for p in parts for part in p))
    # What is cut into many short pieces is an address or a path.
    return "id" if longest >= 0.5 and column.is_random else None


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
        if kind := _kind_of_part(here, [p for _, p in at], place, alone=most == 1, values=[v for v, _ in at]):
            return kind
    return None


def _kind_of_part(
    here: Sequence[str], parts: Sequence[Sequence[str]], place: int, *, alone: bool, values: Sequence[str]
) -> str | None:
    column = _Column.of(here)
    if column.is_device_address or _has_family(column, parts):
        return "mac"
    whole = alone and here[0] == values[0]
    word, ending = column.word, column.ending
    is_thing = _THINGS.fullmatch(word or _word_before(parts[0], place))
    if column.is_random:
        if column.hexadecimal:
            return "mac" if is_thing else "hash" if whole else "id"
        return "pod" if column.kubernetes and not whole else "id"
    bare = [p.removeprefix(word).removesuffix(ending) for p in here]
    digits = [p for p in bare if p.isascii() and p.isdigit()]
    if len(digits) < _NEW * len(bare) or any(map(_is_fraction, values[:4], here[:4])):
        return None
    whole = whole and bare[0] == values[0]
    if _ratio(sum(map(is_epoch, digits)), digits) >= _SHARE and len(set("".join(digits))) >= _KINDS_OF_DIGITS:
        return "epoch" if whole else "id"
    return "id" if not is_thing and _are_numbers_of_events(digits, whole=whole) else None


def _has_family(column: _Column, parts: Sequence[Sequence[str]]) -> bool:
    """Whether these are numbers of chips behind the code of their family, as of 1-Wire: `28-0000072a4f1b`."""
    families = {"".join(p[:-1]) for p in parts}
    return column.lengths <= {12, 14} and len(families) <= 3 and all(map(_FAMILY.fullmatch, families))


_FAMILY: Final = re.compile(r"(?i)[0-9a-f]{2}")


def _is_fraction(value: str, part: str) -> bool:
    """Whether the part stands behind a decimal point, `51.00831`; of three numbers in a row, none does."""
    return bool(re.search(rf"(?<![\d.])\d+\.{re.escape(part)}(?!\.?\d)", value))


@dataclass(frozen=True)
class _Column:
    """The parts of the values at one place."""

    whole: tuple[str, ...]
    prefix: str
    """What all of them begin with."""
    parts: tuple[str, ...]
    """What follows it."""
    alphabet: frozenset[str]
    """The characters of that."""

    @classmethod
    def of(cls, whole: Sequence[str]) -> _Column:
        prefix = beginning(whole)
        parts = tuple(p[len(prefix) :] for p in whole)
        return cls(tuple(whole), prefix, parts, frozenset("".join(parts)))

    @property
    def lengths(self) -> frozenset[int]:
        return frozenset(map(len, self.whole))

    @property
    def hexadecimal(self) -> bool:
        return any(self.alphabet <= characters for characters in _HEX)

    @property
    def kubernetes(self) -> bool:
        return self.alphabet <= _KUBERNETES and len(self.alphabet) >= 15

    @property
    def word(self) -> str:
        """The letters with which all parts begin."""
        letters = _WORD.match(self.prefix)
        return letters[0] if letters else ""

    @property
    def ending(self) -> str:
        """The letters with which all parts end."""
        letters = _WORD.match(beginning([p[::-1] for p in self.parts]))
        return letters[0][::-1] if letters else ""

    @property
    def is_device_address(self) -> bool:
        """Whether these are MAC addresses or EUI-64: the first six digits are those of a few vendors."""
        numbers = [p.removeprefix("0x").removeprefix("0X") for p in self.whole]
        characters = frozenset("".join(numbers))
        return (
            set(map(len, numbers)) in ({12}, {16})
            and any(characters <= hexadecimal for hexadecimal in _HEX)
            and not all(map(str.isdigit, characters))
            and len({number[:6] for number in numbers}) <= max(1, len(numbers) // 4)
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
        if mixed < _MIXED * shortest or changes < _CHANGES or self._is_measured:
            return False
        if shortest < _SERIAL and not self.hexadecimal and not any(map(str.islower, self.alphabet)):
            return False
        return shortest * math.log2(len(self.alphabet)) >= (_BITS_OF_POD if self.kubernetes else _BITS)

    @property
    def _is_measured(self) -> bool:
        """Whether the same units follow the numbers in most parts: `12h5m33s`."""
        return len({_NUMBERS.sub("0", p) for p in self.parts}) <= _SAME_UNITS * len(self.parts)

    def _is_mixed(self, place: int) -> bool:
        counts = Counter(_class(p[place]) for p in self.parts if place < len(p))
        return len(counts) > 1 and counts.most_common(1)[0][1] <= 0.95 * sum(counts.values())


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
_GROUPS: Final = re.compile(r"\d+(?:[- ]\d+)+")
_LARGE_IN_GROUPS: Final = 12
"""Digits in groups from which they are no numbers of phones or articles."""
_KINDS_OF_DIGITS: Final = 8
"""Different digits of such numbers: tiles of maps are numbered with four."""


def _are_numbers_of_events(digits: Sequence[str], *, whole: bool) -> bool:
    """Whether the numbers are so large or so close to each other that something counts events with them."""
    if all(map(is_time, digits)) or (whole and are_registered(digits)):
        return False
    numbers = sorted(map(int, digits))
    free = _free(digits, numbers)
    if free >= _LARGE:
        return len(set("".join(d[-free:] for d in digits))) >= _KINDS_OF_DIGITS
    if {len(d) for d in digits} == {len(digits[0])} and len(digits[0]) >= 10 and any(d[0] == "0" for d in digits):
        return median(numbers) >= 1_000_000  # filled up with zeros, as the numbers of documents are
    return median(numbers) >= 100_000 and (_is_sequence(numbers) or _is_window(numbers, whole=whole))


def _free(digits: Sequence[str], numbers: Sequence[int]) -> int:
    """How many digits there are behind the numbers of a few issuers: of makers, countries, or networks."""
    shortest = min(map(len, digits))
    for free in range(1, shortest):
        begins = {number // 10**free for number in numbers}
        room = max(begins) - min(begins) + 1
        if len(begins) <= _FEW_ISSUERS * room * -math.expm1(-len(numbers) / room):
            return free
    return min(shortest - len(beginning(digits)), len(str(max(numbers) - min(numbers))) + 1)


_FEW_ISSUERS: Final = 0.25
"""Different beginnings, as a share of those that numbers would have that are spread from the lowest to the highest."""


def _is_sequence(numbers: Sequence[int]) -> bool:
    """Whether hardly a number is missing, or an even selection was taken from such numbers."""
    steps = [b - a for a, b in itertools.pairwise(numbers)]
    if len(numbers) / (numbers[-1] - numbers[0] + 1) >= 0.2:
        return True
    return max(steps) - min(steps) <= 1 and max(steps) % 10 != 0


_NARROW: Final = 0.1
"""Highest minus lowest number, per lowest."""
_DENSE: Final = 0.0001
"""Share of the numbers between the lowest and the highest that occur."""
_BLOCK: Final = 0.85
"""Share of all numbers with the same first digits from which these were handed out as a block."""


def _is_window(numbers: Sequence[int], *, whole: bool) -> bool:
    """Whether the numbers are those that a counter came to lately: far from zero, close to each other, none rounded."""
    low, span = numbers[0], numbers[-1] - numbers[0]
    if low < (1_000_000 if whole else 100_000) or span > _NARROW * low or len(numbers) < _DENSE * span:
        return False
    if math.gcd(*(b - a for a, b in itertools.pairwise(numbers))) > 1:
        return False
    same = len(beginning([str(low), str(numbers[-1])]))
    return not whole or span < _BLOCK * 10 ** (len(str(numbers[-1])) - same)


_THINGS: Final = re.compile(
    r"(?i)(?:sensor|sens|meter|device|dev|host|server|srv|node|machine|vm|site|store|shop|kiosk|camera|cam|gateway|gw|"
    r"router|switch|pump|robot|truck|vehicle|bus|car|unit|serial|sn|asset|plc|station|room|zone|as|zip|plz|port|pid|"
    r"imo|mmsi|article|part|material|model|badge|employee|kb|naa|wwn|eui|gpu|disk)s?"
)
"""Things that are numbered once; there are as many numbers as things."""
_PAST_16_BITS: Final = 65_535
"""Numbers up to this are ports, processes, autonomous systems, or error codes."""
_ROUTES: Final = 0.5
"""Of different paths that must have such a number: the others are routes without one."""
_PADDED: Final = 6
"""Digits from which zeros in front leave room for more than anybody owns."""
_DATE: Final = re.compile(r"(?:19|20)\d\d(?:[01]\d(?:[0-3]\d)?)?")
_DESIGNATION: Final = re.compile(r"\d\.\d+$|\b[A-Z]{1,3} \d+$|\b[A-Z]{2,6}:\d+$|\b[A-Za-z]\d{5}$")
"""A fraction, and what looks like a document but is mostly a thing: `HD 48915`, `GO:0008150`, `P65451`."""
_NUMBERED: Final = re.compile(r"([A-Za-z]*)(\d{5,})")


def _numbered(value: str) -> tuple[str, str, tuple[str, ...]] | None:
    """The last long number of a value, the word for what it numbers, and the other parts, without dates."""
    found = list(_PART.finditer(value))
    parts = [match[0] for match in found]
    for place in range(len(parts) - 1, -1, -1):
        number = _NUMBERED.fullmatch(parts[place])
        word = number and (number[1] or _word_before(parts, place) or ("#" if "#" in value else ""))
        if number and word and not _DESIGNATION.search(value[: found[place].end()]):
            rest = (part for part in (*parts[:place], *parts[place + 1 :]) if not _DATE.fullmatch(part))
            return number[2], word, tuple(rest)
    return None


def _word_before(parts: Sequence[str], place: int) -> str:
    """The last part with letters before the place."""
    return next((part for part in reversed(parts[: place % len(parts)]) if not part.isdigit()), "")


def _are_documents(values: Sequence[str]) -> bool:
    """Whether documents of a few kinds are numbered: `RE-2024-44752`, `INC0012345`, `/users/48120/orders/1207331`."""
    found = [one for v in values if (one := _numbered(v)) and not _THINGS.fullmatch(one[1])]
    digits, are_paths = [number for number, _, _ in found], all(v.startswith("/") for v in values)
    if len(found) < max(FEWEST, (_ROUTES if are_paths else _SHARE) * len(values)):
        return False
    if len(set(digits)) < _NEW * len(digits) or all(map(is_time, digits)):
        return False
    if not are_paths and len({rest for _, _, rest in found}) > len(found) / 4 + 1:
        return False
    if min(map(len, digits)) == max(map(len, digits)) >= _PADDED and all(d[0] == "0" for d in digits):
        return True
    long = sum(len(d.lstrip("0")) >= 5 for d in digits)
    return long >= _SHARE * len(digits) and max(map(int, digits)) > _PAST_16_BITS


_GTIN: Final = frozenset({8, 12, 13, 14})
"""Digits of the numbers of articles and books."""
_DEVICES: Final = frozenset({15, 19, 20})
"""Digits of the numbers of mobile devices and SIM cards."""
_TELECOM: Final = re.compile(r"(?:35|86)\d{13}|89\d{17,18}|89\d{30}")
"""IMEI, ICCID, and EID by the digits of those that issue nearly all of them."""
_CHECKED_SHARE: Final = 0.95
"""Of the numbers whose check digit must fit; of random ones, a tenth does."""


def are_registered(digits: Sequence[str]) -> bool:
    """Whether the numbers of one length have the check digit of GTIN (EAN, UPC, ISBN), IMEI, or ICCID."""
    lengths = {len(d) for d in digits}
    if all(_TELECOM.fullmatch(d) for d in digits):
        return True
    fits = _fits_gtin if lengths <= _GTIN else _fits_luhn if lengths <= _DEVICES and len(lengths) == 1 else None
    return fits is not None and sum(map(fits, digits)) >= _CHECKED_SHARE * len(digits)


def _fits_gtin(digits: str) -> bool:
    return sum(int(c) * (3 if i % 2 else 1) for i, c in enumerate(reversed(digits))) % 10 == 0


def _fits_luhn(digits: str) -> bool:
    doubled = (int(c) * (2 if i % 2 else 1) for i, c in enumerate(reversed(digits)))
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0
