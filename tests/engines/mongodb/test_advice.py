"""What the advice for MongoDB proposes, run on a server: each value in its new place, and none lost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pymongo

from tests.builders import a_measurement, a_place, a_profile
from tests.collecting import collected
from tests.databases import Collection, Dataset, times, write
from tests.engines.mongodb import mongosh
from tsaudit.config.settings import Target
from tsaudit.engines.mongodb.advice import MongoAdvice
from tsaudit.model.change import (
    Change,
    ChangeType,
    Diagnose,
    DropIndex,
    MergeMeasurements,
)
from tsaudit.model.change import Merged as Member
from tsaudit.model.figures import Subject
from tsaudit.model.plan import Step

READINGS = [
    {
        "time": at,
        "meta": {"host": f"h{i % 3}", "load": i % 7},
        "seen": at.isoformat() if i % 10 else "n/a",
    }
    for i, at in enumerate(times(60, timedelta(hours=1)))
]


def advice(target: Target, changes: Sequence[Change]) -> MongoAdvice:
    (database,) = target.databases
    profile = collected(target)
    measurement = next(m for m in profile.measurements if m.name == changes[0].at.measurement)
    return MongoAdvice(a_place(profile, database, measurement), changes)


def stored(url: str, database: str, name: str) -> list[dict[str, Any]]:
    with pymongo.MongoClient[dict[str, Any]](url) as client:
        return sorted(client[database][name].find({}, {"_id": 0}), key=lambda document: str(document["time"]))


def needed(step: Step | None) -> Step:
    assert step is not None
    return step


def test_one_command_changes_documents_and_may_be_repeated(mongodb: str) -> None:
    target = write(Dataset(collections=[Collection("m", READINGS)]), "mongodb", mongodb)
    database = target.databases[0]
    step = needed(advice(target, [ChangeType(Subject(database, "m"), "seen", "time")]).stored())
    mongosh.run([step.text, step.text], mongodb)
    for i, row in enumerate(stored(mongodb, database, "m")):
        assert row["seen"] == (row["time"] if i % 10 else "n/a")
        assert row["meta"] == READINGS[i]["meta"]


def test_type_to_write_is_that_of_most_documents(mongodb: str) -> None:
    documents = [{"time": n, "total": n if n % 3 else f"{n} EUR"} for n in range(60)]
    target = write(Dataset(collections=[Collection("m", documents)]), "mongodb", mongodb)
    at = Subject(target.databases[0], "m")
    found = needed(advice(target, [Diagnose(at, "types", "total", ("number", "string"))]).writer())
    assert found.words == "Write total as number, as most have it, in all documents."


def test_commands_for_other_collections_are_lines() -> None:
    names = [f"m{i:02}" for i in range(9)]
    profile = a_profile(*(a_measurement(name) for name in names), engine="mongodb")
    each = [
        MongoAdvice(a_place(profile, "main", m), [DropIndex(Subject("main", m.name), "host_1", ("host",))])
        for m in profile.measurements
    ]
    step = needed(MongoAdvice(each[0].place, each[0].changes, each[1:]).schema())
    assert [line.count("dropIndex") for line in step.text.splitlines()] == [1] * 6
    assert step.words.endswith("The 3 other collections of this plan take the same command.")


def test_what_would_take_several_commands_is_said() -> None:
    members = tuple(Member(f"cpu_h{i}", (("host", f"h{i}"),)) for i in range(30))
    change = MergeMeasurements(Subject("main"), "cpu", "cpu_{host}", members)
    found = MongoAdvice(a_place(a_profile(engine="mongodb"), "main", None), [change])
    assert needed(found.writer()).words == 'Write to cpu with { host: "h0" } in each document, instead of to cpu_h0.'
    assert needed(found.stored()).text == ""
