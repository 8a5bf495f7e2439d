"""A figure: its value, its source, and how reliable it is."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

SAMPLE_SIZE: Final = 64
"""Maximum number of distinct values of a column that a profile stores."""
TEXT_KEPT: Final = 256
"""Maximum length of a sampled value of a field, in characters."""
CONTRADICTED: Final = "contradicted by"
"""Prefix of the scope of a figure that another one contradicts: no warning is based on such a figure."""
AT_LEAST: Final = "at least"
"""Prefix of the scope of a lower bound: days with a lower bound are not compared with other days."""
Forever = Literal["forever"]
FOREVER: Final[Forever] = "forever"
"""The duration of a retention that never deletes data."""


class How(enum.StrEnum):
    """How a figure was measured."""

    EXACT = "exact"
    ESTIMATE = "estimate"
    """Computed from statistics by the engine or by tsaudit. It has a standard error if one is known."""
    SAMPLED = "sampled"
    """Exact for part of the data; `Source.scope` names the part."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure comes from."""

    query: str
    """The query file below `sql/`, e.g. `duckdb/row_count.sql`."""
    how: How
    as_of: datetime
    """When it was measured; older than the profile if the figure was reused."""
    scope: str = ""
    """The part of the data that the figure covers, in words; empty for all of it."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number of things."""

    value: int
    source: Source
    standard_error: float | None = None
    """In the same unit as `value`; None if the count is exact or the error unknown."""

    @property
    def is_lower_bound(self) -> bool:
        """Whether the true number may be higher, because only a part was counted."""
        return self.source.scope.startswith(AT_LEAST)


def how_summed(counts: Sequence[Count]) -> tuple[How, float | None]:
    """How the sum of the counts was measured, and its standard error; None if the sum is exact or the error unknown."""
    estimates = [count for count in counts if count.source.how is not How.EXACT]
    if not estimates:
        return How.EXACT, None
    errors = [count.standard_error for count in estimates if count.standard_error is not None]
    return How.ESTIMATE, math.hypot(*errors) if len(errors) == len(estimates) else None


@dataclass(frozen=True, slots=True)
class Ratio:
    """A share, 0 to 1."""

    value: float
    source: Source
    standard_error: float | None = None


class Role(enum.StrEnum):
    """The role of a column. InfluxDB declares it; in SQL it is inferred or configured."""

    TIME = "time"
    TAG = "tag"
    FIELD = "field"
