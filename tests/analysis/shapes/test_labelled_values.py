"""How many labelled kinds of values the shapes recognize."""

from __future__ import annotations

import pytest

from tests.analysis.shapes.labelled_values import HELD_BACK, KINDS, labelled
from tests.analysis.shapes.scoring import GOALS, scored
from tsaudit.analysis.shapes.positions import spread


@pytest.mark.parametrize("count", [64, 120])
def test_goals_are_reached_on_the_labelled_kinds(count):
    kinds = {
        name: (label, [sorted(values)[i] for i in spread(len(values), count)])
        for name, (label, values) in labelled(held_back=False).items()
    }
    score = scored(kinds)
    table = "\n".join(f"{label} {score.found[label]} of {score.of[label]}" for label in GOALS)
    assert score.holds, "\n".join([table, *score.missed, *score.false])


def test_a_third_is_held_back():
    assert 0.25 <= len(HELD_BACK) / len(KINDS) <= 0.4
    assert len(KINDS) >= 60
