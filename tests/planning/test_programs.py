"""Copies that a plan leaves to a program: a stranger who follows the step's data loses nothing, and gets no refusal."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import (
    NOW,
    a_count,
    a_field,
    a_finding,
    a_measurement,
    a_profile,
    a_ratio,
    a_rule_result,
    a_tag,
)
from tests.collecting import collected
from tests.databases import Dataset, Row, Table, times, write
from tests.engines.influxdb3 import cli
from tests.engines.influxdb3.double import InfluxDB3, RefusedError
from tests.planning import points
from tests.planning.on_influxdb1 import InfluxHand
from tests.planning.on_influxdb3 import Influx3Hand
from tests.planning.points import Point
from tests.servers import Influxd
from tsaudit.audit import audit
from tsaudit.model.change import (
    Change,
    ChangeType,
    MakeField,
    MakeTag,
    Merged,
    MergeMeasurements,
    Part,
    Rename,
    SplitColumn,
    SplitMeasurement,
)
from tsaudit.model.jsonfile import from_json, to_json
from tsaudit.model.plan import Asked, Plan, Step
from tsaudit.model.profile import Profile
from tsaudit.model.subject import Subject
from tsaudit.model.timeline import Timeline
from tsaudit.planning.plans import plans_of

PLACES = ["loc-0/dev-a", "loc-1/dev-b", "elsewhere"]
READINGS = ["21.5", "-3", "n/a"]


def _table(name: str = "m x", **kinds: str) -> Table:
    """Readings with all that a program has to change, and in each third of them with something that does not fit."""
    rows = [
        Row(
            at,
            {"user": f"u{n % 2}", "place": PLACES[n % 3], "pid": str(900 + n)},
            {"reading": READINGS[n % 3], "room": f"r{n % 4}", "ok": n % 2 == 0, "alarm": n, "v": n / 7},
        )
        for n, at in enumerate(times(60, timedelta(hours=1)))
    ]
    fields = {"reading": "string", "room": "string", "ok": "boolean", "alarm": "integer", "v": "float"}
    return Table(name, ("user", "place", "pid"), fields | kinds, rows)


def _changes(at: Subject) -> list[Change]:
    return [
        Rename(at, "user", "user_value"),
        SplitColumn(at, "place", "/", (Part("loc", "0"), Part("dev", "a")), "loc-0/dev-a"),
        MakeField(at, "pid", "integer"),
        ChangeType(at, "reading", "float", ("n/a",)),
        MakeTag(at, "room"),
        SplitMeasurement(at, "alarms", ("alarm",)),
    ]


def _planned(profile: Profile, *changes: Change) -> tuple[Plan, ...]:
    return plans_of(profile, [a_rule_result(a_finding(changes[0].at, changes=changes))])


def _looks_right(found: list[Point]) -> None:
    rows = sorted((p for p in found if p.measurement == "m x_new"), key=lambda p: p.time)
    alarms = sorted((p for p in found if p.measurement == "alarms"), key=lambda p: p.time)
    assert {p.measurement for p in found} == {"m x_new", "alarms"}
    assert [p.fields["alarm"] for p in alarms] == list(range(60))
    for n, (row, alarm) in enumerate(zip(rows, alarms, strict=True)):
        split = {"loc": str(n % 3), "dev": "ab"[n % 3]} if n % 3 < 2 else {"place": "elsewhere"}
        assert row.tags == {"user_value": f"u{n % 2}", "room": f"r{n % 4}", **split}
        assert alarm.tags == row.tags
        reading = {"reading": float(READINGS[n % 3])} if n % 3 < 2 else {"reading_text": "n/a"}
        assert row.fields == {"pid": 900 + n, "ok": n % 2 == 0, "v": n / 7, **reading}


def test_all_kinds_of_changes_in_influxdb1(influxd: Influxd) -> None:
    target = write(Dataset([_table()]), "influxdb1", influxd.url)
    hand, profile = InfluxHand(influxd.url, target.databases[0]), collected(target)
    plans = _planned(profile, *_changes(Subject(target.databases[0], "m x")))
    assert not plans[0].set_aside
    done = hand.carry_out(plans, NOW - timedelta(days=4), NOW)
    assert not done[0].refused
    _looks_right(hand.contents(profile))


def test_all_kinds_of_changes_in_influxdb3() -> None:
    server = InfluxDB3()
    try:
        target = write(Dataset([_table()]), "influxdb3", server)
        hand, profile = Influx3Hand(server, target.databases[0]), collected(target)
        plans = _planned(profile, *_changes(Subject(target.databases[0], "m x")))
        done = hand.carry_out(plans, NOW - timedelta(days=4), NOW)
        assert not done[0].refused
        _looks_right(hand.contents(collected(target)))
    finally:
        server.stop()


def test_members_of_several_types_become_one(influxd: Influxd) -> None:
    """A number and a text of one name cannot be one field: the text gets a name of its own."""
    tables = [_table("a_1", v="float"), _table("a_2", v="integer"), _table("a_3", v="string")]
    for table, kind in zip(tables, (float, int, str), strict=True):
        for row in table.rows:
            row.fields["v"] = kind(row.fields["v"])  # type: ignore[index]
    target = write(Dataset(tables), "influxdb1", influxd.url)
    hand, profile = InfluxHand(influxd.url, target.databases[0]), collected(target)
    members = tuple(Merged(f"a_{n}", (("n", str(n)), ("user", f"x{n}"))) for n in (1, 2, 3))
    plans = _planned(profile, MergeMeasurements(Subject(target.databases[0]), "a", "a_{n}", members))
    before = hand.contents(profile)
    done = hand.carry_out(plans, NOW - timedelta(days=4), NOW)
    after = hand.contents(profile)
    assert not done[0].refused
    assert not points.lost(before, after, plans, NOW)
    assert {p.measurement for p in after} == {"a"}
    assert {type(p.fields.get("v", p.fields.get("v_string"))) for p in after if p.tags["n"] == "3"} == {str}
    assert {p.tags["user_in_name"] for p in after} == {"x1", "x2", "x3"}
    assert {p.tags["user"] for p in after} == {"u0", "u1"}


def test_the_last_field_becomes_no_tag() -> None:
    at = Subject("main", "cpu")
    profile = a_profile(a_measurement(fields=(a_field("room", ("string",)),)), engine="influxdb1")
    (plan,) = _planned(profile, MakeTag(at, "room"))
    assert not plan.steps
    assert "no field would be left" in plan.set_aside[0].reason
    both = a_profile(a_measurement(fields=(a_field("room", ("string",)), a_field())), engine="influxdb1")
    (plan,) = _planned(both, MakeTag(at, "room"))
    assert plan.steps
    assert not plan.set_aside


@pytest.mark.parametrize(
    ("sample", "to"), [(("1", "27"), "integer"), (("1.5", "x"), ""), (("0", "1"), ""), (("007", "008"), "")]
)
def test_a_tag_of_numbers_becomes_a_field_of_numbers(sample: tuple[str, ...], to: str) -> None:
    """Otherwise the next audit would find that the field has a type that does not fit."""
    tags = (a_tag(), a_tag("load", sample=sample))
    (plan,) = _planned(
        a_profile(a_measurement(tags=tags), engine="influxdb1"), MakeField(Subject("main", "cpu"), "load")
    )
    (asked,) = plan.changes
    assert isinstance(asked.change, MakeField)
    assert asked.change.to == to


def test_stored_plans_have_no_copy() -> None:
    (plan,) = _planned(
        a_profile(a_measurement(tags=(a_tag(), a_tag("user"))), engine="influxdb1"),
        Rename(Subject("main", "cpu"), "user", "user_value"),
    )
    assert any(step.copy for step in plan.steps)
    assert from_json(Plan, to_json(plan)) == plan
    old: Step = from_json(Step, b'{"phase": "copy", "words": "Write a program."}')
    assert old.copy is None


# --- What the tests stand on -----------------------------------------------------------------------------------------


def _point(second: int, tags: dict[str, str], **fields: Any) -> Point:
    return Point("cpu", NOW + timedelta(seconds=second), tags, fields)


def test_a_value_that_is_gone_is_lost() -> None:
    held = [_point(0, {"host": "a"}, v=1.0), _point(1, {"host": "a"}, v=2.0)]
    assert points.lost(held, held[:1], (), NOW) == ["a: 1 times", "2.0: 1 times"]
    assert not points.lost(held, held, (), NOW)


def test_only_what_a_plan_names_may_be_gone() -> None:
    """Two points that then share their tags and their time become one; the others may not."""
    profile = a_profile(a_measurement(tags=(a_tag(), a_tag("pid"))), engine="influxdb1")
    plans = _planned(profile, MakeField(Subject("main", "cpu"), "pid"))
    assert any(step.loses for step in plans[0].steps if step.phase == "copy")
    held = [_point(n // 2, {"host": "a", "pid": f"p{n}"}, v=n / 4) for n in range(4)]
    held.append(_point(9, {"host": "a", "pid": "p9"}, v=9.5))
    overwritten = [_point(n, {"host": "a"}, pid=f"p{2 * n + 1}", v=(2 * n + 1) / 4) for n in range(2)]
    alone = _point(9, {"host": "a"}, pid="p9", v=9.5)
    assert not points.lost(held, [*overwritten, alone], plans, NOW)
    assert points.lost(held, overwritten, plans, NOW) == ["a: 1 times", "p9: 1 times", "9.5: 1 times"]


@pytest.mark.parametrize(
    "command",
    [
        "influxdb3 delete table cpu",
        "influxdb3 delete table --database main mem",
        "influxdb3 delete table --database other cpu",
        "influxdb3 delete table --database main --now cpu",
        "influxdb3 delete table --database main -cpu",
        "influxdb3 delete tables --database main cpu",
        "influxdb3 create database --retention-period forever new",
        "influxdb3 create database main",
        "influx delete --bucket main",
    ],
)
def test_commands_that_the_program_refuses(command: str) -> None:
    server = InfluxDB3()
    try:
        server.write(
            Dataset([Table("cpu", ("host",), {"v": "float"}, [Row(NOW, {"host": "a"}, {"v": 1.0})])], database="main")
        )
        with pytest.raises((cli.RefusedCommandError, RefusedError)):
            cli.run(command, server)
        cli.run("influxdb3 delete table --database main cpu", server)
        with pytest.raises(RefusedError):
            cli.run("influxdb3 delete table --database main cpu", server)
    finally:
        server.stop()


@pytest.mark.parametrize(
    "other", [Table("cpu", (), {"host": "string"}), Table("cpu", ("v",), {}), Table("cpu", (), {"v": "string"})]
)
def test_a_column_keeps_its_role_and_type(other: Table) -> None:
    server = InfluxDB3()
    try:
        server.write(
            Dataset([Table("cpu", ("host",), {"v": "float"}, [Row(NOW, {"host": "a"}, {"v": 1.0})])], database="main")
        )
        with pytest.raises(RefusedError):
            server.append("main", other)
    finally:
        server.stop()


# --- Rules that know what plans have made ----------------------------------------------------------------------------


def _codes(profile: Profile, *changes: Change) -> set[str]:
    """What is found a day after a plan for the changes."""
    plans = tuple(Plan(change.at, (Asked(change, ("X001",)),), ()) for change in changes)
    return {r.code for r, _ in audit(profile, Timeline(previous=profile, plans=plans)).findings()}


def test_a_field_that_was_a_tag_is_not_to_be_one_again() -> None:
    values = {"distinct": a_count(8), "constant_ratio": a_ratio(0.0), "sample": ("kitchen", "bath")}
    profile = a_profile(
        a_measurement(fields=(a_field("location", ("string",), **values), a_field())), engine="influxdb1"
    )
    assert "FLD001" in _codes(profile)
    assert "FLD001" not in _codes(profile, MakeField(Subject("main", "cpu"), "location"))
    assert "FLD001" in _codes(profile, MakeField(Subject("main", "cpu"), "room"))


def test_the_design_that_a_plan_wanted_is_no_news() -> None:
    profile = a_profile(a_measurement(tags=(a_tag(), a_tag("customer_id", 20))), engine="influxdb1")
    merge = MergeMeasurements(Subject("main"), "cpu", "cpu_{n}", (Merged("cpu_1", (("customer_id", "1"),)),))
    assert "LAY009" in _codes(profile)
    assert "LAY009" not in _codes(profile, merge)
    assert "LAY009" in _codes(profile, replace(merge, into="mem"))


@pytest.mark.parametrize("several", [True, False])
def test_measurements_of_several_fields_are_merged_by_a_tag(several: bool) -> None:
    """Under one name for the field, those of one host would overwrite each other."""
    fields = (a_field("value"), a_field("ack", ("boolean",))) if several else (a_field("value"),)
    names = [f"servers.web{n:02}.cpu.{what}" for n in range(4) for what in ("system", "idle", "iowait")]
    profile = a_profile(*(a_measurement(name, tags=(), fields=fields) for name in names), engine="influxdb1")
    (finding,) = (f for r, f in audit(profile).findings() if r.code == "NAM002")
    (change,) = finding.changes
    assert isinstance(change, MergeMeasurements)
    (member,) = (one for one in change.members if one.measurement == names[1])
    assert member.field == ("" if several else "idle")
    assert member.tags == (("host", "web00"), *([("quantity", "idle")] if several else []))
