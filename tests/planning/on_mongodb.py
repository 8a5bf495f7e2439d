"""Plans carried out on a MongoDB, and what is gone of its values afterward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pymongo
from bson import ObjectId

from tests import plans as steps
from tests.engines.mongodb import mongosh
from tests.planning.losses import Run
from tsaudit.engines.mongodb.kinds import KeepCounts
from tsaudit.model.change import Change
from tsaudit.model.plan import Phase, Plan
from tsaudit.model.profile import Profile

_LONGEST = timedelta(days=5)
"""Days for which a script that copies one day is run."""


def values(url: str, database: str) -> dict[str, Counter[str]]:
    """Collection to how often it holds each value, whatever its field; IDs that drivers generate left out."""
    found: dict[str, Counter[str]] = {}
    with pymongo.MongoClient[dict[str, Any]](url) as client:
        for name in client[database].list_collection_names():
            if name.startswith("system."):
                continue
            found[name] = Counter()
            for document in client[database][name].find():
                if isinstance(document.get("_id"), ObjectId):
                    document.pop("_id")
                found[name].update(_inside(document))
    return found


def lost(before: Mapping[str, Counter[str]], after: Mapping[str, Counter[str]], plans: Sequence[Plan]) -> list[str]:
    """Values that are stored less often than before, beyond those in collections that plans replace by counts."""
    counted = {name for plan in plans for asked in plan.changes for name in _counted(asked.change)}
    held = sum((found for name, found in before.items() if name not in counted), Counter[str]())
    gone = held - sum(after.values(), Counter[str]())
    return [f"{value}: {count} times" for value, count in gone.items()]


def _counted(change: Change) -> Sequence[str]:
    return change.collections if isinstance(change, KeepCounts) else ()


def _inside(value: Any) -> Iterator[str]:
    """The values within documents and arrays, as texts."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _inside(one)
    else:
        yield str(value)


def run(found: Sequence[Plan], url: str, last: datetime, *, twice: bool = True) -> list[str]:
    """Run the scripts of the plans, and return them. AssertionError for what is refused.

    `twice`: somebody begins to copy, breaks off, and begins again: nothing may be there twice.
    """
    scripts: list[str] = []
    again = [{Phase.COPY}] if twice else []
    for plan in found:
        for phases in ({Phase.PREPARE, Phase.COPY}, *again, {Phase.CHECK, Phase.SWITCH, Phase.REMOVE}):
            steps.run(plan, scripts.append, last - _LONGEST, last, without=set(Phase) - phases)
    applied = [script.replace("const apply = false;", "const apply = true;") for script in scripts]
    mongosh.run(applied, url)
    return applied


@dataclass(frozen=True, slots=True)
class MongoHand:
    """Runs the scripts in a shell."""

    url: str
    database: str

    def contents(self, profile: Profile) -> dict[str, Counter[str]]:
        return values(self.url, self.database)

    def carry_out(self, plans: Sequence[Plan], first: datetime, last: datetime) -> list[Run]:
        found = [Run() for _ in plans]
        for plan, done in zip(plans, found, strict=True):
            try:
                done.executed = len(run([plan], self.url, last, twice=False))
            except AssertionError as error:
                done.refused.append(str(error))
        return found

    def lost(
        self,
        before: Mapping[str, Counter[str]],
        after: Mapping[str, Counter[str]],
        plans: Sequence[Plan],
        done: Sequence[Run],
        now: datetime,
    ) -> list[str]:
        return lost(before, after, plans)
