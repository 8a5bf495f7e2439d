"""What was not audited, read off profiles made by hand: the whole target, some of its databases, or nothing of it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from importlib import import_module

import pytest

from tests.alerts.builders import a_context, an_incident
from tests.builders import DAY, a_finding, a_measurement, a_profile, a_result, a_rule_result
from tsaudit.alerts import message
from tsaudit.evaluation import evaluate, required_facts
from tsaudit.model.facts import FACTS, STRUCTURE, Scope
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import UNREACHABLE_CODE, AuditResult, Finding, Outcome, Verdict
from tsaudit.model.profile import Database, Measurement, Profile
from tsaudit.model.timeline import Timeline
from tsaudit.not_audited import after_failure, most_lost, outcomes_of, whole
from tsaudit.rule import Case, Rule
from tsaudit.rules import all_rules, rules_for
from tsaudit.text.findings import sentence

ABOUT_DATABASES = sorted(name for name, fact in FACTS.items() if fact.scope is not Scope.TARGET)


def nothing(*gaps: Gap, **changes: object) -> Profile:
    """A profile in which no measurement is."""
    return a_profile(**{"measurements": (), "databases": (Database("main"),), "gaps": gaps} | changes)


def in_all(reason: Reason, detail: str, database: str | None = "main") -> tuple[Gap, ...]:
    """The gaps that a listing leaves that failed: one in every fact."""
    return tuple(Gap(fact, reason, detail, database) for fact in ABOUT_DATABASES)


def missed(result: AuditResult) -> list[tuple[Subject, str]]:
    return [(f.subject, f.message) for f in result.not_audited.findings] if result.not_audited else []


def test_a_target_that_was_seen_was_audited() -> None:
    result = evaluate(a_profile())
    assert result.not_audited is None
    assert len(result.results) == len(rules_for(result.engine))


@pytest.mark.parametrize("reason", list(Reason))
@pytest.mark.parametrize("database", [None, "main"], ids=["databases", "measurements"])
def test_a_list_that_was_not_had_leaves_the_target_unaudited(reason: Reason, database: str | None) -> None:
    result = evaluate(nothing(*in_all(reason, "the password was refused", database)))
    assert missed(result) == [(Subject(), "The target could not be audited: the password was refused")]
    assert result.verdict is Verdict.UNKNOWN
    assert [r.code for r in result.results] == ["TGT001"], "the rules would all say the same"
    assert result.not_audited is not None
    assert result.not_audited.reason == "the password was refused"
    assert result.not_audited.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("cause", "begins"),
    [
        (
            "the server requires a login (HTTP 401); check `password` of the target",
            "Check `password` of the target. Run",
        ),
        ("db7 does not respond (timed out); is the address correct?", "Is the address correct? Run `tsaudit check`"),
        ("the connection broke", "Run `tsaudit check`"),
        ("no right; no table; and 3 more", "Run `tsaudit check`"),
    ],
)
def test_the_owner_reads_what_the_error_advises(cause: str, begins: str) -> None:
    """`tsaudit check` only shows the same error again."""
    assert whole(cause).message == f"The target could not be audited: {cause}"
    assert whole(cause).fix.startswith(begins)


def test_a_target_of_which_nothing_may_be_read_is_not_to_be_excluded_table_by_table() -> None:
    bare = [replace(a_measurement(name, tags={}, fields=(), series=None, time_column=None), rows=None) for name in "ab"]
    gaps = tuple(Gap("columns", Reason.DENIED, "no SELECT", "main", m.name, "GRANT SELECT ON b TO x") for m in bare)
    result = evaluate(a_profile(*bare, gaps=gaps))
    assert result.not_audited is not None
    (finding,) = result.not_audited.findings
    assert "GRANT SELECT ON b TO x" in finding.message
    assert "exclude" not in finding.message
    assert "remove the target from tsaudit.yaml" in finding.fix


def test_the_cause_is_that_of_the_first_list_and_not_what_follows_from_it() -> None:
    gaps = [Gap("databases", Reason.DENIED, "no right to list"), *in_all(Reason.OVER_BUDGET, "out of time")]
    (found,) = missed(evaluate(nothing(*gaps)))
    assert found[1].endswith("audited: no right to list")


def test_many_causes_are_one_line() -> None:
    gaps = [gap for name in "abcd" for gap in in_all(Reason.DENIED, f"no right on {name}", name)]
    (found,) = missed(evaluate(nothing(*gaps, databases=tuple(Database(name) for name in "abcd"))))
    assert found[1].endswith("audited: no right on a; no right on b; and 2 more")


def test_no_measurement_is_not_ok_even_without_a_gap() -> None:
    result = evaluate(nothing())
    assert missed(result) == [(Subject(), "The target could not be audited: no measurement could be read")]
    assert result.verdict is Verdict.UNKNOWN


def test_an_emptied_server_is_compared_with_the_day_before() -> None:
    gaps = in_all(Reason.NOTHING_THERE, "there is nothing to audit: no table in schema main")
    before = a_profile(a_measurement("a"), a_measurement("b"), day=DAY)
    (found,) = missed(evaluate(nothing(*gaps), Timeline(before)))
    assert found[1].endswith(f"no table in schema main; on {DAY} 2 tables were audited")
    (new,) = missed(evaluate(nothing(*gaps), Timeline()))
    assert new[1].endswith("no table in schema main")


def test_one_database_of_several_is_named() -> None:
    gaps = in_all(Reason.DENIED, "no right on other", "other")
    result = evaluate(a_profile(gaps=gaps, databases=(Database("main"), Database("other"))))
    assert missed(result) == [(Subject("other"), "Schema other could not be audited: no right on other")]
    assert result.not_audited is not None
    assert result.not_audited.reason == "other: no right on other"
    assert len(result.results) == len(rules_for(result.engine)) + 1, "the rules judged the rest"


def test_a_database_without_measurements_and_without_a_gap_is_merely_new() -> None:
    assert evaluate(a_profile(databases=(Database("main"), Database("fresh")))).not_audited is None


def test_measurements_of_which_nothing_was_described_were_not_seen() -> None:
    bare = [Measurement("main", name, None, (), ()) for name in ("a", "b")]
    gaps = tuple(Gap("columns", Reason.DENIED, "may not be described", "main", m.name) for m in bare)
    assert missed(evaluate(a_profile(*bare, gaps=gaps)))[0][0] == Subject()
    both = a_profile(*bare, a_measurement(database="seen"), gaps=gaps)
    assert missed(evaluate(both)) == [(Subject("main"), "Schema main could not be audited: may not be described")]
    assert evaluate(a_profile(*bare, a_measurement("c"), gaps=gaps)).not_audited is None


def test_a_table_without_columns_was_looked_at() -> None:
    assert evaluate(a_profile(Measurement("main", "empty", None, (), ()))).not_audited is None


def test_measurements_beyond_the_budget_leave_those_within_it_audited() -> None:
    gaps = in_all(Reason.OVER_BUDGET, "1 of 10,001 measurements were skipped")
    result = evaluate(a_profile(gaps=gaps))
    assert result.not_audited is None
    assert result.verdict is Verdict.UNKNOWN


def test_a_gap_in_one_measurement_of_two_leaves_the_target_audited() -> None:
    gaps = tuple(Gap(fact, Reason.DENIED, "no right on b", "main", "b") for fact in ABOUT_DATABASES)
    assert evaluate(a_profile(a_measurement("a"), a_measurement("b"), gaps=gaps)).not_audited is None


def test_no_rule_could_judge_what_was_seen() -> None:
    facts = required_facts("duckdb")
    gaps = tuple(Gap(fact, Reason.DENIED, "no SELECT", "main") for fact in sorted(facts))
    (found,) = missed(evaluate(a_profile(gaps=gaps)))
    assert found == (Subject(), "No rule could be evaluated on the target: no SELECT")


def test_all_rules_broke(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(case: Case) -> list[object]:
        raise ZeroDivisionError("division by zero")

    broken = tuple(replace(rule, check=breaks) for rule in all_rules())
    monkeypatch.setattr(import_module("tsaudit.evaluation"), "rules_for", lambda _: broken)
    result = evaluate(a_profile())
    (found,) = missed(result)
    assert found[1].startswith("No rule could be evaluated on the target: ")
    assert found[1].endswith(" broke: ZeroDivisionError: division by zero")


def test_a_server_that_went_away_midway_is_said_once() -> None:
    gap = Gap("series_listing", Reason.UNREACHABLE, "the server no longer answers", "main", "cpu")
    beside = in_all(Reason.UNREACHABLE, "the server no longer answers", "other")
    result = evaluate(a_profile(gaps=(gap, *beside)))
    assert missed(result) == [
        (Subject(), "The target became unreachable during the audit: the server no longer answers")
    ]


def test_chosen_rules_alone_are_asked_for_alone() -> None:
    rule: Rule = all_rules()[0]
    (only,) = evaluate(nothing(*in_all(Reason.DENIED, "no")), rules=[rule]).results
    assert only.code == rule.code


def test_what_counts_as_structure_is_ordered() -> None:
    """A fact that is added to the structure needs its place among the causes, or the first gap wins by chance."""
    from tsaudit.not_audited import _ORDER

    assert set(_ORDER) == STRUCTURE


def test_an_outcome_of_error_never_reads_as_judged() -> None:
    result = evaluate(nothing(*in_all(Reason.FAILED, "cut off")))
    assert {r.outcome for r in result.results} == {Outcome.ERROR}


def of_tables(read: str, *gaps: Gap, listed: str = "") -> Profile:
    """A profile with a table for each letter; only the catalog has those in `listed`."""
    made = [a_measurement(name, statements={"row_count": "SELECT"}) for name in read]
    return a_profile(*made, *(replace(a_measurement(name), series=None) for name in listed), gaps=gaps)


def denied(name: str) -> Gap:
    return Gap("row_count", Reason.DENIED, "no SELECT", "main", name)


@pytest.mark.parametrize(
    ("before", "profile", "lost"),
    [
        ("abc", of_tables("a", denied("b"), denied("c"), listed="bc"), True),
        ("abcd", of_tables("ab", denied("c"), denied("d"), listed="cd"), False),
        ("abc", of_tables("a", Gap("measurements", Reason.TIMED_OUT, "no SELECT", "main")), True),
        ("abc", of_tables("a", Gap("measurements", Reason.TIMED_OUT, "no SELECT", "other")), False),
        ("abc", of_tables("a"), False),
    ],
    ids=["denied", "half of them denied", "not listed", "another database not listed", "dropped"],
)
def test_a_later_audit_of_the_day_lost_most_of_what_the_earlier_one_measured(
    before: str, profile: Profile, lost: bool
) -> None:
    found = most_lost(profile, of_tables(before))
    assert (found is not None) is lost
    if found:
        said = "only 1 of 3 tables could be measured: no SELECT"
        assert (found.subject, found.message) == (Subject(), f"The target could not be audited: {said}")


def test_tables_beyond_a_smaller_budget_are_not_lost() -> None:
    gap = Gap("measurements", Reason.OVER_BUDGET, "raise budget.max_measurements", "main")
    assert most_lost(replace(of_tables("a", gap), beyond_budget={"main": ("b", "c")}), of_tables("abc")) is None


def test_a_day_on_which_a_later_audit_failed_keeps_what_was_found_and_says_both() -> None:
    earlier = a_result(a_rule_result(a_finding()), a_rule_result(code="CAR002"))
    failed = replace(
        evaluate(nothing(*in_all(Reason.FAILED, "the disk is full"))),
        audited_at=earlier.audited_at + timedelta(hours=2),
    )
    once = after_failure(earlier, failed)
    twice = after_failure(once, replace(failed, audited_at=failed.audited_at + timedelta(hours=2)))
    assert once.results[:2] == twice.results[:2] == earlier.results
    assert [len(r.findings) for r in twice.results if r.code == UNREACHABLE_CODE] == [1]
    assert (once.audited_at, once.failed_at) == (earlier.audited_at, failed.audited_at)
    assert once.failure is not None
    assert once.failure.message == (
        f"The target could not be audited: the disk is full. That was at {failed.audited_at:%Y-%m-%d %H:%M} UTC; "
        f"the figures and all other findings of the day are from {earlier.audited_at:%Y-%m-%d %H:%M} UTC."
    )
    assert once.verdict is earlier.verdict
    assert (once.verdict_of("cardinality"), once.verdict_of("tags")) == (earlier.verdict_of("cardinality"), None)
    assert outcomes_of(once) == outcomes_of(earlier)
    passed = after_failure(a_result(a_rule_result()), failed)
    assert (passed.verdict, passed.verdict_of("cardinality")) == (Verdict.UNKNOWN, Verdict.UNKNOWN)


def test_a_message_about_a_failed_audit_gives_the_cause_once() -> None:
    """Also if the cause ends as a question: no period follows it."""
    cause = "nothing listens on db:5432 (connection refused): is PostgreSQL running there?"
    failed = evaluate(nothing(*in_all(Reason.UNREACHABLE, cause)))
    failure = after_failure(a_result(a_rule_result()), failed).failure
    assert failure is not None
    alert = message.alert(a_context(), [an_incident(failure)]).readable()
    assert alert.count(cause) == 1
    assert re.search(r"\n *That was at ", alert)
    assert "?." not in alert + sentence(failure) + sentence(replace(failure, message=f"{cause}."))


def test_a_database_that_the_earlier_audit_missed_stays_missed() -> None:
    database = Finding(Subject("other"), "Database other could not be audited: denied")
    earlier = a_result(a_rule_result(), a_rule_result(database, code=UNREACHABLE_CODE, outcome=Outcome.ERROR))
    found = after_failure(earlier, evaluate(nothing(*in_all(Reason.FAILED, "gone"))))
    assert [subject for subject, _ in missed(found)] == [Subject(), Subject("other")]
