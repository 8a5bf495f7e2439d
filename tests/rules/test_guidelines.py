"""The guidelines and what is checked of them."""

from __future__ import annotations

import re

from docs.site.guideline_pages import NOT_CHECKED, CheckState, markdown, states
from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines import GUIDELINES, rules_of
from tsaudit.rules import all_rules

COUNTS = {"A": 9, "B": 6, "C": 7, "D": 8, "E": 13, "F": 4, "G": 7, "H": 6}


def test_ids_when_counted() -> None:
    expected = [f"{letter}{i}" for letter, count in COUNTS.items() for i in range(1, count + 1)]
    assert [g.id for g in GUIDELINES] == expected
    assert len(GUIDELINES) == 60


def test_every_engine_when_a_guideline_is_read() -> None:
    for guideline in GUIDELINES:
        assert all(reason and not reason.endswith(".") for reason in guideline.not_applicable.values())
        assert guideline.not_applicable.keys() < set(ENGINES), guideline.id


def test_state_when_rules_are_given() -> None:
    for guideline in GUIDELINES:
        rules = [r for r in all_rules() if guideline.id in r.guidelines]
        assert rules_of(guideline, all_rules()) == rules
        for engine, state in states(guideline, all_rules()).items():
            checked = not guideline.why_not_on(engine) and any(engine in r.engines for r in rules)
            assert (state is CheckState.CHECKED) == checked
            assert (state is CheckState.NOT_APPLICABLE) == bool(guideline.why_not_on(engine))


def test_all_open_or_moot_when_there_are_no_rules() -> None:
    found = {state for one in GUIDELINES for state in states(one, []).values()}
    assert found == {CheckState.NOT_APPLICABLE, CheckState.OPEN}


def test_tag_values_when_the_engine_does_not_index_them() -> None:
    (ids,) = (one for one in GUIDELINES if one.id == "A6")
    found = states(ids, all_rules())
    assert found["influxdb3"] is CheckState.NOT_APPLICABLE
    assert found["influxdb1"] is CheckState.CHECKED


def test_markdown_when_read() -> None:
    text = markdown(all_rules())
    assert text.count("\n## ") == 9
    assert all(f"\n| {g.id} | {g.title} |" in text for g in GUIDELINES)
    assert all(f"\n- {what}: {why}.\n" in text for what, why in NOT_CHECKED.items())


def test_advice_that_no_rule_checks_names_guidelines_that_exist() -> None:
    named = {word for why in NOT_CHECKED.values() for word in re.findall(r"\b[A-H]\d+\b", why)}
    assert named <= {g.id for g in GUIDELINES}
