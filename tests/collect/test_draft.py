"""What steps find out, and how a measurement is put together of it."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import typing

import pytest

from tests.builders import a_count
from tsaudit.collect.draft import Draft, Found
from tsaudit.collect.label_columns import FewestSeries

for module in pkgutil.iter_modules(importlib.import_module("tsaudit.collect").__path__, "tsaudit.collect."):
    importlib.import_module(module.name)


@pytest.mark.parametrize("found", Found.__subclasses__(), ids=lambda kind: kind.__name__)
def test_what_is_found_fits_the_draft(found: type[Found]) -> None:
    """`Draft.knowing` goes by names, which no type checker sees."""
    draft = {field.name: str(field.type) for field in dataclasses.fields(Draft)}
    for field in dataclasses.fields(found):
        assert field.name in draft
        assert _kinds(str(field.type)) <= _kinds(draft[field.name])
    assert dataclasses.fields(found)


def _kinds(annotation: str) -> set[str]:
    return {kind.strip() for kind in annotation.split(" | ")}


def test_what_is_found_last_stands_and_the_draft_before_stays() -> None:
    before = Draft("db", "cpu", series=a_count(5))
    after = before.knowing(FewestSeries(a_count(7)), Found()).asked("series_listing", "SELECT 1")
    assert (before.series, after.series) == (a_count(5), a_count(7))
    assert (before.statements, after.statements) == ({}, {"series_listing": "SELECT 1"})
    assert after.asked("row_sample", "SELECT 2").statements.keys() == {"series_listing", "row_sample"}


def test_nothing_writes_to_a_draft() -> None:
    draft: typing.Any = Draft("db", "cpu")
    with pytest.raises(dataclasses.FrozenInstanceError):
        draft.series = a_count(1)
