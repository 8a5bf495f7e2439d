"""Series that would become one: whole groups, evenly chosen, in bounded memory."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import merging
from tsaudit.analysis.cardinality.merging import Groups, MergingSeries
from tsaudit.analysis.cardinality.what_if import TagReduction, changed

TAGS = ("a", "b", "c")
TABLES = st.lists(
    st.tuples(*(st.sampled_from([None, "1", "2", "3", "4"]) for _ in TAGS)), unique=True, min_size=1, max_size=60
)
CHANGES = st.sampled_from([TagReduction(frozenset("a")), TagReduction(frozenset("ab")), TagReduction(buckets={"c": 2})])


def chosen(rows: list[tuple[str | None, ...]], change: TagReduction, most: int, size: int = 7) -> Groups:
    series = MergingSeries(change)
    for at in range(0, len(rows), size):
        columns = zip(*rows[at : at + size], strict=True)
        series.add(pa.record_batch({tag: pa.array(c, pa.string()) for tag, c in zip(TAGS, columns, strict=True)}))
    return series.chosen(most)


def groups_of(
    rows: list[tuple[str | None, ...]], change: TagReduction
) -> dict[tuple[str | None, ...], tuple[str, ...]]:
    columns = {t: pa.array(c, pa.string()) for t, c in zip(TAGS, zip(*rows, strict=True), strict=True)}
    after = [column.to_pylist() for column in changed(columns, change).values()]
    return dict(zip(rows, zip(*after, strict=True), strict=True))


@pytest.mark.parametrize("kept", [1 << 12, 6])
@settings(deadline=None, max_examples=examples(150))
@given(TABLES, CHANGES, st.integers(2, 20))
def test_groups_are_whole_or_said_not_to_be(
    kept: int, rows: list[tuple[str | None, ...]], change: TagReduction, most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "_KEPT", kept)
        found = chosen(rows, change, most)
    group = groups_of(rows, change)
    sizes = Counter(group.values())
    read = Counter(group[tuple(s[t] for t in TAGS)] for s in found.series)
    assert len(found.series) <= most
    assert len(read) == found.count
    assert all(size > 1 for size in read.values())
    if found.whole:
        assert read == {g: sizes[g] for g in read}
    else:
        assert found.count == 1
    if kept > len(rows) and max(sizes.values()) > 1:
        assert found.series
