"""DOC002: an id that could be the `_id`."""

from __future__ import annotations

import dataclasses
import uuid
from datetime import timedelta
from typing import Any

import bson
import pytest

from tests.builders import NOW, a_field, a_profile, a_ratio
from tests.databases import Collection, Dataset
from tests.engines.mongodb.builders import a_collection, days
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.collections import UseAsId
from tsaudit.engines.mongodb.rules.id_beside_document_id import id_beside_document_id as rule
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.profile import Measurement
from tsaudit.model.storage import Storage

CASES = (
    Case(
        breaks=Dataset(collections=[Collection("users", [{"user_id": i} for i in range(500)], unique=("user_id",))]),
        keeps=Dataset(
            collections=[
                Collection("users", [{"_id": i} for i in range(500)]),
                # Unique, but it may change, or is not always there.
                Collection("people", [{"email": f"{i}@example.com"} for i in range(50)], unique=("email",)),
            ]
        ),
        subject=Subject("", "users", "user_id"),
        main_contributor="user_id",
    ),
)


def _found(*measurements: Measurement) -> tuple[Finding, ...]:
    return with_steps(rule, a_profile(*measurements, engine="mongodb"))


def _with(**changes: Any) -> Measurement:
    """A collection whose id, or the index on it, is different."""
    users = a_collection("users")
    made, field = users.fields
    own, index = users.indexes or ()
    of_field = {k: v for k, v in changes.items() if k in ("key", "types", "null_ratio")}
    of_index = {k: v for k, v in changes.items() if k not in of_field}
    if "key" in of_field:
        of_index["columns"] = (of_field["key"],)
    return dataclasses.replace(
        users,
        fields=(made, dataclasses.replace(field, **of_field)),
        indexes=(own, dataclasses.replace(index, **of_index)),
    )


def test_message_names_what_is_saved() -> None:
    (finding,) = _found(a_collection("users"))
    # 21 bytes of each document, and what the index on `_id` takes that nobody needs.
    assert finding.message == (
        "user_id could be the _id: in the collection this would save 4.1 kB, 2.1 kB of documents and 2 kB of an index."
    )
    assert finding.observed == 100 * 21 + 2000
    assert finding.changes == (UseAsId(Subject("main", "users"), "user_id"),)
    evidence = {e.label: e.value for e in finding.evidence}
    assert evidence["index uses"] == "_id_ 0 and user_id_1 9"


@pytest.mark.parametrize(
    ("value", "before", "after"),
    [
        (1, 35, 14),
        (bson.Int64(1), 39, 18),
        (bson.ObjectId(), 43, 22),
        ("x" * 8, 44, 23),
        ("0" * 24, 60, 39),
        (str(uuid.UUID(int=1)), 72, 51),
    ],
)
def test_document_shrinks_by_as_much_as_bson_says(value: Any, before: int, after: int) -> None:
    assert len(bson.encode({"_id": bson.ObjectId(), "user_id": value})) == before
    assert len(bson.encode({"_id": value})) == after
    (finding,) = _found(a_collection("users"))
    (saved,) = {(finding.observed or 0) - 2000}
    assert saved == 100 * (before - after)


def test_name_within_a_document_goes_and_not_the_path_to_it() -> None:
    (finding,) = _found(_with(key="account.user_id"))
    assert finding.observed == 100 * 21 + 2000


def test_compressed_documents_save_less() -> None:
    (finding,) = _found(a_collection("users", data=1750))
    assert finding.observed == 100 * 21 / 2 + 2000


def test_documents_that_take_more_than_they_are_long_save_more() -> None:
    (finding,) = _found(a_collection("users", documents=10_000, data=700_000))
    assert finding.observed == 10_000 * 21 * 2 + 2000
    # A file that is mostly room.
    (finding,) = _found(a_collection("users", data=7000))
    assert finding.observed == 100 * 21 + 2000


@pytest.mark.parametrize(
    "changes",
    [
        {"key": "email"},
        {"key": "phoneNumber"},
        {"key": "mobile_no"},
        {"key": "casino"},
        {"key": "paid"},
        {"types": ("int", "string")},
        {"types": ("array",)},
        {"null_ratio": a_ratio(0.01)},
        {"unique": False},
        {"partial": True},
        {"kind": "hashed"},
        {"columns": ("user_id", "day")},
    ],
)
def test_silence_when_it_could_not_be_the_id(changes: dict[str, Any]) -> None:
    assert _found(_with(**changes)) == ()


NUMBERS = ["orderNo", "invoice_number", "ticketNr", "paymentRef", "vehicle.vin", "isbn13", "serialnumber", "belegNr"]


@pytest.mark.parametrize("key", ["user_id", "userId", "uid", "account.key", "sessionid", "guid", *NUMBERS])
def test_finding_when_it_is_called_like_an_id(key: str) -> None:
    (finding,) = _found(_with(key=key))
    assert finding.main_contributor == key


def test_silence_when_the_id_is_not_made_by_the_driver() -> None:
    users = a_collection("users")
    own = (a_field("_id", types=("int",)), users.fields[1])
    assert _found(dataclasses.replace(users, fields=own)) == ()


def _large(index_bytes: int, days_old: int = 30, **of_index: Any) -> Measurement:
    """Ten million documents of 35 bytes, 100 MB with all indexes."""
    users = a_collection("users", documents=10_000_000, data=100_000_000)
    own, other = users.indexes or ()
    return dataclasses.replace(
        users,
        indexes=(dataclasses.replace(own, size_bytes=index_bytes, **of_index), other),
        storage=Storage(100_000_000, 2 * index_bytes),
        first_time=NOW - timedelta(days=days_old),
    )


def test_cost_is_the_bytes_saved() -> None:
    (finding,) = _found(_large(150_000_000))
    assert finding.impact is not None
    assert finding.impact.currency is Currency.BYTES
    # 21 of 35 bytes of each document.
    assert finding.impact.now == pytest.approx(60_000_000 + 150_000_000)
    assert finding.impact.whole == 400_000_000
    assert finding.impact.per_day == pytest.approx(finding.impact.now / 30)


@pytest.mark.parametrize(
    ("measurement", "expected"),
    [
        (_large(150_000_000), Severity.WARNING),
        (_large(41_000_000, days_old=300_000), Severity.WARNING),
        (_large(39_000_000, days_old=300_000), Severity.NOTE),
        (_large(39_000_000, days_old=300), Severity.WARNING),
        # Something asks for the `_id`.
        (_large(150_000_000, scans=3), Severity.NOTE),
    ],
)
def test_severity_when_much_is_saved(measurement: Measurement, expected: Severity) -> None:
    (finding,) = _found(measurement)
    assert finding.severity is expected
    assert (finding.impact is None) is bool((measurement.indexes or ())[0].scans)


def test_one_finding_for_a_family() -> None:
    names = sorted(days(20))
    members = [a_collection(name, data=3500 if i % 10 == 0 or i == 19 else None) for i, name in enumerate(names)]
    (finding,) = _found(*members)
    assert finding.subject == Subject("main", "visits_{day}", "user_id")
    assert finding.observed == 20 * 4100
    assert finding.impact is not None
    assert (finding.impact.now, finding.impact.whole, finding.impact.per_day) == (20 * 4100, 20 * 6700, 4100)
    assert "in 20 collections named visits_{day}" in finding.message
    assert "closed-period-kept" in finding.fix


def test_silence_when_indexes_were_not_measured() -> None:
    users = dataclasses.replace(a_collection("users"), indexes=None)
    assert run_rule(rule, a_profile(users, engine="mongodb")).outcome is Outcome.PASS
