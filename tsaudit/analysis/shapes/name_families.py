"""Finds names of measurements, tables, or keys that differ only in embedded data.

Names such as `Cpu.server-5.us-west.usage_user` should be one measurement `cpu` with tags; `events_2024_01` and
`events_2024_02` should be one table, because its rows have timestamps.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Final

from tsaudit.analysis.shapes.attributes import Attribute
from tsaudit.analysis.shapes.name_readings import NameReading, readings
from tsaudit.analysis.shapes.periods import FILLED


@dataclass(frozen=True, slots=True)
class NameFamily:
    """Names that are the same except for embedded data, and what to use instead."""

    template: str
    """The name with each piece of data replaced by its kind in braces: `{date}`, `{host}`, `{region}`, `{id}`, `{mac}`,
    `{env}`, `{n}` for a number; `{field}` if the last part names what is measured and varies.
    """
    members: tuple[str, ...]
    """The names, sorted."""
    measurement: str
    """The suggested name for all of them."""
    tags: tuple[Attribute, ...]
    """The suggested tags, with their values for the first member. None for a date: every row has a timestamp."""
    field: str | None
    """What the first member measures, if its last part says so."""


def name_families(names: Sequence[str]) -> list[NameFamily]:
    """The families among the names, sorted by template; each name is in one family at most.

    A single name is a family of its own only if it has at least three dotted parts, one of which is clearly a host,
    region, or ID.
    """
    families = (_family(group) for group in _groups(names) if _is_meant(group))
    return sorted(families, key=lambda f: f.template)


def _groups(names: Sequence[str]) -> Iterator[list[NameReading]]:
    groups: dict[tuple[str, ...], list[NameReading]] = defaultdict(list)
    for reading in readings(names):
        if reading.data:
            groups[reading.key].append(reading)
    for group in groups.values():
        yield _without_constants(group)


def _without_constants(group: list[NameReading]) -> list[NameReading]:
    """Of `dev_1` and `dev_2`, `dev` is no environment, and of `disk2 {id}`, `2` is no data: it is the same in all."""
    first, found = group[0], _COUNTED_ENV.search(group[0].template)
    varies = [len(set(texts)) > 1 for texts in zip(*(reading.data for reading in group), strict=True)]
    same = {
        place
        for place, (kind, _) in enumerate(first.data)
        if not varies[place] and any(varies) and (kind == "n" or (kind == "env" and found and first.field is None))
    }
    if not same:
        return group
    texts = iter([text if place in same else None for place, (_, text) in enumerate(first.data)])
    template = re.sub(r"\{\w+\}", lambda found: next(texts) or found[0], first.template)
    return [
        replace(one, template=template, data=tuple(d for place, d in enumerate(one.data) if place not in same))
        for one in group
    ]


_COUNTED_ENV: Final = re.compile(r"\{env\}[-_]?\{(?:n|id|mac)\}")

_FEWEST: Final = {"n": 3}
"""Number of names that make a family, by kind of data; two for all others."""
_COMMON_CODES: Final = frozenset({200, 404, 500})
"""Of these, two are among all status codes of HTTP, and hardly among the numbers of rooms."""
_ANSWERS: Final = re.compile("http|status|code|response|answer|reply|replies", re.IGNORECASE)
_CODES: Final = frozenset(map(int, HTTPStatus)) | {499, 520, 521, 522, 523, 524}


def _is_meant(group: Sequence[NameReading]) -> bool:
    """Whether the names are alike by design and not by coincidence, given their number."""
    if any(reading.sure for reading in group):
        return True
    kinds = {kind for kind, _ in group[0].data}
    differ = len({reading.data for reading in group})
    fewest = min(_FEWEST.get(kind, 2) for kind in kinds)
    if kinds == {"n"} and not _are_counted([reading.data for reading in group], group[0].template):
        return False
    # A number without a separator before it, as in `cpu0`, is more often part of the word.
    return differ >= fewest + (kinds == {"n"} and not re.search(r"(?:[^A-Za-z0-9]|^)\{n\}", group[0].template))


def _are_counted(data: Sequence[tuple[tuple[str, str], ...]], template: str) -> bool:
    """Whether the numbers at some place are those of things, and not status codes, sizes, or other settings.

    Whoever chooses a setting takes a round number, a multiple of five or a power of two; a counter has all kinds.
    """
    for texts in zip(*([text for _, text in pieces] for pieces in data), strict=True):
        numbers = sorted({int(found[0]) for text in texts if (found := re.search(r"\d+", text))})
        if any(re.search(r"(?<!\d)0\d", text) for text in texts) or not (
            _are_codes(numbers, template) or _are_chosen(numbers)
        ):
            return True
    return False


def _are_codes(numbers: Sequence[int], template: str) -> bool:
    are_likely = len(_COMMON_CODES & set(numbers)) > 1 or _ANSWERS.search(template)
    return bool(are_likely) and _CODES.issuperset(numbers)


def _are_chosen(numbers: Sequence[int]) -> bool:
    steps = {b - a for a, b in itertools.pairwise(numbers)}
    round_ones = sum(n >= 10 and (n % 5 == 0 or n & (n - 1) == 0) for n in numbers)
    if len(numbers) < 3 or len(steps) == 1 or round_ones < max(3, 0.7 * len(numbers)):
        return False
    # A line's stations 10, 20, 30, 50, 60 are counted by tens.
    return len(numbers) < _ENOUGH or len(numbers) / ((numbers[-1] - numbers[0]) / math.gcd(*steps) + 1) < FILLED


_ENOUGH: Final = 5
"""Numbers from which gaps among them are compared with the whole."""


def _family(group: Sequence[NameReading]) -> NameFamily:
    first = group[0]
    fields = {reading.field for reading in group}
    last = "" if first.field is None else f".{first.field}" if len(fields) == 1 else ".{field}"
    measurement, field = _proposed_name(first)
    return NameFamily(
        template=first.template + last,
        members=tuple(reading.name for reading in group),
        measurement=measurement,
        tags=tuple(_proposed_tags(first.data)),
        field=field,
    )


def _proposed_name(reading: NameReading) -> tuple[str, str | None]:
    """The words of the name that are not data; the field, too, if nothing else is left."""
    words = [w for w in re.split(r"[^A-Za-z0-9]+", re.sub(r"\{\w+\}", ".", reading.template)) if w]
    if "." in reading.template:
        words = [w.lower() for w in words]
    if words:
        return "_".join(words), reading.field
    return reading.field or "readings", None


def _proposed_tags(data: Sequence[tuple[str, str]]) -> Iterator[Attribute]:
    seen: dict[str, int] = defaultdict(int)
    for position, (kind, text) in enumerate((d for d in data if d[0] != "date"), 1):
        name = f"part_{position}" if kind == "n" else kind
        seen[name] += 1
        yield Attribute(name if seen[name] == 1 else f"{name}_{seen[name]}", text)


@dataclass(frozen=True, slots=True)
class ParsedName:
    """What one name contains."""

    name: str
    tags: tuple[tuple[str, str], ...]
    """The tags that its family suggests, with their values in this name."""
    field: str
    """What it measures; empty if the name does not say so."""


def parsed_names(family: NameFamily) -> Iterator[ParsedName]:
    """The data in the name of each member."""
    for group in _groups(family.members):
        for reading in group:
            tags = tuple((part.name, part.example) for part in _proposed_tags(reading.data))
            yield ParsedName(reading.name, tags, (reading.field or "") if family.field else "")
