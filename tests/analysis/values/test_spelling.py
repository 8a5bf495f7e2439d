"""New values that are old ones in another spelling."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tsaudit.analysis.cardinality.arrivals import respelled

OLD = [f"Web-{i}" for i in range(100)]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ([name.upper() for name in OLD], "letter case"),
        ([f" {name}" for name in OLD], "spaces"),
        ([f"{name} \t" for name in OLD], "spaces"),
        ([f"{name.lower()} " for name in OLD], "letter case"),
        ([f"db-{i}" for i in range(100)], ""),
        ([], ""),
        # At least 80%.
        ([*(name.upper() for name in OLD[:80]), *(f"DB-{i}" for i in range(20))], "letter case"),
        ([*(name.upper() for name in OLD[:79]), *(f"DB-{i}" for i in range(21))], ""),
    ],
)
def test_another_spelling_is_recognized(new: list[str], expected: str) -> None:
    assert respelled(pa.array(new, pa.string()), pa.array(OLD, pa.string())) == expected


def test_nothing_is_respelled_without_older_values() -> None:
    assert respelled(pa.array(OLD, pa.string()), pa.array([], pa.string())) == ""
