"""Dependencies, keys and contributions, compared with counting by brute force."""

from __future__ import annotations

import itertools
import math
import random
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.cardinality import series_table, tag_sets
from tsaudit.analysis.cardinality import tag_sets as cardinality
from tsaudit.analysis.cardinality.tag_sets import TagColumn, TagSetCounter
from tsaudit.analysis.values.hashes import Counted
from tsaudit.model.columns import Contribution, Dependency, TagSets
from tsaudit.model.figures import How, Source

SOURCE = Source("influxdb1/series_listing.influxql", How.EXACT, datetime(2026, 11, 21, tzinfo=UTC))

TAGS = ("a", "b", "c", "d")
VALUES = st.sampled_from([None, "1", "2", "3"])
TABLES = st.lists(st.tuples(*(VALUES for _ in TAGS)), max_size=12)


def batch_of(rows, tags=TAGS) -> pa.RecordBatch:
    columns = [pa.array([row[i] for row in rows], pa.string()) for i in range(len(tags))]
    return pa.RecordBatch.from_arrays(columns, list(tags))


def counted(rows, tags=TAGS) -> TagSetCounter:
    counter = TagSetCounter(tags)
    counter.add(batch_of(rows, tags))
    return counter


def tag_sets_of(rows, tags=TAGS) -> TagSets:
    return counted(rows, tags).tag_sets(SOURCE)


def left_without(rows, dropped, tags=TAGS) -> int:
    return len({tuple(v for tag, v in zip(tags, row, strict=True) if tag not in dropped) for row in rows})


def levels(rows, tag, tags=TAGS) -> int:
    return len({row[tags.index(tag)] for row in rows})


def determines(rows, x, y) -> bool:
    i, j = TAGS.index(x), TAGS.index(y)
    return x != y and levels(rows, y) > 1 and len({(row[i], row[j]) for row in rows}) == levels(rows, x)


@settings(deadline=None, max_examples=examples(150), print_blob=True)
@given(TABLES)
def test_contributions_equal_counting_again(rows):
    sets = tag_sets_of(rows)
    assert sets.series == len(set(rows))
    for contribution in sets.contributions:
        together = {x for x in TAGS if determines(rows, x, contribution.tag)}
        assert set(contribution.together_with) == together
        assert contribution.series_left == left_without(rows, {contribution.tag, *together})
    assert [c.tag for c in sorted(sets.contributions, key=lambda c: c.tag)] == list(TAGS)
    assert [c.series_left for c in sets.contributions] == sorted(c.series_left for c in sets.contributions)


@settings(deadline=None, max_examples=examples(150), print_blob=True)
@given(TABLES)
def test_dependencies_hold_and_those_of_a_key_are_all_told(rows):
    distinct = set(rows)
    told = {(d.determinant, d.dependent) for d in tag_sets_of(rows).dependencies}
    for x, y in itertools.permutations(TAGS, 2):
        if (x, y) in told:
            assert determines(distinct, x, y)
        elif levels(distinct, x) == len(distinct):
            assert not determines(distinct, x, y)


@settings(deadline=None, max_examples=examples(150), print_blob=True)
@given(TABLES)
def test_minimal_key_tells_all_series_apart_and_no_tag_of_it_can_be_spared(rows):
    key = tag_sets_of(rows).minimal_key
    others = set(TAGS) - set(key)
    assert left_without(rows, others) == len(set(rows))
    for tag in key:
        assert left_without(rows, others | {tag}) < len(set(rows))


@settings(deadline=None, max_examples=examples(150), print_blob=True)
@given(TABLES)
def test_bounds_enclose_the_series(rows):
    sets = tag_sets_of(rows)
    assert sets.worst_case == math.prod(levels(rows, tag) for tag in TAGS)
    assert sets.series <= sets.independent_bound <= sets.worst_case


@settings(deadline=None, max_examples=examples(100), print_blob=True)
@given(TABLES, st.data())
def test_batches_and_repeats_change_nothing(rows, data):
    counter = TagSetCounter(TAGS)
    at = data.draw(st.integers(0, len(rows)))
    for part in (rows[:at], rows[at:], rows):
        counter.add(batch_of(part))
    assert counter.tag_sets(SOURCE) == tag_sets_of(rows)
    assert counter.columns() == counted(rows).columns()


