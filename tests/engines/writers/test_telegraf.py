"""Settings of Telegraf: those shown are those that a Telegraf 1.37.2 was run with, and what came out is what is meant.

`telegraf.json` holds settings, the points that its own processors were given, and what they made of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.builders import a_field, a_measurement, a_tag
from tsaudit.analysis.shapes.name_families import name_families
from tsaudit.engines.writers import telegraf
from tsaudit.model.change import (
    Change,
    ChangeType,
    LeaveOut,
    MakeField,
    MakeTag,
    MergeMeasurements,
    Rename,
)
from tsaudit.model.figures import Subject
from tsaudit.rules.merged_families import merged

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "telegraf.json").read_text(encoding="utf-8"))
AT = Subject("main", "m x")
HERE = a_measurement(
    "m x",
    tags=(a_tag("host"), a_tag("load"), a_tag("sensor"), a_tag("a-b")),
    fields=(a_field("v"), a_field("n", types=("string",)), a_field("room", types=("string",)), a_field("alarm")),
)


def of_measurement(*changes: Change, new_name: str = "") -> str:
    return telegraf.settings([HERE], changes, new_name, most=30)


def family(*names: str) -> MergeMeasurements:
    (found,) = name_families(list(names))
    return merged("main", found, {})


def of_names(names: Iterable[str], *others: str) -> str:
    return telegraf.settings([], [family(*names)], "", 10, (*names, *others))


def rendered() -> dict[str, str]:
    return {
        "roles and types": of_measurement(
            MakeField(AT, "load", "float"), MakeTag(AT, "room"), ChangeType(AT, "n", "integer"), new_name="m_x"
        ),
        "left out": of_measurement(LeaveOut(AT, "load"), LeaveOut(AT, "alarm")),
        "renamed": of_measurement(Rename(AT, "a-b", "a_b", role="tag"), new_name="m_y"),
        "several measurements": telegraf.settings(
            [HERE, a_measurement("other", tags=(a_tag("load"),))], [MakeField(AT, "load", "float")], "m x_new", 10
        ),
        "many measurements": telegraf.settings(
            [HERE, *(a_measurement(f"measurement_{n}") for n in range(80))], [MakeField(AT, "load")], "m x_new", 10
        ),
        "names without dots": of_names([f"disk_server_{n}" for n in (1, 2, 3, 14)], "disk_server"),
    }


def test_settings_are_those_that_were_run() -> None:
    assert rendered() == {name: run["settings"] for name, run in RECORDED.items()}


EXPECTED = {
    "roles and types": [
        "m_x,a-b=q,host=a,room=r1,sensor=loc-kitchen.model-A612 alarm=7,load=1.5,n=42i,v=1 1",
        "m_x,a-b=q,host=b,room=r2,sensor=odd load=2,n=7i,v=2 2",
        "other,load=1 v=1 3",
    ],
    "left out": [
        'm\\ x,a-b=q,host=a,sensor=loc-kitchen.model-A612 n="42",room="r1",v=1 1',
        'm\\ x,a-b=q,host=b,sensor=odd n="7",room="r2",v=2 2',
        "other,load=1 v=1 3",
    ],
    "renamed": [
        'm_y,a_b=q,host=a,load=1.5,sensor=loc-kitchen.model-A612 alarm=7,n="42",room="r1",v=1 1',
        'm_y,a_b=q,host=b,load=2,sensor=odd n="7",room="r2",v=2 2',
        "other,load=1 v=1 3",
    ],
    "several measurements": [
        'm\\ x_new,a-b=q,host=a,sensor=loc-kitchen.model-A612 alarm=7,load=1.5,n="42",room="r1",v=1 1',
        'm\\ x_new,a-b=q,host=b,sensor=odd load=2,n="7",room="r2",v=2 2',
        "other_new load=1,v=1 3",
    ],
    "many measurements": [
        'm\\ x_new,a-b=q,host=a,sensor=loc-kitchen.model-A612 alarm=7,load="1.5",n="42",room="r1",v=1 1',
        'm\\ x_new,a-b=q,host=b,sensor=odd load="2",n="7",room="r2",v=2 2',
        'other_new load="1",v=1 3',
    ],
    "names without dots": [
        *(f"disk,host=server_{n} value=1 1" for n in (1, 14, 2, 3)),
        # It begins like the family, and is no member.
        "disk_server value=1 1",
    ],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_what_came_out_is_what_was_meant(name: str) -> None:
    assert RECORDED[name]["out"] == EXPECTED[name]


def test_the_settings_of_several_measurements_name_all_of_them_while_they_fit() -> None:
    some = [a_measurement(f"m{n}", tags=(a_tag("id"),)) for n in range(3)]
    text = telegraf.settings(some, [LeaveOut(Subject("main", "m0"), "id")], "", 10)
    assert text.splitlines()[1] == '  namepass = ["m0", "m1", "m2"]'
    many = [a_measurement(f"measurement_{n}", tags=(a_tag("id"),)) for n in range(80)]
    text = telegraf.settings(many, [LeaveOut(Subject("main", "measurement_0"), "id")], "", 10)
    assert text.splitlines() == [
        "[[processors.override]]",
        "  # no namepass: all measurements that have it, such as measurement_0",
        '  tagexclude = ["id"]',
    ]


def test_many_measurements_are_limited_by_what_their_names_share_where_others_have_the_field() -> None:
    """Of a home's devices, some send numbers as text; switches have a field of that name with another type."""
    ids = [f"00158d000{n:07x}" for n in range(16)]
    some = [a_measurement(f"zigbee.0.{one}.{what}") for one in ids for what in ("temperature", "humidity")]
    change = ChangeType(Subject("main", some[0].name), "value", "float")
    others = [f"zigbee.0.{one}.battery" for one in ids] + ["shelly.0.plug.Switch"]
    text = telegraf.settings([*some, a_measurement("boiler")], [change], "", 10, (), others)
    assert text.splitlines()[1] == '  namepass = ["boiler", "zigbee.0.*.humidity", "zigbee.0.*.temperature"]'
    alike = [a_measurement(f"zigbee.0.{one}.value") for one in ids[::2]]
    assert telegraf.settings(alike, [change], "", 10, (), [f"zigbee.0.{one}.value" for one in ids[1::2]]) == ""


def test_settings_have_at_most_as_many_lines_as_asked_for_but_never_none() -> None:
    renames = [Rename(AT, name, name.upper()) for name in ("host", "load", "sensor", "a-b")]
    text = telegraf.settings([HERE], [MakeField(AT, "load"), *renames], "m_x", 10)
    assert len(text.splitlines()) <= 10
    assert 'string = ["load"]' in text
    assert len(telegraf.settings([HERE], renames, "", 2).splitlines()) > 2


def test_names_that_do_not_show_their_parts_have_no_setting() -> None:
    assert of_names(("Cpu.server-5.us-west.usage_user", "Cpu.server-6.us-west.usage_idle")) == ""


def test_telegraf_is_evident_from_the_columns_of_its_inputs() -> None:
    procstat = a_measurement("procstat", tags=(a_tag("pid"),), fields=(a_field("memory_rss"),))
    statsd = a_measurement("requests", tags=(a_tag("metric_type"),))
    assert telegraf.is_writer(procstat)
    assert telegraf.is_writer(statsd)
    assert not telegraf.is_writer(a_measurement("procstat", tags=(a_tag("pid"),), fields=(a_field("value"),)))
