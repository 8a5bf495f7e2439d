"""Layouts of known programs: what is wanted is found, nothing else is told, and the plans do what they say.

docs/accuracy.md counts what is found. Every plan fits on a screen, and all its statements run: none is refused, nothing
is lost beyond what they announce, and what they should end is gone.
"""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any, Final

import pytest

from tests.databases import writing_of
from tests.layouts import accuracy
from tests.layouts.catalog import all_layouts
from tests.layouts.layout import Layout
from tests.layouts.running import MOST_FINDINGS, VERSIONS, Audited, audited, score
from tests.planning import runner
from tests.planning.places import server_of
from tsaudit.model.finding import AuditResult

NOISY: Final[frozenset[str]] = frozenset()
"""Layouts of which the audit says more than anybody reads; none should be here."""


@pytest.mark.golden
@pytest.mark.parametrize("layout", all_layouts(), ids=lambda layout: layout.name)
def test_layout_of_a_known_program(layout: Layout, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = writing_of(layout.engine).place
    numbers = itertools.count()

    def where() -> Any:
        own = tmp_path / str(next(numbers))
        own.mkdir()
        return place(request, own)

    results: dict[str, AuditResult] = {}
    wrong: list[str] = []
    for version in VERSIONS:
        if getattr(layout, version):
            one = audited(layout, version, where)
            results[version] = one.result
            wrong += [f"{version}: {line}" for line in _wrong_plans(one)]
    found = score(layout, results)
    print(*(f"missed: {wanted}" for wanted in found.missed), *(f"false: {line}" for line in found.false), sep="\n")
    if "TSAUDIT_REBASELINE" in os.environ:
        accuracy.change(lambda rows: rows | {layout.name: accuracy.row(found)})
    assert accuracy.rows().get(layout.name) == accuracy.row(found), (found.missed, found.false)
    assert (found.findings > MOST_FINDINGS) == (layout.name in NOISY), found.findings
    assert not wrong, "\n".join(wrong)


def _wrong_plans(one: Audited) -> list[str]:
    profile, result = one.profile, one.result
    wrong = [line for plan in result.plans for line in runner.misshapen(plan, profile, result)]
    server = server_of(profile.engine, one.where, one.place.target)
    if server is None or not result.plans:
        return wrong
    ran = runner.run(server, profile, result, lambda: one.place.audited(profile, result))
    for what, lines in (("refused", ran.refused), ("lost", ran.lost), ("left", ran.left)):
        wrong += [f"{what}: {line}" for line in lines]
    return wrong


@pytest.mark.golden
def test_page_holds_the_layouts_there_are() -> None:
    names = {layout.name for layout in all_layouts()}
    if "TSAUDIT_REBASELINE" in os.environ:
        accuracy.change(lambda rows: {name: row for name, row in rows.items() if name in names})
    assert set(accuracy.rows()) == names
