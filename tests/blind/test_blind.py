"""The databases of the blind sets can be written and audited.

How each set came out when it was first run is in its `run.jsonl`, and published in docs/accuracy.md; nothing was tuned
on it before. With TSAUDIT_BLIND=FILE, each audit adds a line of JSON with its score to the file; -k selects a set.
"""

from __future__ import annotations

import itertools
import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.blind import first, second
from tests.blind.expected import BlindDatabase, Cause, Grade
from tests.blind.scoring import CODES, score
from tests.builders import NOW
from tests.collecting import collected
from tests.databases import writing_of
from tests.layouts.running import written
from tests.planning.places import Place
from tsaudit.engines.registry import ENGINES
from tsaudit.rules import all_rules

SETS: Final = {"first": first.DATABASES, "second": second.DATABASES}
DATABASES: Final[tuple[BlindDatabase, ...]] = tuple(one for databases in SETS.values() for one in databases)
_EACH: Final = [pytest.param(one, id=f"{name}-{one.name}") for name, databases in SETS.items() for one in databases]


def test_blind_sets_are_whole() -> None:
    names = [one.name for one in DATABASES]
    assert len(set(names)) == len(names)
    assert {name: len(databases) for name, databases in SETS.items()} == {"first": 40, "second": 20}
    assert {one.engine for one in DATABASES} <= set(ENGINES)
    assert not [one.name for one in DATABASES if one.quiet and any(e.grade is Grade.HARMFUL for e in one.expected)]


def test_causes_are_spoken_of_by_rules_there_are() -> None:
    assert set(CODES) == set(Cause)
    assert frozenset().union(*CODES.values()) <= {rule.code for rule in all_rules()}


@pytest.mark.full
@pytest.mark.parametrize("database", _EACH)
def test_blind_database(database: BlindDatabase, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    place = writing_of(database.engine).place
    numbers = itertools.count()

    def where() -> Any:
        if database.engine == "influxdb1":
            # A server counts the points that it drops, as it does in one of these, and other tests would find that.
            return request.getfixturevalue("own_influxd").url
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
