"""What a comparison of two figures consists of."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tsaudit.profile import Profile


class Relation(enum.Enum):
    """How the first of two figures compares with the second where both are right."""

    EQUAL = "is not"
    AT_MOST = "is more than"


@dataclass(frozen=True, slots=True)
class Figure:
    """One side of a comparison."""

    words: str
    """What was counted; the text continues `3,005 ...`."""
    value: float
    fact: str
    """What the figure is a figure of, and what a gap is left in."""
    query: str
    error: float = 0.0
    """Standard error; 0 where it is exact or not known."""

    def __str__(self) -> str:
        return f"{self.value:,.0f} {self.words} ({self.query})"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two figures about one database or measurement."""

    database: str
    measurement: str | None
    """None: about the database as a whole."""
    first: Figure
    relation: Relation
    second: Figure
    allowed_ratio: float | None = None
    """In place of the pair's, for an engine with an allowance of its own."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ways to one figure, and how far they may differ."""

    name: str
    compared: Callable[[Profile, Profile | None], Iterator[Comparison]]
    """(profile, the profile before) to the comparisons that can be made."""
    allowed_ratio: float
    """Of the larger figure."""
    allowed: float
    """The least that is allowed, however small the figures. None against some is never allowed."""
    needs: frozenset[str]
    """Facts without which what is missing was not looked for."""
    reason: str
    """Why the two may differ by so much; docs/engines.md has it for readers."""
