"""How much has to be read until it says something about the rest: the same for all rules that judge a sample."""

from __future__ import annotations

from typing import Final

ALIKE: Final = 20
"""Rows without an exception that are no coincidence: of the others, at most 3 in 20 are different, at a confidence of
95% (the rule of three, https://en.wikipedia.org/wiki/Rule_of_three_(statistics)).
"""
ENOUGH: Final = 100
"""Rows, documents, or points from which a share of all is known to within ten percentage points, at a confidence of
95% (1 / sqrt(n), https://en.wikipedia.org/wiki/Margin_of_error).
"""
REPEATS: Final = 10
"""Rows for each value that make it a value which comes again: of a lasting source, there are at least so many."""
NEARLY_ALL: Final = 0.95
"""Share from which on the others are exceptions or mistakes: one in 20, as in ALIKE."""
CHANCE: Final = 0.01
"""Probability below which nobody takes it for a coincidence: of a hundred such findings, one is a mistake."""
A_LIST: Final = 5
"""Names of one kind that are a list which goes on: four may be separate things, such as environments or quarters."""
