"""Numbers, shares, sizes and plurals in words."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tsaudit.rules import all_rules
from tsaudit.text import (
    amount,
    change,
    in_full,
    many,
    number,
    percent,
    plural,
    quantity,
    rounded,
    rounded_down,
    short,
    size,
)

VALUES = st.floats(-1e15, 1e15, allow_nan=False, exclude_min=True, exclude_max=True)
SHARES = st.floats(0, 1, allow_nan=False)


def read(text: str) -> float:
    """The number back from its text; what is only bounded lies beyond the bound."""
    beyond = {"<": -1e-6, ">": 1e-6}.get(text[0], 0.0)
    scales = {"k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
    digits = re.search(r"-?[\d,.]+(e-\d+)?", text.replace("\N{MINUS SIGN}", "-"))
    assert digits is not None, text
    return float(digits[0].replace(",", "")) * scales.get(text[-1], 1.0) + beyond


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (5.0, "5"),
        (0.12345, "0.123"),
        (12.34, "12.3"),
        (1234.56, "1,235"),
        (999.7, "1,000"),
        (2**31 * 10**5, "214,748,364,800,000"),
        (2**63 - 1, "9.22 × 10^18"),  # noqa: RUF001 -- a multiplication sign
        (-4e22, "-4 × 10^22"),  # noqa: RUF001 -- a multiplication sign
        (0.0000123, "0.0000123"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),  # noqa: RUF001 -- a minus
        (math.nan, "not a number"),
    ],
)
def test_number_when_shown(value: float, text: str) -> None:
    assert number(value) == text


@given(VALUES)
@example(999.5)
@example(1e-8)
def test_number_of_any_value_is_near_it_and_without_exponent(value: float) -> None:
    text = number(value)
    assert read(text) == pytest.approx(value, rel=0.006, abs=1e-9)
    assert "e" not in text or abs(value) < 1e-9


@given(VALUES, VALUES)
@example(999.4, 999.6)
def test_larger_numbers_never_read_smaller(one: float, other: float) -> None:
    low, high = sorted((one, other))
    for write in (number, short):
        assert read(write(low)) <= read(write(high))


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0, "0%"),
        (1, "100%"),
        (0.42, "42%"),
        (0.0005, "< 0.1%"),
        (0.0042, "0.4%"),
        (0.0098, "1%"),
        (0.99, "99%"),
        (0.994, "99.4%"),
        (0.9999, "> 99.9%"),
        (1.0004, "> 100%"),
        (1.05, "105%"),
        (12.5, "1,250%"),
        (math.nan, "not a number"),
        (-0.05, "−5%"),  # noqa: RUF001 -- a minus
    ],
)
def test_percent_when_close_to_none_or_all(ratio: float, text: str) -> None:
    assert percent(ratio) == text


@given(SHARES)
@example(5e-324)
@example(0.0004)
@example(0.9996)
@example(math.nextafter(1, 0))
def test_a_share_is_all_or_none_only_if_it_is(ratio: float) -> None:
    assert (percent(ratio) == "100%") == (ratio == 1)
    assert (percent(ratio) == "0%") == (ratio == 0)


@given(st.floats(0, 1e6), st.floats(0, 1e6))
@example(0.00099, 0.001)
@example(0.9989999, 0.9991)
@example(1.0009, 1.001)
def test_larger_shares_never_read_smaller(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert read(percent(low)) <= read(percent(high))


@given(st.floats(0, 1e18))
@example(999.9)
@example(999_999.0)
def test_size_has_at_most_three_digits_before_the_largest_unit(count: float) -> None:
    figure, unit = size(count).split(" ")
    assert unit in ("B", "kB", "MB", "GB", "TB")
    assert unit == "TB" or read(figure) < 1000


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (512, "512 B"), (2048, "2.05 kB"), (9_120_412, "9.12 MB"), (5 * 10**12, "5 TB")]
)
def test_size(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("noun", "several"),
    [
        ("tag", "tags"),
        ("query", "queries"),
        ("day", "days"),
        ("index", "indexes"),
        ("address", "addresses"),
        ("batch", "batches"),
        ("series", "series"),
        ("open incident", "open incidents"),
    ],
)
def test_plural_of_a_noun(noun: str, several: str) -> None:
    assert [many(n, noun) for n in (0, 1, 2, 1200)] == [f"0 {several}", f"1 {noun}", f"2 {several}", f"1,200 {several}"]


def test_plural_when_it_cannot_be_told_is_given() -> None:
    assert [many(n, "one is", "ones are") for n in (1, 2)] == ["1 one is", "2 ones are"]


@given(st.floats(0, 1e9), st.sampled_from(["tag", "query", "day", "index"]))
@example(1.0000001, "tag")
@example(0.9999, "tag")
def test_a_noun_is_singular_behind_a_one_and_only_there(value: float, noun: str) -> None:
    assert (plural(value, noun) == noun) == (number(value) == "1")


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12, "", "12"),
        (12, "series", "12 series"),
        (1, "tags", "1 tag"),
        (1, "distinct values", "1 distinct value"),
        (1, "rows per value of the key", "1 row per value of the key"),
        (1, "documents read", "1 document read"),
        (1, "indexes", "1 index"),
        (1, "queries", "1 query"),
        (1, "databases", "1 database"),
        (1, "times the series before", "1 times the series before"),
        (1, "series x fields", "1 series x fields"),
        (0.25, "ratio", "25%"),
        (0.25, "share", "25%"),
        (0.25, "share of the rows", "25% of the rows"),
        (0.6, "of the disk", "60% of the disk"),
        (5e9, "bytes", "5 GB"),
        (5e9, "bytes read by its last run", "5 GB read by its last run"),
        (math.inf, "values", "∞ values"),
    ],
)
def test_quantity_when_shown(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize("unit", sorted({t.unit for rule in all_rules() for t in rule.thresholds}))
def test_quantity_of_every_unit_starts_with_its_amount(unit: str) -> None:
    for value in (0.0, 0.5, 1.0, 1234.0):
        assert quantity(value, unit).startswith(amount(value, unit))


def test_change_always_has_a_sign() -> None:
    assert [change(v) for v in (12, -1200, 0)] == ["+12", "\N{MINUS SIGN}1,200", "±0"]


def test_setting_is_shown_with_all_digits() -> None:
    assert [in_full(v) for v in (1_000_000, 0.0625, 1234.5)] == ["1,000,000", "0.0625", "1,234.5"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(9_999, "10k"), (950, "950"), (9_500, "9,500"), (12_345, "12.3k"), (999_999, "1M"), (3e9, "3B"), (0.5, "0.5")],
)
def test_short_number_for_an_axis(value: float, text: str) -> None:
    assert short(value) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, 0), (1_239, 1_230), (49_999, 49_900), (0.98765, 0.987), (2_159_999.9, 2_150_000)],
)
def test_a_lower_bound_is_never_more_than_the_value(value: float, expected: float) -> None:
    assert rounded_down(value) == expected


@pytest.mark.parametrize(
    ("ratio", "expected"), [(0.777, "77%"), (0.29, "29%"), (0.9956, "99.5%"), (0.00499, "0.4%"), (0.99999, "> 99.9%")]
)
def test_a_share_of_at_least_so_much_is_rounded_down(ratio: float, expected: str) -> None:
    assert percent(ratio, is_least=True) == expected


@pytest.mark.parametrize(
    ("value", "error", "expected"),
    [(48_765, None, 48_800), (48_765, 90.0, 48_800), (48_765, 900.0, 49_000), (48_765, 20_000.0, 50_000), (0, 3.0, 0)],
)
def test_an_estimate_has_the_digits_that_its_error_leaves(value: float, error: float | None, expected: float) -> None:
    assert rounded(value, error) == expected