@settings(deadline=None, max_examples=examples(200), print_blob=True)
@given(st.lists(st.dictionaries(st.sampled_from(TAGS), st.sampled_from("123"), max_size=4), max_size=40), st.data())
def test_batches_of_any_size_and_tags_that_come_and_go_change_nothing(rows, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cardinality, "_NUMBER_AT", data.draw(st.sampled_from([1, 100, 1000])))
        patch.setattr(cardinality, "_COMPACT_AT", data.draw(st.integers(1, 40)))
        patch.setattr(tag_sets, "_TRY_ON", data.draw(st.sampled_from([1, 2, 1000])))
        counter, at = TagSetCounter(TAGS[:2]), 0
        while at < len(rows):
            part = rows[at : at + data.draw(st.integers(1, 10))]
            at += len(part)
            names = sorted({name for row in part for name in row})
            columns = [pa.array([row.get(name) for row in part], pa.string()) for name in names]
            arrays = pa.StructArray.from_arrays(columns, names) if names else pa.array([{}] * len(part), pa.struct([]))
            counter.add(pa.RecordBatch.from_struct_array(arrays))
        distinct = {tuple(row.get(tag) for tag in TAGS) for row in rows}
        assert counter.series == Counted(len(distinct))
        for tag, column in counter.columns().items():
            present = sorted({row[tag] for row in rows if tag in row})
            absent = [row[TAGS.index(tag)] for row in distinct].count(None) / max(len(distinct), 1)
            assert column == TagColumn(Counted(len(present)), tuple(present), absent, None)


@settings(deadline=None, max_examples=examples(100), print_blob=True)
@given(TABLES)
def test_columns_count_values_and_absence(rows):
    distinct = set(rows)
    for tag, column in counted(rows).columns().items():
        values = [row[TAGS.index(tag)] for row in distinct]
        present = {v for v in values if v is not None}
        absent = values.count(None) / max(len(distinct), 1)
        assert column == TagColumn(Counted(len(present)), tuple(sorted(present)), absent, None)


def test_two_dependent_tags_make_two_series_and_not_four():
    sets = tag_sets_of([("v1", "v3"), ("v2", "v4"), ("v1", "v3"), ("v2", "v4")], ("tag1", "tag2"))
    assert Dependency("tag1", "tag2") in sets.dependencies
    # With three fields each: 12 in the worst case, 6 in fact.
    assert (sets.worst_case * 3, sets.series * 3, sets.independent_bound * 3) == (12, 6, 6)


def hosts(count: int, cpus: int = 8) -> list[tuple[str, ...]]:
    """A host stands in one rack, a rack in one region; every host has as many processors."""
    return [(f"host{h}", f"rack{h // 10}", f"r{h // 50}", f"cpu{c}") for h in range(count) for c in range(cpus)]


def test_a_hierarchy_is_found_with_its_transitive_dependency():
    sets = tag_sets_of(hosts(200))
    pairs = {(d.determinant, d.dependent) for d in sets.dependencies}
    assert pairs == {("a", "b"), ("a", "c"), ("b", "c")}
    assert sets.minimal_key == ("a", "d")
    assert sets.independent_bound == sets.series == 1600
    assert sets.worst_case == 200 * 20 * 4 * 8
    assert sets.contributions[0] == Contribution("c", ("a", "b"), 8)
    assert sets.drop_curve == (Contribution("a", (), 160), Contribution("d", (), 20))


def test_a_dependency_by_luck_is_not_told_but_counted_right():
    # Only two rows repeat a value of `a`; that they agree in `b` proves nothing.
    rows = [(f"{max(i, 2)}", f"{i % 2 if i > 2 else 0}", f"{i}", "1") for i in range(40)]
    sets = tag_sets_of(rows)
    told = {(d.determinant, d.dependent) for d in sets.dependencies}
    assert ("a", "b") not in told
    assert ("c", "b") in told
    assert next(c for c in sets.contributions if c.tag == "b").together_with == ("a", "c")


def test_interchangeable_ids_are_dropped_together():
    rows = [(f"h{i}", f"serial{i}", f"r{i % 3}", "x") for i in range(300)]
    sets = tag_sets_of(rows)
    assert sets.drop_curve == (Contribution("a", ("b",), 3),)
    assert sets.minimal_key in (("a",), ("b",))
    assert sets.independent_bound == 300


def test_tags_that_only_together_save_series_are_one_drop():
    rows = [(f"id{i}", f"h{i // 20}", f"p{i % 20}", "x") for i in range(400)]
    assert tag_sets_of(rows).drop_curve == (Contribution("a", ("c",), 20),)


