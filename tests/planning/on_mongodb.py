"""Plans carried out on a MongoDB, and what is gone of its values afterward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import pymongo

from tests import plans as steps
from tests.engines.mongodb import mongosh
from tests.planning.losses import Run
from tsaudit.model.plan import Phase, Plan
from tsaudit.model.profile import Profile

_LONGEST = timedelta(days=5)
"""Days for which a script that copies one day is run."""


def values(url: str, database: str) -> Counter[str]:
    """How often each value is stored, whatever its field and its collection."""
    found: Counter[str] = Counter()
    with pymongo.MongoClient[dict[str, Any]](url) as client:
        for name in client[database].list_collection_names():
            if name.startswith("system."):
                continue
            for document in client[database][name].find():
                document.pop("_id", None)
                found.update(_inside(document))
    return found


def _inside(value: Any) -> Iterator[str]:
    """The values within documents and arrays, as texts."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _inside(one)
    else:
        yield str(value)


def decides(plan: Plan) -> bool:
    """Whether a step says that something is lost, other than a collection whose documents are in another one."""
    return any(step.loses and not step.loses.endswith("by then") for step in plan.steps)


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

    @property
    def writes(self) -> bool:
        return True

    def contents(self, profile: Profile) -> Counter[str]:
        return values(self.url, self.database)

    def carry_out(self, plans: Sequence[Plan], first: datetime, last: datetime) -> list[Run]:
        found = [Run() for _ in plans]
        for plan, done in zip(plans, found, strict=True):
            try:
                done.executed = len(run([plan], self.url, last, twice=False))
            except AssertionError as error:
                done.refused.append(str(error))
        return found

    def lost(self, before: Counter[str], after: Counter[str], plans: Sequence[Plan], done: Sequence[Run]) -> list[str]:
        """Values; none where a plan says that some are."""
        if any(map(decides, plans)):
            return []
        return [f"{value}: {count} times" for value, count in (before - after).items()]
