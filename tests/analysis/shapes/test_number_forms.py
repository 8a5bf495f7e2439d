"""Numbers that no cast reads, among plain ones."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tsaudit.analysis.shapes.number_forms import other_forms

FRACTIONS = [f"{n * 0.37:.2f}" for n in range(1, 61)]
WHOLE = [str(n * 37) for n in range(1, 61)]

LABELLED = {
    "12,4": "a decimal comma",
    "-0,75": "a decimal comma",
    "<0.5": "a comparison sign",
    "< 8": "a comparison sign",
    ">1000": "a comparison sign",
    ">= 1000": "a comparison sign",
    "≤ 3,5": "a comparison sign",
    "~3": "a comparison sign",
    "ca. 12": "a comparison sign",
    "<0.5 mg/l": "a comparison sign",
    "21.5 °C": "a unit",
    "55%": "a unit",
    "7,5 kWh": "a unit",
    "12.4µg/m³": "a unit",
    "13.2 m/s": "a unit",
    "1013 hPa": "a unit",
    "3.5 m3/h": "a unit",
    "99.95 EUR": "a unit",
    "512 MiB": "a unit",
    "1,234.5": "thousands separators",
    "1.234,5": "thousands separators",
    "1,234,567": "thousands separators",
    "12 345,6": "thousands separators",
    "1'234.50": "thousands separators",
}
NONE = (
    *("1.2.3", "10.4.0-rc1", "v1.2", "10.0.0.7", "10.0.0.7/24", "fe80::1", "2026-03-20", "03/20/2026", "20.03.2026"),
    *("12:30", "+49 170 1234567", "030 123 456", "0170-123456", "(030) 1234", "1-2", "1 - 2", "3/4", "16:9", "1..5"),
    *("/var/log/1", "a/1/2", "i-0a12", "SN-1002", "12ab", "4f2a", "0x1F", "175/50 R14", "10x20", "3rd", "2nd", "7th"),
    *("on", "off", "unknown", "error 7", "12 apples", "E12", "B7", "52.5,13.4", "1;2", "1, 2", "1,2,3", "1 2", "12pm"),
)


@pytest.mark.parametrize(("text", "form"), LABELLED.items())
def test_a_number_written_otherwise(text: str, form: str) -> None:
    assert other_forms([*FRACTIONS, text]) == {form: text}


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_number(text: str) -> None:
    assert other_forms([*FRACTIONS, text]) == {}
    assert other_forms([*WHOLE, text]) == {}
    # Nor if numbers are written otherwise beside it.
    assert other_forms([*FRACTIONS, "12,4", "<8", text]) == {}


@pytest.mark.parametrize("text", ["12,4", "1 234", "12c", "7b", "4A"])
def test_what_may_be_two_numbers_or_a_place_among_whole_ones(text: str) -> None:
    assert other_forms([*WHOLE, text]) == {}


@pytest.mark.parametrize("marker", ["N/A", "n/a", "-", "--", "nan", "NULL", "", "?"])
def test_what_stands_for_no_value_does_not_count(marker: str) -> None:
    assert other_forms([*FRACTIONS, marker]) == {}
    assert other_forms([*FRACTIONS[:4], "1,5", "2,5", marker]) == {"a decimal comma": "1,5"}
    assert other_forms([*FRACTIONS[:3], "1,5", "2,5", marker]) == {}


_MADE = {
    "a comparison sign": lambda number, chance: f"{chance.choice('<>≤≥~≈')}{chance.choice(['', ' '])}{number}",
    "a decimal comma": lambda number, chance: number.replace(".", ","),
    "a unit": lambda number, chance: f"{number}{chance.choice(['', ' '])}{chance.choice(['kWh', '°C', '%', 'mg/l'])}",
    "thousands separators": lambda number, chance: f"{float(number) + 1000:,.2f}",
}


@settings(deadline=None, max_examples=examples(100))
@given(
    st.lists(st.integers(1, 99_999), min_size=30, max_size=60, unique=True),
    st.dictionaries(st.sampled_from(sorted(_MADE)), st.integers(1, 3), min_size=1),
    st.integers(0, 2**32).map(random.Random),
)
def test_each_form_is_found_whatever_the_numbers(numbers, forms, chance):
    plain = [f"{number / 100:.2f}" for number in numbers]
    others = [_MADE[form](text, chance) for form, count in forms.items() for text in chance.sample(plain, count)]
    values = [*plain, *others]
    chance.shuffle(values)
    found = other_forms(values)
    assert found.keys() == forms.keys()
    assert set(found.values()) <= set(others)
    # One that is no number, and nothing is known about the others.
    assert other_forms([*values, chance.choice(NONE)]) == {}
