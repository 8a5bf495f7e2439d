"""TAG006: readings as tags."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from tests.builders import a_measurement, a_profile, a_source, a_tag
from tests.databases import Dataset, Row, Table, times
from tests.engines.greptimedb.cases import a_table
from tests.rules.cases import Case, dataset, run_rule, table, text_of
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.plan import StepKind
from tsaudit.model.profile import Contribution, Measurement, TagChanges, TagSets
from tsaudit.model.subject import Subject
from tsaudit.rules.tags.measured_value_in_tag import measured_value_in_tag as rule

SENSORS = ("kitchen", "hall", "cellar")


def _curve(sensor: int, row: int) -> float:
    return round(20 + sensor + 3 * math.sin(row / 9), 1)


def _rooms(as_tag: bool) -> Dataset:
    tags = ("sensor", "temperature") if as_tag else ("sensor",)
    fields = {"ok": "integer"} if as_tag else {"ok": "integer", "temperature": "float"}
    rows = [
        Row(
            time,
            {"sensor": name} | ({"temperature": str(_curve(s, r))} if as_tag else {}),
            {"ok": 1} | ({} if as_tag else {"temperature": _curve(s, r)}),
        )
        for r, time in enumerate(times(60))
        for s, name in enumerate(SENSORS)
    ]
    return dataset(Table("rooms", tags, fields, rows, key=("time", *tags)))


LATENCY = [{"host": f"web-{h}", "upto": str(bound / 10)} for h in range(3) for bound in range(1, 41)]

CASES = (
    Case(
        breaks=_rooms(True),
        keeps=_rooms(False),
        subject=Subject("", "rooms", "temperature"),
        main_contributor="temperature",
    ),
    Case(
        breaks=_rooms(True),
        keeps=dataset(table("latency", LATENCY, rows=3)),
        subject=Subject("", "rooms", "temperature"),
    ),
)

DECIMALS = tuple(f"{20 + i / 10}" for i in range(64))
WHOLE = tuple(str(20 + i) for i in range(64))


def _seen(**changes: Any) -> TagChanges:
    known: dict[str, Any] = {"sources": 4, "changing": 4, "pairs": 400, "changes": 300, "by_chance": 395.0}
    known |= {"values": 64, "shared": 60, "instants": 404, "clashes": 0, "roughness": 0.1}
    return TagChanges(by=("sensor",), source=a_source(), **(known | changes))


def _measurement(
    sample: tuple[str, ...] = DECIMALS,
    seen: TagChanges | None = None,
    left: int | None = None,
    key: str = "level",
    values: int = 64,
) -> Measurement:
    tags = (a_tag("sensor", 4), a_tag(key, values, sample, changes=None if seen is None else (seen,)))
    lost = (Contribution(key, (), left),) if left else ()
    sets = TagSets(256, 256, 256, (), (key,), lost, (), a_source()) if left else None
    return a_measurement("rooms", 256, tags=tags, tag_sets=sets)


def _findings(measurement: Measurement, **limits: float) -> tuple[Finding, ...]:
    return run_rule(rule, a_profile(measurement), limits).findings


def test_finding_when_decimals_vary() -> None:
    (finding,) = _findings(_measurement(seen=_seen()))
    assert finding.message == "Tag level contains numbers that vary over time: 64 values."
    assert [e.value for e in finding.evidence] == ["64", "4 of 4, identified by sensor", "300 of 400 (75%)", "0.1"]


def test_listing_suffices_when_the_rows_show_no_change() -> None:
    (finding,) = _findings(_measurement(left=85))
    assert finding.evidence[1].value == "3.01"
    assert not _findings(_measurement(left=86))
    assert _findings(_measurement(left=86), min_values_per_source=2)
    assert not _findings(_measurement(left=86, seen=_seen(changing=1, sources=4)))


def test_silence_when_another_rule_tells_by_the_type() -> None:
    readings = a_table(
        tags=(a_tag("sensor", 4), a_tag("level", 64, DECIMALS, changes=(_seen(),), data_type="double")),
        key=("sensor", "level"),
    )
    assert not run_rule(rule, a_profile(readings, engine="greptimedb")).findings
    text = dataclasses.replace(readings, tags=(a_tag("sensor", 4), a_tag("level", 64, DECIMALS, changes=(_seen(),))))
    assert '"level" DOUBLE' in text_of(StepKind.SCHEMA, rule, a_profile(text, engine="greptimedb"))


def test_silence_when_values_are_few() -> None:
    assert _findings(_measurement(seen=_seen(), values=30))
    assert not _findings(_measurement(seen=_seen(), values=29))


def test_silence_when_several_are_there_at_once() -> None:
    assert _findings(_measurement(seen=_seen(clashes=20)))
    assert not _findings(_measurement(seen=_seen(clashes=21), left=4))


def test_whole_numbers_have_to_follow_a_curve_and_be_no_name() -> None:
    (finding,) = _findings(_measurement(WHOLE, _seen()))
    assert finding.message == "Tag level contains whole numbers that vary over time: 64 values."
    assert not _findings(_measurement(WHOLE, _seen(roughness=0.6)))
    assert not _findings(_measurement(WHOLE, _seen(roughness=None), left=4))
    for key in ("user_id", "customerId", "port", "status"):
        assert not _findings(_measurement(WHOLE, _seen(), key=key))
        assert _findings(_measurement(DECIMALS, _seen(), key=key))
    for key in ("version", "firmware", "le", "appVersion"):
        assert not _findings(_measurement(DECIMALS, _seen(), key=key, left=1))


def test_silence_when_values_are_no_numbers() -> None:
    assert not _findings(_measurement(tuple(f"v{i}x" for i in range(64)), _seen(), left=1))
    assert run_rule(rule, a_profile(_measurement(()))).outcome is Outcome.PASS
