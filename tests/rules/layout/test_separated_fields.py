"""LAY007: one reading in pieces."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_field, a_measurement, a_profile, a_source, a_tag
from tests.databases import Row, Table, times
from tests.rules.cases import Case, dataset, run_rule
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.rows import PointSample, SampledPoint
from tsaudit.model.timeline import Timeline
from tsaudit.rules.layout.separated_fields import separated_fields as rule

PATIENTS = ("ann", "bob", "cem")
VITALS = {"blood_oxygen": 97.5, "body_temperature": 36.6, "heart_rate": 71.0}


def _table(name: str, fields: Sequence[str], late_s: float = 0.0, **tags: str) -> Table:
    rows = [
        Row(at + timedelta(seconds=late_s), {"patient": patient, **tags}, {f: 36.5 + i / 7 + len(f) for f in fields})
        for i, at in enumerate(times(30))
        for patient in PATIENTS
    ]
    return Table(name, ("patient", *tags), dict.fromkeys(fields, "float"), rows)


CASES = (
    Case(
        # The guideline's own example.
        breaks=dataset(*(_table(vital, ["value"]) for vital in VITALS)),
        keeps=dataset(_table("vitals", list(VITALS))),
        subject=Subject("", "blood_oxygen"),
    ),
    Case(
        # Same sources, other times; and the same times of other sources.
        breaks=dataset(_table("heart_rate", ["bpm"]), _table("blood_oxygen", ["saturation", "quality"])),
        keeps=dataset(
            _table("heart_rate", ["bpm"]),
            _table("blood_oxygen", ["saturation", "quality"], late_s=20),
            _table("doorbell", ["rings"], room="hall"),
        ),
        subject=Subject("", "blood_oxygen"),
    ),
    Case(
        # What has fields enough is a subject of its own, though one agent collects all of them at once.
        breaks=dataset(_table("load", ["value"]), _table("uptime", ["value"])),
        keeps=dataset(
            _table("cpu", ["user", "system", "idle"]),
            _table("mem", ["used", "free", "cached"]),
            _table("load", ["value"]),
        ),
        subject=Subject("", "load"),
    ),
    Case(
        # Names that differ in data are another rule's matter: what they hold is a tag.
        breaks=dataset(_table("load", ["value"]), _table("uptime", ["value"])),
        keeps=dataset(*(_table(f"room-{n}.load", ["value"]) for n in range(101, 105))),
        subject=Subject("", "load"),
    ),
)


def _measurement(
    name: str, fields: Sequence[str] = ("value",), points: int = 40, shared: int = 40, **changes: Any
) -> Measurement:
    """With `shared` points that all have, at an instant each, and others of its own."""
    own = [SampledPoint(1000 + i, 60 * i) for i in range(shared)]
    own += [SampledPoint(10**6 + 10**4 * len(name) + i, 60 * i) for i in range(points - shared)]
    sample = PointSample(tuple(own), True, NOW.fromtimestamp(0, NOW.tzinfo), NOW, a_source())
    made = {"fields": tuple(a_field(f) for f in fields), "tags": (a_tag("patient"),), "point_sample": sample}
    return a_measurement(name, **made | changes)


def _found(*measurements: Measurement) -> tuple[Finding, ...]:
    return run_rule(rule, a_profile(*measurements, engine="influxdb1")).findings


def test_what_the_finding_says() -> None:
    (finding,) = _found(*(_measurement(vital) for vital in VITALS))
    assert finding.message == (
        "blood_oxygen, body_temperature, and heart_rate contain points of the same sources at the same times: "
        "one reading is written in 3 pieces."
    )
    assert "fields of one measurement, with the tags they have already: blood_oxygen, body_temp" in finding.fix
    assert finding.fix.endswith("make them values of a tag.")
    assert finding.subject == Subject("main", "blood_oxygen")
    assert [(e.label, e.value) for e in finding.evidence[-2:]] == [
        ("points in common", "100% of 40 sampled points"),
        ("instants in common", "40 or more"),
    ]


def test_group_in_several_retention_policies_is_reported_once() -> None:
    both = [_measurement(vital, database=database) for database in ("main", "main/raw") for vital in VITALS]
    databases = (Database("main"), Database("main/raw", policy_of="main"))
    profile = dataclasses.replace(a_profile(*both, engine="influxdb1"), databases=databases)
    (finding,) = run_rule(rule, profile).findings
    assert finding.subject == Subject("main", "blood_oxygen")


def test_fields_keep_their_names_unless_two_share_one() -> None:
    (finding,) = _found(_measurement("oxygen", ["value", "quality"]), _measurement("pulse", ["bpm", "quality"]))
    assert "already: value, oxygen_quality, bpm, and pulse_quality." in finding.fix
    assert "values of a tag" not in finding.fix


@pytest.mark.parametrize(("shared", "found"), [(90, 1), (89, 0)])
def test_share_at_the_limit_and_just_below(shared: int, found: int) -> None:
    one, other = _measurement("a", points=100, shared=100), _measurement("bb", points=shared, shared=shared)
    assert len(_found(one, other)) == found


@pytest.mark.parametrize(("points", "found"), [(5, 1), (4, 0)])
def test_instants_at_the_limit_and_just_below(points: int, found: int) -> None:
    assert (
        len(_found(_measurement("a", shared=points, points=points), _measurement("b", shared=points, points=points)))
        == found
    )


def test_fields_at_the_limit_and_just_over_it() -> None:
    assert _found(_measurement("a"), _measurement("b", ["x", "y", "z"])) == ()
    assert len(_found(_measurement("a"), _measurement("b", ["x", "y"]))) == 1


def test_a_group_goes_by_no_other_name_because_its_first_member_was_not_read() -> None:
    unread, others = _measurement("a", point_sample=None), (_measurement("b"), _measurement("c"))
    gap = Gap("row_sample", Reason.TIMED_OUT, "took too long", "main", "a")
    assert run_rule(rule, a_profile(unread, *others, engine="influxdb1", gaps=(gap,))).outcome is Outcome.OPEN
    # It has no rows: nothing that could be in the group.
    assert len(_found(unread, *others)) == 1
    unread = _measurement("d", point_sample=None)
    gap = Gap("row_sample", Reason.TIMED_OUT, "took too long", "main", "d")
    assert len(run_rule(rule, a_profile(*others, unread, engine="influxdb1", gaps=(gap,))).findings) == 1


def test_silence_across_databases_and_where_rows_were_not_read() -> None:
    assert _found(_measurement("a"), _measurement("b", database="other")) == ()
    assert _found(_measurement("a"), _measurement("b", point_sample=None)) == ()
    assert run_rule(rule, a_profile(engine="influxdb1", databases=(), measurements=())).outcome is Outcome.PASS


def test_finding_is_a_note_however_many_series() -> None:
    """The sources are honest ones, and nobody measured what a query across two measurements costs."""
    (finding,) = _found(*(_measurement(name, series=90_000) for name in ("humidity", "pressure", "wind")))
    assert (finding.severity, finding.impact) == ("note", None)


def test_part_of_a_group_is_none_until_it_lasts() -> None:
    """Points of its own hide that a measurement still has those of the others, on a different day for each."""
    names = ("humidity", "noise", "pressure", "wind")

    def day(*hidden: str) -> Profile:
        return a_profile(*(_measurement(n, shared=10 if n in hidden else 40) for n in names), engine="influxdb1")

    def found(before: Profile, now: Profile) -> list[str]:
        return [f.message.partition(" contain")[0] for f in run_rule(rule, now, timeline=Timeline(before)).findings]

    assert found(day(), day()) == ["humidity, noise, pressure, and wind"]
    assert found(day(), day("humidity")) == []
    assert found(day("humidity"), day("humidity", "wind")) == []
    assert found(day("humidity"), day("humidity")) == ["noise, pressure, and wind"]
    assert found(day("humidity"), day()) == ["humidity, noise, pressure, and wind"]
