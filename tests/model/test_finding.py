"""The order of findings, and whether a result is complete."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_finding, a_profile, a_result, a_rule_result
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import (
    RULELESS_CODES,
    Currency,
    Finding,
    Forecast,
    Impact,
    Limit,
    Outcome,
    RuleResult,
    Severity,
    first_limit,
    ordered,
    worst_first,
)

LIMIT = Limit("x.y", 10.0, "series", "house", "default")
GAP = Gap("row_count", Reason.DENIED, "no right to read", "main")


def test_findings_come_by_severity_then_series_then_excess_then_rule_and_subject() -> None:
    expected = [
        a_finding(Subject("main", "bad"), Severity.CRITICAL),
        a_finding(Subject("main", "large"), affected_series=1000.0),
        a_finding(Subject("main", "far"), observed=99.0, limit=LIMIT),
        a_finding(Subject("main", "near"), observed=11.0, limit=LIMIT),
        a_finding(Subject("main", "a")),
        a_finding(Subject("main", "b")),
        a_finding(Subject("main", "note"), Severity.NOTE, affected_series=10.0**6),
    ]
    for found in (expected, expected[::-1]):
        assert [finding for _, finding in ordered([a_rule_result(*found)])] == expected


def _fills(name: str, days_left: float | None, severity: Severity = Severity.WARNING) -> Finding:
    impact = Impact(Currency.LIMIT, now=1, whole=9, days_left=days_left)
    return a_finding(Subject("main", name), severity, impact=impact)


def test_findings_with_days_left_come_first_among_those_as_severe() -> None:
    far, most = _fills("far", 61.0), a_finding(Subject("main", "most"), affected_series=10.0**6)
    found = [most, far, _fills("soon", 31.0), _fills("ended", -2.0), _fills("note", 1.0, Severity.NOTE)]
    names = [finding.subject.measurement for _, finding in ordered([a_rule_result(*found)])]
    assert names == ["ended", "soon", "most", "far", "note"]


@pytest.mark.parametrize(
    ("finding", "left"),
    [
        (_fills("a", None), None),
        (_fills("a", 31.0), 31.0),
        (_fills("a", -2.0), 0.0),
        (replace(_fills("a", 31.0), forecast=Forecast(10.0, 9.0, None, None, 0.1, None, "steady", False)), 9.0),
        (replace(_fills("a", 31.0), observed=LIMIT.value, limit=LIMIT, unit=LIMIT.unit), 0.0),
        (a_finding(), None),
    ],
)
def test_days_left_are_those_of_whatever_ends_first(finding: Finding, left: float | None) -> None:
    assert finding.days_left == left


def test_first_limit_is_a_warning_that_is_reached_within_a_year() -> None:
    """The metrics, the index, and Dagster plot the same number, on which decades would hide what approaches."""
    far, note = _fills("far", 366.0), _fills("note", 1.0, Severity.NOTE)
    assert first_limit([far, note, a_finding()]) is None
    assert first_limit([far, note, _fills("soon", 31.0), _fills("later", 365.0)]) == 31.0


def test_severity_of_an_incident_goes_before_that_of_its_finding() -> None:
    mild = a_finding()
    assert worst_first("CAR001", mild, Severity.CRITICAL) < worst_first("CAR001", mild)


NUMBERS = st.none() | st.floats(allow_nan=True)


@given(st.lists(st.tuples(st.sampled_from(list(Severity)), NUMBERS, st.sampled_from("abc")), max_size=5))
def test_order_of_any_findings_is_that_of_their_parts_alone(parts: list[tuple[Severity, float | None, str]]) -> None:
    found = [a_finding(Subject("main", name), s, observed=n, limit=LIMIT) for s, n, name in parts]
    orders = {
        tuple(worst_first("X", f) for _, f in ordered([a_rule_result(*some, code="X")]))
        for some in itertools.permutations(found)
    }
    assert len(orders) <= 1


def test_what_was_measured_in_full_is_complete() -> None:
    assert a_result(a_rule_result(), a_rule_result(a_finding())).is_complete(a_profile())
    assert a_result(a_rule_result(outcome=Outcome.NOT_APPLICABLE)).is_complete(a_profile())


@pytest.mark.parametrize(
    "lacking",
    [
        a_rule_result(outcome=Outcome.OPEN, gaps=(GAP,)),
        a_rule_result(outcome=Outcome.OPEN),
        a_rule_result(outcome=Outcome.ERROR, reason="KeyError: 'x'"),
        a_rule_result(a_finding(), gaps=(GAP,)),
        *(a_rule_result(a_finding(), code=code) for code in RULELESS_CODES),
    ],
    ids=lambda rule: f"{rule.code}-{rule.outcome}",
)
def test_what_lacks_something_is_not(lacking: RuleResult) -> None:
    assert not a_result(a_rule_result(), lacking).is_complete(a_profile())


def test_nor_is_what_has_a_gap_that_no_rule_needs_or_no_profile() -> None:
    assert not a_result(a_rule_result()).is_complete(a_profile(gaps=(GAP,)))
    assert not a_result(a_rule_result()).is_complete(None)


def test_a_figure_that_is_no_number_breaks_no_order() -> None:
    finding: Finding = a_finding(observed=math.nan, limit=LIMIT)
    assert worst_first("X", finding) == worst_first("X", a_finding())
