"""Copies of records are those of the standard library."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import pytest

from tests.builders import a_measurement
from tsaudit.model.records import replace


@dataclass(frozen=True, slots=True)
class _Base:
    first: int = 1


@dataclass(frozen=True, slots=True)
class _Derived(_Base):
    second: tuple[int, ...] = ()


def test_copy_has_the_other_values() -> None:
    given = _Derived(2, (3,))
    assert replace(given, first=4) == _Derived(4, (3,))
    assert replace(given, second=()) == _Derived(2, ())
    assert given == _Derived(2, (3,))
    assert hash(replace(given)) == hash(given)


def test_copy_of_a_measurement_is_that_of_the_standard_library() -> None:
    given = a_measurement(name="cpu")
    assert replace(given, rows_total=None, name="mem") == dataclasses.replace(given, rows_total=None, name="mem")


def test_field_that_there_is_not() -> None:
    other: dict[str, Any] = {"third": 1}
    with pytest.raises(AttributeError, match="third"):
        replace(_Derived(), **other)
