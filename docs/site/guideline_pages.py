"""Renders the guidelines as one document: which of them the rules check on which engine, and what no rule checks."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tsaudit.engines.registry import ENGINES
from tsaudit.guidelines import GUIDELINES, Guideline, rules_of
from tsaudit.rule import Rule

CHAPTERS: Final[Mapping[str, str]] = {
    "A": "Cardinality",
    "B": "Names",
    "C": "Tags versus fields, types",
    "D": "Table layout",
    "E": "Keys, indexes, storage options",
    "F": "Databases, retention, enforcement",
    "G": "Timestream's measure name",
    "H": "Documents",
}

NOT_CHECKED: Final[Mapping[str, str]] = {
    "Tables follow the queries that are run (access patterns)": (
        "databases keep no record of their queries, or only with an extension and permissions that an audit should not "
        "need; on Timestream, G7 checks scheduled queries"
    ),
    "A table without indexes is the baseline, and a slow query is the reason for one": (
        "it is not known which queries are slow; the findings of E5 and E6 are notes where only queries could "
        "show the need, and that of E7 assumes that log text is there to be searched and says when to ignore it"
    ),
    "A table is partitioned when a machine's throughput, or half of its CPU, is used up": (
        "the load of a machine is no part of a schema, and servers do not show it to a user who may only read; E13 "
        "checks the other side, partitions of tables that are small"
    ),
    "Metrics are downsampled by regular tasks": (
        "whether a coarser copy would do is up to whoever reads the data, and tasks that run outside the database "
        "cannot be seen; F1 and H3 check whether raw data is ever deleted"
    ),
    "Rows have the same keys": "D3 and D4 check what differs between rows",
    "Queries read few long strings": "which queries read them is not recorded, and what nobody reads costs little",
}
"""Advice in the sources of the guidelines that is none of them, with the reason why no rule checks it."""


class CheckState(enum.StrEnum):
    """How far a guideline is covered on one engine."""

    CHECKED = "checked"
    """A rule checks it on the engine."""
    NOT_APPLICABLE = "not_applicable"
    """It does not matter on the engine."""
    OPEN = "open"
    """It matters on the engine, and no rule checks it yet."""


def states(guideline: Guideline, rules: Iterable[Rule]) -> dict[str, CheckState]:
    """How far the guideline is covered on each engine, by the name of the engine."""
    # A rule may serve several guidelines, and apply to an engine where one of them does not matter.
    able = frozenset().union(*(rule.engines for rule in rules_of(guideline, rules)))
    return {
        engine: CheckState.NOT_APPLICABLE
        if engine in guideline.not_applicable
        else CheckState.CHECKED
        if engine in able
        else CheckState.OPEN
        for engine in ENGINES
    }


_INTRODUCTION: Final = (
    "What tsaudit should check, and which rule checks it on which engine. `yes`: a rule checks it; `open`: it "
    "matters on the engine and no rule checks it yet; `-`: it does not matter on the engine, for the reason "
    "below the table."
)
_GENERATED: Final = "Generated from `tsaudit/guidelines.py` and the rules by `make golden`."
_SIGNS: Final = {CheckState.CHECKED: "yes", CheckState.NOT_APPLICABLE: "-", CheckState.OPEN: "open"}


def markdown(rules: Iterable[Rule]) -> str:
    """The status of every guideline as a document: one table per chapter, then the reasons for not applicable ones."""
    known = tuple(rules)
    lines = ["# Guidelines", "", _INTRODUCTION, "", _summary(known), "", _GENERATED]
    for letter, chapter in CHAPTERS.items():
        mine = [one for one in GUIDELINES if one.id.startswith(letter)]
        lines += ["", f"## {letter}. {chapter}", "", *_table(mine, known), "", *filter(None, map(_reasons, mine))]
    lines += ["", "## Advice that no rule checks", "", *(f"- {what}: {why}." for what, why in NOT_CHECKED.items())]
    return "\n".join(lines) + "\n"


def _summary(rules: Sequence[Rule]) -> str:
    each = [states(one, rules) for one in GUIDELINES]
    counts = [f"{sum(of[engine] is CheckState.CHECKED for of in each)} on {engine}" for engine in ENGINES]
    some = sum(bool(rules_of(one, rules)) for one in GUIDELINES)
    return f"Of {len(GUIDELINES)} guidelines, {some} are checked on at least one engine: {', '.join(counts)}."


def _table(guidelines: Iterable[Guideline], rules: Sequence[Rule]) -> list[str]:
    lines = [f"| id | guideline | rules | {' | '.join(ENGINES)} |", "|---|---|---|" + "---|" * len(ENGINES)]
    for one in guidelines:
        codes = " ".join(rule.code for rule in rules_of(one, rules))
        signs = " | ".join(_SIGNS[state] for state in states(one, rules).values())
        lines.append(f"| {one.id} | {one.title} | {codes} | {signs} |")
    return lines


def _reasons(guideline: Guideline) -> str:
    """Why the guideline does not matter on some engines, as a line; empty if it matters on all."""
    engines: dict[str, list[str]] = {}
    for engine, reason in guideline.not_applicable.items():
        engines.setdefault(reason, []).append(engine)
    each = "; ".join(f"{', '.join(names)}: {reason}" for reason, names in engines.items())
    return f"- {guideline.id}: {each}" if each else ""
