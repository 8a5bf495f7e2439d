"""Changes of several findings about one measurement: equal ones are one, of contradictory ones the first stays."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.planning.opposites import opposites
from tsaudit.model.change import AddIndex, Change, ChangeType, DropIndex, LeaveOut, MakeField, MakeTag, Rename
from tsaudit.model.figures import Subject
from tsaudit.model.finding import Finding, Outcome, RuleResult
from tsaudit.model.plan import Requested
from tsaudit.planning.plans import merge, without_contradictions
from tsaudit.rule import Family

AT = Subject("shop", "requests")


def _merged(*wanted: tuple[str, Change]) -> tuple[list[tuple[Change, tuple[str, ...]]], list[tuple[Change, str]]]:
    kept, left_out = merge(Requested(change, (rule,)) for rule, change in wanted)
    return [(one.change, one.rules) for one in kept], [(one.change, one.reason) for one in left_out]


def test_two_findings_that_ask_for_the_same_are_one_change() -> None:
    kept, left_out = _merged(("CAR001", MakeField(AT, "url")), ("TAG002", MakeField(AT, "url")))
    assert kept == [(MakeField(AT, "url"), ("CAR001", "TAG002"))]
    assert not left_out


def test_the_change_that_says_more_stays() -> None:
    typed, plain = ("TAG006", MakeField(AT, "load", "float")), ("TAG002", MakeField(AT, "load"))
    assert _merged(plain, typed)[0] == [(MakeField(AT, "load", "float"), ("TAG002", "TAG006"))]
    assert _merged(typed, plain)[0] == [(MakeField(AT, "load", "float"), ("TAG006", "TAG002"))]


def test_the_first_of_two_that_contradict_each_other_stays() -> None:
    kept, left_out = _merged(("CAR001", LeaveOut(AT, "region")), ("FLD001", MakeTag(AT, "region")))
    assert kept == [(LeaveOut(AT, "region"), ("CAR001",))]
    assert left_out == [
        (MakeTag(AT, "region"), "CAR001 asks for something else for the role of region, and comes first")
    ]
    kept, left_out = _merged(("STO001", DropIndex(AT, "i", ("host",))), ("STO007", AddIndex(AT, ("host",))))
    assert [rules for _, rules in kept] == [("STO001",)]
    assert left_out[0][1] == "STO001 asks for something else for the index of host, and comes first"


def test_what_says_more_is_left_out_where_it_contradicts_a_third_change() -> None:
    kept, left_out = _merged(
        ("TAG002", MakeField(AT, "load")),
        ("FLD002", ChangeType(AT, "load", "integer")),
        ("TAG006", MakeField(AT, "load", "float")),
    )
    assert [rules for _, rules in kept] == [("TAG002",), ("FLD002",)]
    assert left_out == [
        (MakeField(AT, "load", "float"), "FLD002 asks for something else for the type of load, and comes first")
    ]


def test_a_tag_that_another_change_relies_on_is_gone() -> None:
    relying, dropping = ("SRV003", MakeField(AT, "pod", tags_kept=("session",))), ("TAG002", MakeField(AT, "session"))
    kept, left_out = _merged(dropping, relying)
    assert kept == [(MakeField(AT, "session"), ("TAG002",))]
    assert left_out[0][1] == "it depends on the role of session, which TAG002 changes"
    kept, left_out = _merged(relying, dropping)
    assert [rules for _, rules in kept] == [("SRV003",)]
    assert left_out[0][1] == "SRV003 depends on the role of session"


def test_what_another_finding_asks_for_anyway_relies_on_nothing() -> None:
    kept, left_out = _merged(
        ("SRV003", MakeField(AT, "pod", tags_kept=("session",))),
        ("TAG001", MakeField(AT, "pod")),
        ("TAG002", MakeField(AT, "session")),
    )
    assert kept == [(MakeField(AT, "pod"), ("SRV003", "TAG001")), (MakeField(AT, "session"), ("TAG002",))]
    assert not left_out


_CHANGES = st.one_of(
    st.builds(MakeField, st.just(AT), st.sampled_from("abc"), st.sampled_from(("", "float", "integer"))),
    st.builds(LeaveOut, st.just(AT), st.sampled_from("abc")),
    st.builds(MakeTag, st.just(AT), st.sampled_from("abc")),
    st.builds(Rename, st.just(AT), st.sampled_from(("", "a", "b")), st.sampled_from("xy")),
    st.builds(ChangeType, st.just(AT), st.sampled_from("abc"), st.sampled_from(("float", "time"))),
)


@given(st.lists(st.tuples(st.sampled_from(("TAG001", "CAR001")), _CHANGES)))
def test_no_plan_holds_two_changes_that_contradict_each_other(wanted: list[tuple[str, Change]]) -> None:
    kept, left_out = _merged(*wanted)
    decided: dict[tuple[str, str], str] = {}
    for change, _ in kept:
        for claim, value in change.claims().items():
            assert decided.setdefault(claim, value) == value
    # Nothing that was asked for is gone without a word.
    said = {change for change, _ in kept} | {change for change, _ in left_out}
    for _, change in wanted:
        assert any(change.claims().items() <= one.claims().items() for one in said)


def _results(*wanted: tuple[str, Change]) -> list[RuleResult]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for number, (rule, change) in enumerate(wanted):
        at = replace(AT, column=str(number))
        found[rule].append(Finding(subject=at, message="It is so.", fix="Then it is gone.", changes=(change,)))
    return [
        RuleResult(code, code, "", Family.TAGS, (), Outcome.FAIL, tuple(findings)) for code, findings in found.items()
    ]


@given(st.lists(st.tuples(st.sampled_from(("TAG001", "CAR001")), _CHANGES)))
def test_no_two_findings_of_an_audit_ask_for_opposite_changes(wanted: list[tuple[str, Change]]) -> None:
    before = _results(*wanted)
    after = without_contradictions(before)
    assert opposites(after) == []
    for old, new in zip(before, after, strict=True):
        for asked, found in zip(old.findings, new.findings, strict=True):
            # What is not asked for anymore says why.
            assert found == asked or (not found.changes and found.fix.startswith("Not as long as "))


def test_a_name_of_a_tag_and_a_field_is_renamed_only_where_both_stay() -> None:
    named, made = Rename(AT, "zone", "zone_value", role="field"), MakeTag(AT, "zone")
    (first,), (second,) = (
        result.findings for result in without_contradictions(_results(("FLD001", made), ("NAM004", named)))
    )
    assert first.changes == (made,)
    assert (second.changes, second.fix) == ((), "Not as long as FLD001 asks for something else for the role of zone.")


def test_an_index_that_does_the_work_of_a_dropped_one_stays() -> None:
    first = ("STO002", DropIndex(AT, "by_page", ("at",), "brin", instead="by_time"))
    second = ("STO001", DropIndex(AT, "by_time", ("at", "host")))
    for wanted in ((first, second), (second, first)):
        kept, left_out = _merged(*wanted)
        assert [rules for _, rules in kept] == [(wanted[0][0],)]
        assert "the existence of by_time" in left_out[0][1]
