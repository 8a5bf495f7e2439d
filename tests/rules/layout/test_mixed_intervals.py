"""LAY006: what is collected and what happens, in one measurement."""

from __future__ import annotations

import dataclasses
import random
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_measurement, a_profile, a_source
from tests.databases import Row, Table, times
from tests.rules.cases import Case, dataset, run_rule
from tsaudit.model.change import SplitMeasurement
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.profile import Profile
from tsaudit.model.rows import FieldRhythm, PartingTag, Rhythms
from tsaudit.rules.layout.mixed_intervals import mixed_intervals as rule

MACHINES = ("press-1", "press-2", "saw-1")


def _events(seed: int, count: int = 40) -> list[Any]:
    """Instants by chance, within a few hours before NOW."""
    noise, at = random.Random(seed), NOW
    return [at := at - timedelta(seconds=round(noise.expovariate(1 / 200), 3) + 0.001) for _ in range(count)]


def _metrics(machine: str) -> list[Row]:
    values = ({"temperature": 70.5 + i / 7, "pressure": 3.25 + i / 9} for i in range(60))
    return [
        Row(at, {"machine": machine}, fields)
        for at, fields in zip(times(60, timedelta(minutes=2)), values, strict=True)
    ]


def _alarms(machine: str) -> list[Row]:
    return [Row(at, {"machine": machine}, {"alarm": i % 4}) for i, at in enumerate(_events(len(machine) + 7))]


COLLECTED = [row for machine in MACHINES for row in _metrics(machine)]
HAPPENED = [row for machine in MACHINES for row in _alarms(machine)]
METRICS = {"temperature": "float", "pressure": "float"}
EVENTS = {"alarm": "integer"}


def _by_source(kinds: dict[str, bool]) -> Table:
    """A door and a thermometer each: the one reports when it moves, if `kinds` says so, the other every minute."""
    rows = [
        Row(at, {"device": f"{kind}-{n}", "kind": kind}, {"value": 1.5 + i / 7 + n})
        for kind, happens in kinds.items()
        for n in range(3)
        for i, at in enumerate(_events(31 + n) if happens else times(40))
    ]
    return Table("readings", ("device", "kind"), {"value": "float"}, rows)


CASES = (
    Case(
        breaks=dataset(Table("machines", ("machine",), METRICS | EVENTS, COLLECTED + HAPPENED)),
        keeps=dataset(
            Table("machines", ("machine",), METRICS, COLLECTED), Table("machine_events", ("machine",), EVENTS, HAPPENED)
        ),
        subject=Subject("", "machines"),
        main_contributor="alarm",
    ),
    Case(
        breaks=dataset(_by_source({"door": True, "thermometer": False})),
        keeps=dataset(_by_source({"scale": False, "thermometer": False})),
        subject=Subject("", "readings"),
        main_contributor="kind",
        limits={"mixed-intervals.min_share": 0.05},
    ),
    Case(
        # A value that is there now and then, in the rows of the others, is no event.
        breaks=dataset(Table("machines", ("machine",), METRICS | EVENTS, COLLECTED + HAPPENED)),
        keeps=dataset(
            Table(
                "machines",
                ("machine",),
                METRICS | EVENTS,
                [
                    dataclasses.replace(row, fields={**row.fields, "alarm": 1})
                    if random.Random(i).random() < 0.2
                    else row
                    for i, row in enumerate(COLLECTED)
                ],
            )
        ),
        subject=Subject("", "machines"),
    ),
)


def _profile(*fields: FieldRhythm, parted_by: PartingTag | None = None) -> Profile:
    return a_profile(a_measurement("machines", rhythms=Rhythms(fields, parted_by, a_source())), engine="influxdb1")


def _found(*fields: FieldRhythm, parted_by: PartingTag | None = None, **limits: float) -> tuple[Finding, ...]:
    return run_rule(rule, _profile(*fields, parted_by=parted_by), limits).findings


def test_fields_of_both_kinds() -> None:
    (finding,) = _found(
        FieldRhythm("alarm", 0, 3, None), FieldRhythm("pressure", 3, 0, 120.0), FieldRhythm("text", 0, 0, None)
    )
    assert finding.message == (
        "pressure arrives at even intervals, alarm only when something happens: metrics and events share a measurement."
    )
    assert finding.changes == (SplitMeasurement(finding.subject, "machines_events", ("alarm",)),)
    assert finding.fix.endswith("Leave pressure where it is.")
    assert [(e.label, e.value) for e in finding.evidence] == [
        ("field alarm", "regular in 0 series, irregular in 3"),
        ("field pressure", "regular in 3 series (every 120 s), irregular in 0"),
    ]


def test_sources_of_both_kinds_and_the_tag_that_tells_them_apart() -> None:
    tag = PartingTag("kind", ("thermometer",), ("door", None))
    (finding,) = _found(FieldRhythm("value", 30, 10, 60.0), parted_by=tag)
    assert finding.message == (
        "value arrives at even intervals in 75% of 40 series, only when something happens in 25%: "
        "metrics and events share a measurement, separated only by kind."
    )
    assert "the irregular series with kind such as door and (none)" in finding.fix
    assert (finding.main_contributor, finding.observed, finding.impact) == ("kind", 0.25, None)
    (finding,) = _found(FieldRhythm("value", 30, 10, 60.0))
    assert (finding.main_contributor, "told apart" in finding.message) == ("value", False)


@pytest.mark.parametrize(("irregular", "found"), [(10, 0), (18, 0), (19, 1), (50, 1), (81, 1), (82, 0), (90, 0)])
def test_at_the_limit_and_just_beyond(irregular: int, found: int) -> None:
    """Of a hundred series that are out of step with 10%, 18 or fewer are in 99 of 100 cases."""
    assert len(_found(FieldRhythm("value", 100 - irregular, irregular, 60.0))) == found


@pytest.mark.parametrize(
    ("regular", "irregular", "found"), [(5, 1, 0), (4, 2, 0), (3, 3, 0), (4, 4, 1), (7, 4, 0), (6, 5, 1)]
)
def test_a_share_of_few_series_proves_nothing(regular: int, irregular: int, found: int) -> None:
    assert len(_found(FieldRhythm("value", regular, irregular, 60.0))) == found


def test_limit_when_overridden() -> None:
    assert _found(FieldRhythm("value", 88, 12, 60.0), min_share=0.05)
    assert not _found(FieldRhythm("value", 60, 40, 60.0), min_share=0.4)


def test_a_few_series_out_of_step_make_a_field_no_event() -> None:
    assert not _found(FieldRhythm("a", 95, 5, 60.0), FieldRhythm("b", 100, 0, 60.0))
    assert _found(FieldRhythm("a", 95, 5, 60.0), FieldRhythm("b", 5, 95, 60.0))


@pytest.mark.parametrize(("series", "found"), [(1, 0), (2, 0), (3, 1)])
def test_fields_of_both_kinds_need_three_series(series: int, found: int) -> None:
    assert len(_found(FieldRhythm("a", series, 0, 60.0), FieldRhythm("b", 0, series, None))) == found


def test_silence_when_nothing_was_judged_or_read() -> None:
    assert not _found(FieldRhythm("value", 0, 0, None))
    assert not _found()
    unread = a_profile(a_measurement(rhythms=None), engine="influxdb1")
    assert run_rule(rule, unread).outcome is Outcome.PASS
    assert run_rule(rule, a_profile(engine="influxdb1", databases=(), measurements=())).outcome is Outcome.PASS
