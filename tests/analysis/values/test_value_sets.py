"""Value sets: against plain Python sets, exact and as sketches."""

from __future__ import annotations

import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.values.observations import FIRST, HISTORIES, SLOW, counted, dated, day, observed
from tsaudit.analysis.values import value_sets
from tsaudit.analysis.values.hashes import HASH_VERSION, hash_values
from tsaudit.analysis.values.value_sets import SKETCH_SIZE, ValueSet


@pytest.mark.parametrize(
    ("value", "known"),
    [("", 0x786A02F742), ("eu-1", 0x0807A6B198), ("host-1", 0x867918EBB8), ("Zürich", 0xC6D7D8B21D)],
)
def test_a_hash_is_what_b2sum_prints(value, known):
    assert HASH_VERSION == 1
    assert hash_values([value]).tolist() == [known]


def test_a_value_that_is_no_unicode_has_a_hash():
    assert len(set(hash_values(["\ud800", "\udfff", "?"]).tolist())) == 3


def test_hashes_keep_the_order_of_the_values():
    names = [f"host-{i}" for i in range(100)]
    assert hash_values(names).tolist() == [hash_values([name])[0] for name in names]
    assert len(hash_values([])) == 0


@SLOW
@given(HISTORIES)
def test_a_set_says_what_plain_sets_say(history):
    first: dict[str, date] = {}
    last: dict[str, date] = {}
    values = ValueSet.empty()
    for at, names in dated(history):
        known = values.first_days(hash_values(sorted(names))) > 0
        assert known.tolist() == [name in first for name in sorted(names)]
        values = values.observe(names, at)
        for name in names:
            first.setdefault(name, at)
            last[name] = at
    assert values.exact
    assert counted(values).value == len(first)
    assert values.distinct.tolist() == [len(names) for _, names in history]
    for number in range(int((at - FIRST).days) + 2):
        some = day(number)
        assert values.new_on(some).value == sum(seen == some for seen in first.values())
        assert counted(values.prune(some)).value == sum(seen >= some for seen in last.values())
        assert values.new_on(some).standard_error == 0


@SLOW
@given(HISTORIES, st.data())
def test_a_day_in_two_calls_is_a_day_in_one(history, data):
    whole = parts = ValueSet.empty()
    for at, names in dated(history):
        some = data.draw(st.sets(st.sampled_from(sorted(names)))) if names else set()
        whole = whole.observe(names, at)
        parts = parts.observe(some, at).observe(names - some, at).observe(some, at)
    assert parts == whole


@pytest.mark.usefixtures("small_sketch")
@SLOW
@given(st.lists(st.sets(st.integers(0, 400), min_size=1, max_size=60), min_size=1, max_size=7))
def test_a_sketch_holds_the_smallest_hashes_and_their_days(days):
    """In a week, nothing is long gone; `test_making_room` has longer courses."""
    names = [{f"v{i}" for i in numbers} for numbers in days]
    values, exact = observed(names), {}
    for number, today in enumerate(names):
        for name in today:
            hashed = int(hash_values([name])[0])
            exact[hashed] = (exact.get(hashed, (number, number))[0], number)
    held = sorted(h for h in exact if h < values.bound)
    start = FIRST.toordinal()
    seen = list(zip((values.first - start).tolist(), (values.last - start).tolist(), strict=True))
    assert values.hashes.tolist() == held
    assert seen == [exact[h] for h in held]
    assert values.exact == (len(exact) <= 40) or len(held) <= 16
    assert values.distinct.tolist() == [len(today) for today in names]


def test_a_count_over_the_limit_is_estimated_within_its_error(monkeypatch):
    monkeypatch.setattr(value_sets, "MAX_EXACT", 20_000)
    errors = []
    for round_ in range(12):
        values = observed(
            [
                [f"{round_}-{i}" for i in range(15_000)],
                [f"{round_}-{i}" for i in range(12_000, 30_000)],
            ]
        )
        assert not values.exact
        assert len(values.hashes) == SKETCH_SIZE
        assert values.distinct.tolist() == [15_000, 18_000]
        for estimate, truth in (
            (counted(values), 30_000),
            (values.new_on(day(1)), 15_000),
            (counted(values.prune(day(1))), 18_000),
        ):
            errors.append((estimate.value - truth) / estimate.standard_error)
        assert counted(values).standard_error == pytest.approx(30_000 / math.sqrt(SKETCH_SIZE), rel=0.1)
    assert max(map(abs, errors)) < 4
    assert 0.6 < math.sqrt(sum(error**2 for error in errors) / len(errors)) < 1.5


@pytest.mark.usefixtures("small_sketch")
def test_a_sketch_that_holds_none_is_unsure_of_it():
    values = observed([[f"v{i}" for i in range(200)]])
    none = values.new_on(day(5))
    assert none.value == 0
    assert none.standard_error > 1


def test_a_forgotten_value_is_new_again():
    values = observed([["a", "b"], ["b"]]).prune(day(1))
    assert (values.first_days(hash_values(["a", "b"])) > 0).tolist() == [False, True]
    assert values.observe(["a"], day(2)).new_on(day(2)).value == 1


def test_a_day_before_the_last_is_refused():
    values = observed([["a"], ["b"]])
    with pytest.raises(ValueError, match=r"2026-01-05 is before 2026-01-06, its last day"):
        values.observe(["c"], FIRST)


def test_a_set_equals_no_other_thing():
    assert observed([["a"]]) != "a"
    assert observed([["a"]]) != observed([["b"]])
