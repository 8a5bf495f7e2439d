"""What the schemas are made with."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.builders import NOW
from tsaudit.model.figures import TableKind

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables of one program. Statements run on SQLite."""

    name: str
    statements: Sequence[str]
    rows: Mapping[str, Sequence[Row]]
    kinds: Mapping[str, str]
    """Table to the kinds that are right, with `|` between; written down before the first run."""
    tags: Mapping[str, set[str]] = field(default_factory=dict)
    """Table of series to the columns that name its sources."""

    def expected(self, table: str) -> set[TableKind]:
        return {TableKind(kind) for kind in self.kinds[table].split("|")}


def at(noise: random.Random, days: float) -> datetime:
    """Some instant within the days before now."""
    return NOW - timedelta(days=days * noise.random())


def some(noise: random.Random, count: int, days: float) -> list[datetime]:
    """As many such instants, oldest first."""
    return sorted(at(noise, days) for _ in range(count))


def each(count: int, step: timedelta) -> list[datetime]:
    """Instants at a fixed interval up to now, oldest first."""
    return [NOW - step * (count - i) for i in range(count)]


def text(moment: datetime | None) -> str | None:
    return None if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")
