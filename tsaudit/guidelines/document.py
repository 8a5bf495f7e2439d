"""`docs/guidelines.md`, generated from the guidelines and the rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines.catalog import NOT_CHECKED
from tsaudit.guidelines.coverage import status
from tsaudit.guidelines.guideline import CHAPTERS, CheckingRule, CheckState, Status

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
