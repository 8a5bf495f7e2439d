"""Hashes found among those known, compared with a dictionary of Python."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import hash_table
from tsaudit.analysis.cardinality.hash_table import HashTable

HASHES = st.one_of(
    st.integers(0, 2**64 - 1),
    # All the same in their lowest bits, or about to run over the end of the table.
    st.integers(0, 40).map(lambda n: n << 58),
    st.integers(0, 40).map(lambda n: (n << 58) + 2**58 - 1),
)


@pytest.mark.parametrize("at_once", [1, 7, 1 << 15])
@settings(deadline=None, max_examples=examples(200), print_blob=True)
@given(st.lists(HASHES, max_size=60, unique=True), st.lists(HASHES, max_size=60))
def test_each_is_found_by_its_number_and_no_other(at_once, known, others):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hash_table, "_AT_ONCE", at_once)
        numbers = {value: number for number, value in enumerate(known, 1)}
        wanted = known[::-1] + others + known
        found = HashTable(np.array(known, np.uint64)).numbers(np.array(wanted, np.uint64))
        assert found.tolist() == [numbers.get(value, 0) for value in wanted]


def test_of_equal_hashes_one_is_found():
    found = HashTable(np.array([7, 7, 0, 0], np.uint64)).numbers(np.array([7, 0, 1], np.uint64))
    assert found[0] in (1, 2)
    assert found[1] in (3, 4)
    assert found[2] == 0


def test_many_are_found():
    draw = np.random.default_rng(0)
    known = np.unique(draw.integers(0, 2**64 - 1, 200_000, np.uint64, endpoint=True))
    draw.shuffle(known)
    assert (HashTable(known).numbers(known) == np.arange(1, len(known) + 1)).all()
    assert not HashTable(known[:1000]).numbers(known[1000:]).any()
