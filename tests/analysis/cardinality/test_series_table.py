"""Which dependencies are reported: all that are meant, none that are luck."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality.series_table import SeriesTable


def certain(rows: list[tuple[int, ...]]) -> set[tuple[int, int]]:
    rows = sorted(set(rows))
    columns = [np.array([sorted(set(c)).index(v) for v in c], np.uint16) for c in zip(*rows, strict=True)]
    levels = [len(set(c.tolist())) for c in columns]
    table = SeriesTable(columns, levels, len(rows), len(rows))
    return set(table.certain_dependencies([level == len(rows) for level in levels]))


@pytest.mark.parametrize("seed", range(60))
def test_unrelated_tags_are_never_reported_as_related(seed: int) -> None:
    """60 tables of 5 unrelated tags and one that repeats; by the bound, one in a hundred may be reported by luck."""
    draw = random.Random(seed)
    sizes = [draw.choice([2, 3, 10, 100]) for _ in range(5)]
    rows = [tuple(draw.randrange(size) for size in sizes) for _ in range(draw.choice([20, 100, 1000]))]
    found = certain([(*row, row[0], number) for number, row in enumerate(rows)])
    assert {pair for pair in found if 6 not in pair} <= {(0, 5), (5, 0)}


ROWS = st.lists(st.tuples(*(st.integers(0, 4) for _ in range(4))), min_size=2, max_size=120)


@settings(deadline=None, max_examples=examples(200))
@given(ROWS)
def test_all_that_is_reported_holds(rows: list[tuple[int, ...]]) -> None:
    found = certain(rows)
    assert all(len({(r[x], r[y]) for r in rows}) == len({r[x] for r in rows}) for x, y in found)
    assert found <= set(itertools.permutations(range(4), 2))
