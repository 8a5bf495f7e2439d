"""Finds the tag that tells for each row whether its value is a number: the attribute of a table of attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_MOST: Final = 50
"""Values of an attribute: more are names of things."""
_FEWEST_ROWS: Final = 10
"""Rows of one attribute that show what its values are."""
_NEARLY: Final = 0.95
"""Share of the rows of an attribute that are numbers, or of those that are not."""
_CROSSED: Final = 2.0
"""Attributes per thing, and things per attribute, on average: otherwise the tag names the things or their groups."""


@dataclass(frozen=True, slots=True)
class Split:
    """By the values of one tag, those of a text column are all numbers or all texts."""

    tag: str
    numbers: tuple[int, ...]
    """The codes of the tag under which the values are numbers."""
    others: tuple[int, ...]
    """Those under which they are not."""


def split_by(
    tags: Mapping[str, npt.NDArray[np.int64]], is_number: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_]
) -> Split | None:
    """The tag whose values separate numbers from texts, of several the one with fewest; None if there is none.

    `tags`: name to a code per row, negative for no value. `is_number`: whether the text of the row is a number.
    `known`: whether the row has a text.
    """
    import numpy as np

    found: list[tuple[int, Split]] = []
    for name, codes in tags.items():
        rows = known & (codes >= 0)
        values, place = np.unique(codes[rows], return_inverse=True)
        if not 2 <= len(values) <= _MOST or rows.sum() < _NEARLY * known.sum():
            continue
        counts = np.bincount(place, minlength=len(values))
        shares = np.bincount(place, weights=is_number[rows], minlength=len(values)) / counts
        enough = counts >= _FEWEST_ROWS
        numbers, texts = values[enough & (shares >= _NEARLY)], values[enough & (shares <= 1 - _NEARLY)]
        if not len(numbers) or not len(texts) or len(numbers) + len(texts) < enough.sum():
            continue
        others = [other[rows] for key, other in tags.items() if key != name]
        # A text that repeats what the row says makes a thing of its own of each row, but not of those of one tag.
        if max(_crossed(codes[rows], things) for things in (others, *([one] for one in others))) >= _CROSSED:
            found.append((len(values), Split(name, tuple(numbers.tolist()), tuple(texts.tolist()))))
    return min(found, key=lambda one: one[0])[1] if found else None


def _crossed(codes: npt.NDArray[np.int64], others: list[npt.NDArray[np.int64]]) -> float:
    """How many things each value occurs with on average, or how many values each thing has: the smaller number."""
    import numpy as np

    if not others:
        return 0.0
    things = np.unique(np.column_stack(others), axis=0, return_inverse=True)[1].ravel()
    pairs = len(np.unique(np.column_stack([codes, things]), axis=0))
    return min(pairs / len(np.unique(codes)), pairs / len(np.unique(things)))
