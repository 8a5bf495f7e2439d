"""What follows from what, compared with looking at all rows by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import series_table

TABLES = st.integers(0, 5).flatmap(
    lambda tags: st.lists(st.tuples(*(st.integers(0, 3) for _ in range(tags))), min_size=1, max_size=40)
)


@pytest.fixture(params=["at once", "sampled", "narrow words"], autouse=True)
def _way(request, monkeypatch):
    """Looked at as a whole, or sampled and piece by piece, and then with tags that do not fit into one number."""
    if request.param != "at once":
        monkeypatch.setattr(series_table, "_REFUTE_ON", 8)
        monkeypatch.setattr(series_table, "_CHUNK", 4)
        monkeypatch.setattr(series_table, "_FIRST_CHUNK", 1)
    if request.param == "narrow words":
        monkeypatch.setattr(series_table, "_WORD", 3)


def coded(rows):
    """Columns of codes without gaps, the levels of each, and the distinct rows."""
    rows = sorted(set(rows))
    texts = list(zip(*rows, strict=True))
    columns = [np.array([sorted(set(column)).index(v) for v in column], np.uint8) for column in texts]
    return columns, [len(set(column)) for column in texts], len(rows)


def values_with(columns, given_, y):
    """The values of y that occur with each combination of the given columns."""
    seen: dict[tuple[int, ...], set[int]] = {}
    for row in zip(*columns, strict=True):
        seen.setdefault(tuple(int(row[i]) for i in given_), set()).add(int(row[y]))
    return seen


def follows(columns, given_, y) -> bool:
    return all(len(found) == 1 for found in values_with(columns, given_, y).values())


@settings(deadline=None, max_examples=examples(300), print_blob=True)
@given(TABLES)
def test_single_dependencies_equal_brute_force(rows):
    columns, levels, series = coded(rows)
    holds = series_table.single(columns, levels, series)
    for x, y in itertools.product(range(len(columns)), repeat=2):
        assert holds[x, y] == (x != y and levels[y] > 1 and follows(columns, (x,), y))


@pytest.mark.parametrize("seed", range(4))
def test_single_dependencies_of_many_rows_equal_brute_force(seed):
    draw = np.random.default_rng(seed)
    host = draw.integers(0, 500, 20_000)
    rack, system, kind = draw.integers(0, 60, 500)[host], draw.integers(0, 5, 500)[host], host % 40
    moved = np.where((host == 432) & (draw.random(len(host)) < 0.2), 7, system)
    columns = [host, rack, draw.integers(0, 9, 60)[rack], system, moved, kind, draw.integers(0, 70, len(host)), host]
    columns = [np.unique(column, return_inverse=True)[1].astype(np.uint16) for column in columns]
    levels = [int(column.max()) + 1 for column in columns]
    holds = series_table.single(columns, levels, len(host) + 1)
    for x, y in itertools.product(range(len(columns)), repeat=2):
        pairs = len(np.unique(columns[x].astype(np.int64) << 16 | columns[y]))
        assert holds[x, y] == (x != y and pairs == levels[x]), (x, y)
    assert not holds[0, 4]
    assert holds[0, [1, 2, 3, 5, 7]].all()
