"""What the server says of itself: limits as they are set, and counters of what went wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ServerCounter:
    """Something that the server counts from its start on."""

    name: str
    """`points_written` or `points_dropped`."""
    database: str
    value: int


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The server's limits and counters, as far as the user may see them."""

    settings: Mapping[str, float] = field(default_factory=dict)
    """`max_series_per_database` and `max_values_per_tag`, 0 for none; `index_in_memory`, 1 or 0. A missing one is not
    known.
    """
    counters: tuple[ServerCounter, ...] = ()
    started: datetime | None = None
    """When the counters began; None: not known."""

    def counted(self, name: str, database: str) -> int | None:
        """The counter of the database; None if the server does not tell."""
        found = [one.value for one in self.counters if (one.name, one.database) == (name, database)]
        return sum(found) if found else None
