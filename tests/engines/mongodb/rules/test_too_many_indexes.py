"""DOC011: the limit of indexes."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import a_profile
from tests.databases import Collection, Dataset
from tests.engines.mongodb.rules.test_collection_per_period import a_collection
from tests.rules.cases import Case, run_rule
from tsaudit.engines.mongodb.rules.too_many_indexes import too_many_indexes as rule
from tsaudit.model.finding import Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.subject import Subject


def _forms(count: int) -> Dataset:
    """An index for each field, beside that on `_id`."""
    answers = [{f"field{i}": number for i in range(count)} for number in range(5)]
    return Dataset(collections=[Collection("answers", answers, indexes=[(f"field{i}",) for i in range(count)])])


CASES = (Case(breaks=_forms(60), keeps=_forms(5), subject=Subject("", "answers")),)


def _profile(count: int) -> Profile:
    own, other = a_collection("answers").indexes or ()
    more = [dataclasses.replace(other, name=f"i{n}", constraint=False, scans=n % 2) for n in range(count - 1)]
    return a_profile(dataclasses.replace(a_collection("answers"), indexes=(own, *more)), engine="mongodb")


@pytest.mark.parametrize(
    ("count", "expected"),
    [(32, Severity.NOTE), (51, Severity.NOTE), (52, Severity.WARNING), (60, Severity.WARNING), (61, Severity.CRITICAL)],
)
def test_severity_follows_from_the_share_that_is_used(count: int, expected: Severity) -> None:
    (finding,) = run_rule(rule, _profile(count)).findings
    assert finding.severity is expected
    assert finding.message.startswith(f"{count} indexes, ")
    assert finding.evidence[0].value.startswith("i0, i2")


def test_silence_when_they_are_few_or_not_known() -> None:
    assert run_rule(rule, _profile(31)).outcome is Outcome.PASS
    unknown = dataclasses.replace(a_collection("answers"), indexes=None)
    assert run_rule(rule, a_profile(unknown, engine="mongodb")).outcome is Outcome.PASS
    assert run_rule(rule, _profile(61), {"max_indexes": 200}).outcome is Outcome.PASS
