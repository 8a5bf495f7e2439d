"""Kinds in all by those seen, against simulations."""

from __future__ import annotations

import random

import pytest

from tsaudit.analysis.significance import kinds_in_all


@pytest.mark.parametrize(("kinds", "each"), [(3, 5000), (500, 20), (5000, 10), (20_000, 2), (40_000, 1)])
def test_number_of_kinds_is_found_from_a_thousand_draws(kinds: int, each: int) -> None:
    everything = [kind for kind in range(kinds) for _ in range(each)]
    chance = random.Random(kinds)
    drawn = chance.sample(everything, 1000)
    found = kinds_in_all(1000, len(set(drawn)), len(everything))
    assert found == pytest.approx(kinds, rel=0.35 if each > 1 else 1e-9)


def test_all_that_were_drawn_are_all_there_are() -> None:
    assert kinds_in_all(60, 3, 60) == 3
    assert kinds_in_all(0, 0, 60) == 0
