"""The databases of the blind set can be written and audited.

How they came out when they were first run is published in docs/accuracy.md; nothing was tuned on them before. With
TSAUDIT_BLIND=FILE, each audit adds a line of JSON with its score to the file.
"""

from __future__ import annotations

import itertools
import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.blind import columnar, documents, influxdb, influxdb_fleets, influxdb_homes, sql_files, sql_servers
from tests.blind.expected import BlindDatabase, Cause, Grade
from tests.blind.scoring import CODES, score
from tests.builders import NOW
from tests.collecting import collected
from tests.databases import writing_of
from tests.layouts.running import written
from tests.planning.places import Place
from tsaudit.engines.registry import ENGINES
from tsaudit.rules import all_rules

DATABASES: Final[tuple[BlindDatabase, ...]] = tuple(
    one
    for module in (influxdb, influxdb_fleets, influxdb_homes, sql_servers, sql_files, documents, columnar)
    for one in module.DATABASES
)


def test_blind_set_is_whole() -> None:
    names = [one.name for one in DATABASES]
    assert len(set(names)) == len(names) == 40
    assert {one.engine for one in DATABASES} <= set(ENGINES)
    assert not [one.name for one in DATABASES if one.quiet and any(e.grade is Grade.HARMFUL for e in one.expected)]


def test_causes_are_spoken_of_by_rules_there_are() -> None:
    assert set(CODES) == set(Cause)
    assert frozenset().union(*CODES.values()) <= {rule.code for rule in all_rules()}


@pytest.mark.full
@pytest.mark.parametrize("database", DATABASES, ids=lambda one: one.name)
def test_blind_database(database: BlindDatabase, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = writing_of(database.engine).place
    numbers = itertools.count()

    def where() -> Any:
        own = tmp_path / str(next(numbers))
        own.mkdir()
        return place(request, own)

    now = database.now or NOW
    columns = dict(database.columns)
    before = None
    if database.yesterday:
        yesterday = written(database.yesterday(), database.engine, where(), columns=columns)
        day_before = now - timedelta(days=1)
        before = collected(yesterday, day=day_before.date(), now=day_before)
    target = written(database.made(), database.engine, where(), columns=columns)
    profile, result = Place(target, now=now).audited(before)
    found = score(database, profile, result)
    print(json.dumps(found.as_json(), indent=1))
    if "TSAUDIT_BLIND" in os.environ:
        with Path(os.environ["TSAUDIT_BLIND"]).open("a") as file:
            file.write(json.dumps(found.as_json()) + "\n")
    assert result.verdict is not None
