"""DOC005: arrays without a bound."""

from __future__ import annotations

import dataclasses

from tests.builders import a_field, a_profile
from tests.databases import Collection, Dataset
from tests.engines.mongodb.mongosh import one_line
from tests.engines.mongodb.rules.test_collection_per_period import a_collection
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.unbounded_array import unbounded_array as rule
from tsaudit.model.finding import Finding, Outcome, Severity
from tsaudit.model.profile import Items
from tsaudit.model.subject import Subject

CASES = (
    Case(
        breaks=Dataset(collections=[Collection("sensors", [{"readings": [i / 2] * (300 + i)} for i in range(20)])]),
        keeps=Dataset(
            collections=[
                Collection("sensors", [{"readings": [i / 2] * (i % 9)} for i in range(20)]),
                # Long, and always as long: a vector.
                Collection("texts", [{"embedding": [i / 2] * 300} for i in range(20)]),
            ]
        ),
        subject=Subject("", "sensors", "readings"),
        main_contributor="readings",
    ),
)


def _found(mean: float, most: int, largest: int = 5000) -> tuple[Finding, ...]:
    users = a_collection("sensors")
    assert users.documents is not None
    array = a_field("at.readings", types=("array",), items=Items(mean, most))
    measurement = dataclasses.replace(
        users,
        fields=(
            a_field("_id", types=("objectId",)),
            array,
            a_field("other", types=("array",), items=Items(120.0, 121)),
        ),
        documents=dataclasses.replace(users.documents, max_bytes=largest),
    )
    return with_steps(rule, a_profile(measurement, engine="mongodb"))


def test_message_and_fix() -> None:
    (finding,) = _found(250, 900)
    assert finding.severity is Severity.WARNING
    assert finding.message == (
        "at.readings contains 250 items on average and up to 900; the largest document has 5 kB."
    )
    assert '{ $unwind: { path: "$at.readings", includeArrayIndex: "place" } }' in one_line(finding.fix)
    assert '{ $merge: { into: "sensors_readings", whenMatched: "keepExisting" } }' in one_line(finding.fix)


def test_severity_follows_from_average_longest_and_size() -> None:
    assert [f.severity for f in _found(249, 250)] == [Severity.NOTE]
    assert _found(200, 249) == ()
    assert [f.severity for f in _found(300, 900, 9_999_999)] == [Severity.WARNING]
    (finding,) = _found(300, 900, 10_000_000)
    assert (finding.severity, finding.unit) == (Severity.CRITICAL, "bytes")


def test_longest_one_counts_even_if_another_is_longer_on_average() -> None:
    (finding,) = _found(100, 900)
    assert finding.main_contributor == "at.readings"


def test_vector_is_not_unbounded() -> None:
    assert _found(300, 300) == ()
    (finding,) = _found(300, 300, 10_000_000)
    assert finding.subject == Subject("main", "sensors")


def test_document_that_is_large_for_another_reason() -> None:
    (finding,) = _found(3, 9, 12_000_000)
    assert (finding.severity, finding.subject) == (Severity.CRITICAL, Subject("main", "sensors"))
    assert finding.message == "The largest document has 12 MB; the server rejects more than 16 MiB."
    assert '.getCollection("sensors").aggregate([{ $project: { bytes: { $bsonSize: "$$ROOT" } } }' in one_line(
        finding.fix
    )


def test_silence_without_arrays() -> None:
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
