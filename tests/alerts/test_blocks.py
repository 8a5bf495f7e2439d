"""Which of the groups of blocks fit into a message: all that do, and not one that does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.alerts.blocks import Block, fitting, markup


def group(*lengths: int) -> list[Block]:
    """A block of so many characters for each length."""
    return [markup("x" * length) for length in lengths]


GROUPS = [group(10, 5), group(7), group(20, 1, 1)]


@pytest.mark.parametrize(
    ("blocks", "characters", "fit"),
    [
        (6, 44, 3),
        (5, 44, 2),  # a block too many
        (6, 43, 2),  # a character too many
        (3, 22, 2),
        (2, 22, 1),
        (3, 21, 1),
        (1, 44, 0),
        (6, 14, 0),
        (0, 0, 0),
    ],
)
def test_groups_fit_up_to_both_limits(blocks: int, characters: int, fit: int) -> None:
    assert fitting(GROUPS, blocks, characters) == GROUPS[:fit]


@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=3), max_size=6), st.integers(0, 12), st.integers(0, 60)
)
def test_the_longest_start_that_fits_is_taken(lengths: list[list[int]], blocks: int, characters: int) -> None:
    """Nothing is passed over for what comes after it: the first are the most important."""
    groups = [group(*some) for some in lengths]
    fits = [
        n
        for n in range(len(groups) + 1)
        if sum(map(len, lengths[:n])) <= blocks and sum(map(sum, lengths[:n])) <= characters
    ]
    assert fitting(groups, blocks, characters) == groups[: max(fits)]
