"""DOC005: arrays without a bound."""

from __future__ import annotations

import dataclasses
from datetime import timedelta

import pytest

from tests.builders import DAY, NOW, a_field, a_profile
from tests.databases import Collection, Dataset
from tests.engines.mongodb.builders import a_collection
from tests.engines.mongodb.mongosh import one_line
from tests.rules.cases import Case, run_rule, with_steps
from tsaudit.engines.mongodb.rules.unbounded_array import unbounded_array as rule
from tsaudit.model.columns import Items
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.profile import Profile
from tsaudit.model.timeline import Timeline

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


LARGEST = 16 * 1024 * 1024


def _found(mean: float, most: int, largest: int = 5000) -> tuple[Finding, ...]:
    return with_steps(rule, _profile(mean, most, largest))


def _profile(mean: float, most: int, largest: int, mean_bytes: float = 35.0) -> Profile:
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
        documents=dataclasses.replace(users.documents, max_bytes=largest, mean_bytes=mean_bytes),
    )
    return a_profile(measurement, engine="mongodb")


def test_message_and_fix() -> None:
    (finding,) = _found(250, 900)
    assert finding.severity is Severity.NOTE
    assert (finding.observed, finding.unit) == (900, "items")
    assert finding.message == (
        "at.readings contains 250 items on average and up to 900; the largest document has 5 kB."
    )
    assert "Write each item of at.readings as a document of its own" in finding.fix


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        (0.799, Severity.NOTE),
        (0.801, Severity.WARNING),
        (0.949, Severity.WARNING),
        (0.951, Severity.CRITICAL),
    ],
)
def test_severity_follows_from_the_size(share: float, expected: Severity) -> None:
    assert len(_found(249, 250)) == 1
    assert _found(200, 249) == ()
    for array in ((300, 900), (3, 9)):
        (finding,) = _found(*array, round(share * LARGEST))
        assert (finding.severity, finding.unit) == (expected, "bytes")
        assert finding.impact is not None
        assert (finding.impact.currency, finding.impact.is_enforced) == (Currency.LIMIT, True)
        assert (finding.impact.now, finding.impact.whole) == (round(share * LARGEST), LARGEST)
        assert finding.observed == finding.impact.now


def _audited(profile: Profile, ago: timedelta) -> Profile:
    """The profile of yesterday, collected so long ago."""
    return dataclasses.replace(profile, day=DAY - timedelta(days=1), collected_at=NOW - ago)


@pytest.mark.parametrize(
    ("before", "mean_before", "days_left"),
    [
        # 100 kB more in a day, 1% of 10 MB, as of the mean.
        (9_900_000, 990.0, 67.77216),
        # Another document was in the sample.
        (2_000_000, 990.0, 67.1),
        (9_900_000, 1_000.0, None),
        (10_000_000, 500.0, None),
    ],
)
def test_days_left_when_it_has_grown_since_the_audit_before(
    before: int, mean_before: float, days_left: float | None
) -> None:
    yesterday = _audited(_profile(300, 900, before, mean_before), timedelta(days=1))
    profile = _profile(300, 900, 10_000_000, 1_000.0)
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=yesterday)).findings
    assert finding.impact is not None
    assert finding.impact.days_left == (None if days_left is None else pytest.approx(days_left, rel=0.01))
    assert finding.severity is (Severity.NOTE if days_left is None else Severity.WARNING)


def _of_all(profile: Profile, largest_id: str) -> Profile:
    (one,) = profile.measurements
    assert one.documents is not None
    known = dataclasses.replace(one.documents, is_max_of_all=True, largest_field="at.readings", largest_id=largest_id)
    return dataclasses.replace(profile, measurements=(dataclasses.replace(one, documents=known),))


def test_growth_of_the_largest_of_all_documents_is_not_held_to_a_mean() -> None:
    """The mean of a sample may be lower than the day before, by chance."""
    yesterday = _audited(_of_all(_profile(300, 900, 15_000_000, 1_000.0), "a"), timedelta(days=1))
    profile = _of_all(_profile(300, 900, 15_700_000, 990.0), "a")
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=yesterday)).findings
    assert finding.impact is not None
    assert finding.impact.days_left == pytest.approx(1.539, rel=0.01)
    assert finding.severity is Severity.CRITICAL


def test_another_document_that_is_the_largest_now_has_not_grown() -> None:
    yesterday = _audited(_of_all(_profile(300, 900, 8_500_000, 1_000.0), "a"), timedelta(days=1))
    profile = _of_all(_profile(300, 900, 12_000_000, 1_000.0), "b")
    (finding,) = run_rule(rule, profile, timeline=Timeline(previous=yesterday)).findings
    assert finding.impact is not None
    assert finding.impact.days_left is None
    assert finding.severity is Severity.NOTE


def test_critical_when_the_largest_size_is_reached_soon() -> None:
    before, profile = _profile(300, 900, 9_500_000, 950.0), _profile(300, 900, 10_000_000, 1_000.0)
    timeline = Timeline(previous=_audited(before, timedelta(days=1)))
    (finding,) = run_rule(rule, profile, timeline=timeline).findings
    assert finding.impact is not None
    assert finding.impact.days_left == pytest.approx(13.55, rel=0.01)
    assert finding.severity is Severity.CRITICAL
    # Yesterday, audited a quarter of an hour ago: what another sample contains is no growth of a day.
    timeline = Timeline(previous=_audited(before, timedelta(minutes=15)))
    (finding,) = run_rule(rule, profile, timeline=timeline).findings
    assert finding.impact is not None
    assert finding.impact.days_left is None


def test_longest_one_counts_even_if_another_is_longer_on_average() -> None:
    (finding,) = _found(100, 900)
    assert finding.main_contributor == "at.readings"


def test_vector_is_not_unbounded() -> None:
    assert _found(300, 300) == ()
    (finding,) = _found(300, 300, 10_000_000)
    assert finding.subject == Subject("main", "sensors")


def test_document_that_is_large_for_another_reason() -> None:
    assert _found(3, 9, LARGEST // 2 - 1) == ()
    (finding,) = _found(3, 9, 12_000_000)
    assert (finding.severity, finding.subject) == (Severity.NOTE, Subject("main", "sensors"))
    assert finding.message == "The largest document has 12 MB; the server rejects more than 16 MiB."
    assert '.getCollection("sensors").aggregate([{ $project: { bytes: { $bsonSize: "$$ROOT" } } }' in one_line(
        finding.fix
    )


def test_silence_without_arrays() -> None:
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb")).outcome is Outcome.PASS
