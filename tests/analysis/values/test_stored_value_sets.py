"""Value sets through bytes and deltas: what comes back, what it costs, and what is refused."""

from __future__ import annotations

import struct
import zlib
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.values.observations import HISTORIES, SLOW, dated, day, observed
from tsaudit.analysis.values import stored_value_sets as stored
from tsaudit.analysis.values.value_sets import ValueSet


@SLOW
@given(HISTORIES)
def test_bytes_give_the_same_set(history):
    values = ValueSet.empty()
    assert stored.from_bytes(stored.to_bytes(values)) == values
    for at, names in dated(history):
        values = values.observe(names, at)
    assert stored.from_bytes(stored.to_bytes(values)) == values


@SLOW
@given(HISTORIES)
def test_deltas_lead_from_day_to_day(history):
    replayed = before = ValueSet.empty()
    for at, names in dated(history):
        after = before.observe(names, at)
        replayed = stored.with_delta(replayed, stored.delta(before, after))
        assert replayed == after
        assert stored.from_bytes(stored.to_bytes(replayed)) == after
        before = after


@pytest.mark.usefixtures("small_sketch")
def test_deltas_lead_through_the_turn_into_a_sketch():
    draw = np.random.default_rng(3)
    replayed = before = ValueSet.empty()
    for number in range(20):
        after = before.observe((f"v{i}" for i in draw.integers(0, 10 + 20 * number, 12)), day(number))
        replayed = stored.with_delta(replayed, stored.delta(before, after))
        assert replayed == after
        assert stored.from_bytes(stored.to_bytes(after)) == after
        before = after
    assert not before.exact
    assert len(before.hashes) == 16


def test_a_delta_of_two_days_is_refused():
    values = observed([["a"]])
    later = values.observe(["b"], day(1)).observe(["c"], day(2))
    with pytest.raises(ValueError, match="there is no delta"):
        stored.delta(values, later)
    with pytest.raises(ValueError, match="there is no delta"):
        stored.delta(values.observe(["b"], day(1)), later.prune(day(2)))


def test_a_delta_of_another_set_is_refused():
    values = observed([["a"]])
    delta = stored.delta(values, values.observe(["b"], day(1)))
    with pytest.raises(ValueError, match="belongs to another set"):
        stored.with_delta(observed([["c"]]), delta)


def test_a_base_is_no_delta_and_a_delta_no_base():
    values = observed([["a"]])
    delta = stored.delta(ValueSet.empty(), values)
    with pytest.raises(ValueError, match="expected a whole set, got a day's delta"):
        stored.from_bytes(delta)
    with pytest.raises(ValueError, match="expected a day's delta, got a whole set"):
        stored.with_delta(values, stored.to_bytes(values))


@pytest.mark.parametrize("position", [1, 2])
def test_an_unknown_version_is_refused_by_number(position):
    data = bytearray(stored.to_bytes(observed([["a"]])))
    data[position] = 9
    with pytest.raises(ValueError, match=r"^value set: format \d with hash \d is unknown; this version .*$") as caught:
        stored.from_bytes(bytes(data))
    assert "9" in str(caught.value)
    assert "\n" not in str(caught.value)


@SLOW
@given(st.binary(max_size=60))
def test_other_bytes_are_refused_in_one_line(data):
    for read in (stored.from_bytes, partial(stored.with_delta, observed([["a"]]))):
        with pytest.raises(ValueError, match=r"^value set: .*$") as caught:
            read(data)
        assert "\n" not in str(caught.value)


@SLOW
@given(st.integers(0, 10**6), st.integers(1, 255), st.booleans())
def test_a_flipped_or_missing_byte_is_noticed(at, flip, cut):
    values = observed([["a", "b"], ["b", "c"]])
    base, delta = stored.to_bytes(values), stored.delta(values, values.observe(["d"], day(2)))
    for data, read in ((base, stored.from_bytes), (delta, partial(stored.with_delta, values))):
        bad = bytearray(data)
        bad[at % len(bad)] ^= flip
        with pytest.raises(ValueError, match=r"^value set: "):
            read(data[: at % len(data)] if cut else bytes(bad))


def forged(content: bytes) -> bytes:
    """A base with a right checksum and a wrong content."""
    data = b"B\x01\x01" + content
    return data + zlib.crc32(data).to_bytes(4, "little")


def deflated(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-15)


def base(values: int, days: int, body: bytes) -> bytes:
    return struct.pack("<IHQIQ", values, days, 1 << 40, 0, 1 << 40) + body


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (forged(b"short"), "12 bytes are too few"),
        (forged(base(2_000_000, 0, b"")), "2000000 values are more than it can hold"),
        (forged(base(1, 1, b"no zlib")), "they do not decompress"),
        (forged(base(1, 1, deflated(b"\0" * 10**6))), "not the 18 bytes they declare"),
        (forged(base(1, 1, deflated(b"\0" * 4))), "not the 18 bytes they declare"),
        (forged(base(1, 1, deflated(b"\1" * 18))), "on a day that was not observed"),
    ],
    ids=["short", "many values", "not compressed", "bomb", "few bytes", "unknown day"],
)
def test_a_base_that_does_not_add_up_is_refused(data, says):
    with pytest.raises(ValueError, match=says):
        stored.from_bytes(data)


def test_a_day_that_changes_little_costs_little():
    names = [f"host-{i}" for i in range(10_000)]
    values = observed([names, names])
    same = values.observe(names, day(2))
    one_gone = same.observe(names[1:], day(3))
    twenty_new = one_gone.observe([*names, *(f"new-{i}" for i in range(20))], day(4))
    assert len(stored.delta(values, same)) < 70
    assert len(stored.delta(same, one_gone)) < 80
    assert len(stored.delta(one_gone, twenty_new)) < 80 + 20 * 6
    assert len(stored.to_bytes(values)) < 4.2 * 10_000
