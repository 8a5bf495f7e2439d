"""The pure stage: outcomes, gaps, limits, and one broken rule among others."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import pytest

from tests.builders import NOW, a_count, a_finding, a_measurement, a_profile, a_tag
from tsaudit.collect.cross_checks import ComparedFigure, CrossCheck, Relation, marked
from tsaudit.engines.engine import ServerLimit
from tsaudit.engines.registry import ENGINES
from tsaudit.evaluation import evaluate, required_facts
from tsaudit.model.figures import Gap, Reason, Subject
from tsaudit.model.finding import Currency, Finding, Impact, Outcome, Severity, Verdict
from tsaudit.policy import LimitPolicy, RulePolicy
from tsaudit.rule import Case, Family, Threshold, resolve_limit, rule
from tsaudit.rules import all_rules, rules_for

LIMIT = Threshold("max_things", 10, "things", "our default: ten")


@rule(
    code="CAR999",
    title="Too many things",
    costs={Currency.ANSWERS, Currency.REJECTED},
    guidelines=("A1",),
    requires={"series_listing"},
    uses={"row_count"},
    thresholds=(LIMIT,),
)
def too_many_things(case: Case) -> Iterator[Finding]:
    """Things that are too many.

    More of it.

    ## Why it matters

    They cost.
    """
    for measurement in case.measurements:
        if measurement.name.startswith("bad"):
            yield a_finding(Subject("main", measurement.name), impact=Impact(Currency.ANSWERS))
        if measurement.name == "worst":
            yield a_finding(Subject("main", "worst"), impact=Impact(Currency.REJECTED, 1, whole=1))


@rule(code="CAR998", title="x", guidelines=("A1",), requires=set())
def broken(case: Case) -> Iterator[Finding]:
    """Breaks."""
    yield a_finding()
    raise KeyError("surprise")


def test_texts_when_read_from_the_docstring() -> None:
    assert too_many_things.name == "too-many-things"
    assert too_many_things.summary == "Things that are too many."
    assert too_many_things.section("Why it matters") == "They cost."
    assert too_many_things.section("Nothing") == ""


def test_error_when_a_rule_breaks_and_the_others_go_on() -> None:
    result = evaluate(a_profile(a_measurement("bad")), rules=[broken, too_many_things], now=NOW)
    assert [r.outcome for r in result.results] == [Outcome.ERROR, Outcome.FAIL]
    assert result.results[0].reason == "KeyError: 'surprise'"
    assert result.results[0].findings == ()
    assert result.results[0].verdict is Verdict.UNKNOWN
    assert result.audited_at == NOW


def test_order_when_findings_differ_in_severity() -> None:
    profile = a_profile(a_measurement("bad_b"), a_measurement("bad_a"), a_measurement("worst"))
    (result,) = evaluate(profile, rules=[too_many_things]).results
    assert [f.subject.measurement for f in result.findings] == ["worst", "bad_a", "bad_b"]


def test_gaps_when_a_fact_it_looks_at_is_missing() -> None:
    for fact, outcome in (("series_listing", Outcome.OPEN), ("row_count", Outcome.OPEN), ("retention", Outcome.PASS)):
        profile = a_profile(gaps=(Gap(fact, Reason.DENIED, "no right to read", "main"),))
        (result,) = evaluate(profile, rules=[too_many_things]).results
        assert result.outcome is outcome
    (result,) = evaluate(
        a_profile(a_measurement("bad"), gaps=(Gap("row_count", Reason.DENIED, "no", "main"),)), rules=[too_many_things]
    ).results
    assert (result.outcome, len(result.gaps)) == (Outcome.FAIL, 1)


@pytest.mark.parametrize(
    ("places", "where"),
    [
        ([("shop", "orders")], "shop/orders: "),
        ([("shop", "orders"), ("shop", "orders"), ("shop", "items")], "shop/orders and 1 more: "),
        ([("shop", None)], "shop: "),
        ([(None, None)], ""),
        ([("shop", "a\nb")], "shop/a\\nb: "),
    ],
)
def test_reason_of_a_gap_says_where_it_is(places: list[tuple[str | None, str | None]], where: str) -> None:
    gaps = tuple(Gap("row_count", Reason.DENIED, "no right to read", *place) for place in places)
    (result,) = evaluate(a_profile(gaps=gaps), rules=[too_many_things]).results
    assert result.reason.partition(", the first: ")[2] == f"{where}no right to read"


def test_facts_when_only_some_engines_are_meant() -> None:
    assert required_facts("duckdb", [too_many_things]) == {"series_listing", "row_count"}
    assert required_facts("influxdb3", [too_many_things]) == frozenset()
    assert "retention" in required_facts("influxdb1")
    assert "retention" not in required_facts("duckdb")


def test_same_result_when_the_same_profile_is_judged_again() -> None:
    profile = a_profile(a_measurement("order"), a_measurement("Cpu.server-5.us-west.usage_user"))
    assert evaluate(profile, now=NOW) == evaluate(profile, now=NOW)
    assert len(evaluate(profile).results) == len(rules_for(profile.engine))


def test_limit_when_resolved_from_the_most_special_place(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "too-many-things.max_things"
    monkeypatch.setattr(type(ENGINES["duckdb"]), "limits", (ServerLimit(name, 20, "https://duckdb.org"),))
    policy = LimitPolicy(everywhere={name: 1}, plan_name="p", plan={name: (2, "https://p")}, target={name: 3})
    special = dataclasses.replace(policy, measurements={"http_*": {name: 4}, "*": {name: 5}})

    def value(policy: LimitPolicy, engine: str = "duckdb", measurement: str | None = None) -> tuple[float, str]:
        at = a_measurement(measurement) if measurement else None
        limit = resolve_limit("too-many-things", LIMIT, a_profile(engine=engine), policy, at)
        return limit.value, limit.origin

    assert value(special, measurement="http_in") == (4, "measurement http_*")
    assert value(special, measurement="cpu") == (5, "measurement *")
    assert value(special) == (3, "target")
    assert value(dataclasses.replace(policy, target={})) == (2, "plan p")
    assert value(LimitPolicy(everywhere={name: 1})) == (1, "all targets")
    assert value(LimitPolicy()) == (20, "engine duckdb")
    assert value(LimitPolicy(), "influxdb1") == (10, "default")


def test_family_when_taken_from_the_code() -> None:
    # Each family is a check in Dagster: one without rules would say nothing.
    assert {found.family for found in all_rules()} == set(Family)


def _found(switches: RulePolicy) -> list[tuple[str, Severity]]:
    profile = a_profile(a_measurement("bad"), a_measurement("bad_too"), a_measurement("worst"))
    (result,) = evaluate(profile, rules=[too_many_things], switches=switches).results
    return [(f.subject.measurement, f.severity) for f in result.findings]


BOTH = [("worst", Severity.CRITICAL), ("bad", Severity.WARNING), ("bad_too", Severity.WARNING)]


@pytest.mark.parametrize("word", ["CAR999", "car999", "too-many-things", "too_many_things", "CAR*", "*things"])
def test_rule_when_it_is_switched_off(word: str) -> None:
    profile = a_profile(a_measurement("bad"))
    (result,) = evaluate(profile, rules=[too_many_things], switches=RulePolicy(everywhere={word: "off"})).results
    assert (result.outcome, result.verdict, result.findings) == (Outcome.NOT_APPLICABLE, None, ())
    assert result.switched_off
    assert result.reason == "switched off by `rules` in tsaudit.yaml"


def test_rule_when_the_target_has_it_otherwise_than_all_others() -> None:
    assert _found(RulePolicy({"CAR999": "off"}, {"too-many-things": "on"})) == BOTH
    assert _found(RulePolicy({"CAR999": "off"}, {"CAR*": "note"}))[0] == ("bad", Severity.NOTE)
    assert _found(RulePolicy({"CAR999": "off"}, {"TAG*": "on"})) == []


def test_rule_when_its_own_name_and_a_pattern_say_different_things() -> None:
    assert _found(RulePolicy(target={"CAR*": "off", "CAR999": "on"})) == BOTH
    assert _found(RulePolicy(target={"CAR*": "on", "*": "off"})) == BOTH
    assert _found(RulePolicy(target={"*": "off", "CAR*": "on"})) == []


def test_rule_when_it_is_switched_for_some_measurements() -> None:
    assert _found(RulePolicy(measurements={"bad_*": {"CAR999": "off"}})) == BOTH[:2]
    assert _found(RulePolicy(measurements={"bad_*": {"CAR999": "critical"}}))[:2] == [
        ("bad_too", Severity.CRITICAL),
        ("worst", Severity.CRITICAL),
    ]
    assert _found(RulePolicy({"*": "off"}, measurements={"bad": {"CAR999": "on"}})) == [BOTH[1]]
    first_wins = RulePolicy(measurements={"bad*": {"TAG001": "off"}, "b*": {"CAR999": "off"}})
    assert _found(first_wins) == BOTH[:1], "a pattern that says nothing of the rule leaves it to the next"


def test_gap_when_the_rule_is_switched_off_there() -> None:
    gaps = (Gap("series_listing", Reason.DENIED, "no right", "main", "tmp"),)
    profile = dataclasses.replace(a_profile(a_measurement("tmp"), a_measurement("good")), gaps=gaps)
    off = RulePolicy(measurements={"tmp": {"CAR999": "off"}})
    assert evaluate(profile, rules=[too_many_things]).results[0].outcome is Outcome.OPEN
    assert evaluate(profile, rules=[too_many_things], switches=off).results[0].outcome is Outcome.PASS


def test_target_when_all_rules_are_switched_off_is_not_audited() -> None:
    result = evaluate(a_profile(a_measurement("bad")), switches=RulePolicy({"*": "off"}))
    assert result.not_audited is not None
    assert "all rules are switched off" in result.not_audited.findings[0].message
    assert result.verdict is not Verdict.OK


def test_findings_know_the_series_they_affect() -> None:
    profile = a_profile(a_measurement("bad_a", series=70), a_measurement("bad_b", series=200))
    (result,) = evaluate(profile, rules=[too_many_things]).results
    assert [(f.subject.measurement, f.affected_series) for f in result.findings] == [("bad_b", 200), ("bad_a", 70)]


def test_series_are_affected_only_by_rules_about_what_adds_them() -> None:
    """A redundant index on a large table must not come before the tag that runs away on a smaller one."""
    profile = a_profile(a_measurement("bad", series=5_000))
    about_index = dataclasses.replace(too_many_things, group="storage")
    results = [evaluate(profile, rules=[one]).results[0] for one in (too_many_things, about_index)]
    affected = [result.findings[0].affected_series for result in results]
    assert affected == [5_000, None]


@pytest.mark.parametrize(
    ("reasons", "severity"),
    [
        (("", ""), Severity.CRITICAL),
        (("set in tsaudit.yaml", "a varchar column with short values"), Severity.CRITICAL),
        # Most of the series that were counted are by a tag that nobody declared.
        (("a varchar column with short values", ""), Severity.NOTE),
    ],
)
def test_series_by_guessed_tags_are_a_note(reasons: tuple[str, str], severity: Severity) -> None:
    measurements = (
        a_measurement(name, series=series, tags=(dataclasses.replace(a_tag("host", series), role_reason=reason),))
        for name, series, reason in zip(("large", "small"), (90, 10), reasons, strict=True)
    )
    limits = LimitPolicy(target={"high-series-cardinality.max_series": 100})
    (result,) = evaluate(
        a_profile(*measurements), policy=limits, rules=[r for r in all_rules() if r.code == "CAR001"]
    ).results
    assert {f.severity for f in result.findings if not f.subject.measurement} == {severity}


@pytest.mark.parametrize(("is_disputed", "severity"), [(False, Severity.WARNING), (True, Severity.NOTE)])
def test_no_warning_rests_on_a_figure_that_another_one_contradicts(is_disputed: bool, severity: Severity) -> None:
    listed, rows = a_count(500), ComparedFigure("row", "", 60, "null_counts", "duckdb/null_counts.sql")
    figure = ComparedFigure("series", "", 500, "series_listing", listed.source.query)
    dispute = CrossCheck("main", "bad", figure, Relation.AT_MOST, rows)
    series = marked(listed, [dispute]) if is_disputed else listed

    def check(case: Case) -> Iterator[Finding]:
        for finding in too_many_things.check(case):
            yield dataclasses.replace(finding, source=series.source)

    one = dataclasses.replace(too_many_things, check=check)
    (result,) = evaluate(a_profile(a_measurement("bad")), rules=[one]).results
    assert [f.severity for f in result.findings] == [severity]
