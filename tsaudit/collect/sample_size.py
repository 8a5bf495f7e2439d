"""How many rows are read of each measurement, so that the samples of a whole target stay within a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tsaudit.collect.draft import Draft

SAMPLED_ROWS: Final = 500_000
"""Most rows in all samples of a target together: reading and describing them takes several times as long as everything
else.
"""
FEWEST_ROWS: Final = 1_000
"""Smallest limit of a sample, however many measurements there are: rules about rows need about this many to decide."""

_AT_A_TIME: Final = 200_000
"""Most sampled rows in memory at once: with a dozen columns, they take about as much memory as the program itself."""


def rows_each(rows: Sequence[int | None], most: int) -> int:
    """The most rows to read of each measurement, so that all samples together stay within SAMPLED_ROWS.

    `rows`: the number of rows of each measurement; None if unknown. `most`: the upper limit of a sample. Rows that
    small measurements do not need are given to the others.
    """
    left, needed = SAMPLED_ROWS, sorted(most if one is None else min(one, most) for one in rows)
    for place, need in enumerate(needed):
        share = left // (len(needed) - place)
        if need > share:
            return min(most, max(share, FEWEST_ROWS))
        left -= need
    return most


def in_parts(drafts: Sequence[Draft], each: int) -> Iterator[list[Draft]]:
    """The drafts in parts whose samples have few enough rows to be in memory together. `each`: the most rows of one
    sample.
    """
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
