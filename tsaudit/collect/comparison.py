"""The parts of a comparison of two figures."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tsaudit.model.profile import Profile
from tsaudit.text import many


class Relation(enum.Enum):
    """The expected relation between two figures if both are right."""

    EQUAL = "should equal"
    AT_MOST = "should not exceed"


@dataclass(frozen=True, slots=True)
class ComparedFigure:
    """One side of a comparison."""

    noun: str
    """What was counted, in the singular."""
    which: str
    """Which of them; empty for all. The text after `3,005 rows ...`."""
    value: float
    fact: str
    """The fact that the figure belongs to; a gap is left in it."""
    query: str
    error: float = 0.0
    """Standard error; 0 if it is exact or not known."""

    def __str__(self) -> str:
        return f"{f'{many(self.value, self.noun)} {self.which}'.rstrip()} ({self.query})"


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """Two figures about one database or measurement."""

    database: str
    measurement: str | None
    """None: about the database as a whole."""
    first: ComparedFigure
    relation: Relation
    second: ComparedFigure
    allowed_ratio: float | None = None
    """Replaces the pair's tolerance, for an engine with its own."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ways to obtain a figure, and how far the results may differ."""

    name: str
    compared: Callable[[Profile, Profile | None], Iterator[CrossCheck]]
    """(profile, previous profile) to the possible comparisons."""
    allowed_ratio: float
    """Relative to the larger figure."""
    allowed: float
    """The minimum tolerance for small figures. A difference between none and some is never tolerated."""
    needs: frozenset[str]
    """Without these facts, missing items were not looked for."""
    reason: str
    """Why the two may differ by this much; shown in docs/engines.md."""
