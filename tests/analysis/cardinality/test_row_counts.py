"""Rows that differ by many choices of columns, compared with sets of tuples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import series_table
from tsaudit.analysis.cardinality.series_table import RowCounter


@pytest.fixture(params=["marked", "summed", "sampled", "colliding"])
def _way(request, monkeypatch):
    """Each way of counting, whatever the size of the table would have led to."""
    monkeypatch.setattr(series_table, "_CHUNK", 8)
    if request.param == "marked":
        monkeypatch.setattr(series_table, "_ROOM", 1 << 14)
        return
    monkeypatch.setattr(series_table, "_ROOM", 0)
    if request.param == "sampled":
        monkeypatch.setattr(series_table, "_TRY_ON", 4)
    if request.param == "colliding":
        # The higher bits, by which rows are sorted, are the same for all of them.
        monkeypatch.setattr(RowCounter, "_draw_words", _draw_exact_words)


def _draw_exact_words(counter: RowCounter, columns) -> None:
    """Words whose sums are the combinations themselves, in the lower bits alone."""
    width = 1
    for column, size in enumerate(counter._sizes):
        counter._words[column] = np.arange(size, dtype=np.uint64) * np.uint64(width)
        width *= size


def table(widths, rows: int, seed: int) -> list[np.ndarray]:
    draw = np.random.default_rng(seed)
    return [draw.integers(0, width, rows).astype(np.min_scalar_type(width)) for width in widths]


def rows_of(columns, choice, rows: int) -> list[tuple[int, ...]]:
    chosen = [columns[i].tolist() for i in sorted(choice)]
    return list(zip(*chosen, strict=True)) if chosen else [()] * rows


def choices_of(columns) -> list[frozenset[int]]:
    positions = range(len(columns))
    return [frozenset(c) for size in range(1, len(columns) + 1) for c in itertools.combinations(positions, size)]


def checked(columns, rows: int, choices) -> None:
    counter = RowCounter(columns, rows)
    assert counter.counts(choices) == {choice: len(set(rows_of(columns, choice, rows))) for choice in choices}


@pytest.mark.usefixtures("_way")
@settings(deadline=None, max_examples=examples(150), print_blob=True)
@given(
    st.lists(st.sampled_from([1, 2, 3, 40, 300]), min_size=1, max_size=6),
    st.integers(0, 60),
    st.integers(0, 2**32 - 1),
    st.data(),
)
def test_counts_equal_sets_of_tuples(widths, rows, seed, data):
    columns = table(widths, rows, seed)
    every = choices_of(columns)
    checked(columns, rows, data.draw(st.lists(st.sampled_from(every), unique=True, max_size=12)))


@pytest.mark.usefixtures("_way")
@settings(deadline=None, max_examples=examples(150), print_blob=True)
@given(st.lists(st.sampled_from([1, 2, 3, 40, 300]), max_size=4), st.integers(0, 60), st.integers(0, 2**32 - 1))
def test_first_rows_equal_a_search_from_the_top(widths, rows, seed):
    columns = table(widths, rows, seed)
    choice = frozenset(range(len(columns)))
    seen: dict[tuple[int, ...], int] = {}
    for at, row in enumerate(rows_of(columns, choice, rows)):
        seen.setdefault(row, at)
    assert RowCounter(columns, rows).first_rows(choice).tolist() == list(seen.values())


@pytest.mark.parametrize("rows", [1, 2, 1 << 10])
def test_all_rows_equal_or_all_different(rows):
    columns = [np.zeros(rows, np.uint8), np.arange(rows, dtype=np.uint32), np.arange(rows, dtype=np.uint32)[::-1]]
    checked(columns, rows, choices_of(columns))
    counter = RowCounter(columns, rows)
    assert counter.first_rows(frozenset({0})).tolist() == [0]
    assert counter.first_rows(frozenset({1, 2})).tolist() == list(range(rows))


def test_a_choice_of_no_columns_leaves_one_row_where_there_are_any():
    assert RowCounter([np.arange(9, dtype=np.uint8)], 9).counts([frozenset()]) == {frozenset(): 1}
    assert RowCounter([], 0).counts([frozenset()]) == {frozenset(): 0}


@pytest.mark.full
@pytest.mark.parametrize("seed", range(4))
def test_large_tables_of_all_widths_are_counted_right(seed):
    # Enough rows for samples to be drawn and for most rows to be set apart.
    rows = 150_000
    draw = np.random.default_rng(seed)
    widths = [2, 7, 256, 300, 5_000, 70_000, rows]
    columns = table(widths, rows, seed)
    columns.append((columns[5] // 50).astype(np.uint16))
    columns.append(np.sort(columns[4]))
    choices = {frozenset(draw.choice(len(columns), size, replace=False).tolist()) for size in (1, 2, 3, 5, 7, 8)}
    checked(columns, rows, choices | {frozenset(range(len(columns))) - {i} for i in range(len(columns))})
