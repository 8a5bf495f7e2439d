"""What follows from what, compared with looking at all rows by brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import dependencies
from tsaudit.analysis.cardinality.dependencies import Almost, TagPair

TABLES = st.integers(0, 5).flatmap(
    lambda tags: st.lists(st.tuples(*(st.integers(0, 3) for _ in range(tags))), min_size=1, max_size=40)
)


@pytest.fixture(params=["at once", "sampled", "narrow words"], autouse=True)
def _way(request, monkeypatch):
    """Looked at as a whole, or sampled and piece by piece, and then with tags that do not fit into one number."""
    monkeypatch.setattr(dependencies, "_GROWTH", 2)
    if request.param != "at once":
        monkeypatch.setattr(dependencies, "_REFUTE_ON", 8)
        monkeypatch.setattr(dependencies, "_CHUNK", 4)
        monkeypatch.setattr(dependencies, "_FIRST_CHUNK", 1)
    if request.param == "narrow words":
        monkeypatch.setattr(dependencies, "_WORD", 3)


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
    holds = dependencies.single(columns, levels, series)
    for x, y in itertools.product(range(len(columns)), repeat=2):
        assert holds[x, y] == (x != y and levels[y] > 1 and follows(columns, (x,), y))


@settings(deadline=None, max_examples=examples(300), print_blob=True)
@given(TABLES)
def test_pairs_equal_brute_force(rows):
    columns, levels, series = coded(rows)
    found = dependencies.pairs(columns, levels, dependencies.single(columns, levels, series))
    expected = [
        TagPair(a, b, y, series - len(values_with(columns, (a, b), y)))
        for y in range(len(columns))
        for a, b in itertools.combinations(range(len(columns)), 2)
        if y not in (a, b)
        and follows(columns, (a, b), y)
        and not follows(columns, (a,), y)
        and not follows(columns, (b,), y)
    ]
    assert found == expected


@settings(deadline=None, max_examples=examples(300), print_blob=True)
@given(TABLES, st.sampled_from([0.05, 0.3, 0.5]))
def test_almost_dependencies_equal_brute_force(rows, most):
    columns, levels, series = coded(rows)
    expected = []
    for x, y in itertools.permutations(range(len(columns)), 2):
        repeated = sum(1 for v in range(levels[x]) if (columns[x] == v).sum() > 1)
        broken = sorted(v[0] for v, found in values_with(columns, (x,), y).items() if len(found) > 1)
        if broken and len(broken) <= int(most * repeated):
            expected.append(Almost(x, y, len(broken), repeated, tuple(broken[:3])))
    assert dependencies.almost(columns, dependencies.single(columns, levels, series), most) == expected


@pytest.mark.parametrize("seed", range(4))
def test_single_dependencies_of_many_rows_equal_brute_force(seed):
    draw = np.random.default_rng(seed)
    host = draw.integers(0, 500, 20_000)
    rack, system, kind = draw.integers(0, 60, 500)[host], draw.integers(0, 5, 500)[host], host % 40
    moved = np.where((host == 432) & (draw.random(len(host)) < 0.2), 7, system)
    columns = [host, rack, draw.integers(0, 9, 60)[rack], system, moved, kind, draw.integers(0, 70, len(host)), host]
    columns = [np.unique(column, return_inverse=True)[1].astype(np.uint16) for column in columns]
    levels = [int(column.max()) + 1 for column in columns]
    holds = dependencies.single(columns, levels, len(host) + 1)
    for x, y in itertools.product(range(len(columns)), repeat=2):
        pairs = len(np.unique(columns[x].astype(np.int64) << 16 | columns[y]))
        assert holds[x, y] == (x != y and pairs == levels[x]), (x, y)
    assert not holds[0, 4]
    assert holds[0, [1, 2, 3, 5, 7]].all()


def moved_hosts(moved: int):
    """100 hosts of 4 processors in 10 racks; the first few hosts stand in two racks."""
    rows = [(h, h // 10, cpu) for h in range(100) for cpu in range(4)]
    return coded([(h, 9 if h < moved and cpu == 0 else rack, cpu) for h, rack, cpu in rows])


def test_a_few_moved_hosts_break_a_dependency_and_are_named():
    columns, levels, series = moved_hosts(4)
    found = dependencies.almost(columns, dependencies.single(columns, levels, series))
    assert found == [Almost(0, 1, 4, 100, (0, 1, 2))]


@pytest.mark.parametrize("moved", [0, 6])
def test_no_moved_host_or_too_many_are_no_almost_dependency(moved):
    columns, levels, series = moved_hosts(moved)
    assert dependencies.almost(columns, dependencies.single(columns, levels, series)) == []


def test_values_that_occur_once_say_nothing():
    columns, levels, series = coded([*((i, i % 7) for i in range(98)), (98, 0), (98, 1), (99, 0), (99, 0)])
    assert dependencies.almost(columns, dependencies.single(columns, levels, series)) == []


def test_a_pair_that_names_a_tag_neither_names_alone():
    columns, levels, series = coded([(a, b, (a + b) % 5, c) for a in range(5) for b in range(5) for c in range(3)])
    found = dependencies.pairs(columns, levels, dependencies.single(columns, levels, series))
    assert found == [TagPair(1, 2, 0, 50), TagPair(0, 2, 1, 50), TagPair(0, 1, 2, 50)]
