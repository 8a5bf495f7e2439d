"""How many rows are read of each measurement: those of a whole target are limited."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.collect.draft import Draft

SAMPLED_ROWS: Final = 500_000
"""Rows of all samples of a target together: reading and describing them takes several times as long as all else."""
FEWEST_ROWS: Final = 1_000
"""Rows of a sample however many measurements there are: rules about rows need about as many to decide."""

_AT_A_TIME: Final = 200_000
"""Rows of samples in memory: of a dozen columns, they take about as much as the program itself."""


def rows_each(rows: Sequence[int | None], most: int) -> int:
    """How many rows to read at most of each measurement, so that all samples together are within SAMPLED_ROWS.

    `rows`: those of each measurement; None if unknown. `most`: rows of a sample. What small measurements leave over
    goes to the others.
    """
    left, needed = SAMPLED_ROWS, sorted(most if one is None else min(one, most) for one in rows)
    for place, need in enumerate(needed):
        share = left // (len(needed) - place)
        if need > share:
            return min(most, max(share, FEWEST_ROWS))
        left -= need
    return most


def in_parts(drafts: Sequence[Draft], each: int) -> Iterator[list[Draft]]:
    """The drafts in parts whose samples have few enough rows to be in memory together. `each`: rows of a sample."""
    part: list[Draft] = []
    rows = 0
    for draft in drafts:
        own = each if draft.estimated_rows is None else min(draft.estimated_rows, each)
        if part and rows + own > _AT_A_TIME:
            yield part
            part, rows = [], 0
        part.append(draft)
        rows += own
    if part:
        yield part
