"""The plans of all layouts of known programs, carried out: what was found is gone, nothing is new, nothing is lost.

All plans of a database are carried out together, decisions included, as somebody does who follows the report to its
end. What a program or a command is to do is done by the test.
"""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.builders import NOW
from tests.layouts.catalog import all_layouts
from tests.layouts.layout import Layout
from tests.layouts.running import VERSIONS, profiled, written
from tests.planning import figures
from tests.planning.following import Hand, follow
from tests.planning.on_influxdb1 import InfluxHand
from tests.planning.on_influxdb3 import Influx3Hand
from tests.planning.on_mongodb import MongoHand
from tests.planning.on_sql import SqlHand
from tests.planning.on_timestream import TimestreamHand
from tests.planning.places import Place, Statements
from tests.servers import quick_folder
from tsaudit.config.settings import Target

_HANDS: Final[dict[str, Callable[[Any, str], Hand]]] = {
    "influxdb1": InfluxHand,
    "influxdb3": Influx3Hand,
    "mongodb": MongoHand,
    "timestream": TimestreamHand,
}
_REBASELINES: Final = "TSAUDIT_REBASELINE" in os.environ


def _hand(where: Any, target: Target) -> Hand:
    if target.engine in _HANDS:
        return _HANDS[target.engine](where, target.databases[0])
    return SqlHand(Statements(target.engine, where, target))


def _each() -> Iterator[Any]:
    """Each version that has plans: the tests of the layouts look that the others have none."""
    known = figures.kept()
    for layout in all_layouts():
        for version in VERSIONS:
            name = figures.name(layout.engine, layout.name, version)
            if getattr(layout, version) and (_REBASELINES or name in known):
                yield pytest.param(layout, version, id=name.replace(" ", "-"))


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory: each statement on a file is a transaction of its own."""
    with quick_folder() as found:
        yield found


@pytest.mark.golden
@pytest.mark.parametrize(("layout", "version"), tuple(_each()))
def test_what_is_found_is_gone_and_nothing_lost(
    layout: Layout, version: str, request: pytest.FixtureRequest, folder: Path
) -> None:
    make = importlib.import_module(f"tests.engines.{layout.engine}.writing").place
    numbers = itertools.count()

    def place() -> Any:
        own = folder / str(next(numbers))
        own.mkdir()
        return make(request, own)

    before = None
    if version == "dirty" and layout.yesterday:
        before = profiled(layout, layout.yesterday(), place(), None, -1)
    where = place()
    target = written(getattr(layout, version)(), layout.engine, where, columns=dict(layout.columns))
    here = Place(target, now=layout.now or NOW)
    profile, result = here.audited(before)
    name, known = figures.name(layout.engine, layout.name, version), figures.kept()
    if not result.plans:
        if _REBASELINES:
            figures.keep({key: one for key, one in known.items() if key != name})
        assert name not in figures.kept()
        return
    followed = follow(here, _hand(where, target), profile, result)
    assert not followed.refused
    assert not followed.lost
    assert not followed.new
    assert not followed.left
    if _REBASELINES:
        figures.keep(known | {name: figures.figures_of(followed)})
    assert figures.kept()[name] == figures.figures_of(followed)
