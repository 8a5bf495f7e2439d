"""The definition of a fact."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from tsaudit.model.facts.given import Given, OfDatabase, OfMeasurement


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
    given: type[Given]
    """The class of its query parameters: an instance goes to `Connection.query`."""
    columns: tuple[str, ...]
    """The columns of each row; empty if they are the measurement's own columns."""
    meaning: str
    derived_from: tuple[str, ...] = ()
    """Facts from any one of which this fact can be computed; empty: it has to be queried."""

    @property
    def scope(self) -> Scope:
        """What one query covers."""
        if issubclass(self.given, OfMeasurement):
            return Scope.MEASUREMENT
        return Scope.DATABASE if issubclass(self.given, OfDatabase) else Scope.TARGET
