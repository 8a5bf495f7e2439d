"""Rows that are copies, and rows that are equal by chance."""

from __future__ import annotations

import numpy as np
import pytest

from tsaudit.analysis.rows.duplicates import copied_rows

_RANDOM = np.random.default_rng(5)


def _readings(instants: int, sources: int, values: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """One row of each source at each instant."""
    times = np.repeat(np.arange(instants), sources)
    return times, [np.tile(np.arange(sources), instants), _RANDOM.integers(0, values, instants * sources)]


def test_a_period_that_was_written_again() -> None:
    times, columns = _readings(400, 10, 500)
    again = np.flatnonzero((times >= 100) & (times < 200))
    rows = np.concatenate([np.arange(4_000), again])
    found = copied_rows([column[rows] for column in columns], times[rows], len(rows))
    assert found.copies == 1_000
    assert found.in_bulk >= 950
    assert found.bulk is not None
    first, last = (int(times[rows][row]) for row in found.bulk)
    assert 98 <= first <= 102
    assert 198 <= last <= 202


def test_scattered_copies_are_not_in_bulk() -> None:
    times, columns = _readings(400, 10, 500)
    rows = np.concatenate([np.arange(4_000), np.arange(0, 4_000, 3)])
    found = copied_rows([column[rows] for column in columns], times[rows], len(rows))
    assert (found.copies, found.in_bulk, found.bulk) == (1_334, 0, None)


def test_copies_on_pages_are_in_bulk_although_some_are_on_the_next_page() -> None:
    """Each row was written twice, side by side, and one page of 25 was read: pairs are cut where a page ends."""
    times, columns = _readings(20_000, 5, 500)
    # The five rows of an instant, then the same five again.
    twice = np.tile(np.arange(100_000).reshape(-1, 5), 2).ravel()
    rows = twice[np.arange(len(twice)) // 41 % 25 == 7]
    found = copied_rows([column[rows] for column in columns], times[rows], len(rows), is_of_pages=True)
    assert 0.3 * len(rows) < found.in_bulk < 0.5 * len(rows)
    scattered = np.sort(np.concatenate([np.arange(100_000), np.arange(0, 100_000, 3)]))
    rows = scattered[np.arange(len(scattered)) // 41 % 25 == 7]
    found = copied_rows([column[rows] for column in columns], times[rows], len(rows), is_of_pages=True)
    assert found.in_bulk == 0


@pytest.mark.parametrize(("sources", "values"), [(1, 1), (1, 3), (2, 2), (4, 1)])
def test_rows_with_few_possible_values_are_equal_by_chance(sources: int, values: int) -> None:
    times = np.sort(_RANDOM.integers(0, 500, 5_000))
    columns = [_RANDOM.integers(0, sources, 5_000), _RANDOM.integers(0, values, 5_000)]
    assert copied_rows(columns, times, 5_000).copies == 0


def test_rows_of_one_instant_are_equal_by_chance() -> None:
    """Payments that one statement inserted: `now()` is the same in all of them."""
    orders, amounts = _RANDOM.integers(0, 20_000, 10_000), _RANDOM.integers(0, 15, 10_000)
    instant = np.zeros(10_000, np.int64)
    assert copied_rows([orders, amounts], instant, 10_000).copies == 0
    twice = [np.tile(column, 2) for column in (np.arange(10_000), orders, amounts, instant)]
    assert copied_rows(twice[:-1], twice[-1], 20_000).copies == 10_000


def test_without_times() -> None:
    names, plans = np.arange(3_000), _RANDOM.integers(0, 5, 3_000)
    twice = [np.tile(column, 2) for column in (names, plans)]
    assert copied_rows(twice, None, 6_000).copies == 3_000
    few = [_RANDOM.integers(0, 40, 3_000), plans]
    assert copied_rows(few, None, 3_000).copies == 0
    # Each country has one currency: neither says anything about how often there is a row of it.
    countries = _RANDOM.integers(0, 200, 3_000)
    assert copied_rows([countries, countries // 2, countries % 90], None, 3_000).copies == 0


def test_no_rows() -> None:
    empty = np.array([], np.int64)
    assert copied_rows([empty], empty, 0).copies == 0
    assert copied_rows([empty], None, 0).copies == 0


def test_what_is_usual_at_one_instant_is_no_batch_that_came_twice() -> None:
    """Sales of a day, most of them of the same few products: blocks of equal rows, but not equally many of each."""
    rng = np.random.default_rng(3)
    days = np.repeat(np.arange(10), 1_000)
    products = np.minimum(rng.zipf(1.6, len(days)), 50) - 1
    found = copied_rows([products, rng.integers(0, 2, len(days))], days, len(days))
    assert found.in_bulk == 0


def test_copies_at_both_ends_are_not_in_between() -> None:
    """Two hours, of which the first and the last quarter came twice."""
    once = np.arange(7_200)
    again = np.concatenate([once[:1_800], once[-900:]])
    times = np.concatenate([once, again])
    found = copied_rows([times % 977], times, len(times))
    assert found.bulk is not None
    first, last = (int(times[row]) for row in found.bulk)
    assert 0 <= first < last < 1_800
