"""What a change of tags leaves, against brute force."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import a_source
from tests.examples import examples
from tsaudit.analysis.cardinality.tag_sets import TagSetCounter
from tsaudit.analysis.values.hashes import bucketed
from tsaudit.what_if import Collisions, Left, LeftCounter, TagReduction, collisions, from_tag_sets

TAGS = ("host", "region", "user")
VALUES = st.none() | st.sampled_from(["a", "b", "c", "d", "é"])
ROWS = st.lists(st.tuples(VALUES, VALUES, VALUES), min_size=1, max_size=40)
CHANGES = st.builds(
    TagReduction,
    st.frozensets(st.sampled_from(["host", "region"])),
    st.dictionaries(st.just("user"), st.integers(1, 3)),
)


def a_batch(rows: list[tuple[str | None, ...]]) -> pa.RecordBatch:
    return pa.record_batch({tag: pa.array([row[i] for row in rows], pa.string()) for i, tag in enumerate(TAGS)})


def changed(rows: list[tuple[str | None, ...]], change: TagReduction) -> list[tuple[str | None, ...]]:
    """The tag sets after the change, one by one."""
    buckets = change.buckets or {}

    def one(tag: str, value: str | None) -> str | None:
        return bucketed(pa.array([value], pa.string()), buckets[tag])[0].as_py() if tag in buckets else value

    return [
        tuple(one(tag, value) for tag, value in zip(TAGS, row, strict=True) if tag not in change.dropped)
        for row in rows
    ]


@settings(deadline=None, max_examples=examples(60))
@given(ROWS, CHANGES, st.integers(0, 40))
def test_series_left_are_the_distinct_tag_sets_after_the_change(
    rows: list[tuple[str | None, ...]], change: TagReduction, cut: int
) -> None:
    counter = LeftCounter(TAGS, change)
    for part in (rows[:cut], rows[cut:]):
        counter.add(a_batch(part))
    left = counter.left
    assert (left.now, left.after) == (len(set(rows)), len(set(changed(rows, change))))


@settings(deadline=None, max_examples=examples(60))
@given(ROWS, CHANGES, st.data())
def test_rows_collide_which_repeat_tags_and_time(
    rows: list[tuple[str | None, ...]], change: TagReduction, data: st.DataObject
) -> None:
    times = data.draw(st.lists(st.none() | st.integers(1, 3), min_size=len(rows), max_size=len(rows)))
    batch = a_batch(rows)
    found = collisions({tag: batch.column(tag) for tag in TAGS}, pa.array(times, pa.int64()), change)

    def repeating(tag_sets: list[tuple[str | None, ...]]) -> int:
        counts = Counter((t, *tags) for t, tags in zip(times, tag_sets, strict=True) if t is not None)
        return sum(n - 1 for n in counts.values())

    timed = sum(t is not None for t in times)
    assert found == Collisions(timed, repeating(rows), repeating(changed(rows, change)))


@settings(deadline=None, max_examples=examples(60))
@given(ROWS, st.sampled_from(TAGS))
def test_stored_figures_say_what_a_listing_says_when_one_tag_is_dropped(
    rows: list[tuple[str | None, ...]], tag: str
) -> None:
    stored, listed = TagSetCounter(TAGS), LeftCounter(TAGS, TagReduction(frozenset({tag})))
    stored.add(a_batch(rows))
    listed.add(a_batch(rows))
    left = from_tag_sets(stored.tag_sets(a_source()), tag)
    assert left is not None
    assert (left.now, left.after) == (listed.left.now, listed.left.after)
    if left.determined_by:
        together = LeftCounter(TAGS, TagReduction(frozenset({tag, *left.determined_by})))
        together.add(a_batch(rows))
        assert left.together == together.left.after


def test_tag_that_another_determines_gains_nothing_alone() -> None:
    counter = TagSetCounter(["host", "user"])
    counter.add(pa.record_batch({"host": ["a", "a", "b"], "user": ["1", "2", "3"]}))
    tag_sets = counter.tag_sets(a_source())
    assert from_tag_sets(tag_sets, "host") == Left(3, 3, ("user",), 1)
    assert from_tag_sets(tag_sets, "user") == Left(3, 2)
    assert from_tag_sets(tag_sets, "rack") is None


def test_nothing_is_left_of_no_series() -> None:
    assert LeftCounter(["host"], TagReduction(frozenset({"host"}))).left == Left(0, 0)


def test_bucket_of_a_value_is_the_same_everywhere_and_absence_stays() -> None:
    found = bucketed(pa.array(["a", None, "b", "a"]), 4).to_pylist()
    assert found == ["3", None, "1", "3"]
