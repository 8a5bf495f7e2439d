"""The ladders: each engine has what its own needs, and what decides how others are asked is asked for."""

from __future__ import annotations

import pytest

from tsaudit.collect.ladders import asked_on
from tsaudit.engines.engine import Ladder
from tsaudit.engines.queries import query_files
from tsaudit.engines.registry import ENGINES

FIRST = {
    Ladder.COLUMNS: {"columns", "row_sample"},
    Ladder.MEASURE_NAMES: {"columns", "row_sample", "measure_name_counts"},
    Ladder.TAG_LISTING: {"tag_keys", "field_types", "row_sample", "series_listing"},
    Ladder.DOCUMENTS: {"documents", "options"},
}
"""Without these, nothing further up the ladder can be asked."""
DECIDING = {
    Ladder.COLUMNS: ("row_sample", {"column_statistics", "scan_estimate"}),
    Ladder.TAG_LISTING: ("row_count", {"series_listing", "retention"}),
    Ladder.MEASURE_NAMES: ("row_sample", {"measure_name_counts"}),
    Ladder.DOCUMENTS: ("documents", {"options", "buckets"}),
}
"""A fact, and those that decide how it is asked for."""


@pytest.mark.parametrize("engine", ENGINES)
def test_engine_has_the_facts_that_its_ladder_begins_with(engine: str) -> None:
    assert FIRST[ENGINES[engine].ladder] <= query_files(engine).keys()


@pytest.mark.parametrize("ladder", Ladder)
def test_what_decides_is_asked_for_with_what_it_decides(ladder: Ladder) -> None:
    wanted, deciding = DECIDING[ladder]
    files = deciding | {wanted, "measurements", "storage"}
    assert asked_on(ladder, frozenset({wanted}), frozenset(files)) == deciding | {wanted, "measurements"}
    assert asked_on(ladder, frozenset({"storage"}), frozenset(files)) == {"storage", "measurements"}


@pytest.mark.parametrize("ladder", Ladder)
def test_facts_of_other_ladders_change_nothing(ladder: Ladder) -> None:
    """A file for a fact that the ladder has no rung for does not make it another ladder."""
    own = {DECIDING[ladder][0], *DECIDING[ladder][1]}
    others = frozenset(fact for fact, deciding in DECIDING.values() for fact in (fact, *deciding)) - own
    files = frozenset(own | others)
    assert asked_on(ladder, frozenset({DECIDING[ladder][0]}), files) == own
