"""The facts, and the document of what their queries are given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.model.facts_page import markdown
from tests.query_parameters import filled
from tsaudit.model.facts import FACTS, Scope, names_of

PAGE = Path(__file__).parents[2] / "docs" / "facts.md"


@pytest.mark.golden
def test_document_is_the_one_made_from_the_facts() -> None:
    text = markdown(tuple(FACTS.values()))
    if os.environ.get("TSAUDIT_REBASELINE"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "docs/facts.md is stale; regenerate it with `make golden`"


@pytest.mark.parametrize("fact", FACTS)
def test_every_parameter_says_what_it_is(fact: str) -> None:
    kind = FACTS[fact].given
    assert all(names_of(kind).values())
    about = filled(fact, **dict.fromkeys({"database", "measurement"} & names_of(kind).keys(), "x"))
    expected = {Scope.TARGET: (None, None), Scope.DATABASE: ("x", None), Scope.MEASUREMENT: ("x", "x")}
    assert about.subject == expected[FACTS[fact].scope]
    assert about.variables().keys() == names_of(kind).keys()


def test_a_parameter_that_the_fact_has_not_is_refused() -> None:
    with pytest.raises(TypeError, match="later"):
        filled("series_listing", later=None)
