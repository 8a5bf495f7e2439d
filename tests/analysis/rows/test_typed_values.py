"""Columns for one value of any type."""

from __future__ import annotations

import pytest

from tsaudit.analysis.rows.column_groups import typed_values


@pytest.mark.parametrize(
    "columns",
    [
        ("bool_v", "str_v", "long_v", "dbl_v", "json_v"),
        ("value_string", "value_int", "value_float"),
        ("stringValue", "doubleValue", "value"),
        ("value_num", "value_text"),
        ("NumericValue", "TextValue"),
    ],
)
def test_columns_that_differ_in_a_type(columns: tuple[str, ...]) -> None:
    assert typed_values([*columns, "ts", "entity_id", "key", "quality"]) == set(columns)


@pytest.mark.parametrize(
    "columns",
    [
        ("value", "unit", "quality"),
        ("text", "number"),
        ("start_date", "start_time"),
        ("value_min", "value_max"),
        ("int_value", "integer_value"),
        ("bid_value", "ask_value"),
        (),
    ],
)
def test_columns_that_differ_in_what_they_mean(columns: tuple[str, ...]) -> None:
    assert typed_values(columns) == set()
