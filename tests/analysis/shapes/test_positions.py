"""Places spread over a row, and what lies between known values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tsaudit.analysis.collection_families import interpolated, spread


@given(st.integers(0, 300), st.integers(2, 30))
def test_some_positions_are_spread_over_all(count: int, most: int) -> None:
    places = spread(count, most)
    assert len(places) <= max(most, min(count, most))
    assert places == sorted(set(places))
    if count:
        assert (places[0], places[-1]) == (0, count - 1)


def test_values_between_known_ones_lie_on_a_line() -> None:
    assert interpolated({0: 10.0, 4: 30.0}, 6) == [10.0, 15.0, 20.0, 25.0, 30.0, 30.0]
    assert interpolated({1: 5.0}, 3) == [5.0, 5.0, 5.0]
