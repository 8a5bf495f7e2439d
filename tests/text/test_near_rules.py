"""What is proposed instead of a rule that does not exist; no page has a placeholder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command import CliRunner
from tsaudit.cli import main
from tsaudit.cli.rule_texts import rule_texts
from tsaudit.text.near_rules import near

RULES = {
    "CAR001": "high-series-cardinality",
    "CAR003": "worst-case-above-limit",
    "CAR004": "runaway-cardinality",
    "TAG002": "unbounded-tag",
    "TSM002": "too-many-measure-names",
    "NAM001": "name-needs-quoting",
}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("CAR999", "; the codes of CAR are CAR001, CAR003, and CAR004; `tsaudit rules` lists them"),
        ("car999", "; the codes of CAR are CAR001, CAR003, and CAR004; `tsaudit rules` lists them"),
        ("CAR", "; the codes of CAR are CAR001, CAR003, and CAR004; `tsaudit rules` lists them"),
        ("CAR1", ", did you mean CAR001?"),
        ("car-0004", ", did you mean CAR004?"),
        ("CRA004", ", did you mean CAR004?"),
        ("CRA", ", did you mean CAR?"),
        ("XYZ001", "; codes begin with CAR, NAM, TAG, and TSM; `tsaudit rules` lists them"),
        ("cardinality", ", did you mean high-series-cardinality or runaway-cardinality?"),
        ("unbounded_tags", ", did you mean unbounded-tag?"),
        ("runaway cardinalty", ", did you mean runaway-cardinality?"),
        ("name-need-quotes", ", did you mean name-needs-quoting?"),
        ("frobnicate", "; `tsaudit rules` lists them"),
    ],
)
def test_near_misses_are_judged_by_sense(word: str, expected: str) -> None:
    assert near(word, RULES) == expected


@given(st.text(max_size=30))
def test_anything_gets_an_answer(word: str) -> None:
    assert near(word, RULES).startswith((", did you mean ", "; "))
    assert near("", {}) == "; `tsaudit rules` lists them"


@pytest.mark.parametrize("command", [("explain", "STO999"), ("backtest", "STO999")])
def test_commands_name_the_codes_of_the_family(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tsaudit.yaml").write_text("targets: [{name: t, engine: sqlite, url: 'sqlite:///x.db'}]\n")
    done = CliRunner().invoke(main, list(command))
    assert done.exit_code == 2
    assert "no rule is called `STO999`; the codes of STO are STO001, " in done.stderr
    assert "measure-names" not in done.stderr


@pytest.mark.parametrize("code", [text.code for text in rule_texts()])
def test_page_has_no_placeholder(code: str) -> None:
    """Templates of the texts, such as `{column}`, `%(name)s`, and `{{ x | name }}`, are filled in or left out."""
    text = CliRunner().invoke(main, ["explain", code]).stdout
    assert text
    assert re.findall(r"\{\{|\}\}|\{%|%\(\w+\)|\{\w+\}", text) == []
