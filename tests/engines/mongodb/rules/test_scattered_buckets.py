"""DOC006: a metaField that is too fine."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import bson
import pytest

from tests.builders import NOW, a_count, a_field, a_profile, a_source, a_tag
from tests.databases import Collection, Dataset, times
from tests.engines.mongodb.builders import a_collection
from tests.engines.mongodb.mongosh import one_line
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.scattered_buckets import bucket_bytes
from tsaudit.engines.mongodb.rules.scattered_buckets import scattered_buckets as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.storage import Buckets, Storage

SERIES = {"timeseries": {"timeField": "at", "metaField": "meta"}}


def _requests(by_request: bool) -> Dataset:
    documents: list[dict[str, Any]] = []
    for i, at in enumerate(times(60)):
        meta = {"host": f"h{i % 3}"} | ({"request": f"r{i}"} if by_request else {})
        documents.append({"at": at, "meta": meta, "ms": i / 2} | ({} if by_request else {"request": f"r{i}"}))
    return Dataset(collections=[Collection("requests", documents, options=SERIES)])


def _notes(leaves_out: bool) -> Dataset:
    """Every other measurement has no note."""
    documents: list[dict[str, Any]] = []
    for i, at in enumerate(times(120, timedelta(seconds=20))):
        note = {"note": "checked"} if i % 2 else {} if leaves_out else {"note": None}
        documents.append({"at": at, "meta": "pump-1", "bar": i / 2, **note})
    return Dataset(collections=[Collection("pressure", documents, options=SERIES)])


CASES = (
    Case(
        breaks=_notes(leaves_out=False),
        keeps=_notes(leaves_out=True),
        subject=Subject("", "pressure", "note"),
        main_contributor="note",
    ),
    Case(
        breaks=_requests(by_request=True),
        keeps=_requests(by_request=False),
        subject=Subject("", "requests", "meta.request"),
        main_contributor="meta.request",
    ),
)


def _found(rows: float | None, sources: int = 900, count: int = 1000, **options: str) -> tuple[Finding, ...]:
    buckets = Buckets(count, 1000, sources, rows, a_source())
    tags = (a_tag("meta.host"), a_tag("meta.request", values=900, sample=("r1", "r2")))
    found = {"type": "timeseries", "timeseries.timeField": "at", "timeseries.metaField": "meta"} | options
    measurement = dataclasses.replace(a_collection("requests"), tags=tags, buckets=buckets, options=found)
    return with_steps(rule, a_profile(measurement, engine="mongodb"))


def test_message_and_main_contributor() -> None:
    (finding,) = _found(3.5)
    assert finding.severity is Severity.NOTE
    assert finding.message == "Half of its 1,000 buckets contain 3.5 measurements or fewer; they are from 900 sources."
    assert (finding.main_contributor, finding.samples) == ("meta.request", ("r1", "r2"))
    assert "meta.request belongs beside it" in finding.fix


def _changing(
    count: int, closed: int | None = None, changed: int | None = None, *, days: float = 30, **field: Any
) -> Finding:
    """Of ten sources, two measurements in each of so many buckets of an hour."""
    note = a_field("note", **({"types": ("string",), "says_null": True} | field))
    measurement = dataclasses.replace(
        a_collection("pressure", documents=2 * count),
        tags=(a_tag("meta", values=10),),
        fields=(a_field("_id", types=("objectId",)), note),
        buckets=Buckets(count, 1000, 10, 2, a_source(), closed, changed),
        options={"type": "timeseries", "timeseries.timeField": "at", "timeseries.metaField": "meta"}
        | {"timeseries.granularity": "seconds"},
        first_time=NOW - timedelta(days=days),
        last_time=NOW,
    )
    (finding,) = run_rule(rule, a_profile(measurement, engine="mongodb")).findings
    return finding


def test_field_that_changes_its_type_is_named() -> None:
    finding = _changing(10_000, 10_000, 9_000)
    assert finding.message == (
        "Half of its 10,000 buckets contain 2 measurements or fewer: each change of a field's type begins another one, "
        "and note is string and null."
    )
    assert (finding.subject.column, finding.changes) == ("note", ())
    assert finding.evidence[-1].value == "9,000 of 10,000"
    assert _changing(10_000, 10_000, 9_000, types=("string", "double"), says_null=False).subject.column == "note"
    # Numbers of several types are one type.
    for same in ({"types": ("int", "double"), "says_null": False}, {"says_null": False}):
        assert _changing(10_000, 10_000, 9_000, **same).subject.column == ""
    assert _changing(10_000, 10_000, 4_999).subject.column == ""


def test_cause_when_the_server_counts_no_closings() -> None:
    """Ten measurements of a source in an hour would fill a bucket, were it not for the change."""
    assert _changing(36_010).subject.column == "note"
    assert _changing(35_990).subject.column == ""
    assert _changing(36_010, days=31).subject.column == ""


def _of_size(rows_in_each: int, count: int, data: int, index: int, days_old: int = 30) -> Finding:
    """The finding about documents of 35 bytes with one field, `user_id`."""
    measurement = dataclasses.replace(
        a_collection("requests", documents=rows_in_each * count),
        buckets=Buckets(count, 1000, 900, rows_in_each, a_source()),
        options={"type": "timeseries", "timeseries.timeField": "at", "timeseries.metaField": "meta"},
        storage=Storage(data, index),
        first_time=NOW - timedelta(days=days_old),
    )
    (finding,) = run_rule(rule, a_profile(measurement, engine="mongodb")).findings
    return finding


def test_cost_is_the_buckets_that_would_not_be_needed() -> None:
    assert _found(10) == ()
    finding = _of_size(2, 1_000_000, data=200_000_000, index=100_000_000)
    assert finding.impact is not None
    assert finding.impact.currency is Currency.BYTES
    # With ten in each, a fifth of them; of each, 265 of 335 bytes are not of its measurements.
    assert finding.impact.now == pytest.approx(0.8 * (100_000_000 + 200_000_000 * 265 / 335))
    assert finding.impact.whole == 300_000_000
    assert finding.impact.per_day == pytest.approx(finding.impact.now / 30)
    (unknown,) = _found(2)
    assert unknown.impact is not None
    unmeasured = dataclasses.replace(a_collection("requests"), storage=None, buckets=Buckets(1000, 9, 9, 2, a_source()))
    (unknown,) = run_rule(rule, a_profile(unmeasured, engine="mongodb")).findings
    assert unknown.impact is None


@pytest.mark.parametrize(
    ("data", "days_old", "expected"),
    [
        (200_000_000, 300_000, Severity.WARNING),
        (100_000_000, 300_000, Severity.NOTE),
        # More of it each day.
        (100_000_000, 30, Severity.WARNING),
        (50_000_000, 30, Severity.NOTE),
    ],
)
def test_severity_when_they_take_much(data: int, days_old: int, expected: Severity) -> None:
    assert _of_size(2, 1_000_000, data, 0, days_old).severity is expected


@pytest.mark.parametrize(
    ("rows", "sources", "age", "quiet_days", "expected"),
    [
        (1, 1_000, timedelta(days=30), 0, Severity.WARNING),
        # Of an hour of a thousand devices, each has one bucket, and the devices come again.
        (1, 1_000, timedelta(hours=8), 0, Severity.NOTE),
        # Nothing is written anymore.
        (1, 1_000, timedelta(days=30), 8, Severity.NOTE),
        # A fleet that reports too seldom: nobody knows whether old rows are deleted.
        (1, 200, timedelta(days=30), 0, Severity.NOTE),
    ],
)
def test_trips_that_have_a_source_of_their_own_keep_coming(
    rows: int, sources: int, age: timedelta, quiet_days: int, expected: Severity
) -> None:
    """Trips with an ID in the metaField take 12 MB after a month: an expert sees 150 MB in a year, as for a tag."""
    measurement = dataclasses.replace(
        a_collection("trips", documents=50_000),
        buckets=Buckets(50_000, 1_000, sources, rows, a_source()),
        options={"type": "timeseries", "timeseries.timeField": "at", "timeseries.metaField": "trip"}
        | {"timeseries.granularity": "seconds"},
        storage=Storage(9_000_000, 5_000_000),
        first_time=NOW - age,
        last_time=NOW - timedelta(days=quiet_days),
    )
    (finding,) = run_rule(rule, a_profile(measurement, engine="mongodb")).findings
    assert finding.severity is expected
    assert finding.message.startswith("Half of its 50,000 buckets contain a single measurement; they are from about ")


@pytest.mark.parametrize("fields", [("v",), ("celsius", "humidity"), ("a", "b", "c", "d", "e")])
def test_bytes_of_a_bucket_are_those_that_bson_says(fields: tuple[str, ...]) -> None:
    at, own, column = NOW, bson.ObjectId(), bson.Binary(bytes(10), 7)
    values = dict.fromkeys(fields, 1.0)
    bucket = {
        "_id": own,
        "control": {
            "version": 2,
            "min": {"_id": own, "time": at} | values,
            "max": {"_id": own, "time": at} | values,
            "count": 1,
        },
        "meta": "h1",
        "data": {"time": column, "_id": column} | dict.fromkeys(fields, column),
    }
    measurement = dataclasses.replace(a_collection("air"), fields=tuple(a_field(name) for name in fields))
    assert bucket_bytes(measurement) == len(bson.encode(bucket))


def test_span_is_named_where_sources_come_again() -> None:
    # 5,000 sources with ten buckets each: nearly all that were drawn are different.
    (finding,) = _found(2, sources=906, count=50_000, **{"timeseries.granularity": "seconds"})
    assert finding.message.endswith("sources, each in about 11.")
    assert (finding.subject.column, finding.main_contributor) == ("", "meta")
    assert 'collMod: "requests", timeseries: { granularity: "minutes" }' in one_line(finding.fix)
    (finding,) = _found(2, sources=3, **{"timeseries.granularity": "hours"})
    assert "bucketMaxSpanSeconds" in finding.fix
    assert "collMod" not in finding.fix


def test_silence_when_buckets_are_not_known() -> None:
    assert _found(None) == ()
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
    assert a_count(1).value == 1
