"""What a comparison of two figures consists of."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tsaudit.model.profile import Profile
from tsaudit.text import many


class Relation(enum.Enum):
    """How the first of two figures compares with the second where both are right."""

    EQUAL = "should equal"
    AT_MOST = "should not exceed"


@dataclass(frozen=True, slots=True)
class Figure:
    """One side of a comparison."""

    noun: str
    """What was counted, in the singular."""
    which: str
    """Which of them; empty for all. The text continues `3,005 rows ...`."""
    value: float
    fact: str
    """What the figure is a figure of, and what a gap is left in."""
    query: str
    error: float = 0.0
    """Standard error; 0 where it is exact or not known."""

    def __str__(self) -> str:
        return f"{f'{many(self.value, self.noun)} {self.which}'.rstrip()} ({self.query})"


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
