"""What texts contain, whatever the column's type."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tsaudit.collect.draft import ReadColumn


def _column(*texts: str | None) -> ReadColumn:
    return ReadColumn(pa.chunked_array([pa.array(texts, pa.string())]))


@pytest.mark.parametrize(
    "text",
    ["54.31|10.12", "12.5;13.1", "(51.008, 12.613)", "1.5 2.25 -3.5", "[48.85,2.35,35.0]", "21.5/22.0", "7", "1e3"],
)
def test_numbers_and_several_of_them_are_measured(text):
    assert _column(text, "-", None).measured_share == 1.0


@pytest.mark.parametrize(
    "text", ["1.2.3", "10.0.0.1", "10.0.0.1/24", "2024-03-12", "10/20", "eu|10.5", "12x30", "1,5", "3.5V;2.1V", "a"]
)
def test_versions_addresses_and_codes_are_not(text):
    assert _column(text).measured_share == 0.0


def test_share_is_that_of_what_was_said():
    texts = _column("54.31|10.12", "n/a", "7.5", "harbor", "unknown")
    assert texts.measured_share == 0.5
    assert texts.number_share == 0.25
