"""All rules together: their pages, their names, and what they do when there is nothing to judge."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import a_field, a_measurement, a_profile, a_tag
from tests.rules.cases import run_rule
from tsaudit import rules
from tsaudit.engines.registry import ENGINES
from tsaudit.errors import UnfinishedModuleError
from tsaudit.guidelines import GUIDELINES
from tsaudit.model.facts import FACTS
from tsaudit.model.figures import Gap, Reason
from tsaudit.model.finding import Outcome
from tsaudit.rule import LETTERS, Rule
from tsaudit.rules import all_rules, rule_named

ROOT = Path(__file__).parents[2]


def each_rule(test: Callable[[Rule], None]) -> Callable[[], None]:
    """One test of all rules: pytest takes longer for each of hundreds than they do."""

    def of_all() -> None:
        for rule in all_rules():
            test(rule)

    return of_all


def test_codes_and_names_when_taken_together() -> None:
    rules = all_rules()
    assert len({r.code for r in rules}) == len(rules)
    assert len({r.name for r in rules}) == len(rules)
    assert [r.code for r in rules] == sorted(r.code for r in rules)


def test_rule_named_when_case_differs() -> None:
    assert rule_named("car001") is rule_named("High-Series-Cardinality") is all_rules()[0]
    assert rule_named("CAR999") is None


SECTIONS = ("Why it matters", "Example", "Fix", "References")


@each_rule
def test_sections_when_the_page_is_read(rule: Rule) -> None:
    assert tuple(re.findall(r"^## (.*)$", rule.doc, re.MULTILINE)) == SECTIONS
    assert all(len(rule.section(heading)) > 20 for heading in SECTIONS)
    assert "https://" in rule.section("References")
    assert rule.summary.endswith(".")


@each_rule
def test_names_when_compared_with_files(rule: Rule) -> None:
    name = rule.name.replace("-", "_")
    file = Path(inspect.getfile(rule.check)).relative_to(ROOT / "tsaudit")
    assert file.stem == rule.check.__name__ == name
    own_tests = Path("tests") / file.with_name(f"test_{name}.py")
    assert (ROOT / own_tests).exists(), (
        f"add {own_tests} with CASES, a database that breaks the rule and one that does not"
    )
    assert re.fullmatch(r"[A-Z]{3}\d{3}", rule.code)
    assert rule.code[:3] in LETTERS
    assert not re.match(r"(avoid|no|use|prefer)-", rule.name)


@each_rule
def test_title_when_read_alone(rule: Rule) -> None:
    assert rule.title[0].isupper()
    assert not rule.title.endswith(".")
    assert len(rule.title) <= 60


@each_rule
def test_thresholds_when_shown(rule: Rule) -> None:
    for threshold in rule.thresholds:
        assert threshold.unit
        engines = rule.by_engine(threshold)
        # Without a default, the source says what is counted.
        sources = [threshold.source] * (threshold.default is not None) + [source for _, source in engines.values()]
        assert all(s.startswith("our default: ") or "https://" in s for s in sources)
        assert {name.split(" ")[0] for name in engines} <= set(ENGINES)


def test_limits_of_engines_are_those_of_rules() -> None:
    known = {f"{rule.name}.{threshold.name}" for rule in all_rules() for threshold in rule.thresholds}
    assert {limit.name for engine in ENGINES.values() for limit in engine.limits} <= known


@each_rule
def test_facts_and_guidelines_when_named(rule: Rule) -> None:
    assert rule.requires | rule.uses | rule.shows <= set(FACTS)
    assert not rule.requires & rule.uses
    assert not rule.shows & (rule.requires | rule.uses)
    assert set(rule.guidelines) <= {g.id for g in GUIDELINES}
    assert rule.guidelines


@each_rule
def test_pass_when_the_database_is_empty(rule: Rule) -> None:
    for engine in rule.engines:
        assert run_rule(rule, a_profile(engine=engine, databases=(), measurements=())).outcome is Outcome.PASS


@each_rule
def test_open_when_nothing_it_needs_was_measured(rule: Rule) -> None:
    tag = dataclasses.replace(a_tag(sample=()), values=None, absent=None)
    field = dataclasses.replace(a_field(), null_ratio=None)
    bare = dataclasses.replace(a_measurement(tags=(tag,), fields=(field,)), series=None, rows=None)
    for engine in rule.engines:
        for fact in sorted(rule.requires | rule.uses):
            gap = Gap(fact, Reason.TIMED_OUT, "took too long", "main", "cpu")
            assert run_rule(rule, a_profile(bare, engine=engine, gaps=(gap,))).outcome is Outcome.OPEN


@each_rule
def test_judged_when_only_figures_of_its_findings_are_missing(rule: Rule) -> None:
    for engine in rule.engines:
        for fact in sorted(rule.shows):
            profile = a_profile(a_measurement(), engine=engine)
            missing = dataclasses.replace(profile, gaps=(Gap(fact, Reason.TIMED_OUT, "took too long", "main", "cpu"),))
            assert run_rule(rule, missing).outcome is run_rule(rule, profile).outcome


def test_what_was_measured_in_another_way_is_known() -> None:
    """Nulls were not counted, but rows were read, which show their share, too; of the counts, nothing does."""
    read = a_measurement(statements={"row_sample": "SELECT 1"})
    gap = Gap("null_counts", Reason.TIMED_OUT, "took too long", "main", "cpu")
    sparse = next(one for one in all_rules() if one.code == "LAY003")
    index = next(one for one in all_rules() if one.code == "STO002")
    for rule, measurement, outcome in (
        (sparse, read, Outcome.PASS),
        (sparse, a_measurement(), Outcome.OPEN),
        (index, read, Outcome.OPEN),
    ):
        assert run_rule(rule, a_profile(measurement, engine="sqlite", gaps=(gap,))).outcome is outcome, rule.code


@each_rule
def test_not_applicable_when_the_engine_lacks_a_fact(rule: Rule) -> None:
    for fact in sorted(rule.requires):
        facts = tuple(f for f in FACTS if f != fact)
        engine = sorted(rule.engines)[0]
        result = run_rule(rule, a_profile(engine=engine, facts=facts))
        assert result.outcome is Outcome.NOT_APPLICABLE
        assert fact in result.reason
    assert run_rule(rule, a_profile(engine="another")).outcome is Outcome.NOT_APPLICABLE


@each_rule
def test_rule_in_the_package_of_an_engine_applies_only_there(rule: Rule) -> None:
    if home := re.match(r"tsaudit\.engines\.(\w+)\.rules", rule.check.__module__):
        assert rule.engines == {home[1]}


def test_module_without_a_rule_of_its_name_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_modules", lambda folders: ["tsaudit.text.markdown"])
    with pytest.raises(UnfinishedModuleError) as caught:
        list(rules._in(""))
    assert (
        str(caught.value)
        == "tsaudit.text.markdown has no rule: name its function `markdown` and decorate it with @rule"
    )


def test_a_rule_that_does_not_apply_to_an_engine_does_not_to_what_extends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Extended(type(ENGINES["duckdb"])):  # type: ignore[misc] -- whatever class it has
        name = "acmedb"

    monkeypatch.setitem(ENGINES._plug_ins(), "acmedb", Extended())
    excluded = [rule for rule in all_rules() if "duckdb" in rule.not_applicable]
    assert excluded
    for rule in excluded:
        assert rule.why_not_on("acmedb") == rule.not_applicable["duckdb"]
        assert not rule.applies_to("acmedb")
