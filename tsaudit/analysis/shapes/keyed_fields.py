"""Document fields whose names are data: dates, IDs, or numbers as siblings, `scores: { u1001: 7, u1002: 3 }`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tsaudit.model.profile import Field, Measurement

_FEWEST: Final = 8
"""Minimum number of names of one kind; fewer may be a fixed set, such as quarters or sizes."""
_WHOLE: Final = {"{id}": re.compile(r"[0-9a-f]{24}"), "{n}": re.compile(r"\d{1,23}")}
"""Names that consist only of data: an ObjectId as a string, or a number."""


@dataclass(frozen=True, slots=True)
class KeyedFields:
    """Sibling names that differ only in data."""

    above: str
    """The path that contains them; empty at the top."""
    template: str
    names: tuple[str, ...]

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(f"{self.above}.{name}" if self.above else name for name in self.names)


def keyed_fields(measurement: Measurement) -> Iterator[KeyedFields]:
    """The families of such names in a collection, outer ones first. Families inside the reported ones are left out."""
    from tsaudit.analysis.shapes.name_families import name_families

    below: dict[str, set[str]] = defaultdict(set)
    for field in measurement.fields:
        parts = field.key.split(".")
        for at, part in enumerate(parts):
            below[".".join(parts[:at])].add(part)
    reported: list[str] = []
    for above, names in sorted(below.items(), key=lambda one: (one[0].count("."), one[0])):
        if len(names) < _FEWEST or _is_in(above, reported):
            continue
        whole = {kind: sorted(n for n in names if form.fullmatch(n)) for kind, form in _WHOLE.items()}
        others = sorted(names - {n for kind in whole.values() for n in kind})
        families = [KeyedFields(above, f.template, f.members) for f in name_families(others)]
        for found in [*families, *(KeyedFields(above, kind, tuple(members)) for kind, members in whole.items())]:
            if len(found.names) >= _FEWEST:
                reported += found.paths
                yield found


def named_fields(measurement: Measurement) -> list[Field]:
    """The fields with regular names: names that are data are left out, and so is everything inside them."""
    keyed = [path for found in keyed_fields(measurement) for path in found.paths]
    return [field for field in measurement.fields if not _is_in(field.key, keyed)]


def _is_in(path: str, others: list[str]) -> bool:
    return any(path == other or path.startswith(f"{other}.") for other in others)
