"""Settings of Telegraf: those shown are those that a Telegraf 1.37.2 was run with, and what came out is what is meant.

`telegraf.json` holds settings, what its own parsers and processors were given, and what they made of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tsaudit.analysis.shapes.shapes import name_families
from tsaudit.engines.influx import telegraf
from tsaudit.engines.influx.graphite import Templates, templates
from tsaudit.engines.rendering import Place
from tsaudit.engines.rewriting import rewriting
from tsaudit.model.change import ChangeType, MakeField, MakeTag, Part, Rename, SplitColumn, SplitMeasurement
from tsaudit.model.subject import Subject
from tsaudit.rules.merged_families import merged

RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "telegraf.json").read_text(encoding="utf-8"))
DOTTED = (
    "Cpu.server-5.us-west.usage_user",
    "Cpu.server-6.us-west.usage_idle",
    "servers.web-01.df-root.used",
    "servers.web-02.df-root.used",
    "Cpu.total.all.idle",
)
DISKS = ("servers.web-01.df-root.used", "servers.web-02.df-root.used")
PLAIN = ("disk_server_1", "disk_server_2", "disk_server_3", "disk_server_14", "disk_server")


def of_a_measurement() -> str:
    """All kinds of changes to one measurement."""
    at = Subject("main", "m x")
    fields = (a_field("v"), a_field("n", types=("string",)), a_field("room", types=("string",)), a_field("alarm"))
    tags = (a_tag("host"), a_tag("load"), a_tag("sensor"), a_tag("a-b"))
    measurement = a_measurement("m x", tags=tags, fields=fields)
    parts = (Part("location", "baxx"), Part("model", "A0"))
    changes = [
        MakeField(at, "load", "float"),
        MakeTag(at, "room"),
        ChangeType(at, "n", "integer"),
        Rename(at, "a-b", "a_b"),
        Rename(at, "", "m_x"),
        SplitColumn(at, "sensor", ".", parts, "loc-baxx.model-A0"),
        SplitMeasurement(at, "m_events", ("alarm",)),
    ]
    place = Place(a_profile(measurement, engine="influxdb1"), "main", measurement)
    return telegraf.settings(rewriting(place, changes))


def of_names(names: tuple[str, ...]) -> Templates:
    """All families of a database."""
    return templates({c.into: c for c in (merged("main", f) for f in name_families(list(names)))}, names)


def rendered() -> dict[str, str]:
    dotted, plain = of_names(DOTTED), of_names(PLAIN)
    return {
        "processors": of_a_measurement(),
        "templates": dotted.text,
        "after the templates": dotted.processors,
        "names without dots": plain.processors,
        "statsd": dotted.statsd,
        "statsd, names joined": of_names(DISKS).statsd,
    }


def test_settings_are_those_that_were_run() -> None:
    assert rendered() == {name: run["settings"] for name, run in RECORDED.items()}


def test_what_came_out_is_what_was_meant() -> None:
    out = {name: run["out"] for name, run in RECORDED.items()}
    assert out["processors"] == [
        "m_events,a_b=q,host=a,location=kitchen,model=A612,room=r1 alarm=7 1",
        "m_x,a_b=q,host=a,location=kitchen,model=A612,room=r1 load=1.5,n=42i,v=1 1",
        # What has not two attributes stays whole.
        "m_x,a_b=q,host=b,room=r2,sensor=odd load=2,n=7i,v=2 2",
        "other,load=1 v=1 3",
    ]
    assert out["templates"] == [
        "Cpu,host=server-5,region=us-west usage_user=1 1",
        "Cpu,host=server-6,region=us-west usage_idle=1 1",
        "servers.df-root,host=web-01 used=1 1",
        "servers.df-root,host=web-02 used=1 1",
        # It fits a filter, and is no member of the family.
        "Cpu.total.all.idle value=1 1",
    ]
    assert out["statsd"] == [
        "Cpu.total.all.idle,metric_type=gauge value=1 1",
        "cpu,host=server-5,metric_type=gauge,region=us-west usage_user=1 1",
        "cpu,host=server-6,metric_type=counter,region=us-west usage_idle=2i 1",
        # The input joins names with dots here, so that what comes after it fits them.
        "servers_df_root,host=web-01,metric_type=gauge used=3 1",
    ]
    assert RECORDED["statsd"]["processors"] == RECORDED["after the templates"]["settings"]
    assert out["statsd, names joined"] == ["servers_df-root,host=web-01,metric_type=gauge used=3 1"]
    assert out["after the templates"] == ["servers_df_root,host=web-01 used=1 1", "cpu,host=server-5 usage_user=1 1"]
    assert out["names without dots"] == [
        *(f"disk,host=server_{n} value=1 1" for n in (1, 14)),
        "disk_server value=1 1",
    ]
