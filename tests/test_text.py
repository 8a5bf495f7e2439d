"""Figures and lists in words, and what type names mean."""

from __future__ import annotations

import pytest

from tests.builders import a_count
from tsaudit.engines.sql.types import is_integer, is_text
from tsaudit.model.profile import How
from tsaudit.text import count, listed, many, number, percent


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234567, "1,234,567"), (5.0, "5"), (0.12345, "0.123"), (12.34, "12.3"), (1234.56, "1,235")],
)
def test_number_when_shown(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0, "0 %"),
        (1, "100 %"),
        (0.42, "42 %"),
        (0.0005, "< 0.1 %"),
        (0.0042, "0.4 %"),
        (0.994, "99.4 %"),
        (0.9999, "> 99.9 %"),
        (1.0004, "> 100 %"),
        (1.05, "105.0 %"),
        (12.5, "1,250 %"),
    ],
)
def test_percent_when_close_to_none_or_all(ratio: float, text: str) -> None:
    assert percent(ratio) == text


def test_count_when_it_is_no_exact_one() -> None:
    assert count(a_count(1200)) == "1,200"
    assert count(a_count(1200, How.ESTIMATE)) == "1,200 (estimate)"


def test_many_when_one_or_more() -> None:
    assert [many(n, "tag") for n in (0, 1, 2)] == ["0 tags", "1 tag", "2 tags"]
    assert many(2, "query") == "2 queries"
    assert many(2, "index") == "2 indexes"
    assert many(2, "day") == "2 days"
    assert many(2, "series") == "2 series"


def test_listed_when_short_or_long() -> None:
    assert listed([]) == "none"
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(["a", "b", "c", "d"], most=3) == "a, b and 2 more"


def test_types_when_engines_name_them() -> None:
    assert all(map(is_text, ("VARCHAR", "text", "string", "VARCHAR(20)", "ENUM('a')", "UUID", "character varying")))
    assert not any(map(is_text, ("DOUBLE", "BIGINT", "float", "TIMESTAMP", "BOOLEAN", "")))
    assert all(map(is_integer, ("BIGINT", "INTEGER", "integer", "int8", "UINTEGER", "SMALLINT")))
    assert not any(map(is_integer, ("INTERVAL", "DOUBLE", "float", "POINT")))
