"""Numbers of values, compared with a dictionary of Python."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import tag_sets
from tsaudit.analysis.cardinality.tag_sets import NumberedColumn

FEW = st.sampled_from([None, "", "a", "b", "aaaaaaaa", "aaaaaaaab", "é" * 9])
MANY = st.one_of(
    st.none(), st.text(st.sampled_from("ab\x00é"), max_size=20), st.integers(0, 200).map("id-{:040}".format)
)
BATCHES = st.lists(st.lists(st.one_of(FEW, MANY), max_size=30), max_size=12)
WAYS = {
    "as it is": {},
    "hashes as soon as can be": {"_TRY_ON": 1},
    "all hashes alike": {"_TRY_ON": 1, "hashes": lambda texts: np.zeros(len(texts), np.uint64)},
    "few hashes": {"_TRY_ON": 1, "hashes": lambda texts: np.array([len(t) % 3 for t in texts.to_pylist()], np.uint64)},
}
"""By hash or by dictionary, and with hashes that several values share."""


def numbered(batches: list[list[str | None]]) -> tuple[list[str], list[int]]:
    """The values as they first come, and the number of each; 0 where there is none."""
    known: dict[str, int] = {}
    codes = [0 if v is None else known.setdefault(v, len(known) + 1) for batch in batches for v in batch]
    return list(known), codes


def texts(batch: list[str | None]) -> pa.StringArray:
    return pa.array(batch, pa.string())


def values_of(column: NumberedColumn, codes: Iterable[int]) -> list[str | None]:
    values = [None, *column.values.to_pylist()]
    return [values[code] for code in codes]


@pytest.mark.costly
@pytest.mark.parametrize("way", WAYS)
@settings(deadline=None, max_examples=examples(200), print_blob=True)
@given(BATCHES, st.data())
def test_values_are_numbered_as_they_come(way, batches, data):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WAYS[way].items():
            patch.setattr(tag_sets, name, value)
        column, taken = NumberedColumn(), []
        while len(taken) < len(batches):
            together = data.draw(st.integers(1, 3))
            some = batches[len(taken) : len(taken) + together]
            taken += some
            column.add([texts(batch) for batch in some])
            if data.draw(st.booleans()):
                check(column, taken)
        check(column, taken)


def check(column: NumberedColumn, batches: list[list[str | None]]) -> None:
    values, codes = numbered(batches)
    assert column.values.to_pylist() == values
    assert column.codes.tolist() == codes
    assert column.codes.dtype == np.min_scalar_type(len(values)) or not codes
    assert column.levels == len(set(codes))
    assert column.absent_rows == codes.count(0)
    assert values_of(column, codes) == [v for batch in batches for v in batch]


@pytest.mark.parametrize("hashed", [True, False])
def test_ids_as_long_as_each_other_are_told_apart_by_their_bytes(hashed, monkeypatch):
    monkeypatch.setattr(tag_sets, "_TRY_ON", 1)
    if not hashed:
        monkeypatch.setattr(tag_sets, "hashes", lambda texts: np.zeros(len(texts), np.uint64))
    batches = [[f"id-{i * 7919 % 90:04}" for i in range(at, at + 60)] for at in range(0, 600, 60)]
    column = NumberedColumn()
    for batch in batches:
        column.add([texts(batch)])
    check(column, batches)


@settings(deadline=None, max_examples=examples(100), print_blob=True)
@given(BATCHES, BATCHES, st.data())
@pytest.mark.parametrize("way", WAYS)
def test_values_that_no_series_has_any_more_are_forgotten(way, before, after, data):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in WAYS[way].items():
            patch.setattr(tag_sets, name, value)
        column = NumberedColumn()
        column.add([texts(batch) for batch in before])
        rows = [v for batch in before for v in batch]
        kept = sorted(data.draw(st.sets(st.sampled_from(range(len(rows)))))) if rows else []
        column.keep(np.array(kept, np.int64))
        column.prune_unused()
        column.add([texts(batch) for batch in after])
        left = [rows[i] for i in kept] + [v for batch in after for v in batch]
        assert values_of(column, column.codes) == left
        assert sorted(column.values.to_pylist()) == sorted({v for v in left if v is not None})


def test_series_before_the_tag_turned_up_lack_it():
    column = NumberedColumn(absent_rows=3)
    column.add([texts(["x"])])
    assert column.codes.tolist() == [0, 0, 0, 1]


def test_ids_that_repeat_keep_their_numbers():
    ids = [f"{i:08x}" for i in range(100_000)]
    column = NumberedColumn()
    for _ in range(5):
        column.add([texts(ids)])
    assert column.values.to_pylist() == ids
    assert (column.codes == np.tile(np.arange(1, 100_001), 5)).all()


def test_what_waits_lets_go_of_what_it_came_with():
    column = NumberedColumn()
    column.add([texts([f"{i}" for i in range(1000)])])
    whole = texts(["x" * 1000] * 1000)
    column.add([whole.slice(0, 5), whole.slice(5, 5)])
    assert sum(buffer.size for buffer in column._waiting[0].buffers() if buffer) < 20_000
    assert column.levels == 1001
