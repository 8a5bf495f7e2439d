"""What a fact is."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final

from tsaudit.model.facts.given import Given, OfDatabase, OfMeasurement, OfTarget


class Scope(enum.StrEnum):
    """What one query for the fact covers."""

    TARGET = "target"
    DATABASE = "database"
    MEASUREMENT = "measurement"


class CostLevel(enum.IntEnum):
    """How expensive a fact is. A higher step is taken only if a lower one gave a reason to."""

    METADATA = 1
    """Catalog lookups; reads no data and no index."""
    INDEX = 2
    """Answered from an index or from statistics."""
    LISTING = 3
    """One listing of a measurement's tag sets."""
    SCAN = 4
    """Reads rows, within the window and the budget."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a database can be asked for."""

    name: str
    """Also the stem of its query files, and its name in a rule's `requires`."""
    scope: Scope
    step: CostLevel
    columns: tuple[str, ...]
    """The columns of each row; empty if the columns are the measurement's own."""
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
