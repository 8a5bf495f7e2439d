"""What proves that rows are copies, and where they are."""

from __future__ import annotations

import numpy as np

from tsaudit.analysis.codes import combined
from tsaudit.analysis.rows.duplicates import begins_late, identifying, place_of


def _twice(*columns: np.ndarray, again: np.ndarray) -> list[np.ndarray]:
    return [np.append(column, column[again]) for column in columns]


def test_the_column_that_differs_in_all_other_rows() -> None:
    number = np.arange(1_000)
    some, unique, within = _twice(number % 2, number, number // 2, again=number[::5])
    whole = combined([some, unique], len(some))
    assert identifying({"n": within, "id": unique}, {}, whole) == ("id",)
    assert identifying({"n": within}, {"source": some}, whole) == ("source", "n")
    assert identifying({"n": within}, {"other": unique}, whole) == ()
    assert identifying({"id": np.where(unique == 7, -1, unique)}, {}, whole) == ()


def test_the_column_that_different_rows_share_identifies_none() -> None:
    """Of 40 payments of an order that has another one, 20 are equal to it, and 20 are by another method."""
    orders = np.append(np.arange(1_000), np.arange(40))
    methods = np.append(np.zeros(1_020, np.int64), np.ones(20, np.int64))
    assert identifying({"order": orders}, {}, combined([orders, methods], len(orders))) == ()
    equal = np.append(np.arange(1_000), np.arange(40))
    assert identifying({"order": equal}, {}, equal) == ("order",)


def test_the_values_that_all_copies_have() -> None:
    source = np.repeat(np.arange(4), 250)
    number = np.arange(1_000)
    is_copy = (number % 10 == 0) & (source == 2)
    place = place_of({"half": source // 2, "source": source, "number": number}, is_copy)
    assert place is not None
    assert (place.column, place.total) == ("source", 250)
    assert [int(source[row]) for row in place.rows] == [2]
    assert place_of({"source": source}, number % 10 == 0) is None
    # Nearly all values are no place: those without a copy are so by chance.
    devices = np.repeat(np.arange(10), 100)
    assert place_of({"device": devices}, (number % 10 == 0) & (devices < 8)) is None
    # Three rows without a copy tell nothing.
    assert place_of({"source": np.where(number < 3, 9, 0)}, (number % 10 == 0) & (number > 3)) is None


def test_copies_begin_late_if_none_came_for_long() -> None:
    number = np.arange(1_000)
    assert begins_late((number >= 500) & (number % 10 == 0)) == 500
    assert begins_late((number >= 90) & (number % 10 == 0)) is None
    # Bursts as far apart as the first is from the begin.
    assert begins_late(number % 400 > 380) is None
