"""Layouts of known programs: what is wanted is found, nothing else is told, and the plans do what they say.

docs/accuracy.md counts what is found. All plans of a database are carried out together, decisions included, as somebody
does who follows the report to its end: what was found is gone, nothing is new, nothing is lost. What a program or a
command is to do is done by the test.
"""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.layouts import accuracy
from tests.layouts.catalog import all_layouts
from tests.layouts.layout import Layout
from tests.layouts.running import MOST_FINDINGS, VERSIONS, Audited, audited, score
from tests.planning import figures
from tests.planning.following import Followed, Hand, follow
from tests.planning.on_influxdb1 import InfluxHand
from tests.planning.on_influxdb3 import Influx3Hand
from tests.planning.on_mongodb import MongoHand
from tests.planning.on_sql import SqlHand
from tests.planning.on_timestream import TimestreamHand
from tests.planning.places import Statements
from tsaudit.model.finding import AuditResult

NOISY: Final[frozenset[str]] = frozenset()
"""Layouts of which the audit says more than anybody reads; none should be here."""

_HANDS: Final[dict[str, Callable[[Any, str], Hand]]] = {
    "influxdb1": InfluxHand,
    "influxdb3": Influx3Hand,
    "mongodb": MongoHand,
    "timestream": TimestreamHand,
}


@pytest.mark.golden
@pytest.mark.parametrize("layout", all_layouts(), ids=lambda layout: layout.name)
def test_layout_of_a_known_program(layout: Layout, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = importlib.import_module(f"tests.engines.{layout.engine}.writing").place
    numbers = itertools.count()

    def where() -> Any:
        own = tmp_path / str(next(numbers))
        own.mkdir()
        return place(request, own)

    results: dict[str, AuditResult] = {}
    plans: dict[str, Followed] = {}
    for version in VERSIONS:
        if getattr(layout, version):
            one = audited(layout, version, where)
            results[version] = one.result
            if one.result.plans:
                plans[version] = _followed(one)
    found = score(layout, results)
    print(*(f"missed: {wanted}" for wanted in found.missed), *(f"false: {line}" for line in found.false), sep="\n")
    names = {version: figures.name(layout.engine, layout.name, version) for version in VERSIONS}
    of_plans = {names[version]: figures.figures_of(followed) for version, followed in plans.items()}
    if "TSAUDIT_REBASELINE" in os.environ:
        accuracy.write(accuracy.rows() | {layout.name: accuracy.row(found)})
        others = {name: one for name, one in figures.kept().items() if name not in names.values()}
        figures.keep(others | of_plans)
    assert accuracy.rows().get(layout.name) == accuracy.row(found), (found.missed, found.false)
    assert (found.findings > MOST_FINDINGS) == (layout.name in NOISY), found.findings
    for version, followed in plans.items():
        wrong = (followed.refused, followed.lost, followed.new, followed.left)
        assert not any(wrong), f"{version}: refused, lost, new, left: {wrong}"
    assert {name: one for name, one in figures.kept().items() if name in names.values()} == of_plans


def _followed(one: Audited) -> Followed:
    target = one.place.target
    hand = _HANDS.get(target.engine)
    own = hand(one.where, target.databases[0]) if hand else SqlHand(Statements(target.engine, one.where, target))
    return follow(one.place, own, one.profile, one.result)


@pytest.mark.golden
def test_page_holds_the_layouts_there_are() -> None:
    names = {layout.name for layout in all_layouts()}
    if "TSAUDIT_REBASELINE" in os.environ:
        accuracy.write({name: row for name, row in accuracy.rows().items() if name in names})
        figures.keep({name: one for name, one in figures.kept().items() if name.split()[1] in names})
    assert set(accuracy.rows()) == names
    assert {name.split()[1] for name in figures.kept()} <= names
