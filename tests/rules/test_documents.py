"""Generated documents are those that the rules and guidelines make today; TSAUDIT_REBASELINE=1 writes them anew."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from docs.site import guideline_pages, rule_pages
from tsaudit import plugins
from tsaudit.rules import all_rules, rule_texts

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.golden
@pytest.mark.parametrize(
    ("name", "make"), [("rules.md", rule_pages.markdown), ("guidelines.md", guideline_pages.markdown)]
)
def test_document_when_made_anew(name: str, make: object) -> None:
    assert callable(make)
    text, path = make(all_rules()), DOCS / name
    if os.environ.get("TSAUDIT_REBASELINE"):
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text, f"docs/{name} is stale; regenerate it with `make golden`"


@pytest.mark.golden
def test_texts_that_the_command_prints_when_made_anew() -> None:
    texts, path = rule_texts.texts_of(all_rules()), Path(rule_texts.FILE)
    if os.environ.get("TSAUDIT_REBASELINE"):
        entries = [text.as_dict() for text in texts]
        path.write_text(json.dumps(entries, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        rule_texts.rule_texts.cache_clear()
    assert rule_texts.rule_texts() == texts, "rule_texts.json is stale; regenerate it with `make golden`"


def test_texts_of_rules_when_another_package_brings_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "installed", lambda group: ["acme"] if group == plugins.ENGINES else [])
    monkeypatch.setattr(rule_texts, "FILE", "nowhere.json")
    assert [text.code for text in rule_texts.rule_texts()] == [rule.code for rule in all_rules()]


def test_rules_page_when_a_rule_is_looked_up() -> None:
    text = rule_pages.markdown(all_rules())
    for rule in all_rules():
        assert f"](#{rule.code.lower()}-{rule.name})" in text
        assert f"## {rule.code} {rule.name}\n" in text
        assert all(f"| `{rule.name}.{t.name}` |" in text for t in rule.thresholds)
    assert "| `high-series-cardinality.max_series` on influxdb1 | 1,000,000 |" in text
