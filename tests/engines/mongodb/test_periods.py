"""NAM002: a collection or a database for each period."""

from __future__ import annotations

import dataclasses

import pytest

from tests.builders import DAY, NOW, a_profile
from tests.engines.mongodb.builders import a_collection, days
from tests.engines.mongodb.mongosh import one_line
from tests.rules.cases import run_rule, with_steps
from tsaudit.analysis.collection_families import CollectionFamily
from tsaudit.engines.mongodb.rules.closed_period_kept import closed_period_kept
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import Currency, Finding, Outcome, Severity
from tsaudit.model.profile import Database
from tsaudit.model.storage import DatabaseStorage
from tsaudit.rules.names.data_in_measurement_name import data_in_measurement_name as rule


def test_message_and_evidence() -> None:
    (finding,) = with_steps(rule, a_profile(*map(a_collection, days(20)), engine="mongodb"))
    assert finding.subject == Subject("main", "visits_{day}")
    assert finding.severity is Severity.NOTE
    assert finding.message == (
        "20 collections named visits_{day} contain 2,000 documents and should be collection visits and field period."
    )
    evidence = {e.label: e.value for e in finding.evidence}
    assert evidence["bytes of documents and indexes"] == "134 kB, measured"
    assert 'Write to visits with { period: "2026-03-12" } in each document' in one_line(finding.fix)
    assert "expireAfterSeconds" in finding.fix


def test_bytes_of_what_was_not_measured_follow_from_its_documents() -> None:
    names = sorted(days(21))
    members = [a_collection(name, data=3500 if i % 10 == 0 else None) for i, name in enumerate(names)]
    (finding,) = run_rule(rule, a_profile(*members, engine="mongodb")).findings
    assert finding.evidence[1].value == (
        "141 kB, 3 of 21 collections measured, the others estimated from their number of documents"
    )


@pytest.mark.costly
@pytest.mark.parametrize(
    ("count", "ends", "expected"),
    [
        # One more a day, a thousand in ninety days.
        (910, 0, Severity.WARNING),
        (909, 0, Severity.NOTE),
        (999, 2, Severity.NOTE),
        (1_000, 2, Severity.WARNING),
    ],
)
def test_cost_is_the_number_of_collections(count: int, ends: int, expected: Severity) -> None:
    names = days(count + ends)[ends:]
    (finding,) = run_rule(rule, a_profile(*map(a_collection, names), engine="mongodb")).findings
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.now) == (Currency.FAMILY, count)
    assert finding.impact.per_day == (0 if ends else 1)
    assert finding.severity is expected


def test_silence_when_they_prove_nothing() -> None:
    def found(*names: str) -> list[Severity]:
        return [f.severity for f in run_rule(rule, a_profile(*map(a_collection, names), engine="mongodb")).findings]

    assert found(*days(11)) == [Severity.NOTE]
    assert found(*days(2)) == []
    assert found("order_201210", "order_201305", "order_201907") == []


def test_silence_when_the_members_have_no_field_in_common() -> None:
    members = [a_collection(name, field=f"f{i}") for i, name in enumerate(days(12))]
    assert run_rule(rule, a_profile(*members, engine="mongodb")).outcome is Outcome.PASS


def test_family_stays_one_when_a_field_was_renamed_over_the_years() -> None:
    members = [a_collection(name, field="uid" if i < 4 else "user_id") for i, name in enumerate(sorted(days(12)))]
    assert len(run_rule(rule, a_profile(*members, engine="mongodb")).findings) == 1


def test_bytes_of_what_was_not_counted_follow_from_its_neighbours() -> None:
    names = sorted(days(21))
    members = [a_collection(n, data=3500 if i % 10 == 0 else None, documents=None) for i, n in enumerate(names)]
    (finding,) = run_rule(rule, a_profile(*members, engine="mongodb")).findings
    assert finding.message == "21 collections named visits_{day} should be collection visits and field period."
    assert (
        finding.evidence[1].value == "141 kB, 3 of 21 collections measured, the others estimated from their neighbors"
    )


def test_bytes_are_left_out_where_they_are_not_known() -> None:
    """Without the permission for $collStats; the names tell enough."""
    members = [dataclasses.replace(a_collection(name), storage=None) for name in days(20)]
    gap = Gap("storage", Reason.DENIED, "not authorized on main to execute command", "main")
    result = run_rule(rule, a_profile(*members, engine="mongodb", gaps=(gap,)))
    assert (result.outcome, result.gaps) == (Outcome.FAIL, ())
    (finding,) = result.findings
    assert finding.message == (
        "20 collections named visits_{day} contain 2,000 documents and should be collection visits and field period."
    )
    evidence = {e.label: e.value for e in finding.evidence}
    assert "bytes of documents and indexes" not in evidence
    assert run_rule(closed_period_kept, a_profile(*members, engine="mongodb")).findings == ()
    assert run_rule(rule, a_profile(a_collection("users"), engine="mongodb", gaps=(gap,))).outcome is Outcome.PASS


def test_family_is_gone_through_a_few_times_and_not_once_for_each_member(monkeypatch: pytest.MonkeyPatch) -> None:
    measured, times = CollectionFamily.measured, []
    monkeypatch.setattr(CollectionFamily, "measured", property(lambda f: times.append(f) or measured.fget(f)))
    assert len(run_rule(rule, a_profile(*map(a_collection, days(200)), engine="mongodb")).findings) == 1
    assert 0 < len(times) < 10


def test_database_for_each_period_is_told_too() -> None:
    def found(count: int) -> list[Finding]:
        names = [f"stats_2025_{m:02}" for m in range(1, count + 1)]
        users = [dataclasses.replace(a_collection("users"), database=name) for name in names]
        databases = tuple(Database(name, storage=DatabaseStorage(1000, 200, None, None)) for name in names)
        profile = a_profile(*users, engine="mongodb", databases=(*databases, Database("shop")))
        return list(run_rule(rule, profile).findings)

    (finding,) = found(12)
    assert (finding.subject, finding.severity) == (Subject("stats_{month}"), Severity.NOTE)
    assert finding.impact is not None
    assert (finding.impact.currency, finding.impact.now) == (Currency.FAMILY, 12)
    # The last one ended in December.
    assert finding.impact.per_day == 0
    assert finding.message == "12 databases named stats_{month} with 12 collections should be one."
    assert [e.value for e in finding.evidence] == ["2025-01-01 to 2025-12-01, each month"]
    assert found(2) == []


def test_families_of_one_thing_are_told_together() -> None:
    names = {*days(60), *days(60, "visits_%Gw%V"), *days(60, "logins_%Gw%V")}
    result = run_rule(rule, a_profile(*map(a_collection, sorted(names)), engine="mongodb"))
    beside = {f.subject.measurement: [e.value for e in f.evidence if "same" in e.label] for f in result.findings}
    assert beside == {
        "visits_{day}": ["visits_{week} (10)"],
        "visits_{week}": ["visits_{day} (60)"],
        "logins_{week}": [],
    }


def test_names_are_enough_when_nothing_else_is_known() -> None:
    assert run_rule(rule, a_profile(a_collection("a"), engine="mongodb")).outcome is Outcome.PASS
    unmeasured = [a_collection(name, documents=None, data=None) for name in days(20)]
    (finding,) = run_rule(rule, a_profile(*unmeasured, engine="mongodb")).findings
    assert finding.message == "20 collections named visits_{day} should be collection visits and field period."
    assert NOW.date() == DAY
