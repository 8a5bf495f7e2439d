"""Rules of other packages: evaluated like tsaudit's own; one that cannot be is reported, never passed over."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.builders import DAY, a_measurement, a_profile
from tests.plugins.conftest import Install
from tsaudit.cli import main
from tsaudit.config import file as config_file
from tsaudit.config.settings import Incidents
from tsaudit.evaluation import evaluate, required_facts
from tsaudit.history import incidents
from tsaudit.history.store import Store
from tsaudit.model.finding import AuditResult, Outcome, RuleResult, Severity, Verdict
from tsaudit.model.profile import Profile
from tsaudit.rules import all_rules, families, rules_for, unusable

RULES = '''
from dataclasses import replace
from tsaudit.model.finding import Currency, Finding, Impact
from tsaudit.rule import Threshold, rule, subject_of

@rule(
    code="ACME001",
    title="A name that the company does not use",
    costs={Currency.ANSWERS},
    requires={"measurements"},
    thresholds=(Threshold("max_length", 3, "characters", "our naming guide"),),
)
def unloved_name(case):
    """Measurements with a name that the company does not use.

    ## Why it matters

    Dashboards look for the others.
    """
    for m in case.measurements:
        if len(m.name) > case.limit("max_length", m).value:
            cost = Impact(Currency.ANSWERS)
            yield Finding(subject_of(m), f"{m.name} is too long a name", impact=cost, fix="Rename it.")
'''
BROKEN = RULES.replace("ACME001", "ACME002").replace("unloved_name", "broken_rule")
FAILING = {
    "raises": BROKEN.replace("for m in", "raise RuntimeError('no idea')\n    for m in"),
    "leaves": BROKEN.replace("for m in", "raise SystemExit(3)\n    for m in"),
    "yields no finding": BROKEN.replace("yield Finding(", "yield str("),
    "yields what cannot be stored": BROKEN.replace('f"{m.name} is too long a name"', "7"),
    "returns nothing": BROKEN.replace("    for m in case.measurements:", "    return None\n    for m in ():").replace(
        "            yield Finding", "            print(Finding"
    ).replace('"Rename it.")', '"Rename it."))'),
    "asks for a limit there is not": BROKEN.replace('case.limit("max_length", m)', 'case.limit("nothing", m)'),
}  # fmt: skip
UNUSABLE = {
    "cannot be imported": ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
    "leaves when imported": ("raise SystemExit('bye')", "SystemExit: bye"),
    "holds no rule": ("x = 1", "it holds no rule"),
    "a code of ours": (RULES.replace("ACME001", "CAR099"), "codes in CAR are tsaudit's own"),
    "no code": (RULES.replace("ACME001", "acme-1"), "a code is capital letters and three or four digits"),
    "a fact there is not": (RULES.replace('{"measurements"}', '{"moods"}'), "there is no fact `moods`"),
    "a guideline there is not": (RULES.replace("requires", 'guidelines=("Z9",), requires'), "no guideline `Z9`"),
    "a name of ours": (RULES.replace("unloved_name", "sparse_table"), "tsaudit has one of that code or name, too"),
    "a family that is taken": (RULES.replace("requires", 'family="coverage", requires'), "the family `coverage`"),
    "a cost is no currency": (RULES.replace("{Currency.ANSWERS}", '{"time"}'), "not all of them a Currency"),
    "no docstring": (f"{RULES}\nunloved_name = replace(unloved_name, doc='')", "it needs a title, and a docstring"),
}  # fmt: skip


def a_day(number: int = 0) -> Profile:
    return a_profile(a_measurement(name="weather"), engine="sqlite", day=DAY + timedelta(days=number))


def result_of(audited: AuditResult, code: str) -> RuleResult | None:
    return next((r for r in audited.results if r.code == code), None)


def test_rule_of_another_package_judges(install: Install) -> None:
    install("acme", {"tsaudit.rules": {"acme": "acme_rules"}}, acme_rules=RULES)
    assert unusable() == ()
    assert families()[-1] == "acme"
    found = result_of(evaluate(a_day()), "ACME001")
    assert found is not None
    assert (found.outcome, found.family, found.why) == (Outcome.FAIL, "acme", "Dashboards look for the others.")
    assert [f.message for f in found.findings] == ["weather is too long a name"]
    assert "measurements" in required_facts("sqlite")


def test_rule_may_be_of_a_family_of_ours(install: Install) -> None:
    install("acme", {"tsaudit.rules": {"a": "r"}}, r=RULES.replace("requires", 'family="names", requires'))
    assert families()[-1] != "acme"
    assert next(r for r in all_rules() if r.code == "ACME001").family == "names"


def test_rule_may_be_about_some_engines_only(install: Install) -> None:
    install("acme", {"tsaudit.rules": {"a": "r"}}, r=RULES.replace("requires", 'engines=("mongodb",), requires'))
    found = result_of(evaluate(a_day()), "ACME001")
    assert found is not None
    assert found.outcome is Outcome.NOT_APPLICABLE


@pytest.mark.wall_clock
def test_rule_that_does_not_return_is_unknown_and_the_others_judge(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes first, so that the one after it has no time left."""
    endless = BROKEN.replace("ACME002", "ACME000").replace(
        "    for m in", "    import time\n    for _ in range(1_000):\n        time.sleep(0.01)\n    for m in"
    )
    install(
        "acme", {"tsaudit.rules": {"bad": "acme_broken", "good": "acme_rules"}}, acme_broken=endless, acme_rules=RULES
    )
    monkeypatch.setattr(import_module("tsaudit.evaluation"), "_PLUGIN_S", 0.3)
    began = time.monotonic()
    audited = evaluate(a_day())
    assert time.monotonic() - began < 5
    late, after, own = (result_of(audited, code) for code in ("ACME000", "ACME001", "NAM001"))
    assert late is not None
    assert after is not None
    assert own is not None
    assert (late.outcome, late.verdict) == (Outcome.ERROR, Verdict.UNKNOWN)
    assert late.reason == "it did not return within the 0.3 s that rules of installed packages have"
    assert (after.outcome, after.reason[:8]) == (Outcome.ERROR, "not run:")
    assert own.outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE)


