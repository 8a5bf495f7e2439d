"""`tsaudit rules`, `explain`, `guidelines`, `config schema`, `version`."""

from __future__ import annotations

import importlib.metadata
import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from tests.command import CliRunner
from tsaudit import __version__, guidelines
from tsaudit.cli import main
from tsaudit.cli.errors import Exit
from tsaudit.cli.rules import why_not
from tsaudit.config.file import json_schema
from tsaudit.engines.registry import ENGINES
from tsaudit.harm import worst_of
from tsaudit.policy import limit_plans
from tsaudit.rules import all_rules
from tsaudit.rules.rule_texts import rule_texts


def tsaudit(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments), prog_name="tsaudit")


def test_rules_when_listed_are_all_there() -> None:
    text = tsaudit("rules").stdout
    heads, *lines = text.splitlines()
    assert "at most" in heads
    assert [line.split()[:3] for line in lines[:-3]] == [[r.code, r.name, worst_of(r.costs)] for r in all_rules()]
    assert lines[-2].startswith("at most: the highest severity")


def test_rules_when_listed_as_json_have_their_limits() -> None:
    found = {r["code"]: r for r in json.loads(tsaudit("rules", "--format", "json").stdout)}
    assert list(found) == [r.code for r in all_rules()]
    assert found["CAR001"]["limits"][0]["name"].startswith("high-series-cardinality.")


def test_rules_of_a_target_say_why_they_do_not_judge(tmp_path: Path) -> None:
    file = tmp_path / "tsaudit.yaml"
    file.write_text(
        "rules: {DRF*: off, CAR001: note}\ntargets:\n  - name: a\n    engine: sqlite\n    url: sqlite:///a.db\n"
        "    rules: {unused_or_redundant_index: off}\n    measurements: {'tmp*': {rules: {TAG002: off}}}\n"
    )
    done = tsaudit("rules", "--target", "a", "--config", str(file), "--format", "json")
    found = {one["code"]: (one["severity"], one["why"]) for one in json.loads(done.stdout)}
    assert list(found) == [rule.code for rule in all_rules()]
    off = ("", "switched off by `rules` in tsaudit.yaml")
    assert (found["DRF001"], found["STO001"]) == (off, off)
    assert found["CAR001"] == ("note", "set by `rules` in tsaudit.yaml")
    assert found["TAG002"] == ("critical", "differs for tmp*")
    assert found["TAG003"] == ("note", "")
    assert found["NAM006"] == ("", "does not apply to sqlite: it is about timestream")
    assert all(why for severity, why in found.values() if not severity)
    assert {code for code, (severity, _) in found.items() if severity} == {
        rule.code for rule in all_rules() if "sqlite" in rule.engines
    } - {"DRF001", "DRF002", "STO001"}


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_every_rule_that_does_not_apply_has_a_reason(engine: str) -> None:
    for rule in all_rules():
        assert bool(why_not(rule, engine)) == (engine not in rule.engines), rule.code


@pytest.mark.parametrize("form", ["text", "json"])
def test_plans_when_listed(form: str) -> None:
    text = tsaudit("rules", "--plans", "--format", form).stdout
    assert all(name in text for name in limit_plans())


def test_plans_when_limits_are_large_say_them_in_full() -> None:
    assert "1,000,000" in tsaudit("rules", "--plans").stdout
    assert "high-series-cardinality.max_series: 1,000,000 series" in tsaudit("explain", "CAR001").stdout
    rows = json.loads(tsaudit("rules", "--plans", "--format", "json").stdout)
    assert 1_000_000 in [row["value"] for row in rows]


@pytest.mark.parametrize("word", ["CAR001", "car001", "high-series-cardinality", "high_series_cardinality"])
def test_explain_when_given_code_or_name(word: str) -> None:
    text = tsaudit("explain", word).stdout
    assert text.startswith("CAR001  high-series-cardinality\n")
    assert "high-series-cardinality.max_series: " in text


def test_explain_says_first_why_it_matters_and_leaves_nothing_out() -> None:
    for rule in rule_texts():
        done = tsaudit("explain", rule.code)
        assert done.exit_code == Exit.OK, rule.code
        # Templates of the texts, such as `{column}`, `%(name)s`, and `{{ x | name }}`, are filled in or left out.
        assert re.findall(r"\{\{|\}\}|\{%|%\(\w+\)|\{\w+\}", done.stdout) == [], rule.code
        lines = done.stdout.splitlines()
        assert not set(rule.doc.splitlines()) - set(lines)
        opening = len(rule.doc.split("\n\n")[0].splitlines())
        assert lines[7 + opening] == "## Why it matters", rule.code


def test_explain_when_there_is_no_such_rule() -> None:
    done = tsaudit("explain", "high-series-cardinalty")
    assert done.exit_code == Exit.USAGE
    assert "did you mean high-series-cardinality?" in done.stderr
    assert "`tsaudit rules` lists them" in tsaudit("explain", "zzzzzz").stderr


def test_guidelines_have_a_line_each() -> None:
    rows = tsaudit("guidelines").stdout.splitlines()
    assert len(rows) == len(guidelines.GUIDELINES) + 1


def test_schema_when_printed() -> None:
    assert json.loads(tsaudit("config", "schema").stdout) == json_schema()


def test_version_when_a_driver_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.search(r"^duckdb +ready$", tsaudit("version").stdout, re.MULTILINE)
    installed = importlib.metadata.distribution

    def without_duckdb(name: str) -> importlib.metadata.Distribution:
        if name == "duckdb-engine":
            raise importlib.metadata.PackageNotFoundError(name)
        return installed(name)

    monkeypatch.setattr("importlib.metadata.distribution", without_duckdb)
    wanted = r"^duckdb +pip install 'tsaudit\[duckdb\]'  \(missing: duckdb-engine\)$"
    assert re.search(wanted, tsaudit("version").stdout, re.MULTILINE)


def test_version_when_printed() -> None:
    assert tsaudit("version").stdout.split()[:2] == ["tsaudit", __version__]
    assert tsaudit("--version").stdout == f"tsaudit {__version__}\n"


@pytest.mark.parametrize("name", ["TGT001", "target-not-audited", "tgt002", "rules_not_evaluated"])
def test_explain_when_a_code_has_no_rule(name: str) -> None:
    done = tsaudit("explain", name)
    assert done.exit_code == Exit.OK
    assert done.stdout.startswith("TGT00")
    assert "tsaudit check" in done.stdout


@pytest.mark.parametrize("name", ["CAR004", "runaway_cardinality", "TGT001"])
def test_explain_when_it_is_to_be_opened_writes_the_page_and_opens_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("click.get_app_dir", lambda _name: str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda url: not opened.append(url))
    done = CliRunner().invoke(main, ["explain", name, "--open"])
    assert done.exit_code == 0
    page = Path(done.output.strip())
    assert opened == [page.as_uri()]
    code = "CAR004" if "00" not in name else name
    assert (page.name, code in page.read_text(encoding="utf-8")) == (f"{code}.html", True)


def test_explain_without_a_browser_says_where_the_page_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("click.get_app_dir", lambda _name: str(tmp_path))
    monkeypatch.setattr("webbrowser.open", lambda _url: False)
    done = CliRunner().invoke(main, ["explain", "CAR004", "--open"])
    page, said = done.output.splitlines()
    assert (done.exit_code, Path(page).name, said) == (0, "CAR004.html", "found no browser to open it in")
