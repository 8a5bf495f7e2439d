"""DOC004: documents that vary without a validator."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.builders import a_field, a_profile, a_ratio
from tests.databases import Collection, Dataset
from tests.engines.mongodb.builders import a_collection, days
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.undeclared_document_schema import undeclared_document_schema as rule
from tsaudit.evaluation import evaluate
from tsaudit.model.columns import Field
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Evidence, Finding, Outcome, Severity
from tsaudit.model.profile import Measurement
from tsaudit.policy import LimitPolicy
from tsaudit.rules.fields.conflicting_types import conflicting_types

MIXED = [{"price": "n/a" if i % 10 == 0 else i / 4, "currency": "EUR"} for i in range(120)]
VALIDATED = {"validator": {"$jsonSchema": {"required": ["price"]}}}
CASES = (
    Case(
        breaks=Dataset(collections=[Collection("prices", MIXED)]),
        keeps=Dataset(
            collections=[
                Collection("prices", MIXED, options=VALIDATED),
                # Drivers choose the type of a number by its value.
                Collection("costs", [{"price": i if i % 2 else i / 4} for i in range(120)]),
            ]
        ),
        subject=Subject("", "prices"),
        main_contributor="price",
    ),
)


def _with(*fields: Field, read: int = 1000, **options: str) -> Measurement:
    users = a_collection("users")
    assert users.documents is not None
    return dataclasses.replace(
        users,
        fields=(a_field("_id", types=("objectId",)), *fields),
        documents=dataclasses.replace(users.documents, read=read),
        options={"type": "collection"} | options,
    )


def _found(*measurements: Measurement) -> tuple[Finding, ...]:
    return with_steps(rule, a_profile(*measurements, engine="mongodb"))


def test_message_and_fix() -> None:
    fields = (
        a_field("price", types=("double", "string")),
        a_field("currency", types=("string",), null_ratio=0.25),
        a_field("at", types=("date",)),
        a_field("buyer.name", types=("string",)),
    )
    (finding,) = _found(_with(*fields))
    assert (finding.impact, finding.severity) == (None, Severity.NOTE)
    assert finding.message == (
        "No validator, and 2 of 5 fields vary: price is number and string and currency is in 75%."
    )
    assert "what the documents of users have to look like" in finding.fix


def test_information_when_fields_are_only_missing_here_and_there() -> None:
    def found(share: float) -> list[Severity]:
        return [f.severity for f in _found(_with(a_field("v", types=("int",), null_ratio=share)))]

    assert found(0.5) == [Severity.NOTE]
    assert found(0.01) == [Severity.NOTE]
    assert found(0.009) == []
    assert found(0.995) == []
    assert found(0.0) == []


def test_silence_when_a_validator_is_there_or_cannot_be() -> None:
    mixed = a_field("v", types=("int", "string"))
    assert len(_found(_with(mixed))) == 1
    assert _found(_with(mixed, validator='{"$jsonSchema": {}}')) == ()
    assert len(_found(_with(mixed, validator="{}"))) == 1
    assert len(_found(_with(mixed, validator='{"$jsonSchema": {}}', validationLevel="off"))) == 1
    assert _found(_with(mixed, type="timeseries")) == ()
    assert _found(_with(mixed, read=99)) == ()
    assert _found(_with(a_field("v", types=("int", "double", "long")))) == ()


def test_newest_of_a_family_says_it_for_all() -> None:
    mixed = a_field("v", types=("int", "string"))
    names = sorted(days(20))
    members = [dataclasses.replace(_with(mixed), name=name) for name in names]
    (finding,) = _found(*members)
    # The same one tomorrow, when another collection is the newest.
    assert finding.subject.measurement == "visits_{day}"
    assert finding.evidence[0] == Evidence("seen in", names[-1])
    assert names[-1] in finding.fix


def test_silence_about_fields_whose_names_are_data() -> None:
    keyed = [a_field(f"scores.user_{i}", types=("int",), null_ratio=0.9) for i in range(9)]
    assert _found(_with(*keyed)) == ()
    assert len(_found(_with(*keyed, a_field("v", types=("int",), null_ratio=0.5)))) == 1


def test_silence_when_options_were_not_measured() -> None:
    unknown: Any = dataclasses.replace(_with(a_field("v", types=("int", "string"))), options=None)
    assert run_rule(rule, a_profile(unknown, engine="mongodb")).outcome is Outcome.PASS
    assert a_ratio(0.5).value == 0.5


def test_the_missing_validator_is_part_of_what_is_said_of_a_field_with_several_types() -> None:
    mixed = a_field("price", types=("double", "string"))
    profile = a_profile(_with(mixed), engine="mongodb")
    result = evaluate(profile, None, LimitPolicy(), [rule, conflicting_types])
    kept = {r.code: r.findings for r in result.results}
    assert kept["DOC004"] == ()
    (finding,) = kept["FLD003"]
    assert [e.value for e in finding.evidence if e.label == "also DOC004"] == [
        "No validator, and 1 of 2 fields varies: price is number and string."
    ]
    (plan,) = result.plans
    text = "\n".join(step.text for step in plan.steps)
    assert '{ price: { $type: "string" } }' in text
    # A note adds no step.
    assert "validator:" not in text


def test_fields_with_several_types_stand_for_themselves_where_a_validator_is_set() -> None:
    validated = _with(a_field("price", types=("double", "string")), validator='{"$jsonSchema": {}}')
    results = evaluate(a_profile(validated, engine="mongodb"), None, LimitPolicy(), [rule, conflicting_types]).results
    assert [(r.code, len(r.findings)) for r in results if r.findings] == [("FLD003", 1)]


def test_fields_that_are_only_missing_stand_for_themselves() -> None:
    profile = a_profile(_with(a_field("v", types=("int",), null_ratio=0.5)), engine="mongodb")
    results = evaluate(profile, None, LimitPolicy(), [rule, conflicting_types]).results
    assert [(r.code, len(r.findings)) for r in results if r.findings] == [("DOC004", 1)]