@pytest.mark.parametrize("text", ["rules", "several", "one"])
def test_rules_may_be_named_in_three_ways(install: Install, text: str) -> None:
    value = {"rules": "acme_rules", "several": "acme_rules:ALL", "one": "acme_rules:unloved_name"}[text]
    install("acme", {"tsaudit.rules": {"acme": value}}, acme_rules=RULES + "\nALL = [unloved_name]\n")
    assert [r.code for r in all_rules() if r.package] == ["ACME001"]


@pytest.mark.parametrize("how", FAILING)
def test_rule_that_fails_is_unknown_and_the_others_judge(install: Install, how: str) -> None:
    points = {"good": "acme_rules", "bad": "acme_broken"}
    install("acme", {"tsaudit.rules": points}, acme_rules=RULES, acme_broken=FAILING[how])
    assert unusable() == ()
    audited = evaluate(a_day())
    broken = result_of(audited, "ACME002")
    assert broken is not None
    assert (broken.outcome, broken.verdict) == (Outcome.ERROR, Verdict.UNKNOWN)
    assert broken.reason
    assert "\n" not in broken.reason
    assert [f.severity for r in audited.results if r.code == "ACME001" for f in r.findings] == [Severity.WARNING]


@pytest.mark.parametrize("how", UNUSABLE)
def test_rules_that_cannot_be_used_are_one_line_and_a_gap(install: Install, how: str) -> None:
    text, reason = UNUSABLE[how]
    install("acme", {"tsaudit.rules": {"acme": "acme_rules"}}, acme_rules=text)
    (problem,) = unusable()
    assert str(problem).startswith("the rule plug-in `acme` of acme 1.0 cannot be used: ")
    assert reason in str(problem)
    assert "\n" not in str(problem)
    audited = evaluate(a_day())
    found = result_of(audited, "TGT003")
    assert found is not None
    assert (found.outcome, found.verdict) == (Outcome.ERROR, Verdict.UNKNOWN)
    assert str(problem) in found.findings[0].message
    assert audited.verdict is not Verdict.OK
    assert len(audited.results) == len(rules_for("sqlite")) + 1


def test_entry_point_that_names_nothing_is_one_line(install: Install) -> None:
    install("acme", {"tsaudit.rules": {"acme": "acme_rules:missing", "other": "not a reference"}}, acme_rules=RULES)
    assert len(unusable()) == 2
    assert all("\n" not in str(problem) for problem in unusable())


def test_what_a_plugin_prints_is_not_taken_for_json(install: Install, capsys: pytest.CaptureFixture[str]) -> None:
    install("acme", {"tsaudit.rules": {"acme": "acme_rules"}}, acme_rules=f"print('hello')\n{RULES}")
    assert [rule.code for rule in all_rules() if rule.package] == ["ACME001"]
    assert capsys.readouterr() == ("", "hello\n")


