"""Value sets: against plain Python sets, through bytes and deltas, and tags whose course is known."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterable
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tsaudit.analysis.values import value_sets
from tsaudit.analysis.values.value_sets import HASH_VERSION, SKETCH_SIZE, ValueSet, hash_values

FIRST = date(2026, 1, 5)
NAMES = st.one_of(st.sampled_from([f"v{i}" for i in range(30)]), st.text(max_size=8))
HISTORIES = st.lists(st.tuples(st.integers(1, 4), st.sets(NAMES, max_size=25)), min_size=1, max_size=12)
"""Days since the observation before, and that day's values."""

slow = settings(deadline=None, max_examples=60)


def day(number: int) -> date:
    return FIRST + timedelta(days=number)


def observed(days: Iterable[Iterable[str]]) -> ValueSet:
    """The set after these days in a row."""
    values = ValueSet.empty()
    for number, names in enumerate(days):
        values = values.observe(names, day(number))
    return values


def dated(history: list[tuple[int, set[str]]]) -> list[tuple[date, set[str]]]:
    at, days = 0, []
    for gap, names in history:
        at += gap
        days.append((day(at), names))
    return days


@pytest.fixture
def small_sketch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(value_sets, "MAX_EXACT", 40)
    monkeypatch.setattr(value_sets, "SKETCH_SIZE", 16)


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


@slow
@given(HISTORIES)
def test_a_set_says_what_plain_sets_say(history):
    first: dict[str, date] = {}
    last: dict[str, date] = {}
    values = ValueSet.empty()
    for at, names in dated(history):
        assert set(values.unseen(names)) == names - first.keys()
        values = values.observe(names, at)
        for name in names:
            first.setdefault(name, at)
            last[name] = at
    assert values.exact
    assert values.count().value == len(first)
    assert values.distinct.tolist() == [len(names) for _, names in history]
    assert sorted(values.lifetimes().tolist()) == sorted(
        (last[name] - first[name]).days + 1 for name in first if last[name] < at
    )
    for number in range(int((at - FIRST).days) + 2):
        some = day(number)
        assert values.new_on(some).value == sum(seen == some for seen in first.values())
        assert values.new_since(some).value == sum(seen >= some for seen in first.values())
        assert values.seen_since(some).value == sum(seen >= some for seen in last.values())
        assert values.gone_since(some).value == sum(seen < some for seen in last.values())
        assert values.forget(some).count().value == sum(seen >= some for seen in last.values())
        assert values.gone_since(some).standard_error == 0


@slow
@given(HISTORIES, st.data())
def test_a_day_in_two_calls_is_a_day_in_one(history, data):
    whole = parts = ValueSet.empty()
    for at, names in dated(history):
        some = data.draw(st.sets(st.sampled_from(sorted(names)))) if names else set()
        whole = whole.observe(names, at)
        parts = parts.observe(some, at).observe(names - some, at).observe(some, at)
    assert parts == whole


@slow
@given(HISTORIES)
def test_bytes_give_the_same_set(history):
    values = ValueSet.empty()
    assert ValueSet.from_bytes(values.to_bytes()) == values
    for at, names in dated(history):
        values = values.observe(names, at)
    assert ValueSet.from_bytes(values.to_bytes()) == values


@slow
@given(HISTORIES)
def test_deltas_lead_from_day_to_day(history):
    replayed = before = ValueSet.empty()
    for at, names in dated(history):
        after = before.observe(names, at)
        replayed = replayed.with_delta(after.delta_since(before))
        assert replayed == after
        assert ValueSet.from_bytes(replayed.to_bytes()) == after
        before = after


@pytest.mark.usefixtures("small_sketch")
def test_deltas_lead_through_the_turn_into_a_sketch():
    draw = np.random.default_rng(3)
    replayed = before = ValueSet.empty()
    for number in range(20):
        after = before.observe((f"v{i}" for i in draw.integers(0, 10 + 20 * number, 12)), day(number))
        replayed = replayed.with_delta(after.delta_since(before))
        assert replayed == after
        assert ValueSet.from_bytes(after.to_bytes()) == after
        before = after
    assert not before.exact
    assert len(before.hashes) == 16


