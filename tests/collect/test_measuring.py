"""How engines are measured: each has a fact that its steps query, and what decides about a query is queried, too."""

from __future__ import annotations

import pytest

from tsaudit.collect.measuring import Measuring, measuring_of
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES

CLASSES = {measuring_of(engine): engine.name for engine in ENGINES.values()}
"""Each class that measures, and one of its engines."""


def deciding(measuring_class: type[Measuring]) -> tuple[str, frozenset[str]]:
    """A fact, and those that decide how it is queried."""
    return min(measuring_class.decided), measuring_class.deciding


@pytest.mark.parametrize("engine", ENGINES)
def test_engine_has_a_fact_that_its_steps_query(engine: str) -> None:
    measuring_class = measuring_of(ENGINES[engine])
    files = query_files(engine).keys()
    assert measuring_class.decided & files
    assert (measuring_class is Measuring) <= ("columns" in files)


def test_engines_when_they_differ_have_classes_of_their_own() -> None:
    assert len(CLASSES) == 4
    assert {name for name, engine in ENGINES.items() if engine.has_series_index} == {"influxdb1", "influxdb2"}


@pytest.mark.parametrize("measuring_class", CLASSES, ids=CLASSES.values())
def test_facts_that_decide_are_queried_with_what_they_decide(measuring_class: type[Measuring]) -> None:
    wanted, others = deciding(measuring_class)
    files = others | {wanted, "measurements", "storage"}
    assert measuring_class.facts_to_query(frozenset({wanted}), files) == others | {wanted, "measurements"}
    assert measuring_class.facts_to_query(frozenset({"storage"}), files) == {"storage", "measurements"}


@pytest.mark.parametrize("measuring_class", CLASSES, ids=CLASSES.values())
def test_facts_that_decide_on_other_engines_are_not_queried(measuring_class: type[Measuring]) -> None:
    wanted, own = deciding(measuring_class)
    others = frozenset(fact for other in CLASSES for fact in (*other.decided, *other.deciding)) - own - {wanted}
    assert measuring_class.facts_to_query(frozenset({wanted}), own | {wanted} | others) == own | {wanted}
