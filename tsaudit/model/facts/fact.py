"""The definition of a fact."""

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


@dataclass(frozen=True, slots=True)
class Fact:
    """One kind of data that a database can be queried for."""

    name: str
    """Also the stem of its query files, and its name in a rule's `requires`."""
    scope: Scope
    columns: tuple[str, ...]
    """The columns of each row; empty if they are the measurement's own columns."""
    meaning: str
    derived_from: tuple[str, ...] = ()
    """Facts from any one of which this fact can be computed; empty: it has to be queried."""
    asked_with: type[Given] | None = None
    """The parameters of its query files; None for the usual ones of its scope."""

    @property
    def given(self) -> type[Given]:
        """The class of its query parameters: an instance goes to `Connection.query`."""
        return self.asked_with or _BY_SCOPE[self.scope]


_BY_SCOPE: Final = {Scope.TARGET: OfTarget, Scope.DATABASE: OfDatabase, Scope.MEASUREMENT: OfMeasurement}
