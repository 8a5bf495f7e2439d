"""DOC007: measurements as plain documents."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from tests.builders import NOW, a_count, a_field, a_profile
from tests.databases import Collection, Dataset, times
from tests.engines.mongodb.builders import a_collection
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.time_data_as_documents import time_data_as_documents as rule
from tsaudit.model.columns import Field
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.storage import Storage

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
WORDS = tuple(
    f"the {one} {other} fell on the {where}"
    for one in ("old", "new", "red", "big", "far")
    for other in ("book", "lamp", "tool", "vase")
    for where in ("floor", "desk", "road", "sand")
)

IDS = tuple(f"{n * 7919**9 % 16**32:032x}" for n in range(1, 95))


def _found(measurement: Measurement) -> tuple[Finding, ...]:
    return with_steps(rule, a_profile(measurement, engine="mongodb"))


def test_message_and_fix() -> None:
    (finding,) = _found(AIR)
    assert finding.message == ("100,000 documents of 35 B each are measurements at a time: celsius by sensor.id.")
    assert 'metaField: "sensor"' in finding.fix


def test_constant_names_no_source() -> None:
    """The type of a GeoJSON position, for example; it cannot be changed once it is the metaField."""
    kind = a_field("position.type", types=("string",), distinct=a_count(1), sample=("Point",))
    (finding,) = _found(dataclasses.replace(AIR, fields=(*AIR.fields, kind)))
    assert 'metaField: "sensor"' in finding.fix
    alone = [field for field in (*AIR.fields, kind) if field.key != "sensor.id"]
    assert not _found(dataclasses.replace(AIR, fields=tuple(alone)))


@pytest.mark.parametrize(
    ("values", "value_bytes", "sample", "are_events"),
    [
        (95, 40.0, WORDS, True),
        # The same few texts, short ones, and IDs.
        (20, 40.0, WORDS, False),
        (95, 5.0, WORDS, False),
        (95, 40.0, IDS, False),
    ],
)
def test_documents_with_texts_of_their_own_are_events(
    values: int, value_bytes: float, sample: tuple[str, ...], are_events: bool
) -> None:
    text = a_field("remarks", types=("string",), distinct=a_count(values), sample=sample, value_bytes=value_bytes)
    findings = _found(dataclasses.replace(AIR, fields=(*AIR.fields, text)))
    assert (not findings) is are_events


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        # Drivers add it to all documents.
        ((a_field("updatedAt", types=("date",)),), 1),
        ((a_field("stage", types=("string",), distinct=a_count(4)),), 1),
        ((a_field("updatedAt", types=("date",)), a_field("stage", types=("string",), distinct=a_count(4))), 0),
        ((a_field("modified", types=("date",)), a_field("archived", types=("bool",), distinct=a_count(2))), 0),
        (
            (
                a_field("updatedAt", types=("date",)),
                a_field("ticket", types=("string",), distinct=a_count(90), sample=IDS),
            ),
            0,
        ),
        (
            (
                a_field("updatedAt", types=("date",)),
                a_field("ticket", types=("string",), distinct=a_count(9), sample=IDS),
            ),
            1,
        ),
    ],
)
def test_documents_about_things_that_change_are_no_measurements(changes: tuple[Field, ...], found: int) -> None:
    assert len(_found(dataclasses.replace(AIR, fields=(*AIR.fields, *changes)))) == found


@pytest.mark.parametrize(("key", "found"), [("invoice", 0), ("payload.voucher", 0), ("payload.weight", 1)])
def test_numbers_of_things_are_not_measured(key: str, found: int) -> None:
    numbers = a_field(key, types=("int",), distinct=a_count(95))
    assert len(_found(dataclasses.replace(AIR, fields=(*AIR.fields[:2], numbers)))) == found


def _of_size(data: int, index: int, days_old: int) -> Measurement:
    """Ten million documents of 35 bytes, of which 27 are names and sources."""
    own = dataclasses.replace((AIR.indexes or ())[0], size_bytes=index)
    sensor = dataclasses.replace(AIR.fields[1], value_bytes=8.0)
    return dataclasses.replace(
        AIR,
        rows=a_count(10_000_000),
        fields=(AIR.fields[0], sensor, AIR.fields[2]),
        indexes=(own,),
        storage=Storage(data, index),
        first_time=NOW - timedelta(days=days_old),
    )


def test_cost_is_names_sources_and_the_index_of_ids() -> None:
    (finding,) = _found(_of_size(350_000_000, 100_000_000, days_old=30))
    assert finding.impact is not None
    assert finding.impact.currency is Currency.BYTES
    # Of 35 bytes: `time`, `id` and `celsius` with a type and a zero each, and eight of the source.
    assert finding.impact.now == pytest.approx(10_000_000 * (6 + 4 + 9 + 8) + 100_000_000)
    assert finding.impact.whole == 450_000_000
    assert finding.impact.per_day == pytest.approx(finding.impact.now / 30)
    # Half of each document is compressed away, which are 17.5 of the 27 bytes.
    (finding,) = _found(_of_size(175_000_000, 0, days_old=30))
    assert finding.impact is not None
    assert finding.impact.now == pytest.approx(95_000_000)
    (finding,) = _found(dataclasses.replace(AIR, storage=None))
    assert finding.impact is None


@pytest.mark.parametrize(
    ("data", "index", "days_old", "expected"),
    [
        (100_000_000, 80_000_000, 300_000, Severity.WARNING),
        (100_000_000, 79_000_000, 300_000, Severity.NOTE),
        # 50 MB of an index in a month, and as much in the next one.
        (50_000_000, 51_000_000, 30, Severity.WARNING),
        (50_000_000, 49_000_000, 30, Severity.NOTE),
        # So small a file may be mostly room, and shows no rate.
        (500_000, 400_000, 1, Severity.NOTE),
    ],
)
def test_severity_when_much_is_saved(data: int, index: int, days_old: int, expected: Severity) -> None:
    (finding,) = _found(_of_size(data, index, days_old))
    assert finding.severity is expected


@pytest.mark.parametrize(
    "changes",
    [
        {"time_column": None},
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


def test_silence_when_there_are_no_documents() -> None:
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
