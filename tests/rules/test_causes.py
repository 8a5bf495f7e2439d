"""One finding per cause: what follows from another finding, and what is alike in many places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.rules.cases import run_rule
from tsaudit.config.settings import Harm
from tsaudit.model.change import Diagnose, Merged, MergeMeasurements
from tsaudit.model.figures import Subject
from tsaudit.model.finding import (
    Currency,
    Evidence,
    Finding,
    Forecast,
    Impact,
    Outcome,
    RuleResult,
    Severity,
    Verdict,
)
from tsaudit.model.profile import Profile
from tsaudit.rule import Reach, Rule
from tsaudit.rules import all_rules, rule_named
from tsaudit.rules.causes import one_per_cause
from tsaudit.rules.tags.unbounded_tag import unbounded_tag

INFO, WARN, CRITICAL = Severity.NOTE, Severity.WARNING, Severity.CRITICAL


def _rule(code: str, **follows_from: Reach) -> Rule:
    some = rule_named("TAG002")
    assert some is not None
    return replace(some, code=code, follows_from=follows_from)


def _at(place: str, severity: Severity = WARN, **changes: object) -> Finding:
    """`place`: measurement, or measurement.column."""
    measurement, _, column = place.partition(".")
    return replace(Finding(Subject("main", measurement, column), f"{place} is bad.", severity=severity), **changes)


def _result(code: str, *findings: Finding) -> RuleResult:
    return RuleResult(code, code.lower(), code, "tags", (), Outcome.FAIL if findings else Outcome.PASS, findings)


def _judged(
    results: Sequence[RuleResult], rules: Sequence[Rule], profile: Profile | None = None
) -> dict[str, RuleResult]:
    return {result.code: result for result in one_per_cause(profile or a_profile(), rules, results, Harm())}


def test_what_follows_from_a_finding_becomes_its_evidence() -> None:
    rules = (_rule("AAA001"), _rule("BBB001", AAA001=Reach.SUBJECT))
    found = _judged((_result("AAA001", _at("m.id")), _result("BBB001", _at("m.id"), _at("m.other"))), rules)
    (cause,) = found["AAA001"].findings
    assert [(e.label, e.value) for e in cause.evidence] == [("also BBB001", "m.id is bad.")]
    assert [f.subject.column for f in found["BBB001"].findings] == ["other"]


def test_what_follows_and_says_the_same_is_said_once() -> None:
    rules = (_rule("AAA001"), _rule("BBB001", AAA001=Reach.SUBJECT))
    alike = [_at(f"m{n}.v", message="Field v is bad.") for n in range(32)]
    asked = tuple(Diagnose(Subject("main", f"m{n}"), "types", "v") for n in range(33))
    cause = replace(_at("m"), subject=Subject("main"), changes=asked)
    found = _judged((_result("AAA001", cause), _result("BBB001", *alike, _at("m32.v"))), rules)
    assert found["AAA001"].findings[0].evidence == (
        Evidence("also BBB001", "32 times: Field v is bad."),
        Evidence("also BBB001", "m32.v is bad."),
    )


def test_of_two_notes_the_one_that_costs_something_says_why() -> None:
    """Names are a habit, and the limit that they use up is why it matters."""
    rules = (_rule("AAA001"), _rule("BBB001", AAA001=Reach.SUBJECT))
    limit = Impact(Currency.LIMIT, 60.0, whole=100.0)
    near = _at("m", Severity.NOTE, impact=limit, severity_reason="60% of the limit")
    style = _at("m", Severity.NOTE, severity_reason="it costs nothing that can be measured")
    (kept,) = _judged((_result("AAA001", style), _result("BBB001", near)), rules)["AAA001"].findings
    assert (kept.severity_reason, kept.impact) == ("60% of the limit", limit)


def test_rule_whose_findings_all_follow_from_others_passes_and_says_why() -> None:
    rules = (_rule("AAA001"), _rule("BBB001", AAA001=Reach.SUBJECT))
    found = _judged((_result("AAA001", _at("m.id")), _result("BBB001", _at("m.id"))), rules)["BBB001"]
    assert (found.outcome, found.findings, found.verdict) == (Outcome.PASS, (), Verdict.OK)
    assert found.reason == "what it found follows from AAA001"


@pytest.mark.parametrize(
    ("cause", "consequence", "kept"),
    [(WARN, INFO, 0), (WARN, WARN, 0), (CRITICAL, WARN, 0), (INFO, WARN, 1), (WARN, CRITICAL, 1)],
)
def test_nothing_is_hidden_behind_what_is_less_severe(cause: Severity, consequence: Severity, kept: int) -> None:
    rules = (_rule("AAA001"), _rule("BBB001", AAA001=Reach.SUBJECT))
    found = _judged((_result("AAA001", _at("m.id", cause)), _result("BBB001", _at("m.id", consequence))), rules)
    assert len(found["BBB001"].findings) == kept


LIMIT = _rule("BBB001", AAA001=Reach.CONTRIBUTOR)
_REACHED = Forecast(1_000, 120.0, 60.0, 200.0, 0.01, None, "steady", provisional=False, unit="series")


@pytest.mark.parametrize(
    ("growth", "limit", "severities"),
    [
        (_at("m", main_contributor="pod"), _at("", main_contributor="pod"), [WARN]),
        # What is more severe makes its cause so.
        (_at("m", main_contributor="pod"), _at("m", CRITICAL, main_contributor="pod"), [CRITICAL]),
        (_at("", main_contributor="pod"), _at("m", main_contributor="pod"), [WARN]),
        # A growth that costs nothing yet is the cause of what it brings near; one that is over is none.
        (_at("m", INFO, main_contributor="pod", forecast=_REACHED), _at("", main_contributor="pod"), [WARN]),
        (_at("m", INFO, main_contributor="pod"), _at("", main_contributor="pod"), [INFO, WARN]),
        (_at("m", INFO, main_contributor="pod"), _at("", INFO, main_contributor="pod"), [INFO]),
        (_at("m", main_contributor="pod"), _at("", main_contributor="host"), [WARN, WARN]),
        (_at("m", main_contributor="pod"), _at("n", main_contributor="pod"), [WARN, WARN]),
        (_at("m"), _at("m"), [WARN, WARN]),
    ],
)
def test_what_has_the_same_contributor_is_one_finding(
    growth: Finding, limit: Finding, severities: list[Severity]
) -> None:
    near = Impact(Currency.LIMIT, now=900, whole=1_000, days_left=9.0)
    limit = replace(limit, severity_reason="no room is left", impact=near, forecast=_REACHED)
    found = _judged((_result("AAA001", growth), _result("BBB001", limit)), (_rule("AAA001"), LIMIT))
    assert [f.severity for result in found.values() for f in result.findings] == severities
    if severities == [CRITICAL]:
        (one,) = found["AAA001"].findings
        assert (one.severity_reason, one.impact, one.forecast) == ("no room is left", near, _REACHED)


@pytest.mark.parametrize(("code", "cause"), [("CAR001", "CAR004"), ("CAR004", "TAG002"), ("DRF001", "CAR004")])
def test_what_one_tag_does_is_one_finding(code: str, cause: str) -> None:
    """A limit that a growth reaches is part of the growth, which is part of the tag that grows."""
    rule = rule_named(code)
    assert rule is not None
    assert rule.follows_from[cause] is Reach.CONTRIBUTOR


def test_chain_ends_at_the_finding_that_stands() -> None:
    rules = (_rule("AAA001"), _rule("BBB001", AAA001=Reach.SUBJECT), _rule("CCC001", BBB001=Reach.SUBJECT))
    found = _judged([_result(code, _at("m.id")) for code in ("CCC001", "BBB001", "AAA001")], rules)
    assert [e.label for e in found["AAA001"].findings[0].evidence] == ["also CCC001", "also BBB001"]
    assert not found["BBB001"].findings
    assert not found["CCC001"].findings


def test_measurement_of_a_family_is_covered_by_the_family() -> None:
    merge = MergeMeasurements(Subject("main"), "cpu", "cpu_{n}", (Merged("cpu_1", ()), Merged("cpu_2", ())))
    rules = (_rule("AAA001"), _rule("BBB001", AAA001=Reach.MEASUREMENT))
    family = _at("cpu_{n}", changes=(merge,))
    found = _judged((_result("AAA001", family), _result("BBB001", _at("cpu_2.load"), _at("disk.used"))), rules)
    assert [f.subject.measurement for f in found["BBB001"].findings] == ["disk"]


@pytest.mark.parametrize(
    ("severity", "count", "kept"), [(INFO, 3, 3), (INFO, 4, 1), (WARN, 3, 3), (WARN, 4, 1), (CRITICAL, 40, 1)]
)
def test_column_alike_in_many_measurements_is_one_finding(severity: Severity, count: int, kept: int) -> None:
    findings = [_at(f"m{i:02}.user", severity) for i in range(count)]
    found = _judged((_result("AAA001", *reversed(findings)),), (_rule("AAA001"),))
    assert len(found["AAA001"].findings) == kept
    if kept == 1:
        (one,) = found["AAA001"].findings
        assert one.subject == Subject("main", "m00", "user"), "the first by name, whatever the order"
        assert f"The same holds for {count - 1} more tables: m01, m02" in one.message
        assert one.evidence[-1].value.startswith(f"{count}: m00, m01")


def _costing(place: str, currency: Currency, now: float, whole: float) -> Finding:
    return _at(place, impact=Impact(currency, now, whole=whole, per_day=now / 10))


@pytest.mark.parametrize(
    ("findings", "now", "per_day", "whole"),
    [
        # One writer's tag in 18 measurements: each has series of its own, in one database.
        ([_costing(f"m{i:02}.pod", Currency.SERIES, 1_000, 20_000) for i in range(18)], 18_000, 1_800, 20_000),
        # Columns of many tables: each is a part of its own table.
        ([_costing(f"t{i}.note", Currency.BYTES, 10, 100) for i in range(7)], 70, 7, 700),
        # Tags of one measurement may cause the same series.
        ([_costing(f"m.tag{i}", Currency.SERIES, 100 + i, 200) for i in range(8)], 107, 10.7, 200),
        # One bill for all tables.
        ([_costing(f"t{i}.id", Currency.MONEY, 5, 80) for i in range(6)], 30, 3, 80),
        # What does not add up stays that of the first.
        ([_costing(f"m{i}.x", Currency.LIMIT, 900 + i, 1_000) for i in range(6)], 900, 90, 1_000),
    ],
)
def test_finding_for_many_places_costs_what_all_of_them_cost(
    findings: list[Finding], now: float, per_day: float, whole: float
) -> None:
    (one,) = _judged((_result("AAA001", *findings),), (_rule("AAA001"),))["AAA001"].findings
    assert one.impact is not None
    assert (one.impact.now, one.impact.per_day, one.impact.whole) == (now, pytest.approx(per_day), whole)


def test_why_it_is_a_warning_is_said_of_all_places() -> None:
    findings = [_costing(f"m{i:02}.pod", Currency.SERIES, 1_000, 20_000) for i in range(18)]
    (one,) = _judged((_result("AAA001", *findings),), (_rule("AAA001"),))["AAA001"].findings
    assert one.severity_reason.startswith("18,000 avoidable series"), one.severity_reason
    assert one.consequence


_ORDERS = ("archive", "carts", "invoices", "orders", "returns")


def _of_orders() -> list[Finding]:
    """A text of a customer that each row repeats in five tables: one has 80 MB of them, each other one 10 MB."""
    return [
        _at(
            f"{name}.customer",
            INFO,
            message="Each row repeats customer: 10% of the table.",
            impact=Impact(Currency.BYTES, size * 1e6, whole=size * 1e7, per_day=0.0, how=f"{size} MB"),
            evidence=(Evidence("avoidable storage", f"{size} MB"),),
        )
        for name, size in zip(_ORDERS, (10, 10, 10, 80, 10), strict=True)
    ]


def test_many_places_say_what_each_of_them_costs() -> None:
    """A key in five tables is five changes, each worth a note, under a name that does not change when another table
    becomes the largest; and no figure of one table is read as that of all.
    """
    (one,) = _judged((_result("AAA001", *_of_orders()),), (_rule("AAA001"),))["AAA001"].findings
    assert (one.severity, one.subject) == (INFO, Subject("main", "archive", "customer"))
    assert one.message.endswith(
        "The same holds for 4 more tables: carts, invoices, and 2 more. 67% of the cost is that of orders."
    )
    assert [(e.label, e.value) for e in one.evidence[:2]] == [
        ("avoidable storage, archive", "10 MB"),
        ("share of the cost", "orders 67%, archive 8%, carts 8%, invoices 8%, and returns 8%"),
    ]
    assert one.impact is not None
    assert one.impact.how == "of orders: 80 MB"
    least = "a warning from 100 MB and 5% of the table on, in one of them"
    assert one.severity_reason == f"120 MB of avoidable storage in all 5 places, 10% of 1.2 GB; {least}"
    assert one.consequence == "Nothing more: it stays at 120 MB of avoidable storage in all 5 places."


def test_severities_and_what_has_a_history_are_not_mixed() -> None:
    mild = [_at(f"m{i}.user", INFO) for i in range(2)]
    found = _judged((_result("AAA001", *mild, *(_at(f"n{i}.user") for i in range(3))),), (_rule("AAA001"),))
    assert len(found["AAA001"].findings) == 5
    growing = [_at(f"m{i}.user", since=date(2026, 3, i + 1)) for i in range(9)]
    assert len(_judged((_result("AAA001", *growing),), (_rule("AAA001"),))["AAA001"].findings) == 9


@pytest.mark.parametrize(
    ("places", "says"),
    [
        ([f"dev{i}" for i in range(9)], "dev0 is new. The same holds for 8 more tables: dev1, dev2"),
        ([f"dev{i}.rack" for i in range(9)], "rack is new. The same holds for 8 more tables: dev1, dev2"),
        ([f"dev0.port{i}" for i in range(9)], "port0 is new. The same holds for 8 more columns: port1, port2"),
    ],
)
def test_what_happens_in_many_places_on_one_day_is_one_finding(places: list[str], says: str) -> None:
    """Whatever their columns are now: those that were removed have none."""

    def changed(what: str, at: str, day: int) -> Finding:
        return _at(at, INFO, message=f"{at.split('.')[-1]} {what}.", since=date(2026, 3, day))

    others = [changed("was removed", "old", 8), *(changed("is new", f"{places[0]}_{day}", day) for day in range(1, 4))]
    found = [*(changed("is new", at, 8) for at in places), *others]
    (one, *rest) = _judged((_result("AAA001", *found),), (_rule("AAA001"),))["AAA001"].findings
    assert one.message.startswith(says)
    assert len(rest) == len(others)


def test_measurements_are_alike_if_they_have_the_same_columns() -> None:
    same = [a_measurement(f"dev{i}", fields=(a_field("t"), a_field("h"))) for i in range(6)]
    others = [a_measurement(f"topic{i}", fields=(a_field(f"f{i}"),)) for i in range(6)]
    findings = [_at(m.name) for m in (*same, *others)]
    found = _judged((_result("AAA001", *findings),), (_rule("AAA001"),), a_profile(*same, *others))
    assert len(found["AAA001"].findings) == 1 + 6


def test_same_place_in_many_databases_is_one_finding() -> None:
    tenants = [replace(_at("orders.id"), subject=Subject(f"tenant{i}", "orders", "id")) for i in range(7)]
    (one,) = _judged((_result("AAA001", *tenants),), (_rule("AAA001"),))["AAA001"].findings
    assert "The same holds for 6 more schemas" in one.message


def test_changes_of_all_places_are_kept() -> None:
    def merge(name: str) -> MergeMeasurements:
        return MergeMeasurements(Subject("main"), name, name, ())

    found = [_at(f"m{i}.user", changes=(merge(f"m{i}"),)) for i in range(6)]
    (one,) = _judged((_result("AAA001", *found),), (_rule("AAA001"),))["AAA001"].findings
    assert [change.into for change in one.changes if isinstance(change, MergeMeasurements)] == [
        f"m{i}" for i in range(6)
    ]


def test_declared_causes_exist_and_never_go_in_a_circle() -> None:
    causes = {rule.code: set(rule.follows_from) for rule in all_rules()}
    assert set().union(*causes.values()) <= causes.keys()
    left = dict(causes)
    while ends := [code for code, others in left.items() if not others & left.keys()]:
        for code in ends:
            del left[code]
    assert not left


def test_label_of_some_metrics_is_named_with_the_metric() -> None:
    ids = tuple(f"{i:08x}-1b2c-4d3e-8f90-{i * 7919:012x}" for i in range(64))
    for metrics, subject, ends in (
        (("http_requests_total",), "http_requests_total", " It is a label of http_requests_total."),
        (("a", "b"), "a", " It is a label of 2 metrics: a and b."),
        ((), "phy", "audits show."),
    ):
        label = a_tag("request_id", 2000, ids, metrics=metrics)
        profile = a_profile(a_measurement("phy", 2000, tags=(label,)), engine="influxdb1")
        (finding,) = run_rule(unbounded_tag, profile).findings
        assert finding.subject == Subject("main", subject, "request_id")
        assert finding.message.endswith(ends)


def test_tables_of_one_schema_with_problems_of_several_kinds_stay_apart() -> None:
    said = ("Its last partition ends on 2026-04-{:02}.", "It has {} rows in its default partition.")
    profile = a_profile(*(a_measurement(f"m{n}") for n in range(6)))
    for kinds, kept in ((2, 6), (1, 1)):
        findings = [_at(f"m{n}", message=said[n % kinds].format(n + 10)) for n in range(6)]
        found = _judged((_result("AAA001", *findings),), (_rule("AAA001"),), profile)
        assert len(found["AAA001"].findings) == kept


def _texts(measurement: str, *columns: str, said: str = "Field {} is stored as string.") -> list[Finding]:
    return [_at(f"{measurement}.{c}", message=said.format(c), affected_series=7.0) for c in columns]


def test_columns_of_one_table_with_one_problem_are_one_finding() -> None:
    columns = [f"v{n}" for n in range(9)]
    (finding,) = _judged((_result("AAA001", *_texts("m", *columns)),), (_rule("AAA001"),))["AAA001"].findings
    assert finding.subject == Subject("main", "m", "v0")
    assert finding.message == "Field v0 is stored as string. The same holds for 8 more columns: v1, v2, and 6 more."
    assert finding.evidence[-1].value.startswith("9: v0, v1, ")
    assert finding.affected_series == 7


@pytest.mark.parametrize(
    ("findings", "kept"),
    [
        (_texts("m", *"abc"), 3),
        (_texts("m", *"abcd"), 1),
        (_texts("m", *"abc") + _texts("n", "c", "d"), 5),
        # Each has a figure of its own.
        ([_at(f"m.c{n}", message=f"c{n} has {n + 64} distinct values.") for n in range(9)], 9),
        (_texts("m", *"abcd") + _texts("m", "x", "y", said="Field {} is stored as bytes."), 1),
        (_texts("m", *"abc") + _texts("m", "x", "y", said="Field {} is stored as bytes of 3 kinds."), 5),
        # A letter of a word is not the column of that name.
        (_texts("m", *"abcdef", said="Field {} is stored as bytes of 3 kinds."), 1),
        # The names have figures, what is said of them has none.
        (_texts("m", *(f"pump{n}" for n in range(6))), 1),
        ([replace(f, since=date(2026, 3, n + 1)) for n, f in enumerate(_texts("m", *"abcdef"))], 6),
        ([f for name in "mnopqrs" for f in _texts(name, *"abcdef")], 1),
    ],
)
def test_columns_are_alike_if_the_same_is_said_of_them(findings: list[Finding], kept: int) -> None:
    found = _judged((_result("AAA001", *findings),), (_rule("AAA001"),))["AAA001"].findings
    assert len(found) == kept


def test_each_column_keeps_its_own_words_where_they_differ() -> None:
    findings = _texts("m", *"abcde") + _texts("m", "f", said="Field {} is stored as bytes.")
    (finding,) = _judged((_result("AAA001", *findings),), (_rule("AAA001"),))["AAA001"].findings
    assert (
        finding.message == "Field a is stored as string. Similar findings are about 5 more columns: b, c, and 3 more."
    )
    assert [(e.label, e.value) for e in finding.evidence[1:]] == [
        *((column, f"Field {column} is stored as string.") for column in "bcde"),
        ("f", "Field f is stored as bytes."),
    ]
