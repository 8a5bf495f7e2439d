"""How many rows, documents, or points are enough to draw conclusions about the rest, and how many kinds the rest
contains. Shared by all rules that evaluate a sample.
"""

from __future__ import annotations

from typing import Final

ALIKE: Final = 20
"""If this many rows contain no exception, that is no coincidence: at a confidence of 95%, at most 3 in 20 of the other
rows are exceptions (the rule of three, https://en.wikipedia.org/wiki/Rule_of_three_(statistics)).
"""
ENOUGH: Final = 100
"""Number of rows, documents, or points that suffices to know a share of all to within ten percentage points, at a
confidence of 95% (1 / sqrt(n), https://en.wikipedia.org/wiki/Margin_of_error).
"""
REPEATS: Final = 10
"""Mean number of rows per value from which on the values recur: a source that lasts has at least this many rows."""
NEARLY_ALL: Final = 0.95
"""If at least this share is alike, the rest are exceptions or mistakes: one in 20, as in ALIKE."""
CHANCE: Final = 0.01
"""Anything less probable than this is not taken for a coincidence: of a hundred such findings, one is a mistake."""
A_LIST: Final = 5
"""This many names of one kind are a list that will continue: four may be separate things, such as environments or
quarters.
"""
WORTH_MOVING: Final = 32
"""Minimum bytes of a row for moving columns to a table of their own: fewer are not worth a join in each query."""


def kinds_in_all(drawn: int, kinds: int, total: int) -> float:
    """The number of kinds among `total` items if `drawn` of them have `kinds` kinds and all kinds are equally common.

    With K kinds, there are total / K items of each, and the probability that none of them is drawn is (1 - drawn /
    total) ** (total / K). So the expected number of kinds seen is K * (1 - that), which grows with K. If all drawn
    items are of different kinds, all items may be: then the result is `total`.
    """
    if drawn >= total or not drawn:
        return float(kinds)
    low, high = float(kinds), float(total)
    missed = 1 - drawn / total
    for _ in range(60):
        middle = (low + high) / 2
        if middle * (1 - missed ** (total / middle)) < kinds:
            low = middle
        else:
            high = middle
    return high