@pytest.mark.usefixtures("small_sketch")
@slow
@given(st.lists(st.sets(st.integers(0, 400), min_size=1, max_size=60), min_size=1, max_size=8))
def test_a_sketch_holds_the_smallest_hashes_and_their_days(days):
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


@pytest.mark.usefixtures("small_sketch")
def test_a_sketch_names_only_the_new_values_it_would_hold():
    values = observed([[f"v{i}" for i in range(200)]])
    new = [f"w{i}" for i in range(200)]
    named = values.unseen([*new, "v1", "v2"])
    assert 0 < len(named) < 60
    assert set(named) <= set(new)
    assert (hash_values(named) < values.bound).all()


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
            (values.count(), 30_000),
            (values.new_on(day(1)), 15_000),
            (values.gone_since(day(1)), 12_000),
        ):
            errors.append((estimate.value - truth) / estimate.standard_error)
        assert values.count().standard_error == pytest.approx(30_000 / math.sqrt(SKETCH_SIZE), rel=0.1)
    assert max(map(abs, errors)) < 4
    assert 0.6 < math.sqrt(sum(error**2 for error in errors) / len(errors)) < 1.5


@pytest.mark.usefixtures("small_sketch")
def test_a_sketch_that_holds_none_is_unsure_of_it():
    values = observed([[f"v{i}" for i in range(200)]])
    none = values.new_on(day(5))
    assert none.value == 0
    assert none.standard_error > 1


def test_a_forgotten_value_is_new_again():
    values = observed([["a", "b"], ["b"]]).forget(day(1))
    assert values.unseen(["a", "b", "a"]) == ["a"]
    assert values.observe(["a"], day(2)).new_on(day(2)).value == 1


def test_a_day_before_the_last_is_refused():
    values = observed([["a"], ["b"]])
    with pytest.raises(ValueError, match=r"2026-01-05 is before 2026-01-06, its last day"):
        values.observe(["c"], FIRST)


def test_a_set_equals_no_other_thing():
    assert observed([["a"]]) != "a"
    assert observed([["a"]]) != observed([["b"]])


def test_a_delta_of_two_days_is_refused():
    values = observed([["a"]])
    later = values.observe(["b"], day(1)).observe(["c"], day(2))
    with pytest.raises(ValueError, match="no delta leads to it"):
        later.delta_since(values)
    with pytest.raises(ValueError, match="no delta leads to it"):
        later.forget(day(2)).delta_since(values.observe(["b"], day(1)))


def test_a_delta_of_another_set_is_refused():
    values = observed([["a"]])
    delta = values.observe(["b"], day(1)).delta_since(values)
    with pytest.raises(ValueError, match="follows another set"):
        observed([["c"]]).with_delta(delta)


def test_a_base_is_no_delta_and_a_delta_no_base():
    values = observed([["a"]])
    delta = values.delta_since(ValueSet.empty())
    with pytest.raises(ValueError, match="expected a whole set, got a day's delta"):
        ValueSet.from_bytes(delta)
    with pytest.raises(ValueError, match="expected a day's delta, got a whole set"):
        values.with_delta(values.to_bytes())


@pytest.mark.parametrize("position", [1, 2])
def test_an_unknown_version_is_refused_by_number(position):
    data = bytearray(observed([["a"]]).to_bytes())
    data[position] = 9
    with pytest.raises(ValueError, match=r"^value set: format \d with hash \d is unknown; this version .*$") as caught:
        ValueSet.from_bytes(bytes(data))
    assert "9" in str(caught.value)
    assert "\n" not in str(caught.value)


@slow
@given(st.binary(max_size=60))
def test_other_bytes_are_refused_in_one_line(data):
    for read in (ValueSet.from_bytes, observed([["a"]]).with_delta):
        with pytest.raises(ValueError, match=r"^value set: .*$") as caught:
            read(data)
        assert "\n" not in str(caught.value)


