"""Patterns that match the names of some measurements and of no others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

_ENDS: Final = re.compile(r"(?<=[^A-Za-z0-9])|(?=[^A-Za-z0-9])")
"""Where a part of a name begins or ends."""


@dataclass(frozen=True, slots=True)
class NamePattern:
    """All names with this beginning and this end, which do not overlap."""

    begins: str
    ends: str | None
    """None: `begins` is the whole name."""

    @property
    def parts(self) -> tuple[str, ...]:
        """What is literal, with anything between."""
        return (self.begins,) if self.ends is None else (self.begins, self.ends)

    def fits(self, name: str) -> bool:
        """Whether it matches the name."""
        if self.ends is None:
            return name == self.begins
        is_long = len(name) >= len(self.begins) + len(self.ends)
        return is_long and name.startswith(self.begins) and name.endswith(self.ends)


def name_patterns(names: Collection[str], others: Collection[str], most: int) -> list[NamePattern]:
    """At most this many patterns that together match all of the names, and none of the others; empty if there are none.
    Each has a part of the names at its beginning or its end, so that it does not match any name; one that would match
    a single name is that name.
    """
    found, left = list[NamePattern](), sorted(names)
    while left:
        fitting = (one for one in _of(left[0]) if not any(map(one.fits, others)))
        best = max(fitting, key=lambda one: sum(map(one.fits, left)), default=None)
        if best is None or len(found) == most:
            return []
        found.append(best)
        left = [name for name in left if not best.fits(name)]
    return found


def _of(name: str) -> Iterator[NamePattern]:
    """All patterns that match the name: itself, then those with the longest beginning and end first."""
    yield NamePattern(name, None)
    cuts = sorted({0, len(name), *(match.start() for match in _ENDS.finditer(name))})
    yield from (
        NamePattern(name[:first], name[last:])
        for first in reversed(cuts)
        for last in cuts
        if first < last and (first > 0 or last < len(name))
    )
