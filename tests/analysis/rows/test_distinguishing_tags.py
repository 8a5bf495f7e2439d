"""Which tags tell rows of one instant apart, against counting rows that are left."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_source
from tsaudit.analysis.rows.duplicates import MOST_NEIGHBORS, distinguishing_tags, overwritten
from tsaudit.model.rows import RowsApart, SetApart

TAGS = ("a", "b", "c")
_rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1)), max_size=40)


def _apart(rows: list[tuple[int, ...]], wanted: tuple[frozenset[str], ...] = ()) -> RowsApart:
    table = np.array(rows, np.int64).reshape(-1, 4)
    columns = {tag: table[:, n + 1] for n, tag in enumerate(TAGS)}
    found, complete = distinguishing_tags(columns, table[:, 0])
    counts = overwritten(columns, table[:, 0], {*found, *wanted})
    by = tuple(SetApart(tuple(sorted(names)), count) for names, count in counts.items())
    return RowsApart(len(rows), by, complete, a_source())


@given(_rows)
def test_rows_that_would_be_overwritten_for_any_tags_taken_away(rows: list[tuple[int, ...]]) -> None:
    apart, counted = _apart(rows), _apart(rows, tuple(frozenset(c) for n in (1, 2, 3) for c in combinations(TAGS, n)))
    assert apart.complete
    for size in range(1, len(TAGS) + 1):
        for gone in combinations(TAGS, size):
            left = {tuple(v for n, v in enumerate(row) if n == 0 or TAGS[n - 1] not in gone) for row in rows}
            lost = len(set(rows)) - len(left)
            assert counted.lost(gone) == (lost, True)
            found, is_exact = apart.lost(gone)
            assert found == lost if is_exact else 0 < found <= lost, (gone, apart.by)


def test_one_point_per_host_and_minute() -> None:
    apart = _apart([(minute, host, host % 2, 0) for minute in range(4) for host in range(5)])
    # Without the hosts, those of one rack would fall on one another; the rack alone tells none apart.
    assert apart.lost(("a",)) == (4 * 3, True)
    assert apart.lost(("b",)) == (0, True)
    assert [(one.tags, one.rows) for one in apart.by] == [(("a",), 12)]


def test_rows_of_one_value_say_nothing_about_the_tag_itself() -> None:
    apart = replace(_apart([(0, host, 0, 0) for host in range(5)]), within="b")
    assert apart.lost(("a",)) == (4, True)
    assert apart.lost(("b",)) == (0, False)
    assert replace(apart, whole=False).lost(("a",)) == (4, False)


def test_more_rows_at_an_instant_than_are_compared() -> None:
    apart = _apart([(0, number, 0, 0) for number in range(MOST_NEIGHBORS + 2)])
    assert not apart.complete


def test_more_tags_than_bits_of_a_word() -> None:
    tags = {
        f"t{number:03}": np.array([0, 0, 1, 1]) if number in (3, 130) else np.zeros(4, np.int64)
        for number in range(140)
    }
    found, complete = distinguishing_tags(tags | {"t067": np.array([0, 1, 0, 1])}, np.zeros(4, np.int64))
    assert complete
    assert found == [frozenset({"t067"}), frozenset({"t003", "t130"})]
