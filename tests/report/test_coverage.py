"""What was not audited, and the query_cost."""

from __future__ import annotations

import re
from dataclasses import replace

from tests.builders import a_finding, a_profile, a_result, a_rule_result
from tests.report import sample
from tsaudit.model.figures import Cost, Gap, Listed, Reason, Subject, UnusedSetting
from tsaudit.model.finding import Outcome
from tsaudit.report import html
from tsaudit.report.coverage import MOST_DETAILS, MOST_PLACES, coverage, query_cost

GAP = Gap("row_sample", Reason.TIMED_OUT, "the statement was cancelled", "main", "cpu")


def test_coverage_when_all_was_measured_is_complete() -> None:
    assert coverage(a_result(), a_profile()).complete


def test_gaps_are_grouped_by_fact_and_reason_most_first() -> None:
    many = tuple(Gap("row_sample", Reason.TIMED_OUT, "cancelled", "main", f"m{n}") for n in range(9))
    alone = Gap("retention", Reason.DENIED, "grant it.")
    found = coverage(a_result(), a_profile(gaps=(alone, *many)))
    assert [(g.fact, g.reason, g.count) for g in found.gaps] == [
        ("row_sample", Reason.TIMED_OUT, 9),
        ("retention", Reason.DENIED, 1),
    ]
    assert len(found.gaps[0].places) == MOST_PLACES
    assert found.gaps[1].places == ("(whole target)",)
    assert [g.detail for g in found.gaps] == ["Cancelled.", "Grant it."]
    assert not found.complete


def test_rules_are_told_apart_by_why_they_say_nothing() -> None:
    result = a_result(
        a_rule_result(code="CAR001", outcome=Outcome.OPEN, gaps=(GAP,)),
        a_rule_result(a_finding(), code="CAR002", gaps=(GAP,)),
        a_rule_result(code="CAR003", outcome=Outcome.ERROR, gaps=(GAP,)),
        a_rule_result(code="CAR004", outcome=Outcome.NOT_APPLICABLE),
        a_rule_result(code="CAR005"),
        replace(a_rule_result(code="CAR006", outcome=Outcome.NOT_APPLICABLE), switched_off=True),
    )
    found = coverage(result, None)
    assert [r.code for r in found.switched_off] == ["CAR006"]
    assert [r.code for r in found.open_rules] == ["CAR001", "CAR002"]
    assert [r.code for r in found.broken_rules] == ["CAR003"]
    assert [r.code for r in found.not_applicable] == ["CAR004"]
    assert found.gaps == ()
    assert found.missed == ()


def test_target_not_reached_is_no_broken_rule() -> None:
    found = coverage(sample.unreachable(), None)
    assert found.missed == (("The whole target", "The target could not be audited: connection refused."),)
    assert found.broken_rules == ()
    assert not found.complete


def test_one_database_that_was_not_audited_is_named() -> None:
    missed = a_rule_result(
        a_finding(Subject("b"), message="Database b could not be audited: no right"),
        code="TGT001",
        outcome=Outcome.ERROR,
        reason="b: no right",
    )
    found = coverage(a_result(a_rule_result(), missed), a_profile())
    assert found.missed == (("Database b", "Database b could not be audited: no right."),)
    assert found.broken_rules == ()
    assert not found.complete


def test_rules_that_no_longer_judge_are_a_finding_and_no_rule_that_judged() -> None:
    degraded = a_rule_result(a_finding(Subject(), message="2 rules that worked before are unknown."), code="TGT002")
    contents = sample.the_contents(result=a_result(a_rule_result(), degraded), profile=a_profile(), incidents=())
    page = html.page(contents)
    assert 'class="lead">2 rules that worked before are unknown</p>' in page
    assert "1 rule evaluated." in page
    assert not coverage(contents.result, a_profile()).complete


def test_settings_that_match_nothing_and_what_patterns_leave_out_are_on_the_page() -> None:
    profile = a_profile(
        unused_settings=(UnusedSetting("include", "<b>dsk*", "matches none of 3 tables, did you mean disk?"),),
        listed=(Listed("main", 42, 39, ("a", "b", "c")), Listed("whole", 3, 0)),
    )
    found = coverage(a_result(), profile)
    assert [one.database for one in found.left_out] == ["main"]
    assert found.complete, "a setting that does nothing leaves nothing unmeasured"
    page = html.page(sample.the_contents(result=a_result(), profile=profile, incidents=()))
    assert "&lt;b&gt;dsk*" in page
    assert "matches none of 3 tables, did you mean disk?" in page
    assert "39 of 42 tables" in page
    assert "a, b, c and 36 more" in " ".join(re.sub("<[^>]+>", "", page).split())


def test_cost_adds_up_most_expensive_first() -> None:
    profile = a_profile(costs=(Cost("row_count", 1, 0.5, 10, 100), Cost("databases", 2, 2.0, 5, None)), reused=4)
    assert query_cost(profile) == Cost("all", 3, 2.5, 15, 100)
    assert query_cost(a_profile()).bytes is None
    page = html.page(sample.the_contents(result=a_result(), profile=profile, incidents=()))
    assert page.index('<th scope="row"><code>databases') < page.index('<th scope="row"><code>row_count')
    assert "the expensive figures of 4 tables were reused" in page


def test_gaps_for_one_reason_are_told_apart_by_what_happened() -> None:
    def refused(table: str, words: str = "permission denied for table {}") -> Gap:
        return Gap("row_sample", Reason.DENIED, words.format(table), "main", table)

    hidden = refused("c", "row-level security policy for table {}")
    found = coverage(a_result(), a_profile(gaps=(hidden, refused("a"), refused("b")))).gaps
    assert [(g.count, g.detail, g.places) for g in found] == [
        (2, "Permission denied for table a.", ("main/a", "main/b")),
        (1, "Row-level security policy for table c.", ("main/c",)),
    ]
    of_each = [refused(f"t{i}", f"no statistics of {i} {{}}") for i in range(MOST_DETAILS + 1)]
    assert [g.count for g in coverage(a_result(), a_profile(gaps=tuple(of_each))).gaps] == [MOST_DETAILS + 1]


def test_what_rules_leave_out_is_listed() -> None:
    result = a_result(
        a_rule_result(code="TAG002", not_evaluated="2 tables with events (a and b)"),
        a_rule_result(code="TAG003", not_evaluated="all", outcome=Outcome.NOT_APPLICABLE),
        a_rule_result(code="TAG004"),
    )
    found = coverage(result, a_profile())
    assert ([r.code for r in found.in_part], found.complete) == (["TAG002"], True)
    page = html.page(sample.the_contents(result=result, profile=a_profile(), incidents=()))
    assert "1 rule leaves something out" in page
    assert "2 tables with events (a and b)" in page
