"""How many labelled sets of names the families are right about."""

from __future__ import annotations

import pytest

from tests.analysis.shapes.labelled_names import FOUND, HELD_BACK, SETS
from tsaudit.analysis.shapes.name_families import name_families


@pytest.mark.parametrize("name", sorted(set(SETS) - HELD_BACK))
def test_names_with_data_are_one_family_and_others_none(name):
    label, names, piece = SETS[name]
    families = name_families(names)
    if label == "N":
        assert families == []
    else:
        largest = max(families, key=lambda family: len(family.members))
        assert len(largest.members) >= FOUND * len(names)
        assert piece in largest.template


def test_a_third_is_held_back():
    assert 0.25 <= len(HELD_BACK) / len(SETS) <= 0.4
