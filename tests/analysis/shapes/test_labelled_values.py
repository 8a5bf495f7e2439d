"""How many labelled kinds of values the shapes recognize."""

from __future__ import annotations

import pytest

from tests.analysis.shapes import labelled_formats, labelled_values
from tests.analysis.shapes.scoring import GOALS, labelled, scored
from tsaudit.analysis.collection_families import spread


@pytest.mark.parametrize("count", [64, pytest.param(120, marks=pytest.mark.full)])
def test_goals_are_reached_on_the_labelled_kinds(count):
    kinds = {
        name: (label, [sorted(values)[i] for i in spread(len(values), count)])
        for name, (label, values) in labelled(held_back=False).items()
    }
    score = scored(kinds)
    table = "\n".join(f"{label} {score.found[label]} of {score.of[label]}" for label in GOALS)
    assert score.holds, "\n".join([table, *score.missed, *score.false])


def test_a_third_of_the_values_and_half_of_the_formats_are_held_back():
    assert 0.25 <= len(labelled_values.HELD_BACK) / len(labelled_values.KINDS) <= 0.4
    assert 0.4 <= len(labelled_formats.HELD_BACK) / len(labelled_formats.FORMATS) <= 0.6
    assert not labelled_values.KINDS.keys() & labelled_formats.FORMATS.keys()
