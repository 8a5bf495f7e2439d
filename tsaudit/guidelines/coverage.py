"""Which guidelines the rules check, on which engine, and `docs/guidelines.md`, which shows it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines.catalog import GUIDELINES, NOT_CHECKED
from tsaudit.guidelines.guideline import CHAPTERS, CheckingRule, CheckState, Coverage, Guideline, Status


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


_INTRODUCTION: Final = (
    "What tsaudit should check, and which rule checks it on which engine. `yes`: a rule checks it; `open`: it "
    "matters on the engine and no rule checks it yet; `-`: it does not matter on the engine, for the reason "
    "below the table."
)
_GENERATED: Final = "Generated from `tsaudit/guidelines/` and the rules by `make golden`."
_SIGNS: Final = {CheckState.CHECKED: "yes", CheckState.NOT_APPLICABLE: "-", CheckState.OPEN: "open"}


def markdown(rules: Iterable[CheckingRule]) -> str:
    """The status of every guideline as a document: one table per chapter, then the reasons for not applicable ones."""
    rows = status(rules)
    lines = ["# Guidelines", "", _INTRODUCTION, "", _summary(rows), "", _GENERATED]
    for letter, chapter in CHAPTERS.items():
        mine = [s for s in rows if s.guideline.id.startswith(letter)]
        lines += ["", f"## {letter}. {chapter}", "", *_table(mine), "", *_reasons(mine)]
    lines += ["", "## Advice that no rule checks", "", *(f"- {what}: {why}." for what, why in NOT_CHECKED.items())]
    return "\n".join(lines) + "\n"


def _summary(rows: Iterable[Status]) -> str:
    every = tuple(rows)
    counts = [f"{sum(s.engines[e].state is CheckState.CHECKED for s in every)} on {e}" for e in ENGINES]
    some = sum(bool(s.rules) for s in every)
    return f"Of {len(every)} guidelines, {some} are checked on at least one engine: {', '.join(counts)}."


def _table(rows: Iterable[Status]) -> list[str]:
    lines = [f"| id | guideline | rules | {' | '.join(ENGINES)} |", "|---|---|---|" + "---|" * len(ENGINES)]
    for s in rows:
        signs = " | ".join(_SIGNS[s.engines[e].state] for e in ENGINES)
        lines.append(f"| {s.guideline.id} | {s.guideline.title} | {' '.join(s.rules)} | {signs} |")
    return lines


def _reasons(rows: Iterable[Status]) -> list[str]:
    lines = []
    for s in rows:
        engines: dict[str, list[str]] = {}
        for engine, coverage in s.engines.items():
            if coverage.state is CheckState.NOT_APPLICABLE:
                engines.setdefault(coverage.reason, []).append(engine)
        if engines:
            lines.append(f"- {s.guideline.id}: " + "; ".join(f"{', '.join(e)}: {r}" for r, e in engines.items()))
    return lines