@slow
@given(st.integers(0, 10**6), st.integers(1, 255), st.booleans())
def test_a_flipped_or_missing_byte_is_noticed(at, flip, cut):
    values = observed([["a", "b"], ["b", "c"]])
    base, delta = values.to_bytes(), values.observe(["d"], day(2)).delta_since(values)
    for data, read in ((base, ValueSet.from_bytes), (delta, values.with_delta)):
        bad = bytearray(data)
        bad[at % len(bad)] ^= flip
        with pytest.raises(ValueError, match=r"^value set: "):
            read(data[: at % len(data)] if cut else bytes(bad))


def forged(content: bytes) -> bytes:
    """A base with a right checksum and a wrong content."""
    data = b"B\x01\x01" + content
    return data + zlib.crc32(data).to_bytes(4, "little")


def base(values: int, days: int, body: bytes) -> bytes:
    return struct.pack("<IHQ", values, days, 1 << 40) + body


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (forged(b"short"), "12 bytes are too few"),
        (forged(base(2_000_000, 0, b"")), "2000000 values are more than it can hold"),
        (forged(base(1, 1, b"no zlib")), "they do not decompress"),
        (forged(base(1, 1, zlib.compress(b"\0" * 10**6))), "not the 21 bytes they announce"),
        (forged(base(1, 1, zlib.compress(b"\0" * 4))), "not the 21 bytes they announce"),
        (forged(base(1, 1, zlib.compress(b"\1" * 21))), "on a day that was not observed"),
    ],
    ids=["short", "many values", "not compressed", "bomb", "few bytes", "unknown day"],
)
def test_a_base_that_does_not_add_up_is_refused(data, says):
    with pytest.raises(ValueError, match=says):
        ValueSet.from_bytes(data)


def test_a_day_that_changes_little_costs_little():
    names = [f"host-{i}" for i in range(10_000)]
    values = observed([names, names])
    same = values.observe(names, day(2))
    one_gone = same.observe(names[1:], day(3))
    twenty_new = one_gone.observe([*names, *(f"new-{i}" for i in range(20))], day(4))
    assert len(same.delta_since(values)) < 70
    assert len(one_gone.delta_since(same)) < 80
    assert len(twenty_new.delta_since(one_gone)) < 80 + 20 * 6
    assert len(values.to_bytes()) < 4.2 * 10_000


def fixed_hosts(number: int, draw: np.random.Generator) -> list[str]:
    return [f"host-{i}" for i in range(2000)]


def users(number: int, draw: np.random.Generator) -> list[str]:
    return [f"user-{i}" for i in np.unique(draw.integers(0, 5000, 10_000))]


def frequent_users(number: int, draw: np.random.Generator) -> list[str]:
    chances = np.cumsum(1 / np.arange(1, 100_001))
    return [f"user-{i}" for i in np.unique(np.searchsorted(chances, draw.random(10_000) * chances[-1]))]


def replaced(name: str, count: int, share: float) -> Callable[[int, np.random.Generator], list[str]]:
    """Each day the oldest give way to as many new ones."""
    step = round(count * share)
    return lambda number, draw: [f"{name}-{i}" for i in range(step * number, step * number + count)]


def versions(number: int, draw: np.random.Generator) -> list[str]:
    """A release every five days, four of them in use."""
    newest = (number + 2) // 5
    return [f"v{i}" for i in range(newest, newest + 4)]


def dates(number: int, draw: np.random.Generator) -> list[str]:
    return [day(number).isoformat()]


@pytest.mark.parametrize(
    ("tag", "kind", "beta", "turnover"),
    [
        (fixed_hosts, "bounded", 0.00, 0.00),
        (users, "bounded", 0.04, 0.00),
        (replaced("host", 1000, 0.05), "churning", 0.26, 0.27),
        (versions, "churning", 0.27, 0.27),
        (replaced("pod", 500, 0.3), "churning", 0.66, 0.75),
        (frequent_users, "churning", 0.72, 0.39),
        (replaced("request", 2000, 1.0), "unbounded", 1.00, 1.00),
        (dates, "churning", 1.00, 1.00),
    ],
)
def test_tags_of_known_truth(tag, kind, beta, turnover):
    draw = np.random.default_rng(1)
    index = observed(tag(number, draw) for number in range(28)).index()
    assert index.kind == kind
    assert index.beta == pytest.approx(beta, abs=0.06)
    assert index.turnover == pytest.approx(turnover, abs=0.08)
    assert index.days == 28


