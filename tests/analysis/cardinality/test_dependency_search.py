"""Which dependencies are told: all that are meant, none that are luck."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import dependency_search
from tsaudit.analysis.cardinality.dependency_search import _exceptions
from tsaudit.analysis.cardinality.series_table import SeriesTable


def table(rows: list[tuple[int, ...]]) -> SeriesTable:
    rows = sorted(set(rows))
    columns = [np.array([sorted(set(c)).index(v) for v in c], np.uint16) for c in zip(*rows, strict=True)]
    return SeriesTable(columns, [len(set(c.tolist())) for c in columns], len(rows), len(rows))


def joint(rows: list[tuple[int, ...]]) -> set[tuple[int, int, int]]:
    return {(p.first, p.second, p.dependent) for p in dependency_search.joint(table(rows))}


def near(rows: list[tuple[int, ...]]) -> set[tuple[int, int]]:
    return {(n.found.determinant, n.found.dependent) for n in dependency_search.near(table(rows))}


@pytest.mark.parametrize("seed", range(60))
def test_unrelated_tags_are_never_told_to_be_related(seed: int) -> None:
    """60 tables of 6 unrelated tags: by the bound, one in a hundred per kind may be told by luck."""
    draw = random.Random(seed)
    sizes = [draw.choice([2, 3, 10, 100, 1000]) for _ in range(6)]
    rows = [tuple(draw.randrange(size) for size in sizes) for _ in range(draw.choice([20, 100, 1000]))]
    assert (joint(rows), near(rows)) == (set(), set())


@pytest.mark.parametrize("seed", range(20))
def test_a_joint_dependency_that_is_meant_is_told(seed: int) -> None:
    draw = random.Random(seed)
    meant = {(site, line): draw.randrange(7) for site in range(12) for line in range(9)}
    rows = [(site, line, machine, cell) for (site, line), cell in meant.items() for machine in range(6)]
    assert (0, 1, 3) in joint(rows)


@pytest.mark.parametrize("seed", range(20))
def test_a_near_dependency_that_is_meant_is_told_with_its_exceptions(seed: int) -> None:
    draw = random.Random(seed)
    moved = set(draw.sample(range(1000), 12))
    rows = [
        (host, (host // 25 + (host in moved and cpu == 0)) % 40, cpu, draw.randrange(50))
        for host in range(1000)
        for cpu in range(4)
    ]
    found = next(n for n in dependency_search.near(table(rows)) if (n.found.determinant, n.found.dependent) == (0, 1))
    assert (found.found.broken, found.found.repeated, found.exceptions) == (12, 1000, 12)


def test_a_nearly_constant_tag_nearly_follows_from_nothing() -> None:
    draw = random.Random(0)
    rows = [(i // 2, draw.random() < 0.02, draw.randrange(1000)) for i in range(4000)]
    assert near(rows) == set()


def test_of_pairs_that_follow_from_a_coarser_one_only_that_is_told() -> None:
    # host determines rack; rack and port determine zone, and so host and port do, too.
    rows = [(h, h // 5, port, (h // 5 + port) % 6, k) for h in range(60) for port in range(6) for k in range(3)]
    assert {p for p in joint(rows) if p[2] == 3} == {(1, 2, 3)}


def test_of_interchangeable_tags_the_first_is_told() -> None:
    rows = [(h, h + 7, port, (h + port) % 6, k) for h in range(30) for port in range(6) for k in range(3)]
    assert {p for p in joint(rows) if p[2] == 3} == {(0, 2, 3)}
    moved = [(h, h + 7, h // 10 if (h, k) != (3, 0) else 2, k) for h in range(30) for k in range(9)]
    assert near(moved) == {(0, 2)}


def test_luck_is_judged_by_all_that_could_have_been_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pair of four tags with each other tag, and each of three tags with each other one."""
    tried: set[int] = set()

    def is_no_luck(repeats: int, exceptions: int, sameness: float, of: int) -> bool:
        tried.add(of)
        return True

    monkeypatch.setattr(dependency_search, "_is_no_luck", is_no_luck)
    rows = [(a, b, a * b, b % 2) for a in range(5) for b in range(5)]
    joint(rows)
    assert tried == {12}
    tried.clear()
    near([*((host, host % 4, user) for host in range(40) for user in range(5)), (1, 9, 0)])
    assert tried == {6}


def test_too_many_tags_are_not_searched() -> None:
    many = table([tuple(range(dependency_search.MOST_TAGS + 1)), (1,) * (dependency_search.MOST_TAGS + 1)])
    assert f"is limited to {dependency_search.MOST_TAGS} tags" in dependency_search.too_much(many)
    assert dependency_search.too_much(table([(0, 1), (1, 0)])) == ""


def test_too_many_series_for_so_many_tags_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dependency_search, "MOST_ROWS", 30)
    rows = [(i, i % 2, i % 5) for i in range(11)]
    assert dependency_search.too_much(table(rows[:10])) == ""
    assert "of 3 tags is limited to 10 series" in dependency_search.too_much(table(rows))


@settings(deadline=None, max_examples=examples(300))
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=60))
def test_exceptions_are_the_fewest_rows_to_leave_out(rows: list[tuple[int, int]]) -> None:
    by_x: dict[int, Counter[int]] = defaultdict(Counter)
    for x, y in rows:
        by_x[x][y] += 1
    expected = sum(sum(c.values()) - max(c.values()) for c in by_x.values())
    columns = [np.array(c, np.uint8) for c in zip(*rows, strict=True)]
    assert _exceptions(*columns) == expected


ROWS = st.lists(st.tuples(*(st.integers(0, 4) for _ in range(4))), min_size=2, max_size=120)


@settings(deadline=None, max_examples=examples(200))
@given(ROWS)
def test_all_that_is_told_holds(rows: list[tuple[int, ...]]) -> None:
    series = sorted(set(rows))

    def follows(given_: tuple[int, ...], y: int) -> bool:
        return len({(*(r[i] for i in given_), r[y]) for r in series}) == len(
            {tuple(r[i] for i in given_) for r in series}
        )

    for a, b, y in joint(rows):
        assert follows((a, b), y)
        assert not follows((a,), y)
        assert not follows((b,), y)
    assert all(not follows((x,), y) for x, y in near(rows))
    found = table(rows)
    single = dependency_search.single(found, [level == found.series for level in found.levels])
    assert all(follows((x,), y) for x, y in single)
    assert set(single) <= set(itertools.permutations(range(4), 2))
