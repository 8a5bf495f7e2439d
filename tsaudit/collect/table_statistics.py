"""What an engine knows of a table too big to be read, and which of its rows may be read all the same."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tsaudit.model.facts.given import Part
from tsaudit.text import many


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The rows of a big table that may be read."""

    newest: bool
    """The newest ones, by an index; else those on pages chosen at random, the same each time."""
    rows: int | None
    """Within the window, by the planner's estimate; None where it has no statistics of the time to go by."""
    rows_all: int
    most: int
    """Rows that one statement may read."""

    def of(self, rows: int) -> Part:
        """What is given to read about so many rows within the window."""
        inside = self.rows_all if self.rows is None else self.rows
        share = min(rows / max(inside, 1), self.most / max(self.rows_all, 1))
        return Part(self.newest, rows, f"{min(100.0, max(100 * share, 1e-4)):.6f}")

    def words(self, rows: int) -> str:
        """Which rows were read."""
        return f"the newest {many(rows, 'row')}" if self.newest else f"{many(rows, 'row')} on pages chosen at random"


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """What the engine's statistics say of a column."""

    distinct: int | None
    at_least: bool
    """`distinct` is of a part of the rows only."""
    null_ratio: float | None
    common_values: tuple[str, ...]
    sampled_rows: int
    """From how many rows they were made, unless the table has fewer."""
    analysed_at: datetime | None
    """When; None for never, or when the engine has forgotten."""
    changed_ratio: float | None
    """Rows written since, as a share of all; None when not counted."""
