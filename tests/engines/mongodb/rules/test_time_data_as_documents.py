"""DOC007: measurements as plain documents."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tests.builders import a_count, a_field, a_profile
from tests.databases import Collection, Dataset, times
from tests.engines.mongodb.rules.test_collection_per_period import a_collection
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.time_data_as_documents import time_data_as_documents as rule
from tsaudit.model.finding import Finding, Outcome
from tsaudit.model.profile import Measurement
from tsaudit.model.subject import Subject

READINGS = [{"time": at, "sensor": f"TLM{i % 5}", "celsius": 20 + i / 7} for i, at in enumerate(times(300))]
CASES = (
    Case(
        breaks=Dataset(collections=[Collection("air", READINGS)]),
        keeps=Dataset(
            collections=[
                Collection("air", READINGS, options={"timeseries": {"timeField": "time", "metaField": "sensor"}}),
                # A time alone makes no measurement.
                Collection("users", [{"created_at": at, "name": f"n{i}"} for i, at in enumerate(times(300))]),
            ]
        ),
        subject=Subject("", "air"),
        main_contributor="sensor",
        limits={"time-data-as-documents.min_documents": 300},
    ),
)
AIR = dataclasses.replace(
    a_collection("air", documents=100_000),
    indexes=(a_collection("air").indexes or ())[:1],
    time_column="time",
    fields=(
        a_field("_id", types=("objectId",), distinct=a_count(100)),
        a_field("sensor.id", types=("string",), distinct=a_count(8), sample=("a", "b")),
        a_field("celsius", types=("double", "int"), distinct=a_count(60)),
    ),
)


def _found(measurement: Measurement, **limits: float) -> tuple[Finding, ...]:
    return with_steps(rule, a_profile(measurement, engine="mongodb"), limits)


def test_message_and_fix() -> None:
    (finding,) = _found(AIR)
    assert finding.message == ("100,000 documents of 35 B each are measurements at a time: celsius by sensor.id.")
    assert 'timeField: "time", metaField: "sensor"' in finding.fix


@pytest.mark.parametrize(
    "changes",
    [
        {"time_column": None},
        {"rows": a_count(99_999)},
        {"rows": None},
        {"options": None},
        {"options": {"type": "timeseries"}},
        # It has to be unique.
        {"fields": (a_field("_id", types=("string",)), *AIR.fields[1:])},
        {"indexes": a_collection("users").indexes},
        # What names the source never comes again; or sources without anything measured.
        {"fields": (a_field("id", types=("string",), distinct=a_count(100)), AIR.fields[2])},
        {"fields": AIR.fields[:2]},
        # A code is no measurement.
        {"fields": (AIR.fields[1], a_field("status", types=("int",), distinct=a_count(3)))},
    ],
)
def test_silence_when_it_is_something_else(changes: dict[str, Any]) -> None:
    assert len(_found(AIR)) == 1
    assert _found(dataclasses.replace(AIR, **changes)) == ()


def test_silence_when_the_limit_is_raised() -> None:
    assert _found(AIR, min_documents=100_001) == ()
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
