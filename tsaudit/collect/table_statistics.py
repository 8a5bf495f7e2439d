"""What an engine knows about a table too big to read, and which of its rows may be read anyway."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tsaudit.model.facts.given import TablePart
from tsaudit.text import many


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The rows of a big table that may be read."""

    newest: bool
    """The newest rows, from an index; otherwise those on pages selected at random, the same pages each time."""
    rows: int | None
    """Within the window, according to the planner; None if it has no statistics of the time."""
    rows_all: int
    most: int
    """Rows that one statement may read."""

    def of(self, rows: int) -> TablePart:
        """The parameters for reading this many rows within the window."""
        inside = self.rows_all if self.rows is None else self.rows
        share = min(rows / max(inside, 1), self.most / max(self.rows_all, 1))
        return TablePart(self.newest, rows, f"{min(100.0, max(100 * share, 1e-4)):.6f}")

    def words(self, rows: int) -> str:
        """Which rows were read."""
        return f"the newest {many(rows, 'row')}" if self.newest else f"{many(rows, 'row')} on pages chosen at random"


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """The engine's statistics about a column."""

    distinct: int | None
    at_least: bool
    """`distinct` covers only a part of the rows."""
    null_ratio: float | None
    common_values: tuple[str, ...]
    sampled_rows: int
    """The number of rows they were computed from, unless the table has fewer."""
    analysed_at: datetime | None
    """When; None if never, or if the engine has forgotten."""
    changed_ratio: float | None
    """Rows written since, as a share of all rows; None if not counted."""