@pytest.mark.parametrize(
    ("tags", "first"),
    [
        ({"a": 2000, "b": 2000}, ("a", "b")),
        ({"a": 2000, "b": 2000, "c": 1500}, ("a", "b", "c")),
        # Each method multiplies what the others make, but they make more.
        ({"a": 2000, "b": 2000, "method": 10}, ("a", "b")),
        # What stays is no part of it, whether it is one tag or several.
        ({"a": 2000, "b": 2000, "host": 30, "path": 6}, ("a", "b")),
        ({"a": 2000, "host": 60, "path": 6}, ("a",)),
        ({"host": 300, "method": 10}, ("host",)),
    ],
)
def test_first_drop_is_what_saves_most_together(tags, first):
    """Events of which several tags differ nearly each time, or each method of them."""
    chance, times = random.Random(7), tags.pop("method", 1)
    events = [tuple(str(chance.randrange(levels)) for levels in tags.values()) for _ in range(2000)]
    rows = [(*event, str(n)) for event in events for n in range(times)]
    found = tag_sets_of(rows, (*tags, "method")).drop_curve[0]
    assert {*found.tags} == {*first}
    assert 2 * found.series_left <= len({*rows})


def test_a_constant_tag_adds_nothing():
    sets = tag_sets_of([(f"h{i}", "x") for i in range(5)], ("host", "env"))
    assert sets.worst_case == 5
    assert sets.dependencies == ()
    assert sets.minimal_key == ("host",)
    assert sets.contributions == (Contribution("host", (), 1), Contribution("env", (), 5))


def test_no_series_at_all():
    counter = TagSetCounter(["host"])
    assert counter.series == Counted(0)
    assert counter.columns() == {"host": TagColumn(Counted(0), (), 0.0, None)}
    sets = counter.tag_sets(SOURCE)
    assert (sets.series, sets.worst_case, sets.minimal_key, sets.drop_curve) == (0, 0, (), ())


def test_a_series_without_tags_is_one_series():
    counter = TagSetCounter([])
    counter.add(pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([]))))
    assert counter.series == Counted(1)
    assert counter.tag_sets(SOURCE).worst_case == 1


def test_a_tag_may_be_missing_from_a_batch_and_another_turn_up_later():
    counter = TagSetCounter(["host"])
    counter.add(pa.record_batch({"host": ["a", "b"]}))
    counter.add(pa.record_batch({"zone": ["x"]}))
    counter.add(pa.record_batch({"zone": ["x"], "host": ["a"]}))
    assert counter.series == Counted(4)
    assert counter.columns() == {
        "host": TagColumn(Counted(2), ("a", "b"), 0.25, None),
        "zone": TagColumn(Counted(1), ("x",), 0.5, None),
    }


def test_columns_of_other_types_are_read_as_text():
    counter = TagSetCounter(["port"])
    counter.add(pa.record_batch({"port": pa.array([80, 443, None])}))
    counter.add(pa.record_batch({"port": pa.array(["80"]).dictionary_encode()}))
    assert counter.columns()["port"] == TagColumn(Counted(2), ("443", "80"), 1 / 3, None)


def test_repeats_are_dropped_while_they_come_in(monkeypatch):
    monkeypatch.setattr(cardinality, "_COMPACT_AT", 100)
    monkeypatch.setattr(cardinality, "_NUMBER_AT", 10)
    counter = TagSetCounter(TAGS)
    for _ in range(5):
        for at in range(0, 1600, 64):
            counter.add(batch_of(hosts(200)[at : at + 64]))
    assert counter._rows < 3200
    assert counter.tag_sets(SOURCE) == tag_sets_of(hosts(200))


def test_dependencies_are_exact_beyond_the_sample_that_may_refute_them(monkeypatch):
    rows = hosts(400)
    monkeypatch.setattr(series_table, "_REFUTE_ON", 64)
    assert Dependency("a", "b") in tag_sets_of(rows).dependencies
    moved = [*rows[:-1], (rows[-1][0], "elsewhere", *rows[-1][2:])]
    assert Dependency("a", "b") not in tag_sets_of(moved).dependencies
    assert Dependency("a", "c") in tag_sets_of(moved).dependencies


@pytest.mark.parametrize("order", [1, -1])
def test_samples_are_spread_and_do_not_depend_on_the_order(order):
    rows = [(f"host-{i:06d}",) for i in range(70_000)][::order]
    column = counted(rows, ("host",)).columns()["host"]
    assert column.values == Counted(70_000)
    assert len(column.sample) == 64
    assert list(column.sample) == sorted(set(column.sample))
    numbers = [int(value[5:]) for value in column.sample]
    tenths = {number // 7_000 for number in numbers}
    assert len(tenths) >= 9
    assert column.sample == counted(rows[::-1], ("host",)).columns()["host"].sample


def test_a_sample_keeps_most_of_its_values_when_some_are_added():
    before = set(counted([(f"v{i}",) for i in range(1000)], ("t",)).columns()["t"].sample)
    after = set(counted([(f"v{i}",) for i in range(1100)], ("t",)).columns()["t"].sample)
    assert len(before & after) > 45