def test_two_packages_with_one_code_are_both_reported(install: Install) -> None:
    install("acme", {"tsaudit.rules": {"acme": "acme_rules"}}, acme_rules=RULES)
    install("zeta", {"tsaudit.rules": {"zeta": "zeta_rules"}}, zeta_rules=RULES)
    assert [p.package for p in unusable()] == ["acme 1.0", "zeta 1.0"]
    assert "zeta 1.0 has one of that code" in str(unusable()[0])
    assert not any(r.package for r in all_rules())


def test_incidents_of_a_rule_stay_while_its_package_cannot_be_used(install: Install, tmp_path: Path) -> None:
    """Uninstalled, its incidents end like those of any rule that is no more."""
    policy = Incidents(resolve_after=1)

    def judged(store: Store, number: int) -> dict[str, str]:
        audited = evaluate(a_day(number))
        incidents.update(store, audited, policy, lambda *_: "default")
        known = incidents.current(store, day=audited.day)
        return {i.code: str(i.state) for i in known if i.code in ("ACME001", "TGT003")}

    install("acme", {"tsaudit.rules": {"acme": "acme_rules"}}, acme_rules=RULES)
    module = tmp_path / "site" / "acme_rules.py"
    points = tmp_path / "site" / "acme-1.0.dist-info" / "entry_points.txt"
    with Store.open(f"sqlite:///{tmp_path}/history.db") as store:
        assert judged(store, 0) == {"ACME001": "open"}
        _edited(module, "import nowhere_to_be_found")
        assert judged(store, 1) == {"ACME001": "open", "TGT003": "open"}
        _edited(module, RULES)
        assert judged(store, 2) == {"ACME001": "open", "TGT003": "resolved"}
        _edited(points, "")
        assert judged(store, 3)["ACME001"] == "resolved"


def _edited(file: Path, text: str) -> None:
    import importlib
    import sys

    from tests.plugins.conftest import forget

    file.write_text(text)
    sys.modules.pop("acme_rules", None)
    for kept in (file.parent / "__pycache__").glob("acme_rules*"):
        kept.unlink()
    importlib.invalidate_caches()
    forget()


CONFIG = (
    "rules: {ACME001: off, unloved_name: critical}\nlimits: {unloved-name.max_length: 99}\n"
    "routes: [{owner: default, rules: [ACME001]}]\n"
    "targets: [{name: a, engine: sqlite, url: 'sqlite:///a.db'}]\n"
)


def test_configuration_may_name_them(install: Install, tmp_path: Path) -> None:
    (tmp_path / "tsaudit.yaml").write_text(CONFIG)
    with pytest.raises(config_file.ConfigError) as refused:
        config_file.load(tmp_path / "tsaudit.yaml")
    assert len(refused.value.problems) == 4
    install("acme", {"tsaudit.rules": {"acme": "acme_rules"}}, acme_rules=RULES)
    settings = config_file.load(tmp_path / "tsaudit.yaml")
    assert settings.rules["ACME001"] == "off"


def test_configuration_is_not_refused_while_they_cannot_be_used(install: Install, tmp_path: Path) -> None:
    (tmp_path / "tsaudit.yaml").write_text(CONFIG)
    install("acme", {"tsaudit.rules": {"acme": "acme_rules"}}, acme_rules="import nowhere_to_be_found")
    assert config_file.load(tmp_path / "tsaudit.yaml").limits


def test_commands_show_them(install: Install, tmp_path: Path) -> None:
    def tsaudit(*arguments: str) -> str:
        done = CliRunner().invoke(main, list(arguments), prog_name="tsaudit")
        assert done.exit_code == 0, done.output
        return done.output

    without = tsaudit("rules")
    install("acme", {"tsaudit.rules": {"acme": "acme_rules"}}, acme_rules=RULES)
    assert "ACME001  unloved-name" in tsaudit("rules")
    assert "Dashboards look for the others." in tsaudit("explain", "unloved_name")
    assert "ACME001" in [r["code"] for r in json.loads(tsaudit("rules", "--format", "json"))]
    (tmp_path / "tsaudit.yaml").write_text(CONFIG)
    of_target = tsaudit("rules", "--target", "a", "--config", str(tmp_path / "tsaudit.yaml"))
    assert "switched off by `rules`" in next(line for line in of_target.splitlines() if line.startswith("ACME001"))
    install("zeta", {"tsaudit.rules": {"zeta": "zeta_rules"}}, zeta_rules="import nowhere_to_be_found")
    assert "the rule plug-in `zeta` of zeta 1.0 cannot be used" in tsaudit("rules")
    assert "the rule plug-in `zeta` of zeta 1.0 cannot be used" in tsaudit("version")
    assert "A rule plug-in cannot be used" in tsaudit("explain", "TGT003")
    assert "ACME001" not in without
