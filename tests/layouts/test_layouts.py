"""Layouts of known programs: what is wanted is found, and nothing else is told; docs/accuracy.md counts it."""

from __future__ import annotations

import importlib
import itertools
import os
from pathlib import Path
from typing import Any, Final

import pytest

from tests.layouts import accuracy
from tests.layouts.catalog import all_layouts
from tests.layouts.layout import Layout
from tests.layouts.running import MOST_FINDINGS, VERSIONS, score
from tests.planning import figures

NOISY: Final[frozenset[str]] = frozenset()
"""Layouts of which the audit says more than anybody reads; none should be here."""


@pytest.mark.golden
@pytest.mark.parametrize("layout", all_layouts(), ids=lambda layout: layout.name)
def test_layout_of_a_known_program(layout: Layout, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = importlib.import_module(f"tests.engines.{layout.engine}.writing").place
    numbers = itertools.count()

    def where() -> Any:
        folder = tmp_path / str(next(numbers))
        folder.mkdir()
        return place(request, folder)

    found = score(layout, where)
    print(*(f"missed: {wanted}" for wanted in found.missed), *(f"false: {line}" for line in found.false), sep="\n")
    if "TSAUDIT_REBASELINE" in os.environ:
        accuracy.write(accuracy.rows() | {layout.name: accuracy.row(found)})
    assert accuracy.rows().get(layout.name) == accuracy.row(found), (found.missed, found.false)
    known = figures.kept()
    assert found.with_plans == tuple(v for v in VERSIONS if figures.name(layout.engine, layout.name, v) in known)
    assert (found.findings > MOST_FINDINGS) == (layout.name in NOISY), found.findings


@pytest.mark.golden
def test_page_holds_the_layouts_there_are() -> None:
    if "TSAUDIT_REBASELINE" in os.environ:
        names = {layout.name for layout in all_layouts()}
        accuracy.write({name: row for name, row in accuracy.rows().items() if name in names})
    assert set(accuracy.rows()) == {layout.name for layout in all_layouts()}
