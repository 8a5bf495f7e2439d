"""What the advice for MongoDB proposes, run on a server: each value in its new place, and none lost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pymongo

from tests.builders import a_field, a_measurement, a_place, a_profile, a_tag
from tests.collecting import collected
from tests.databases import Collection, Dataset, times, write
from tests.engines.mongodb import mongosh
from tsaudit.config.settings import Target
from tsaudit.engines.mongodb.advice import MongoAdvice
from tsaudit.model.change import (
    Change,
    ChangeType,
    ColumnPart,
    DropIndex,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    SplitColumn,
)
from tsaudit.model.change import Merged as Member
from tsaudit.model.plan import Step
from tsaudit.model.subject import Subject

READINGS = [
    {
        "time": at,
        "meta": {"host": f"h{i % 3}", "load": i % 7},
        "reading": str(i) if i % 10 else "n/a",
        "room": f"r{i % 4}",
        "on": ("true", "no", "maybe")[i % 3],
    }
    for i, at in enumerate(times(60, timedelta(hours=1)))
]
SERIES = {"timeseries": {"timeField": "time", "metaField": "meta"}}


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


def test_one_command_copies_a_time_series(mongodb: str) -> None:
    target = write(Dataset(collections=[Collection("m x", READINGS, options=SERIES)]), "mongodb", mongodb)
    database = target.databases[0]
    at = Subject(database, "m x")
    changes = [
        ChangeType(at, "reading", "integer", ("n/a",)),
        MakeTag(at, "room"),
        MakeField(at, "meta.load"),
    ]
    step = needed(advice(target, changes).stored())
    assert step.text.count("aggregate(") == 1
    mongosh.run([step.text], mongodb)
    for i, row in enumerate(stored(mongodb, database, "m x_new")):
        assert row["meta"] == {"host": f"h{i % 3}", "room": f"r{i % 4}"}
        assert (row["reading"], row["load"]) == (i if i % 10 else "n/a", i % 7)
        assert "room" not in row
    assert len(stored(mongodb, database, "m x")) == len(stored(mongodb, database, "m x_new")) == 60


def test_documents_that_expire_are_left_to_that(mongodb: str) -> None:
    options = {**SERIES, "expireAfterSeconds": 90 * 86_400}
    target = write(Dataset(collections=[Collection("m", READINGS, options=options)]), "mongodb", mongodb)
    step = needed(advice(target, [MakeField(Subject(target.databases[0], "m"), "meta.load")]).stored())
    assert (step.text, step.words) == (
        "",
        "Stored documents stay in their buckets, and expire by themselves 90 days after their time.",
    )


def test_one_command_changes_documents_and_may_be_repeated(mongodb: str) -> None:
    flat = [{**{k: v for k, v in d.items() if k != "meta"}, "a": d["meta"]} for d in READINGS]
    target = write(Dataset(collections=[Collection("m", flat)]), "mongodb", mongodb)
    database = target.databases[0]
    at = Subject(database, "m")
    changes = [
        ChangeType(at, "reading", "integer", ("n/a",)),
        ChangeType(at, "on", "boolean"),
    ]
    step = needed(advice(target, changes).stored())
    mongosh.run([step.text, step.text], mongodb)
    for i, row in enumerate(stored(mongodb, database, "m")):
        assert row["reading"] == (i if i % 10 else "n/a")
        assert row["on"] == (True, False, "maybe")[i % 3]
        assert (row["a"]["host"], row["room"]) == (f"h{i % 3}", f"r{i % 4}")


def test_writer_is_shown_a_document() -> None:
    at = Subject("main", "m")
    m = a_measurement("m", tags=(a_tag("meta.host"), a_tag("meta.unit")), fields=(a_field("v"),), options=_options())
    parts = (ColumnPart("place", "0"), ColumnPart("model", "A0"))
    changes = [MakeField(at, "meta.host"), SplitColumn(at, "meta.unit", parts, "0.A0")]
    step = needed(MongoAdvice(a_place(a_profile(m, engine="mongodb"), "main", m), changes).writer())
    assert step.words.startswith("Write meta.host beside the metaField, as a measurement, not in it.")
    assert step.language == "text"
    assert mongosh.one_line(step.text).endswith(
        ".insertOne({ time: ..., host: ..., meta: { place: ..., model: ... } });"
    )


def test_metafield_itself_takes_another_collection() -> None:
    m = a_measurement("m", tags=(a_tag("host"),), fields=(a_field("v"),), options=_options("host"))
    change = MakeField(Subject("main", "m"), "host")
    found = MongoAdvice(a_place(a_profile(m, engine="mongodb"), "main", m), [change])
    assert 'createCollection("m_new", { timeseries: { timeField: "time" } });' in needed(found.schema()).text
    assert needed(found.stored()).words == "Stored documents stay in m until they expire, or nobody needs them."


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
    left_out = MongoAdvice(found.place, [LeaveOut(Subject("main"), "x")])
    assert left_out.stored() is None


def _options(meta: str = "meta") -> dict[str, str]:
    return {"type": "timeseries", "timeseries.timeField": "time", "timeseries.metaField": meta}
