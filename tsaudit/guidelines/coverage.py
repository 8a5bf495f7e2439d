"""Which guidelines the rules check, on which engine."""

from __future__ import annotations

import json
from collections.abc import Iterable

from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines.catalog import GUIDELINES
from tsaudit.guidelines.guideline import CheckingRule, CheckState, Coverage, Guideline, Status


def status(rules: Iterable[CheckingRule]) -> tuple[Status, ...]:
    """Every guideline with the rules that check it. `rules` are normally `tsaudit.rules.all_rules()`."""
    known = tuple(rules)
    return tuple(_status(guideline, [r for r in known if guideline.id in r.guidelines]) for guideline in GUIDELINES)


def _status(guideline: Guideline, rules: list[CheckingRule]) -> Status:
    # A rule may serve several guidelines, and apply to an engine where one of them does not matter.
    checked = guideline.engines.intersection(frozenset().union(*(r.engines for r in rules)))

    def coverage(engine: str) -> Coverage:
        if engine in checked:
            return Coverage(CheckState.CHECKED)
        if engine in guideline.not_applicable:
            return Coverage(CheckState.NOT_APPLICABLE, guideline.not_applicable[engine])
        return Coverage(CheckState.OPEN)

    return Status(guideline, tuple(sorted(r.code for r in rules)), {e: coverage(e) for e in ENGINES})


def as_json(rules: Iterable[CheckingRule]) -> str:
    """The status of every guideline as a JSON list."""
    rows = [
        {
            "id": s.guideline.id,
            "title": s.guideline.title,
            "rules": list(s.rules),
            "engines": {
                engine: {"state": str(c.state)} | ({"reason": c.reason} if c.reason else {})
                for engine, c in s.engines.items()
            },
        }
        for s in status(rules)
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False)
