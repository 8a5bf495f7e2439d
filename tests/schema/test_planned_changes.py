"""Which schema changes a plan of an earlier audit explains, and which it does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tsaudit.engines.engine import Statements
from tsaudit.engines.mongodb.collections import UseAsId
from tsaudit.evaluation import evaluate
from tsaudit.model.change import (
    Change,
    ChangeType,
    ColumnPart,
    LeaveOut,
    MakeField,
    MakeTag,
    Merged,
    MergeMeasurements,
    Rename,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.finding import Finding
from tsaudit.model.plan import Plan, Requested, Step, StepKind
from tsaudit.model.profile import Measurement, Profile, Tag
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Timeline
from tsaudit.rules.drift.schema_drift import schema_drift as rule

AT = Subject("main", "cpu")
DATABASE = Subject("main")
PARTS = SplitColumn(AT, "host", (ColumnPart("site", "a"), ColumnPart("rack", "b")), "a.b")


def plan(*changes: Change, steps: tuple[Step, ...] = ()) -> Plan:
    return Plan(changes[0].at, tuple(Requested(change, ("X001",)) for change in changes), steps)


def wanted(plans: Iterable[Plan]) -> tuple[Requested, ...]:
    """As a result says it of its plans."""
    return tuple(one for made in plans for one in made.changes)


def found(before: Profile, after: Profile, *plans: Plan) -> list[Finding]:
    (result,) = evaluate(after, Timeline(previous=before, plans=plans, wanted=wanted(plans)), rules=[rule]).results
    return list(result.findings)


def warned(before: Profile, after: Profile, *plans: Plan) -> list[str]:
    """What changed or is gone without having been asked for; a new table or field is no news here."""
    messages = [f.message for f in found(before, after, *plans)]
    news = [message for message in messages if message.startswith("Tag ") or " is new" not in message]
    return [message for message in news if ", as planned for " not in message and ", as wanted by " not in message]


def cpu(**changes: Any) -> Measurement:
    return a_measurement("cpu", **changes)


TEXT = cpu(fields=(a_field(types=("string",)),))
LABEL = replace(a_tag("labels.pod"), label_of="labels")
LABELS = a_field("labels", ("JSON",))
DONE = [
    (cpu(tags=(LABEL,)), [cpu(tags=(), fields=(a_field(), LABELS))], MakeField(AT, "labels.pod")),
    (TEXT, [cpu()], ChangeType(AT, "usage", "float")),
    (TEXT, [cpu(fields=(a_field(types=("BIGINT",)),))], ChangeType(AT, "usage", "integer")),
    (cpu(), [cpu(tags=())], LeaveOut(AT, "host")),
    (cpu(), [cpu(tags=(), fields=(a_field(), a_field("host", ("string",))))], MakeField(AT, "host")),
    (cpu(), [cpu(tags=(), fields=(a_field(), a_field("host", ("BIGINT",))))], MakeField(AT, "host", "integer")),
    (cpu(), [cpu(tags=(a_tag(), a_tag("usage", data_type="float")), fields=())], MakeTag(AT, "usage")),
    (cpu(), [cpu(tags=(a_tag("machine"),))], Rename(AT, "host", "machine")),
    (cpu(), [cpu(tags=(a_tag("machine_2"),))], Rename(AT, "host", "machine")),
    (cpu(), [cpu(tags=(a_tag("site"), a_tag("rack")))], PARTS),
    (cpu(), [a_measurement("cpus")], Rename(AT, "", "cpus")),
    (cpu(), [a_measurement("all")], MergeMeasurements(DATABASE, "all", "{host}", (Merged("cpu", ()),))),
    (cpu(), [cpu(fields=()), a_measurement("events")], SplitMeasurement(AT, "events", ("usage",))),
    (
        cpu(tags=(), fields=(a_field("_id", ("objectId",)), a_field("orderNo", ("string",)))),
        [cpu(tags=(), fields=(a_field("_id", ("string",)),))],
        UseAsId(AT, "orderNo", "orderNo_1", ("cpu",)),
    ),
]


@pytest.mark.parametrize(("before", "after", "change"), DONE)
def test_what_was_asked_for_is_good_news(before: Measurement, after: list[Measurement], change: Change) -> None:
    profiles = a_profile(before), a_profile(*after)
    assert warned(*profiles), "without the plan it is drift"
    assert warned(*profiles, plan(change)) == []
    news = [f for f in found(*profiles, plan(change)) if "as planned for X001" in f.message]
    assert news
    assert all(f.evidence[-1].value == "X001" and not f.changes for f in news)


OTHERWISE = [
    # The column of the labels is gone, too; or it was a column of its own.
    (cpu(tags=(LABEL,)), [cpu(tags=())], MakeField(AT, "labels.pod")),
    (cpu(tags=(a_tag("labels.pod"),)), [cpu(tags=(), fields=(a_field(), LABELS))], MakeField(AT, "labels.pod")),
    # Another type than the one asked for, or a mix.
    (TEXT, [cpu(fields=(a_field(types=("BLOB",)),))], ChangeType(AT, "usage", "float")),
    (TEXT, [cpu(fields=(a_field(types=("float", "string")),))], ChangeType(AT, "usage", "float")),
    # Another column, another table, another database.
    (TEXT, [cpu()], ChangeType(AT, "idle", "float")),
    (TEXT, [cpu()], ChangeType(Subject("main", "mem"), "usage", "float")),
    (TEXT, [cpu()], ChangeType(Subject("other", "cpu"), "usage", "float")),
    # A role was asked for, and the type became another one besides.
    (cpu(), [cpu(tags=(), fields=(a_field(), a_field("host", ("BIGINT",))))], MakeField(AT, "host")),
    # What was to take its place is not there.
    (cpu(), [cpu(tags=())], Rename(AT, "host", "machine")),
    (cpu(), [cpu(tags=(a_tag("site"),))], PARTS),
    (cpu(), [cpu(fields=())], SplitMeasurement(AT, "events", ("usage",))),
    (cpu(), [cpu(fields=()), a_measurement("events", fields=())], SplitMeasurement(AT, "events", ("usage",))),
    (cpu(), [a_measurement("mem")], Rename(AT, "", "cpus")),
    (cpu(), [a_measurement("mem")], MergeMeasurements(DATABASE, "all", "{host}", (Merged("cpu", ()),))),
    (cpu(), [a_measurement("all")], MergeMeasurements(DATABASE, "all", "{host}", (Merged("mem", ()),))),
    # A tag that nobody asked for comes along.
    (TEXT, [cpu(tags=(a_tag(), a_tag("pod")))], ChangeType(AT, "usage", "float")),
]


@pytest.mark.parametrize(("before", "after", "change"), OTHERWISE)
def test_what_nobody_asked_for_is_drift(before: Measurement, after: list[Measurement], change: Change) -> None:
    assert warned(a_profile(before), a_profile(*after), plan(change))


def test_what_a_plan_is_for_is_about_its_other_measurements_too() -> None:
    """Their own findings ask for it; a statement about one of them is part of the same plan."""
    mem = Subject("main", "mem")
    steps = (Step(StepKind.SCHEMA, "Drop.", 'ALTER TABLE "cpu" DROP COLUMN "a";\nALTER TABLE "mem" DROP COLUMN "b";'),)
    both = replace(plan(ChangeType(AT, "usage", "float"), steps=steps), also=(mem,))
    before, after = (a_profile(a_measurement("mem", tags=(a_tag(), *more))) for more in ((a_tag("b"),), ()))
    assert warned(before, after, replace(both, also=()))
    assert warned(before, after, both) == []


@pytest.mark.parametrize("name", ["usage_text", 'or"der', "select", "a b"])
def test_what_a_plan_makes_on_the_way_is_planned_too(name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    steps = (
        Step(StepKind.SCHEMA, "Switch.", f'ALTER TABLE "main"."cpu" RENAME COLUMN "usage" TO {quoted};'),
        Step(StepKind.STORED, "Drop.", f'ALTER TABLE "main"."cpu" DROP COLUMN {quoted};'),
    )
    asked = plan(ChangeType(AT, "usage", "float"), steps=steps)
    between = cpu(tags=(a_tag(), a_tag(name)))
    assert warned(a_profile(TEXT), a_profile(between)) != []
    assert warned(a_profile(TEXT), a_profile(between), asked) == []
    assert warned(a_profile(between), a_profile(cpu()), asked) == []
    # The table itself, and columns whose names only look alike, are not dropped by these statements.
    assert warned(a_profile(between), a_profile(a_measurement("mem")), asked)
    alike = cpu(tags=(a_tag(), a_tag(f"{name}x")))
    assert warned(a_profile(alike), a_profile(cpu()), asked)


def test_a_statement_that_only_looks_explains_nothing() -> None:
    look = Step(StepKind.FIND, "Look.", 'ALTER TABLE "cpu" DROP COLUMN "host";')
    assert warned(a_profile(), a_profile(cpu(tags=())), plan(ChangeType(AT, "usage", "float"), steps=(look,)))


ID, ROUTE = a_tag("request_id", 9000), a_tag("route", 9)
BEFORE = cpu(tags=(a_tag(), ID), series=9000)
UNWANTED = plan(MakeField(AT, "request_id"))


def _after(*tags: Tag, series: int = 9) -> Profile:
    return a_profile(cpu(tags=tags, series=series))


def test_a_reported_tag_that_ended_in_another_way_is_good_news() -> None:
    for after in (_after(a_tag()), _after(a_tag(), ROUTE), _after(a_tag(), ROUTE, series=4500)):
        assert warned(a_profile(BEFORE), after, UNWANTED) == []
        assert warned(a_profile(BEFORE), after), "nobody had reported it"
    (news,) = found(a_profile(BEFORE), _after(a_tag()), UNWANTED)
    assert news.message == "Tag request_id was removed, and most series with it, as wanted by X001."
    assert not news.changes


@pytest.mark.parametrize(
    "after",
    [
        # The series stay: another tag has taken its place.
        _after(a_tag(), a_tag("trace_id", 9000), series=4501),
        # What ended is another tag.
        _after(ID),
        # The tag is still there, with another one beside it.
        _after(a_tag(), ID, ROUTE),
    ],
)
def test_what_does_not_settle_a_report_is_drift(after: Profile) -> None:
    assert warned(a_profile(BEFORE), after, UNWANTED)


MAKING = [
    ("influxdb1", 'SELECT * INTO "db"."kept"."cpu_new" FROM "db"."kept"."cpu"', 'DROP MEASUREMENT "cpu"'),
    ("influxdb1", 'measurement = "cpu"\ndest = "cpu_new"', 'DROP MEASUREMENT "cpu"'),
    (
        "influxdb2",
        'from(bucket: "b") |> set(key: "_measurement", value: "cpu_new") |> to(bucket: "b")',
        "influx delete --bucket b --start 1970-01-01T00:00:00Z --predicate '_measurement=\"cpu\"'",
    ),
    ("mongodb", 'x.aggregate([{ $merge: { into: "cpu_new" } }])', 'x.getCollection("cpu").drop()'),
    (
        "mongodb",
        'x.getCollection("y").renameCollection("cpu_new")',
        'x.getCollection("cpu").renameCollection("cpu_old")',
    ),
    ("mongodb", 'x.getCollection("cpu_new").createIndex({ period: 1 })', 'x.getCollection("cpu").drop()'),
    (
        "timestream",
        "aws timestream-write create-table --database-name d --table-name cpu_new --schema '{}'",
        "aws timestream-write delete-table --database-name d --table-name cpu",
    ),
    (
        "timestream",
        "aws timestream-write create-table --database-name d --table-name 'cpu_new'",
        "aws timestream-write delete-table --database-name d --table-name 'cpu'",
    ),
    ("influxdb3", 'dest = "cpu_new"', "influxdb3 delete table --database d cpu"),
    ("influxdb3", 'dest = "cpu_new"', "influxdb3 delete table --database d 'cpu'"),
    ("duckdb", 'CREATE TABLE "main"."cpu_new" (x INTEGER)', 'DROP TABLE "main"."cpu"'),
]


@pytest.mark.parametrize(("engine", "made", "ended"), MAKING)
def test_a_measurement_that_a_plan_makes_or_ends_is_planned(engine: str, made: str, ended: str) -> None:
    steps = (Step(StepKind.STORED, "Copy.", made), Step(StepKind.STORED, "Drop.", ended))
    asked = plan(ChangeType(AT, "usage", "float"), steps=steps)
    old, new = (a_profile(a_measurement(name), engine=engine) for name in ("cpu", "cpu_new"))
    assert warned(old, new), "without the plan, it is news"
    assert all("as planned for X001" in f.message for f in found(old, new, asked))
    # Names that only look alike are not made or ended.
    for name in ("cpu_newer", "new", "cpu_new.x"):
        other = a_profile(a_measurement(name), engine=engine)
        (finding,) = (f for f in found(old, other, asked) if f.subject.measurement == name)
        assert "as planned" not in finding.message
    assert warned(a_profile(a_measurement("cpu2"), engine=engine), new, asked)


def test_measurements_that_a_setting_renames_are_planned() -> None:
    """One setting for all measurements of a plan adds an end to their names."""
    steps = (Step(StepKind.WRITER, "Write.", '[[processors.override]]\n  name_suffix = "_new"', "toml"),)
    asked = replace(plan(MakeField(AT, "host"), steps=steps), also=(Subject("main", "mem"),))
    before, after = a_profile(engine="influxdb1"), a_profile(cpu(), a_measurement("mem_new"), engine="influxdb1")
    assert any("as planned for X001" in f.message for f in found(before, after, asked))
    assert not any("as planned" in f.message for f in found(before, after, replace(asked, also=())))


@pytest.mark.parametrize(
    "change",
    [
        MergeMeasurements(DATABASE, "all", "{host}", (Merged("cpu", ()),)),
        SplitMeasurement(AT, "all", ("usage",)),
        Rename(AT, "", "all"),
    ],
)
def test_measurement_that_a_change_names_is_planned(change: Change) -> None:
    """Writers make it; no statement does."""
    before, after = a_profile(), a_profile(cpu(), a_measurement("all"))
    (news,) = found(before, after, plan(change))
    assert "as planned for X001" in news.message


def test_statements_are_those_of_the_engine() -> None:
    """What an engine of another package does not declare explains nothing, and what it declares does."""
    steps = (Step(StepKind.STORED, "Copy.", 'SELECT * INTO "cpu_new" FROM "cpu"'),)
    asked = plan(ChangeType(AT, "usage", "float"), steps=steps)
    for engine, explained in (("influxdb1", True), ("duckdb", False)):
        old, new = (a_profile(*map(a_measurement, names), engine=engine) for names in (("cpu",), ("cpu", "cpu_new")))
        assert [f for f in found(old, new, asked) if "as planned" in f.message] == (
            [f for f in found(old, new, asked) if f.subject.measurement == "cpu_new"] if explained else []
        )


@pytest.mark.parametrize(
    ("form", "problem"), [("INTO <name>", ""), ("INTO (<name>", "regular expression"), ("INTO x", "<name>")]
)
def test_a_form_that_finds_nothing_is_refused(form: str, problem: str) -> None:
    said = Statements(make=(form,)).problem()
    assert problem in said
    assert bool(problem) == bool(said)
