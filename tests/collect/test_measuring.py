"""How engines are measured: each has what its way begins with, and what decides how others are queried is queried."""

from __future__ import annotations

import pytest

from tsaudit.collect.measuring import Measuring, measuring_of
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES

WAYS = {measuring_of(engine): engine.name for engine in ENGINES.values()}
"""Each way to measure, and one of the engines that are measured like that."""


def deciding(way: type[Measuring]) -> tuple[str, frozenset[str]]:
    """A fact, and those that decide how it is queried."""
    return min(way.decided), way.deciding


@pytest.mark.parametrize("engine", ENGINES)
def test_engine_has_a_fact_that_its_steps_query(engine: str) -> None:
    way = measuring_of(ENGINES[engine])
    files = query_files(engine).keys()
    assert way.decided & files
    assert (way is Measuring) <= ("columns" in files)


def test_engines_when_they_differ_have_ways_of_their_own() -> None:
    assert len(WAYS) == 4
    assert {name for name, engine in ENGINES.items() if engine.has_series_index} == {"influxdb1", "influxdb2"}


@pytest.mark.parametrize("way", WAYS, ids=WAYS.values())
def test_facts_that_decide_are_queried_with_what_they_decide(way: type[Measuring]) -> None:
    wanted, others = deciding(way)
    files = others | {wanted, "measurements", "storage"}
    assert way.facts_to_query(frozenset({wanted}), files) == others | {wanted, "measurements"}
    assert way.facts_to_query(frozenset({"storage"}), files) == {"storage", "measurements"}


@pytest.mark.parametrize("way", WAYS, ids=WAYS.values())
def test_facts_that_decide_on_other_engines_are_not_queried(way: type[Measuring]) -> None:
    wanted, own = deciding(way)
    others = frozenset(fact for other in WAYS for fact in (*other.decided, *other.deciding)) - own - {wanted}
    assert way.facts_to_query(frozenset({wanted}), own | {wanted} | others) == own | {wanted}