def test_a_sketch_knows_request_ids_from_pods(monkeypatch):
    monkeypatch.setattr(value_sets, "MAX_EXACT", 5000)
    draw = np.random.default_rng(1)
    for tag, kind in ((replaced("request", 2000, 1.0), "unbounded"), (replaced("pod", 2000, 0.3), "churning")):
        values = observed(tag(number, draw) for number in range(28))
        assert not values.exact
        assert values.index().kind == kind
        assert values.index().values.standard_error > 0


@pytest.mark.parametrize(("count", "kind"), [(6, "unknown"), (7, "unbounded")])
def test_an_index_needs_seven_days(count, kind):
    index = observed([f"id-{number}-{i}" for i in range(300)] for number in range(count)).index()
    assert (index.kind, index.days) == (kind, count)
    assert (index.beta is None) == (kind == "unknown")


@pytest.mark.parametrize(("a_day", "kind"), [(35, "churning"), (36, "unbounded")])
def test_the_floor_is_a_thousand_values(a_day, kind):
    index = observed([f"id-{number}-{i}" for i in range(a_day)] for number in range(28)).index()
    assert (index.kind, index.values.value) == (kind, 28 * a_day)


def test_the_floor_itself_is_no_endless_growth():
    index = observed([f"id-{number}-{i}" for i in range(50)] for number in range(20)).index()
    assert (index.kind, index.values.value) == ("churning", 1000)


def test_turnover_is_that_of_the_last_seven_days():
    fixed = [f"v{i}" for i in range(80)]
    eight_days_back = [[*fixed, "before"]] * 7 + [[*fixed, "old"]] + [fixed] * 7
    seven_days_back = [[*fixed, "before"]] * 8 + [[*fixed, *(f"new{i}" for i in range(20))]] + [fixed] * 6
    assert observed(eight_days_back).index().turnover == 0
    assert observed(seven_days_back).index().turnover == 20 / 100


@pytest.mark.parametrize("empty_days", [0, 1, 3])
def test_what_the_first_day_with_values_saw_is_not_new(empty_days):
    index = observed([[]] * empty_days + [["a", "b", "c"]] * 6 + [["a", "b", "c", "d"]]).index()
    assert (index.kind, index.turnover, index.days) == ("churning", 1 / 4, 7)


def test_a_first_day_that_saw_little_starts_no_endless_growth():
    index = observed([["host-0"]] + [[f"host-{i}" for i in range(5000)]] * 20).index()
    assert index.beta is not None
    assert index.beta > 0.8
    assert index.kind == "churning"


def test_days_without_audit_do_not_hide_endless_values():
    values = ValueSet.empty()
    for number in range(0, 28, 3):
        values = values.observe((f"id-{number}-{i}" for i in range(500)), day(number))
    index = values.index()
    assert (index.kind, index.days) == ("unbounded", 10)
    assert index.beta == pytest.approx(1)


def test_what_is_older_than_28_days_no_longer_counts():
    churned = [[f"id-{number}-{i}" for i in range(500)] for number in range(28)]
    index = observed(churned + [["a", "b"]] * 28).index()
    assert (index.kind, index.values.value, index.days) == ("bounded", 2, 28)


@pytest.mark.parametrize("days", [[], [[]] * 28])
def test_no_values_have_no_index(days):
    index = observed(days).index()
    assert (index.kind, index.beta, index.values.value, index.days) == ("unknown", None, 0, 0)


def test_a_week_without_values_has_no_turnover():
    index = observed([[f"v{i}" for i in range(9)]] * 8 + [[]] * 8).index()
    assert (index.kind, index.turnover) == ("bounded", 0.0)
