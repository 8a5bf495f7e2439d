"""What merging rows of single values saves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsaudit.analysis.rows.duplicates import TIME_BYTES, MergedInstants, merged_instants


def _merged(instants: list[int], names: list[int], tags: int = 100, name: int = 10, value: int = 8) -> MergedInstants:
    def numbers(values: list[int]) -> np.ndarray:
        return np.array(values, np.int64)

    rows = len(instants)
    return merged_instants(
        numbers(instants), numbers(names), numbers([tags] * rows), numbers([name] * rows), numbers([value] * rows)
    )


def test_twenty_values_of_each_instant_become_one_row() -> None:
    found = _merged([i // 20 for i in range(2000)], [i % 20 for i in range(2000)])
    assert (found.rows, found.instants, len(found.names)) == (2000, 100, 20)
    assert found.bytes_now == 2000 * (100 + 10 + 8 + TIME_BYTES)
    # Tags, time and a name once; each value with its name.
    assert found.bytes_merged == 100 * (100 + TIME_BYTES + 10 + 20 * (10 + 8))


def test_values_at_times_of_their_own_are_left_alone() -> None:
    found = _merged(list(range(50)), [i % 5 for i in range(50)])
    assert (found.rows, found.instants, found.bytes_now, found.bytes_merged) == (0, 0, 0, 0)


def test_only_names_that_mostly_come_together_count() -> None:
    # Names 0 and 1 share every instant, 2 joins them once in ten times.
    instants = [*range(100), *range(100), *range(0, 1000, 100), *range(2000, 2090)]
    names = [0] * 100 + [1] * 100 + [2] * 100
    found = _merged(instants, names)
    assert found.names.tolist() == [0, 1]
    assert (found.rows, found.instants) == (200, 100)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 5)), max_size=200))
def test_merging_keeps_every_value_and_never_adds_rows(rows: list[tuple[int, int]]) -> None:
    found = _merged([instant for instant, _ in rows], [name for _, name in rows])
    assert found.instants <= found.rows <= len(rows)
    kept = [row for row in rows if row[1] in set(found.names.tolist())]
    assert found.rows == len(kept)
    assert found.instants == len({instant for instant, _ in kept})
    assert found.bytes_merged - found.rows * 18 == found.instants * (100 + TIME_BYTES + 10)
    if found.rows >= 2 * found.instants:
        assert found.bytes_merged <= found.bytes_now


def test_name_of_a_merged_row_is_as_long_as_the_others_are() -> None:
    one = merged_instants(*(np.array(v, np.int64) for v in ([0, 0], [0, 1], [5, 5], [4, 8], [8, 8])))
    assert one.bytes_merged == 5 + TIME_BYTES + 6 + (4 + 8) + (8 + 8)
    assert one.bytes_now == pytest.approx(2 * (5 + TIME_BYTES + 8) + 12)
