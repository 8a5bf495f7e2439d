"""Columns that belong together, against brute force and on known truths."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.analysis.rows.column_groups import FieldGroup, complementary, groups, patterns

COLUMNS = "abcdefghij"
tables = st.lists(st.frozensets(st.sampled_from(COLUMNS)), max_size=40)


@given(tables)
def test_patterns_are_the_distinct_sets_of_filled_columns(rows: list[frozenset[str]]) -> None:
    found = patterns({c: np.array([c in row for row in rows], bool) for c in COLUMNS})
    assert dict(found) == {row: rows.count(row) for row in rows}
    counts = [count for _, count in found]
    assert counts == sorted(counts, reverse=True)


def test_patterns_of_nothing() -> None:
    assert patterns({}) == []
    assert patterns({"a": np.zeros(0, bool)}) == []


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.frozensets(st.sampled_from("xyz"))), max_size=30))
def test_complementary_pairs_are_neighbours_that_share_no_field(rows: list[tuple[int, int, frozenset[str]]]) -> None:
    pairs = apart = 0
    for series in range(3):
        # Rows of one time keep the order in which they were read.
        own = sorted(((t, i) for i, (s, t, filled) in enumerate(rows) if s == series and filled))
        for (_, before), (_, after) in itertools.pairwise(own):
            pairs += 1
            apart += not rows[before][2] & rows[after][2]
    found = complementary(
        np.array([s for s, _, _ in rows], np.int64),
        np.array([t for _, t, _ in rows], np.int64),
        [np.array([c in filled for _, _, filled in rows], bool) for c in "xyz"],
    )
    assert found == (pairs, apart)


def test_no_fields_make_no_pairs() -> None:
    assert complementary(np.zeros(3, np.int64), np.arange(3), []) == (0, 0)


@given(tables)
def test_no_row_fills_columns_of_two_groups(rows: list[frozenset[str]]) -> None:
    found = [(row, rows.count(row)) for row in dict.fromkeys(rows)]
    divided = groups(found, len(rows))
    columns = [c for group in divided.groups for c in group.columns]
    assert len(set(columns)) == len(columns)
    assert not set(columns) & set(divided.common)
    assert divided.rows == len(rows)
    assert divided.coverage <= 1
    # Under a hundred rows no pattern is rare: every row counts.
    for row in rows:
        assert set(divided.common) <= row
        assert sum(bool(row & set(group.columns)) for group in divided.groups) <= 1
    for group in divided.groups:
        assert group.rows == sum(bool(row & set(group.columns)) for row in rows)


def test_two_kinds_of_rows_that_share_a_column() -> None:
    first, second = frozenset({"source", "code", "crypto", "price"}), frozenset({"src", "crypto", "cost"})
    divided = groups([(first, 5), (second, 4)], 9)
    assert divided.common == ("crypto",)
    assert divided.groups == (FieldGroup(("code", "price", "source"), 5), FieldGroup(("cost", "src"), 4))
    assert divided.coverage == 1


def test_a_pattern_of_one_row_in_a_thousand_joins_nothing() -> None:
    both = frozenset("ab")
    assert len(groups([(frozenset("a"), 600), (frozenset("b"), 399), (both, 1)], 1000).groups) == 2
    assert len(groups([(frozenset("a"), 600), (frozenset("b"), 380), (both, 20)], 1000).groups) == 1


def test_rows_of_patterns_that_are_not_known_are_of_no_kind() -> None:
    divided = groups([(frozenset("a"), 40), (frozenset("b"), 40)], 100)
    assert (divided.rows, divided.coverage) == (100, 0.8)


def test_groups_of_nothing() -> None:
    assert groups([], 0).groups == ()
    assert groups([], 0).coverage == 0
