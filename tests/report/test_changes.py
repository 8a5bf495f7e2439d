"""What is said to have changed, and what is not."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.builders import DAY, a_field, a_finding, a_measurement, a_profile, a_result, a_rule_result, a_tag
from tsaudit.model.figures import Subject
from tsaudit.model.finding import AuditResult, Outcome, RuleResult, Severity, Verdict
from tsaudit.model.profile import FOREVER, Database, Gap, Profile, Reason, Retention, Selection
from tsaudit.report.changes import SchemaChange, compare, schema_changes

MEM = Subject("main", "mem")


def before(*results: RuleResult) -> AuditResult:
    return a_result(*results, day=DAY - timedelta(days=1))


def test_compare_when_nothing_moved_finds_nothing() -> None:
    result = a_result(a_rule_result(a_finding()))
    changes = compare(replace(result, day=DAY - timedelta(days=1)), result)
    assert not changes.any
    assert changes.day_before == DAY - timedelta(days=1)


def test_compare_tells_new_gone_and_severity_apart() -> None:
    stays = a_finding()
    changes = compare(
        before(a_rule_result(stays, a_finding(MEM))),
        a_result(a_rule_result(replace(stays, severity=Severity.CRITICAL), a_finding(Subject("main", "disk")))),
    )
    assert [c.finding.subject.measurement for c in changes.new] == ["disk"]
    assert [c.finding.subject.measurement for c in changes.gone] == ["mem"]
    assert [(c.before, c.finding.severity) for c in changes.severity] == [(Severity.WARNING, Severity.CRITICAL)]
    assert (changes.raised, changes.lowered) == (changes.severity, ())
    assert (changes.verdict_before, changes.verdict) == (Verdict.WARNING, Verdict.CRITICAL)
    assert changes.any


@pytest.mark.parametrize(
    "now",
    [
        a_rule_result(outcome=Outcome.ERROR, reason="broke"),
        a_rule_result(outcome=Outcome.OPEN, gaps=(Gap("row_sample", Reason.DENIED, "no", "main", "mem"),)),
        a_rule_result(code="NAM001"),
    ],
    ids=["broken", "open", "missing"],
)
def test_compare_when_the_rule_was_not_judged_does_not_say_gone(now: RuleResult) -> None:
    changes = compare(before(a_rule_result(a_finding(MEM))), a_result(now))
    assert changes.gone == ()
    assert [c.finding.subject for c in changes.not_evaluated] == [MEM]


def test_compare_when_two_findings_are_alike_keeps_the_worse() -> None:
    worse = a_finding(severity=Severity.CRITICAL)
    changes = compare(before(a_rule_result(a_finding(), worse)), a_result(a_rule_result(worse)))
    assert changes.severity == ()


def schema(now: Profile, old: Profile) -> list[tuple[str, str, str, str]]:
    return [(c.kind, c.what, str(c.subject), c.detail) for c in schema_changes(old, now)]


def test_schema_change_of_each_kind() -> None:
    old = a_profile(
        a_measurement("cpu", tags=(a_tag("host"), a_tag("rack")), fields=(a_field("usage"), a_field("idle"))),
        a_measurement("mem"),
    )
    now = a_profile(
        a_measurement(
            "cpu", tags=(a_tag("host"),), fields=(a_field("usage", ("integer",)), a_field("rack"), a_field("new"))
        ),
        a_measurement("disk"),
    )
    assert schema(now, old) == [
        ("gone", "field", "main/cpu.idle", "float"),
        ("new", "field", "main/cpu.new", "float"),
        ("changed", "role", "main/cpu.rack", "tag → field"),
        ("changed", "type", "main/cpu.usage", "float → integer"),
        ("new", "measurement", "main/disk", "1 tag, 1 field"),
        ("gone", "measurement", "main/mem", ""),
    ]


@pytest.mark.parametrize(
    "gap",
    [
        Gap("measurements", Reason.TIMED_OUT, "cancelled"),
        Gap("columns", Reason.DENIED, "no", "main"),
        Gap("databases", Reason.UNREACHABLE, "gone"),
    ],
)
def test_schema_when_not_wholly_seen_calls_nothing_gone(gap: Gap) -> None:
    old = a_profile(a_measurement("cpu", fields=(a_field("usage"), a_field("idle"))), a_measurement("mem"))
    now = a_profile(a_measurement("cpu", fields=(a_field("usage"),)), gaps=(gap,))
    assert schema(now, old) == []


@pytest.mark.parametrize(
    "gap",
    [
        Gap("measurements", Reason.OVER_BUDGET, "1 of 2 not looked at", "main"),
        Gap("databases", Reason.UNREACHABLE, "gone"),
    ],
)
def test_schema_when_not_wholly_seen_before_calls_nothing_new(gap: Gap) -> None:
    old = a_profile(a_measurement("cpu", fields=(a_field("usage"),)), gaps=(gap,))
    now = a_profile(a_measurement("cpu", fields=(a_field("usage"), a_field("idle"))), a_measurement("mem"))
    assert schema(now, old) == []


def test_schema_when_the_patterns_changed_calls_nothing_new_or_gone() -> None:
    both = a_profile(a_measurement("cpu"), a_measurement("mem"))
    fewer = a_profile(a_measurement("cpu"), selection=Selection(exclude=("mem",)))
    assert schema(fewer, both) == []
    assert schema(both, fewer) == []


def test_schema_when_one_measurement_was_not_seen_still_judges_the_others() -> None:
    old = a_profile(a_measurement("cpu", fields=(a_field("a"), a_field("b"))), a_measurement("mem"))
    now = a_profile(
        a_measurement("cpu", fields=(a_field("a"),)), gaps=(Gap("field_types", Reason.DENIED, "no", "main", "cpu"),)
    )
    assert schema(now, old) == [("gone", "measurement", "main/mem", "")]


def test_retention_when_shortened_is_a_change() -> None:
    def kept(seconds: int | str) -> Profile:
        policy = Retention("auto", seconds, None, True)
        return a_profile(databases=(Database("main", None, (policy,)),))

    assert list(schema_changes(kept(FOREVER), kept(2_592_000))) == [
        SchemaChange("changed", "retention", Subject("main"), "auto: no retention, default → 30 days, default")
    ]
    assert list(schema_changes(kept(FOREVER), kept(FOREVER))) == []


def test_retention_of_a_table_when_it_is_lengthened_is_a_change() -> None:
    def kept(seconds: int | str) -> Profile:
        return a_profile(a_measurement(retention=Retention("ttl", seconds, None, True)))

    assert list(schema_changes(kept(86_400), kept(FOREVER))) == [
        SchemaChange("changed", "retention", Subject("main", "cpu"), "1 day → no retention")
    ]
    assert list(schema_changes(kept(86_400), kept(86_400))) == []
    assert list(schema_changes(a_profile(a_measurement()), kept(86_400))) == []
