"""What a fact is."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from tsaudit.model.facts.given import Given, OfDatabase, OfMeasurement, OfTarget


class Scope(enum.StrEnum):
    """What one query for the fact is about."""

    TARGET = "target"
    DATABASE = "database"
    MEASUREMENT = "measurement"


class Step(enum.IntEnum):
    """The rung of the ladder: how dear a fact is. A higher step is climbed only where a lower one gave cause."""

    METADATA = 1
    """Catalogue look-ups; no data and no index is read."""
    INDEX = 2
    """Answered from an index or from statistics."""
    LISTING = 3
    """One listing of a measurement's tag sets."""
    SCAN = 4
    """Reads rows, within the window and the budget."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that can be asked of a database."""

    name: str
    """Also the stem of its query files, and the word in a rule's `requires`."""
    scope: Scope
    step: Step
    columns: tuple[str, ...]
    """What each row of the answer holds; empty where the columns are the measurement's own."""
    meaning: str
    derived_from: tuple[str, ...] = ()
    """Facts any one of which lets tsaudit work this one out; empty: it has to be asked."""
    asked_with: type[Given] | None = None
    """What its query files are given; None for what all facts of its scope are."""

    @property
    def given(self) -> type[Given]:
        """What its query files are given: an instance of this goes to `Connection.query`."""
        return self.asked_with or _BY_SCOPE[self.scope]


_BY_SCOPE: Final = {Scope.TARGET: OfTarget, Scope.DATABASE: OfDatabase, Scope.MEASUREMENT: OfMeasurement}
