"""Rows as codes: what numpy says more slowly."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.codes import combined, count_distinct, counted, distinct, order_by

_SMALL = st.integers(-1, 3)
_ANY = st.integers(-(2**40), 2**40)


def _columns(values: st.SearchStrategy[int]) -> st.SearchStrategy[list[tuple[int, ...]]]:
    return st.integers(1, 4).flatmap(lambda width: st.lists(st.tuples(*[values] * width), min_size=1, max_size=30))


@settings(max_examples=examples(200))
@given(_columns(_SMALL) | _columns(_ANY))
def test_combinations_are_numbered_in_their_order(rows: list[tuple[int, ...]]) -> None:
    numbers = {row: number for number, row in enumerate(sorted(set(rows)))}
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    assert combined(columns, len(rows)).tolist() == [numbers[row] for row in rows]


def test_combinations_of_many_columns_with_many_values() -> None:
    """Their product is far beyond 64 bits."""
    column = np.arange(2_000) * 2**31
    assert combined([column] * 12, 2_000).tolist() == list(range(2_000))


def test_combinations_of_numbers_without_a_sign() -> None:
    """Hashes are such; neither of these fits 64 bits with a sign, or just one does."""
    for high in (2**64 - 1, 2**63):
        column = np.array([high, high - 1, high], np.uint64)
        assert combined([column], 3).tolist() == [1, 0, 1]


def test_rows_without_columns_are_all_the_same() -> None:
    assert combined([], 3).tolist() == [0, 0, 0]
    assert combined([np.zeros(0, np.int64)], 0).tolist() == []


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(_SMALL | _ANY, _SMALL | _ANY), max_size=30))
def test_rows_are_ordered_by_group_and_then_within_it(rows: list[tuple[int, int]]) -> None:
    groups, within = np.array(rows, np.int64).reshape(-1, 2).T
    assert order_by(groups, within).tolist() == sorted(range(len(rows)), key=rows.__getitem__)
    assert distinct(groups).tolist() == sorted({group for group, _ in rows})
    assert count_distinct(groups) == len({group for group, _ in rows})


@settings(max_examples=examples(200))
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.sampled_from([0, 1_000]))
def test_numbers_that_occur_are_counted(numbers: list[int], wider: int) -> None:
    """`wider`: few of the numbers that are possible occur, so that they are sorted."""
    found, counts = counted(np.array(numbers, np.int64), max(numbers) + 1 + wider)
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == Counter(numbers)
    assert found.tolist() == sorted(set(numbers))
