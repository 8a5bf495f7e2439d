"""Changes of several findings: same ones fall together, contradictions are resolved by the written rules."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tsaudit.model.change import (
    AddIndex,
    Change,
    ChangeType,
    DropIndex,
    Inspect,
    LeaveOut,
    MakeField,
    MakeTag,
    Merged,
    MergeMeasurements,
    Rename,
)
from tsaudit.model.finding import Severity
from tsaudit.model.subject import Subject
from tsaudit.planning.merging import Wanted, apart, merge, without_repeats

AT = Subject("shop", "requests")


def _merged(*wanted: Wanted) -> tuple[list[tuple[Change, tuple[str, ...]]], list[tuple[Change, str]]]:
    asked, aside = merge(wanted)
    return [(a.change, a.rules) for a in without_repeats(asked)], [(a.change, a.reason) for a in aside]


def _by(rule: str, change: Change, severity: Severity = Severity.WARN) -> Wanted:
    return Wanted(change, rule, severity)


def test_two_findings_that_ask_for_the_same_are_one_change() -> None:
    kept, aside = _merged(_by("TAG002", MakeField(AT, "url")), _by("CAR001", MakeField(AT, "url"), Severity.CRITICAL))
    assert kept == [(MakeField(AT, "url"), ("CAR001", "TAG002"))]
    assert not aside


def test_the_change_that_says_more_stays() -> None:
    kept, _ = _merged(_by("TAG002", MakeField(AT, "load")), _by("TAG006", MakeField(AT, "load", "float")))
    assert kept == [(MakeField(AT, "load", "float"), ("TAG002", "TAG006"))]


def test_what_is_dropped_and_made_is_left_alone() -> None:
    kept, aside = _merged(_by("STO001", DropIndex(AT, "i", ("host",))), _by("STO007", AddIndex(AT, ("host",))))
    assert not kept
    assert [reason for _, reason in aside] == [
        "STO007 asks for something else for the index of host: decide between the two, then audit again",
        "STO001 asks for something else for the index of host: decide between the two, then audit again",
    ]


def test_the_worse_finding_decides() -> None:
    kept, aside = _merged(
        _by("FLD001", MakeTag(AT, "region"), Severity.INFO), _by("CAR001", LeaveOut(AT, "region"), Severity.CRITICAL)
    )
    assert kept == [(LeaveOut(AT, "region"), ("CAR001",))]
    assert aside == [
        (MakeTag(AT, "region"), "CAR001 asks for something else for the role of region: its finding is worse")
    ]


def test_a_tag_that_another_change_relies_on_is_gone() -> None:
    kept, aside = _merged(
        _by("LAY002", MakeField(AT, "pod", tags_kept=("session",))), _by("TAG002", MakeField(AT, "session"))
    )
    assert kept == [(MakeField(AT, "session"), ("TAG002",))]
    assert aside[0][1] == "it depends on the role of session, which TAG002 changes: do that first, then audit again"


def test_what_another_finding_asks_for_anyway_relies_on_nothing() -> None:
    kept, aside = _merged(
        _by("LAY002", MakeField(AT, "pod", tags_kept=("session",))),
        _by("TAG002", MakeField(AT, "session")),
        _by("TAG001", MakeField(AT, "pod")),
    )
    assert [(change.claims(), rules) for change, rules in kept] == [
        ({("role", "pod"): "field"}, ("LAY002", "TAG001")),
        ({("role", "session"): "field"}, ("TAG002",)),
    ]
    assert not aside


_CHANGES = st.one_of(
    st.builds(MakeField, st.just(AT), st.sampled_from("abc"), st.sampled_from(("", "float", "integer"))),
    st.builds(LeaveOut, st.just(AT), st.sampled_from("abc")),
    st.builds(MakeTag, st.just(AT), st.sampled_from("abc")),
    st.builds(Rename, st.just(AT), st.sampled_from(("", "a", "b")), st.sampled_from("xy")),
    st.builds(ChangeType, st.just(AT), st.sampled_from("abc"), st.sampled_from(("float", "time"))),
)


@given(st.lists(st.tuples(_CHANGES, st.sampled_from(("TAG001", "CAR001")), st.sampled_from(list(Severity)))))
def test_no_plan_holds_two_changes_that_contradict_each_other(wanted: list[tuple[Change, str, Severity]]) -> None:
    kept, aside = _merged(*(Wanted(*one) for one in wanted))
    decided: dict[tuple[str, str], str] = {}
    for change, _ in kept:
        for claim, value in change.claims().items():
            assert decided.setdefault(claim, value) == value
    # Nothing that was asked for is gone without a word.
    said = {change for change, _ in kept} | {change for change, _ in aside}
    for change, _, _ in wanted:
        assert any(change.claims().items() <= one.claims().items() for one in said)


def _wanted(*ones: Wanted) -> dict[Subject, list[Wanted]]:
    found: dict[Subject, list[Wanted]] = {}
    for one in ones:
        found.setdefault(one.change.at, []).append(one)
    return found


_MERGE = MergeMeasurements(
    Subject("shop"), "visits", "visits_{day}", (Merged("visits_01", ()), Merged("visits_02", ()))
)
_MEMBER, _OTHER = Subject("shop", "visits_02"), Subject("shop", "orders")


def test_what_is_merged_is_not_changed_as_well() -> None:
    other, look = _by("TAG002", MakeField(_OTHER, "id")), _by("DRF001", Inspect(_MEMBER, "schema"))
    found = apart(_wanted(_by("NAM002", _MERGE), _by("RET001", MakeField(_MEMBER, "id"), Severity.INFO), other, look))
    assert found.wanted == {Subject("shop"): (_by("NAM002", _MERGE),), _MEMBER: (look,), _OTHER: (other,)}
    assert [one.reason for one in found.aside[_MEMBER]] == [
        "NAM002 merges it into visits: do that first, then audit again"
    ]


def test_what_a_worse_finding_wants_changed_is_not_merged() -> None:
    urgent = _by("CAR001", MakeField(_MEMBER, "id"), Severity.CRITICAL)
    found = apart(_wanted(_by("NAM002", _MERGE), urgent))
    assert found.wanted == {Subject("shop"): (), _MEMBER: (urgent,)}
    assert [one.reason for one in found.aside[Subject("shop")]] == [
        "CAR001 wants visits_02 changed, and its finding is worse: do that first"
    ]
